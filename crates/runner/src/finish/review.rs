//! Lets another agent review a verified output. The worker gets the findings, and the reviewer gets the worker's
//! decisions on them.

use std::sync::Arc;

use engine::Command;
use engine::command::Target;
use engine::id::TurnId;
use engine::inbox::{MailboxOwner, MessageKind, Recipients};
use engine::review::RoundState;
use engine::task::{BlockKind, TaskState};
use engine::turn::{Purpose, Spent, Turn};
use engine::view::{self, AttemptView as Facts};

use crate::ask::{AskedProgram, AskedTexts, ProgramReply};
use crate::attempt::place::WorkPlace;
use crate::attempt::shared::{RunEvent, RunnerAgent};
use crate::attempt::{AttemptError, AttemptRun};
use crate::look::LookTurns;
use crate::outcome::cut;
use crate::review::program::said;
use crate::review::request::{ReviewedSubject, by_extension, request};
use crate::review::task_work::DIFF;
use crate::review::{self, Provider, ReviewContext, RoundToRun};
use base::project::task_extra::TaskExtra;
use base::service::together::TransactionStep;
use git::program::GitCall;
use git::repository::reference;

/// The sentences that tell the reviewer the origin of the work under review.
const GATHERED: &str = "Handover gathered it from the task's worktree: everything that the task changed.";
const GIVEN_FILE: &str = "The worker named this file as its output. Its worktree has no changes.";
const GIVEN_TEXT: &str =
    "The worker gave this text as its output: Handover did not gather it. Its worktree has no changes.";

/// The largest output file whose content is reviewed, in bytes. For a larger file, the reviewer gets only the name of
/// the file.
const CONTENT_BYTES_MAX: u64 = 1 << 20;

/// The stage of an attempt in which another agent reviews the verified output.
pub(crate) struct ReviewStage<'a> {
    pub(crate) run: &'a AttemptRun,
    pub(crate) facts: &'a Facts,
}

impl ReviewStage<'_> {
    /// Runs one round of the review for the output of the given turn.
    pub(crate) async fn review(&self, turn: TurnId) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let Some(judge) = run.reviewer(facts) else {
            let reason = "only the agent that worked on the task could review it; name another agent or role as the \
                task's `review`";
            return run.block(facts, BlockKind::ToolFailure, reason.to_owned()).await;
        };
        let Ok(_room) = Arc::clone(&judge.room).acquire_owned().await else { return Ok(()) };
        let Ok(_turn) = Arc::clone(&run.shared.room).acquire_owned().await else { return Ok(()) };
        let settings = &run.shared.settings;
        let (limits, environment) = (settings.limits.clone(), settings.environment.clone());
        let provider = Provider { member: judge.member.clone(), limits, environment };
        let context = ReviewContext {
            service: &run.shared.service,
            state: &run.shared.state,
            host: &run.shared.name,
            caller: run.shared.caller(run.worker.agent),
            provider: &provider,
        };
        let id = match &facts.review {
            Some(known) => known.review.id,
            None => {
                let rounds = TaskExtra::of(&facts.detail).limits.review_rounds;
                review::open(&context, Some((run.task, run.attempt)), rounds).await?
            }
        };
        let known = run.shared.service.view(move |world| view::review(world, id)).await?;
        let artifact = self.artifact(turn).await?;
        let document = request(known.review.next(), &artifact, &known.findings).to_string();
        let turns = LookTurns { run, facts, judge: &judge, purpose: Purpose::Review };
        let mut program = ReviewerProgram { turns, earlier: earlier(facts, &judge) };
        let which = RoundToRun { review: id, turn: Some(turn) };
        let Some(answered) = review::round(&context, which, document.as_bytes(), &mut program).await? else {
            return Ok(());
        };
        let known = run.shared.service.view(move |world| view::review(world, id)).await?;
        let problem = match &answered.response.outcome {
            wire::feedback::ReviewOutcome::Success(_) => None,
            wire::feedback::ReviewOutcome::Error(failure) => Some(format!("{}: {}", failure.code, failure.message)),
        };
        let round = known.last().filter(|round| round.turn == Some(turn));
        let found = match round.map(|round| &round.state) {
            Some(RoundState::Answered(answered)) => answered.found,
            Some(RoundState::Running { .. } | RoundState::Failed { .. }) | None => 0,
        };
        let open = known.review.open;
        run.tell(facts, RunEvent::Reviewed { session: id.to_string(), found, open, problem: problem.clone() });
        match (round, problem) {
            // If the review request was refused before a round was recorded, block the task. Otherwise no record would
            // show the failure.
            (None, Some(problem)) => {
                run.block(
                    facts,
                    BlockKind::ToolFailure,
                    format!("the work cannot be shown to {}: {problem}", judge.slug),
                )
                .await
            }
            (Some(_), _) | (None, None) => Ok(()),
        }
    }

    /// Returns the subject that the reviewer sees: the changes of the task or, if nothing changed, the output that the
    /// worker named.
    async fn artifact(&self, turn: TurnId) -> Result<ReviewedSubject, AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let place = run.place(facts).await?;
        if let WorkPlace::Worktree { workspace, line, .. } = &place {
            let arguments =
                ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--merge-base", "--end-of-options"];
            let line = reference(&line.branch);
            let call = GitCall::read(&workspace.path, &arguments).here_only().and(&line).and("HEAD");
            let output = call.run(&run.shared.ground.git).await?.whole()?;
            let tree = GitCall::read(&workspace.path, &["rev-parse", "HEAD^{tree}"]).here_only();
            let tree = tree.run(&run.shared.ground.git).await?;
            if !output.stdout.is_empty() {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let artifact = ReviewedSubject::of_text(text, DIFF.to_owned(), Some(format!("tree:{}", tree.text())));
                return Ok(ReviewedSubject { source: Some(GATHERED.to_owned()), ..artifact });
            }
        }
        let result = run.result(turn)?;
        let named =
            facts.verifications.iter().find(|row| row.turn == Some(turn)).and_then(|row| row.output_ref.clone());
        let named = named.or_else(|| result.files().first().cloned());
        if let Some(name) = &named {
            let root = place.path().canonicalize()?;
            let path = root.join(name).canonicalize().ok().filter(|path| path.starts_with(&root) && path.is_file());
            let small =
                |path: &std::path::PathBuf| std::fs::metadata(path).is_ok_and(|found| found.len() <= CONTENT_BYTES_MAX);
            if let Some(path) = path.filter(small)
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                let artifact =
                    ReviewedSubject::of_text(text, by_extension(&path).to_owned(), Some(format!("given: {name}")));
                return Ok(ReviewedSubject { source: Some(GIVEN_FILE.to_owned()), ..artifact });
            }
        }
        let text = named.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| result.outcome().to_owned());
        let artifact = ReviewedSubject::of_text(text, "text/plain".to_owned(), Some(format!("given: {turn}")));
        Ok(ReviewedSubject { source: Some(GIVEN_TEXT.to_owned()), ..artifact })
    }

    /// Asks a person, because the review used up its rounds and findings are still open. Pauses the task before it asks
    /// the person.
    pub(crate) async fn ask_person(&self, turn: TurnId) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let Some(known) = &facts.review else { return Ok(()) };
        let (id, rounds) = (known.review.id, known.review.rounds);
        let question = format!(
            "{} was reviewed {rounds} times, and {} findings are open. Read them with `handover review show {id}`, \
             decide on each with `handover review answer {id}/ID accepted|partial|rejected --reason TEXT`, then \
             answer this message. If no finding is open then, the task is completed; otherwise its agent continues \
             with your answer.",
            facts.task.name, known.review.open
        );
        let mut steps = Vec::new();
        if !matches!(facts.task.state, TaskState::Paused { .. }) {
            let to = Target::Paused { reason: Some(cut(&question)) };
            steps.push(TransactionStep::of(Command::Move { task: run.task, attempt: Some(run.attempt), to }));
        }
        let subject = format!("{}: review", facts.task.name);
        let draft = run.draft(facts, MessageKind::Question, (subject, question.clone()));
        steps.push(TransactionStep::of(Command::Send { to: Recipients::One(MailboxOwner::Human), draft }));
        let caller = run.shared.once(run.worker.agent, turn, &format!("review {id} {rounds}"));
        run.shared.service.execute_all(caller, steps).await?;
        run.tell(facts, RunEvent::Asks { question });
        Ok(())
    }
}

/// Returns the cost of the reviewer's earlier turns. Some programs report the total of all turns, from which this cost
/// is subtracted.
fn earlier(facts: &Facts, judge: &RunnerAgent) -> Spent {
    let own = facts.turns.iter().filter(|turn| turn.purpose == Purpose::Review && turn.agent == judge.agent);
    own.filter_map(Turn::ended).fold(Spent::default(), |sum, ended| sum.and(ended.spent))
}

/// Runs the reviewer's program for a review round. Each start of the program is recorded as a separate turn.
struct ReviewerProgram<'a> {
    turns: LookTurns<'a>,
    earlier: Spent,
}

impl AskedProgram for ReviewerProgram<'_> {
    type StartError = AttemptError;

    async fn start(&mut self, texts: AskedTexts) -> Result<ProgramReply, AttemptError> {
        let (ran, folder) = self.turns.run(texts).await?;
        let reply = said(&ran, self.turns.judge.member.settings.adapter, &folder, self.earlier);
        self.earlier = self.earlier.and(reply.spent);
        Ok(reply)
    }
}
