//! Whether a person sits here. This keeps agents from deciding by accident; it is no wall between programs of one user.

use std::io::IsTerminal as _;

/// What agents' clients, and the runner, put into the environment of everything below them.
pub const AGENT_MARKS: [&str; 6] = [
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "AI_AGENT",
    "COPILOT_AGENT_SESSION_ID",
    "AGENT_SESSION_ID",
    "HANDOVER_TURN",
];

/// Why somebody is not taken for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAPerson {
    #[error("NOT_A_PERSON {mark} is set: this runs below an agent; a person does it in a terminal of their own")]
    BelowAnAgent { mark: &'static str },
    #[error("NOT_A_PERSON there is no terminal on standard input; a person does it in a terminal")]
    NoTerminal,
}

/// Nothing above this process says that it belongs to an agent.
pub fn is_not_below_an_agent(mark: impl Fn(&str) -> bool) -> Result<(), NotAPerson> {
    AGENT_MARKS.into_iter().find(|name| mark(name)).map_or(Ok(()), |mark| Err(NotAPerson::BelowAnAgent { mark }))
}

/// As far as the environment tells.
pub fn here() -> Result<(), NotAPerson> {
    is_not_below_an_agent(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// A person who can be asked.
pub fn at_a_terminal() -> Result<(), NotAPerson> {
    here()?;
    if std::io::stdin().is_terminal() { Ok(()) } else { Err(NotAPerson::NoTerminal) }
}
