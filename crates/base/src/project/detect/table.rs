//! Reads `table.toml`, the list of the kinds of projects.

use std::sync::OnceLock;

use serde::Deserialize;

use super::ProjectLanguage;

const TABLE: &str = include_str!("table.toml");

/// The content of `table.toml`, the list of the kinds of projects.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DetectionTable {
    #[serde(rename = "row")]
    pub(super) rows: Vec<DetectionRow>,
    pub(super) no_tests: Vec<NoTestsRow>,
}

/// One row of `table.toml`: one kind of project.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DetectionRow {
    pub(super) name: String,
    /// The programming language of the project, or `None` for the row of a task runner such as make.
    pub(super) language: Option<ProjectLanguage>,
    pub(super) manager: String,
    pub(super) markers: Vec<String>,
    pub(super) when: Option<RowCondition>,
    #[serde(default)]
    pub(super) setup: Vec<String>,
    #[serde(default)]
    pub(super) inputs: Vec<String>,
    pub(super) checks: Vec<CheckRow>,
    #[serde(default)]
    pub(super) joins_languages: bool,
}

impl DetectionRow {
    /// Returns true when the row matches only a folder that has a lock file in addition to its manifest.
    pub(super) fn has_lock(&self) -> bool {
        self.markers.len() > 1
    }
}

/// One check (a test command) of a row in `table.toml`, and the condition under which it is used.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckRow {
    /// The condition of the check. `None` means that the check always applies.
    pub(super) when: Option<CheckCondition>,
    pub(super) run: String,
}

/// A condition for a row of `table.toml`, in addition to its markers (the files that must exist).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RowCondition {
    /// The lock file belongs to yarn 2 or later.
    YarnBerry,
    /// package.json names the package manager of this row of `table.toml`.
    NamedManager,
    /// pyproject.toml has a section for uv.
    UvProject,
    /// pyproject.toml has a section for poetry.
    PoetryProject,
    /// The folder has a Python package, a configuration of pytest, or tests.
    PythonProject,
}

/// A condition under which a check (a test command) is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CheckCondition {
    /// package.json has a test script that does more than print.
    TestScript,
    /// The setup commands of this row of `table.toml` install pytest.
    PytestDeclared,
    /// The project has a configuration of pytest, or tests that need pytest, and does not declare pytest.
    PytestUndeclared,
    /// unittest finds the tests when it starts in the folder of the project.
    UnittestFromRoot,
    /// unittest finds the tests only when it starts in the folder of the tests.
    UnittestFromFolder,
    /// cargo-nextest is configured and installed.
    Nextest,
    /// The justfile has a recipe `test` that needs no arguments.
    JustRecipe,
    /// The makefile has a target `test` that does something.
    MakeTest,
    /// The makefile has a target `check` that does something.
    MakeCheck,
}

/// A test program, and the exit code with which it says that it found no tests.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoTestsRow {
    /// The first words of the commands that run this test program.
    pub(super) words: String,
    pub(super) code: i32,
}

/// Returns the content of `table.toml`. It is empty when the file cannot be parsed; a test fails in that case.
pub(super) fn table() -> &'static DetectionTable {
    static READ: OnceLock<DetectionTable> = OnceLock::new();
    READ.get_or_init(|| toml::from_str(TABLE).unwrap_or_default())
}
