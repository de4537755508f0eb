//! The sessions of this host that this process knows, from its last look at the folder of its store.
//!
//! A look carries the time that was read *before* it was taken. A process takes its lock before it claims anything. So
//! a claim that had expired at that time belongs to a process that the look shows, or to a process that is gone. A look
//! that is older than the end of a lease says nothing about the holder of the lease.

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

/// The file of an older version is deleted after a week when no store of this folder knows its session.
const UNKNOWN_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The sessions of this host that use one store.
#[derive(Debug)]
pub struct LiveSessions {
    folder: PathBuf,
    /// The folder in which processes of version 0.1 keep their files, shared by all stores of the same folder.
    shared: Option<PathBuf>,
    start: Instant,
    watch: Mutex<SessionWatch>,
    known: RwLock<LiveSnapshot>,
    /// The session of a runner in this process. It is alive as long as the process, even if its file was deleted.
    own: RwLock<Option<SessionId>>,
}

/// The result of the last look.
#[derive(Debug, Clone)]
pub struct LiveSnapshot {
    /// The time that was read before the look.
    pub taken_at: Timestamp,
    /// The sessions whose leases hold.
    pub alive: Arc<Vec<SessionId>>,
    /// The sessions whose processes are alive, including those that were silent for two waking hours.
    pub present: Arc<Vec<SessionId>>,
}

/// The result of one look.
#[derive(Debug)]
pub struct SessionLook {
    pub snapshot: LiveSnapshot,
    /// Sessions of this store whose process was killed. Their files stay until [`super::forget`].
    pub dead: Vec<SessionId>,
    /// Sessions in the shared folder whose process was killed. They may belong to another store.
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

    /// Returns the folder that holds the session files of this store.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder that all stores shared in version 0.1.
    pub fn shared_folder(&self) -> Option<&Path> {
        self.shared.as_deref()
    }

    /// Returns how long this process has been awake.
    pub fn waking_time(&self) -> Duration {
        self.start.elapsed()
    }

    /// Counts a session as alive without a look, because it is the session of this process's runner.
    pub fn set_own(&self, session: SessionId) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = Some(session);
    }

    /// Returns the result of the last look.
    pub fn snapshot(&self) -> LiveSnapshot {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks at the session files. `at` is the time that the caller read before.
    pub async fn look(self: &Arc<Self>, at: Timestamp) -> io::Result<SessionLook> {
        let this = Arc::clone(self);
        let looked = tokio::task::spawn_blocking(move || this.look_now(at)).await;
        looked.unwrap_or_else(|_| Err(io::Error::other("the look at the live sessions was cancelled")))
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
        // Two looks at the same time may end in either order; the later one counts.
        if known.taken_at <= at {
            known.clone_from(&snapshot);
        }
        drop(known);
        Ok(SessionLook { snapshot, dead: ids(&found.dead), dead_in_shared: ids(&shared.dead) })
    }

    /// Deletes the file of a dead session from the shared folder when it is older than a week.
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
