//! A locked file per session, which shows that the session's process is alive.
//!
//! ```text
//! hold ──> locked file ──────────────> drop: no file
//!             │   ▲  two waking hours without a call: the word `silent`, until the next call
//!             │
//!             └── killed: a file without a lock ──> survey says dead ──> recorded ──> forget: no file
//! ```
//!
//! The operating system releases a lock when its process ends, for any reason. So no clock is needed, and no process is
//! taken for dead because the machine slept. A stopped process keeps its lock and counts as alive. A [`SessionWatch`] that
//! sees no call of a process for two hours of the watcher's waking time calls it silent.
//!
//! A file is locked before it gets its name. So a file that has a name but no lock belonged to a process that is gone.
//! A lock belongs to the open file, not to the process: a process sees its own sessions as alive like all others.
//!
//! A runner also holds such a file, named after its session with the suffix `RUNNER`. Its agents stay the same after a
//! restart, so the death of a runner ends no session: a runner's file without a lock only says that no process renews
//! its leases.
//!
//! Each store has its own folder of sessions ([`LiveSessions`]).
//!
//! The functions here make a few quick system calls, but they block. Run a survey of many files on a blocking thread.

mod sessions;
mod survey;
mod watch;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use sessions::{LiveSessions, LiveSnapshot, SessionLook};
pub use survey::{ENTRIES_MAX, Survey, forget, survey};
pub use watch::SessionWatch;

/// An open connection counts as alive for this long without a call.
pub const SILENCE_MAX: Duration = Duration::from_secs(2 * 60 * 60);
/// A call is written to the file at most this often.
pub const NOTE_INTERVAL: Duration = Duration::from_secs(60);

const PREFIX: &str = "ses_";
const BODY_LEN: usize = 12;
/// The suffix of a runner's file name.
const RUNNER: &str = ".runner";
/// The suffix of a file that does not have its final name yet.
const BIRTH: &str = ".birth";
/// The length of the file's line. All lines have the same length, so that one write replaces the line before and the
/// file never grows.
const LINE_BYTES: usize = 96;

/// A session that is alive until this value is dropped or its process ends.
#[derive(Debug)]
pub struct Live {
    path: PathBuf,
    owner: Mutex<LiveOwner>,
}

#[derive(Debug)]
struct LiveOwner {
    file: File,
    word: LiveWord,
    calls_noted: u64,
    last_call: Duration,
    last_note: Duration,
}

/// The state that the owner writes about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LiveWord {
    Active,
    Silent,
}

/// The content of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct LiveLine {
    pid: u32,
    word: LiveWord,
    /// Increases with calls, so that a watcher sees that there was one.
    calls_noted: u64,
    /// The inode of the file itself. A copy of the file has another inode: it came from copying the folder, so its
    /// process was not killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inode: Option<u64>,
}

impl LiveLine {
    fn of(word: LiveWord, calls_noted: u64) -> Self {
        Self { pid: std::process::id(), word, calls_noted, inode: None }
    }
}

impl Live {
    /// Creates and locks the file of a session. The times of the other methods count from here. A session that already
    /// has a file, dead or alive, is refused with `AlreadyExists`: first record the dead session and forget it.
    pub fn hold(folder: &Path, session: &str) -> io::Result<Self> {
        if !is_session(session) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not a session id"));
        }
        Self::hold_named(folder, session)
    }

    /// Creates and locks the file of a runner. Replaces the file of an earlier runner that was killed. Fails with
    /// `AlreadyExists` when another runner of this name is alive.
    pub fn hold_runner(folder: &Path, session: &str) -> io::Result<Self> {
        if !is_session(session) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not a session id"));
        }
        let name = format!("{session}{RUNNER}");
        survey::clear(&folder.join(&name), survey::Remains::Any)?;
        Self::hold_named(folder, &name)
    }

    fn hold_named(folder: &Path, name: &str) -> io::Result<Self> {
        let path = folder.join(name);
        let file = bear(&path)?;
        let (last_call, last_note) = (Duration::ZERO, Duration::ZERO);
        Ok(Self {
            path,
            owner: Mutex::new(LiveOwner { file, word: LiveWord::Active, calls_noted: 0, last_call, last_note }),
        })
    }

    /// Notes that there was a call. Ends a silence at once; otherwise writes at most once a minute.
    pub fn touch(&self, now: Duration) -> io::Result<()> {
        let mut owner = self.owner();
        owner.last_call = owner.last_call.max(now);
        match owner.word {
            LiveWord::Active if now.saturating_sub(owner.last_note) < NOTE_INTERVAL => return Ok(()),
            LiveWord::Active | LiveWord::Silent => {}
        }
        owner.calls_noted += 1;
        owner.note(LiveWord::Active, now)
    }

    /// Marks the session as silent when there was no call for too long. Creates the file again when it was deleted
    /// (`git clean`, a person), because without it no process could see that this one is alive. The owner calls this
    /// from a timer several times a minute.
    ///
    /// `now` must not run while the machine sleeps. The clock behind `Instant` does not on Linux and macOS.
    pub fn tick(&self, now: Duration) -> io::Result<()> {
        let mut owner = self.owner();
        if !is_at(&owner.file, &self.path) {
            survey::clear(&self.path, survey::Remains::Any)?;
            owner.file = bear(&self.path)?;
            let word = owner.word;
            owner.note(word, now)?;
        }
        let silent = now.saturating_sub(owner.last_call) >= SILENCE_MAX;
        match owner.word {
            LiveWord::Active if silent => owner.note(LiveWord::Silent, now),
            LiveWord::Active | LiveWord::Silent => Ok(()),
        }
    }

    /// Tells whether the session counts as alive: it had a call in the last two waking hours.
    pub fn is_active(&self) -> bool {
        self.owner().word == LiveWord::Active
    }

    /// Locks the owner. A panic in another thread leaves it valid, because a line is written completely or not at all.
    fn owner(&self) -> MutexGuard<'_, LiveOwner> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Live {
    /// Removes the file before it releases the lock, so that no survey sees a dead session.
    fn drop(&mut self) {
        let owner = self.owner();
        if is_at(&owner.file, &self.path) {
            drop(fs::remove_file(&self.path));
        }
        drop(owner.file.unlock());
    }
}

impl LiveOwner {
    fn note(&mut self, word: LiveWord, now: Duration) -> io::Result<()> {
        write_line(&self.file, LiveLine::of(word, self.calls_noted))?;
        (self.word, self.last_note) = (word, now);
        Ok(())
    }
}

/// Creates the file under a temporary name, locks it, and then gives it its final name unless that name is taken.
fn bear(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let mut birth = path.as_os_str().to_owned();
    birth.push(BIRTH);
    let birth = PathBuf::from(birth);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    // A user who can open the file could lock it and make a dead session look alive.
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&birth)?;
    let named = name(&file, &birth, path);
    drop(fs::remove_file(&birth));
    named.map(|()| file)
}

/// Creates the folder for this user only: other users must not see who works here, nor lock a file.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut maker = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
    maker.recursive(true).create(folder)
}

fn name(file: &File, birth: &Path, path: &Path) -> io::Result<()> {
    file.lock()?;
    write_line(file, LiveLine::of(LiveWord::Active, 0))?;
    match fs::hard_link(birth, path) {
        // Some file systems have no links. Session ids are random, so no other process takes the name between the check
        // and the rename.
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => {
            if path.try_exists()? {
                return Err(ErrorKind::AlreadyExists.into());
            }
            fs::rename(birth, path)
        }
        other => other,
    }
}

fn write_line(mut file: &File, line: LiveLine) -> io::Result<()> {
    let mut text = serde_json::to_string(&LiveLine { inode: inode(file), ..line })?;
    // Spaces fill the line up to its line break.
    text.extend(std::iter::repeat_n(' ', LINE_BYTES.saturating_sub(text.len() + 1)));
    text.push('\n');
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text.as_bytes())
}

fn is_session(name: &str) -> bool {
    let body = name.strip_prefix(PREFIX).unwrap_or_default();
    body.len() == BODY_LEN && body.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase())
}

fn inode(file: &File) -> Option<u64> {
    file.metadata().ok().map(|found| std::os::unix::fs::MetadataExt::ino(&found))
}

/// Tells whether the path still names this open file.
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(one), Ok(other)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
