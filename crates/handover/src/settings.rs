//! `.handover/config.toml`: what a project sets. A word that is not known is an error, because a typo would be silent.

pub mod people;
pub mod team;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use people::{Approvals, Notify, Webhook};
pub use team::Team;

use crate::place::FOLDER;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// Where work is kept; read by `place`.
    pub store: Option<String>,
    /// Where worktrees are made, relative to the root.
    pub worktrees: Option<PathBuf>,
    pub serve: Serve,
    pub approvals: Approvals,
    pub notify: Notify,
    pub team: Team,
}

/// The file itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    store: Option<String>,
    worktrees: Option<PathBuf>,
    #[serde(default)]
    serve: Serve,
    #[serde(default)]
    approvals: Approvals,
    #[serde(default)]
    notify: Notify,
    #[serde(default)]
    limits: team::Limits,
    #[serde(default)]
    routes: BTreeMap<engine::task::BlockKind, String>,
    evaluator: Option<team::Evaluator>,
    #[serde(default, rename = "agent")]
    agents: Vec<team::Agent>,
    #[serde(default, rename = "contract")]
    contracts: BTreeMap<String, team::Contract>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Serve {
    pub port: Option<u16>,
    /// Names this server is reached by, beside those of loopback.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Pages that may call it, such as `https://tools.example.org`.
    #[serde(default)]
    pub origins: Vec<String>,
    /// Requests of one token in one second.
    pub rate_per_second: Option<u32>,
}

#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Unreadable {
    pub path: String,
    pub problem: String,
}

/// The settings of a project; the defaults when it has none.
pub fn read(root: Option<&Path>) -> Result<Settings, Unreadable> {
    let Some(root) = root else { return Ok(Settings::default()) };
    let path = root.join(FOLDER).join("config.toml");
    let unreadable = |problem: String| Unreadable { path: path.display().to_string(), problem };
    match std::fs::read_to_string(&path) {
        Ok(text) => parse(&text).map_err(unreadable),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Settings::default()),
        Err(error) => Err(unreadable(error.to_string())),
    }
}

fn parse(text: &str) -> Result<Settings, String> {
    let written: Written = toml::from_str(text).map_err(|error| error.to_string())?;
    let Written { store, worktrees, serve, approvals, notify, limits, routes, evaluator, agents, contracts } = written;
    let team = Team { limits, routes, evaluator, agents, contracts };
    match team.problem().or_else(|| approvals.problem()).or_else(|| notify.problem()) {
        Some(problem) => Err(problem),
        None => Ok(Settings { store, worktrees, serve, approvals, notify, team }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named() {
        let agent = "[[agent]]\nslug = \"quinn\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n";
        let cases = [
            ("colour = 1", "colour"),
            ("[limits]\nrepair = 1", "repair"),
            ("[limits]\nusd = -1.0", "limits.usd"),
            ("[routes]\nboredom = \"x\"", "boredom"),
            ("[routes]\nspec_gap = \"Not a name\"", "Not a name"),
            ("[evaluator]\nagent = \"judge\"", "judge"),
            ("[[agent]]\nslug = \"quinn\"", "adapter"),
            ("[[agent]]\nslug = \"human\"\nadapter = \"exec\"\ncommand = [\"sh\"]", "human"),
            ("[[agent]]\nslug = \"quinn\"\nadapter = \"emacs\"\ncommand = [\"sh\"]", "emacs"),
            ("[[agent]]\nslug = \"quinn\"\nadapter = \"exec\"\ncommand = []", "no program"),
            (&format!("{agent}{agent}"), "twice"),
            (&format!("{agent}max_parallel = 0"), "max_parallel"),
            (&format!("{agent}colour = 1"), "colour"),
            ("[contract.a]\nchecks = [{ command = [] }]", "no program"),
            ("[contract.\"A b\"]\n", "A b"),
            ("[approvals]\npending = 1", "pending"),
            ("[approvals]\npending_seconds = 0", "approvals.pending_seconds"),
            ("[approvals]\napproved_seconds = 86401", "approvals.approved_seconds"),
            ("[notify]\ncommand = []", "notify.command"),
            ("[notify]\ncommand = \"sh -c x\"", "command"),
            ("[notify]\nmail = 1", "mail"),
            ("[notify]\nwebhook = { url = \"https://a/\", allow = [\"a:443\"] }", "secret_file or secret_env"),
            ("[notify]\nwebhook = { url = \"https://a/\", secret_env = \"A\", allow = [] }", "not in allow"),
        ];
        for (text, word) in cases {
            let problem = parse(text).err().unwrap_or_default();
            assert!(problem.contains(word), "{text}\n{problem}");
        }
        let settings = parse(&format!("{agent}\n[routes]\nspec_gap = \"roles.ba\"")).unwrap_or_default();
        assert_eq!(settings.team.agents.first().map(team::Agent::output), Some(team::Output::Envelope));
        assert_eq!(settings.team.limits, team::Limits::default());
    }
}
