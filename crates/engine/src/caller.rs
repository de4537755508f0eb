//! The caller of a command: its connection, its rights, and the actor that is recorded for it.

use serde::{Deserialize, Serialize};

use crate::agent::Origin;
use crate::id::{AgentId, SessionId};
use crate::limits::Lifetimes;

/// The caller of a command, with its connection and its idempotency key. The transport (MCP, HTTP or the command line)
/// creates this value. The transport checks every part of the value that it takes from the caller's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The agent that the call names, or that the caller's token belongs to. When it is `None`, the acting agent is
    /// chosen from the agents of the connection.
    pub agent: Option<AgentId>,
    pub rights: Rights,
    /// The connection that the call came over. `None` when the call came over no connection.
    pub session: Option<SessionId>,
    /// The rule by which the engine checks that the caller may act as the agent that the call names. The same rule
    /// chooses the acting agent when the call names no agent.
    pub standing: Standing,
    /// The principal of the caller, that is, the user, token or runner behind the connection. When the connection of an
    /// agent is gone, the principal that registered the agent may resume it.
    pub principal: Option<String>,
    /// The owner of a lock, as the caller names it. The caller may change a locked workflow when the lock of the
    /// workflow has this owner. The value is an agent's id, or a text that the caller chose when it set the lock.
    pub lock_owner: Option<String>,
    pub key: Option<Key>,
    /// The connections of this machine that count as alive: their processes run and gave a sign of life in the last two
    /// hours in which the machine was awake. The service that calls the engine fills in this list.
    pub alive: Vec<SessionId>,
    /// The connections of this machine whose processes run. Unlike `alive`, this list includes processes that gave no
    /// sign of life for more than two hours. The list is used only to decide whether an agent's home (the connection
    /// that registered it last) still exists.
    pub present: Vec<SessionId>,
    /// The live connections of this machine that belong to other clients than the caller's client. A hook that reports
    /// about a conversation must not change agents on these connections.
    pub foreign: Vec<SessionId>,
    /// The names that the caller's client uses for the conversation and the sub-agent that make the call, and for the
    /// call itself. Fields that the client did not report are empty.
    pub origin: Origin,
    /// The time after which a pending request for an approval expires, and the time after which a given approval
    /// expires. Both come from the project's settings.
    pub lifetimes: Lifetimes,
    /// The state of the task's files when the caller asked to complete the task, for example a commit id. A review of
    /// another state does not count. `None` when the transport (MCP, HTTP or the command line) gives no state.
    pub work: Option<String>,
}

/// The rule by which the engine decides whether a caller may act as an agent, and which agent acts when the call names
/// no agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The transport itself knows that the caller is the named agent: the call comes from a program that a runner
    /// started, from a hook, or with a token that belongs to one agent.
    Vouched,
    /// One client uses the connection alone. An agent that a call names must have registered on this connection. When
    /// a call names no agent, the agent that registered last acts.
    Client,
    /// Several agents may share the connection. For example, all calls with one HTTP token count as one connection, and
    /// so do all calls of the command line. An agent that a call names must have registered on this connection. When a
    /// call names no agent, the connection must have exactly one agent.
    Shared,
}

/// The rights of a caller. They decide, for example, whether the caller may change tasks that others hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// An agent. It may act only on tasks that it holds itself.
    Agent,
    /// A runner, which is a process that starts agents' programs. It can hold tasks, as an agent can. A runner may
    /// complete a task whose output must be verified first. An agent may not complete such a task.
    Runner,
    Coordinator,
    /// A person's script that runs outside of agents, without a terminal and without a person's token. It acts on tasks
    /// of others under the person's name, but cannot loosen protections (such as reviews) that a person set.
    Script,
    Person,
    /// Handover's own timers, for example the timer that ends expired leases.
    Engine,
}

/// An idempotency key: its owner, its text, and a hash of the call that used it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub owner: KeyOwner,
    pub key: String,
    /// A hash of the call's arguments. It shows whether two calls with the same key are the same call.
    pub fingerprint: String,
}

/// The caller to whom an idempotency key belongs. Two callers may use the same key for different calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyOwner {
    /// The idempotency key belongs to the owner with this name. The name does not depend on the agent that acts.
    Fixed(String),
    /// The idempotency key belongs to the agent that acts, so that the agent keeps its keys when it resumes on another
    /// connection. When no agent acts, the key belongs to the connection.
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
    /// Returns true when a caller with these rights may act on tasks that others hold. When such a caller acts on a
    /// task, the log names the caller and not the holder of the task.
    pub fn may_override(self) -> bool {
        match self {
            Self::Coordinator | Self::Script | Self::Person | Self::Engine => true,
            Self::Agent | Self::Runner => false,
        }
    }

    /// Returns true when a caller with these rights acts under a person's name.
    pub fn is_persons(self) -> bool {
        match self {
            Self::Person | Self::Script => true,
            Self::Agent | Self::Runner | Self::Coordinator | Self::Engine => false,
        }
    }
}

/// The actor that the log names for an event.
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
