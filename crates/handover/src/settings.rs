//! `.handover/config.toml`: what a project sets. A word that is not known is an error, because a typo would be silent.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::place::FOLDER;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where work is kept; read by `place`.
    pub store: Option<String>,
    /// Where worktrees are made, relative to the root.
    pub worktrees: Option<PathBuf>,
    #[serde(default)]
    pub serve: Serve,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Serve {
    pub port: Option<u16>,
    /// Names this server is reached by, beside those of loopback.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Pages that may call it, such as `https://tools.example.org`.
    #[serde(default)]
    pub origins: Vec<String>,
    /// Requests of one token in one second.
    pub rate_per_second: Option<u32>,
}

#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Unreadable {
    pub path: String,
    pub problem: String,
}

/// The settings of a project; the defaults when it has none.
pub fn read(root: Option<&Path>) -> Result<Settings, Unreadable> {
    let Some(root) = root else { return Ok(Settings::default()) };
    let path = root.join(FOLDER).join("config.toml");
    let unreadable = |problem: String| Unreadable { path: path.display().to_string(), problem };
    match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).map_err(|error| unreadable(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Settings::default()),
        Err(error) => Err(unreadable(error.to_string())),
    }
}
