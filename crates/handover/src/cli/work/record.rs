//! Keeps the store consistent with git. A merge first moves a branch and then changes the store. Before the branch
//! moves, a file records the merge. If the process is killed between the two steps, the next command reads this file
//! and changes the store.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use engine::delivery::{DeliveryMove, DeliveryState, DeliveryStatus, DeliverySubject};
use engine::{Caller, Command, Reply};
use git::land::LandingRecord;
use git::repository::{GitRepository, reference};
use handover::office::Office;
use serde::{Deserialize, Serialize};

use super::site::{WorkSite, operator};

/// The folder with one file for each merge, or undo of a merge, that is not finished yet.
const FOLDER: &str = "landings";

/// A merge, or the undo of a merge, that has begun and is not recorded in the store yet.
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

/// The files that record the unfinished merges of all commands on this machine.
#[derive(Debug)]
pub(super) struct LandingJournal {
    folder: PathBuf,
}

/// The lock that allows only one command on this machine to merge at a time. Dropping this value releases the lock.
#[derive(Debug)]
pub(super) struct LandingLock {
    _file: File,
}

/// The repository, the caller, and the journal (the files about unfinished merges) of a command that changes work in
/// git.
#[derive(Debug)]
pub(super) struct LandingSite {
    pub(super) site: WorkSite,
    pub(super) caller: Caller,
    pub(super) journal: LandingJournal,
}

impl LandingSite {
    /// Finds the repository. If there is none, tells the person and returns the exit code.
    pub(super) async fn open(office: &Office) -> anyhow::Result<Result<Self, ExitCode>> {
        let site = match WorkSite::find(office).await? {
            Ok(site) => site,
            Err(code) => return Ok(Err(code)),
        };
        let (caller, journal) = (operator(office).await?, LandingJournal::of(office)?);
        Ok(Ok(Self { site, caller, journal }))
    }

    /// Waits until no other command on this machine merges, and finishes the merges of commands that were killed. No
    /// other command merges until the returned lock is dropped.
    pub(super) async fn lock(&self, office: &Office) -> anyhow::Result<LandingLock> {
        let lock = self.journal.lock().await?;
        self.journal.settle(office, &self.site, &self.caller).await?;
        Ok(lock)
    }
}

impl LandingJournal {
    fn of(office: &Office) -> anyhow::Result<Self> {
        let folder = office.state.join(FOLDER);
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok(Self { folder })
    }

    /// Waits until no other command on this machine merges, and returns the lock.
    pub(super) async fn lock(&self) -> anyhow::Result<LandingLock> {
        let path = self.folder.join("lock");
        let lock = move || {
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            file.lock()?;
            std::io::Result::Ok(LandingLock { _file: file })
        };
        tokio::task::spawn_blocking(lock).await?.context("wait for another merge")
    }

    /// Records in a file that a branch is going to move: by a merge, or by the undo of a merge.
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

    /// Deletes the file that records an unfinished merge. Call this after the store has the merge, or when no branch
    /// moved.
    pub(super) fn end(&self, subject: DeliverySubject) -> anyhow::Result<()> {
        let path = self.path(subject);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("delete {}", path.display()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Finishes the merges of commands that were killed. If a branch moved, the store is changed to match it. If it did
    /// not move, only the file about the merge is deleted. The caller must hold the lock.
    async fn settle(&self, office: &Office, site: &WorkSite, caller: &Caller) -> anyhow::Result<()> {
        for path in self.left()? {
            let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
            // A file is never half written, because it is renamed into place. So a file that cannot be parsed is from a
            // later version of Handover, and is left as it is.
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

/// Records in the store that work was merged. Returns the work's current state, because another command may have
/// changed it first.
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

/// Records in the store that merged or dropped work waits for the person again.
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
