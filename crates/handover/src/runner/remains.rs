//! Removes files that finished attempts left on this machine because their runner was killed: worktrees, branches, and
//! folders of turns.

use std::collections::BTreeSet;

use engine::id::TaskId;
use engine::list::{List, Whose};
use engine::task::Task;
use engine::turn::Turn;
use engine::{Fact, Refusal};

use super::place::{KeptWork, WorkPlace};
use super::shop::{RunNews, Shop, What};
use super::step::is_over;
use crate::error::Error;
use git::GitProblem;
use git::branch::Author;

/// A marker file in the folder of an attempt. It exists from the time the work is committed until the worktree is
/// removed. With this file, the worktree may lack files, so its state must not be committed again.
const REMOVING: &str = "removing";
/// The largest number of a task's turns that are read. Limits stop an attempt long before it has so many turns.
const TURN_ROWS: u32 = 500;

/// Removes the files of all finished attempts. Reports files that cannot be removed; the next run tries to remove them
/// again.
pub(super) async fn clear(shop: &Shop) -> Result<(), Error> {
    for (task, attempt) in found(shop) {
        let row = match shop.service.view(move |world| world.task(task).cloned()).await {
            Ok(row) => row,
            // The task belongs to another store that used this folder before.
            Err(Error::Refused(Refusal::TaskNotFound { .. })) => continue,
            Err(error) => return Err(error),
        };
        let turns = turns(shop, task, attempt).await?;
        let ours = turns.iter().all(|turn| turn.runner == shop.name && turn.ended().is_some());
        if ours && is_over(&row, attempt) {
            let seat = turns.first().and_then(|turn| shop.seats.values().find(|seat| seat.agent == turn.agent));
            let slug = seat.map_or("handover", |seat| seat.member.settings.slug.as_str()).to_owned();
            let author = Author { name: slug.clone(), slug: slug.clone() };
            if let Err(problem) = remove(shop, (&row, attempt), &author, &turns).await {
                let text = stays(&problem);
                shop.tell(RunNews { task, name: row.name.clone(), agent: slug, what: What::Warning { text } });
            }
        }
    }
    Ok(())
}

/// Returns the warning that the worktree of an attempt stays until the next run.
pub(super) fn stays(problem: &GitProblem) -> String {
    format!("the worktree stays until the next run: {problem}")
}

/// Returns the turns of one attempt. It does not have to be the latest attempt of the task.
pub(super) async fn turns(shop: &Shop, task: TaskId, attempt: u32) -> Result<Vec<Turn>, Error> {
    let list = List::Turns { of: Whose::Task(task), before: None, limit: TURN_ROWS };
    let view = shop.service.view(move |world| {
        let rows = if let Fact::TurnRows(rows) = world.list(list.clone())? { rows.as_slice() } else { &[] };
        Ok(rows.iter().filter(|turn| turn.attempt == attempt).cloned().collect())
    });
    view.await
}

/// Removes the folders of the turns first and the folder of the attempt last. While the attempt's folder exists, a
/// later run can find the other folders again.
pub(super) async fn remove_folders(shop: &Shop, task: TaskId, attempt: u32, turns: &[Turn]) {
    let mut folders: Vec<_> = turns.iter().map(|turn| shop.turn_folder(turn.id)).collect();
    folders.push(shop.attempt_folder(task, attempt));
    let remove = move || folders.iter().for_each(|folder| drop(std::fs::remove_dir_all(folder)));
    let _done = tokio::task::spawn_blocking(remove).await;
}

/// Returns the attempts that have a folder on this machine. An attempt's folder is created before all its other files
/// and is removed last.
fn found(shop: &Shop) -> BTreeSet<(TaskId, u32)> {
    let folders = std::fs::read_dir(shop.state.join("turns")).into_iter().flatten().flatten();
    folders.filter_map(|entry| attempt(entry.file_name().to_str()?)).collect()
}

/// Parses the name of an attempt's folder: `<task>-<attempt>`.
fn attempt(name: &str) -> Option<(TaskId, u32)> {
    let (task, attempt) = name.rsplit_once('-')?;
    Some((task.parse().ok()?, attempt.parse().ok()?))
}

/// Removes the worktree, the branch and the folders of a finished attempt. Removes the attempt's folder last, because a
/// later run finds the remaining files by that folder. Returns the branch when it stays.
pub(super) async fn remove(
    shop: &Shop,
    (task, attempt): (&Task, u32),
    author: &Author,
    turns: &[Turn],
) -> Result<Option<String>, GitProblem> {
    shop.ground.clean_up(task.id, attempt).await?;
    let kept = match shop.ground.standing(task.workflow, task.id, attempt).await? {
        Some(place @ WorkPlace::Worktree { .. }) => {
            let removing = shop.attempt_folder(task.id, attempt).join(REMOVING);
            let kept = match removing.exists() {
                true => KeptWork::PartlyRemoved,
                false => shop.ground.keep(&place, author).await?,
            };
            mark(&removing)?;
            let cleared = shop.ground.clear(&place, kept).await;
            if let Err(GitProblem::WorkspaceDirty { .. }) = &cleared {
                // The worktree has new uncommitted work, so nothing was removed. Removes the marker, so that the next
                // run commits this work first.
                let _unmarked = std::fs::remove_file(&removing);
            }
            cleared?
        }
        Some(WorkPlace::Folder(_)) | None => {
            shop.ground.forget(task.workflow, task.id, attempt).await?;
            None
        }
    };
    remove_folders(shop, task.id, attempt, turns).await;
    Ok(kept)
}

fn mark(path: &std::path::Path) -> Result<(), GitProblem> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, ""));
    made.map_err(|error| GitProblem::PathUnusable { path: path.to_owned(), problem: error.to_string() })
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
