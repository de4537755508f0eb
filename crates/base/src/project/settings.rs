//! The settings of a project in `.handover/config.toml` and `.handover/local.toml`. An unknown key is an error, because
//! otherwise a typo would go unnoticed.

mod detected;
mod environment;
mod files;
mod layers;
pub mod mcp;
pub mod people;
mod quiet;
mod source;
pub mod team;
mod unknown;
mod verify;
mod webhook_target;
mod worktree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use detected::{DetectedAgent, DetectedDefaults};
pub use environment::EnvironmentSettings;
pub use files::CONTRACTS;
pub use files::SettingsFiles;
pub use people::{Approvals, Notify, Webhook};
pub use quiet::QuietHours;
pub use source::SettingSource;
pub use team::TeamSettings;
pub use verify::{CheckMoment, RecheckRule, VerifyCheck, VerifySettings};
pub use webhook_target::WebhookTarget;
pub use worktree::{SetupCommand, WorktreeSettings};

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
    worktree: WorktreeSettings,
    #[serde(default)]
    verify: VerifySettings,
    #[serde(default, rename = "env")]
    environment: EnvironmentSettings,
    #[serde(default)]
    gates: gate::Basics,
    #[serde(default, rename = "gate")]
    rules: Vec<gate::GateRule>,
}

/// The maximum number of requests that one token may make in one second when the settings name no other number. Further
/// requests are refused.
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
    /// The maximum number of requests that one token may make in one second; further requests are refused. `None` means
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

/// Parses and checks settings that are written in one text.
pub fn parse(text: &str) -> Result<Settings, String> {
    let settings = parse_text(text)?;
    settings.problem().map_or(Ok(settings), Err)
}

/// Parses the text of one settings file. Leaves out the checks that need the settings of both files.
fn parse_text(text: &str) -> Result<Settings, String> {
    unchecked(toml::from_str(text).map_err(|error| unknown::told(text, &error))?)
}

/// Parses the texts of the two settings files. The values of the personal file `local.toml` win.
fn parse_both(config: &str, local: &str) -> Result<Settings, String> {
    let table = |text: &str| toml::from_str::<toml::Table>(text).map_err(|error| error.to_string());
    let joined = layers::joined(table(config)?, table(local)?);
    unchecked(joined.try_into().map_err(|error: toml::de::Error| unknown::told(local, &error))?)
}

fn unchecked(written: SettingsText) -> Result<Settings, String> {
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
        worktree,
        verify,
        environment,
        gates,
        rules,
    } = written;
    let work = TeamSettings { worktree, verify, environment, ..TeamSettings::default() };
    let team = TeamSettings { limits, routes, evaluator, agents, contracts, ..work };
    let gates = Gates::new(gates, rules)?;
    Ok(Settings { store, worktrees, serve, approvals, notify, mcp, team, gates })
}

impl Settings {
    fn problem(&self) -> Option<String> {
        let people = || self.approvals.problem().or_else(|| self.notify.problem());
        self.team.problem().or_else(people).or_else(|| self.mcp.problem())
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
            (&format!("{agent}output = \"plane\""), "plane"),
            (&format!("{agent}keys = [\"sk-1234\"]"), "`sk-1234` is neither"),
            (&format!("{agent}surfaces = [\"The page\"]"), "The page"),
            ("[[agent]]\nslug = \"c\"\nadapter = \"claude\"\ncommand = [\"claude\"]\noutput = \"plain\"", "exec"),
            ("[[agent]]\nslug = \"c\"\nadapter = \"claude\"\ncommand = [\"claude\"]\nkeys = [\"openai\"]", "no effect"),
            ("[worktree]\nsetup = [{ command = [\"\"] }]", "worktree.setup: a command names no program"),
            ("[worktree]\nsetup = [{ command = [\"a\"], seconds = 0 }]", "`a`: seconds must be 1 to 86400"),
            ("[worktree]\nsetup = [{ command = [\"a\"], folder = \"../b\" }]", "`../b` is not a folder"),
            ("[worktree]\nsetup = [{ command = [\"a\"], inputs = [\"/etc/passwd\"] }]", "`/etc/passwd` in `inputs`"),
            ("[worktree]\ncopy = [\" \"]", "worktree.copy: a pattern is blank"),
            ("[worktree]\nslots_per_turn = 0", "worktree.slots_per_turn: must be 1 to 100"),
            ("[verify]\nchecks = [{ command = [] }]", "verify.checks: a command names no program"),
            ("[verify]\nchecks = [{ command = [\"a\"], when = \"never\" }]", "never"),
            ("[verify]\nchecks = [{ command = [\"a\"], folder = \"/\" }]", "`/` is not a folder"),
            ("[verify]\nretries = 11", "verify.retries: must be 0 to 10"),
            ("[verify]\nparallel = 0", "verify.parallel: must be 1 to 64"),
            ("[verify]\nrecheck = \"never\"", "never"),
            ("[env]\npass = [\"*\"]", "env.pass: `*` is not"),
            ("[env]\ndrop = [\"A=B\"]", "env.drop: `A=B` is not"),
            ("[env]\npass = [\"HANDOVER_*\"]", "set by Handover itself"),
            ("[notify]\nquiet = \"at night\"", "notify.quiet: `at night` is not a time of day"),
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

    #[test]
    fn an_agent_that_judges_takes_only_tasks_of_its_roles() {
        use team::AgentWork::{AnyTask, OnlyAsked, TasksOfRoles};
        let rows = [
            ("", false, AnyTask),
            ("", true, OnlyAsked),
            ("roles = [\"reviewer\"]\n", false, AnyTask),
            ("roles = [\"reviewer\"]\n", true, TasksOfRoles),
            ("works = true\n", true, AnyTask),
            ("works = false\n", false, OnlyAsked),
            ("works = false\nroles = [\"reviewer\"]\n", true, OnlyAsked),
        ];
        for (more, is_judge, expected) in rows {
            let text = format!("[[agent]]\nslug = \"quinn\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n{more}");
            let settings = parse(&text).unwrap();
            assert_eq!(settings.team.agents[0].work(is_judge), expected, "{more} {is_judge}");
        }
    }
}
