//! Protections: what a person set so that agents cannot pass it. Only a person takes one off.

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::id::AgentId;
use crate::task::{State, Task};

/// One thing that protects a task or a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// A person lets each claim begin.
    Gate,
    /// Another agent reviews the work before it counts.
    Review,
    /// Money, tokens, turns or time are bounded.
    Limits,
    /// The output is checked before the task counts as done.
    Contract,
    /// The task waits, directly or through others, for a protected one.
    Dependency,
    /// The settings and the status of a workflow.
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
    /// Returns what protects the task itself, whoever asks.
    pub fn protections(&self) -> Vec<Protection> {
        let all = [
            (self.gate, Protection::Gate),
            (self.review, Protection::Review),
            (self.limited, Protection::Limits),
            (self.verify, Protection::Contract),
        ];
        all.into_iter().filter_map(|(set, protection)| set.then_some(protection)).collect()
    }

    /// Returns what protects the task from this agent. A contract that the agent itself wrote is its own to replace while
    /// nobody has held the task.
    pub fn protections_from(&self, agent: AgentId) -> Vec<Protection> {
        let own = self.author == Some(Actor::Agent(agent));
        let untouched = self.attempt == 0 && matches!(self.state, State::Pending { .. });
        let mut found = self.protections();
        if own && untouched {
            found.retain(|protection| *protection != Protection::Contract);
        }
        found
    }
}
