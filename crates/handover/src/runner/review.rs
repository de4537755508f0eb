//! Has a verified output reviewed by another agent. The worker gets the findings, and the reviewer gets the worker's
//! decisions on them.

use std::sync::Arc;

use engine::command::Target;
use engine::id::TurnId;
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::review::{Finding, FindingDecision, RoundState, Verdict};
use engine::task::{BlockKind, Priority, TaskState};
use engine::turn::{Purpose, Spent, Turn};
use engine::view::{self, AttemptView as Facts, Reviewed};
use engine::{Command, Refusal};

use super::attempt::{AttemptError, AttemptRun, cut};
use super::evaluate::EvaluationTexts;
use super::place::WorkPlace;
use super::shop::{RunnerAgent, Shop, What};
use super::verify;
use crate::error::Error;
use crate::review::ask::{ProviderSaid, ProviderTry, Stage};
use crate::review::program::said;
use crate::review::provider::{own_slug, slug};
use crate::review::request::{ReviewedSubject, by_extension, request};
use crate::review::task_work::DIFF;
use crate::review::{self, Bench, Provider, RoundToRun};
use crate::task_extra::TaskExtra;
use git::program::GitCall;
use git::repository::reference;

/// The message to a worker whose work was reviewed.
pub(super) const FOUND: &str = "Your work was reviewed. Decide on each finding below (they are in full in your inbox, as \
    task.feedback): mend your work where you follow it. Say what became of each with a line of `notes` (or `key_outputs`) of \
    the form `feedback ID accepted: TEXT`, `feedback ID partial: TEXT` or `feedback ID rejected: TEXT`, or with the tool \
    review_answer. What you do not answer stays open. Then end again with your whole output.";

/// The sentences that tell the reviewer where the work comes from.
const GATHERED: &str = "Handover gathered it from the task's worktree: everything that the task changed.";
const GIVEN_FILE: &str = "The worker named this file as its output. Its worktree has no changes.";
const GIVEN_TEXT: &str =
    "The worker gave this text as its output: Handover did not gather it. Its worktree has no changes.";

/// The longest text of one finding in a list, in characters. A longer text is cut.
const SHOWN_CHARS_MAX: usize = 400;
/// The longest text of all findings in one message to the worker, in characters. A longer text is cut, with a hint to
/// `review_status`.
const MAIL_CHARS_MAX: usize = 60_000;
/// The largest output file whose content is reviewed, in bytes. For a larger file, the reviewer gets only the name of
/// the file.
const CONTENT_BYTES_MAX: u64 = 1 << 20;

/// Returns the open findings as pairs of id and text. Another agent wrote the texts, so each is escaped to one line.
pub(super) fn codes(known: &Reviewed) -> Vec<(String, String)> {
    let told = |finding: &Finding| {
        let text = format!("{}: {}", finding.aspect, finding.recommendation);
        let text: String = text.chars().take(SHOWN_CHARS_MAX).collect();
        (finding.name.clone(), text.escape_debug().to_string())
    };
    known.findings.iter().filter(|finding| finding.is_open()).map(told).collect()
}

/// Returns the slug of the agent that reviews this worker's work.
pub(super) fn reviewer(shop: &Shop, named: &str, worker: &str) -> Option<String> {
    slug(&shop.settings, named, Some(&own_slug(&shop.settings, worker)))
}

impl AttemptRun {
    /// Runs one round of the review for the output of a turn.
    pub(super) async fn review(&self, facts: &Facts, turn: TurnId) -> Result<(), AttemptError> {
        let Some(judge) = self.judge_of(facts) else {
            let reason = "nobody but its worker is there to review it; name another agent or role as its `review`";
            return self.block(facts, BlockKind::ToolFailure, reason.to_owned()).await;
        };
        let Ok(_room) = Arc::clone(&judge.room).acquire_owned().await else { return Ok(()) };
        let Ok(_turn) = Arc::clone(&self.shop.room).acquire_owned().await else { return Ok(()) };
        let provider = Provider { member: judge.member.clone(), limits: self.shop.settings.limits.clone() };
        let bench = Bench {
            service: &self.shop.service,
            state: &self.shop.state,
            host: &self.shop.name,
            caller: self.shop.caller(self.seat.agent),
            provider: &provider,
        };
        let id = match &facts.review {
            Some(known) => known.review.id,
            None => {
                let rounds = TaskExtra::of(&facts.detail).limits.review_rounds;
                review::open(&bench, Some((self.task, self.attempt)), rounds).await?
            }
        };
        let known = self.shop.service.view(move |world| view::review(world, id)).await?;
        let artifact = self.artifact(facts, turn).await?;
        let document = request(known.review.next(), &artifact, &known.findings).to_string();
        let mut stage = Chair { attempt: self, facts, judge: &judge, earlier: earlier(facts, &judge) };
        let which = RoundToRun { review: id, turn: Some(turn) };
        let Some(answered) = review::round(&bench, which, document.as_bytes(), &mut stage).await? else {
            return Ok(());
        };
        let known = self.shop.service.view(move |world| view::review(world, id)).await?;
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
        self.tell(facts, What::Reviewed { session: id.to_string(), found, open, problem: problem.clone() });
        match (round, problem) {
            // The request was refused before a round was recorded. Without this block, no record would show the
            // failure.
            (None, Some(problem)) => {
                self.block(facts, BlockKind::ToolFailure, format!("it cannot be shown to {}: {problem}", judge.slug))
                    .await
            }
            (Some(_), _) | (None, None) => Ok(()),
        }
    }

    /// Returns the reviewer: the agent of the earlier rounds, else the agent that the plan names.
    fn judge_of(&self, facts: &Facts) -> Option<Arc<RunnerAgent>> {
        let worker = &self.seat.member.settings.slug;
        let named = match &facts.review {
            Some(known) => known.review.provider.clone(),
            None => TaskExtra::of(&facts.detail).review?,
        };
        let slug = reviewer(&self.shop, &named, worker)?;
        self.shop.seats.get(&slug).cloned()
    }

    /// Returns what the reviewer sees: the changes of the task. If nothing changed, it is the output that the worker
    /// named.
    async fn artifact(&self, facts: &Facts, turn: TurnId) -> Result<ReviewedSubject, AttemptError> {
        let place = self.place(facts).await?;
        if let WorkPlace::Worktree { workspace, line, .. } = &place {
            let arguments =
                ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--merge-base", "--end-of-options"];
            let line = reference(&line.branch);
            let call = GitCall::read(&workspace.path, &arguments).here_only().and(&line).and("HEAD");
            let output = call.run(&self.shop.ground.git).await?.whole()?;
            let tree = GitCall::read(&workspace.path, &["rev-parse", "HEAD^{tree}"]).here_only();
            let tree = tree.run(&self.shop.ground.git).await?;
            if !output.stdout.is_empty() {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let artifact = ReviewedSubject::of_text(text, DIFF.to_owned(), Some(format!("tree:{}", tree.text())));
                return Ok(ReviewedSubject { source: Some(GATHERED.to_owned()), ..artifact });
            }
        }
        let claimed = self.claimed(turn)?;
        let named =
            facts.verifications.iter().find(|row| row.turn == Some(turn)).and_then(|row| row.output_ref.clone());
        let named = named.or_else(|| claimed.files.first().cloned());
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
        let text = named.filter(|text| !text.trim().is_empty()).unwrap_or(claimed.summary);
        let artifact = ReviewedSubject::of_text(text, "text/plain".to_owned(), Some(format!("given: {turn}")));
        Ok(ReviewedSubject { source: Some(GIVEN_TEXT.to_owned()), ..artifact })
    }

    /// Sends the findings to the worker's inbox. When the turn is started again, no second message is sent.
    pub(super) async fn send_findings(&self, facts: &Facts) {
        let Some(known) = &facts.review else { return };
        let Some((round, judge)) = known.last().zip(self.judge_of(facts)) else { return };
        let Some(turn) = round.turn else { return };
        let (id, open) = (known.review.id, known.review.open);
        let mut body = format!("{id}, iteration {}: {open} findings are open. Decide on each of them.\n", round.number);
        for finding in known.findings.iter().filter(|finding| finding.is_open()) {
            let Finding { name, aspect, description, recommendation, .. } = finding;
            body.push_str(&format!("\n{name}\nAspect: {aspect}\n{description}\nRecommendation: {recommendation}\n"));
            if body.len() > MAIL_CHARS_MAX {
                body = body.chars().take(MAIL_CHARS_MAX).chain("\n(more with review_status)\n".chars()).collect();
                break;
            }
        }
        let draft = MessageDraft {
            priority: Priority::DEFAULT,
            body,
            ..self.draft(facts, MessageKind::Feedback, (format!("{open} findings of a review"), String::new()))
        };
        let send = Command::Send { to: Recipients::One(MailboxOwner::Agent(self.seat.agent)), draft };
        let caller = self.shop.once(judge.agent, turn, &format!("findings {id} {}", round.number));
        if let Err(error) = self.shop.service.execute(caller, send).await {
            self.tell(facts, What::Warning { text: format!("the findings are not in its inbox: {error}") });
        }
    }

    /// Records the decisions on findings that the worker wrote in the notes of its output.
    pub(super) async fn decide(&self, facts: &Facts, turn: TurnId, text: &str) -> Result<(), AttemptError> {
        let Some(known) = &facts.review else { return Ok(()) };
        let notes = self.read(turn, text, verify::SaidReference::of).notes;
        for (name, decision) in notes.iter().filter_map(|note| decision(note)) {
            let decide = Command::DecideFinding { review: known.review.id, finding: name.clone(), decision };
            let caller = self.shop.once(self.seat.agent, turn, &format!("feedback {name}"));
            match self.shop.service.execute(caller, decide).await {
                Ok(_) => {}
                Err(Error::Refused(refusal @ (Refusal::FindingNotFound { .. } | Refusal::InvalidInput { .. }))) => {
                    self.warn(&refusal.to_string());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Asks a person, because the review used up its rounds and findings are still open. Pauses the task before it
    /// asks.
    pub(super) async fn ask_about_review(&self, facts: &Facts, turn: TurnId) -> Result<(), AttemptError> {
        let Some(known) = &facts.review else { return Ok(()) };
        let (id, rounds) = (known.review.id, known.review.rounds);
        let question = format!(
            "{} was reviewed {rounds} times, and {} findings are open. Decide on them (`handover review show {id}`, `handover \
             review answer {id}/ID accepted|partial|rejected --reason TEXT`), then answer: with nothing open it is \
             completed, else its worker goes on with your answer.",
            facts.task.name, known.review.open
        );
        if !matches!(facts.task.state, TaskState::Paused { .. }) {
            let to = Target::Paused { reason: Some(cut(&question)) };
            self.execute(Command::Move { task: self.task, attempt: Some(self.attempt), to }).await?;
        }
        let draft =
            self.draft(facts, MessageKind::Question, (format!("{}: review", facts.task.name), question.clone()));
        let send = Command::Send { to: Recipients::One(MailboxOwner::Human), draft };
        let caller = self.shop.once(self.seat.agent, turn, &format!("review {id} {rounds}"));
        self.shop.service.execute(caller, send).await?;
        self.tell(facts, What::Asks { question });
        Ok(())
    }
}

/// Parses a note of the form `feedback ID accepted|rejected|partial: TEXT`.
fn decision(note: &str) -> Option<(String, FindingDecision)> {
    let rest = note.trim().strip_prefix("feedback ")?.trim_start();
    let (name, rest) = rest.split_once(char::is_whitespace)?;
    let (word, text) = rest.split_once(':').map_or((rest, ""), |(word, text)| (word, text));
    let verdict = Verdict::parse(word.trim())?;
    let explanation = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    Some((name.to_owned(), FindingDecision { verdict, code: None, explanation }))
}

/// Returns the cost of the reviewer's earlier turns. Some programs report a running total, from which this cost is
/// subtracted.
fn earlier(facts: &Facts, judge: &RunnerAgent) -> Spent {
    let own = facts.turns.iter().filter(|turn| turn.purpose == Purpose::Review && turn.agent == judge.agent);
    own.filter_map(Turn::ended).fold(Spent::default(), |sum, ended| sum.and(ended.spent))
}

/// Runs the reviewer's program for a review round. Each start of the program is recorded as a separate turn.
struct Chair<'a> {
    attempt: &'a AttemptRun,
    facts: &'a Facts,
    judge: &'a RunnerAgent,
    earlier: Spent,
}

impl Stage for Chair<'_> {
    type StageError = AttemptError;

    async fn play(&mut self, attempt: ProviderTry) -> Result<ProviderSaid, AttemptError> {
        let ProviderTry { system, message, resume } = attempt;
        let look = EvaluationTexts { purpose: Purpose::Review, system, message, resume };
        let (ran, folder) = self.attempt.look(self.facts, self.judge, look).await?;
        let said = said(&ran, self.judge.member.settings.adapter, &folder, self.earlier);
        self.earlier = self.earlier.and(said.spent);
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_decides_on_a_finding() {
        let cases = [
            ("feedback missing-test-01 accepted: added one", Some(("missing-test-01", "accepted", Some("added one")))),
            ("  feedback a.b_c-123  rejected : out: of scope", Some(("a.b_c-123", "rejected", Some("out: of scope")))),
            ("feedback missing-test-01 partial", Some(("missing-test-01", "partial", None))),
            ("feedback missing-test-01", None),
            ("feedback missing-test-01 maybe: x", None),
            ("output_ref: a.txt", None),
            ("Feedback missing-test-01 accepted", None),
        ];
        for (note, expected) in cases {
            let found = decision(note);
            let found = found
                .as_ref()
                .map(|(name, decision)| (name.as_str(), decision.verdict.as_str(), decision.explanation.as_deref()));
            assert_eq!(found, expected, "{note}");
        }
    }
}
