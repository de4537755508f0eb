//! Removes files that finished attempts left on this machine because their runner was killed: worktrees, branches, and
//! folders of turns.

use std::collections::BTreeSet;

use engine::Refusal;
use engine::delivery::DeliveryState;
use engine::id::TaskId;
use engine::list::{TurnQuery, Whose};
use engine::task::Task;
use engine::turn::Turn;

use crate::attempt::AttemptError;
use crate::attempt::place::WorkPlace;
use crate::attempt::shared::{RunEvent, RunNews, RunnerShared};
use crate::attempt::step::is_over;
use base::error::Error;
use git::branch::Author;
use git::slot::SavedWork;

/// The largest number of a task's turns that are read from the store. Limits stop an attempt long before it has so many
/// turns.
const TURN_ROWS: u32 = 500;

/// Removes the files of all finished attempts from this machine. Reports files that cannot be removed; the next run
/// tries to remove them again.
pub(crate) async fn clear(shared: &RunnerShared) -> Result<(), Error> {
    for (task, attempt) in found(shared) {
        let row = match shared.service.view(move |world| world.task(task).cloned()).await {
            Ok(row) => row,
            // If the store does not know the task, the task belongs to another store that used this folder before.
            Err(Error::Refused(Refusal::TaskNotFound { .. })) => continue,
            Err(error) => return Err(error),
        };
        let turns = turns(shared, task, attempt).await?;
        let ours = turns.iter().all(|turn| turn.runner == shared.name && turn.ended().is_some());
        if ours && is_over(&row, attempt) && !is_kept(shared, &row, attempt).await? {
            let worker =
                turns.first().and_then(|turn| shared.agents.values().find(|worker| worker.agent == turn.agent));
            let slug = worker.map_or("handover", |worker| worker.member.settings.slug.as_str()).to_owned();
            let author = Author { name: slug.clone(), slug: slug.clone() };
            if let Err(problem) = remove(shared, (&row, attempt), &author, &turns).await {
                let text = stays(&problem);
                let (number, name) = (Some(row.number), row.name.clone());
                shared.tell(RunNews { task, number, name, agent: slug, what: RunEvent::Warning { text } });
            }
        }
    }
    Ok(())
}

/// Returns true when the files of a finished attempt must stay, because its work waits for a person who may send it
/// back.
pub(crate) async fn is_kept(shared: &RunnerShared, task: &Task, attempt: u32) -> Result<bool, Error> {
    let id = task.id;
    let delivery = shared.service.view(move |world| Ok(world.delivery(id)?.cloned())).await?;
    Ok(delivery.is_some_and(|delivery| delivery.attempt == attempt && delivery.state == DeliveryState::Waiting))
}

/// Returns the warning that the worktree of an attempt stays until the next run.
pub(crate) fn stays(problem: &impl std::fmt::Display) -> String {
    format!("the worktree could not be removed and stays until the next run: {problem}")
}

/// Returns the warning that names the branch with work that an agent left outside of its own branch.
pub(crate) fn saved_elsewhere(saved: &SavedWork) -> String {
    format!("the agent left work outside of its branch; it is on the branch {}", saved.branch)
}

/// Returns the turns of one attempt, which may be an earlier attempt of the task.
pub(crate) async fn turns(shared: &RunnerShared, task: TaskId, attempt: u32) -> Result<Vec<Turn>, Error> {
    let list = TurnQuery::Of { of: Whose::Task(task), before: None, limit: TURN_ROWS };
    let rows = shared.service.ask(list).await?;
    Ok(rows.into_iter().filter(|turn| turn.attempt == attempt).collect())
}

/// Removes the folders of an attempt's turns first, and the folder of the attempt last. While the attempt's folder
/// exists, a later run can find the other folders again.
pub(crate) async fn remove_folders(shared: &RunnerShared, task: TaskId, attempt: u32, turns: &[Turn]) {
    let mut folders: Vec<_> = turns.iter().map(|turn| shared.turn_folder(turn.id)).collect();
    folders.push(shared.attempt_folder(task, attempt));
    let remove = move || folders.iter().for_each(|folder| drop(std::fs::remove_dir_all(folder)));
    let _done = tokio::task::spawn_blocking(remove).await;
}

/// Returns the attempts that have a folder on this machine. An attempt's folder is created before all other files of
/// the attempt and is removed last.
pub(crate) fn found(shared: &RunnerShared) -> BTreeSet<(TaskId, u32)> {
    let folders = std::fs::read_dir(shared.state.join("turns")).into_iter().flatten().flatten();
    folders.filter_map(|entry| attempt(entry.file_name().to_str()?)).collect()
}

/// Parses the name of an attempt's folder: `<task>-<attempt>`.
fn attempt(name: &str) -> Option<(TaskId, u32)> {
    let (task, attempt) = name.rsplit_once('-')?;
    Some((task.parse().ok()?, attempt.parse().ok()?))
}

/// Removes the worktree, the branch and the folders of a finished attempt. Removes the attempt's folder last, because a
/// later run finds the remaining files by that folder. Returns the name of the branch when the branch stays.
pub(crate) async fn remove(
    shared: &RunnerShared,
    (task, attempt): (&Task, u32),
    author: &Author,
    turns: &[Turn],
) -> Result<Option<String>, AttemptError> {
    shared.ground.clean_up(task.id, attempt).await?;
    if let Some(saved) = shared.ground.save(task.id, attempt).await? {
        let text = saved_elsewhere(&saved);
        let (name, agent) = (task.name.clone(), author.slug.clone());
        shared.tell(RunNews {
            task: task.id,
            number: Some(task.number),
            name,
            agent,
            what: RunEvent::Warning { text },
        });
    }
    let of = shared.attempt_place(task, attempt).await?;
    let kept = match shared.ground.standing(&of).await? {
        Some(place @ WorkPlace::Worktree { .. }) => {
            shared.end_checks(&place, task.id, attempt).await?;
            let kept = shared.ground.keep(&place, author).await?;
            shared.ground.clear(&place, (task.id, attempt), kept).await?
        }
        Some(WorkPlace::Folder(_)) | None => {
            shared.ground.forget(&of).await?;
            None
        }
    };
    remove_folders(shared, task.id, attempt, turns).await;
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_called_like_an_attempt_is_one() {
        let task = TaskId::FIRST;
        assert_eq!(attempt(&format!("{task}-12")), Some((task, 12)));
        for name in ["tk_000000000000", "tn_000000000000-1", "tk_000000000000-x", "tk_1-1", "", "-"] {
            assert_eq!(attempt(name), None, "{name}");
        }
    }
}
