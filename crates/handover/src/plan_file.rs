//! Creates a workflow from the content of a plan file.

use engine::id::WorkflowId;
use wire::json::{Value, object};
use wire::lifecycle::ToolError;

use crate::desk::{Desk, ToolOutcome, Visitor};
use base::project::plan_file::PlanFile;

/// Creates a workflow with this plan, on behalf of the caller. Every call creates a new workflow.
pub async fn make_workflow(desk: &Desk, visitor: &Visitor, file: &PlanFile) -> Result<WorkflowId, PlanRefused> {
    let (create, plan) = file.parts();
    let made = ask(desk, visitor, "workflow_create", &create).await?;
    let id = made.get("id").and_then(Value::as_text).unwrap_or_default().to_owned();
    let set = object([("id", id.as_str().into()), ("plan", plan)]);
    ask(desk, visitor, "workflow_set_plan", &set).await?;
    id.parse().map_err(|error: engine::id::NotAnId| PlanRefused::Reply(error.to_string()))
}

/// The reason why no workflow was created from a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanRefused {
    #[error("{}: {}", .0.code, .0.message)]
    Tool(ToolError),
    #[error("{0}")]
    Reply(String),
}

async fn ask(desk: &Desk, visitor: &Visitor, tool: &str, arguments: &Value) -> Result<Value, PlanRefused> {
    match desk.call(visitor, tool, arguments.to_string().as_bytes(), None).await {
        ToolOutcome::Done(value) => Ok(value),
        ToolOutcome::Refused(said) | ToolOutcome::Failed(said) => Err(PlanRefused::Tool(said)),
        ToolOutcome::UnknownTool => Err(PlanRefused::Reply(format!("there is no tool {tool}"))),
    }
}
