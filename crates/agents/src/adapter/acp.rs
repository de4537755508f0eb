//! Speaks with any agent program over the Agent Client Protocol (ACP), version 1, on the program's standard streams.
//!
//! ```text
//! initialize ─> session/new, or session/resume, or session/load and wait for the end of its history
//!            ─> session/prompt ─> session/update … ─> the answer
//!                              <─ session/request_permission: allowed once, or not at all
//! ```
//!
//! We do not use the protocol's own crate: its queues are unbounded, and it treats an update of an unknown kind as an
//! error. Handover needs only eight messages of the protocol.

mod calls;
mod message;
mod overheard;
mod peer;
mod permit;
mod talk;
mod usage;

use super::order::{ProgramInput, ProgramLaunch, TurnOrder, Unlaunchable};

pub(super) use overheard::Overheard;
pub use peer::{AcpHost, Way};
pub use permit::{PermissionQuestion, Permit, ToolKind, covers};
pub use talk::{Talked, converse};

/// Returns the launch (the program and its arguments) of an agent that speaks the Agent Client Protocol (ACP). The
/// launch has neither the prompts nor the address of Handover's MCP server, because both are sent in the conversation.
/// The launch names no model: a person can name a model in the arguments of the agent's program.
pub(super) fn launch(order: &TurnOrder) -> Result<ProgramLaunch, Unlaunchable> {
    let mut launch = order.start()?;
    launch.arguments.extend(order.args.iter().cloned());
    launch.input = ProgramInput::Relay;
    Ok(launch)
}
