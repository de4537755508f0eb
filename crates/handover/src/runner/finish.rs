//! Handles an output that says "done": commits the work, verifies it, merges it, and completes the task after the
//! merge.

use engine::command::{RecordVerification, Target};
use engine::id::TurnId;
use engine::task::BlockKind;
use engine::turn::Purpose;
use engine::verification::Verification;
use engine::view::AttemptView as Facts;
use engine::{Command, Json};
use wire::json::{Value, object};
use wire::output::AgentOutput;

use super::attempt::{AttemptError, AttemptRun, cut};
use super::chain::Chain;
use super::evaluate::VerificationFound;
use super::place::{WorkPlace, left};
use super::shop::What;
use super::step::Because;
use super::verify::VerificationEvidence;
use crate::budget;
use git::branch::{CommitResult, MergeResult};

/// The statements that a "done" output makes about itself. An envelope and a handoff both become this type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Claimed {
    pub(super) summary: String,
    /// The notes of an envelope, or the key outputs of a handoff.
    pub(super) notes: Vec<String>,
    pub(super) files: Vec<String>,
}

/// An output that says "done", with the folder of the work and its commit.
#[derive(Debug)]
pub(super) struct FinishedOutput {
    pub(super) turn: TurnId,
    pub(super) place: WorkPlace,
    pub(super) claimed: Claimed,
    /// The head commit after all work was committed. `None` outside of git.
    pub(super) head: Option<String>,
}

impl AttemptRun {
    /// Returns the statements that the output of a turn makes about itself.
    pub(super) fn claimed(&self, turn: TurnId) -> Result<Claimed, AttemptError> {
        let text = self.answer(turn)?;
        let claimed = self.read(turn, &text, |output| match output {
            AgentOutput::Handoff(verdict) => verdict.contract.as_ref().map(|contract| {
                let notes: Vec<String> = contract.evidence().key_outputs.iter().map(ToString::to_string).collect();
                let summary = contract.summary().map(str::to_owned).filter(|text| !text.trim().is_empty());
                let listed = || Some(notes.join("\n")).filter(|text| !text.trim().is_empty());
                let summary = summary.or_else(listed).unwrap_or_else(|| contract.next_action().to_owned());
                Claimed { summary, notes, files: Vec::new() }
            }),
            AgentOutput::Envelope(judged) => judged.value.as_ref().map(|envelope| Claimed {
                summary: envelope.summary.to_string(),
                notes: envelope.notes.get().iter().flat_map(|notes| &notes.0).map(ToString::to_string).collect(),
                files: envelope.artifacts.0.iter().map(|artifact| artifact.path.to_string()).collect(),
            }),
            AgentOutput::Missing => None,
        });
        claimed.ok_or_else(|| AttemptError::Other("the output cannot be read again".to_owned()))
    }

    /// Commits and verifies the output, and records the result. The recorded result decides the next step of the
    /// attempt.
    pub(super) async fn finish(&self, facts: &Facts, turn: TurnId) -> Result<(), AttemptError> {
        let place = self.place(facts).await?;
        let claimed = self.claimed(turn)?;
        let head = match self.commit(facts, &place, &claimed).await? {
            Ok(head) => head,
            Err(unmended) => {
                let reason = format!("its work still has the markers of a conflict: {}", unmended.join(", "));
                return self.block(facts, BlockKind::Dependency, reason).await;
            }
        };
        match self.verify(facts, &FinishedOutput { turn, place, claimed, head }).await? {
            Some(found) => self.verified(facts, turn, found).await,
            // There is no result, because the task is blocked, waits for a person, or the runner must stop.
            None => Ok(()),
        }
    }

    /// Commits all work. Returns the new head commit, or the paths of files that still have conflict markers of a
    /// merge.
    async fn commit(
        &self,
        facts: &Facts,
        place: &WorkPlace,
        claimed: &Claimed,
    ) -> Result<Result<Option<String>, Vec<String>>, AttemptError> {
        let message =
            format!("{}\n\n{}\n\nTask: {}\nAttempt: {}", facts.task.name, claimed.summary, self.task, self.attempt);
        let message: String = message.chars().take(8_000).collect();
        Ok(match self.shop.ground.commit(place, &message, &self.author()).await? {
            None => Ok(None),
            Some(CommitResult::Clean { head, left: rest } | CommitResult::Commit { head, left: rest }) => {
                for text in left(&rest) {
                    self.tell(facts, What::Warning { text });
                }
                Ok(Some(head))
            }
            Some(CommitResult::Unmended { paths }) => Err(paths),
        })
    }

    async fn verified(&self, facts: &Facts, turn: TurnId, found: VerificationFound) -> Result<(), AttemptError> {
        let passed = found.has_passed();
        let problem = (!passed).then(|| complaints(&found.evidence));
        let record = RecordVerification {
            task: self.task,
            attempt: self.attempt,
            turn: Some(turn),
            mechanical: found.mechanical,
            semantic: found.semantic,
            output_ref: found.output_ref,
            evidence: found.evidence.to_json(),
        };
        let caller = self.shop.once(self.seat.agent, turn, "verification");
        self.shop.service.execute(caller, Command::RecordVerification(Box::new(record))).await?;
        self.tell(facts, What::Verified { passed, problem });
        Ok(())
    }

    /// Merges verified work into the workflow's branch and completes the task.
    pub(super) async fn merge(&self, facts: &Facts, turn: TurnId) -> Result<(), AttemptError> {
        let place = self.place(facts).await?;
        let claimed = self.claimed(turn)?;
        let lock = self.shop.merging(facts.workflow.id);
        let merged = {
            let _one_at_a_time = lock.lock().await;
            match self.commit(facts, &place, &claimed).await? {
                Ok(Some(head)) => {
                    let message = format!("merge {} ({})", facts.task.name, self.task);
                    self.shop.ground.merge(&place, &head, &message, &self.author()).await?
                }
                Ok(None) => None,
                Err(paths) => Some(MergeResult::Conflict { paths, more: false }),
            }
        };
        let commit = match merged {
            None => None,
            Some(MergeResult::Already { tip } | MergeResult::FastForward { tip } | MergeResult::Merge { tip }) => {
                self.tell(facts, What::Merged { commit: tip.clone() });
                Some(tip)
            }
            Some(MergeResult::Conflict { paths, .. }) => return self.conflict(facts, &place, paths).await,
            Some(MergeResult::HasState { path }) => {
                let reason = format!(
                    "its work has {path}, which is Handover's own state: checked out, it would replace the token and the \
                     store; remove it from the branch {}, then let the task go on",
                    place.branch().unwrap_or_default()
                );
                return self.block(facts, BlockKind::VerificationFail, reason).await;
            }
            Some(MergeResult::CheckedOut { path }) => {
                let reason = format!(
                    "the workflow's branch is checked out at {}; check out another one there, and let the task go on",
                    path.display()
                );
                return self.block(facts, BlockKind::Dependency, reason).await;
            }
        };
        self.complete(facts, &FinishedOutput { turn, place, claimed, head: commit }).await
    }

    /// Handles a merge conflict. The agent has to resolve the first conflict of an attempt. A second conflict blocks
    /// the task.
    async fn conflict(&self, facts: &Facts, place: &WorkPlace, paths: Vec<String>) -> Result<(), AttemptError> {
        self.tell(facts, What::Conflict { paths: paths.clone() });
        if Chain::of(&facts.turns, self.attempt).conflicts > 0 {
            let reason = format!("its work still conflicts with what others finished: {}", paths.join(", "));
            return self.block(facts, BlockKind::Dependency, reason).await;
        }
        match self.shop.ground.bring(place, facts.workflow.id, &self.author()).await? {
            MergeResult::Conflict { paths, .. } => {
                Box::pin(self.turn(facts, Purpose::Conflict, Because::Conflict { paths })).await
            }
            // There is no conflict any more, because the branches changed. The next step merges the work.
            MergeResult::Already { .. } | MergeResult::FastForward { .. } | MergeResult::Merge { .. } => Ok(()),
            MergeResult::HasState { path } => Err(AttemptError::Other(format!("the workflow's branch has {path}"))),
            MergeResult::CheckedOut { path } => {
                Err(AttemptError::Other(format!("the workflow's branch is checked out at {}", path.display())))
            }
        }
    }

    async fn complete(&self, facts: &Facts, done: &FinishedOutput) -> Result<(), AttemptError> {
        let FinishedOutput { turn, place, claimed, head } = done;
        let rows = facts.verifications.iter().filter(|row| row.attempt == self.attempt);
        let failed = rows.clone().filter(|row| !row.has_passed()).count();
        let found = rows.clone().find(|row| row.turn == Some(*turn));
        let cost = facts.spent.usd_micros.map(|micros| Value::Number(float(budget::usd(micros))));
        let word = |verdict: engine::verification::Verdict| Value::from(verdict.as_str());
        let verification = |row: &Verification| {
            object([
                ("mechanical", word(row.mechanical)),
                ("semantic", word(row.semantic)),
                ("attempts", u64::try_from(failed + 1).unwrap_or(u64::MAX).into()),
            ])
        };
        let texts = |texts: &[String]| Value::List(texts.iter().map(|text| Value::from(text.as_str())).collect());
        let detail = object([
            ("output_ref", found.and_then(|row| row.output_ref.clone()).into()),
            ("notes", texts(&claimed.notes)),
            ("files", texts(&claimed.files)),
            ("commit", head.clone().into()),
            ("branch", place.branch().map(str::to_owned).into()),
            ("cost_usd", cost.into()),
            ("duration_seconds", (facts.spent.ms / 1_000).into()),
            ("verification", found.map(verification).into()),
        ]);
        let to = Target::Completed {
            outcome: Some(cut(&claimed.summary)),
            detail: Some(Json::from_stored(detail.to_string())),
        };
        self.execute(Command::Move { task: self.task, attempt: Some(self.attempt), to }).await?;
        self.tell(facts, What::Completed { summary: claimed.summary.clone() });
        Ok(())
    }
}

/// Returns the problems of a failed verification as text, one problem on each line.
fn complaints(evidence: &VerificationEvidence) -> String {
    let failed = evidence.evaluation.as_ref().filter(|_| evidence.has_passed());
    let lines = evidence.complaints(failed).into_iter().map(|(code, message)| format!("{code}: {message}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn float(number: f64) -> wire::json::Number {
    wire::json::Number::try_from(number).unwrap_or_else(|_| 0_i64.into())
}
