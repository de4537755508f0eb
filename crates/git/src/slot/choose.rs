//! Chooses the slot (a reusable worktree) for an owner. When all allowed slots are used, a slot whose owner waits for a
//! person is given up first.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use super::lock::SlotLock;
use super::ports::{PORTS_PER_SLOT, SlotPorts};
use super::record::{SlotRecord, SlotUse};
use super::{GivenUpSlot, SlotOrder, SlotPool, save};
use crate::GitProblem;
use crate::program::Git;
use crate::repository::GitRepository;

/// The slot (a reusable worktree) that was chosen for an owner.
pub(super) struct SlotChoice {
    pub(super) number: u32,
    /// The record that the slot (worktree) had before it was chosen. Network ports are added if the record had none.
    pub(super) before: SlotRecord,
    pub(super) gave_up: Option<GivenUpSlot>,
    /// The lock of a slot (worktree) that was given up. It is held until the slot is prepared for its new owner.
    pub(super) lock: Option<SlotLock>,
}

/// The result of one search for a slot (a reusable worktree).
enum SlotSearch {
    Found {
        number: u32,
        before: SlotRecord,
    },
    /// The limit of slots (worktrees) is reached. `kept` has the slots that may be given up, because their owners wait
    /// for a person. The owner that waits longest comes first.
    Full {
        kept: Vec<(u32, SlotRecord)>,
        used: usize,
    },
}

impl SlotPool {
    /// Chooses the slot (worktree) for an owner. Records that git is about to prepare the slot, unless the owner
    /// already uses it.
    pub(super) async fn choose(
        &self,
        git: &Git,
        repository: &GitRepository,
        order: SlotOrder<'_>,
    ) -> Result<SlotChoice, GitProblem> {
        let (mut stuck, mut busy): (BTreeSet<u32>, BTreeSet<u32>) = <_>::default();
        let mut reason = None;
        loop {
            let (kept, used) = match self.search(order)? {
                SlotSearch::Found { number, before } => {
                    return Ok(SlotChoice { number, before, gave_up: None, lock: None });
                }
                SlotSearch::Full { kept, used } => (kept, used),
            };
            let candidate = kept.into_iter().find(|(number, _)| !stuck.contains(number) && !busy.contains(number));
            let Some((number, record)) = candidate else {
                // Another caller holds the locks of these slots (worktrees). Wait for one of them, then search again.
                if let Some(number) = busy.pop_first() {
                    drop(self.lock_slot(number).await?);
                    continue;
                }
                let limit = order.limit.unwrap_or_default();
                return Err(GitProblem::SlotsUsed { limit, used, reason });
            };
            // Two callers may want to give up the same slot (worktree). Only the caller that holds its lock runs git
            // there.
            let Some(lock) = self.try_lock_slot(number)? else {
                busy.insert(number);
                continue;
            };
            // Commit the work while the slot (worktree) still belongs to its owner, so that a crash at any time loses
            // nothing.
            let path = self.path(number);
            let saved = match commit_of_owner(git, repository, &path, &record).await {
                Ok(saved) => saved,
                Err(problem) => {
                    stuck.insert(number);
                    reason = Some(problem.to_string());
                    continue;
                }
            };
            let _records = self.lock()?;
            let mut now = self.read(number)?;
            // If the owner took its slot (worktree) again in the meantime, the record differs. Then search again.
            if now == record
                && let SlotUse::Used { owner, branch, .. } = record.used
            {
                let gave_up = Some(GivenUpSlot { number, owner, branch, saved });
                now.free();
                let before = now.clone();
                self.mark(number, now, order)?;
                return Ok(SlotChoice { number, before, gave_up, lock: Some(lock) });
            }
        }
    }

    /// Commits the work of every owner that has waited for a person since before `before_ms`, and frees its slot
    /// (worktree).
    pub async fn give_up_before(
        &self,
        git: &Git,
        repository: &Path,
        before_ms: i64,
    ) -> Result<Vec<GivenUpSlot>, GitProblem> {
        let repository = GitRepository::find(git, repository).await?;
        let mut gave_up = Vec::new();
        for (number, record) in self.records()? {
            let is_old = record.kept && record.since_ms.is_some_and(|since| since < before_ms);
            let SlotUse::Used { owner, branch, .. } = &record.used else { continue };
            if !is_old {
                continue;
            }
            // Skip a slot (worktree) that another caller has locked, because that caller takes the slot or gives it up
            // itself.
            let Some(_lock) = self.try_lock_slot(number)? else { continue };
            let saved = commit_of_owner(git, &repository, &self.path(number), &record).await?;
            let (owner, branch) = (owner.clone(), branch.clone());
            let mut is_same = false;
            self.change(number, |now| {
                is_same = *now == record;
                if is_same {
                    now.free();
                }
            })?;
            if is_same {
                save::detach(git, &repository, &self.path(number)).await?;
                gave_up.push(GivenUpSlot { number, owner, branch, saved });
            }
        }
        Ok(gave_up)
    }

    fn search(&self, order: SlotOrder<'_>) -> Result<SlotSearch, GitProblem> {
        let _lock = self.lock()?;
        let records = self.records()?;
        let own = records.iter().find(|(_, record)| record.used.owner() == Some(order.owner));
        let free = || records.iter().find(|(_, record)| record.used == SlotUse::Free);
        let is_full = order.limit.is_some_and(|limit| records.len() >= usize::try_from(limit).unwrap_or(usize::MAX));
        let (number, mut record) = match own.or_else(free) {
            Some(found) => found.clone(),
            None if is_full => {
                let used = records.len();
                let mut kept: Vec<_> = records.into_iter().filter(|(_, record)| record.kept).collect();
                kept.sort_by_key(|(number, record)| (record.since_ms, *number));
                return Ok(SlotSearch::Full { kept, used });
            }
            None => {
                let is_new = |number: &u32| records.iter().all(|(taken, _)| taken != number);
                ((1..).find(is_new).unwrap_or(u32::MAX), SlotRecord::new())
            }
        };
        if record.first_port.is_none() {
            record.first_port = Some(self.free_ports(&records)?.first);
        }
        let before = record.clone();
        self.mark(number, record, order)?;
        Ok(SlotSearch::Found { number, before })
    }

    /// Records that a slot (worktree) now belongs to the owner of the request. The caller holds the lock of the pool
    /// (the folder with all slots).
    fn mark(&self, number: u32, mut record: SlotRecord, order: SlotOrder<'_>) -> Result<(), GitProblem> {
        if let SlotUse::Used { .. } = record.used {
            if record.kept || record.since_ms.is_none() {
                (record.kept, record.since_ms) = (false, Some(order.now_ms));
            }
            return self.write(number, &record);
        }
        let (owner, branch, base) = (order.owner.to_owned(), order.branch.to_owned(), order.base.tip.clone());
        record.used = SlotUse::Making { owner, branch, base };
        record.uses = record.uses.saturating_add(1);
        (record.kept, record.since_ms) = (false, Some(order.now_ms));
        self.write(number, &record)
    }

    fn free_ports(&self, records: &[(u32, SlotRecord)]) -> Result<SlotPorts, GitProblem> {
        let taken: BTreeSet<u16> = records.iter().filter_map(|(_, record)| record.first_port).collect();
        let mut hasher = DefaultHasher::new();
        self.folder().hash(&mut hasher);
        SlotPorts::choose(&taken, hasher.finish()).ok_or_else(|| {
            let problem =
                format!("no {PORTS_PER_SLOT} ports in a row are free on 127.0.0.1; end programs that use ports");
            GitProblem::PathUnusable { path: self.folder().to_owned(), problem }
        })
    }
}

async fn commit_of_owner(
    git: &Git,
    repository: &GitRepository,
    path: &Path,
    record: &SlotRecord,
) -> Result<Option<save::SavedWork>, GitProblem> {
    match record.used.branch() {
        Some(branch) => save::commit_all(git, repository, path, branch).await,
        None => Ok(None),
    }
}
