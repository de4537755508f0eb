//! Reads requirement files of pip.

use crate::project::detect::files::{RepositoryFiles, join, parent, resolve};

/// The names of files with the requirements of tests and tools, next to `requirements.txt`.
const FURTHER: &[&str] = &[
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements-test.txt",
    "requirements_test.txt",
    "requirements-tests.txt",
    "test-requirements.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
];

/// The maximum number of requirement files that are read, including the files that other files include.
const FILES_MAX: usize = 32;

/// The requirements of several files and of the files that they include.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GatheredRequirements {
    /// The paths of all files that were read, relative to the repository.
    pub(crate) files: Vec<String>,
    /// The lines that name a package.
    pub(crate) names: Vec<String>,
}

/// Returns the names of the requirement files in the folder that the setup installs with pip.
pub(crate) fn installed(files: &RepositoryFiles, folder: &str) -> Vec<String> {
    let names = std::iter::once("requirements.txt").chain(FURTHER.iter().copied());
    names.filter(|name| files.has(&join(folder, name))).map(str::to_owned).collect()
}

/// Reads requirement files, and follows the files that they include (`-r base.txt`) or are limited by (`-c pins.txt`).
pub(crate) fn gather(files: &RepositoryFiles, folder: &str, first: &[String]) -> GatheredRequirements {
    let mut found =
        GatheredRequirements { files: first.iter().map(|name| join(folder, name)).collect(), ..Default::default() };
    let mut next = 0;
    while let Some(path) = found.files.get(next).cloned() {
        next += 1;
        let text = files.text(&path).unwrap_or_default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let Some(included) = included(line) else {
                found.names.push(line.to_owned());
                continue;
            };
            let included = resolve(parent(&path).unwrap_or_default(), included);
            let is_new = |path: &String| !found.files.contains(path) && files.has(path);
            if let Some(included) = included.filter(is_new)
                && found.files.len() < FILES_MAX
            {
                found.files.push(included);
            }
        }
    }
    found
}

/// Returns the normal form of the package's name in a requirement: `pytest-cov` for `Pytest_Cov[toml]>=4 ; …`.
pub(crate) fn name(requirement: &str) -> String {
    let requirement = requirement.trim_start();
    let end = requirement.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_.".contains(letter));
    requirement[..end.unwrap_or(requirement.len())].to_ascii_lowercase().replace(['_', '.'], "-")
}

/// Returns the file that a line of a requirement file includes, or `None` for any other line.
fn included(line: &str) -> Option<&str> {
    let options = ["--requirement", "--constraint", "-r", "-c"];
    let rest = options.into_iter().find_map(|option| line.strip_prefix(option))?;
    let file = rest.trim_start_matches(['=', ' ', '\t']);
    Some(file.split(" #").next().unwrap_or(file).trim()).filter(|file| !file.is_empty())
}
