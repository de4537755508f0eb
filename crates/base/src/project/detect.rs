//! Finds out how a project is set up and checked, from the files of its repository: the language, the commands that
//! install dependencies, and the command that runs the tests.
//!
//! The kinds of projects are the rows of `detect/table.toml`. In one folder the rows are chosen like this:
//!
//! ```text
//! languages   for each language, the first row that matches
//! setup       the setup commands of all these rows
//! check       the check of the first of these rows that has a check
//!             in a folder with two or more languages: the target `test` of a justfile or makefile, if there is one
//!             without such a check: the target `test` of a justfile or makefile, or the target `check` of a makefile
//! ```
//!
//! The person may work in a subfolder. Then the search goes from the person's folder up to the root, and the first
//! folder that has a check is used. The result also names the check of the root. A folder with a manifest (such as
//! `package.json`) but without tests is not used, because the check of a folder above tests a change in it. The setup
//! comes from the folder that has the check. If that folder is a member of a workspace of npm, pnpm, yarn, bun or uv,
//! the setup comes from the root of the workspace.
//!
//! No program is started. A file is read only up to a size limit, and a link that leads out of the repository is
//! treated as missing.

pub mod clients;
mod condition;
pub mod copy;
mod files;
mod findings;
pub mod login;
mod manifest;
mod no_tests;
mod pattern;
mod recipe;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Component, Path};

use serde::Deserialize;

pub use files::RepositoryFiles;
pub use no_tests::no_tests_exit_code;

use findings::FolderFindings;

/// The setup commands and the check (the test command) that were found for a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DetectedProject {
    /// The folder whose files decided about the setup and the check, relative to the root of the repository. Empty for
    /// the root.
    pub folder: String,
    /// The languages of the folder, in the order of the rows of `table.toml`.
    pub languages: Vec<DetectedLanguage>,
    pub setup: Vec<DetectedSetup>,
    pub check: Option<DetectedCheck>,
    /// The check of the repository's root, if `check` is the check of a subfolder. `None` otherwise.
    pub elsewhere: Option<DetectedCheck>,
    /// The reason why no check was found. `None` when a check was found.
    pub no_check: Option<NoCheckReason>,
}

/// A language that was recognised by a row of `table.toml`, the list of the kinds of projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedLanguage {
    pub language: ProjectLanguage,
    /// The program that installs dependencies, or builds or runs the project, such as `npm` or `uv`.
    pub manager: &'static str,
    /// The file by which a person recognises the language, such as `package-lock.json`. Its path is relative to the
    /// root of the repository.
    pub marker: String,
    /// The name of the row in `table.toml` that recognised the language.
    pub row: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum ProjectLanguage {
    JavaScript,
    Python,
    Rust,
    Go,
    Java,
}

/// A command that prepares a worktree, such as `npm ci`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedSetup {
    pub words: Vec<String>,
    /// The folder in which the command runs, relative to the root of the repository. Empty for the root.
    pub folder: String,
    /// The files whose content decides whether the command runs again, relative to the root of the repository.
    pub inputs: Vec<String>,
    pub seconds: u32,
}

/// A command that tests the work of a task, such as `npm test`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedCheck {
    pub words: Vec<String>,
    /// The folder in which the command runs, relative to the root of the repository. Empty for the root.
    pub folder: String,
    pub seconds: u32,
    /// The name of the row in `table.toml` that has this check.
    pub row: &'static str,
}

/// The reason why no check was found. The paths are relative to the root of the repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCheckReason {
    #[error("no package.json, pyproject.toml, Cargo.toml, go.mod, Makefile or other known project file was found")]
    NoMarker,
    #[error("only subfolders have project files: {}", .0.join(", "))]
    MarkersBelow(Vec<String>),
    #[error("{manifest} has no test script")]
    NoTestScript { manifest: String },
    #[error("the test script of {manifest} only prints a message")]
    ScriptOnlyPrints { manifest: String },
    #[error("{manifest} cannot be read as JSON")]
    UnreadableManifest { manifest: String },
    #[error("there are no tests that pytest or unittest would find")]
    NoPythonTests,
    #[error("the tests need pytest, but {manifest} does not list it as a dependency")]
    PytestUndeclared { manifest: String },
    #[error("the recipe `test` of {justfile} needs arguments")]
    RecipeNeedsArguments { justfile: String },
    #[error("the target `{target}` of {file} tests nothing: it is empty or only prints")]
    TargetDoesNothing { file: String, target: &'static str },
    #[error(
        "`make {target}` does nothing because a file or folder has that name; add `.PHONY: {target}` to {makefile}"
    )]
    TargetIsUpToDate { makefile: String, target: &'static str },
    #[error("{file} has no target `test`")]
    NoTestTarget { file: String },
}

/// Finds the setup and the check for work in a folder of the repository. `folder` is the person's current folder,
/// relative to the root. `has_program` returns true when a program is installed.
pub fn detect(files: &RepositoryFiles, folder: &Path, has_program: &dyn Fn(&str) -> bool) -> DetectedProject {
    let mut nearest: Option<FolderFindings> = None;
    let mut at = relative(folder);
    let root = FolderFindings::of(files, "", has_program);
    while let Some(above) = files::parent(&at).map(str::to_owned) {
        let found = FolderFindings::of(files, &at, has_program);
        if found.check.is_some() {
            return DetectedProject { elsewhere: root.check, ..found.into_project() };
        }
        if nearest.is_none() && !found.languages.is_empty() {
            nearest = Some(found);
        }
        at = above;
    }
    if root.check.is_some() {
        return root.into_project();
    }
    let chosen = nearest.unwrap_or(root);
    if chosen.no_check.is_some() || !chosen.languages.is_empty() {
        return chosen.into_project();
    }
    let below = findings::markers_below(files);
    let reason = if below.is_empty() { NoCheckReason::NoMarker } else { NoCheckReason::MarkersBelow(below) };
    DetectedProject { no_check: Some(reason), ..chosen.into_project() }
}

/// Returns the path of a folder as text with slashes. Returns the empty path of the root for a path that is not below
/// the root.
fn relative(folder: &Path) -> String {
    let part = |component| match component {
        Component::Normal(name) => Some(name.to_str()),
        Component::CurDir => None,
        Component::Prefix(_) | Component::RootDir | Component::ParentDir => Some(None),
    };
    let parts: Option<Vec<&str>> = folder.components().filter_map(part).collect();
    parts.unwrap_or_default().join("/")
}

impl ProjectLanguage {
    pub fn name(self) -> &'static str {
        match self {
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::Java => "Java",
        }
    }
}

/// Writes the command as a person types it, and the folder when it is not the root: `npm test in packages/shop`.
impl fmt::Display for DetectedCheck {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_command(to, &self.words, &self.folder)
    }
}

impl fmt::Display for DetectedSetup {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_command(to, &self.words, &self.folder)
    }
}

fn write_command(to: &mut fmt::Formatter<'_>, words: &[String], folder: &str) -> fmt::Result {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./:=@%+,".contains(letter);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    write!(to, "{}", quoted.collect::<Vec<_>>().join(" "))?;
    if folder.is_empty() { Ok(()) } else { write!(to, " in {folder}") }
}
