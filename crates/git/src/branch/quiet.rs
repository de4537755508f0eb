//! Settings that prevent git from running programs that the git configuration names.

use std::collections::BTreeSet;
use std::path::Path;

use crate::GitProblem;
use crate::program::{Git, GitCall};

/// Git settings with fixed values. They override the same settings in every configuration file.
const FIXED: &[(&str, &str)] = &[
    ("commit.gpgSign", "false"),
    ("merge.verifySignatures", "false"),
    ("merge.autoStash", "false"),
    // With the value true, `merge.renormalize` would pass every file through its filter program.
    ("merge.renormalize", "false"),
    ("merge.default", "text"),
    ("rerere.enabled", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("i18n.commitEncoding", "UTF-8"),
];
/// The maximum number of filters and merge drivers in a git configuration. If a configuration has more of them, the git
/// call fails. So many do not occur in practice, and each of them takes space in the environment of a git process.
const DRIVERS_MAX: usize = 200;

/// The git settings for every call in a folder, and the names of the filter programs that these settings switch off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quiet {
    pub settings: Vec<(String, String)>,
    pub filters: BTreeSet<String>,
}

/// Returns the settings that keep git from running any configured program in a folder. Reads the git configuration,
/// because only the configuration has the names of the filters and merge drivers.
pub async fn quiet(git: &Git, folder: &Path) -> Result<Quiet, GitProblem> {
    let mut quiet = Quiet { settings: Vec::new(), filters: BTreeSet::new() };
    quiet.settings.extend(FIXED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let arguments = ["config", "--null", "--name-only", "--get-regexp"];
    let named = r"^(filter|merge)\..*\.(clean|smudge|process|driver)$";
    let output = GitCall::read(folder, &arguments).and(named).run(git).await?;
    // Exit code 1 means that the configuration has no filters and no merge drivers.
    let output = if output.code() == Some(1) { return Ok(quiet) } else { output.whole()? };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut drivers = BTreeSet::new();
    for key in text.split_terminator('\0') {
        let Some((section, rest)) = key.split_once('.') else { continue };
        let Some((name, _)) = rest.rsplit_once('.') else { continue };
        if section == "filter" {
            quiet.filters.insert(name.to_owned());
        } else {
            drivers.insert(name.to_owned());
        }
    }
    if quiet.filters.len() + drivers.len() > DRIVERS_MAX {
        return Err(GitProblem::failed(
            "config",
            "it names more filters and merge drivers than Handover can switch off",
        ));
    }
    for name in &quiet.filters {
        for key in ["clean", "smudge", "process"] {
            quiet.settings.push((format!("filter.{name}.{key}"), String::new()));
        }
        quiet.settings.push((format!("filter.{name}.required"), "false".to_owned()));
    }
    // Replace each merge driver with the command `exit 1`, which reports a conflict. With an empty driver, git would
    // report a merge without conflicts and keep only one side of the merge.
    quiet.settings.extend(drivers.into_iter().map(|name| (format!("merge.{name}.driver"), "exit 1".to_owned())));
    Ok(quiet)
}
