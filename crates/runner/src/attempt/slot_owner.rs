//! The slots (worktrees outside of the repository) of one store, and the names of their owners, such as tasks.

use engine::id::TaskId;
use git::slot::SlotPool;

/// The slots (worktrees outside of the repository) that the runner of one store uses.
#[derive(Debug)]
pub struct RunnerSlots {
    pub pool: SlotPool,
    /// A name of the store. Runners of other stores may use the same repository, and the name keeps the slots of their
    /// tasks apart from the slots of this store's tasks.
    pub store: String,
    /// The largest number of slots. When all slots are in use, the task that has waited longest for a person gives up
    /// its slot.
    pub limit: Option<u32>,
}

/// The work to which a slot belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlotOwner {
    Task {
        task: TaskId,
        attempt: u32,
    },
    /// Checks that belong to no task, such as the checks on the commits from which tasks start.
    Checks,
    /// Work of another store that uses the same repository.
    OtherStore,
}

impl RunnerSlots {
    /// Returns the owner's name that is recorded for a slot of an attempt at a task.
    pub fn owner(&self, task: TaskId, attempt: u32) -> String {
        format!("{} {task}-{attempt}", self.store)
    }

    /// Returns the owner's name for a slot in which checks run that belong to no task. `name` is the purpose of the
    /// slot, such as `baseline`.
    pub(super) fn side_owner(&self, name: &str) -> String {
        format!("{} {name}", self.store)
    }

    /// Returns the work to which a slot belongs. `name` is the owner's name that is recorded for the slot.
    pub fn owner_named(&self, name: &str) -> SlotOwner {
        let Some((_, rest)) = name.split_once(' ').filter(|(store, _)| *store == self.store) else {
            return SlotOwner::OtherStore;
        };
        let attempt = || {
            let (task, attempt) = rest.rsplit_once('-')?;
            Some(SlotOwner::Task { task: task.parse().ok()?, attempt: attempt.parse().ok()? })
        };
        attempt().unwrap_or(SlotOwner::Checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_owner_says_to_which_work_the_slot_belongs() {
        let slots = RunnerSlots { pool: SlotPool::at("slots".into()), store: "0123".to_owned(), limit: None };
        let task = TaskId::FIRST;
        for (name, expected) in [
            (slots.owner(task, 12), SlotOwner::Task { task, attempt: 12 }),
            (slots.side_owner("baseline"), SlotOwner::Checks),
            (format!("4567 {task}-12"), SlotOwner::OtherStore),
            (format!("{task}-12"), SlotOwner::OtherStore),
        ] {
            assert_eq!(slots.owner_named(&name), expected, "{name}");
        }
    }
}
