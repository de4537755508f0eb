//! Decides if a person must accept the store that the settings name, and if a person accepted it.

use std::path::{Component, Path, PathBuf};

use super::record;
use crate::project::settings::Settings;

/// The reason why the store that the settings name is not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreProblem {
    #[error(
        "NOT_TRUSTED `store` in .handover/config.toml is a database server, and you have not accepted it on this \
         machine; read and accept it with `handover trust`, or name a store of your own with --store or \
         HANDOVER_STORE"
    )]
    Server,
    #[error(
        "NOT_TRUSTED `store` in .handover/config.toml names a file outside of this repository, {0}, and you have not \
         accepted it on this machine; read and accept it with `handover trust`, or name a store of your own with \
         --store or HANDOVER_STORE"
    )]
    Outside(String),
}

/// Returns the store that the settings name if a person must accept it: a URL, or a file outside of the repository.
pub(super) fn asks(root: &Path, settings: &Settings) -> Option<String> {
    settings.store.as_deref().filter(|store| is_server(store) || !is_inside(root, store)).map(str::to_owned)
}

fn is_server(store: &str) -> bool {
    store.contains("://")
}

/// Returns true when a store's file is inside the repository. Resolves symbolic links in the part of the path that
/// exists.
fn is_inside(root: &Path, store: &str) -> bool {
    let path = root.join(store.strip_prefix("sqlite:").unwrap_or(store));
    let Ok(root) = root.canonicalize() else { return false };
    let mut rest = PathBuf::new();
    for folder in path.ancestors() {
        if let Ok(found) = folder.canonicalize() {
            let has_dots = rest.components().any(|part| part == Component::ParentDir);
            return !has_dots && found.join(&rest).starts_with(&root);
        }
        let name = folder.components().next_back().map(|part| part.as_os_str().to_owned()).unwrap_or_default();
        rest = if rest.as_os_str().is_empty() { PathBuf::from(name) } else { Path::new(&name).join(rest) };
    }
    false
}

/// Refuses the store that the settings name, unless its file is in the repository or a person accepted exactly this
/// store.
pub fn accepted_store(root: &Path, data: Option<&Path>, store: &str) -> Result<(), StoreProblem> {
    if !is_server(store) && is_inside(root, store) {
        return Ok(());
    }
    let known = || {
        let copy = record::read(&record::file(data?, &super::key(root).ok()?)).ok()??;
        copy.files().settings(root).ok()?.store
    };
    match known() {
        Some(accepted) if accepted == store => Ok(()),
        Some(_) | None if is_server(store) => Err(StoreProblem::Server),
        Some(_) | None => Err(StoreProblem::Outside(root.join(store).display().to_string())),
    }
}
