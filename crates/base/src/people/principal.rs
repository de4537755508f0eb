//! The principal of a connection: the user of this machine, the token, or the runner for which the connection acts.
//! When an agent's connection is gone, only a connection of the same principal may resume the agent.

use engine::id::{Ids, SessionId, TokenId};
use engine::identity::USER_PREFIX;
use sha2::{Digest, Sha256};

/// The environment variable that overrides this machine's name, for example when several runners share a machine.
pub const HOST: &str = "HANDOVER_HOST";

/// Returns the principal (the owner of a connection) of the processes that this user starts.
pub fn of_user() -> String {
    format!("{USER_PREFIX}{}", user_id())
}

/// Returns the principal (the owner of a connection) of calls that are made with this token.
pub fn of_token(token: TokenId) -> String {
    format!("token:{token}")
}

/// Returns true when a principal (the owner of a connection) is a token.
pub fn is_token(principal: &str) -> bool {
    principal.starts_with("token:")
}

/// Returns the principal (the owner of a connection) of an agent that was registered for a token before the token was
/// used. Only the token that is bound to the agent can act as this agent.
pub fn of_unused_token() -> String {
    "token:unused".to_owned()
}

/// Returns the principal (the owner of a connection) of the agents of a runner. No other principal can resume these
/// agents.
pub fn of_runner(name: &str) -> String {
    format!("runner:{name}")
}

/// Returns the session id of calls from the command line. It is always the same for one user on one host. The same id
/// in two stores does no harm, because each store has its own agents.
pub fn command_line() -> SessionId {
    derived(&format!("handover command line {} {}", user_id(), host()))
}

/// Returns a session id that is always the same for the same text.
pub fn derived(text: &str) -> SessionId {
    let hash = Sha256::digest(text.as_bytes());
    let seed = hash.first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes));
    SessionId::next(&mut Ids::new(seed))
}

fn user_id() -> String {
    rustix::process::getuid().as_raw().to_string()
}

/// Returns the name of this machine.
pub fn host() -> String {
    let named = std::env::var(HOST).ok().filter(|name| !name.trim().is_empty());
    named.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
}
