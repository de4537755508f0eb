//! The caller of a command: its connection, its rights, and the actor that is recorded for it.

use serde::{Deserialize, Serialize};

use crate::agent::Origin;
use crate::id::{AgentId, SessionId};
use crate::limits::Lifetimes;

/// The caller of a command, its connection and its idempotency key. The transport fills it in; nothing in it comes from
/// a message without a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The agent that the call names, or that the token belongs to. Without it, the connection's agents are looked at.
    pub agent: Option<AgentId>,
    pub rights: Rights,
    /// The connection that the call came over.
    pub session: Option<SessionId>,
    /// The relation of the caller to the agents that it names.
    pub standing: Standing,
    /// The user or token behind the connection. It may resume its own agents when their connection is gone.
    pub principal: Option<String>,
    /// The owner in whose name the caller passes workflow locks: an agent's id, or a text that the caller chose.
    pub lock_owner: Option<String>,
    pub key: Option<Key>,
    /// Connections of this machine whose processes are alive and gave a sign of life in the last two waking hours, as
    /// the transport reports.
    pub alive: Vec<SessionId>,
    /// Connections of this machine whose processes are alive, also the ones that were silent for longer. The agents at
    /// home there have a live home; the list means nothing more.
    pub present: Vec<SessionId>,
    /// Live connections of other clients on this machine. A hook's report about a conversation does not affect the
    /// agents there.
    pub foreign: Vec<SessionId>,
    /// The place in its client that the call comes from, as far as the transport knows it.
    pub origin: Origin,
    /// The lifetimes of approvals, from the settings.
    pub lifetimes: Lifetimes,
    /// The state of the task's work, as the transport saw it when the task was to be completed. A review of another
    /// state does not count.
    pub work: Option<String>,
}

/// The relation of a caller to the agents as which it may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The transport itself knows that the caller is the named agent: a runner's turn, a hook, or a token that belongs
    /// to one agent.
    Vouched,
    /// One client has the connection for itself. A named agent must be at home there. Without a name, the agent that
    /// registered last acts.
    Client,
    /// Several agents may share the connection: a token without a session, or the command line. A named agent must be
    /// at home there. Without a name, there must be exactly one agent.
    Shared,
}

/// The rights of a caller on tasks that it does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// No rights on tasks of others.
    Agent,
    /// Holds tasks like an agent, and may complete a task that must be verified first.
    Runner,
    Coordinator,
    /// A person's script, started outside of agents, without a terminal and without a person's token. It acts on tasks
    /// of others under the person's name, but cannot loosen a person's protections.
    Script,
    Person,
    /// A timer of Handover itself.
    Engine,
}

/// An idempotency key: its owner, its text, and a hash of the call that used it.
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
    /// Exactly this owner.
    Fixed(String),
    /// The agent that acts, so that its keys stay its own when it resumes on another connection. A caller without an
    /// agent uses the keys of its connection.
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
    /// Returns whether a caller with these rights may act on tasks of others, under its own name.
    pub fn may_override(self) -> bool {
        match self {
            Self::Coordinator | Self::Script | Self::Person | Self::Engine => true,
            Self::Agent | Self::Runner => false,
        }
    }

    /// Returns whether a caller with these rights acts under a person's name.
    pub fn is_persons(self) -> bool {
        match self {
            Self::Person | Self::Script => true,
            Self::Agent | Self::Runner | Self::Coordinator | Self::Engine => false,
        }
    }
}

/// The actor of an event, as it is recorded.
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
