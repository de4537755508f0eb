//! `handover review`: commands with which people ask for reviews and see them, and `review run`, with which other
//! programs ask for a review by the feedback protocol (one JSON request in, a stream of JSON lines out).

mod stream;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agents::program::CutReason;
use base::people::principal::host;
use base::project::place::absolute;
use base::project::trust::Untrusted;
use clap::{ArgMatches, Args, Command, FromArgMatches as _, Subcommand as _};
use engine::id::{ReviewId, TaskId};
use engine::review::{Review, RoundState};
use engine::turn::Spent;
use engine::view::{self, Reviewed};
use engine::{Actor, Caller, Rights};
use handover::below;
use handover::desk::ClientAgents;
use handover::keeper;
use handover::office::Office;
use runner::review::program::{ProviderProgram, ReviewError};
use runner::review::request::{ReviewedSubject, request};
use runner::review::task_work::{TaskWork, WorkGround, WorkProblem};
use runner::review::{self, NoProvider, Provider, ReviewContext, ReviewResponse, RoundToRun, show};
use tokio::signal::unix::{SignalKind, signal};
use wire::json::{Value, object};
use wire::lifecycle::ToolError;

use super::failure::CommandFailure;
use super::show::{plain, plain_lines, refused, table};
use super::{say, say_json};

/// The word after `handover` in the commands of this file, such as `handover review ask`. The other commands that begin
/// with `handover review` call tools.
pub(super) const NOUN: &str = "review";
/// The maximum number of reviews in a list. Older reviews are left out, because people do not read longer lists.
const ROWS: u32 = 200;

pub(super) const COLUMNS: [&str; 6] = ["session", "provider", "status", "iteration", "open", "task_id"];
/// The columns of the table that shows the rounds of one review.
pub(super) const ROUND_COLUMNS: [&str; 7] =
    ["iteration", "status", "media_type", "shown", "artifact_ref", "confidence", "found"];

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ReviewVerb {
    /// Review for another program: read a request of the feedback protocol on standard input, print a stream of JSON
    /// lines
    Run(stream::ReviewRun),
    /// Ask an agent to review a file, and list its findings
    Ask(ReviewAskArguments),
    /// Ask for another round of a review, with the file as it is now and your decisions on the findings
    Again(ReviewAgainArguments),
    /// Show a review: its rounds, and every finding word for word
    Show(Show),
    /// List reviews, newest first
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ReviewAskArguments {
    /// The reviewer: an agent of .handover/config.toml, or a role
    #[arg(long, value_name = "PROVIDER")]
    agent: String,
    /// The file to review
    file: PathBuf,
    /// The media type of the file, such as text/markdown; without it, the file's extension decides
    #[arg(long, value_name = "TYPE")]
    media_type: Option<String>,
    /// The task that cannot complete before this review, such as tk_0123456789ab
    #[arg(long)]
    task: Option<TaskId>,
    /// Print the review as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewAgainArguments {
    /// The file to review
    file: PathBuf,
    /// The id of the review; without it, the last review
    #[arg(long)]
    session: Option<ReviewId>,
    /// The media type of the file, such as text/markdown; without it, the file's extension decides
    #[arg(long, value_name = "TYPE")]
    media_type: Option<String>,
    /// Print the review as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The id of the review; without it, the last review
    session: Option<ReviewId>,
    /// Print the review as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn commands() -> Vec<Command> {
    ReviewVerb::augment_subcommands(Command::new(NOUN)).get_subcommands().cloned().collect()
}

/// Returns the `handover review` command that was typed. Returns `None` if another command was typed, or a
/// `handover review` command that calls a tool.
pub(super) fn asked(matches: &ArgMatches) -> Option<ReviewVerb> {
    let (_, inner) = matches.subcommand().filter(|(noun, _)| *noun == NOUN)?;
    let (verb, _) = inner.subcommand()?;
    let own = ["run", "ask", "again", "show", "list"].contains(&verb);
    own.then(|| ReviewVerb::from_arg_matches(inner).unwrap_or_else(|error| error.exit()))
}

pub(super) async fn run(office: &Office, verb: ReviewVerb) -> anyhow::Result<ExitCode> {
    keeper::once(&office.desk).await;
    match verb {
        ReviewVerb::Run(asked) => stream::run(office, &asked).await,
        ReviewVerb::Ask(asked) => ask(office, &asked).await,
        ReviewVerb::Again(asked) => again(office, &asked).await,
        ReviewVerb::Show(asked) => one(office, asked.session, asked.json).await,
        ReviewVerb::List { json } => list(office, json).await,
    }
}

/// Returns the caller of `review ask` and `review again`. It is always a person, because these commands are refused
/// when an agent starts them.
fn person() -> Caller {
    Caller::with_rights(Rights::Person)
}

/// Returns the caller of `review run`: a person, or the agent of the client that started this process.
async fn caller(office: &Office) -> anyhow::Result<Result<Caller, ToolError>> {
    let Some(below) = below::look(Some(&office.live)) else { return Ok(Ok(person())) };
    let agents = ClientAgents::find(office.desk.service(), &below).await?;
    Ok(agents.only().map(|agent| Caller { session: agents.visitor().session, ..Caller::agent(agent) }))
}

/// Returns the agent with this name or role as the reviewer. If it cannot review, returns the reason.
fn provider(office: &Office, named: &str) -> anyhow::Result<Provider> {
    if review::is_below_a_turn() {
        let text = "NOT_PERMITTED a turn or a review started this command, and neither may ask for a review";
        return Err(CommandFailure::by_text(text).into());
    }
    let found = Provider::find(office.place.root.as_deref(), base::project::place::data_folder().as_deref(), named);
    found.map_err(|problem| {
        let is_refusal = match problem {
            NoProvider::Untrusted(Untrusted::Settings(_)) => false,
            NoProvider::Untrusted(_) | NoProvider::NotReady(_) => true,
            NoProvider::NoProject | NoProvider::Unknown { .. } => false,
        };
        let text = format!("{:#}", anyhow::Error::from(problem));
        if is_refusal { CommandFailure::by_text(&text) } else { CommandFailure::unusable(&text) }.into()
    })
}

/// Returns a review session by its id; `None` when there is no such session.
async fn session(office: &Office, id: ReviewId) -> anyhow::Result<Option<Reviewed>> {
    match office.desk.service().view(move |world| view::review(world, id)).await {
        Ok(found) => Ok(Some(found)),
        Err(base::Error::Refused(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Runs one round of a review in this process. SIGINT or SIGTERM ends the round early.
async fn round(
    office: &Office,
    caller: &Caller,
    provider: &Provider,
    review: ReviewId,
    bytes: &[u8],
) -> Result<Option<ReviewResponse>, ReviewError> {
    let service = office.desk.service();
    let known = service.view(move |world| view::review(world, review)).await?;
    let earlier = known.rounds.iter().fold(Spent::default(), |sum, round| match &round.state {
        RoundState::Answered(answered) => sum.and(answered.spent),
        RoundState::Failed { spent, .. } => sum.and(*spent),
        RoundState::Running { .. } => sum,
    });
    let (host, store) = (host(), absolute(&office.place.store));
    let context = ReviewContext { service, state: &office.state, host: &host, caller: caller.clone(), provider };
    let around = (office.state.as_path(), store.as_str(), None);
    let mut stage = ProviderProgram::new(provider, review, around, earlier, Box::pin(told_to_stop()));
    review::round(&context, RoundToRun { review, turn: None }, bytes, &mut stage).await
}

pub(super) async fn told_to_stop() -> CutReason {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    CutReason::Cancelled
}

async fn open(
    office: &Office,
    caller: &Caller,
    provider: &Provider,
    gate: Option<(TaskId, u32)>,
) -> Result<ReviewId, base::Error> {
    let host = host();
    let service = office.desk.service();
    let context = ReviewContext { service, state: &office.state, host: &host, caller: caller.clone(), provider };
    review::open(&context, gate, None).await
}

async fn ask(office: &Office, asked: &ReviewAskArguments) -> anyhow::Result<ExitCode> {
    let provider = provider(office, &asked.agent)?;
    let artifact = shown(&asked.file, asked.media_type.as_deref())?;
    let artifact = of_task(office, artifact, asked.task).await?;
    let gate = match asked.task {
        None => None,
        Some(task) => match office.desk.service().view(move |world| world.task(task).map(|task| task.attempt)).await {
            Ok(attempt) => Some((task, attempt)),
            Err(error) => return refused(NOUN, error, asked.json),
        },
    };
    let id = match open(office, &person(), &provider, gate).await {
        Ok(id) => id,
        Err(error) => return refused(NOUN, error, asked.json),
    };
    held(office, &provider, id, &request(1, &artifact, &[]), asked.json).await
}

async fn again(office: &Office, asked: &ReviewAgainArguments) -> anyhow::Result<ExitCode> {
    let known = meant(office, asked.session).await?;
    let provider = provider(office, &known.review.provider)?;
    let artifact = shown(&asked.file, asked.media_type.as_deref())?;
    let artifact = of_task(office, artifact, known.review.gate.map(|gate| gate.task)).await?;
    let document = request(known.review.next(), &artifact, &known.findings);
    held(office, &provider, known.review.id, &document, asked.json).await
}

/// Records in the artifact (the file to review) the current state of the task's work. After the review, the agent that
/// holds the task can complete it as long as the work has the recorded state.
async fn of_task(office: &Office, artifact: ReviewedSubject, task: Option<TaskId>) -> anyhow::Result<ReviewedSubject> {
    let Some(task) = task else { return Ok(artifact) };
    let (service, state) = (office.desk.service(), Some(office.state.as_path()));
    let ground = WorkGround { service, root: office.place.root.as_deref(), state };
    match TaskWork::look(ground, task).await {
        Ok(work) => {
            let source = Some("A person chose this file to be reviewed.".to_owned());
            Ok(ReviewedSubject { reference: Some(work.name().to_owned()), source, ..artifact })
        }
        // If the task does not exist, report nothing here: the store refuses to open a review for it, and that refusal
        // is shown.
        Err(WorkProblem::Error(base::Error::Refused(_))) => Ok(artifact),
        Err(problem) => Err(problem.into()),
    }
}

fn shown(file: &Path, media_type: Option<&str>) -> anyhow::Result<ReviewedSubject> {
    Ok(ReviewedSubject::of_file(file, media_type)?)
}

/// Runs one round of a review, and then shows the findings (the reviewer's remarks) that are not decided yet.
async fn held(
    office: &Office,
    provider: &Provider,
    id: ReviewId,
    document: &Value,
    json: bool,
) -> anyhow::Result<ExitCode> {
    if !json {
        eprintln!("{id}: {} is reviewing; press Ctrl-C to stop", provider.slug());
    }
    let answered = match round(office, &person(), provider, id, document.to_string().as_bytes()).await {
        Ok(Some(answered)) => answered,
        Ok(None) => return Ok(ExitCode::from(130)),
        Err(ReviewError::Service(error)) => return refused(NOUN, error, json),
        Err(trouble @ ReviewError::Io(_)) => return Err(trouble.into()),
    };
    let failure = match &answered.response.outcome {
        wire::feedback::ReviewOutcome::Success(_) => None,
        wire::feedback::ReviewOutcome::Error(failure) => Some(failure.clone()),
    };
    let Some(found) = session(office, id).await? else { return Ok(ExitCode::from(3)) };
    if json {
        let Value::Object(mut members) = show::whole(&found) else { return Ok(ExitCode::from(3)) };
        members.push(("response".to_owned(), answered.response.render()));
        say_json(&Value::Object(members))?;
    } else if let Some(failure) = &failure {
        eprintln!("{} {}", plain(failure.code.as_str()), plain_lines(failure.message.as_str()));
    } else {
        findings(&found)?;
    }
    Ok(ExitCode::from(u8::from(failure.is_some())))
}

fn findings(found: &Reviewed) -> anyhow::Result<()> {
    let Review { id, provider, rounds, open, .. } = &found.review;
    if let Some(RoundState::Answered(answered)) = found.last().map(|round| &round.state) {
        say(&plain_lines(&answered.summary))?;
        say(&format!("confidence {}", plain(&answered.confidence)))?;
    }
    let rows: Vec<Value> = found.findings.iter().map(show::finding).collect();
    if rows.is_empty() {
        say("no findings")?;
    } else {
        say(&table(&["id", "status", "aspect", "recommendation"], &rows))?;
    }
    say(&format!("{id}: iteration {rounds} by {provider}, open findings: {open}"))?;
    if *open > 0 {
        say("decide on each finding with `handover review answer ID accepted|partial|rejected --reason TEXT`, then \
             run `handover review again FILE`")?;
    }
    Ok(())
}

/// Returns the review session with the given id. Without an id, returns the last session that was opened by a person or
/// by a coordinator (a caller that may act on tasks of other agents).
async fn meant(office: &Office, named: Option<ReviewId>) -> anyhow::Result<Reviewed> {
    let id = match named {
        Some(id) => Some(id),
        None => {
            let page = office.desk.service().view(|world| view::reviews(world, None, ROWS)).await?;
            let own = |row: &&Review| matches!(row.by, Actor::Person | Actor::Coordinator);
            page.rows.iter().find(own).map(|row| row.id)
        }
    };
    let found = match id {
        Some(id) => session(office, id).await?,
        None => None,
    };
    let missing = || match named {
        Some(id) => format!("REVIEW_NOT_FOUND there is no review {id}; `handover review list` shows all reviews"),
        None => "REVIEW_NOT_FOUND there is no review yet; start one with `handover review ask --agent PROVIDER FILE`"
            .to_owned(),
    };
    found.ok_or_else(|| CommandFailure::by_text(&missing()).into())
}

async fn one(office: &Office, named: Option<ReviewId>, json: bool) -> anyhow::Result<ExitCode> {
    let found = meant(office, named).await?;
    if json {
        say_json(&show::whole(&found))?;
        return Ok(ExitCode::SUCCESS);
    }
    let rounds: Vec<Value> = found.rounds.iter().map(show::round).collect();
    say(&table(&ROUND_COLUMNS, &rounds))?;
    for row in &found.findings {
        say(&format!("\n{} ({}, iteration {})", plain(&row.name), row.status(), row.round))?;
        for text in [&row.aspect, &row.description, &row.recommendation] {
            say(&format!("  {}", plain_lines(text).replace('\n', "\n  ")))?;
        }
        let why = row.decided().and_then(|decided| decided.decision.explanation.as_ref());
        if let Some(why) = why {
            say(&format!("  => {}", plain_lines(why).replace('\n', "\n     ")))?;
        }
    }
    findings(&found)?;
    Ok(ExitCode::SUCCESS)
}

async fn list(office: &Office, json: bool) -> anyhow::Result<ExitCode> {
    let page = office.desk.service().view(|world| view::reviews(world, None, ROWS)).await?;
    let rows: Vec<Value> = page.rows.iter().map(show::review).collect();
    if json {
        say_json(&object([("reviews", Value::List(rows))]))?;
    } else if rows.is_empty() {
        say("there are no reviews; start one with `handover review ask --agent PROVIDER FILE`")?;
    } else {
        say(&table(&COLUMNS, &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}
