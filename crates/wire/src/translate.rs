//! Translates documents of agents to the engine's commands, and the engine's state to documents.
//!
//! The five protocols have different words for the same few acts, such as completing a task, and this module maps them
//! to commands. A document cannot be trusted to name the right task and attempt. Therefore the program that ran the
//! agent's turn names both with a [`TurnFence`].
//!
//! ```
//! use wire::translate::{TurnFence, output};
//!
//! let document = br#"{"success": true, "summary": "Done.", "artifacts": [], "recommendation": "proceed"}"#;
//! let judged = wire::envelope::judge_output(document).value.unwrap();
//! let turn = TurnFence { task: "tk_0123456789ab".parse().unwrap(), attempt: 2 };
//! let acts = output(&judged, turn);
//! assert!(matches!(acts.commands[..], [engine::Command::Move { attempt: Some(2), .. }]));
//! ```

mod message;
mod state;
mod turn;

use engine::Command;
use engine::id::TaskId;

pub use message::{Rejection, card, wire};
pub(crate) use state::blocker;
pub use state::{TaskInput, TurnCost, blocked, complete, inbox, input};
pub(crate) use turn::obstacle;
pub use turn::{TurnAct, handoff, output};

/// The task and the attempt on which an agent works in its turn. Commands from the agent's documents take the task and
/// the attempt from this value, so that the agent cannot change another task or a later attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnFence {
    pub task: TaskId,
    pub attempt: u32,
}

/// The engine's commands that follow from a document of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Acts {
    /// The commands, in the order in which they must be executed.
    pub commands: Vec<Command>,
    /// The parts of the agent's document that became no command, each with the reason.
    pub left: Vec<LeftPart>,
}

/// A part of an agent's document that became no command. The field `why` says whether other code handles this part, or
/// whether it is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftPart {
    /// The JSON pointer to this part of the agent's document.
    pub part: &'static str,
    pub why: &'static str,
}

impl LeftPart {
    pub(crate) fn when(there: bool, part: &'static str, why: &'static str) -> Option<Self> {
        there.then_some(Self { part, why })
    }
}

impl std::fmt::Display for LeftPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.part, self.why)
    }
}
