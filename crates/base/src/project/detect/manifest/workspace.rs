//! Finds the root of the workspace that a folder belongs to. npm, yarn and bun declare a workspace by `workspaces` in
//! `package.json`, pnpm by the file `pnpm-workspace.yaml`, and uv by its section in `pyproject.toml`.

use wire::glob::braces::{self, LoneBrace};

use crate::project::detect::ProjectLanguage;
use crate::project::detect::files::{RepositoryFiles, join, parent};
use crate::project::detect::pattern::{PathPattern, parts};

use super::package_json::PackageManifest;

/// Returns the root of the workspace that has `folder` as a member: the nearest such root above `folder`. Returns
/// `None` for a folder that is no member, and for languages whose workspaces need no setup.
pub(crate) fn root_of(files: &RepositoryFiles, folder: &str, language: ProjectLanguage) -> Option<String> {
    let (manifest, members): (_, fn(&RepositoryFiles, &str) -> WorkspaceMembers) = match language {
        ProjectLanguage::JavaScript => ("package.json", javascript_members),
        ProjectLanguage::Python => ("pyproject.toml", uv_members),
        ProjectLanguage::Rust | ProjectLanguage::Go | ProjectLanguage::Java => return None,
    };
    if !files.has(&join(folder, manifest)) {
        return None;
    }
    let mut above = std::iter::successors(parent(folder), |folder| parent(folder));
    let root = above.find(|root| files.has(&join(root, manifest)) && members(files, root).include(below(root, folder)));
    root.map(str::to_owned)
}

/// The member folders of a workspace, as patterns of paths below its root.
#[derive(Debug, Default)]
struct WorkspaceMembers {
    included: Vec<String>,
    excluded: Vec<String>,
}

impl WorkspaceMembers {
    /// Divides the patterns into those that include folders and those that exclude folders. A pattern that starts with
    /// `!` excludes folders.
    fn of(patterns: Vec<String>) -> Self {
        let (excluded, included): (Vec<_>, Vec<_>) = patterns.into_iter().partition(|one| one.starts_with('!'));
        let excluded = excluded.iter().map(|one| one.trim_start_matches('!').to_owned()).collect();
        Self { included, excluded }
    }

    fn include(&self, folder: &str) -> bool {
        let path = parts(folder);
        let any = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, &path));
        any(&self.included) && !any(&self.excluded)
    }
}

/// Returns true when a pattern, which may have braces, matches a path. A pattern that cannot be read matches nothing.
fn fits(pattern: &str, path: &[&str]) -> bool {
    let choices = braces::expand(pattern, LoneBrace::Expand).unwrap_or_default();
    choices.iter().filter_map(|choice| PathPattern::read(choice).ok()).any(|pattern| pattern.matches(path))
}

fn javascript_members(files: &RepositoryFiles, root: &str) -> WorkspaceMembers {
    let mut patterns = PackageManifest::read(files, root).workspaces();
    let pnpm = files.text(&join(root, "pnpm-workspace.yaml"));
    if let Some(pnpm) = pnpm.and_then(|text| crate::ground::yaml::parse(&text).ok()) {
        let listed = pnpm.get("packages").and_then(wire::json::Value::as_list).unwrap_or_default();
        patterns.extend(listed.iter().filter_map(|pattern| pattern.as_text().map(str::to_owned)));
    }
    WorkspaceMembers::of(patterns)
}

fn uv_members(files: &RepositoryFiles, root: &str) -> WorkspaceMembers {
    let text = files.text(&join(root, "pyproject.toml")).unwrap_or_default();
    let manifest: toml::Table = text.parse().unwrap_or_default();
    let uv = manifest.get("tool").and_then(|tool| tool.get("uv"));
    let patterns = |key: &str| {
        let listed = uv.and_then(|uv| uv.get("workspace")?.get(key)?.as_array()).into_iter().flatten();
        listed.filter_map(|pattern| pattern.as_str().map(str::to_owned)).collect()
    };
    WorkspaceMembers { included: patterns("members"), excluded: patterns("exclude") }
}

/// Returns the path of a folder relative to a folder above it.
fn below<'f>(root: &str, folder: &'f str) -> &'f str {
    folder.strip_prefix(root).unwrap_or(folder).trim_start_matches('/')
}
