//! Shows which sessions are alive: the process of each session holds the lock of one file.
//!
//! ```text
//! hold ──> locked file ──────────────> drop: no file
//!             │   ▲  two hours without a call: the file says `silent`, until the next call
//!             │
//!             └── process killed: a file without a lock ──> survey reports a dead session ──> forget: no file
//! ```
//!
//! The operating system releases a lock when its process ends, for any reason. So no clock is needed, and no process is
//! taken for dead because the machine slept. A process that is stopped (`SIGSTOP`) keeps its lock and counts as alive.
//! But when a [`SessionWatch`] sees no call of a process for two hours, not counting the time in which the machine
//! sleeps, it reports the process as silent.
//!
//! A file is locked before it gets its final name. So a file that has its final name but no lock belonged to a process
//! that has ended. A lock belongs to the open file, not to the process, so a process sees its own sessions as locked,
//! like the sessions of other processes.
//!
//! A runner has a locked file, too. Its name is the id of the runner's session with the suffix `RUNNER`. A runner keeps
//! its agents after a restart, so its death ends no session. A runner's file without a lock only says that no process
//! renews the leases of its agents.
//!
//! Each store has its own folder of sessions ([`LiveSessions`]).
//!
//! The functions of this module make a few quick system calls, which block the thread. Call a survey of many files on a
//! thread where blocking is allowed.

pub mod record;
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

/// The longest time without a call for which a session with an open connection counts as alive. After it the session
/// counts as silent.
pub const SILENCE_MAX: Duration = Duration::from_secs(2 * 60 * 60);
/// The shortest time between two writes that record a call in a session's file. Calls in between are not recorded.
pub const NOTE_INTERVAL: Duration = Duration::from_secs(60);

const PREFIX: &str = "ses_";
const BODY_LEN: usize = 12;
/// The suffix in the name of a runner's session file. A session file is locked by its process, to show that the session
/// is alive.
const RUNNER: &str = ".runner";
/// The suffix of a new session file until the file is locked and gets its final name.
const BIRTH: &str = ".birth";
/// The length of the one line in a session's file. All lines have the same length, so that one write replaces the old
/// line completely and the file never grows.
const LINE_BYTES: usize = 96;

/// The locked file of a session. The session counts as alive until this value is dropped or its process ends.
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

/// The state of a session, which its process writes into the session's locked file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LiveWord {
    Active,
    Silent,
}

/// The content of a session's locked file, which shows other processes that the session is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct LiveLine {
    pid: u32,
    word: LiveWord,
    /// A number that a process increases when it records a call of its session. When the number changes, another
    /// process knows that there was a call.
    calls_noted: u64,
    /// The inode of the file when it was written. If the file has another inode now, it is a copy (a person copied the
    /// folder). A copy has no lock, but that does not mean that a process was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inode: Option<u64>,
}

impl LiveLine {
    fn of(word: LiveWord, calls_noted: u64) -> Self {
        Self { pid: std::process::id(), word, calls_noted, inode: None }
    }
}

impl Live {
    /// Creates and locks the file of a session. The argument `now` of the other methods is the time since this call.
    /// Fails with `AlreadyExists` when the session already has a file. If that file belongs to a dead session, first
    /// record the end of that session and call [`forget`].
    pub fn hold(folder: &Path, session: &str) -> io::Result<Self> {
        if !is_session(session) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not a session id"));
        }
        Self::hold_named(folder, session)
    }

    /// Creates and locks the file of a runner. Replaces the file of an earlier runner that was killed. Fails with
    /// `AlreadyExists` when another runner with this session id is alive.
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

    /// Notes that the session received a call. Writes to the session's file immediately when the session was silent;
    /// otherwise at most once a minute.
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

    /// Marks the session as silent when there was no call for two hours. Creates the session's file again when it was
    /// deleted (by `git clean` or a person), because without the file no other process could see that this process is
    /// alive. The process of the session calls this from a timer several times a minute.
    ///
    /// `now` must not count the time in which the machine sleeps. The clock behind `Instant` does not count it on Linux
    /// and macOS.
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

    /// Returns true when the session is not silent: it had a call in the last two hours, not counting the time in which
    /// the machine sleeps.
    pub fn is_active(&self) -> bool {
        self.owner().word == LiveWord::Active
    }

    /// Locks the mutex of the session file's data. A panic in another thread does not make the data invalid, because
    /// each write is complete or does not happen.
    fn owner(&self) -> MutexGuard<'_, LiveOwner> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Live {
    /// Removes the session's file before releasing its lock, so that no survey finds the file without a lock and
    /// reports a dead session.
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

/// Creates a session's file under a temporary name, locks it, and then gives it its final name unless that name is
/// taken.
fn bear(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let mut birth = path.as_os_str().to_owned();
    birth.push(BIRTH);
    let birth = PathBuf::from(birth);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    // Only this user may open the session's file: another user could lock it, and then a dead session would look alive.
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&birth)?;
    let named = name(&file, &birth, path);
    drop(fs::remove_file(&birth));
    named.map(|()| file)
}

/// Creates the folder of the session files for this user only. Other users must not see which sessions exist, and must
/// not lock a file.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut maker = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
    maker.recursive(true).create(folder)
}

fn name(file: &File, birth: &Path, path: &Path) -> io::Result<()> {
    file.lock()?;
    write_line(file, LiveLine::of(LiveWord::Active, 0))?;
    match fs::hard_link(birth, path) {
        // Some file systems have no hard links. On them, rename the session's file instead. Session ids are random, so
        // no other process takes the name between the check and the rename.
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
    // Fill the line of the session's file with spaces up to its line break, so that all lines have the same length.
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

/// Returns true when the path still leads to this open file, and not to another file or to none.
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(one), Ok(other)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
