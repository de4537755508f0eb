//! Completes a task whose work is checked and merged.

use engine::command::Target;
use engine::delivery::{CheckOutcome, DeliveredWork, DeliveryReport, UncheckedReason};
use engine::verification::Verification;
use engine::{Command, Json};
use wire::json::{Value, object};

use super::FinishStage;
use crate::attempt::AttemptError;
use crate::attempt::place::WorkPlace;
use crate::attempt::shared::RunEvent;
use crate::outcome::{AgentResult, cut};
use crate::verify::VerificationEvidence;
use crate::verify::project::{CheckedWork, UncheckedWork};
use base::project::budget;

impl FinishStage<'_> {
    pub(super) async fn complete(
        &self,
        (place, result): (&WorkPlace, &AgentResult),
        evidence: Option<&VerificationEvidence>,
        merged: Option<String>,
    ) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let rows = facts.verifications.iter().filter(|row| row.attempt == run.attempt);
        let failed = rows.clone().filter(|row| !row.has_passed()).count();
        let found = rows.clone().find(|row| row.turn == Some(self.turn));
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
            ("notes", texts(&result.notes)),
            ("files", texts(&result.files())),
            ("commit", merged.clone().or_else(|| evidence.and_then(|evidence| evidence.commit.clone())).into()),
            ("branch", place.branch().map(str::to_owned).into()),
            ("cost_usd", cost.into()),
            ("duration_seconds", (facts.spent.ms / 1_000).into()),
            ("check", evidence.map(|evidence| check(&evidence.checked_work(), place.base_name())).into()),
            ("verification", found.map(verification).into()),
        ]);
        let tries = u32::try_from(failed + 1).unwrap_or(u32::MAX);
        let delivery = match evidence {
            Some(evidence) => self.delivery(place, evidence, (merged, tries)).await?,
            None => None,
        };
        let waits_for_merge = delivery.as_ref().is_some_and(|delivery| delivery.in_plan.is_none());
        let to = Target::Completed {
            outcome: Some(cut(result.outcome())),
            detail: Some(Json::from_stored(detail.to_string())),
            delivery: delivery.map(Box::new),
        };
        run.execute(Command::Move { task: run.task, attempt: Some(run.attempt), to }).await?;
        let summary = result.outcome().to_owned();
        run.tell(facts, RunEvent::Completed { summary, spent: facts.spent, waits_for_merge });
        Ok(())
    }
}

impl FinishStage<'_> {
    /// Returns the record of the work in git that the store keeps: its branch, its commits and its checks. Returns
    /// `None` outside of git, and for a task without changes.
    async fn delivery(
        &self,
        place: &WorkPlace,
        evidence: &VerificationEvidence,
        (merged, tries): (Option<String>, u32),
    ) -> Result<Option<DeliveryReport>, AttemptError> {
        let WorkPlace::Worktree { workspace, line, base_commit, .. } = place else { return Ok(None) };
        let Some(commit) = evidence.commit.clone() else { return Ok(None) };
        let ground = &self.run.shared.ground;
        let changes = ground.changes(&[base_commit], &commit).await?;
        if changes.files == 0 {
            return Ok(None);
        }
        let tree = match &evidence.tree {
            Some(tree) => tree.clone(),
            None => ground.tree_of_commit(&commit).await?,
        };
        let is_commit = line.branch.len() >= 40 && line.branch.chars().all(|letter| letter.is_ascii_hexdigit());
        let work = DeliveredWork {
            branch: workspace.branch.clone(),
            base_branch: (!is_commit).then(|| line.branch.clone()),
            base: base_commit.clone(),
            commit,
            tree,
            files: changes.files,
            added: changes.added,
            removed: changes.removed,
            tries,
        };
        Ok(Some(DeliveryReport { check: outcome(evidence.checked_work()), work, in_plan: merged }))
    }
}

/// Converts the result of the checks to the type that the store keeps.
fn outcome(work: CheckedWork) -> CheckOutcome {
    let why = match work {
        CheckedWork::Checked { command, ms } => return CheckOutcome::Checked { command, ms },
        CheckedWork::CheckedFlaky { command, run, of, ms } => {
            return CheckOutcome::CheckedFlaky { command, run, of, ms };
        }
        CheckedWork::Failed => UncheckedReason::NotRun,
        CheckedWork::Unchecked(UncheckedWork::NoCheck) => UncheckedReason::NoCheck,
        CheckedWork::Unchecked(UncheckedWork::Baseline { command }) => UncheckedReason::Baseline { command },
        CheckedWork::Unchecked(UncheckedWork::TimedOut { command }) => UncheckedReason::TimedOut { command },
        CheckedWork::Unchecked(UncheckedWork::CheckChanged { script }) => UncheckedReason::CheckChanged { script },
        CheckedWork::Unchecked(UncheckedWork::NotRun) => UncheckedReason::NotRun,
    };
    CheckOutcome::Unchecked { why }
}

/// Returns the result of the project's checks as a text: `checked`, `checked, flaky: …` or `unchecked (…)`.
fn check(work: &CheckedWork, base: &str) -> Value {
    Value::from(work.told(base).as_str())
}

fn float(number: f64) -> wire::json::Number {
    wire::json::Number::try_from(number).unwrap_or_else(|_| 0_i64.into())
}
