//! Finds out whether a person runs this process. The check keeps agents from deciding by accident. It is not a security
//! boundary: programs of the same user are not protected from each other.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use engine::token::Scope;
use engine::{Caller, Rights};

use crate::below::{self, AgentSign, BelowAgent};
use crate::office;
use crate::token;
use base::error::Error;
use base::service::Service;

/// The reason why a caller does not count as a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAPerson {
    #[error(
        "NOT_A_PERSON {sign}; only a person may run this command: ask yours to run it in a terminal that no agent started"
    )]
    BelowAnAgent { sign: AgentSign },
    #[error(
        "NOT_A_PERSON standard input is not a terminal; run this command in a terminal, or put a token of scope \
         person into HANDOVER_TOKEN"
    )]
    NoTerminal,
    #[error(
        "NOT_A_PERSON the token in HANDOVER_TOKEN is unknown, revoked or not of scope person; run this command in a \
         terminal, or create a token there with `handover token create NAME --scope person`"
    )]
    ForeignToken,
}

/// The environment variable with a token by which a person can decide without a terminal.
const TOKEN: &str = "HANDOVER_TOKEN";

/// Refuses a process that an agent started. Looks for agent clients that are connected to the store in
/// `HANDOVER_STORE`, because this function does not get the option `--store`.
pub fn here() -> Result<(), NotAPerson> {
    not_below(std::env::var("HANDOVER_STORE").ok().as_deref())
}

/// Refuses a process that an agent started, directly or through other processes. A client that is connected to the
/// named store counts as an agent, too.
pub fn not_below(store: Option<&str>) -> Result<(), NotAPerson> {
    below_agent(store).map_or(Ok(()), |BelowAgent { sign, .. }| Err(NotAPerson::BelowAnAgent { sign }))
}

/// Returns the sign that an agent started this process, if there is one. Does not open the store.
pub fn below_agent(store: Option<&str>) -> Option<BelowAgent> {
    below::look(live_folder(store).as_deref())
}

fn live_folder(store: Option<&str>) -> Option<PathBuf> {
    office::find(store).ok().map(|place| office::live_folder(&place))
}

/// Tells whether standard input is a terminal.
pub fn has_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Returns the person's token from the environment, if one is set.
pub fn secret() -> Option<String> {
    std::env::var(TOKEN).ok().map(|secret| secret.trim().to_owned()).filter(|secret| !secret.is_empty())
}

/// Returns the caller for decisions that only a person may make: a person at a terminal, or the holder of a person's
/// token. Refuses a process that an agent started, even with a token.
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

/// Returns the rights of a command that no agent started: a person's rights at a terminal or with a person's token,
/// else a script's rights.
pub async fn rights(service: &Service) -> Result<Rights, Error> {
    if has_terminal() {
        return Ok(Rights::Person);
    }
    let Some(secret) = secret() else { return Ok(Rights::Script) };
    let is_person = token::find(service, &secret).await?.is_some_and(|token| token.scope == Scope::Person);
    Ok(if is_person { Rights::Person } else { Rights::Script })
}

/// Refuses a process that an agent started, and a process that has no terminal, because neither of them can ask a
/// person.
pub fn at_a_terminal() -> Result<(), NotAPerson> {
    here()?;
    if has_terminal() { Ok(()) } else { Err(NotAPerson::NoTerminal) }
}
