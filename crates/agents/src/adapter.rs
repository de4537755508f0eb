//! Turns the order for one turn (one run of an agent's program) into the program's command line, and the program's
//! output into facts.
//!
//! ```text
//! TurnOrder ── launch ────────> ProgramLaunch         the program to start, and the files that it needs
//! bytes     ── Listener ──────> HeardEvent …          while the program runs, for the live view
//! exit      ── Listener ──────> TurnSaid              once: the text, the tools, the costs and how the turn ended
//! pipes     ── acp::converse ─> HeardEvent, TurnSaid  if the input is `ProgramInput::Relay`: a conversation
//! ```
//!
//! An exit code alone does not prove that a turn succeeded. The module of each program (such as `claude`) says which
//! parts of the program's output prove how a turn ended, and which parts mislead.

mod account;
pub mod acp;
mod claude;
mod codex;
mod exec;
mod gemini;
mod listener;
mod opencode;
mod order;
mod raw;
mod replay;
mod said;
mod stream;
mod tool;

pub use listener::Listener;
pub use order::{
    AdapterKind, McpServerLaunch, Permissions, ProgramHome, ProgramInput, ProgramLaunch, TurnOrder, Unlaunchable,
};
pub use replay::replay;
pub use said::{AgentEnd, Exit, HeardEvent, SpentAmount, TokenUse, TurnSaid};
pub use tool::{LineChange, ToolCallDetail, ToolCallKind, ToolCallResult, tool_title};

/// Returns the launch for one turn (one run of an agent's program): the command line of the program and the files that
/// it needs. Writes nothing and starts nothing.
pub fn launch(order: &TurnOrder) -> Result<ProgramLaunch, Unlaunchable> {
    match order.kind {
        AdapterKind::Claude => claude::launch(order),
        AdapterKind::Opencode => opencode::launch(order),
        AdapterKind::Codex => codex::launch(order),
        AdapterKind::Gemini => gemini::launch(order),
        AdapterKind::Acp => acp::launch(order),
        AdapterKind::Exec => exec::launch(order),
    }
}
