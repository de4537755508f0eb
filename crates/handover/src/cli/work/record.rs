//! Keeps the store and git in step. A merge changes a branch first and the store second; a file records the merge before
//! the branch moves, so that the next command finishes the record of a process that was killed in between.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use engine::delivery::{DeliveryMove, DeliveryState, DeliveryStatus, DeliverySubject};
use engine::{Caller, Command, Reply};
use git::land::LandingRecord;
use git::repository::{GitRepository, reference};
use handover::office::Office;
use serde::{Deserialize, Serialize};

use super::site::WorkSite;

/// The folder with the records of merges that are being made.
const FOLDER: &str = "landings";

/// A change of a person's branch that is being made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OpenLanding {
    subject: DeliverySubject,
    act: LandingAct,
    record: LandingRecord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LandingAct {
    Merge,
    Undo,
}

/// The records of merges that are being made by commands of this host.
#[derive(Debug)]
pub(super) struct LandingJournal {
    folder: PathBuf,
}

/// The lock with which one command of this host merges at a time. Dropping this value releases the lock.
#[derive(Debug)]
pub(super) struct LandingLock {
    _file: File,
}

impl LandingJournal {
    pub(super) fn of(office: &Office) -> anyhow::Result<Self> {
        let folder = office.state.join(FOLDER);
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok(Self { folder })
    }

    /// Waits until no other command of this host merges.
    pub(super) async fn lock(&self) -> anyhow::Result<LandingLock> {
        let path = self.folder.join("lock");
        let lock = move || {
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            file.lock()?;
            std::io::Result::Ok(LandingLock { _file: file })
        };
        tokio::task::spawn_blocking(lock).await?.context("wait for another merge")
    }

    /// Records a change of a branch before it is made.
    pub(super) fn begin(
        &self,
        subject: DeliverySubject,
        act: LandingAct,
        record: &LandingRecord,
    ) -> anyhow::Result<()> {
        let open = OpenLanding { subject, act, record: record.clone() };
        let (path, new) = (self.path(subject), self.path(subject).with_extension("new"));
        let written = fs::write(&new, serde_json::to_vec(&open)?).and_then(|()| fs::rename(&new, &path));
        written.with_context(|| format!("write {}", path.display()))
    }

    /// Deletes the record of a change that the store has, or that was not made.
    pub(super) fn end(&self, subject: DeliverySubject) -> anyhow::Result<()> {
        let path = self.path(subject);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("delete {}", path.display()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Finishes the records that killed commands left: a branch that moved is recorded in the store, and a branch that
    /// did not move is forgotten. The caller holds the lock.
    pub(super) async fn settle(&self, office: &Office, site: &WorkSite, caller: &Caller) -> anyhow::Result<()> {
        for path in self.left()? {
            let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
            // Half a file is impossible, because files are renamed into place. A file of a later version is left alone.
            let Ok(open) = serde_json::from_slice::<OpenLanding>(&text) else { continue };
            let repository = GitRepository::find(&site.git, &site.root).await?;
            let tip = repository.commit(&site.git, &reference(&open.record.target)).await?;
            let has_commit = match &tip {
                Some(tip) => repository.contains(&site.git, tip, &open.record.after).await?,
                None => false,
            };
            match (open.act, has_commit) {
                (LandingAct::Merge, true) => drop(merged(office, caller, open.subject, &open.record).await?),
                (LandingAct::Undo, false) => drop(waits(office, caller, open.subject, DeliveryStatus::Merged).await?),
                (LandingAct::Merge, false) | (LandingAct::Undo, true) => {}
            }
            self.end(open.subject)?;
        }
        Ok(())
    }

    fn left(&self) -> anyhow::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(&self.folder).with_context(|| format!("read {}", self.folder.display()))?;
        let is_record = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
        Ok(entries.flatten().map(|entry| entry.path()).filter(is_record).collect())
    }

    fn path(&self, subject: DeliverySubject) -> PathBuf {
        let name = match subject {
            DeliverySubject::Task(task) => task.to_string(),
            DeliverySubject::Workflow(workflow) => workflow.to_string(),
        };
        Path::new(&self.folder).join(format!("{name}.json"))
    }
}

/// Records in the store that work was merged. Returns the state that the work has now, which another command may have
/// set first.
pub(super) async fn merged(
    office: &Office,
    caller: &Caller,
    subject: DeliverySubject,
    record: &LandingRecord,
) -> Result<DeliveryState, base::Error> {
    let (into, before, commit) = (record.target.clone(), record.before.clone(), record.after.clone());
    let to = DeliveryMove::Merge { into, before, commit };
    moved(office, caller, subject, (DeliveryStatus::Waiting, to)).await
}

/// Records in the store that merged or dropped work waits again.
pub(super) async fn waits(
    office: &Office,
    caller: &Caller,
    subject: DeliverySubject,
    from: DeliveryStatus,
) -> Result<DeliveryState, base::Error> {
    moved(office, caller, subject, (from, DeliveryMove::Wait)).await
}

pub(super) async fn moved(
    office: &Office,
    caller: &Caller,
    subject: DeliverySubject,
    (from, to): (DeliveryStatus, DeliveryMove),
) -> Result<DeliveryState, base::Error> {
    let command = Command::MoveDelivery { subject, from, to };
    let reply = office.desk.service().execute(caller.clone(), command).await?;
    let (Reply::DeliveryMoved { state } | Reply::DeliveryStands { state }) = reply else {
        return Err(base::Error::unexpected(&reply));
    };
    Ok(state)
}
