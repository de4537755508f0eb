//! A token: who may come in over HTTP, and as what. Only a hash of the secret is kept.

use serde::{Deserialize, Serialize};

use crate::caller::Rights;
use crate::id::{AgentId, TokenId};
use crate::task::names;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    pub id: TokenId,
    /// What its owner calls it; not unique.
    pub name: String,
    /// SHA-256 of the secret, in hexadecimal.
    pub hash: String,
    pub scope: Scope,
    /// The agent it stands for, when it is one's own.
    pub agent: Option<AgentId>,
    pub created: Timestamp,
    /// Final.
    pub revoked: Option<Timestamp>,
}

names! {
    /// What a token's bearer may do.
    Scope { Agent = "agent", Coordinator = "coordinator", Person = "person", Admin = "admin" }
}

impl Scope {
    pub fn rights(self) -> Rights {
        match self {
            // An admin manages agents' tokens and decides nothing.
            Self::Agent | Self::Admin => Rights::Agent,
            Self::Coordinator => Rights::Coordinator,
            Self::Person => Rights::Person,
        }
    }
}
