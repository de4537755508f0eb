//! Finds the store of a project. It looks in this order: the store that the caller names, the settings, the repository,
//! the user's data folder.
//!
//! A linked worktree uses the store of the main worktree, so that all agents of a repository share one store.

mod own;

use std::fmt;
use std::path::{Path, PathBuf};

pub use own::{ForeignStore, is_state, judge};

use crate::project::trust::{self, StoreProblem};

pub use git::{FOLDER, STATE};
const FILE: &str = "handover.db";

/// The facts from which the place of the store is found. They are known before any file is opened.
#[derive(Debug, Clone, Copy)]
pub struct StartSurroundings<'a> {
    /// The store that the option `--store` or the variable `HANDOVER_STORE` names; `None` when neither names one.
    pub named: Option<&'a str>,
    /// The folder in which the program was started.
    pub folder: &'a Path,
    /// The user's data folder, or `None` when the environment names none.
    pub data: Option<&'a Path>,
}

/// A store, and the reason why this store was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorePlace {
    /// The path or the URL of the store.
    pub store: String,
    pub by: PlaceReason,
    /// The root folder of the project, or `None` outside of a project.
    pub root: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceReason {
    Name,
    Configuration,
    Repository,
    User,
}

impl fmt::Display for PlaceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "named by --store or HANDOVER_STORE",
            Self::Configuration => "named in .handover/config.toml",
            Self::Repository => "in the main worktree of the repository",
            Self::User => "in the user's data folder, because the current folder is not in a git repository",
        })
    }
}

/// The reason why the store cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    #[error("{path} cannot be read: {problem}")]
    Configuration { path: String, problem: String },
    #[error(transparent)]
    Unaccepted(#[from] StoreProblem),
    #[error("there is no git repository here and no home folder; name a store with --store")]
    Nowhere,
}

/// Returns the first store that is found in this order: named by the caller, named in the settings, in the repository,
/// in the user's data folder.
pub fn find(surroundings: StartSurroundings<'_>) -> Result<StorePlace, Lost> {
    let root = root(surroundings.folder);
    if let Some(named) = surroundings.named.filter(|named| !named.is_empty()) {
        return Ok(StorePlace { store: named.to_owned(), by: PlaceReason::Name, root });
    }
    let Some(root) = root else {
        let data = surroundings.data.ok_or(Lost::Nowhere)?;
        return Ok(StorePlace {
            store: data.join("handover").join(FILE).display().to_string(),
            by: PlaceReason::User,
            root: None,
        });
    };
    if let Some(store) = configured(&root)? {
        trust::accepted_store(&root, surroundings.data, &store)?;
        let store = if store.contains("://") { store } else { root.join(store).display().to_string() };
        return Ok(StorePlace { store, by: PlaceReason::Configuration, root: Some(root) });
    }
    let store = root.join(FOLDER).join("state").join(FILE).display().to_string();
    Ok(StorePlace { store, by: PlaceReason::Repository, root: Some(root) })
}

/// Returns the root of the project that a folder belongs to: the main worktree, or the nearest folder with a
/// `.handover` folder.
pub fn root(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    let repository = folder.ancestors().find_map(main_worktree);
    repository.or_else(|| folder.ancestors().find(|folder| folder.join(FOLDER).is_dir()).map(Path::to_owned))
}

/// Returns the repository's main worktree when this folder is the root of a worktree, else `None`.
fn main_worktree(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        // Git ignores a folder without HEAD, too. The sandbox of Codex leaves an empty `.git` in folders such as /tmp.
        return git.join("HEAD").symlink_metadata().is_ok().then(|| folder.to_owned());
    }
    let text = std::fs::read_to_string(&git).ok()?;
    let own = folder.join(text.strip_prefix("gitdir:")?.trim());
    // The git folder of a linked worktree has a file `commondir`. A submodule's git folder does not, because a
    // submodule is a separate repository.
    let Ok(common) = std::fs::read_to_string(own.join("commondir")) else { return Some(folder.to_owned()) };
    let common = own.join(common.trim()).canonicalize().ok()?;
    match common.file_name() {
        Some(name) if name == ".git" => common.parent().map(Path::to_owned),
        // A bare repository has no main worktree, so its worktrees share the repository's own folder.
        _ => Some(common),
    }
}

/// Returns the value of the key `store` in `config.toml`, without any change.
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
        Some(toml::Value::String(store)) => Ok(Some(store.clone())),
        Some(_) => Err(lost("`store` must be a string: a path or a URL".to_owned())),
    }
}

/// Creates the files and folders that a store needs, readable by their owner only. Writes a `.gitignore` into the state
/// folder, because the state must not be committed.
pub fn prepare(place: &StorePlace) -> std::io::Result<()> {
    let is_server = place.store.contains("://");
    if let (true, Some(root)) = (is_server || place.by == PlaceReason::Repository, &place.root) {
        std::fs::create_dir_all(root.join(FOLDER))?;
        let state = root.join(STATE);
        own::make_folder(&state)?;
        let ignore = state.join(".gitignore");
        if !ignore.exists() {
            std::fs::write(ignore, "*\n")?;
        }
    }
    if is_server || place.by == PlaceReason::Name {
        return Ok(());
    }
    let file = Path::new(place.store.strip_prefix("sqlite:").unwrap_or(&place.store));
    if let Some(folder) = file.parent() {
        match place.by {
            PlaceReason::User => own::make_folder(folder)?,
            PlaceReason::Configuration | PlaceReason::Repository | PlaceReason::Name => {
                std::fs::create_dir_all(folder)?
            }
        }
    }
    own::make(file)
}

/// Returns a store's address with an absolute path. Agents work in other folders, where a relative path would name
/// another store.
pub fn absolute(store: &str) -> String {
    if store.contains("://") || store == "memory:" {
        return store.to_owned();
    }
    let path = PathBuf::from(store.strip_prefix("sqlite:").unwrap_or(store));
    std::path::absolute(&path).unwrap_or(path).display().to_string()
}

/// Returns the user's data folder, or `None` when neither `XDG_DATA_HOME` nor `HOME` is set.
pub fn data_folder() -> Option<PathBuf> {
    let data = std::env::var_os("XDG_DATA_HOME").filter(|data| !data.is_empty()).map(PathBuf::from);
    data.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share")))
}
