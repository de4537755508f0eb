//! Turns an order for one turn into a program's command line, and the program's output into facts.
//!
//! ```text
//! Order ── launch ──────> Launch        what the turn host starts, and the files it finds
//! bytes ── Listener ────> Heard …       while it runs, for the live view
//! exit  ── Listener ────> Said          once: text, tools, tokens, dollars and how it ended
//! pipes ── acp::converse ─> Heard, Said if `Launch.input` is a `Relay`: the program needs a conversation
//! ```
//!
//! An exit code alone proves nothing: the file of each program lists its misleading signs and the signs that count.

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

/// Returns the launch for this turn. It writes nothing and starts nothing.
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
