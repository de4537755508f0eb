//! Adds tasks for the callers of the command line and of HTTP. A task is added by the tool that agents use, so that the
//! same rules hold for people, agents and programs that the runner started.

use base::error::Error;
use engine::id::{TaskId, WorkflowId};
use engine::{Caller, Refusal};
use wire::json::{Object, Value};
use wire::lifecycle;
use work::add::{self, AdditionEnd, NewTask, TaskAdder};

use super::{Desk, Stopped, ToolOutcome, Visitor, outcome, unexpected};

/// The name of the tool that adds a task.
const TOOL: &str = "workflow_add_task";

/// A caller that adds tasks through the desk.
#[derive(Debug, Clone, Copy)]
pub struct DeskAdder<'a> {
    pub desk: &'a Desk,
    pub visitor: &'a Visitor,
}

/// The reason why the desk added no task.
#[derive(Debug)]
pub enum NotAdded {
    /// The tool refused the task, or failed.
    Tool(ToolOutcome),
    Error(Error),
}

impl DeskAdder<'_> {
    /// Returns the standing list (the workflow for single tasks), and creates it when the store has none. A program that
    /// the runner started may not create it.
    pub async fn list(&self) -> Result<WorkflowId, NotAdded> {
        let service = self.desk.service();
        if let Some(list) = add::standing_list(service).await.map_err(NotAdded::Error)? {
            return Ok(list);
        }
        if self.visitor.seat.is_some() {
            let problem =
                "a turn of the runner started this command, and nobody has added a task to the list yet".to_owned();
            return Err(NotAdded::refused(&Refusal::NotPermitted { problem }));
        }
        add::open_list(service, self.caller()).await.map_err(NotAdded::of)
    }

    /// Returns the caller for the engine's commands that are executed without a tool.
    fn caller(&self) -> Caller {
        let visitor = self.visitor;
        Caller {
            agent: visitor.agent,
            session: visitor.session,
            standing: visitor.standing,
            principal: visitor.principal.clone(),
            origin: visitor.origin.clone(),
            ..Caller::with_rights(visitor.rights)
        }
    }

    async fn call_tool(&self, task: NewTask<'_>) -> Result<AdditionEnd, NotAdded> {
        let NewTask { name, description, wish } = task;
        let texts = |texts: &[String]| Value::List(texts.iter().map(|text| text.as_str().into()).collect());
        let mut members: Object =
            vec![("workflow_id".to_owned(), wish.workflow.to_string().into()), ("name".to_owned(), name.into())];
        members.extend(description.map(|text| ("description".to_owned(), text.into())));
        members.extend(wish.role.as_deref().map(|role| ("role".to_owned(), role.into())));
        if !wish.depends_on.is_empty() {
            members.push(("depends_on".to_owned(), texts(&wish.depends_on)));
        }
        if !wish.touches.is_empty() {
            members.push(("touches".to_owned(), texts(&wish.touches)));
        }
        let arguments = Value::Object(members).to_string();
        match self.desk.call(self.visitor, TOOL, arguments.as_bytes(), None).await {
            ToolOutcome::Done(reply) => added(&reply),
            ToolOutcome::Refused(said) if said.code == "DUPLICATE_TASK_NAME" => Ok(AdditionEnd::NameTaken),
            refused @ (ToolOutcome::Refused(_) | ToolOutcome::Failed(_) | ToolOutcome::UnknownTool) => {
                Err(NotAdded::Tool(refused))
            }
        }
    }
}

impl TaskAdder for DeskAdder<'_> {
    type Stop = NotAdded;

    async fn enter(&self, task: NewTask<'_>) -> Result<AdditionEnd, NotAdded> {
        if task.wish.checks.is_empty() {
            return self.call_tool(task).await;
        }
        add::enter_checked(self.desk.service(), self.caller(), task).await.map_err(NotAdded::of)
    }
}

impl NotAdded {
    fn refused(refusal: &Refusal) -> Self {
        Self::Tool(ToolOutcome::Refused(lifecycle::refusal(refusal)))
    }

    fn of(error: Error) -> Self {
        match error {
            Error::Refused(refusal) => Self::refused(&refusal),
            fault @ (Error::Fault(_) | Error::Random(_)) => Self::Error(fault),
        }
    }
}

/// Reads the number and the id of the added task from the reply of the tool.
fn added(reply: &Value) -> Result<AdditionEnd, NotAdded> {
    let number = match reply.get("number") {
        Some(Value::Number(number)) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
        Some(_) | None => None,
    };
    let id = reply.get("task_id").and_then(Value::as_text).and_then(|id| id.parse::<TaskId>().ok());
    match number.zip(id) {
        Some((number, id)) => Ok(AdditionEnd::Added { number, id }),
        None => Err(NotAdded::Tool(outcome(Err::<Value, Stopped>(unexpected(TOOL))))),
    }
}
