//! The consequences of a task's new status: tasks that waited for a finished task can be claimed, and agents and people
//! get a message about a blocked task.

use std::collections::BTreeSet;

use crate::case::Case;
use crate::event::{Event, Moved};
use crate::id::TaskId;
use crate::inbox::blocked_notice;
use crate::limits;
use crate::rules::inbox;
use crate::rules::status::blank;
use crate::task::{BlockKind, Status, Task, TaskBlock, TaskState};
use crate::world::{AgentIdNeed, DecisionStop, FreedNeed, Need};

/// Finds the tasks that waited only for this task and records them as freed. If a freed task was blocked because of
/// this dependency, agents can claim it again. A task that waits for further tasks is not freed.
pub(crate) fn free_dependents(
    case: &Case<'_>,
    task: &Task,
    waiting: &BTreeSet<TaskId>,
    moved: &mut Moved,
) -> Result<Vec<Event>, DecisionStop> {
    let found = case.world.ask(&FreedNeed(task.id))?;
    let found: Vec<&(TaskId, Status)> = found.iter().filter(|(id, _)| !waiting.contains(id)).collect();
    let blocked = found.iter().filter(|(_, status)| *status == Status::Blocked);
    let blocked: Vec<TaskId> = blocked.map(|(id, _)| *id).collect();
    case.world.want(blocked.iter().map(|id| Need::Task(*id)))?;
    let mut events = Vec::new();
    for id in blocked {
        let waiting = case.world.task(id)?;
        if matches!(&waiting.state, TaskState::Blocked(block) if block.kind == BlockKind::Dependency) {
            events.push(Event::Moved(Box::new(blank(waiting))));
        }
    }
    // Leave out a task that is already completed or skipped, because it does not begin now.
    let freed: Vec<TaskId> = found.iter().filter(|(_, status)| !status.is_met()).map(|(id, _)| *id).collect();
    moved.freed_count = u32::try_from(freed.len()).unwrap_or(u32::MAX);
    moved.freed = freed.into_iter().take(limits::FREED_TASKS_MAX).collect();
    Ok(events)
}

/// Sends a message about a blocked task to the agents with the role that can resolve the block, and always to a
/// person. Sends no message when the task is blocked by a dependency of the plan: completing the dependency frees the
/// task.
pub(crate) fn route(case: &mut Case<'_>, task: &Task, block: &TaskBlock) -> Result<(), DecisionStop> {
    if block.kind == BlockKind::Dependency && task.unmet > 0 {
        return Ok(());
    }
    let holders = case.world.ask(&AgentIdNeed::WithRole(block.role.clone()))?;
    let draft = blocked_notice(task, block.kind.as_str(), &block.reason);
    inbox::notify(case, holders, &draft)
}
