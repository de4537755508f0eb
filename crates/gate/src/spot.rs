//! Describes the paths that a word of a command names, as far as they are known before the command runs.

/// The paths that a word of a command may name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PathSpot {
    At(String),
    /// Unknown files in this folder or below it.
    Inside(String),
    /// Entries of this folder whose names fit a shell pattern, such as `*.txt`.
    Matching {
        folder: String,
        pattern: String,
    },
    /// Entries of this folder, or of any folder below it, whose names fit a pattern.
    Named {
        folder: String,
        pattern: String,
    },
}

impl PathSpot {
    /// Returns the path that the word names. If the word may name several paths, returns the folder that contains them
    /// all.
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::At(path)
            | Self::Inside(path)
            | Self::Matching { folder: path, .. }
            | Self::Named { folder: path, .. } => path,
        }
    }
}

/// Returns the home folder that bash puts in place of `~`.
pub(crate) fn home() -> Option<String> {
    std::env::var("HOME").ok().filter(|home| home.starts_with('/'))
}
