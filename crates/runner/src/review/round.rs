//! Runs one round of a review session: checks the request, records the start, asks the provider (the agent that
//! reviews), and records the end. If a process stops during a round, the round starts again when a caller requests the
//! same iteration.

use std::fs::File;
use std::path::Path;

use engine::command::{EndRound, FoundProblem, OpenReview, RoundAnswer, RoundEnd, StartRound};
use engine::id::{ReviewId, TaskId, TurnId};
use engine::review::{FindingDecision, Review, ReviewedVersion, Verdict};
use engine::turn::{Spent, StoredObject};
use engine::view::{self, Reviewed};
use engine::{Caller, Command, Refusal, Rights, Timestamp};
use wire::feedback::{self, AskedParts, DecisionStatus, Feedback, FeedbackRequest, Response, ReviewOutcome};
use wire::json::Value;
use wire::shape::Shape as _;

use super::ask::{self, ProviderQuestion};
use super::provider::Provider;
use crate::ask::{AskedEnd, AskedProgram, AskedResult, ask_until_valid};
use base::error::Error;
use base::ground::objects;
use base::service::Service;

/// The largest number of problems that the response to an invalid request lists. Further problems are left out.
const PROBLEMS_MAX: usize = 20;
/// The time in milliseconds that a round may take beyond the time limits of its turns. After that time, another process
/// may start the round again.
const MARGIN_MS: i64 = 120_000;

/// The context in which a review round runs: the store, this machine, the caller and the agent that reviews.
#[derive(Debug)]
pub struct ReviewContext<'a> {
    pub service: &'a Service,
    pub state: &'a Path,
    /// The name of this machine.
    pub host: &'a str,
    /// The caller that requests the review.
    pub caller: Caller,
    pub provider: &'a Provider,
}

/// A review round to run: its review session, and the turn whose output is reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundToRun {
    pub review: ReviewId,
    /// The turn whose output is reviewed. `None` for a review outside of a task's turn.
    pub turn: Option<TurnId>,
}

/// The review response for the requester, with the cost of the round.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewResponse {
    pub response: Response,
    pub spent: Spent,
}

impl ReviewResponse {
    fn failure(asked: &AskedParts, code: &str, message: &str) -> Option<Self> {
        Response::failure(asked, code, message).map(|response| Self { response, spent: Spent::default() })
    }

    pub fn text(&self) -> String {
        self.response.render().to_string()
    }
}

/// Opens a review session that has no rounds yet.
pub async fn open(
    context: &ReviewContext<'_>,
    gate: Option<(TaskId, u32)>,
    rounds_max: Option<u32>,
) -> Result<ReviewId, Error> {
    let provider = context.provider.slug().to_owned();
    let open = Command::OpenReview(OpenReview { provider, gate, rounds_max });
    let reply = context.service.execute(context.caller.clone(), open).await?;
    let engine::Reply::ReviewOpened { review } = reply else { return Err(Error::unexpected(&reply)) };
    Ok(review)
}

/// Runs a round of a review session. Returns `None` when Handover ended the reviewer's program itself, or when no
/// response can be formed.
pub async fn round<P>(
    context: &ReviewContext<'_>,
    which: RoundToRun,
    bytes: &[u8],
    program: &mut P,
) -> Result<Option<ReviewResponse>, P::StartError>
where
    P: AskedProgram,
    P::StartError: From<Error> + From<std::io::Error>,
{
    let id = which.review;
    let known = context.service.view(move |world| view::review(world, id)).await?;
    let issued = known.findings.iter().map(|finding| finding.name.clone()).collect();
    let asked = AskedParts::by(bytes, Some(issued));
    let judged = feedback::judge_request(bytes);
    let Some(request) = &judged.value else {
        let report = &judged.report;
        let problems = report.errors().iter().take(PROBLEMS_MAX);
        let problems = problems.map(|problem| format!("{}: {}", report.code(problem), report.message(problem)));
        return Ok(ReviewResponse::failure(&asked, "INVALID_REQUEST", &problems.collect::<Vec<_>>().join("; ")));
    };
    let Some(_alone) = alone(context.state, id)? else {
        let message = format!("{id} has another request that is not answered yet; wait for its answer");
        return Ok(ReviewResponse::failure(&asked, "INVALID_REQUEST", &message));
    };
    let begun = match begin(context, which, request, bytes).await? {
        Ok(begun) => begun,
        Err(refused) => return Ok(ReviewResponse::failure(&asked, "INVALID_REQUEST", &refused)),
    };
    let ended = match unsupported(context.provider, request) {
        Some(message) => {
            Some((ReviewResponse::failure(&asked, "UNSUPPORTED_MEDIA_TYPE", &message), None, Spent::default()))
        }
        None => heard(context, &known, request, &asked, program).await?,
    };
    let Some((Some(answered), conversation, spent)) = ended else { return Ok(None) };
    match end(context, &begun, &answered.response, conversation, spent).await {
        Ok(()) => Ok(Some(answered)),
        // If another process started this round again, the store refuses the result of this process. The requester that
        // called the other process gets the response.
        Err(Error::Refused(refusal)) => Ok(ReviewResponse::failure(&asked, "INTERNAL_ERROR", &refusal.to_string())),
        Err(error) => Err(error.into()),
    }
}

type RoundEnded = (Option<ReviewResponse>, Option<String>, Spent);

async fn heard<P: AskedProgram>(
    context: &ReviewContext<'_>,
    known: &Reviewed,
    request: &FeedbackRequest,
    asked: &AskedParts,
    program: &mut P,
) -> Result<Option<RoundEnded>, P::StartError> {
    let question = ProviderQuestion {
        kind: context.provider.member.settings.adapter,
        who: &context.provider.member.who,
        request: &request.render(),
        asked,
        source: source(known, request),
        earlier: &known.findings,
    };
    let resumed = known.review.conversation.clone();
    let AskedResult { end, conversation, spent } =
        ask_until_valid(program, &question, resumed, question.resumes()).await?;
    let failed = |reason: &str| {
        let failure = ReviewResponse::failure(asked, "INTERNAL_ERROR", reason);
        failure.map(|answered| ReviewResponse { spent, ..answered })
    };
    let answered = match end {
        AskedEnd::Valid(response) => Some(ReviewResponse { response: *response, spent }),
        AskedEnd::Invalid { problems, repairs } => {
            let codes = problems.iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>().join(", ");
            failed(&format!("the reviewer's answer still breaks the protocol after {repairs} repairs: {codes}"))
        }
        AskedEnd::Silent { end, reason } => {
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            failed(&format!("the reviewer gave no answer: {end}{reason}"))
        }
        AskedEnd::Cut(_) => return Ok(None),
    };
    Ok(Some((answered, conversation, spent)))
}

/// Returns the sentences that tell the reviewer the origin of a task's work. Returns `None` for a review without a
/// task, because Handover did not write that request.
fn source(known: &Reviewed, request: &FeedbackRequest) -> Option<String> {
    known.review.gate?;
    let Value::Object(members) = request.render().get("artifact")?.clone() else { return None };
    let found = members.into_iter().find(|(name, _)| name == super::request::SOURCE)?;
    found.1.as_text().map(str::to_owned)
}

fn unsupported(provider: &Provider, request: &FeedbackRequest) -> Option<String> {
    let wanted = request.artifact.media_type.as_str();
    if provider.takes(wanted) {
        return None;
    }
    let listed = &provider.member.settings.media_types;
    let listed = if listed.is_empty() { "nothing".to_owned() } else { listed.join(", ") };
    Some(format!("{} reviews {listed}, not {wanted}; see `media_types` in .handover/config.toml", provider.slug()))
}

/// A review round whose start is recorded in the store.
struct Begun {
    review: ReviewId,
    number: u32,
    tries: u32,
}

/// Records the start of a review round in the store, or returns the reason why the round may not start.
async fn begin(
    context: &ReviewContext<'_>,
    which: RoundToRun,
    request: &FeedbackRequest,
    bytes: &[u8],
) -> Result<Result<Begun, String>, Error> {
    let number = request.iteration.number().as_u64().and_then(|number| u32::try_from(number).ok());
    let number = number.unwrap_or(u32::MAX);
    let limits = &context.provider.limits;
    let turns = i64::from(limits.turn_seconds).saturating_mul(1_000 * i64::from(ask::REPAIRS_MAX + 1));
    let until = Timestamp(context.service.now().0.saturating_add(turns).saturating_add(MARGIN_MS));
    let start = StartRound {
        review: which.review,
        number,
        turn: which.turn,
        artifact: ReviewedVersion {
            media_type: plain(request.artifact.media_type.as_str()),
            reference: request.artifact.artifact_ref.get().map(|text| plain(text.as_str())),
            request: kept(context.state, bytes).await?,
        },
        decisions: decisions(request),
        host: context.host.to_owned(),
        until,
    };
    match context.service.execute(context.caller.clone(), Command::StartRound(Box::new(start))).await {
        Ok(engine::Reply::RoundStarted { tries, .. }) => Ok(Ok(Begun { review: which.review, number, tries })),
        Ok(other) => Err(Error::unexpected(&other)),
        Err(Error::Refused(
            refusal @ (Refusal::WrongIteration { .. }
            | Refusal::RoundsUsedUp { .. }
            | Refusal::InvalidState { .. }
            | Refusal::InvalidInput { .. }),
        )) => Ok(Err(refusal.to_string())),
        Err(error) => Err(error),
    }
}

fn decisions(request: &FeedbackRequest) -> Vec<(String, FindingDecision)> {
    let items = request.applied_feedback.get().map(|applied| applied.items.0.as_slice()).unwrap_or_default();
    let decision = |item: &feedback::Decision| {
        let decision = FindingDecision {
            verdict: match item.status {
                DecisionStatus::Accepted => Verdict::Accepted,
                DecisionStatus::Rejected => Verdict::Rejected,
                DecisionStatus::Partial => Verdict::Partial,
            },
            code: item.reason_code.get().map(|text| plain(text.as_str())),
            explanation: item.explanation.get().map(|text| plain(text.as_str())),
        };
        (item.id.to_string(), decision)
    };
    items.iter().map(decision).collect()
}

/// Replaces zero bytes in a text, because not every database can store them.
fn plain(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

async fn end(
    context: &ReviewContext<'_>,
    begun: &Begun,
    response: &Response,
    conversation: Option<String>,
    spent: Spent,
) -> Result<(), Error> {
    let text = response.render().to_string();
    let end = match &response.outcome {
        ReviewOutcome::Success(feedback) => RoundEnd::Answered(RoundAnswer {
            confidence: feedback.confidence.level.as_str().to_owned(),
            summary: plain(feedback.general_summary.as_str()),
            found: found(feedback),
            conversation,
            response: Some(kept(context.state, text.as_bytes()).await?),
            spent,
        }),
        ReviewOutcome::Error(failure) => RoundEnd::Failed {
            code: word(failure.code.as_str()),
            message: plain(failure.message.as_str()),
            conversation,
            spent,
        },
    };
    let Begun { review, number, tries } = *begun;
    let end = Command::EndRound(Box::new(EndRound { review, number, tries, end }));
    context.service.execute(Caller::with_rights(Rights::Runner), end).await?;
    Ok(())
}

fn found(feedback: &Feedback) -> Vec<FoundProblem> {
    let area = |area: &feedback::Area| FoundProblem {
        name: area.id.to_string(),
        aspect: plain(area.aspect.as_str()),
        description: plain(area.description.as_str()),
        recommendation: plain(area.recommendation.as_str()),
    };
    feedback.areas_for_improvement.0.iter().map(area).collect()
}

/// Returns the error code that a reviewer gave, on one line of at most 64 characters.
fn word(code: &str) -> String {
    let word: String = code.chars().filter(|letter| !letter.is_control()).take(64).collect();
    if word.trim().is_empty() { "INTERNAL_ERROR".to_owned() } else { word }
}

async fn kept(state: &Path, bytes: &[u8]) -> Result<StoredObject, Error> {
    let (state, bytes) = (state.to_owned(), bytes.to_vec());
    let kept = tokio::task::spawn_blocking(move || objects::put(&state, bytes.as_slice())).await;
    let kept = kept.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    kept.map_err(|cause| Error::file("save a document of a review in", cause))
}

/// The lock that allows one request at a time for a review session on this machine. The process holds the locked file
/// while this value exists.
struct Alone {
    path: std::path::PathBuf,
    _file: File,
}

impl Drop for Alone {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.path);
    }
}

fn alone(state: &Path, review: ReviewId) -> std::io::Result<Option<Alone>> {
    let folder = super::program::folder(state);
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{review}.lock"));
    loop {
        let file = std::fs::OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
        match file.try_lock() {
            // The previous holder of the lock deletes the lock file. If it did so after this process opened the file, a
            // lock on the deleted file would keep no other process out. So this process opens the file again.
            Ok(()) if !is_file_of_path(&file, &path)? => {}
            Ok(()) => return Ok(Some(Alone { path, _file: file })),
            Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Returns true when an open file is still the file at its path.
fn is_file_of_path(file: &File, path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let open = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns true when this provider (an agent of the settings) is the agent that the stored review names as its
/// reviewer.
pub fn is_by(review: &Review, provider: &Provider) -> bool {
    review.provider == provider.slug()
}
