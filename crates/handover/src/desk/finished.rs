//! Adds facts to a task's row in a reply: who finished the task, when, at which cost, and where its work is in git.

use base::people::delivered::{self, FinishedWork};
use base::people::task_choice::NamedWork;
use engine::delivery::DeliveryState;
use engine::list::{SpentQuery, Whose};
use engine::task::{Task, TaskState};
use engine::{Actor, DecisionStop, World};
use wire::lifecycle::{DeliveryRow, SpentRow, TaskReply};

use super::{Desk, Stopped};

impl Desk {
    /// Fills in the fields of a task's row that only the reply of `task_get` has.
    pub(super) async fn with_work_done(&self, reply: &mut TaskReply, task: Task) -> Result<(), Stopped> {
        let work = delivered::find(&self.service, &NamedWork::Task(Box::new(task.clone()))).await?;
        let viewed = task.clone();
        let (plan, by, spent) = self
            .service
            .view(move |world| {
                let plan = world.workflow(viewed.workflow)?.name.clone();
                let by = finished_by(&viewed).map(|by| actor(world, by)).transpose()?;
                Ok((plan, by, *world.ask(&SpentQuery(Whose::Task(viewed.id)))?))
            })
            .await?;
        reply.workflow_name = Some(plan);
        reply.finished_at = by.is_some().then(|| work.as_ref().map_or(task.updated, |work| work.created));
        reply.finished_by = by;
        reply.spent = (spent.turns > 0).then(|| SpentRow::of(spent));
        reply.delivery = work.as_ref().map(row);
        Ok(())
    }
}

/// Returns the actor that ended the work on a task. Returns `None` for a task that is not finished.
fn finished_by(task: &Task) -> Option<&Actor> {
    match &task.state {
        TaskState::Completed { by, .. } | TaskState::Skipped { by, .. } | TaskState::Failed { by, .. } => Some(by),
        TaskState::Pending { .. }
        | TaskState::Planning { .. }
        | TaskState::InProgress { .. }
        | TaskState::Paused { .. }
        | TaskState::Blocked(_) => None,
    }
}

/// Returns the name of an actor: the slug of an agent, else the word that the log uses.
fn actor(world: &World, by: &Actor) -> Result<String, DecisionStop> {
    Ok(match by {
        Actor::Agent(agent) => world.agent(*agent)?.slug.clone(),
        Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => by.to_string(),
    })
}

fn row(found: &FinishedWork) -> DeliveryRow {
    let work = &found.work;
    let mut row = DeliveryRow {
        state: found.state.status().as_str(),
        check: found.checked(),
        checked: found.is_checked(),
        agent: found.agent.as_ref().map(|(slug, _)| slug.clone()),
        attempt: found.attempt,
        tries: work.tries,
        base_branch: work.base_branch.clone(),
        base: work.base.clone(),
        branch: work.branch.clone(),
        commit: work.commit.clone(),
        files: work.files,
        added: work.added,
        removed: work.removed,
        delivered_at: found.created,
        plan_commit: None,
        merged_into: None,
        merge_commit: None,
        merged_by: None,
        merged_at: None,
        dropped_by: None,
        dropped_at: None,
        kept_as: None,
    };
    match found.state.clone() {
        DeliveryState::Waiting => {}
        DeliveryState::InPlan { commit } => row.plan_commit = Some(commit),
        DeliveryState::Merged { into, commit, by, at, before: _ } => {
            row.merged_into = Some(into);
            row.merge_commit = Some(commit);
            row.merged_by = Some(by.to_string());
            row.merged_at = Some(at);
        }
        DeliveryState::Dropped { by, at, kept_as } => {
            row.dropped_by = Some(by.to_string());
            row.dropped_at = Some(at);
            row.kept_as = kept_as;
        }
    }
    row
}
