//! The lock that keeps out other runners of the same name on this machine.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, getpid, test_kill_process};
use tokio::time::Instant;

/// The pause between two attempts to take a lock. Programs that a killed process had started may still hold it.
const PAUSE: Duration = Duration::from_millis(50);
/// The maximum number of bytes that are read from a lock file. A process id, which is the content of the file, is
/// shorter.
const OWNER_BYTES_MAX: u64 = 32;

fn lock_file(state: &Path, host: &str, what: &str) -> std::path::PathBuf {
    let name: String =
        host.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    state.join(format!("runner-{name}.{what}"))
}

/// Returns true when a runner of this name is alive. A runner that is alive holds its lock in the folder `state`.
/// Creates no file and takes no lock.
pub fn is_held(state: &Path, host: &str) -> std::io::Result<bool> {
    let file = match std::fs::File::open(lock_file(state, host, "lock")) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(std::fs::TryLockError::WouldBlock) => Ok(true),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Takes the lock that only one runner of this name on this machine can have. Returns `None` when another runner has it.
///
/// A program that a runner starts has the runner's open files until it replaces itself (`fork`, then `exec`). So when a
/// runner is killed between these two calls, its lock stays held for a moment. The file contains the process id of the
/// runner: when that process has ended, this function waits, at most for `patience`, until the lock is free.
pub async fn of_runner(state: &Path, host: &str, patience: Duration) -> std::io::Result<Option<File>> {
    let begun = Instant::now();
    loop {
        if let Some(mut file) = only_one(state, host, "lock")? {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{}", getpid().as_raw_pid())?;
            return Ok(Some(file));
        }
        if begun.elapsed() > patience || is_owner_alive(&lock_file(state, host, "lock"))? {
            return Ok(None);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns true when the process that took the lock runs, and false when it has ended or has not written its id yet.
fn is_owner_alive(path: &Path) -> std::io::Result<bool> {
    let mut text = String::new();
    File::open(path)?.take(OWNER_BYTES_MAX).read_to_string(&mut text)?;
    let owner = text.trim().parse().ok().and_then(Pid::from_raw);
    Ok(owner.is_some_and(|owner| test_kill_process(owner) != Err(rustix::io::Errno::SRCH)))
}

/// Takes a lock that only one runner of this name on this machine can have; `what` names the lock. Returns `None` when
/// another process holds the lock. The lock lasts until this process and all processes that inherited the lock file
/// have ended.
pub fn only_one(state: &Path, host: &str, what: &str) -> std::io::Result<Option<File>> {
    std::fs::create_dir_all(state)?;
    let file = std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(lock_file(state, host, what))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lock_whose_owner_is_alive_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let patience = Duration::from_secs(600);
        let _first = of_runner(folder.path(), "here", patience).await.unwrap().unwrap();
        assert!(of_runner(folder.path(), "here", patience).await.unwrap().is_none());
        assert!(is_held(folder.path(), "here").unwrap());
    }

    #[tokio::test]
    async fn a_lock_whose_owner_was_killed_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let first = of_runner(folder.path(), "here", Duration::ZERO).await.unwrap().unwrap();
        // Record the id of a process that has ended as the owner of the lock. Linux gives no process so large an id.
        std::fs::write(lock_file(folder.path(), "here", "lock"), i32::MAX.to_string()).unwrap();
        assert!(of_runner(folder.path(), "here", Duration::ZERO).await.unwrap().is_none());
        let next = of_runner(folder.path(), "here", Duration::from_secs(600));
        let frees = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            drop(first);
        };
        let (next, ()) = tokio::join!(next, frees);
        assert!(next.unwrap().is_some());
    }
}
