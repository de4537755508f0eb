//! The settings of the runner, which lets agents work on tasks: limits, agents, contracts (checks of outputs), and
//! routes (which role gets a blocked task).

use std::collections::BTreeMap;
use std::path::PathBuf;

use engine::task::BlockKind;
use serde::Deserialize;

use agents::adapter::{AdapterKind, Permissions};

use super::environment::is_variable_name;
use super::{EnvironmentSettings, SettingSource, VerifySettings, WorktreeSettings};
use crate::project::detect::clients::known_clients;

/// The limits of one task. A limit that is not set has its default; without a default it allows any amount.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    pub repairs: u32,
    pub turn_seconds: u32,
    pub output_bytes: u64,
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
    pub turns: Option<u32>,
    pub seconds: Option<u64>,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            repairs: 2,
            turn_seconds: 1_800,
            output_bytes: 16 << 20,
            usd: Some(5.0),
            tokens: None,
            turns: None,
            seconds: None,
        }
    }
}

/// The agent that judges whether an output meets the criterion `evaluate` of its contract (the rules for the output).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluator {
    pub agent: String,
}

/// The kind of document with which an agent ends its turn (one run of its program).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputSettings {
    Handoff,
    Envelope,
    /// The agent writes no document. Exit code 0 means done, the last line of standard output is the summary, and the
    /// changed files are the result. Only agents with the adapter `exec` may have this kind.
    Plain,
}

/// The home folder that the settings choose for an agent's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HomeSettings {
    /// The home folder of the person, with the person's keys and settings.
    #[default]
    User,
    /// A separate home folder of the agent, which is kept between turns.
    Own,
}

/// An `[[agent]]` section of the settings: one agent and its program.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSettings {
    pub slug: String,
    pub adapter: AdapterKind,
    pub command: Vec<String>,
    #[serde(default)]
    pub args: Vec<String>,
    pub model: Option<String>,
    #[serde(default)]
    pub roles: Vec<String>,
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// A description of the agent, which is used when the agent has no card (description file).
    pub persona: Option<String>,
    /// The media types of the outputs that the agent can review.
    #[serde(default = "texts")]
    pub media_types: Vec<String>,
    #[serde(default)]
    pub permissions: Permissions,
    #[serde(default = "one")]
    pub max_parallel: u32,
    pub output: Option<OutputSettings>,
    #[serde(default)]
    pub writable_sections: Vec<String>,
    /// The sections of the project context (facts that agents have learned) that the agent can read. `None` when it can
    /// read all sections.
    pub readable_sections: Option<Vec<String>>,
    /// True when the agent may add tasks to its workflow while it works.
    #[serde(default)]
    pub plans: bool,
    #[serde(default)]
    pub home: HomeSettings,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The API keys that the program inherits: names of variables, or vendors. `None` when it inherits the keys of all
    /// vendors. This setting is only for programs that work with several vendors.
    pub keys: Option<Vec<String>>,
    /// The surfaces (parts of the product) for which the agent is the primary agent. An empty list means all surfaces.
    #[serde(default)]
    pub surfaces: Vec<String>,
    /// `true` when the agent takes tasks. `None` means that it takes tasks, unless it is an evaluator or a reviewer.
    pub works: Option<bool>,
    /// The origin of the agent: a settings file, or the detection of installed programs.
    #[serde(skip, default = "from_file")]
    pub source: SettingSource,
}

/// The tasks that an agent claims without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentWork {
    /// Every task that names a role of the agent, and every task without a role.
    AnyTask,
    /// Only tasks that name a role of the agent.
    TasksOfRoles,
    /// No task. The agent works only when it is asked to judge or to review.
    OnlyAsked,
}

fn from_file() -> SettingSource {
    SettingSource::File
}

fn one() -> u32 {
    1
}

pub(super) fn texts() -> Vec<String> {
    vec!["text/*".to_owned(), "application/json".to_owned()]
}

impl AgentSettings {
    pub fn output(&self) -> OutputSettings {
        let default =
            if self.adapter == AdapterKind::Exec { OutputSettings::Envelope } else { OutputSettings::Handoff };
        self.output.unwrap_or(default)
    }

    /// Returns the tasks that the agent claims without being asked. `is_judge` is true when the settings name the agent
    /// as the evaluator, or when a task names it as its reviewer.
    pub fn work(&self, is_judge: bool) -> AgentWork {
        match self.works {
            Some(true) => AgentWork::AnyTask,
            Some(false) => AgentWork::OnlyAsked,
            None if !is_judge => AgentWork::AnyTask,
            None if self.roles.is_empty() => AgentWork::OnlyAsked,
            None => AgentWork::TasksOfRoles,
        }
    }

    /// Returns true when the program works with several vendors, so that `keys` chooses among their API keys. The other
    /// programs inherit only the keys of their own vendor.
    pub fn has_choice_of_keys(&self) -> bool {
        match self.adapter {
            AdapterKind::Opencode | AdapterKind::Acp | AdapterKind::Exec => true,
            AdapterKind::Claude | AdapterKind::Codex | AdapterKind::Gemini => false,
        }
    }

    fn problem(&self) -> Option<String> {
        let slug = &self.slug;
        if self.command.first().is_none_or(|program| program.trim().is_empty()) {
            return Some(format!("agent {slug}: command names no program"));
        }
        if self.max_parallel == 0 {
            return Some(format!("agent {slug}: max_parallel is 0, so the agent would never work; use 1 or more"));
        }
        if let Some(entry) = self.media_types.iter().find(|entry| !wire::feedback::is_listable(entry)) {
            return Some(format!(
                "agent {slug}: media_types: `{entry}` is not a media type; write one such as text/plain or text/*"
            ));
        }
        let names = self.roles.iter().chain(&self.writable_sections).chain(&self.surfaces);
        if let Some(name) = names.into_iter().find(|name| !engine::agent::is_slug(name)) {
            return Some(format!(
                "agent {slug}: `{name}` is not a name for a role, a section or a surface; use a-z, 0-9, _ \
                and -, at most 64 characters"
            ));
        }
        if self.output == Some(OutputSettings::Plain) && self.adapter != AdapterKind::Exec {
            return Some(format!(
                "agent {slug}: output = \"plain\" needs the adapter exec; remove `output`, or change the adapter"
            ));
        }
        let keys = self.keys.as_ref()?;
        if !self.has_choice_of_keys() {
            return Some(format!(
                "agent {slug}: `keys` has no effect for the adapter {}, which gets the keys of its own vendor; remove it",
                self.adapter.name()
            ));
        }
        let unknown = keys.iter().find(|key| !is_key(key))?;
        Some(format!("agent {slug}: keys: `{unknown}` is neither a variable such as OPENAI_API_KEY nor a known vendor"))
    }
}

/// Returns true when a text names API keys: a variable in capital letters, or a vendor.
fn is_key(text: &str) -> bool {
    let is_capital = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let is_variable = is_variable_name(text) && text.chars().all(is_capital);
    is_variable || crate::project::environment::is_vendor(text)
}

/// A `[contract.NAME]` section: the schema and the checks for outputs of one type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContractSettings {
    /// The path of the contract's JSON schema, relative to `.handover/`. `None` when the settings name no schema.
    pub schema: Option<PathBuf>,
    #[serde(default)]
    pub checks: Vec<CheckSettings>,
    /// True when no person accepted the contract's checks on this machine. Then no output can be checked against the
    /// contract.
    #[serde(skip)]
    pub is_unaccepted: bool,
}

/// A command that checks an output. The output passes when the command exits with code 0.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSettings {
    pub command: Vec<String>,
    #[serde(default = "ten_minutes")]
    pub seconds: u32,
}

/// The time limit, in seconds, of a check or a setup command when the settings name no other limit.
pub const COMMAND_SECONDS_DEFAULT: u32 = 600;

fn ten_minutes() -> u32 {
    COMMAND_SECONDS_DEFAULT
}

/// The settings that name the agents, and their limits, routes (which role gets a blocked task) and contracts (checks
/// of outputs).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TeamSettings {
    pub limits: LimitSettings,
    pub routes: BTreeMap<BlockKind, String>,
    pub evaluator: Option<Evaluator>,
    pub agents: Vec<AgentSettings>,
    pub contracts: BTreeMap<String, ContractSettings>,
    pub worktree: WorktreeSettings,
    pub verify: VerifySettings,
    pub environment: EnvironmentSettings,
    /// The files of `.handover/contracts/` by name. Each value is the text of the file, or the reason why the file
    /// cannot be read.
    pub schemas: BTreeMap<String, Result<String, String>>,
    /// The record of the script contents that a person accepted. When a script checks an output, its content is
    /// compared with the record. `None` means that scripts are not compared.
    pub scripts: Option<ScriptSource>,
}

/// The places that are needed to compare a script with its accepted content: the file that records the accepted
/// contents, and the main worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptSource {
    pub record: PathBuf,
    /// The main worktree, in which a person accepted the scripts.
    pub root: PathBuf,
}

/// The maximum number of agents in the settings. More agents are an error.
const AGENTS_MAX: usize = 500;

impl TeamSettings {
    /// Returns the first problem that parsing does not find: an invalid name, keys that exclude each other, a
    /// meaningless number.
    pub fn problem(&self) -> Option<String> {
        let mut seen = std::collections::BTreeSet::new();
        if self.agents.len() > AGENTS_MAX {
            return Some(format!("there are {} agents; at most {AGENTS_MAX} are allowed", self.agents.len()));
        }
        for agent in &self.agents {
            let slug = &agent.slug;
            if !engine::agent::is_slug(slug) || engine::agent::is_reserved(slug) {
                return Some(format!(
                    "agent.slug: `{slug}` cannot be the slug of an agent; use a-z, 0-9, _ and -, at most 64 \
                     characters, and not system, human, runner or exec"
                ));
            }
            if !seen.insert(slug) {
                return Some(format!("agent.slug: two agents have the slug `{slug}`; give each its own"));
            }
            if let Some(problem) = agent.problem() {
                return Some(problem);
            }
        }
        // When the settings files name no agent, the installed programs are the agents, so their names are valid, too.
        let is_client = |name: &str| self.agents.is_empty() && known_clients().iter().any(|client| client.name == name);
        if let Some(found) = &self.evaluator
            && !seen.contains(&found.agent)
            && !is_client(&found.agent)
        {
            return Some(format!("evaluator.agent: there is no agent `{}`", found.agent));
        }
        if let Some(route) = self.routes.values().find(|route| !is_route(route)) {
            return Some(format!(
                "routes: `{route}` is neither a role nor an agent; write roles.NAME or an agent's \
                slug"
            ));
        }
        let empty = |contract: &&ContractSettings| contract.checks.iter().any(|check| check.command.is_empty());
        if self.contracts.values().find(empty).is_some() {
            return Some("contract.checks: a command names no program".to_owned());
        }
        let name = self.contracts.keys().find(|name| !engine::agent::is_slug(name));
        if let Some(name) = name {
            return Some(format!(
                "contract.{name}: `{name}` cannot be the name of a contract; use a-z, 0-9, _ and -, \
                at most 64 characters"
            ));
        }
        if self.limits.usd.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
            return Some("limits.usd: must be 0 or more".to_owned());
        }
        self.worktree.problem().or_else(|| self.verify.problem()).or_else(|| self.environment.problem())
    }
}

fn is_route(route: &str) -> bool {
    engine::agent::is_slug(route.strip_prefix("roles.").unwrap_or(route))
}
