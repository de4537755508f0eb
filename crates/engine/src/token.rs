//! A token: permits calls over HTTP, with certain rights. Only a hash of its secret is stored.

use serde::{Deserialize, Serialize};

use crate::caller::Rights;
use crate::id::{AgentId, TokenId};
use crate::task::names;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    pub id: TokenId,
    /// The owner's name for the token; not unique.
    pub name: String,
    /// SHA-256 of the secret, in hexadecimal.
    pub hash: String,
    pub scope: Scope,
    /// The agent that the token belongs to, if it belongs to one agent.
    pub agent: Option<AgentId>,
    pub created: Timestamp,
    /// The time at which the token was revoked, which is final.
    pub revoked: Option<Timestamp>,
}

names! {
    /// The rights of a token's bearer.
    Scope { Agent = "agent", Coordinator = "coordinator", Person = "person", Admin = "admin" }
}

impl Scope {
    pub fn rights(self) -> Rights {
        match self {
            // An admin manages the tokens of agents but has no other rights.
            Self::Agent | Self::Admin => Rights::Agent,
            Self::Coordinator => Rights::Coordinator,
            Self::Person => Rights::Person,
        }
    }
}
