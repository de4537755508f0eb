//! Who is alive, who is silent, who was killed.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use super::{BIRTH, LINE_BYTES, Line, RUNNER, Word, inode, is_at, is_session};

/// A machine has far fewer agents; further files wait until some of these are gone.
pub const ENTRIES_MAX: usize = 10_000;

/// The sessions of a folder, each list sorted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Survey {
    pub alive: Vec<String>,
    /// Their process lives and had no call for two waking hours: no reason to renew, none to call them crashed.
    pub silent: Vec<String>,
    /// Their process is gone and said no farewell. They stay until [`forget`].
    pub dead: Vec<String>,
    /// There were more entries than one survey looks at.
    pub more: bool,
}

pub(super) enum Life {
    Alive { calls_noted: Option<u64> },
    Silent,
    Dead,
}

/// Looks at every session once. A folder that does not exist has none.
///
/// While somebody forgets a dead session it may be reported alive, once.
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

/// Removes the file of a dead session; false when there is none, its owner lives, or somebody looks at it right now.
/// In the last case the next survey reports it dead once more, so a death may be recorded twice.
///
/// The lock is held while the name goes, and only a name that leads to the locked file: a session that was taken again
/// keeps its file.
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
        // Not a link, nor a pipe that would keep us waiting.
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_session(&name) {
            if let Some(life) = life(&entry.path())? {
                lives.insert(name, life);
            }
        } else if let Some(session) = name.strip_suffix(RUNNER).filter(|session| is_session(session)) {
            // The next runner of this name goes on with what a dead one held: its death is not recorded.
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

/// None when it ended properly while we looked.
fn life(path: &Path) -> io::Result<Option<Life>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // Shared, so that two who look at once do not take each other for the owner.
    match file.try_lock_shared() {
        Ok(()) => {
            let is_copy = line(&mut file).and_then(|line| line.inode).is_some_and(|own| Some(own) != inode(&file));
            let dead = (is_at(&file, path) && !is_copy).then_some(Life::Dead);
            // Not left to the closing: a process that is being started may have the file open for another instant.
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

fn line(file: &mut File) -> Option<Line> {
    let mut text = String::new();
    let limit = u64::try_from(LINE_BYTES).unwrap_or(u64::MAX);
    file.take(limit).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The lock is the evidence. A line that is being written right now, or cannot be read, changes nothing about it.
fn word(file: &mut File) -> Life {
    match line(file) {
        Some(Line { word: Word::Silent, .. }) => Life::Silent,
        Some(Line { word: Word::Active, calls_noted, .. }) => Life::Alive { calls_noted: Some(calls_noted) },
        None => Life::Alive { calls_noted: None },
    }
}

/// Which files without an owner are cleared away.
#[derive(Clone, Copy)]
pub(super) enum Remains {
    Any,
    /// Those that were written to, which is done under the lock: an empty one may be about to be locked. If its owner
    /// was killed in that instant, an empty file stays that nobody asks for.
    Born,
}

/// Removes a file nobody holds.
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
