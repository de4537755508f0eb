//! Turns the order for one turn of an agent into the command line of the agent's program, and the program's output into
//! facts.
//!
//! ```text
//! Order ── launch ──────> Launch        what the turn host starts, and the files it finds
//! bytes ── Listener ────> Heard …       while it runs, for the live view
//! exit  ── Listener ────> Said          once: text, tools, tokens, dollars and how it ended
//! pipes ── acp::converse ─> Heard, Said if `Launch.input` is a `Relay`: the program needs a conversation
//! ```
//!
//! An exit code alone proves nothing. The module of each program (such as `claude`) lists the signs in its output that
//! mislead and the signs that count.

mod account;
pub mod acp;
mod claude;
mod codex;
mod exec;
mod gemini;
mod listener;
mod opencode;
mod order;
mod replay;
mod said;
mod stream;

pub use listener::Listener;
pub use order::{
    AdapterKind, McpServerLaunch, Permissions, ProgramHome, ProgramInput, ProgramLaunch, TurnOrder, Unlaunchable,
};
pub use replay::replay;
pub use said::{AgentEnd, Exit, HeardEvent, SpentAmount, TurnSaid};

/// Returns the launch for this turn: the command line of the program and the files that it needs. Writes nothing and
/// starts nothing.
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
