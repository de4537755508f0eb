//! The reason why no task can be claimed, for the replies of `task_next` and `task_wait`.

use base::people::untaken::{self, AgentSkill, TaskSeeker, WaitCause};
use engine::id::{AgentId, WorkflowId};
use engine::world::NumberNeed;
use engine::{DecisionStop, Timestamp, World};
use wire::lifecycle::WaitRow;

use super::work::running;
use super::{Desk, Stopped};

/// The time after which a caller should ask again when no task can be claimed, in milliseconds.
const RETRY_MS: u32 = 5_000;
/// The maximum number of workflows whose tasks are counted to explain why no task can be claimed. The agent's own
/// workflow is counted first, and then the oldest running workflows.
const WORKFLOWS_COUNTED: usize = 20;

/// The reason why no task can be claimed.
#[derive(Debug)]
pub(super) struct IdleReason {
    pub(super) words: String,
    pub(super) causes: Vec<WaitCause>,
    /// The time in milliseconds after which to ask again. `None` when the workflow is over.
    pub(super) retry_after_ms: Option<u32>,
}

impl IdleReason {
    /// Returns the reasons as rows of a reply. Returns `None` when no task waits.
    pub(super) fn rows(&self) -> Option<Vec<WaitRow>> {
        let row =
            |cause: &WaitCause| WaitRow { cause: cause.kind.as_str(), tasks: cause.tasks, words: cause.words.clone() };
        (!self.causes.is_empty()).then(|| self.causes.iter().map(row).collect())
    }
}

impl Desk {
    /// Returns the reason why the agent can claim no task of this workflow. If `workflow` is `None`, all workflows
    /// count.
    pub(super) async fn idle(
        &self,
        workflow: Option<WorkflowId>,
        agent: Option<AgentId>,
    ) -> Result<IdleReason, Stopped> {
        let team = self.surroundings.root.as_deref().map(untaken::skills_of_project).unwrap_or_default();
        let now = self.service.now();
        Ok(self.service.view(move |world| idle(world, workflow, (agent, &team), now)).await?)
    }

    /// Tells whether a workflow is over, so that waiting for its tasks is in vain.
    pub(super) async fn is_over(&self, workflow: Option<WorkflowId>) -> Result<bool, Stopped> {
        let Some(id) = workflow else { return Ok(false) };
        Ok(self.service.view(move |world| Ok(world.workflow(id)?.status.is_over())).await?)
    }
}

fn idle(
    world: &World,
    workflow: Option<WorkflowId>,
    (agent, team): (Option<AgentId>, &[AgentSkill]),
    now: Timestamp,
) -> Result<IdleReason, DecisionStop> {
    let again = Some(RETRY_MS);
    let without_causes = |words: String, retry_after_ms| IdleReason { words, causes: Vec::new(), retry_after_ms };
    let plans = match workflow {
        Some(id) => {
            let found = world.workflow(id)?;
            if !found.status.is_running() {
                let again = again.filter(|_| !found.status.is_over());
                return Ok(without_causes(format!("the workflow is {}", found.status), again));
            }
            if let Some(limit) = found.parallel_max
                && *world.ask(&NumberNeed::Running(id, now))? >= limit
            {
                let words = format!("the workflow's limit of {limit} running tasks is reached");
                return Ok(without_causes(words, again));
            }
            vec![id]
        }
        None => {
            let own = agent.map(|agent| world.agent(agent)).transpose()?.and_then(|agent| agent.workflow);
            let all = running(world, own)?;
            if all.is_empty() {
                return Ok(without_causes("no workflow is ready or in progress".to_owned(), again));
            }
            all.into_iter().take(WORKFLOWS_COUNTED).collect()
        }
    };
    let own = agent.map(|agent| world.agent(agent)).transpose()?.map(AgentSkill::of);
    let causes = untaken::causes(world, &plans, &TaskSeeker { own, team: team.to_vec() }, now)?;
    let words = match causes.as_slice() {
        [] => "no task can be claimed now".to_owned(),
        causes => format!("no task can be claimed now: {}", untaken::sentence(causes)),
    };
    Ok(IdleReason { words, causes, retry_after_ms: again })
}
