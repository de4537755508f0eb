//! Where the store is: named, configured, in the repository, or the user's own.
//!
//! From a linked worktree it is the main one's, so that all agents of a repository meet in one place.

use std::fmt;
use std::path::{Path, PathBuf};

/// The folder of a project's settings and state, in its root.
pub const FOLDER: &str = ".handover";
const FILE: &str = "handover.db";

/// What is known before anything is opened.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// `--store` or `HANDOVER_STORE`.
    pub named: Option<&'a str>,
    /// Where the program was started.
    pub folder: &'a Path,
    /// The user's data folder, when there is one.
    pub data: Option<&'a Path>,
}

/// A store and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// A path or a URL.
    pub store: String,
    pub by: By,
    /// The root of the project, when there is one.
    pub root: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Name,
    Configuration,
    Repository,
    User,
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "named by --store or HANDOVER_STORE",
            Self::Configuration => "named in .handover/config.toml",
            Self::Repository => "in the main worktree of the repository",
            Self::User => "in the user's data folder, because this is no repository",
        })
    }
}

/// Why no store was found.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    #[error("{path} cannot be read: {problem}")]
    Configuration { path: String, problem: String },
    #[error("there is no repository here and no home folder: name a store with --store")]
    Nowhere,
}

/// The first that is set.
pub fn find(surroundings: Surroundings<'_>) -> Result<Place, Lost> {
    let root = root(surroundings.folder);
    if let Some(named) = surroundings.named.filter(|named| !named.is_empty()) {
        return Ok(Place { store: named.to_owned(), by: By::Name, root });
    }
    let Some(root) = root else {
        let data = surroundings.data.ok_or(Lost::Nowhere)?;
        return Ok(Place { store: data.join("handover").join(FILE).display().to_string(), by: By::User, root: None });
    };
    if let Some(store) = configured(&root)? {
        return Ok(Place { store, by: By::Configuration, root: Some(root) });
    }
    let store = root.join(FOLDER).join("state").join(FILE).display().to_string();
    Ok(Place { store, by: By::Repository, root: Some(root) })
}

/// The root of the project that a folder belongs to: the main worktree, or the nearest folder with our settings.
pub fn root(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    let repository = folder.ancestors().find_map(main_worktree);
    repository.or_else(|| folder.ancestors().find(|folder| folder.join(FOLDER).is_dir()).map(Path::to_owned))
}

/// The main worktree, when this folder is the root of a worktree.
fn main_worktree(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(folder.to_owned());
    }
    let text = std::fs::read_to_string(&git).ok()?;
    let own = folder.join(text.strip_prefix("gitdir:")?.trim());
    // A linked worktree names the common folder; a submodule has none and is a repository of its own.
    let Ok(common) = std::fs::read_to_string(own.join("commondir")) else { return Some(folder.to_owned()) };
    let common = own.join(common.trim()).canonicalize().ok()?;
    match common.file_name() {
        Some(name) if name == ".git" => common.parent().map(Path::to_owned),
        // The worktrees of a bare repository have no main one: they meet in it.
        _ => Some(common),
    }
}

/// `store` of the configuration; a path in it is relative to the root.
fn configured(root: &Path) -> Result<Option<String>, Lost> {
    let path = root.join(FOLDER).join("config.toml");
    let lost = |problem: String| Lost::Configuration { path: path.display().to_string(), problem };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(lost(error.to_string())),
    };
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| lost(error.to_string()))?;
    match table.get("store") {
        None => Ok(None),
        Some(toml::Value::String(store)) if store.contains("://") => Ok(Some(store.clone())),
        Some(toml::Value::String(store)) => Ok(Some(root.join(store).display().to_string())),
        Some(_) => Err(lost("`store` must be a string: a path or a URL".to_owned())),
    }
}

/// State is nobody's to commit: its folder says so to git.
pub fn prepare(place: &Place) -> std::io::Result<()> {
    let (By::Repository, Some(root)) = (place.by, &place.root) else { return Ok(()) };
    let folder = root.join(FOLDER);
    std::fs::create_dir_all(&folder)?;
    let state = folder.join("state");
    let mut maker = std::fs::DirBuilder::new();
    // The token, the store and everybody's mail lie in it.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
    maker.recursive(true).create(&state)?;
    let ignore = state.join(".gitignore");
    if ignore.exists() { Ok(()) } else { std::fs::write(ignore, "*\n") }
}
