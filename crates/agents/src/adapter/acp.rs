//! Any agent that speaks the Agent Client Protocol, version 1, on its standard streams.
//!
//! ```text
//! initialize ─> session/new, or session/resume, or session/load and wait for the end of its history
//!            ─> session/prompt ─> session/update … ─> the answer
//!                              <─ session/request_permission: once, or not at all
//! ```
//!
//! The protocol's own crate is not used: its queues have no bound, and an update of a kind it does not know is an error
//! there. We need eight messages.

mod message;
mod overheard;
mod peer;
mod permit;
mod talk;

use super::order::{Input, Launch, Order, Unlaunchable};

pub(super) use overheard::Overheard;
pub use peer::{Host, Way};
pub use permit::{Asked, Permit, ToolKind, covers};
pub use talk::{Talked, converse};

/// Prompts and our server travel in the conversation. A model is chosen by the agent's own arguments.
pub(super) fn launch(order: &Order) -> Result<Launch, Unlaunchable> {
    let mut launch = order.start()?;
    launch.arguments.extend(order.args.iter().cloned());
    launch.input = Input::Relay;
    Ok(launch)
}
