//! Turns "run this agent for one turn" into a program's command line, and what the program prints into facts.
//!
//! ```text
//! Order ── launch ──────> Launch        what the turn host starts, and the files it finds
//! bytes ── Listener ────> Heard …       while it runs, for the live view
//! exit  ── Listener ────> Said          once: text, tools, tokens, dollars and how it ended
//! pipes ── acp::converse ─> Heard, Said where `Launch.input` is a `Relay`: the program wants to be talked with
//! ```
//!
//! An exit code proves nothing: each program's file says how it lies and what is believed instead.

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
pub use order::{Home, Input, Kind, Launch, Order, Permissions, Server, Unlaunchable};
pub use replay::replay;
pub use said::{End, Exit, Heard, Said, Spent};

/// What to start for this turn. Nothing is written or started here.
pub fn launch(order: &Order) -> Result<Launch, Unlaunchable> {
    match order.kind {
        Kind::Claude => claude::launch(order),
        Kind::Opencode => opencode::launch(order),
        Kind::Codex => codex::launch(order),
        Kind::Gemini => gemini::launch(order),
        Kind::Acp => acp::launch(order),
        Kind::Exec => exec::launch(order),
    }
}
