//! What blocks a task and what frees it: who is told, and who may go on.

use std::collections::BTreeSet;

use crate::case::Case;
use crate::event::{Event, Moved};
use crate::id::TaskId;
use crate::inbox::blocked_notice;
use crate::limits;
use crate::rules::inbox;
use crate::rules::status::blank;
use crate::task::{Block, BlockKind, State, Status, Task};
use crate::world::{Need, Stop};

/// Tasks that waited for this one only. Those blocked by that dependency are offered again. Tasks that wait on for others
/// are not freed.
pub(crate) fn free_dependents(
    case: &Case<'_>,
    task: &Task,
    waiting: &BTreeSet<TaskId>,
    moved: &mut Moved,
) -> Result<Vec<Event>, Stop> {
    let found = case.world.named(&Need::Freed(task.id))?;
    let found: Vec<&(TaskId, String)> = found.iter().filter(|(id, _)| !waiting.contains(id)).collect();
    let blocked = found.iter().filter(|(_, status)| status == Status::Blocked.as_str());
    let blocked: Vec<TaskId> = blocked.map(|(id, _)| *id).collect();
    case.world.want(blocked.iter().map(|id| Need::Task(*id)))?;
    let mut events = Vec::new();
    for id in blocked {
        let waiting = case.world.task(id)?;
        if matches!(&waiting.state, State::Blocked(block) if block.kind == BlockKind::Dependency) {
            events.push(Event::Moved(Box::new(blank(waiting))));
        }
    }
    // What was skipped while it waited has nothing to begin.
    let begins = |status: &str| !Status::parse(status).is_some_and(Status::is_met);
    let freed: Vec<TaskId> = found.iter().filter(|(_, status)| begins(status)).map(|(id, _)| *id).collect();
    moved.freed_count = u32::try_from(freed.len()).unwrap_or(u32::MAX);
    moved.freed = freed.into_iter().take(limits::FREED_TASKS_MAX).collect();
    Ok(events)
}

/// Tells the holders of the role, and always a person. A dependency the graph knows needs nobody.
pub(crate) fn route(case: &mut Case<'_>, task: &Task, block: &Block) -> Result<(), Stop> {
    if block.kind == BlockKind::Dependency && task.unmet > 0 {
        return Ok(());
    }
    let holders = case.world.agent_ids(&Need::RoleHolders(block.role.clone()))?;
    let draft = blocked_notice(task, block.kind.as_str(), &block.reason);
    inbox::notify(case, holders, &draft)
}
