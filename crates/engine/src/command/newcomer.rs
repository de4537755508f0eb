//! The commands that register an agent and create a workflow.

use serde::Serialize;

use crate::id::WorkflowId;
use crate::json::Json;
use crate::time::Millis;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Register {
    pub name: String,
    pub runtime: String,
    pub role: Option<String>,
    /// The slug (the agent's short, unique name) from the agent's card, which is the file that describes the agent.
    /// When it is `None`, a slug is made from the agent's name.
    pub slug: Option<String>,
    pub capabilities: Vec<String>,
    pub workflow: Option<WorkflowId>,
    pub workspace_path: Option<String>,
    pub metadata: Option<Json>,
}

impl Register {
    /// Creates a registration with a name and a runtime only.
    pub fn named(name: impl Into<String>, runtime: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            runtime: runtime.into(),
            role: None,
            slug: None,
            capabilities: Vec::new(),
            workflow: None,
            workspace_path: None,
            metadata: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CreateWorkflow {
    pub name: String,
    pub source_type: String,
    pub source_ref: Option<String>,
    pub source_content: String,
    pub parallel_max: Option<u32>,
    pub lease_ms: Option<Millis>,
    pub auto_workspaces: bool,
    pub config: Option<Json>,
    /// The paths of the repositories that the workflow works on.
    pub repositories: Vec<String>,
}

impl CreateWorkflow {
    /// Creates a request for a workflow with this name. Its source is a prompt, and all other fields are empty.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            source_type: "prompt".to_owned(),
            source_ref: None,
            source_content: String::new(),
            parallel_max: None,
            lease_ms: None,
            auto_workspaces: false,
            config: None,
            repositories: Vec::new(),
        }
    }
}
