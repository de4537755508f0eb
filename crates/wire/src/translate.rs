//! Documents to the engine's commands, and the engine's state to documents.
//!
//! Five dialects have words for the same few acts; this is the dictionary. A document never says which attempt of which task
//! it belongs to in a way that could be trusted, so whoever ran the turn says that with [`Turn`].
//!
//! ```
//! use wire::translate::{Turn, output};
//!
//! let document = br#"{"success": true, "summary": "Done.", "artifacts": [], "recommendation": "proceed"}"#;
//! let judged = wire::envelope::judge_output(document).value.unwrap();
//! let turn = Turn { task: "tk_0123456789ab".parse().unwrap(), attempt: 2 };
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
pub use state::{Cost, Given, blocked, complete, inbox, input};
pub(crate) use turn::obstacle;
pub use turn::{handoff, output};

/// What was worked on: the fence of everything the worker said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    pub task: TaskId,
    pub attempt: u32,
}

/// What a document asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Acts {
    /// In this order.
    pub commands: Vec<Command>,
    /// What no command carries.
    pub left: Vec<Left>,
}

/// A part of a document that is somebody else's to see to, or that is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// A JSON pointer.
    pub part: &'static str,
    pub why: &'static str,
}

impl Left {
    pub(crate) fn when(there: bool, part: &'static str, why: &'static str) -> Option<Self> {
        there.then_some(Self { part, why })
    }
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.part, self.why)
    }
}
