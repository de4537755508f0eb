//! Surveys of a folder of session files. A survey finds which sessions are alive, silent or dead.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use super::{BIRTH, LINE_BYTES, LiveLine, LiveWord, RUNNER, inode, is_at, is_session};

/// The maximum number of session files that one survey reads. Further files are read only after some of the first ones
/// are deleted. A machine has far fewer agents.
pub const ENTRIES_MAX: usize = 10_000;

/// The sessions that have files in a folder, grouped by their state (alive, silent or dead). Each list is sorted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Survey {
    pub alive: Vec<String>,
    /// Sessions whose process is alive but had no call for two hours, not counting the time in which the machine
    /// sleeps. Their leases are not renewed, but they do not count as crashed.
    pub silent: Vec<String>,
    /// Sessions whose process ended without removing its file. Every survey reports them until [`forget`] deletes the
    /// file.
    pub dead: Vec<String>,
    /// True when the folder has more files than one survey reads, so that some sessions are missing in the lists.
    pub more: bool,
}

pub(super) enum Life {
    Alive { calls_noted: Option<u64> },
    Silent,
    Dead,
}

/// Reads the file of every session in a folder once. A folder that does not exist has no sessions.
///
/// While another process deletes the file of a dead session, the survey may report that session as alive, once.
pub fn survey(folder: &Path) -> io::Result<Survey> {
    let mut survey = Survey::default();
    let (lives, more) = look(folder)?;
    survey.more = more;
    for (session, life) in lives {
        match life {
            Life::Alive { .. } => survey.alive.push(session),
            Life::Silent => survey.silent.push(session),
            Life::Dead => survey.dead.push(session),
        }
    }
    Ok(survey)
}

/// Deletes the file of a dead session. Returns false when there is no file, its process is alive, or another process
/// reads the file right now. In the last case the next survey reports the session as dead again, so its death may be
/// recorded twice.
///
/// Holds the file's lock while it deletes the name, and deletes the name only if it still leads to the locked file. So
/// a session whose file was created again keeps the new file.
pub fn forget(folder: &Path, session: &str) -> io::Result<bool> {
    if !is_session(session) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a session id"));
    }
    clear(&folder.join(session), Remains::Any)
}

pub(super) fn look(folder: &Path) -> io::Result<(BTreeMap<String, Life>, bool)> {
    let mut lives = BTreeMap::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((lives, false)),
        Err(error) => return Err(error),
    };
    for (count, entry) in entries.enumerate() {
        if count == ENTRIES_MAX {
            return Ok((lives, true));
        }
        let entry = entry?;
        // Skip symbolic links, and skip pipes, because reading a pipe would block.
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_session(&name) {
            if let Some(life) = life(&entry.path())? {
                lives.insert(name, life);
            }
        } else if let Some(session) = name.strip_suffix(RUNNER).filter(|session| is_session(session)) {
            // The death of a runner is not recorded, because the next runner of the same name continues with its
            // leases.
            match life(&entry.path())? {
                Some(life @ (Life::Alive { .. } | Life::Silent)) => drop(lives.insert(session.to_owned(), life)),
                Some(Life::Dead) | None => {}
            }
        } else if name.strip_suffix(BIRTH).map(without_runner).is_some_and(is_session) {
            clear(&entry.path(), Remains::Born)?;
        }
    }
    Ok((lives, false))
}

fn without_runner(name: &str) -> &str {
    name.strip_suffix(RUNNER).unwrap_or(name)
}

/// Returns the state of a session, or `None` when the session's file was removed during the check.
fn life(path: &Path) -> io::Result<Option<Life>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // Take a shared lock, so that two processes that survey the file at the same time do not mistake each other for its
    // owner.
    match file.try_lock_shared() {
        Ok(()) => {
            let is_copy = line(&mut file).and_then(|line| line.inode).is_some_and(|own| Some(own) != inode(&file));
            let dead = (is_at(&file, path) && !is_copy).then_some(Life::Dead);
            // Unlock explicitly. A child process that is just being started may have inherited the open file, and would
            // keep the lock a moment longer.
            file.unlock()?;
            if is_copy {
                clear(path, Remains::Any)?;
            }
            Ok(dead)
        }
        Err(TryLockError::WouldBlock) => Ok(Some(word(&mut file))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn line(file: &mut File) -> Option<LiveLine> {
    let mut text = String::new();
    let limit = u64::try_from(LINE_BYTES).unwrap_or(u64::MAX);
    file.take(limit).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Returns the state of a session whose file is locked. The lock proves that the session's process is alive, even if
/// the file's line is incomplete or unreadable.
fn word(file: &mut File) -> Life {
    match line(file) {
        Some(LiveLine { word: LiveWord::Silent, .. }) => Life::Silent,
        Some(LiveLine { word: LiveWord::Active, calls_noted, .. }) => Life::Alive { calls_noted: Some(calls_noted) },
        None => Life::Alive { calls_noted: None },
    }
}

/// Selects the session files without a lock that [`clear`] deletes.
#[derive(Clone, Copy)]
pub(super) enum Remains {
    Any,
    /// Delete only files that have content. A process writes the content after it locks the file, so a process may be
    /// about to lock an empty file. If that process was killed at this moment, the empty file stays; no code reads it.
    Born,
}

/// Deletes a session file that no process has locked. Returns true when the file was deleted.
pub(super) fn clear(path: &Path, remains: Remains) -> io::Result<bool> {
    let file = match File::options().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let ours = match remains {
        Remains::Any => is_at(&file, path),
        Remains::Born => file.metadata()?.len() > 0 && is_at(&file, path),
    };
    let removed = if ours { fs::remove_file(path) } else { Ok(()) };
    file.unlock()?;
    removed.map(|()| ours)
}
