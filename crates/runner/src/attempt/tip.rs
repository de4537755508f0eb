//! Checks the branches of plans once at the end of a run, also with the checks that run only then.

use engine::condition::ConditionKind;
use engine::id::TaskId;
use serde_json::json;

use super::AttemptError;
use super::shared::{MergedTask, RunEvent, RunNews, RunnerShared};
use crate::verify::project::BaselineEnd;

impl RunnerShared {
    /// Runs all checks of the project on the last commit of each branch that this run merged into. A result that is kept
    /// is not made again.
    pub(crate) async fn check_tips(&self) -> Result<(), AttemptError> {
        for merged in self.merged().into_values() {
            self.check_tip(&merged).await?;
        }
        Ok(())
    }

    async fn check_tip(&self, merged: &[MergedTask]) -> Result<(), AttemptError> {
        let (Some(first), Some(last)) = (merged.first(), merged.last()) else { return Ok(()) };
        let branch = &last.branch;
        for check in &self.settings.verify.checks {
            let Some(found) = self.check_commit(&last.tip, check).await? else { continue };
            let subject = format!("{branch}: {}", found.command);
            match found.end {
                BaselineEnd::Passes => self.clear_condition(ConditionKind::TipFailed, &subject).await,
                BaselineEnd::TimesOut | BaselineEnd::NoTests | BaselineEnd::Unknown => {}
                BaselineEnd::Fails => {
                    // A check that failed before the tasks were merged is known already and is not their fault.
                    let before = self.check_commit(&first.base, check).await?;
                    if before.is_some_and(|before| before.end == BaselineEnd::Passes) {
                        let tasks: Vec<String> = merged.iter().map(|task| task.name.clone()).collect();
                        self.tip_failed((branch, &subject), (found.command, found.last_line), tasks).await;
                    }
                }
            }
        }
        Ok(())
    }

    async fn tip_failed(
        &self,
        (branch, subject): (&str, &str),
        (command, last_line): (String, String),
        tasks: Vec<String>,
    ) {
        let title = format!("{command} fails on {branch} after {}", tasks.join(", "));
        let detail = json!({"branch": branch, "command": command, "last_line": last_line, "tasks": tasks});
        self.set_condition(ConditionKind::TipFailed, (subject, title), &detail).await;
        let what = RunEvent::TipFailed { branch: branch.to_owned(), command, last_line, tasks };
        let (name, agent) = (branch.to_owned(), "runner".to_owned());
        self.tell(RunNews { task: TaskId::FIRST, number: None, name, agent, what });
    }
}
