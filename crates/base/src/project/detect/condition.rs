//! Checks for one folder if the conditions of a row of `table.toml` (the list of project kinds) hold. Also replaces the
//! placeholders in a row's commands, such as `{install}`, and gives the reason when a row has no check.

use super::findings::FolderSite;
use super::manifest::package_json::TestScript;
use super::manifest::python::PytestPlace;
use super::manifest::python::test_files::UnittestStart;
use super::recipe::justfile::{self, JustRecipe};
use super::recipe::makefile::{self, MakeTarget};
use super::table::{CheckCondition, DetectionRow, RowCondition};
use super::{NoCheckReason, ProjectLanguage};

/// Returns true when the condition `when` of a row of `table.toml` holds for a folder. A row without this condition
/// always passes.
pub(super) fn row_holds(site: &FolderSite<'_>, row: &DetectionRow) -> bool {
    match row.when {
        None => true,
        Some(RowCondition::YarnBerry) => site.package().is_yarn_berry(),
        Some(RowCondition::NamedManager) => site.package().manager() == Some(row.manager.as_str()),
        Some(RowCondition::UvProject) => site.python().has_tool("uv"),
        Some(RowCondition::PoetryProject) => site.python().has_tool("poetry"),
        Some(RowCondition::PythonProject) => site.python().is_project(),
    }
}

/// Returns true when the condition of a check (a test command) holds for a folder.
pub(super) fn check_holds(site: &FolderSite<'_>, row: &DetectionRow, when: CheckCondition) -> bool {
    match when {
        CheckCondition::TestScript => site.package().test_script() == TestScript::Runs,
        CheckCondition::PytestDeclared => site.python().pytest(&row.manager) != PytestPlace::Undeclared,
        CheckCondition::PytestUndeclared => site.python().needs_pytest(),
        CheckCondition::UnittestFromRoot => site.python().tests.unittest == Some(UnittestStart::Root),
        CheckCondition::UnittestFromFolder => {
            matches!(site.python().tests.unittest, Some(UnittestStart::Folder(_)))
        }
        CheckCondition::Nextest => site.cargo().configures_nextest && (site.has_program)("cargo-nextest"),
        CheckCondition::JustRecipe => just_test(site, row).1 == JustRecipe::Runs,
        CheckCondition::MakeTest => make(site, row, "test").1 == MakeTarget::Runs,
        CheckCondition::MakeCheck => make(site, row, "check").1 == MakeTarget::Runs,
    }
}

/// Returns the words of a command from `table.toml`. Placeholders in braces, such as `{install}`, are replaced.
pub(super) fn words(site: &FolderSite<'_>, row: &DetectionRow, command: &str) -> Vec<String> {
    let fill = |word: &str| match word {
        "{extra}" => extra(&site.python().pytest(&row.manager), &row.manager),
        "{install}" => site.python().installs(),
        "{workspace}" if site.cargo().leaves_members_out => vec!["--workspace".to_owned()],
        "{workspace}" => Vec::new(),
        "{tests}" => match &site.python().tests.unittest {
            Some(UnittestStart::Folder(folder)) => vec![folder.clone()],
            Some(UnittestStart::Root) | None => Vec::new(),
        },
        other => vec![other.to_owned()],
    };
    command.split(' ').flat_map(fill).collect()
}

/// Returns the option with which a package manager installs pytest, if pytest is in an extra (a list of optional
/// dependencies) or in a dependency group.
fn extra(place: &PytestPlace, manager: &str) -> Vec<String> {
    let (extra, group) = if manager == "poetry" { ("--extras", "--with") } else { ("--extra", "--group") };
    match place {
        PytestPlace::Installed | PytestPlace::Undeclared => Vec::new(),
        PytestPlace::Extra(name) => vec![extra.to_owned(), name.clone()],
        PytestPlace::Group(name) => vec![group.to_owned(), name.clone()],
    }
}

/// Returns the reason why no check of a row applies to a folder. Returns `None` when none of the known reasons fits.
pub(super) fn reason(site: &FolderSite<'_>, row: &DetectionRow) -> Option<NoCheckReason> {
    match row.language {
        Some(ProjectLanguage::JavaScript) => {
            let manifest = site.path("package.json");
            match site.package().test_script() {
                TestScript::Runs => None,
                TestScript::Missing => Some(NoCheckReason::NoTestScript { manifest }),
                TestScript::OnlyPrints => Some(NoCheckReason::ScriptOnlyPrints { manifest }),
                TestScript::Unreadable => Some(NoCheckReason::UnreadableManifest { manifest }),
            }
        }
        Some(ProjectLanguage::Python) if site.python().needs_pytest() => {
            Some(NoCheckReason::PytestUndeclared { manifest: site.path("pyproject.toml") })
        }
        Some(ProjectLanguage::Python) => Some(NoCheckReason::NoPythonTests),
        Some(ProjectLanguage::Rust | ProjectLanguage::Go | ProjectLanguage::Java) => None,
        None => runner_reason(site, row),
    }
}

fn runner_reason(site: &FolderSite<'_>, row: &DetectionRow) -> Option<NoCheckReason> {
    match row.checks.first()?.when? {
        CheckCondition::JustRecipe => {
            let (justfile, recipe) = just_test(site, row);
            match recipe {
                JustRecipe::Runs => None,
                JustRecipe::Missing => Some(NoCheckReason::NoTestTarget { file: justfile }),
                JustRecipe::DoesNothing => Some(NoCheckReason::TargetDoesNothing { file: justfile, target: "test" }),
                JustRecipe::NeedsArguments => Some(NoCheckReason::RecipeNeedsArguments { justfile }),
            }
        }
        CheckCondition::MakeTest => make_reason(site, row, "test"),
        CheckCondition::MakeCheck => make_reason(site, row, "check"),
        CheckCondition::TestScript
        | CheckCondition::PytestDeclared
        | CheckCondition::PytestUndeclared
        | CheckCondition::UnittestFromRoot
        | CheckCondition::UnittestFromFolder
        | CheckCondition::Nextest => None,
    }
}

fn make_reason(site: &FolderSite<'_>, row: &DetectionRow, target: &'static str) -> Option<NoCheckReason> {
    let (makefile, found) = make(site, row, target);
    match found {
        MakeTarget::Runs => None,
        MakeTarget::Missing => Some(NoCheckReason::NoTestTarget { file: makefile }),
        MakeTarget::DoesNothing => Some(NoCheckReason::TargetDoesNothing { file: makefile, target }),
        MakeTarget::IsUpToDate => Some(NoCheckReason::TargetIsUpToDate { makefile, target }),
    }
}

/// Returns the path of the justfile, and the answer to the question whether its recipe `test` tests something.
fn just_test(site: &FolderSite<'_>, row: &DetectionRow) -> (String, JustRecipe) {
    let path = row.markers.first().and_then(|marker| site.marker(marker)).unwrap_or_default();
    let recipe = justfile::recipe(&site.files.text(&path).unwrap_or_default(), "test");
    (path, recipe)
}

/// Returns the path of the makefile, and the answer to the question whether its target `name` tests something.
fn make(site: &FolderSite<'_>, row: &DetectionRow, name: &str) -> (String, MakeTarget) {
    let path = row.markers.first().and_then(|marker| site.marker(marker)).unwrap_or_default();
    let text = site.files.text(&path).unwrap_or_default();
    let target = makefile::target(&text, name, site.files.has_entry(&site.path(name)));
    (path, target)
}
