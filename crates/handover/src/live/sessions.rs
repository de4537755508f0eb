//! What this process knows of the sessions of this host: the last look at the folder of its store.
//!
//! A look carries the time that was read *before* it was taken. A process takes its lock before it claims anything, so every
//! claim that was over at that time belongs to a process that the look shows, or to none that lives. Evidence that is older
//! than the end of a lease says nothing about its holder.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use engine::Timestamp;
use engine::id::SessionId;
use tokio::time::Instant;

use super::survey::{Survey, survey};
use super::watch::Watch;

/// A file of an older version whose session no store of this folder knows is removed after a week.
const UNKNOWN_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The sessions of this host that use one store.
#[derive(Debug)]
pub struct LiveSessions {
    folder: PathBuf,
    /// Where processes of version 0.1 of every store beside this one keep their files.
    shared: Option<PathBuf>,
    start: Instant,
    watch: Mutex<Watch>,
    known: RwLock<LiveSnapshot>,
    /// The session of a runner in this process. It lives as long as the process, whatever became of its file.
    own: RwLock<Option<SessionId>>,
}

/// What the last look showed.
#[derive(Debug, Clone)]
pub struct LiveSnapshot {
    /// The time that was read before the look.
    pub taken_at: Timestamp,
    /// Their leases hold.
    pub alive: Arc<Vec<SessionId>>,
    /// Their processes live, also those that were silent for two waking hours.
    pub present: Arc<Vec<SessionId>>,
}

/// What one look found.
#[derive(Debug)]
pub struct SessionLook {
    pub snapshot: LiveSnapshot,
    /// Sessions of this store whose process was killed. Their files stay until [`super::forget`].
    pub dead: Vec<SessionId>,
    /// The same of the shared folder: they may belong to another store.
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

    /// Returns the folder of this store.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder that version 0.1 shared between stores.
    pub fn shared_folder(&self) -> Option<&Path> {
        self.shared.as_deref()
    }

    /// Returns how long this process has been awake.
    pub fn waking_time(&self) -> Duration {
        self.start.elapsed()
    }

    /// Counts a session as alive without a look, because it is the runner of this process.
    pub fn set_own(&self, session: SessionId) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = Some(session);
    }

    /// Returns what the last look showed.
    pub fn snapshot(&self) -> LiveSnapshot {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks who lives. `at` is the time that the caller read before.
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
        // Two looks at once may end in either order; the later one counts.
        if known.taken_at <= at {
            known.clone_from(&snapshot);
        }
        drop(known);
        Ok(SessionLook { snapshot, dead: ids(&found.dead), dead_in_shared: ids(&shared.dead) })
    }

    /// Removes the file of a dead session from the shared folder when no store asked for it in a week.
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
