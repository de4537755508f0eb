//! Who asks, with which rights, and how it is recorded.

use serde::{Deserialize, Serialize};

use crate::approval::Lifetimes;
use crate::id::{AgentId, SessionId};

/// Who asks, over which connection, with which key. The door fills it in; nothing in it comes from a message unchecked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The agent that was named, or that the token stands for. Without it the connection's agents are looked at.
    pub agent: Option<AgentId>,
    pub rights: Rights,
    pub session: Option<SessionId>,
    /// Who may pass a workflow lock: an agent's id or a text of the caller's choice.
    pub lock_owner: Option<String>,
    pub key: Option<Key>,
    /// Connections of this machine whose processes live and were heard of in the last two waking hours, as the door says.
    pub alive: Vec<SessionId>,
    /// How long approvals live here, as the settings say.
    pub lifetimes: Lifetimes,
}

/// What a caller may do to tasks it does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Nothing.
    Agent,
    /// Holds like an agent, and may complete what must be verified first.
    Runner,
    Coordinator,
    Person,
    /// A timer of ours.
    Engine,
}

/// An idempotency key: whose, which, and what exactly was asked with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub owner: String,
    pub key: String,
    /// A hash of the arguments.
    pub fingerprint: String,
}

impl Caller {
    pub fn agent(agent: AgentId) -> Self {
        Self { agent: Some(agent), ..Self::with_rights(Rights::Agent) }
    }

    pub fn with_rights(rights: Rights) -> Self {
        Self {
            agent: None,
            rights,
            session: None,
            lock_owner: None,
            key: None,
            alive: Vec::new(),
            lifetimes: Lifetimes::default(),
        }
    }

    /// May act on tasks of others; such an act is recorded as theirs.
    pub fn may_override(&self) -> bool {
        match self.rights {
            Rights::Coordinator | Rights::Person | Rights::Engine => true,
            Rights::Agent | Rights::Runner => false,
        }
    }
}

/// Who did something, as it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    Agent(AgentId),
    Runner,
    Coordinator,
    Person,
    Engine,
}

impl std::fmt::Display for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Agent(id) => id.fmt(f),
            Self::Runner => f.write_str("runner"),
            Self::Coordinator => f.write_str("coordinator"),
            Self::Person => f.write_str("human"),
            Self::Engine => f.write_str("system"),
        }
    }
}

impl std::str::FromStr for Actor {
    type Err = crate::id::NotAnId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "runner" => Ok(Self::Runner),
            "coordinator" => Ok(Self::Coordinator),
            "human" => Ok(Self::Person),
            "system" => Ok(Self::Engine),
            other => other.parse().map(Self::Agent),
        }
    }
}

impl Serialize for Actor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
