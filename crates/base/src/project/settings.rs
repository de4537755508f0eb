//! The settings of a project in `.handover/config.toml`. An unknown key is an error, because otherwise a typo would go
//! unnoticed.

mod files;
pub mod mcp;
pub mod people;
pub mod team;
mod webhook_target;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use files::CONTRACTS;
pub use files::SettingsFiles;
pub use people::{Approvals, Notify, Webhook};
pub use team::TeamSettings;
pub use webhook_target::WebhookTarget;

use gate::Gates;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// The path or URL of the project's store; `None` when the settings name none. The module `place` reads this key to
    /// find the store.
    pub store: Option<String>,
    /// The folder in which git worktrees are made, relative to the root of the project. `None` means the default
    /// folder.
    pub worktrees: Option<PathBuf>,
    pub serve: ServeSettings,
    pub approvals: Approvals,
    pub notify: Notify,
    pub mcp: mcp::McpSettings,
    pub team: TeamSettings,
    pub gates: Gates,
}

/// The content of `config.toml`, before its values are checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsText {
    store: Option<String>,
    worktrees: Option<PathBuf>,
    #[serde(default)]
    serve: ServeSettings,
    #[serde(default)]
    approvals: Approvals,
    #[serde(default)]
    notify: Notify,
    #[serde(default)]
    mcp: mcp::McpSettings,
    #[serde(default)]
    limits: team::LimitSettings,
    #[serde(default)]
    routes: BTreeMap<engine::task::BlockKind, String>,
    evaluator: Option<team::Evaluator>,
    #[serde(default, rename = "agent")]
    agents: Vec<team::AgentSettings>,
    #[serde(default, rename = "contract")]
    contracts: BTreeMap<String, team::ContractSettings>,
    #[serde(default)]
    gates: gate::Basics,
    #[serde(default, rename = "gate")]
    rules: Vec<gate::GateRule>,
}

/// The most requests that one token may make in one second when the settings name no other number. Further requests are
/// refused.
pub const RATE_DEFAULT: u32 = 20_000;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeSettings {
    pub port: Option<u16>,
    /// Host names by which clients may call `handover serve`, in addition to the names of the loopback address.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Origins of web pages that may call the server, such as `https://tools.example.org`.
    #[serde(default)]
    pub origins: Vec<String>,
    /// The most requests that one token may make in one second; further requests are refused. `None` means
    /// `RATE_DEFAULT`.
    pub rate_per_second: Option<u32>,
}

#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Unreadable {
    pub path: String,
    pub problem: String,
}

/// Reads the settings of a project as they are written in its files. Returns the defaults when there are no files.
/// Before running a program or granting access, use `trust::view` instead: it leaves out values that wait for a person
/// to accept them.
pub fn read(root: Option<&Path>) -> Result<Settings, Unreadable> {
    root.map_or_else(|| Ok(Settings::default()), |root| SettingsFiles::read(root)?.settings(root))
}

pub fn parse(text: &str) -> Result<Settings, String> {
    let written: SettingsText = toml::from_str(text).map_err(|error| error.to_string())?;
    let SettingsText {
        store,
        worktrees,
        serve,
        approvals,
        notify,
        mcp,
        limits,
        routes,
        evaluator,
        agents,
        contracts,
        gates,
        rules,
    } = written;
    let team = TeamSettings { limits, routes, evaluator, agents, contracts, ..TeamSettings::default() };
    let gates = Gates::new(gates, rules)?;
    match team.problem().or_else(|| approvals.problem()).or_else(|| notify.problem()).or_else(|| mcp.problem()) {
        Some(problem) => Err(problem),
        None => Ok(Settings { store, worktrees, serve, approvals, notify, mcp, team, gates }),
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
            (&format!("{agent}{agent}"), "two agents have the slug `quinn`"),
            (&format!("{agent}max_parallel = 0"), "max_parallel"),
            (&format!("{agent}colour = 1"), "colour"),
            ("[contract.a]\nchecks = [{ command = [] }]", "no program"),
            ("[contract.\"A b\"]\n", "A b"),
            ("[gates]\ndefault = \"deny\"", "line 2"),
            ("[gates]\ncolour = 1", "colour"),
            ("[[gate]]\ncommand = [\"git\"]", "decision"),
            ("[[gate]]\ndecision = \"ask\"", "needs `command`"),
            ("[[gate]]\ncommand = []\ndecision = \"ask\"", "names no program"),
            ("[[gate]]\ncommand = [\"git push\"]\ndecision = \"ask\"", "git push"),
            ("[[gate]]\ncommand = [\"a\"]\nwrite = \"b\"\ndecision = \"ask\"", "make two of it"),
            ("\n[[gate]]\nwrite = \"a{b\"\ndecision = \"ask\"", "line 2"),
            ("[[gate]]\nwrite = \"a\"\ndecision = \"perhaps\"", "perhaps"),
            ("[approvals]\npending = 1", "pending"),
            ("[approvals]\npending_seconds = 0", "approvals.pending_seconds"),
            ("[approvals]\napproved_seconds = 86401", "approvals.approved_seconds"),
            ("[notify]\ncommand = []", "notify.command"),
            ("[notify]\ncommand = \"sh -c x\"", "command"),
            ("[notify]\nmail = 1", "mail"),
            ("[mcp]\ncoordinator = [\"a\"]", "coordinator"),
            ("[mcp]\ncoordinators = [\" \"]", "mcp.coordinators"),
            ("[mcp]\npersons = []", "persons"),
            ("[notify]\nwebhook = { url = \"https://a/\", allow = [\"a:443\"] }", "secret_file or secret_env"),
            ("[notify]\nwebhook = { url = \"https://a/\", secret_env = \"A\", allow = [] }", "not in `allow`"),
        ];
        for (text, word) in cases {
            let problem = parse(text).err().unwrap_or_default();
            assert!(problem.contains(word), "{text}\n{problem}");
        }
        let settings = parse(&format!("{agent}\n[routes]\nspec_gap = \"roles.ba\"")).unwrap_or_default();
        assert_eq!(settings.team.agents.first().map(team::AgentSettings::output), Some(team::OutputSettings::Envelope));
        assert_eq!(settings.team.limits, team::LimitSettings::default());
    }
}
