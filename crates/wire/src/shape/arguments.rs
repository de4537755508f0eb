//! The fields that many tools' arguments have: the calling agent, the owner of a lock, the idempotency key.

use engine::id::AgentId;

use super::NonBlank;

/// The values of the arguments that many tools have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommonArguments {
    /// The calling agent; `None` if the call does not name it.
    pub agent: Option<AgentId>,
    /// The session of the caller; `None` if the call does not name it. A call with this session may change a workflow
    /// that the session has locked.
    pub session: Option<String>,
    pub key: Option<String>,
}

/// A message that says which of its fields are common arguments. `message!` implements it from the names of the
/// fields in Rust: `agent_id`, `session_id` and `idempotency_key`. So an argument that names the caller under another
/// name in JSON is declared as `agent_id = "sender_id"`.
pub trait CommonFields {
    fn common(&self) -> CommonArguments;
}

/// A shape whose value can name an agent.
pub trait AgentName {
    /// Returns the agent's id, or `None` if the value is not an agent's id.
    fn agent(&self) -> Option<AgentId>;
}

impl AgentName for AgentId {
    fn agent(&self) -> Option<AgentId> {
        Some(*self)
    }
}

/// The value of one field of a message, if the field is a common argument of many tools.
#[derive(Debug)]
pub enum CommonField {
    Agent(Option<AgentId>),
    Session(Option<String>),
    Key(Option<String>),
    /// The field is no common argument; it belongs to this message only.
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
