//! Reads the package manager, the test script and the workspace from `package.json` and the files next to it.

use serde_json::Value;

use crate::project::detect::files::{RepositoryFiles, join};
use crate::project::detect::recipe::script;

/// The package managers that a package.json may name.
const MANAGERS: &[&str] = &["npm", "pnpm", "yarn", "bun"];

/// The maximum number of lines at the beginning of `yarn.lock` that are searched for the version of its format.
const LOCK_LINES: usize = 20;

/// A `package.json` with the facts that the files next to it add.
#[derive(Debug)]
pub(crate) struct PackageManifest {
    /// The content of `package.json`, or `None` when the file is missing or is no JSON object.
    content: Option<Value>,
    has_pnpm_workspace: bool,
    has_yarnrc_yml: bool,
    yarn_lock: Option<String>,
}

/// The state of the test script in a `package.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestScript {
    Runs,
    Missing,
    OnlyPrints,
    /// package.json is no JSON object.
    Unreadable,
}

impl PackageManifest {
    pub(crate) fn read(files: &RepositoryFiles, folder: &str) -> Self {
        let text = files.text(&join(folder, "package.json")).unwrap_or_default();
        Self {
            content: serde_json::from_str(&text).ok().filter(Value::is_object),
            has_pnpm_workspace: files.has(&join(folder, "pnpm-workspace.yaml")),
            has_yarnrc_yml: files.has(&join(folder, ".yarnrc.yml")),
            yarn_lock: files.text(&join(folder, "yarn.lock")),
        }
    }

    /// Returns the package manager that `package.json` names in `packageManager` or `devEngines`. When it names none, a
    /// file `pnpm-workspace.yaml` means pnpm.
    pub(crate) fn manager(&self) -> Option<&'static str> {
        let named = self.named_manager().map(|(name, _)| name);
        let known = MANAGERS.iter().find(|manager| named == Some(**manager)).copied();
        known.or_else(|| self.has_pnpm_workspace.then_some("pnpm"))
    }

    /// Returns the name and the version of the package manager that `package.json` names, such as
    /// `pnpm@9.1.0+sha512.…`.
    fn named_manager(&self) -> Option<(&str, &str)> {
        let content = self.content.as_ref()?;
        if let Some(named) = content.get("packageManager").and_then(Value::as_str) {
            return Some(named.split_once('@').unwrap_or((named, "")));
        }
        let engine = content.pointer("/devEngines/packageManager")?;
        let engine = engine.as_array().and_then(|engines| engines.first()).unwrap_or(engine);
        let version = engine.get("version").and_then(Value::as_str).unwrap_or_default();
        Some((engine.get("name")?.as_str()?, version))
    }

    /// Returns true when the lock file belongs to yarn 2 or later. The first lines of the lock file normally say it. If
    /// they do not, the version of yarn that `package.json` names decides. Without such a version, the file
    /// `.yarnrc.yml` decides: only yarn 2 or later has it.
    pub(crate) fn is_yarn_berry(&self) -> bool {
        let lock = self.yarn_lock.as_deref().unwrap_or_default();
        for line in lock.lines().take(LOCK_LINES) {
            if line.starts_with("__metadata:") {
                return true;
            }
            if line.starts_with("# yarn lockfile v1") {
                return false;
            }
        }
        let version = self.named_manager().filter(|(name, _)| *name == "yarn").map(|(_, version)| version);
        let digits = |version: &str| version.trim_start_matches(|letter: char| !letter.is_ascii_digit()).to_owned();
        let major = version.map(digits).and_then(|version| version.split('.').next()?.parse::<u32>().ok());
        major.map_or(self.has_yarnrc_yml, |major| major > 1)
    }

    pub(crate) fn test_script(&self) -> TestScript {
        let Some(content) = &self.content else { return TestScript::Unreadable };
        match content.pointer("/scripts/test").and_then(Value::as_str) {
            None => TestScript::Missing,
            Some(command) if command.trim().is_empty() => TestScript::Missing,
            Some(command) if script::only_prints(command) => TestScript::OnlyPrints,
            Some(_) => TestScript::Runs,
        }
    }

    /// Returns the patterns of the folders that belong to the workspace of this package.
    pub(crate) fn workspaces(&self) -> Vec<String> {
        let listed = self.content.as_ref().and_then(|content| content.get("workspaces"));
        let listed = listed.map(|listed| listed.get("packages").unwrap_or(listed));
        let listed = listed.and_then(Value::as_array).into_iter().flatten();
        listed.filter_map(|pattern| pattern.as_str().map(str::to_owned)).collect()
    }
}
