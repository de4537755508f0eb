//! Protections: settings of a person, such as a required review, that agents cannot loosen. Only a person can remove a
//! protection.

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::id::AgentId;
use crate::task::{Task, TaskState};

/// One setting that protects a task or a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// A person must approve each claim of the task before the claim begins.
    Gate,
    /// Another agent must review the work before the task can be completed.
    Review,
    /// The plan limits the money, the tokens, the time or the turns (runs of an agent's program) of the task.
    Limits,
    /// The task's output must be verified before the task can be completed.
    Contract,
    /// The task waits, directly or through other tasks, for a task that is protected by a gate, a review, limits or a
    /// contract.
    Dependency,
    /// Agents cannot change the settings and the status of the workflow.
    Workflow,
}

impl Protection {
    pub fn as_words(self) -> &'static str {
        match self {
            Self::Gate => "its gate",
            Self::Review => "its review",
            Self::Limits => "its limits",
            Self::Contract => "its output contract",
            Self::Dependency => "a task it depends on",
            Self::Workflow => "the workflow's owner",
        }
    }
}

impl Task {
    /// Returns all protections of the task, such as a required review. Only a person may loosen them.
    pub fn protections(&self) -> Vec<Protection> {
        let all = [
            (self.gate, Protection::Gate),
            (self.review, Protection::Review),
            (self.limited, Protection::Limits),
            (self.verify, Protection::Contract),
        ];
        all.into_iter().filter_map(|(set, protection)| set.then_some(protection)).collect()
    }

    /// Returns the protections of the task that this agent cannot loosen. The contract (the rules for the task's
    /// output) is left out when the agent created the task itself and no agent has claimed the task. The agent may then
    /// replace the task.
    pub fn protections_from(&self, agent: AgentId) -> Vec<Protection> {
        let own = self.author == Some(Actor::Agent(agent));
        let untouched = self.attempt == 0 && matches!(self.state, TaskState::Pending { .. });
        let mut found = self.protections();
        if own && untouched {
            found.retain(|protection| *protection != Protection::Contract);
        }
        found
    }
}
