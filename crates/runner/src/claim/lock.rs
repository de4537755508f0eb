//! The lock that keeps out other runners of the same name on this machine.

use std::path::Path;

fn lock_file(state: &Path, host: &str, what: &str) -> std::path::PathBuf {
    let name: String =
        host.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    state.join(format!("runner-{name}.{what}"))
}

/// Tells whether a runner of this name is alive. A runner that is alive holds its lock in the folder `state`. Creates
/// no file and takes no lock.
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

/// Takes a lock that only one runner of this name on this machine can have; `what` names the lock. Returns `None` when
/// another process holds the lock. The lock lasts until this process and all processes that inherited the lock file
/// have ended.
pub fn only_one(state: &Path, host: &str, what: &str) -> std::io::Result<Option<std::fs::File>> {
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
