//! What attempts that are over left on this machine, because their runner was killed before it could tidy up: worktrees,
//! branches, folders of turns.

use std::collections::BTreeSet;

use engine::id::TaskId;
use engine::list::{List, Whose};
use engine::task::Task;
use engine::turn::Turn;
use engine::{Fact, Refusal};

use super::branch::Author;
use super::shop::Shop;
use super::step::is_over;
use crate::error::Error;
use crate::worktree::Problem;

/// More turns than an attempt has before a limit stops it.
const TURN_ROWS: u32 = 500;

/// Removes them. What cannot be removed stays for the next time; it is in nobody's way.
pub(super) async fn clear(shop: &Shop) -> Result<(), Error> {
    for (task, attempt) in found(shop) {
        let row = match shop.service.view(move |world| world.task(task).cloned()).await {
            Ok(row) => row,
            // Of another store that had this place before.
            Err(Error::Refused(Refusal::TaskNotFound { .. })) => continue,
            Err(error) => return Err(error),
        };
        let turns = turns(shop, task, attempt).await?;
        let ours = turns.iter().all(|turn| turn.runner == shop.name && turn.ended().is_some());
        if ours && is_over(&row, attempt) {
            let _stays = remove(shop, &row, attempt, &turns).await;
        }
    }
    Ok(())
}

/// The turns of one attempt, also of one that is not the last.
pub(super) async fn turns(shop: &Shop, task: TaskId, attempt: u32) -> Result<Vec<Turn>, Error> {
    let list = List::Turns { of: Whose::Task(task), before: None, limit: TURN_ROWS };
    let view = shop.service.view(move |world| {
        let rows = if let Fact::TurnRows(rows) = world.list(list.clone())? { rows.as_slice() } else { &[] };
        Ok(rows.iter().filter(|turn| turn.attempt == attempt).cloned().collect())
    });
    view.await
}

/// Their folders and that of the attempt, which goes last: as long as it is there, the others are found again.
pub(super) async fn remove_folders(shop: &Shop, task: TaskId, attempt: u32, turns: &[Turn]) {
    let mut folders: Vec<_> = turns.iter().map(|turn| shop.turn_folder(turn.id)).collect();
    folders.push(shop.attempt_folder(task, attempt));
    let remove = move || folders.iter().for_each(|folder| drop(std::fs::remove_dir_all(folder)));
    let _done = tokio::task::spawn_blocking(remove).await;
}

/// Attempts that have a folder here: it is made before everything else, and goes last.
fn found(shop: &Shop) -> BTreeSet<(TaskId, u32)> {
    let folders = std::fs::read_dir(shop.state.join("turns")).into_iter().flatten().flatten();
    folders.filter_map(|entry| attempt(entry.file_name().to_str()?)).collect()
}

/// `<task>-<attempt>`, as these folders are called.
fn attempt(name: &str) -> Option<(TaskId, u32)> {
    let (task, attempt) = name.rsplit_once('-')?;
    Some((task.parse().ok()?, attempt.parse().ok()?))
}

async fn remove(shop: &Shop, task: &Task, attempt: u32, turns: &[Turn]) -> Result<(), Problem> {
    let seat = turns.first().and_then(|turn| shop.seats.values().find(|seat| seat.agent == turn.agent));
    let slug = seat.map_or("handover", |seat| seat.member.settings.slug.as_str()).to_owned();
    let author = Author { name: slug.clone(), slug };
    match shop.ground.standing(task.workflow, task.id, attempt).await? {
        Some(place) => shop.ground.clear(&place, &author).await?,
        None => shop.ground.forget(task.workflow, task.id, attempt).await?,
    }
    remove_folders(shop, task.id, attempt, turns).await;
    Ok(())
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
