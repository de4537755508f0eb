//! Tools for agents: register, send heartbeats, leave.

use engine::Command;
use engine::command::Register;
use engine::id::{AgentId, TaskId, WorkflowId};

use super::ids::{DetailObject, Limit};
use super::{carried, texts};
use crate::shape::{ListShape, NonBlank, message, vocabulary};

message! {
    pub struct AgentRegister {
        name: required NonBlank,
        runtime: required NonBlank,
        role: optional NonBlank,
        workflow_id: optional WorkflowId,
        capabilities: optional ListShape<NonBlank>,
        workspace_path: optional NonBlank,
        metadata: optional DetailObject,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct AgentHeartbeat {
        agent_id: optional AgentId,
        current_task_id: optional TaskId,
        status: optional Activity,
        idempotency_key: optional NonBlank,
    }
}

vocabulary! {
    /// The activity that an agent reports about itself. Only the agent's claims of tasks show whether it is really
    /// busy.
    pub enum Activity {
        Online = "online",
        Busy = "busy",
    }
}

message! {
    pub struct AgentUpdate {
        agent_id = "id": optional AgentId,
        status: optional AgentStatus,
        current_task_id: maybe TaskId,
        workspace_path: optional NonBlank,
        metadata: optional DetailObject,
        idempotency_key: optional NonBlank,
    }
}

vocabulary! {
    pub enum AgentStatus {
        Online = "online",
        Busy = "busy",
        Offline = "offline",
    }
}

message! {
    pub struct AgentGet {
        id: optional AgentId,
    }
}

message! {
    pub struct AgentList {
        status: optional ListShape<AgentStatus>,
        role: optional NonBlank,
        runtime: optional NonBlank,
        workflow_id: optional WorkflowId,
        limit: optional Limit,
        cursor: optional NonBlank,
    }
}

message! {
    pub struct AgentUnregister {
        agent_id = "id": optional AgentId,
        idempotency_key: optional NonBlank,
    }
}

impl AgentRegister {
    /// Returns the agent's registration for the engine. `slug` is the short name from the agent's card, if the project
    /// has a card for the agent.
    pub fn register(&self, slug: Option<String>) -> Register {
        Register {
            name: self.name.to_string(),
            runtime: self.runtime.to_string(),
            role: self.role.as_ref().map(ToString::to_string),
            slug,
            capabilities: texts(self.capabilities.as_ref()),
            workflow: self.workflow_id,
            workspace_path: self.workspace_path.as_ref().map(ToString::to_string),
            metadata: carried(self.metadata.as_ref()),
        }
    }
}

impl AgentHeartbeat {
    pub fn command(&self) -> Command {
        Command::Heartbeat { current_task: self.current_task_id }
    }
}

impl AgentUpdate {
    pub fn command(&self) -> Command {
        Command::UpdateAgent {
            workspace_path: self.workspace_path.as_ref().map(ToString::to_string),
            metadata: carried(self.metadata.as_ref()),
        }
    }
}

impl AgentUnregister {
    pub fn command(&self) -> Command {
        Command::Unregister
    }
}
