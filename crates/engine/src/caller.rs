//! Who asks, with which rights, and how it is recorded.

use serde::{Deserialize, Serialize};

use crate::agent::Origin;
use crate::id::{AgentId, SessionId};
use crate::limits::Lifetimes;

/// Who asks, over which connection, with which key. The door fills it in; nothing in it comes from a message unchecked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The agent that was named, or that the token stands for. Without it the connection's agents are looked at.
    pub agent: Option<AgentId>,
    pub rights: Rights,
    /// The connection the call came over.
    pub session: Option<SessionId>,
    /// How the caller is tied to the agents it names.
    pub standing: Standing,
    /// The user or token behind the connection. It may resume its own agents when their connection is gone.
    pub principal: Option<String>,
    /// Who may pass a workflow lock: an agent's id or a text of the caller's choice.
    pub lock_owner: Option<String>,
    pub key: Option<Key>,
    /// Connections of this machine whose processes live and were heard of in the last two waking hours, as the door says.
    pub alive: Vec<SessionId>,
    /// Connections of this machine whose processes live, also those that were silent for longer: their home lives, and
    /// nothing more.
    pub present: Vec<SessionId>,
    /// Living connections of other clients on this machine: what a hook tells of a conversation reaches no agent there.
    pub foreign: Vec<SessionId>,
    /// Where in its client the call comes from, as far as the door knows.
    pub origin: Origin,
    /// How long approvals live here, as the settings say.
    pub lifetimes: Lifetimes,
    /// The state of a task's work, as the door saw it when the task was to be completed. A review of another state does not
    /// count.
    pub work: Option<String>,
}

/// How a caller is tied to the agents it may act as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The door itself knows that the caller is the named agent: a runner's turn, a hook, a token bound to one agent.
    Vouched,
    /// One client has the connection for itself. A named agent must be at home there; without a name, the agent that
    /// registered last acts.
    Client,
    /// Several agents may share the connection: a token without a session, the command line. A named agent must be at
    /// home there; without a name, there must be exactly one.
    Shared,
}

/// What a caller may do to tasks it does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Nothing.
    Agent,
    /// Holds like an agent, and may complete what must be verified first.
    Runner,
    Coordinator,
    /// A script of a person, outside of agents, without a terminal and without a person's token: acts on tasks of others as
    /// the person, and loosens nothing that a person protected.
    Script,
    Person,
    /// A timer of ours.
    Engine,
}

/// An idempotency key: whose, which, and what exactly was asked with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub owner: KeyOwner,
    pub key: String,
    /// A hash of the arguments.
    pub fingerprint: String,
}

/// The caller to whom an idempotency key belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyOwner {
    /// Exactly this one.
    Fixed(String),
    /// The agent that acts, so that its keys stay its own when it resumes on another connection. A caller without an
    /// agent has the keys of its connection.
    Acting { connection: String, tool: String },
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
            standing: Standing::Vouched,
            principal: None,
            lock_owner: None,
            key: None,
            alive: Vec::new(),
            present: Vec::new(),
            foreign: Vec::new(),
            origin: Origin::default(),
            lifetimes: Lifetimes::default(),
            work: None,
        }
    }
}

impl Rights {
    /// Returns whether such a caller may act on tasks of others, under its own name.
    pub fn may_override(self) -> bool {
        match self {
            Self::Coordinator | Self::Script | Self::Person | Self::Engine => true,
            Self::Agent | Self::Runner => false,
        }
    }

    /// Returns whether such a caller acts under a person's name.
    pub fn is_persons(self) -> bool {
        match self {
            Self::Person | Self::Script => true,
            Self::Agent | Self::Runner | Self::Coordinator | Self::Engine => false,
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
