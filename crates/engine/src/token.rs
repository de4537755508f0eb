//! A token permits calls over HTTP, with the rights of its scope. Only a hash of its secret is stored.
//!
//! A person's browser gets its token in two steps:
//!
//! ```text
//!   handover open ──> EnrolmentCode ──(enrol, within a minute, once)──> BrowserKey { used } ──(30 days unused)──> invalid
//! ```

use serde::{Deserialize, Serialize};

use crate::caller::Rights;
use crate::id::{AgentId, TokenId};
use crate::limits::{BROWSER_KEY_MS, ENROLMENT_CODE_MS, KEY_USE_MS};
use crate::task::names;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    pub id: TokenId,
    /// The name that the token's owner gave it. Two tokens may have the same name.
    pub name: String,
    /// SHA-256 of the secret, of the code or of the public key, in hexadecimal.
    pub hash: String,
    pub scope: Scope,
    /// The agent that the token belongs to. `None` when the token belongs to no particular agent.
    pub agent: Option<AgentId>,
    pub created: Timestamp,
    /// The time at which the token was revoked. A revoked token never becomes valid again.
    pub revoked: Option<Timestamp>,
    /// The thing that proves the bearer's right. Log entries of version 0.1.0 have no kind: they are about secrets.
    #[serde(default)]
    pub kind: AccessTokenKind,
}

/// The thing by which the bearer of a token proves its right, and which `hash` is the hash of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "token", rename_all = "snake_case")]
pub enum AccessTokenKind {
    /// A secret that the bearer sends with each call.
    #[default]
    Secret,
    /// A code that a person's terminal wrote. It enrols one browser, once, and permits no calls.
    EnrolmentCode,
    /// The public key of a person's browser. The browser signs to get short-lived tokens. `used` is the time of the
    /// last recorded use.
    BrowserKey { used: Timestamp },
}

impl Token {
    /// Returns true when the token is a secret that permits calls.
    pub fn is_valid_secret(&self) -> bool {
        self.kind == AccessTokenKind::Secret && self.revoked.is_none()
    }

    /// Returns true when the token is a code that can enrol a browser at this time.
    pub fn is_valid_code(&self, now: Timestamp) -> bool {
        self.kind == AccessTokenKind::EnrolmentCode && self.revoked.is_none() && !self.is_expired(now)
    }

    /// Returns true when the token is a code that is too old to enrol a browser, or a key that was not used for too
    /// long. A secret does not expire.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        match self.kind {
            AccessTokenKind::Secret => false,
            AccessTokenKind::EnrolmentCode => now >= self.created + ENROLMENT_CODE_MS,
            AccessTokenKind::BrowserKey { used } => now >= used + BROWSER_KEY_MS,
        }
    }

    /// Returns true when the token is the key of a browser, and the key permits calls at this time.
    pub fn is_valid_key(&self, now: Timestamp) -> bool {
        matches!(self.kind, AccessTokenKind::BrowserKey { .. }) && self.revoked.is_none() && !self.is_expired(now)
    }

    /// Returns true when a use of this key at this time must be recorded, because the recorded one is an hour old.
    pub(crate) fn is_use_due(&self, now: Timestamp) -> bool {
        match self.kind {
            AccessTokenKind::BrowserKey { used } => now >= used + KEY_USE_MS,
            AccessTokenKind::Secret | AccessTokenKind::EnrolmentCode => false,
        }
    }
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
