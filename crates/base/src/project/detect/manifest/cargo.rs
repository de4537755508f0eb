//! Reads from `Cargo.toml` which packages `cargo test` covers.

use crate::project::detect::files::{RepositoryFiles, join, parent};

/// The facts of a `Cargo.toml` that decide how its tests are run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CargoManifest {
    /// True when cargo would test only the root package: the manifest has both a package and a workspace, and names no
    /// default members.
    pub(crate) leaves_members_out: bool,
    /// True when the folder or a folder above has a configuration of cargo-nextest.
    pub(crate) configures_nextest: bool,
}

impl CargoManifest {
    pub(crate) fn read(files: &RepositoryFiles, folder: &str) -> Self {
        let text = files.text(&join(folder, "Cargo.toml")).unwrap_or_default();
        let manifest: toml::Table = text.parse().unwrap_or_default();
        let workspace = manifest.get("workspace").and_then(toml::Value::as_table);
        let chosen = workspace.is_some_and(|workspace| workspace.contains_key("default-members"));
        let leaves_members_out = manifest.contains_key("package") && workspace.is_some() && !chosen;
        let mut above = std::iter::successors(Some(folder), |folder| parent(folder));
        let configures_nextest = above.any(|folder| files.has(&join(folder, ".config/nextest.toml")));
        Self { leaves_members_out, configures_nextest }
    }
}
