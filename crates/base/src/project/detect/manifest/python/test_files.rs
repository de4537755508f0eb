//! Examines the test files of a Python project. Finds out if they need pytest, and in which folder unittest must start
//! to find them.

use crate::project::detect::files::{RepositoryFiles, join, parent};

/// The folders in which tests usually are.
const FOLDERS: &[&str] = &["tests", "test"];

/// The maximum number of test files that are read. The first files already show whether the tests need pytest.
const FILES_MAX: usize = 100;

/// The maximum number of folder levels, counted from the folder `tests`, that are searched for test files.
const DEPTH_MAX: usize = 4;

/// The facts about the tests of a Python project.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PythonTests {
    pub(crate) found: bool,
    /// True when a test imports pytest, is a plain function, or is in a project with a `conftest.py`. unittest would
    /// not run such tests.
    pub(crate) need_pytest: bool,
    /// The folder in which unittest must start to find tests, or `None` when it would find none.
    pub(crate) unittest: Option<UnittestStart>,
}

/// The folder in which unittest must start to find the tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnittestStart {
    /// unittest starts in the folder of the project, because the tests are in it or in packages below it.
    Root,
    /// unittest starts in this folder of tests, because the folder is no package. The path is relative to the project.
    Folder(String),
}

impl PythonTests {
    pub(crate) fn read(files: &RepositoryFiles, folder: &str) -> Self {
        let mut found = Self::default();
        for path in test_files(files, folder) {
            let name = path.rsplit('/').next().unwrap_or(&path);
            if name == "conftest.py" {
                found.need_pytest = true;
                continue;
            }
            let text = files.text(&join(folder, &path)).unwrap_or_default();
            found.found = true;
            found.need_pytest |= needs_pytest(&text);
            // unittest looks only at files with names like `test_login.py`.
            if name.starts_with("test") && uses_unittest(&text) {
                let start = unittest_start(files, folder, &path);
                // The folder of the project is the preferred start, because the imports in the tests are written for
                // it.
                if found.unittest.is_none() || start == Some(UnittestStart::Root) {
                    found.unittest = start;
                }
            }
        }
        if found.need_pytest {
            found.unittest = None;
        }
        found
    }
}

/// Returns the test files and `conftest.py` files, relative to the folder of the project.
fn test_files(files: &RepositoryFiles, folder: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open: Vec<(String, usize)> = vec![(String::new(), 0)];
    while let Some((at, depth)) = open.pop() {
        for entry in files.entries(join(folder, &at).trim_end_matches('/')) {
            let path = join(&at, &entry.name);
            let is_searched = if depth == 0 { FOLDERS.contains(&entry.name.as_str()) } else { depth < DEPTH_MAX };
            if entry.is_folder && is_searched {
                open.push((path, depth + 1));
            } else if is_test_file(&entry.name) && found.len() < FILES_MAX && files.has(&join(folder, &path)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn is_test_file(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".py") else { return false };
    stem.starts_with("test_") || stem.ends_with("_test") || ["test", "tests", "conftest"].contains(&stem)
}

fn needs_pytest(text: &str) -> bool {
    let starts = ["import pytest", "from pytest", "def test_", "async def test_"];
    text.lines().any(|line| starts.iter().any(|start| line.starts_with(start)))
}

fn uses_unittest(text: &str) -> bool {
    let imports = |line: &str| line.starts_with("import unittest") || line.starts_with("from unittest");
    text.lines().any(|line| imports(line.trim_start())) && text.contains("TestCase")
}

/// Returns the folder in which unittest must start to find a test file. unittest enters only folders that are packages
/// (folders with an `__init__.py`).
fn unittest_start(files: &RepositoryFiles, folder: &str, path: &str) -> Option<UnittestStart> {
    let is_package = |at: &str| files.has(&join(folder, &join(at, "__init__.py")));
    let mut at = parent(path).unwrap_or_default();
    while is_package(at) && !at.is_empty() {
        at = parent(at).unwrap_or_default();
    }
    match at {
        "" => Some(UnittestStart::Root),
        at if FOLDERS.contains(&at) => Some(UnittestStart::Folder(at.to_owned())),
        _ => None,
    }
}
