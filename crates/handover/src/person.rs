//! Whether a person sits here. This keeps agents from deciding by accident; it is no wall between programs of one user.

use std::io::IsTerminal as _;

use engine::token::Scope;
use engine::{Caller, Rights};

use crate::error::Error;
use crate::service::Service;
use crate::token;

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
    #[error("NOT_A_PERSON HANDOVER_TOKEN holds no token of scope person that is known here and not revoked")]
    ForeignToken,
}

/// Nothing above this process says that it belongs to an agent.
pub fn is_not_below_an_agent(mark: impl Fn(&str) -> bool) -> Result<(), NotAPerson> {
    AGENT_MARKS.into_iter().find(|name| mark(name)).map_or(Ok(()), |mark| Err(NotAPerson::BelowAnAgent { mark }))
}

/// As far as the environment tells.
pub fn here() -> Result<(), NotAPerson> {
    is_not_below_an_agent(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Where a person without a terminal has a token.
const TOKEN: &str = "HANDOVER_TOKEN";

/// Who decides here: a person at a terminal, or whoever has a person's token. Below an agent nobody does, whatever it has.
pub async fn decider(service: &Service) -> Result<Result<Caller, NotAPerson>, Error> {
    let person = Caller::with_rights(Rights::Person);
    let secret = match (at_a_terminal(), std::env::var(TOKEN)) {
        (Ok(()), _) => return Ok(Ok(person)),
        (Err(NotAPerson::NoTerminal), Ok(secret)) if !secret.is_empty() => secret,
        (Err(stranger), _) => return Ok(Err(stranger)),
    };
    let found = token::find(service, secret.trim()).await?.filter(|token| token.scope == Scope::Person);
    Ok(found.map(|token| Caller { agent: token.agent, ..person }).ok_or(NotAPerson::ForeignToken))
}

/// A person who can be asked.
pub fn at_a_terminal() -> Result<(), NotAPerson> {
    here()?;
    if std::io::stdin().is_terminal() { Ok(()) } else { Err(NotAPerson::NoTerminal) }
}
