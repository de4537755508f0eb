//! The arguments that many tools have: the calling agent, the session that owns a lock, and the idempotency key.

use engine::id::AgentId;

use super::NonBlank;

/// The values of the arguments that many tools have: the calling agent, the session and the idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommonArguments {
    /// The calling agent; `None` if the call does not name it.
    pub agent: Option<AgentId>,
    /// The session of the caller; `None` if the call does not name it. A call of the session that locked a workflow may
    /// change the workflow in spite of the lock.
    pub session: Option<String>,
    pub key: Option<String>,
}

/// A message that may have the arguments that many tools have, such as the calling agent. The macro `message!`
/// implements this trait. It finds these arguments by the Rust names `agent_id`, `session_id` and `idempotency_key`. A
/// tool whose JSON has another name for the calling agent declares the field as `agent_id = "sender_id"`, for example.
pub trait CommonFields {
    fn common(&self) -> CommonArguments;
}

/// The type of an argument whose value can name an agent.
pub trait AgentName {
    /// Returns the agent's id, or `None` if the value is not an agent's id.
    fn agent(&self) -> Option<AgentId>;
}

impl AgentName for AgentId {
    fn agent(&self) -> Option<AgentId> {
        Some(*self)
    }
}

/// The kind of one field of a tool's arguments: one of the arguments that many tools have, with its value, or another
/// field.
#[derive(Debug)]
pub enum CommonField {
    Agent(Option<AgentId>),
    Session(Option<String>),
    Key(Option<String>),
    /// The field belongs to one tool only. It is not one of the arguments that many tools have.
    Own,
}

impl CommonField {
    pub fn agent(found: Option<&impl AgentName>) -> Self {
        Self::Agent(found.and_then(AgentName::agent))
    }

    pub fn session<'a>(found: impl Into<Option<&'a NonBlank>>) -> Self {
        Self::Session(found.into().map(ToString::to_string))
    }

    pub fn key<'a>(found: impl Into<Option<&'a NonBlank>>) -> Self {
        Self::Key(found.into().map(ToString::to_string))
    }
}

impl CommonArguments {
    #[must_use]
    pub fn with(self, field: CommonField) -> Self {
        match field {
            CommonField::Agent(agent) => Self { agent, ..self },
            CommonField::Session(session) => Self { session, ..self },
            CommonField::Key(key) => Self { key, ..self },
            CommonField::Own => self,
        }
    }
}
