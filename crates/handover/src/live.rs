//! Evidence that a session's process lives: a file it holds a lock on.
//!
//! ```text
//! hold ──> locked file ──────────────> drop: no file
//!             │   ▲  two waking hours without a call: the word `silent`, until the next call
//!             │
//!             └── killed: a file without a lock ──> survey says dead ──> recorded ──> forget: no file
//! ```
//!
//! The system releases a lock when its process ends, however it ends, so no clock is asked and a machine that slept
//! takes nobody for dead. A process that is stopped keeps its lock and its life; a [`Watch`] that sees no call of it
//! for two hours of its own waking time calls it silent.
//!
//! A file is locked before it gets its name, so one with a name and without a lock had an owner that is gone. Locks
//! belong to the open file, not to the process: a process sees its own sessions alive like any other.
//!
//! A runner holds such a file, too, under the name of its session and `RUNNER`. Its agents are the same ones after a
//! restart, so a runner that was killed ends nothing: its file without a lock only says that nobody renews for it.
//!
//! What is known of life belongs to one store: each store has a folder of its own ([`LiveSessions`]).
//!
//! Everything here is a few quick system calls, but blocks; a survey of many files belongs on a blocking thread.

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
pub use watch::Watch;

/// An open connection counts as life for so long without a call.
pub const SILENCE_MAX: Duration = Duration::from_secs(2 * 60 * 60);
/// A call is noted in the file at most this often.
pub const NOTE_INTERVAL: Duration = Duration::from_secs(60);

const PREFIX: &str = "ses_";
const BODY_LEN: usize = 12;
/// The end of the name of a runner's file.
const RUNNER: &str = ".runner";
/// Before a file has its name.
const BIRTH: &str = ".birth";
/// Each line fills as many bytes, so that one write replaces another and the file never needs more room.
const LINE_BYTES: usize = 96;

/// A session that lives as long as this value, or its process.
#[derive(Debug)]
pub struct Live {
    path: PathBuf,
    owner: Mutex<Owner>,
}

#[derive(Debug)]
struct Owner {
    file: File,
    word: Word,
    calls_noted: u64,
    last_call: Duration,
    last_note: Duration,
}

/// What the owner says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Active,
    Silent,
}

/// The content of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    pid: u32,
    word: Word,
    /// Goes up with calls; whoever watches sees from it that there was one.
    calls_noted: u64,
    /// The number of the file itself. A copy has another one: it came with a copied folder, and nobody was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inode: Option<u64>,
}

impl Line {
    fn of(word: Word, calls_noted: u64) -> Self {
        Self { pid: std::process::id(), word, calls_noted, inode: None }
    }
}

impl Live {
    /// Times given to the others count from here. A session that has a file already, of whatever state, is refused
    /// with `AlreadyExists`: a dead one is to be recorded and forgotten first.
    pub fn hold(folder: &Path, session: &str) -> io::Result<Self> {
        if !is_session(session) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not a session id"));
        }
        Self::hold_named(folder, session)
    }

    /// Holds the file of a runner. The file of a runner before it, which was killed, is replaced; `AlreadyExists` means
    /// that another runner of this name lives.
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
        Ok(Self { path, owner: Mutex::new(Owner { file, word: Word::Active, calls_noted: 0, last_call, last_note }) })
    }

    /// There was a call. Ends a silence at once; otherwise written at most once a minute.
    pub fn touch(&self, now: Duration) -> io::Result<()> {
        let mut owner = self.owner();
        owner.last_call = owner.last_call.max(now);
        match owner.word {
            Word::Active if now.saturating_sub(owner.last_note) < NOTE_INTERVAL => return Ok(()),
            Word::Active | Word::Silent => {}
        }
        owner.calls_noted += 1;
        owner.note(Word::Active, now)
    }

    /// For a timer of the owner, several times a minute: says when there was no call for too long, and makes the file again
    /// when something deleted it (`git clean`, a person), because without it nobody could see that this process lives.
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
            Word::Active if silent => owner.note(Word::Silent, now),
            Word::Active | Word::Silent => Ok(()),
        }
    }

    /// Returns whether the session counts as life: there was a call in the last two waking hours.
    pub fn is_active(&self) -> bool {
        self.owner().word == Word::Active
    }

    /// What is behind a lock of a thread that panicked is whole: a line is written or not.
    fn owner(&self) -> MutexGuard<'_, Owner> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Live {
    /// The name goes before the lock, so that nobody sees a dead one.
    fn drop(&mut self) {
        let owner = self.owner();
        if is_at(&owner.file, &self.path) {
            drop(fs::remove_file(&self.path));
        }
        drop(owner.file.unlock());
    }
}

impl Owner {
    fn note(&mut self, word: Word, now: Duration) -> io::Result<()> {
        write_line(&self.file, Line::of(word, self.calls_noted))?;
        (self.word, self.last_note) = (word, now);
        Ok(())
    }
}

/// Makes the file under another name, locks it, and gives it its name if nobody has that.
fn bear(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let mut birth = path.as_os_str().to_owned();
    birth.push(BIRTH);
    let birth = PathBuf::from(birth);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    // Whoever could open it could lock it and let a dead session look alive.
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&birth)?;
    let named = name(&file, &birth, path);
    drop(fs::remove_file(&birth));
    named.map(|()| file)
}

/// Others of this machine must not see who works, nor lock a file here.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut maker = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
    maker.recursive(true).create(folder)
}

fn name(file: &File, birth: &Path, path: &Path) -> io::Result<()> {
    file.lock()?;
    write_line(file, Line::of(Word::Active, 0))?;
    match fs::hard_link(birth, path) {
        // Some file systems have no links; ids are random, so nobody comes between the look and the move.
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => {
            if path.try_exists()? {
                return Err(ErrorKind::AlreadyExists.into());
            }
            fs::rename(birth, path)
        }
        other => other,
    }
}

fn write_line(mut file: &File, line: Line) -> io::Result<()> {
    let mut text = serde_json::to_string(&Line { inode: inode(file), ..line })?;
    // A line ends with a line break; what is between is blank.
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

/// Whether the name still leads to this very file.
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(one), Ok(other)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
