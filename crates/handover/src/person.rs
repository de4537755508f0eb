//! Whether a person sits here. This keeps agents from deciding by accident; it is no wall between programs of one user.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use engine::token::Scope;
use engine::{Caller, Rights};

use crate::below::{self, AgentSign, BelowAgent};
use crate::error::Error;
use crate::service::Service;
use crate::{office, token};

/// Why somebody is not taken for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAPerson {
    #[error(
        "NOT_A_PERSON {sign}; a person does this in a terminal that no agent started: ask yours to run this command there"
    )]
    BelowAnAgent { sign: AgentSign },
    #[error(
        "NOT_A_PERSON there is no terminal on standard input; do this in a terminal, or put a token of scope person into \
         HANDOVER_TOKEN"
    )]
    NoTerminal,
    #[error(
        "NOT_A_PERSON HANDOVER_TOKEN holds no token of scope person that is known here and not revoked; do this in a \
         terminal, or make one there with `handover token create NAME --scope person`"
    )]
    ForeignToken,
}

/// Where a person without a terminal has a token.
const TOKEN: &str = "HANDOVER_TOKEN";

/// Refuses a process below an agent. The store is the one that is meant from here; `--store` is not known.
pub fn here() -> Result<(), NotAPerson> {
    not_below(std::env::var("HANDOVER_STORE").ok().as_deref())
}

/// Refuses a process below an agent, or below a client of the store that is named.
pub fn not_below(store: Option<&str>) -> Result<(), NotAPerson> {
    below_agent(store).map_or(Ok(()), |BelowAgent { sign, .. }| Err(NotAPerson::BelowAnAgent { sign }))
}

/// Returns what shows that this process runs below an agent. The store is not opened.
pub fn below_agent(store: Option<&str>) -> Option<BelowAgent> {
    below::look(live_folder(store).as_deref())
}

fn live_folder(store: Option<&str>) -> Option<PathBuf> {
    office::find(store).ok().map(|place| office::live_folder(&place))
}

/// Returns whether standard input is a terminal.
pub fn has_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Returns the token that stands for a person without a terminal.
pub fn secret() -> Option<String> {
    std::env::var(TOKEN).ok().map(|secret| secret.trim().to_owned()).filter(|secret| !secret.is_empty())
}

/// Who decides here: a person at a terminal, or whoever has a person's token. Below an agent nobody does, whatever it has.
pub async fn decider(service: &Service) -> Result<Result<Caller, NotAPerson>, Error> {
    let person = Caller::with_rights(Rights::Person);
    let secret = match (at_a_terminal(), secret()) {
        (Ok(()), _) => return Ok(Ok(person)),
        (Err(NotAPerson::NoTerminal), Some(secret)) => secret,
        (Err(stranger), _) => return Ok(Err(stranger)),
    };
    let found = token::find(service, &secret).await?.filter(|token| token.scope == Scope::Person);
    Ok(found.map(|token| Caller { agent: token.agent, ..person }).ok_or(NotAPerson::ForeignToken))
}

/// Returns the rights of a command outside of agents: a person's at a terminal or with a person's token, else a script's.
pub async fn rights(service: &Service) -> Result<Rights, Error> {
    if has_terminal() {
        return Ok(Rights::Person);
    }
    let Some(secret) = secret() else { return Ok(Rights::Script) };
    let is_person = token::find(service, &secret).await?.is_some_and(|token| token.scope == Scope::Person);
    Ok(if is_person { Rights::Person } else { Rights::Script })
}

/// A person who can be asked.
pub fn at_a_terminal() -> Result<(), NotAPerson> {
    here()?;
    if has_terminal() { Ok(()) } else { Err(NotAPerson::NoTerminal) }
}
