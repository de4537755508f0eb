//! Applies the rows of `table.toml`, the list of the kinds of projects, to one folder.

use std::cell::OnceCell;

use crate::project::settings::team::COMMAND_SECONDS_DEFAULT;

use super::condition;
use super::files::{RepositoryFiles, join};
use super::manifest::cargo::CargoManifest;
use super::manifest::package_json::PackageManifest;
use super::manifest::python::PythonFolder;
use super::manifest::workspace;
use super::table::{DetectionRow, table};
use super::{DetectedCheck, DetectedLanguage, DetectedProject, DetectedSetup, NoCheckReason, ProjectLanguage};

/// The maximum number of folders below the root that are searched for markers, the files that show the kind of a
/// project (such as `Cargo.toml`).
const FOLDERS_MAX: usize = 500;

/// The maximum number of folders with markers (files such as `Cargo.toml`) that a message to a person names.
const SHOWN_MAX: usize = 5;

/// The names of folders that other programs fill, such as package managers and builds. They are not searched for
/// markers (files such as `Cargo.toml`).
const FOREIGN: &[&str] = &["node_modules", "target", "vendor", "venv", "dist", "build"];

/// One folder of the repository, with its manifests (files such as `package.json`). A manifest is read when a row of
/// `table.toml` first needs it.
pub(super) struct FolderSite<'a> {
    pub(super) files: &'a RepositoryFiles,
    pub(super) folder: &'a str,
    pub(super) has_program: &'a dyn Fn(&str) -> bool,
    package: OnceCell<PackageManifest>,
    python: OnceCell<PythonFolder>,
    cargo: OnceCell<CargoManifest>,
}

impl<'a> FolderSite<'a> {
    fn new(files: &'a RepositoryFiles, folder: &'a str, has_program: &'a dyn Fn(&str) -> bool) -> Self {
        let (package, python, cargo) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { files, folder, has_program, package, python, cargo }
    }

    pub(super) fn package(&self) -> &PackageManifest {
        self.package.get_or_init(|| PackageManifest::read(self.files, self.folder))
    }

    pub(super) fn python(&self) -> &PythonFolder {
        self.python.get_or_init(|| PythonFolder::read(self.files, self.folder))
    }

    pub(super) fn cargo(&self) -> &CargoManifest {
        self.cargo.get_or_init(|| CargoManifest::read(self.files, self.folder))
    }

    pub(super) fn path(&self, name: &str) -> String {
        join(self.folder, name)
    }

    /// Returns the path of a marker in the folder. A marker is a file that shows the kind of a project. The text `a|b`
    /// names several files; the first one that exists counts. Returns `None` when none exists.
    pub(super) fn marker(&self, marker: &str) -> Option<String> {
        marker.split('|').map(|name| self.path(name)).find(|path| self.files.has(path))
    }

    fn matches(&self, row: &DetectionRow) -> bool {
        row.markers.iter().all(|marker| self.marker(marker).is_some()) && condition::row_holds(self, row)
    }

    /// Returns the row of `table.toml` that describes the folder as a project of this language. Returns `None` when no
    /// row does.
    fn row(&self, language: ProjectLanguage) -> Option<&'static DetectionRow> {
        let rows: Vec<&DetectionRow> =
            table().rows.iter().filter(|row| row.language == Some(language) && self.matches(row)).collect();
        let named = (language == ProjectLanguage::JavaScript).then(|| self.package().manager()).flatten();
        // `package.json` can name a package manager. The name only decides between managers whose lock files exist,
        // because a manager without a lock file was perhaps never used.
        let preferred = rows.iter().find(|row| row.has_lock() && named == Some(row.manager.as_str()));
        preferred.or(rows.first()).copied()
    }
}

/// The languages, the setup and the check that were found for one folder.
#[derive(Debug)]
pub(super) struct FolderFindings {
    folder: String,
    pub(super) languages: Vec<DetectedLanguage>,
    setup: Vec<DetectedSetup>,
    pub(super) check: Option<DetectedCheck>,
    pub(super) no_check: Option<NoCheckReason>,
}

impl FolderFindings {
    /// Applies the rows of `table.toml` to a folder.
    pub(super) fn of(files: &RepositoryFiles, folder: &str, has_program: &dyn Fn(&str) -> bool) -> Self {
        let site = FolderSite::new(files, folder, has_program);
        let (mut languages, mut setup) = (Vec::new(), Vec::new());
        let (mut check, mut no_check) = (None, None);
        for language in known_languages() {
            // A folder that is a member of a workspace uses the manager, the lock file and the setup of the workspace's
            // root.
            let root = workspace::root_of(files, folder, language);
            let anchor = FolderSite::new(files, root.as_deref().unwrap_or(folder), has_program);
            let Some(row) = anchor.row(language) else { continue };
            let marker = row.markers.last().and_then(|marker| anchor.marker(marker)).unwrap_or_default();
            languages.push(DetectedLanguage { language, manager: &row.manager, marker, row: &row.name });
            setup.extend(setups(&anchor, row, &site));
            match first_check(&site, row) {
                Ok(found) => check = check.or(Some(found)),
                Err(reason) => no_check = no_check.or(reason),
            }
        }
        for row in table().rows.iter().filter(|row| row.language.is_none() && site.matches(row)) {
            let replaces = languages.len() > 1 && row.joins_languages && !is_runner(check.as_ref());
            match first_check(&site, row) {
                Ok(found) if replaces => check = Some(found),
                Ok(found) => check = check.or(Some(found)),
                Err(reason) => no_check = no_check.or(reason),
            }
        }
        let no_check = no_check.filter(|_| check.is_none());
        Self { folder: folder.to_owned(), languages, setup, check, no_check }
    }

    pub(super) fn into_project(self) -> DetectedProject {
        let Self { folder, languages, setup, check, no_check } = self;
        DetectedProject { folder, languages, setup, check, elsewhere: None, no_check }
    }
}

/// Returns true when a check belongs to a task runner such as make or just, and not to a language.
fn is_runner(check: Option<&DetectedCheck>) -> bool {
    let row = check.and_then(|check| table().rows.iter().find(|row| row.name == check.row));
    row.is_some_and(|row| row.language.is_none())
}

/// Returns all languages that `table.toml` knows, in the order of its rows.
fn known_languages() -> Vec<ProjectLanguage> {
    let mut found = Vec::new();
    for language in table().rows.iter().filter_map(|row| row.language) {
        if !found.contains(&language) {
            found.push(language);
        }
    }
    found
}

/// Returns the first check of the row whose condition holds for the folder. Fails with the reason when none holds.
fn first_check(site: &FolderSite<'_>, row: &'static DetectionRow) -> Result<DetectedCheck, Option<NoCheckReason>> {
    let holds = |when| condition::check_holds(site, row, when);
    let found = row.checks.iter().find(|check| check.when.is_none_or(holds));
    let Some(found) = found else { return Err(condition::reason(site, row)) };
    let words = condition::words(site, row, &found.run);
    Ok(DetectedCheck { words, folder: site.folder.to_owned(), seconds: COMMAND_SECONDS_DEFAULT, row: &row.name })
}

/// Returns the setup commands of a row of `table.toml`. `site` is the folder that needs them. They run in `anchor`,
/// which is the root of the workspace of `site`, or the same folder when `site` is in no workspace.
fn setups(anchor: &FolderSite<'_>, row: &DetectionRow, site: &FolderSite<'_>) -> Vec<DetectedSetup> {
    let mut inputs = Vec::new();
    for name in &row.inputs {
        if name == "{requirements}" {
            inputs.extend(anchor.python().inputs());
        } else {
            inputs.push(anchor.path(name));
        }
    }
    // When a workspace has no lock file, only a member's own manifest shows that the dependencies of the member
    // changed.
    if anchor.folder != site.folder && !row.has_lock() {
        inputs.extend(row.markers.iter().filter_map(|marker| site.marker(marker)));
    }
    inputs.retain(|path| anchor.files.has(path));
    let has_nothing = |command: &str| command.contains("{install}") && anchor.python().installs().is_empty();
    let commands = row.setup.iter().filter(|command| !has_nothing(command));
    let setup = |command: &String| DetectedSetup {
        words: condition::words(anchor, row, command),
        folder: anchor.folder.to_owned(),
        inputs: inputs.clone(),
        seconds: COMMAND_SECONDS_DEFAULT,
    };
    commands.map(setup).collect()
}

/// Returns subfolders, at most two levels below the root, that have the markers of a language (files such as
/// `Cargo.toml`).
pub(super) fn markers_below(files: &RepositoryFiles) -> Vec<String> {
    let (mut found, mut searched) = (Vec::new(), 0);
    let mut open: Vec<String> = folders(files, "");
    let mut depth = 1;
    while depth <= 2 && !open.is_empty() {
        let mut deeper = Vec::new();
        for folder in open {
            searched += 1;
            if searched > FOLDERS_MAX || found.len() == SHOWN_MAX {
                return found;
            }
            let site = FolderSite::new(files, &folder, &|_| false);
            if known_languages().into_iter().any(|language| site.row(language).is_some()) {
                found.push(folder);
            } else {
                deeper.extend(folders(files, &folder));
            }
        }
        open = deeper;
        depth += 1;
    }
    found
}

fn folders(files: &RepositoryFiles, folder: &str) -> Vec<String> {
    let entries = files.entries(folder).into_iter();
    let own = entries.filter(|entry| entry.is_folder && !entry.name.starts_with('.'));
    let own = own.filter(|entry| !FOREIGN.contains(&entry.name.as_str()));
    own.map(|entry| join(folder, &entry.name)).collect()
}
