//! Keeps the store consistent with git. A merge first moves a branch and then changes the store. Before the branch
//! moves, a file records the merge. If the process is killed between the two steps, the next act reads this file and
//! changes the store.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::Service;
use engine::delivery::{DeliveryMove, DeliveryState, DeliveryStatus, DeliverySubject};
use engine::{Caller, Command, Reply};
use git::land::LandingRecord;
use git::repository::{GitRepository, reference};
use runner::claim::open::RunSite;
use serde::{Deserialize, Serialize};

use crate::error::WorkError;
use crate::site::{NoWorkSite, WorkSite};

/// The folder with one file for each merge, or undo of a merge, that is not finished yet.
const FOLDER: &str = "landings";
/// The time between two tries to get the lock. A merge holds the lock for milliseconds, or for minutes while checks run.
/// The caller may stop waiting at any time by dropping the future.
const PAUSE: Duration = Duration::from_millis(20);

/// A merge, or the undo of a merge, that has begun and is not recorded in the store yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OpenLanding {
    subject: DeliverySubject,
    act: LandingAct,
    record: LandingRecord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LandingAct {
    Merge,
    Undo,
}

/// The files that record the unfinished merges of all processes on this machine.
#[derive(Debug)]
pub(crate) struct LandingJournal {
    folder: PathBuf,
}

/// The lock that allows only one process on this machine to merge at a time. Dropping this value releases the lock.
#[derive(Debug)]
pub struct LandingLock {
    _file: File,
}

/// The repository, the caller, and the journal (the files about unfinished merges) of an act that changes work in git.
#[derive(Debug)]
pub struct LandingSite<'a> {
    pub site: WorkSite<'a>,
    pub caller: Caller,
    pub(crate) journal: LandingJournal,
}

impl<'a> LandingSite<'a> {
    /// Finds the repository of the project to which the store belongs.
    pub async fn open(run: RunSite<'a>, caller: Caller) -> Result<Result<Self, NoWorkSite>, WorkError> {
        let site = match WorkSite::find(run).await? {
            Ok(site) => site,
            Err(none) => return Ok(Err(none)),
        };
        let journal = LandingJournal::of(run.state)?;
        Ok(Ok(Self { site, caller, journal }))
    }

    /// Waits until no other process on this machine merges. No other process merges until the returned lock is dropped.
    pub async fn lock(&self) -> Result<LandingLock, WorkError> {
        self.journal.lock().await
    }

    /// Waits until no other process on this machine merges, and finishes the merges of processes that were killed. No
    /// other process merges until the returned lock is dropped.
    pub async fn lock_settled(&self) -> Result<LandingLock, WorkError> {
        let lock = self.journal.lock().await?;
        self.journal.settle(&self.site, &self.caller).await?;
        Ok(lock)
    }
}

impl LandingJournal {
    fn of(state: &Path) -> Result<Self, WorkError> {
        let folder = state.join(FOLDER);
        fs::create_dir_all(&folder).map_err(WorkError::file(format!("create {}", folder.display())))?;
        Ok(Self { folder })
    }

    /// Tries again and again, instead of blocking in one call: a blocked call could not be cancelled, and a server that
    /// stops would wait for it.
    async fn lock(&self) -> Result<LandingLock, WorkError> {
        let failed = || WorkError::file("wait for another merge");
        let path = self.folder.join("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed())?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(LandingLock { _file: file }),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
                Err(TryLockError::Error(cause)) => return Err(failed()(cause)),
            }
        }
    }

    /// Records in a file that a branch is going to move: by a merge, or by the undo of a merge.
    pub(crate) fn begin(
        &self,
        subject: DeliverySubject,
        act: LandingAct,
        record: &LandingRecord,
    ) -> Result<(), WorkError> {
        let open = OpenLanding { subject, act, record: record.clone() };
        let (path, new) = (self.path(subject), self.path(subject).with_extension("new"));
        let text = serde_json::to_vec(&open).map_err(std::io::Error::from);
        let written = text.and_then(|text| fs::write(&new, text)).and_then(|()| fs::rename(&new, &path));
        written.map_err(WorkError::file(format!("write {}", path.display())))
    }

    /// Deletes the file that records an unfinished merge. Call this after the store has the merge, or when no branch
    /// moved.
    pub(crate) fn end(&self, subject: DeliverySubject) -> Result<(), WorkError> {
        let path = self.path(subject);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(WorkError::file(format!("delete {}", path.display()))(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Finishes the merges of processes that were killed. If a branch moved, the store is changed to match it. If it
    /// did not move, only the file about the merge is deleted. The caller must hold the lock.
    async fn settle(&self, site: &WorkSite<'_>, caller: &Caller) -> Result<(), WorkError> {
        for path in self.left()? {
            let text = fs::read(&path).map_err(WorkError::file(format!("read {}", path.display())))?;
            // A file is never half written, because it is renamed into place. So a file that cannot be parsed is from a
            // later version of Handover, and is left as it is.
            let Ok(open) = serde_json::from_slice::<OpenLanding>(&text) else { continue };
            let repository = GitRepository::find(&site.git, &site.root).await?;
            let tip = repository.commit(&site.git, &reference(&open.record.target)).await?;
            let has_commit = match &tip {
                Some(tip) => repository.contains(&site.git, tip, &open.record.after).await?,
                None => false,
            };
            let service = site.service();
            match (open.act, has_commit) {
                (LandingAct::Merge, true) => drop(merged(service, caller, open.subject, &open.record).await?),
                (LandingAct::Undo, false) => drop(waits(service, caller, open.subject, DeliveryStatus::Merged).await?),
                (LandingAct::Merge, false) | (LandingAct::Undo, true) => {}
            }
            self.end(open.subject)?;
        }
        Ok(())
    }

    fn left(&self) -> Result<Vec<PathBuf>, WorkError> {
        let entries = fs::read_dir(&self.folder).map_err(WorkError::file(format!("read {}", self.folder.display())))?;
        let is_record = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
        Ok(entries.flatten().map(|entry| entry.path()).filter(is_record).collect())
    }

    fn path(&self, subject: DeliverySubject) -> PathBuf {
        let name = match subject {
            DeliverySubject::Task(task) => task.to_string(),
            DeliverySubject::Workflow(workflow) => workflow.to_string(),
        };
        self.folder.join(format!("{name}.json"))
    }
}

/// Records in the store that work was merged. Returns the work's current state, because another process may have
/// changed it first.
pub(crate) async fn merged(
    service: &Service,
    caller: &Caller,
    subject: DeliverySubject,
    record: &LandingRecord,
) -> Result<DeliveryState, base::Error> {
    let (into, before, commit) = (record.target.clone(), record.before.clone(), record.after.clone());
    let to = DeliveryMove::Merge { into, before, commit };
    moved(service, caller, subject, (DeliveryStatus::Waiting, to)).await
}

/// Records in the store that merged or dropped work waits for the person again.
pub(crate) async fn waits(
    service: &Service,
    caller: &Caller,
    subject: DeliverySubject,
    from: DeliveryStatus,
) -> Result<DeliveryState, base::Error> {
    moved(service, caller, subject, (from, DeliveryMove::Wait)).await
}

/// Moves the work of a task or plan to another state in the store.
pub(crate) async fn moved(
    service: &Service,
    caller: &Caller,
    subject: DeliverySubject,
    (from, to): (DeliveryStatus, DeliveryMove),
) -> Result<DeliveryState, base::Error> {
    let reply = service.execute(caller.clone(), Command::MoveDelivery { subject, from, to }).await?;
    let (Reply::DeliveryMoved { state } | Reply::DeliveryStands { state }) = reply else {
        return Err(base::Error::unexpected(&reply));
    };
    Ok(state)
}
