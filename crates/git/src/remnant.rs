//! Cleans up after a git process that was killed: its locks, and an unfinished worktree.
//!
//! ```text
//! refs/heads/BRANCH.lock        a reference was being written
//! worktrees/NAME/index.lock     files were being staged
//! worktrees/NAME/locked         "initializing": the worktree was being made
//! worktrees/NAME                without `commondir`, `gitdir` or `HEAD`: its registration was being written
//! ```
//! An incomplete registration of a worktree makes every other git call in the repository fail, so it must be removed.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::problem::GitProblem;
use super::program::Git;
use super::repository::{GitRepository, reference};

/// The text that git writes into the file `locked` of a worktree while it creates the worktree.
const UNFINISHED: &str = "initializing";
/// The files that git writes into the registration of a worktree. Without one of them, the registration is incomplete.
const REGISTRATION: [&str; 3] = ["commondir", "gitdir", "HEAD"];
/// The maximum depth of folders that are searched for lock files of a worktree's registration. Deeper folders are
/// skipped.
const DEPTH_MAX: u32 = 4;
/// The time after which an unchanged lock file counts as left behind by a killed process. Our own git calls wait for a
/// lock for the same time.
const LOCK_WAIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(200);

/// Removes lock files that no running git process holds: the lock files of branches directly below `prefix` (`handover`
/// for `handover/...`), and the lock file of the packed references. Returns the paths of the removed lock files.
pub async fn clean_shared(git: &Git, repository: &Path, prefix: &str) -> Result<Vec<PathBuf>, GitProblem> {
    let repository = GitRepository::find(git, repository).await?;
    let held = shared_locks(&repository.common, prefix);
    if held.is_empty() {
        return Ok(held);
    }
    let seen: Vec<(PathBuf, Option<LockSeen>)> = held.into_iter().map(|path| (path.clone(), look(&path))).collect();
    let is_same = |(path, before): &&(PathBuf, Option<LockSeen>)| before.is_some() && look(path) == *before;
    let mut waited = Duration::ZERO;
    while waited < LOCK_WAIT && seen.iter().any(|lock| is_same(&lock)) {
        tokio::time::sleep(LOOK).await;
        waited += LOOK;
    }
    // While a git process runs in this repository, remove no lock file. That process may own the lock file, even if the
    // file did not change during the whole wait.
    if is_git_at_work(&repository) {
        return Ok(Vec::new());
    }
    let left = seen.iter().filter(is_same).map(|(path, _)| path.clone());
    Ok(left.filter(|path| fs::remove_file(path).is_ok()).collect())
}

fn is_initializing(registration: &Path) -> bool {
    fs::read_to_string(registration.join("locked")).is_ok_and(|reason| reason.trim() == UNFINISHED)
}

/// Removes the locks that a killed git process left in a worktree, or the whole worktree when git had not finished it.
pub(crate) fn clean_worktree(common: &Path, folder: &Path) -> std::io::Result<()> {
    let Some(registration) = registration(common, folder) else {
        // Git has no registration for this folder. So the folder was only created to reserve the name, and contains at
        // most the `.git` file.
        let link = folder.join(".git");
        let entries = fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
        let entries: Vec<PathBuf> = entries.unwrap_or_default();
        if folder.is_dir() && entries.iter().all(|path| *path == link && path.is_file()) {
            gone(fs::remove_dir_all(folder))?;
        }
        return Ok(());
    };
    let is_complete = REGISTRATION.iter().all(|name| !is_empty(&registration.join(name)));
    if is_complete && !is_initializing(&registration) {
        // After a crash of the machine the index file of the worktree may be empty. Delete it; git creates it again
        // from the files.
        if registration.join("index").exists() && is_empty(&registration.join("index")) {
            gone(fs::remove_file(registration.join("index")))?;
        }
        return remove_locks(&registration, DEPTH_MAX);
    }
    // The worktree was not finished, so no agent has worked in it, and it can be deleted. Delete the folder before the
    // registration: if this process is stopped in between, the next call still finds the registration.
    gone(fs::remove_dir_all(folder))?;
    gone(fs::remove_dir_all(&registration))?;
    // Like git, remove the folder `worktrees` together with its last registration. The removal fails when other
    // registrations are left, and that failure is ignored.
    let _others = fs::remove_dir(common.join("worktrees"));
    Ok(())
}

/// Returns the folder in `.git/worktrees` where git registers the worktree at a path. Finds the folder even if git has
/// only started to write the registration.
pub(crate) fn registration(common: &Path, folder: &Path) -> Option<PathBuf> {
    let link = folder.join(".git");
    let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let is_ours = |path: &PathBuf| match fs::read_to_string(path.join("gitdir")) {
        // With some git configurations, the path in the file `gitdir` is relative to the registration folder.
        Ok(text) if !text.trim().is_empty() => plain(&path.join(text.trim_end())) == link,
        // The file `gitdir` is missing or empty, so compare the names, because git names a registration like the folder
        // of its worktree. If that name was taken, git added a number, and then the registration is not found.
        Ok(_) | Err(_) => path.file_name() == folder.file_name(),
    };
    entries.map(|entry| entry.path()).find(is_ours)
}

/// Resolves `..` in a path without asking the file system, because the path may no longer exist.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

fn is_empty(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |data| data.len() == 0)
}

fn remove_locks(folder: &Path, depth: u32) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && depth > 0 {
            remove_locks(&path, depth - 1)?;
        } else if kind.is_file() && path.extension().is_some_and(|end| end == "lock") {
            gone(fs::remove_file(&path))?;
        }
    }
    Ok(())
}

/// Turns the error that a file does not exist into success, because the file was to be removed.
fn gone(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The properties by which a lock file is distinguished from a later lock file with the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LockSeen {
    modified: Option<std::time::SystemTime>,
    length: u64,
}

fn look(path: &Path) -> Option<LockSeen> {
    let data = fs::symlink_metadata(path).ok()?;
    Some(LockSeen { modified: data.modified().ok(), length: data.len() })
}

fn shared_locks(common: &Path, prefix: &str) -> Vec<PathBuf> {
    let branches = fs::read_dir(common.join(reference(prefix))).into_iter().flatten().flatten();
    let is_lock = |path: &PathBuf| path.extension().is_some_and(|end| end == "lock");
    let packed = Some(common.join("packed-refs.lock")).filter(|path| path.exists());
    branches.map(|entry| entry.path()).filter(is_lock).chain(packed).collect()
}

/// Returns true when a git process runs in the repository: in its main folder, in its `.git` folder or in one of its
/// worktrees, which may be in other places. Finds only processes that the operating system shows in `/proc`.
fn is_git_at_work(repository: &GitRepository) -> bool {
    let registrations = fs::read_dir(repository.common.join("worktrees")).into_iter().flatten().flatten();
    let worktree = |registration: &Path| {
        let text = fs::read_to_string(registration.join("gitdir")).ok()?;
        plain(&registration.join(text.trim_end())).parent()?.canonicalize().ok()
    };
    let mut folders = vec![repository.home.clone(), repository.common.clone()];
    folders.extend(registrations.filter_map(|entry| worktree(&entry.path())));
    let is_git = |process: &Path| {
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        let folder = fs::read_link(process.join("cwd"));
        name.starts_with("git") && folder.is_ok_and(|folder| folders.iter().any(|own| folder.starts_with(own)))
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().any(|entry| is_git(&entry.path()))
}
