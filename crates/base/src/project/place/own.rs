//! Checks that a store belongs to this user: no other user owns it, and it did not come with the repository.

use std::io;
use std::path::{Path, PathBuf};

use super::{FOLDER, PlaceReason, STATE, StorePlace};
use git::Git;
use git::program::GitCall;

/// The reason why a store is refused. A store decides which tasks, messages and tokens are valid, so a store of another
/// user is dangerous.
#[derive(Debug, thiserror::Error)]
pub enum ForeignStore {
    #[error(
        "STORE_FOREIGN git tracks {path}, so the store may have come with the repository; if it did, delete it with \
         `git rm -r {path}`; if it is yours, remove it only from git with `git rm -r --cached {path}`; or name \
         another store with --store"
    )]
    Tracked { path: String },
    #[error(
        "STORE_FOREIGN {path} belongs to another user of this machine; ask this user to delete it, or name another \
         store with --store"
    )]
    Owner { path: String },
    #[error("check the owner of the store {path}")]
    Unreadable {
        path: String,
        #[source]
        cause: io::Error,
    },
}

/// Refuses a store that does not belong to this user. Takes the permissions of other users away from the files of this
/// user's store, and returns messages for a person about these changes. A store that the caller named is not checked.
pub async fn judge(place: &StorePlace) -> Result<Vec<String>, ForeignStore> {
    if place.by == PlaceReason::Name || place.store == "memory:" {
        return Ok(Vec::new());
    }
    let mut kept: Vec<(PathBuf, u32)> = Vec::new();
    if let Some(root) = &place.root {
        let state = root.join(STATE);
        is_untracked(root, STATE).await?;
        kept.push((state, 0o700));
    }
    if !place.store.contains("://") {
        let file = PathBuf::from(place.store.strip_prefix("sqlite:").unwrap_or(&place.store));
        if let Some(inside) = place.root.as_ref().and_then(|root| file.strip_prefix(root).ok())
            && !inside.starts_with(STATE)
        {
            is_untracked(place.root.as_deref().unwrap_or(&file), &inside.display().to_string()).await?;
        }
        for ending in ["", "-wal", "-shm"] {
            let mut path = file.clone().into_os_string();
            path.push(ending);
            kept.push((path.into(), 0o600));
        }
    }
    let mut notes = Vec::new();
    for (path, mode) in kept {
        notes.extend(narrowed(&path, mode)?);
    }
    Ok(notes)
}

/// Takes the permissions of other users away from a file or folder of this user. Does nothing when the file does not
/// exist, because a new file gets the right permissions.
fn narrowed(path: &Path, mode: u32) -> Result<Option<String>, ForeignStore> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    let shown = || path.display().to_string();
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(cause) => return Err(ForeignStore::Unreadable { path: shown(), cause }),
    };
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(ForeignStore::Owner { path: shown() });
    }
    let before = found.mode() & 0o777;
    if before & 0o077 == 0 {
        return Ok(None);
    }
    match std::fs::set_permissions(path, std::fs::Permissions::from_mode(before & mode)) {
        Ok(()) => Ok(Some(format!("other users could open {} (mode {before:o}); now only you can", shown()))),
        // Another process may have removed this file of the database since its permissions were read above.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(ForeignStore::Unreadable { path: shown(), cause }),
    }
}

/// Refuses a path that git tracks. Every command calls this function, so it starts git only when git's index may
/// contain the path.
async fn is_untracked(root: &Path, path: &str) -> Result<(), ForeignStore> {
    if !may_have(root, path) {
        return Ok(());
    }
    let call = GitCall::read(root, &["ls-files", "-z", "--cached", "--"]).and(format!(":(top,icase){path}"));
    let tracked = || ForeignStore::Tracked { path: path.to_owned() };
    // When git fails, the path counts as tracked and is refused.
    let output = call.run(&Git::default()).await.map_err(|_| tracked())?;
    if output.is_success() && output.stdout.is_empty() { Ok(()) } else { Err(tracked()) }
}

/// Returns true when git's index may contain a path: the bytes of the path are in the index, or the index has a format
/// in which paths are not plain bytes.
fn may_have(root: &Path, path: &str) -> bool {
    let git = root.join(".git");
    let folder = match std::fs::read_to_string(&git) {
        Ok(text) => match text.strip_prefix("gitdir:") {
            Some(named) => root.join(named.trim()),
            None => return true,
        },
        Err(_) => git,
    };
    let index = match std::fs::read(folder.join("index")) {
        Ok(index) => index,
        Err(error) => return !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    };
    let (Some(b"DIRC"), Some(&[0, 0, 0, version])) = (index.get(..4), index.get(4..8)) else { return true };
    // Version 4 of git's index shortens a path that begins like the path before it. A split index keeps its paths in
    // another file.
    let is_plain = matches!(version, 2 | 3) && !is_split(&index);
    !is_plain || contains(&index, path.as_bytes())
}

/// Returns true when git's index may have the extension of a split index, which names another file. The extension is
/// the word `link`, a length, and that many bytes.
fn is_split(index: &[u8]) -> bool {
    const HASH_BYTES_MIN: usize = 20;
    memchr::memmem::find_iter(index, b"link").any(|at| {
        let rest = &index[at + 4..];
        let length = rest.first_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes) as usize);
        (HASH_BYTES_MIN..=rest.len()).contains(&length)
    })
}

/// Returns true when git's index contains the path. Ignores upper and lower case, because some file systems do.
fn contains(index: &[u8], path: &[u8]) -> bool {
    let Some(&first) = path.first() else { return true };
    let starts = memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), index);
    starts.into_iter().any(|at| index[at..].get(..path.len()).is_some_and(|found| found.eq_ignore_ascii_case(path)))
}

/// Creates a new database file that only its owner can read. SQLite gives its own files next to it the same
/// permissions.
pub(super) fn make(file: &Path) -> io::Result<()> {
    let mut options = std::fs::File::options();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Creates a folder that only its owner can read.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut maker = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
    maker.recursive(true).create(folder)
}

/// Returns true when a path of the repository is in Handover's state folder. An agent's output must not write there.
/// Ignores upper and lower case, because some file systems do.
pub fn is_state(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    let is = |part: Option<&str>, name: &str| part.is_some_and(|part| part.eq_ignore_ascii_case(name));
    is(parts.next(), FOLDER) && is(parts.next(), "state")
}
