//! Stores conditions, which are facts about the project that need a person and belong to no task: a failing setup, a
//! check that fails before any change, an agent that cannot work, a branch that fails its checks.

use engine::condition::ConditionKind;
use engine::{Caller, Command, Json, Rights};
use serde_json::json;

use super::shared::{FailedSetup, RunnerShared};
use crate::verify::project::BaselineEnd;
use crate::verify::project::baseline::BaselineRecord;

/// The longest subject of a condition (a fact about the project that needs a person), in bytes. A longer subject is
/// cut.
const SUBJECT_BYTES_MAX: usize = 200;

impl RunnerShared {
    /// Stores a condition (a fact about the project that needs a person). A failure of the store is ignored, because
    /// the events of the run tell the person, too.
    pub(crate) async fn set_condition(
        &self,
        kind: ConditionKind,
        (subject, title): (&str, String),
        detail: &serde_json::Value,
    ) {
        let subject = short(subject);
        let set = Command::SetCondition { kind, subject, title: short(&title), detail: Json::from(detail) };
        let _not_kept = self.service.execute(Caller::with_rights(Rights::Runner), set).await;
    }

    pub(crate) async fn clear_condition(&self, kind: ConditionKind, subject: &str) {
        let clear = Command::ClearCondition { kind, subject: short(subject) };
        let _was_not_set = self.service.execute(Caller::with_rights(Rights::Runner), clear).await;
    }

    /// Clears the condition (a stored fact for the person) that an agent cannot work. Does so after the agent's first
    /// successful turn in this run.
    pub(crate) async fn agent_works(&self, slug: &str) {
        if self.is_first_success(slug) {
            self.clear_condition(ConditionKind::AgentRests, slug).await;
        }
    }

    pub(crate) async fn set_setup_condition(&self, problem: &FailedSetup) {
        let title = format!("the setup failed: {} {}", problem.command, problem.how);
        let detail = json!({"command": problem.command, "how": problem.how, "last_lines": problem.last_lines});
        self.set_condition(ConditionKind::SetupFailed, (&problem.command, title), &detail).await;
    }

    /// Stores the condition (a fact for the person) that a check fails before any change. Clears it when the check
    /// passes.
    pub(crate) async fn baseline_condition(&self, record: &BaselineRecord) {
        let command = &record.command;
        match record.end {
            BaselineEnd::Fails | BaselineEnd::TimesOut => {
                let title = format!("{command} fails before any change: {}", record.last_line);
                let detail = json!({"command": command, "exit_code": record.exit_code, "last_line": record.last_line});
                self.set_condition(ConditionKind::BaselineFails, (command, title), &detail).await;
            }
            BaselineEnd::Passes => self.clear_condition(ConditionKind::BaselineFails, command).await,
            BaselineEnd::NoTests | BaselineEnd::Unknown => {}
        }
    }
}

pub(super) fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let end = line.floor_char_boundary(SUBJECT_BYTES_MAX.min(line.len()));
    line[..end].to_owned()
}
