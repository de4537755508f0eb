//! The sessions of this host that this process knows from its last check of the store's folder of session files.
//!
//! Each check stores a time that was read *before* the check. A process locks its session file before it claims a task.
//! So a claim that had expired at the stored time belongs either to a process that the check found or to a process that
//! has ended. If a lease ended after the stored time, the check says nothing about the lease's holder.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use engine::Timestamp;
use engine::id::SessionId;
use tokio::time::Instant;

use super::survey::{Survey, survey};
use super::watch::SessionWatch;

/// The age, one week, at which a session file of version 0.1 is deleted. It is deleted only when no store that uses its
/// folder knows the session.
const UNKNOWN_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The sessions of this host that use one store, and the last check of their files.
#[derive(Debug)]
pub struct LiveSessions {
    folder: PathBuf,
    /// The folder in which processes of version 0.1 keep their session files. Several stores may use it. `None` when
    /// this store has no such folder.
    shared: Option<PathBuf>,
    start: Instant,
    watch: Mutex<SessionWatch>,
    known: RwLock<LiveSnapshot>,
    /// The session of a runner in this process, or `None` without a runner. It is alive as long as the process, even if
    /// its file was deleted.
    own: RwLock<Option<SessionId>>,
}

/// The sessions that were found alive when the session files were checked last.
#[derive(Debug, Clone)]
pub struct LiveSnapshot {
    /// The time that the caller read before the session files were checked.
    pub taken_at: Timestamp,
    /// The sessions whose leases are still valid: their processes are alive and not silent.
    pub alive: Arc<Vec<SessionId>>,
    /// The sessions whose processes are alive, including silent ones, which had no call for two hours.
    pub present: Arc<Vec<SessionId>>,
}

/// The result of one check of the session files, whose locks show which sessions are alive.
#[derive(Debug)]
pub struct SessionLook {
    pub snapshot: LiveSnapshot,
    /// Sessions of this store whose process was killed. Their files stay until the caller deletes them with
    /// [`super::forget`].
    pub dead: Vec<SessionId>,
    /// Sessions in the folder of version 0.1, which several stores share, whose process was killed. They may belong to
    /// another store.
    pub dead_in_shared: Vec<SessionId>,
}

impl LiveSessions {
    pub fn new(folder: PathBuf, shared: Option<PathBuf>) -> Self {
        let (alive, present) = (Arc::default(), Arc::default());
        let known = LiveSnapshot { taken_at: Timestamp(i64::MIN), alive, present };
        Self {
            folder,
            shared,
            start: Instant::now(),
            watch: Mutex::default(),
            known: RwLock::new(known),
            own: RwLock::default(),
        }
    }

    /// Returns the folder with the session files of this store. Each process locks the file of its session.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of session files that stores of version 0.1 share, or `None` when there is none.
    pub fn shared_folder(&self) -> Option<&Path> {
        self.shared.as_deref()
    }

    /// Returns the time since this value was made, not counting the time in which the machine sleeps.
    pub fn waking_time(&self) -> Duration {
        self.start.elapsed()
    }

    /// Makes a session count as alive without a check of its file, because it is the session of the runner in this
    /// process.
    pub fn set_own(&self, session: SessionId) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = Some(session);
    }

    /// Returns the result of the last check of the session files, whose locks show which sessions are alive.
    pub fn snapshot(&self) -> LiveSnapshot {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Checks the session files. `at` is the current time, which the caller read before this call.
    pub async fn look(self: &Arc<Self>, at: Timestamp) -> io::Result<SessionLook> {
        let this = Arc::clone(self);
        let looked = tokio::task::spawn_blocking(move || this.look_now(at)).await;
        looked.unwrap_or_else(|_| Err(io::Error::other("the check of the live sessions was cancelled")))
    }

    fn look_now(&self, at: Timestamp) -> io::Result<SessionLook> {
        let now = self.waking_time();
        let found = self.watch.lock().unwrap_or_else(PoisonError::into_inner).survey(&self.folder, now)?;
        let shared = self.shared.as_deref().map_or_else(|| Ok(Survey::default()), survey)?;
        let own = *self.own.read().unwrap_or_else(PoisonError::into_inner);
        let mut alive = ids(&found.alive);
        alive.extend(ids(&shared.alive));
        alive.extend(own.filter(|own| !alive.contains(own)));
        let present = alive.iter().copied().chain(ids(&found.silent)).chain(ids(&shared.silent)).collect();
        let snapshot = LiveSnapshot { taken_at: at, alive: Arc::new(alive), present: Arc::new(present) };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Two checks at the same time may end in either order. Keep the result of the check that started later.
        if known.taken_at <= at {
            known.clone_from(&snapshot);
        }
        drop(known);
        Ok(SessionLook { snapshot, dead: ids(&found.dead), dead_in_shared: ids(&shared.dead) })
    }

    /// Deletes the file of a dead session from the shared folder of version 0.1 when the file is older than a week.
    pub fn forget_unknown(&self, session: SessionId) -> io::Result<()> {
        let Some(folder) = &self.shared else { return Ok(()) };
        let name = session.to_string();
        match fs::metadata(folder.join(&name)).and_then(|found| found.modified()) {
            Ok(time) if time.elapsed().is_ok_and(|age| age > UNKNOWN_MAX) => super::forget(folder, &name).map(drop),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn ids(names: &[String]) -> Vec<SessionId> {
    names.iter().filter_map(|name| name.parse().ok()).collect()
}
