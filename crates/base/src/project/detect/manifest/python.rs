//! Reads the dependencies of a Python project, and where it declares pytest.

mod requirements;
pub(crate) mod test_files;

use toml::{Table, Value};

use crate::project::detect::files::{RepositoryFiles, join};

use test_files::PythonTests;

/// A folder with Python code, as its manifests and tests describe it.
#[derive(Debug)]
pub(crate) struct PythonFolder {
    folder: String,
    /// The content of pyproject.toml. Empty when it is missing or no TOML.
    manifest: Table,
    has_setup_py: bool,
    /// The requirement files that the setup installs with pip. Their paths are relative to the folder of the Python
    /// project.
    requirements: Vec<String>,
    /// The requirement files, and the files that they include. Their paths are relative to the repository.
    requirement_inputs: Vec<String>,
    requires_pytest: bool,
    configures_pytest: bool,
    pub(crate) tests: PythonTests,
}

/// The place where a project declares pytest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PytestPlace {
    /// The setup installs pytest without a further option.
    Installed,
    /// An extra of this name (a list of optional dependencies) contains pytest.
    Extra(String),
    /// A dependency group of this name contains pytest. The setup does not install the group by default.
    Group(String),
    Undeclared,
}

impl PythonFolder {
    pub(crate) fn read(files: &RepositoryFiles, folder: &str) -> Self {
        let text = |name: &str| files.text(&join(folder, name)).unwrap_or_default();
        let manifest: Table = text("pyproject.toml").parse().unwrap_or_default();
        let has_line = |name: &str, line: &str| text(name).lines().any(|found| found.trim() == line);
        let configures_pytest = files.has(&join(folder, "pytest.ini"))
            || find(&manifest, &["tool", "pytest"]).is_some()
            || has_line("setup.cfg", "[tool:pytest]")
            || has_line("tox.ini", "[pytest]");
        let requirements = requirements::installed(files, folder);
        let gathered = requirements::gather(files, folder, &requirements);
        Self {
            folder: folder.to_owned(),
            manifest,
            has_setup_py: files.has(&join(folder, "setup.py")),
            requires_pytest: gathered.names.iter().any(|name| is_pytest(name)),
            requirement_inputs: gathered.files,
            requirements,
            configures_pytest,
            tests: PythonTests::read(files, folder),
        }
    }

    /// Returns true when pyproject.toml has a section for a tool.
    pub(crate) fn has_tool(&self, tool: &str) -> bool {
        find(&self.manifest, &["tool", tool]).is_some()
    }

    /// Returns true when there is something to install or to test. A pyproject.toml that only configures tools such as
    /// ruff is not enough.
    pub(crate) fn is_project(&self) -> bool {
        let is_package = self.manifest.contains_key("project") || self.manifest.contains_key("build-system");
        is_package || self.has_setup_py || self.configures_pytest || self.tests.found
    }

    /// Returns true when the tests need pytest: the project has a configuration of pytest, or the code of the tests
    /// needs it.
    pub(crate) fn needs_pytest(&self) -> bool {
        self.configures_pytest || self.tests.need_pytest
    }

    /// Returns the place where the project declares pytest for this package manager (`pip`, `poetry` or `uv`).
    pub(crate) fn pytest(&self, manager: &str) -> PytestPlace {
        if manager == "pip" {
            if self.requires_pytest {
                return PytestPlace::Installed;
            }
            if !self.installs_package() {
                return self.group().map_or(PytestPlace::Undeclared, PytestPlace::Group);
            }
        }
        if self.is_main_dependency(manager) {
            return PytestPlace::Installed;
        }
        if manager == "poetry"
            && let Some(place) = self.poetry_group()
        {
            return place;
        }
        let extras = find(&self.manifest, &["project", "optional-dependencies"]).or(self.poetry_extras(manager));
        let extras = extras.and_then(Value::as_table).into_iter().flatten();
        let extra = first_with_pytest(extras.map(|(name, listed)| (name, strings(listed))));
        let by_default = |name: &str| match manager {
            // poetry installs every group that is not optional. pip installs no group.
            "poetry" => true,
            "uv" => self.is_default_group_of_uv(name),
            _ => false,
        };
        let group = self.group();
        match (group, extra) {
            (Some(group), _) if by_default(&group) => PytestPlace::Installed,
            (_, Some(extra)) => PytestPlace::Extra(extra),
            (Some(group), None) => PytestPlace::Group(group),
            (None, None) => PytestPlace::Undeclared,
        }
    }

    /// Returns the words after `pip install`. The list is empty when there is nothing to install.
    pub(crate) fn installs(&self) -> Vec<String> {
        let mut words: Vec<String> =
            self.requirements.iter().flat_map(|file| ["-r".to_owned(), file.clone()]).collect();
        let place = self.pytest("pip");
        if self.installs_package() {
            words.push("-e".to_owned());
            words.push(match &place {
                PytestPlace::Extra(name) => format!(".[{name}]"),
                PytestPlace::Installed | PytestPlace::Group(_) | PytestPlace::Undeclared => ".".to_owned(),
            });
        }
        match place {
            PytestPlace::Installed | PytestPlace::Extra(_) => {}
            // Older versions of pip know no groups, so the requirements of the group are written out.
            PytestPlace::Group(name) => words.extend(self.group_requirements(&name)),
            PytestPlace::Undeclared if self.needs_pytest() => words.push("pytest".to_owned()),
            PytestPlace::Undeclared => {}
        }
        words
    }

    /// Returns the files that decide the result of `installs`, relative to the repository.
    pub(crate) fn inputs(&self) -> Vec<String> {
        let mut files = self.requirement_inputs.clone();
        let declares = self.installs_package() || matches!(self.pytest("pip"), PytestPlace::Group(_));
        if declares || files.is_empty() {
            files.extend(["pyproject.toml", "setup.py", "setup.cfg"].map(|name| join(&self.folder, name)));
        }
        files
    }

    /// Returns true when pip installs the project itself. In a project with requirement files, pip does so only when
    /// the project says how it is built (`build-system` or `setup.py`). Otherwise setuptools would have to guess, and
    /// would fail in a folder with several packages.
    fn installs_package(&self) -> bool {
        let is_built = self.manifest.contains_key("build-system") || self.has_setup_py;
        is_built || (self.requirements.is_empty() && self.manifest.contains_key("project"))
    }

    /// Returns true when pytest is among the dependencies that are always installed.
    fn is_main_dependency(&self, manager: &str) -> bool {
        let paths: &[&[&str]] = match manager {
            "uv" => &[&["project", "dependencies"], &["tool", "uv", "dev-dependencies"]],
            "poetry" => &[
                &["project", "dependencies"],
                &["tool", "poetry", "dependencies"],
                &["tool", "poetry", "dev-dependencies"],
            ],
            _ => &[&["project", "dependencies"]],
        };
        let mut found = paths.iter().filter_map(|path| find(&self.manifest, path));
        // poetry lists dependencies as a table. An optional dependency is installed only by an extra (a list of
        // optional dependencies).
        found.any(|listed| match listed.as_table() {
            Some(table) => table.iter().any(|(name, wanted)| is_pytest(name) && !is_optional(wanted)),
            None => strings(listed).iter().any(|name| is_pytest(name)),
        })
    }

    /// Returns the place of pytest in poetry's own dependency groups (`tool.poetry.group`).
    fn poetry_group(&self) -> Option<PytestPlace> {
        let groups = find(&self.manifest, &["tool", "poetry", "group"])?.as_table()?;
        let has_pytest = |group: &Value| {
            let listed = group.get("dependencies").and_then(Value::as_table);
            listed.is_some_and(|listed| listed.keys().any(|name| is_pytest(name)))
        };
        let (name, group) = groups.iter().find(|(_, group)| has_pytest(group))?;
        Some(if is_optional(group) { PytestPlace::Group(name.clone()) } else { PytestPlace::Installed })
    }

    fn poetry_extras(&self, manager: &str) -> Option<&Value> {
        if manager == "poetry" { find(&self.manifest, &["tool", "poetry", "extras"]) } else { None }
    }

    /// Returns true when `uv sync` installs a dependency group without an option that names the group.
    fn is_default_group_of_uv(&self, name: &str) -> bool {
        match find(&self.manifest, &["tool", "uv", "default-groups"]) {
            None => name == "dev",
            Some(Value::String(all)) => all == "all",
            Some(listed) => strings(listed).iter().any(|group| group == name),
        }
    }

    /// Returns the dependency group that has pytest. The group `dev` is checked first, because uv installs it by
    /// default.
    fn group(&self) -> Option<String> {
        let groups = find(&self.manifest, &["dependency-groups"])?.as_table()?;
        let mut names: Vec<&String> = groups.keys().collect();
        names.sort_by_key(|name| *name != "dev");
        first_with_pytest(names.into_iter().map(|name| (name, self.group_requirements(name))))
    }

    /// Returns the requirements of a dependency group, and of the groups that it includes.
    fn group_requirements(&self, name: &str) -> Vec<String> {
        let (mut seen, mut open) = (Vec::new(), vec![name.to_owned()]);
        let mut found = Vec::new();
        while let Some(name) = open.pop() {
            if seen.contains(&name) {
                continue;
            }
            let listed = find(&self.manifest, &["dependency-groups", &name]);
            for entry in listed.and_then(Value::as_array).into_iter().flatten() {
                found.extend(entry.as_str().map(str::to_owned));
                open.extend(entry.get("include-group").and_then(Value::as_str).map(str::to_owned));
            }
            seen.push(name);
        }
        found
    }
}

/// Returns the first name in the list whose requirements include pytest.
fn first_with_pytest<'n>(mut listed: impl Iterator<Item = (&'n String, Vec<String>)>) -> Option<String> {
    let found = listed.find(|(_, requirements)| requirements.iter().any(|name| is_pytest(name)));
    found.map(|(name, _)| name.clone())
}

/// Returns true when a requirement installs pytest: pytest itself, or one of its plugins, which need it.
fn is_pytest(requirement: &str) -> bool {
    let name = requirements::name(requirement);
    name == "pytest" || name.starts_with("pytest-")
}

fn is_optional(value: &Value) -> bool {
    value.get("optional").and_then(Value::as_bool).unwrap_or_default()
}

fn strings(value: &Value) -> Vec<String> {
    let listed = value.as_array().into_iter().flatten();
    listed.filter_map(|entry| entry.as_str().map(str::to_owned)).collect()
}

fn find<'t>(table: &'t Table, path: &[&str]) -> Option<&'t Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(*key))
}
