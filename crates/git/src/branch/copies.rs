//! Copies files such as `.env` from the person's checkout into a worktree. They may have secrets, so no commit contains
//! them.
//!
//! A list of the copied files is stored with git's data of the worktree. Every function that commits reads this list,
//! even after a restart. The list is written before the first file is copied, so that a crash never leaves a copied
//! file that is not in the list.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::look::lossy;
use super::{UncommittedPath, UncommittedReason};
use crate::GitProblem;
use crate::program::{Git, GitCall};
use crate::repository::path;

/// The name of the file with the list of copied files, in git's folder for the worktree.
const LIST: &str = "handover-copied.json";
/// The maximum number of paths in one git call. Further paths go into further calls.
pub(super) const CHUNK: usize = 500;
/// The maximum number of files that are copied into one worktree. More files are an error, because settings and secrets
/// are only a handful of files.
pub const COPIED_FILES_MAX: usize = 1_000;
/// The maximum number of bytes that are copied into one worktree. More bytes would be data or dependencies, which the
/// setup commands create in the worktree.
pub const COPIED_BYTES_MAX: u64 = 64 << 20;

/// The rule for a file that was already copied into the worktree before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyMode {
    /// Copy every file again, because a new task starts in the worktree.
    Replace,
    /// Copy a file only when it changed in the person's checkout since the last copy. A copy that the agent changed
    /// stays, because the same task continues in the worktree.
    Update,
}

/// The result of copying files into a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyReport {
    pub copied: Vec<String>,
    /// The files that were not copied, each with the reason.
    pub skipped: Vec<(String, CopySkip)>,
}

/// A reason why a file is not copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopySkip {
    /// Git does not ignore the file in the worktree, so it could be committed.
    NotIgnored,
    /// The path is not below the checkout, or it is inside of a `.git` folder.
    Outside,
    /// The path leads through a symbolic link, in the person's checkout or in the worktree.
    Link,
    /// There is no such file, or it is a folder or a device.
    NoFile,
}

/// The copied files of a worktree, each with the fingerprint that its original had at the last copy.
type CopyList = BTreeMap<String, String>;

/// Copies files from the person's checkout into a worktree. `paths` are relative to both folders. Only files that git
/// ignores in the worktree are copied. Symbolic links are never followed, and permissions are kept.
pub async fn copy_into(
    git: &Git,
    (root, worktree): (&Path, &Path),
    paths: &[String],
    mode: CopyMode,
) -> Result<CopyReport, GitProblem> {
    if paths.len() > COPIED_FILES_MAX {
        let problem = format!("has {} files; at most {COPIED_FILES_MAX} are copied into a worktree", paths.len());
        return Err(GitProblem::input("copy", problem));
    }
    let mut report = CopyReport::default();
    let mut wanted = Vec::new();
    for path in paths {
        match refusal(root, worktree, path) {
            Some(skip) => report.skipped.push((path.clone(), skip)),
            None => wanted.push(path.clone()),
        }
    }
    let ignored = ignored(git, worktree, &wanted).await?;
    let (wanted, others): (Vec<String>, Vec<String>) = wanted.into_iter().partition(|path| ignored.contains(path));
    report.skipped.extend(others.into_iter().map(|path| (path, CopySkip::NotIgnored)));
    let list_path = list_path(git, worktree).await?;
    let (root, worktree) = (root.to_owned(), worktree.to_owned());
    let work = move || copy_all((&root, &worktree), &list_path, &wanted, mode, report);
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(failed(Path::new("copy"), &io::Error::other(error))))
}

/// Returns the files that Handover copied into a worktree, relative to its root.
pub async fn copied_paths(git: &Git, worktree: &Path) -> Result<Vec<String>, GitProblem> {
    Ok(read_list(&list_path(git, worktree).await?)?.into_keys().collect())
}

fn copy_all(
    (root, worktree): (&Path, &Path),
    list_path: &Path,
    wanted: &[String],
    mode: CopyMode,
    mut report: CopyReport,
) -> Result<CopyReport, GitProblem> {
    let mut list = read_list(list_path)?;
    for path in wanted {
        list.entry(path.clone()).or_default();
    }
    write_list(list_path, &list)?;
    let mut bytes = 0;
    for path in wanted {
        let known = list.get(path).filter(|_| mode == CopyMode::Update).cloned();
        let room = COPIED_BYTES_MAX - bytes;
        match copy_one((root, worktree), path, known.as_deref(), room) {
            Ok(CopyStep::Copied { fingerprint, length }) => {
                bytes += length;
                list.insert(path.clone(), fingerprint);
                report.copied.push(path.clone());
            }
            Ok(CopyStep::Same { length }) => bytes += length,
            Ok(CopyStep::Skipped(skip)) => report.skipped.push((path.clone(), skip)),
            Ok(CopyStep::TooLarge) => {
                let most = COPIED_BYTES_MAX >> 20;
                return Err(GitProblem::input("copy", format!("has more than {most} MiB; the last file was {path}")));
            }
            Err(error) => return Err(failed(&worktree.join(path), &error)),
        }
    }
    write_list(list_path, &list)?;
    report.skipped.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(report)
}

/// The result of copying one file.
enum CopyStep {
    Copied {
        fingerprint: String,
        length: u64,
    },
    /// The file in the person's checkout did not change since the last copy, so it is not copied again.
    Same {
        length: u64,
    },
    Skipped(CopySkip),
    TooLarge,
}

/// Copies one file. Every folder on the way is opened without following links, so no process can redirect the copy.
fn copy_one((root, worktree): (&Path, &Path), path: &str, known: Option<&str>, room: u64) -> io::Result<CopyStep> {
    let Some((source, name)) = open_parent(root, path, MissingFolder::Refuse)? else {
        return Ok(CopyStep::Skipped(CopySkip::NoFile));
    };
    // `NONBLOCK`: without this flag, opening a named pipe would wait for its writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(&source, &name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(CopyStep::Skipped(CopySkip::NoFile)),
        Err(Errno::LOOP) => return Ok(CopyStep::Skipped(CopySkip::Link)),
        Err(error) => return Err(error.into()),
    };
    let data = file.metadata()?;
    if !data.is_file() {
        return Ok(CopyStep::Skipped(CopySkip::NoFile));
    }
    let mut text = Vec::new();
    file.take(room + 1).read_to_end(&mut text)?;
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    if length > room {
        return Ok(CopyStep::TooLarge);
    }
    let permissions = Mode::from_raw_mode(std::os::unix::fs::MetadataExt::mode(&data) & 0o777);
    let mut hasher = DefaultHasher::new();
    (&text, permissions.as_raw_mode()).hash(&mut hasher);
    let fingerprint = format!("{:016x}", hasher.finish());
    let Some((target, name)) = open_parent(worktree, path, MissingFolder::Make)? else {
        return Ok(CopyStep::Skipped(CopySkip::Link));
    };
    let is_there = rustix::fs::statat(&target, &name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    if is_there && known == Some(&fingerprint) {
        return Ok(CopyStep::Same { length });
    }
    match rustix::fs::unlinkat(&target, &name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(Errno::ISDIR) => return Ok(CopyStep::Skipped(CopySkip::NoFile)),
        Err(error) => return Err(error.into()),
    }
    // `EXCL` creates a new file, so that nothing is written through a link that another process has just put there.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut copy = File::from(rustix::fs::openat(&target, &name, flags, Mode::RUSR | Mode::WUSR)?);
    copy.write_all(&text)?;
    rustix::fs::fchmod(&copy, permissions)?;
    Ok(CopyStep::Copied { fingerprint, length })
}

/// The rule for a folder of a path that does not exist: refuse the path, or create the folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingFolder {
    Refuse,
    Make,
}

/// Opens the folder that contains a file, one part of the path after the other and without following links. Returns the
/// folder and the name of the file, or `None` when a part is a link or no folder.
fn open_parent(root: &Path, path: &str, missing: MissingFolder) -> io::Result<Option<(OwnedFd, String)>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open(root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut parts: Vec<&str> = path.split('/').collect();
    let Some(name) = parts.pop() else { return Ok(None) };
    for part in parts {
        let mut next = rustix::fs::openat(&folder, part, flags, Mode::empty());
        if matches!(next, Err(Errno::NOENT)) && missing == MissingFolder::Make {
            rustix::fs::mkdirat(&folder, part, Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH)?;
            next = rustix::fs::openat(&folder, part, flags, Mode::empty());
        }
        folder = match next {
            Ok(next) => next,
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
    }
    Ok(Some((folder, name.to_owned())))
}

/// Returns the reason why a file with this path must not be copied, or `None` when it may be copied.
fn refusal(root: &Path, worktree: &Path, path: &str) -> Option<CopySkip> {
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => false,
    };
    let parts: Vec<&str> = path.split('/').collect();
    let is_written_plainly = parts.iter().all(|part| !part.is_empty() && *part != ".");
    if path.is_empty() || !is_written_plainly || !Path::new(path).components().all(is_plain) {
        return Some(CopySkip::Outside);
    }
    for count in 1..=parts.len() {
        let part: PathBuf = parts[..count].iter().collect();
        let is_link = |folder: &Path| folder.join(&part).symlink_metadata().is_ok_and(|data| data.is_symlink());
        if is_link(root) || count < parts.len() && is_link(worktree) {
            return Some(CopySkip::Link);
        }
    }
    let is_file = root.join(path).symlink_metadata().is_ok_and(|data| data.is_file());
    if is_file { None } else { Some(CopySkip::NoFile) }
}

/// Returns the paths that git ignores in a worktree and does not track there.
async fn ignored(git: &Git, worktree: &Path, paths: &[String]) -> Result<BTreeSet<String>, GitProblem> {
    let plain_names = [("core.quotePath".to_owned(), "false".to_owned())];
    let call = |arguments: &[&str]| GitCall::read(worktree, arguments).here_only().set(&plain_names);
    // The prefix `./` keeps git from reading a name that begins with a colon as a pattern. Git prints the name with the
    // same prefix.
    let spelled = |path: &str| format!("./{path}");
    // Git prints one name on each line, and puts a name with a control character, a quote or a backslash in quotes. Ask
    // for each such name in a separate call.
    let is_odd = |path: &String| path.chars().any(|c| c.is_control() || c == '"' || c == '\\');
    let (odd, plain): (Vec<&String>, Vec<&String>) = paths.iter().partition(|path| is_odd(path));
    let mut found = BTreeSet::new();
    for chunk in plain.chunks(CHUNK) {
        let mut call = call(&["check-ignore", "--"]);
        for path in chunk {
            call = call.and(spelled(path));
        }
        let output = call.run(git).await?;
        // Exit code 1 means that git ignores none of the paths.
        let output = if output.code() == Some(1) { continue } else { output.whole()? };
        found.extend(output.text().lines().filter_map(|line| line.strip_prefix("./")).map(str::to_owned));
    }
    for path in odd {
        let output = call(&["check-ignore", "--quiet", "--"]).and(spelled(path)).run(git).await?;
        match output.code() {
            Some(0) => drop(found.insert(path.clone())),
            Some(1) => {}
            Some(_) | None => return Err(output.failure()),
        }
    }
    Ok(found)
}

async fn list_path(git: &Git, worktree: &Path) -> Result<PathBuf, GitProblem> {
    let arguments = ["rev-parse", "--path-format=absolute", "--git-path", LIST];
    let output = GitCall::read(worktree, &arguments).here_only().run(git).await?.whole()?;
    Ok(path(output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout)))
}

fn read_list(file: &Path) -> Result<CopyList, GitProblem> {
    match fs::read(file) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| failed(file, &error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(CopyList::new()),
        Err(error) => Err(failed(file, &error)),
    }
}

/// Writes the list of copied files. Writes a temporary file first and renames it, so that a crash never leaves half of
/// a list.
fn write_list(file: &Path, list: &CopyList) -> Result<(), GitProblem> {
    let whole = file.with_extension("new");
    let text = serde_json::to_string(list).map_err(|error| failed(file, &error.into()))?;
    fs::write(&whole, text).and_then(|()| fs::rename(&whole, file)).map_err(|error| failed(file, &error))
}

fn failed(path: &Path, error: &io::Error) -> GitProblem {
    GitProblem::PathUnusable { path: path.to_owned(), problem: error.to_string() }
}

/// Removes copied files from a git index; the files on the disk stay. Returns the removed paths. `call` makes a git
/// call that uses this index.
pub(super) async fn leave_out(
    git: &Git,
    call: impl Fn(&[&str]) -> GitCall,
    copied: &[String],
) -> Result<Vec<UncommittedPath>, GitProblem> {
    let mut left = Vec::new();
    for chunk in copied.chunks(CHUNK) {
        let with_paths = |mut call: GitCall| {
            for path in chunk {
                call = call.and(format!(":(top,literal){path}"));
            }
            call
        };
        let listed = with_paths(call(&["ls-files", "-z", "--full-name", "--"])).run(git).await?.whole()?;
        let listed = listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(path);
        let before = left.len();
        left.extend(listed.map(|path| UncommittedPath { path: lossy(&path), why: UncommittedReason::Copied }));
        if left.len() > before {
            let remove = call(&["rm", "-r", "-f", "--cached", "--quiet", "--ignore-unmatch", "--"]);
            with_paths(remove).run(git).await?.whole()?;
        }
    }
    Ok(left)
}
