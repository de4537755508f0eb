//! A token permits calls over HTTP, with the rights of its scope. Only a hash of its secret is stored.

use serde::{Deserialize, Serialize};

use crate::caller::Rights;
use crate::id::{AgentId, TokenId};
use crate::task::names;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    pub id: TokenId,
    /// The name that the token's owner gave it. Two tokens may have the same name.
    pub name: String,
    /// SHA-256 of the secret, in hexadecimal.
    pub hash: String,
    pub scope: Scope,
    /// The agent that the token belongs to. `None` when the token belongs to no particular agent.
    pub agent: Option<AgentId>,
    pub created: Timestamp,
    /// The time at which the token was revoked. A revoked token never becomes valid again.
    pub revoked: Option<Timestamp>,
}

names! {
    /// The rights that a token gives to its bearer.
    Scope { Agent = "agent", Coordinator = "coordinator", Person = "person", Admin = "admin" }
}

impl Scope {
    pub fn rights(self) -> Rights {
        match self {
            // An admin may manage the tokens of agents; the HTTP interface checks that. For the engine, an admin has
            // only the rights of an agent.
            Self::Agent | Self::Admin => Rights::Agent,
            Self::Coordinator => Rights::Coordinator,
            Self::Person => Rights::Person,
        }
    }
}
