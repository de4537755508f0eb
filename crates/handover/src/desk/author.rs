//! Records the author of a task, which is the agent that added it. The prompt of the agent that later works on the task
//! names this author.

use engine::plan::PlanTask;
use engine::{Command, Json, Refusal, Rights};

use super::{Desk, Stopped, ToolRequest};
use base::error::Error;
use base::project::task_extra::PLANNED_BY;

/// The name that is recorded as the author of a task when a coordinator (a caller that may act on tasks of other
/// agents) added the task and acts as no registered agent.
const COORDINATOR: &str = "coordinator";

impl Desk {
    /// Returns the name of the author that is recorded in a new task: the slug (the short name) of the calling agent,
    /// or `coordinator` for a coordinator (a caller that may act on tasks of other agents) that acts as no agent.
    /// Returns `None` for a person, a person's script and Handover itself.
    pub(super) async fn author(&self, request: &ToolRequest<'_>) -> Result<Option<String>, Stopped> {
        if let Some(author) = &request.visitor.author {
            return Ok(Some(author.clone()));
        }
        match request.caller.rights {
            Rights::Person | Rights::Script | Rights::Engine => return Ok(None),
            Rights::Agent | Rights::Runner | Rights::Coordinator => {}
        }
        let acting = match self.acting(request).await {
            // A coordinator is a caller that may act on tasks of other agents. If it names an agent that is registered
            // on another connection, the author is the coordinator and not that agent.
            Err(Stopped::Error(Error::Refused(Refusal::AgentElsewhere { .. })))
                if request.caller.rights == Rights::Coordinator =>
            {
                None
            }
            found => found?,
        };
        let Some(agent) = acting else {
            let named = (request.caller.rights == Rights::Coordinator).then(|| COORDINATOR.to_owned());
            return Ok(named);
        };
        let slug = self.service.view(move |world| world.agent(agent).map(|agent| agent.slug.clone())).await?;
        Ok(Some(slug))
    }
}

/// Writes the author into each task. Without an author, which means that a person wrote the tasks, changes nothing.
pub(super) fn signed(mut tasks: Vec<PlanTask>, author: Option<&str>) -> Vec<PlanTask> {
    if let Some(author) = author {
        tasks.iter_mut().for_each(|task| sign(task, author));
    }
    tasks
}

fn sign(task: &mut PlanTask, author: &str) {
    let patch = Json::from(&serde_json::json!({ PLANNED_BY: author }));
    task.extra = Some(Json::merged(task.extra.as_ref(), &patch));
}

/// Writes the name of the author into a command that adds a task.
pub(super) fn signed_command(command: Command, author: Option<&str>) -> Command {
    match (command, author) {
        (Command::AddTask { workflow, mut task, after }, Some(author)) => {
            sign(&mut task, author);
            Command::AddTask { workflow, task, after }
        }
        (command, _) => command,
    }
}
