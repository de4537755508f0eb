//! Chooses the environment variables of the programs that Handover starts. `environment/table.toml` lists their names.
//!
//! ```text
//! inherited = (groups of the kind of program, keys of its vendors, `[env] pass`) without `[env] drop` and `never`
//! then      variables that Handover sets (`CI`, `HANDOVER_…`), then the agent's own `env`
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::project::settings::EnvironmentSettings;
use crate::project::settings::team::AgentSettings;

const TABLE: &str = include_str!("environment/table.toml");

/// A kind of program that Handover starts.
#[derive(Debug, Clone, Copy)]
pub enum ProgramKind<'a> {
    Agent(&'a AgentSettings),
    Setup,
    Check,
    /// A program that sends a notice to a person.
    Notify,
}

/// The place in which a setup command or a check (a test command) runs.
#[derive(Debug, Clone, Copy)]
pub struct CommandPlace<'a> {
    /// The main worktree of the repository.
    pub root: &'a Path,
    /// The number of the worktree. No other command uses this worktree at the same time.
    pub slot: u32,
    /// The first of ten network ports that no other worktree uses.
    pub port: u16,
}

/// A group of environment variables that a program inherits together.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariableGroup {
    /// The name of the group. A group of API keys has the name of its vendor, as it is written in an agent's setting
    /// `keys`.
    pub name: String,
    /// The names of the variables. `*` in a name stands for any characters.
    pub names: Vec<String>,
    pub programs: Vec<String>,
    /// The adapters (kinds of agent programs) that get this group of API keys. `None` for a group without API keys.
    pub clients: Option<Vec<String>>,
    /// The variable that must be set. While it is not set, programs do not inherit the group.
    pub when: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariableTable {
    group: Vec<VariableGroup>,
    never: NeverInherited,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NeverInherited {
    names: Vec<String>,
}

/// Returns the content of `environment/table.toml`. It is empty when the file cannot be parsed; a test fails in that
/// case.
fn table() -> &'static VariableTable {
    static READ: OnceLock<VariableTable> = OnceLock::new();
    READ.get_or_init(|| toml::from_str(TABLE).unwrap_or_default())
}

/// Returns the groups of variables that programs may inherit.
pub fn groups() -> &'static [VariableGroup] {
    &table().group
}

/// Returns the names of variables that no program inherits.
pub fn never() -> &'static [String] {
    &table().never.names
}

/// Returns true when `name` is a vendor for whose API keys there is a group of variables.
pub fn is_vendor(name: &str) -> bool {
    groups().iter().any(|group| group.clients.is_some() && group.name == name)
}

/// Returns the names of the variables that a program inherits, sorted. `set` has the names of all variables that are
/// set.
pub fn inherited<'n>(
    kind: ProgramKind<'_>,
    settings: &EnvironmentSettings,
    set: impl IntoIterator<Item = &'n str>,
) -> Vec<String> {
    let mut set: Vec<&str> = set.into_iter().collect();
    set.sort_unstable();
    set.dedup();
    let is_set = |name: &String| set.contains(&name.as_str());
    let holds = |group: &&VariableGroup| group.when.as_ref().is_none_or(is_set) && gets(kind, group);
    let groups: Vec<&VariableGroup> = groups().iter().filter(holds).collect();
    let named = keys(kind);
    let chosen = |name: &str| {
        let in_group = groups.iter().any(|group| any(&group.names, name));
        in_group || any(&settings.pass, name) || any(named, name)
    };
    let barred = |name: &str| any(never(), name) || any(&settings.drop, name);
    set.into_iter().filter(|name| chosen(name) && !barred(name)).map(str::to_owned).collect()
}

/// Returns the names of the variables of this process that a program inherits, sorted.
pub fn inherited_here(kind: ProgramKind<'_>, settings: &EnvironmentSettings) -> Vec<String> {
    let set: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    inherited(kind, settings, set.iter().map(String::as_str))
}

/// Returns the variables that Handover sets for a setup command or a check.
pub fn command_variables(place: CommandPlace<'_>) -> BTreeMap<String, String> {
    let rows = [
        // With `CI` set, test runners do not wait for changed files, and installers ask no questions.
        ("CI", "1".to_owned()),
        ("HANDOVER_ROOT", place.root.display().to_string()),
        ("HANDOVER_SLOT", place.slot.to_string()),
        ("HANDOVER_PORT", place.port.to_string()),
    ];
    rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns true when a program of this kind inherits a group of variables.
fn gets(kind: ProgramKind<'_>, group: &VariableGroup) -> bool {
    let (word, agent) = match kind {
        ProgramKind::Agent(agent) => ("agent", Some(agent)),
        ProgramKind::Setup => ("setup", None),
        ProgramKind::Check => ("check", None),
        ProgramKind::Notify => ("notify", None),
    };
    if !group.programs.iter().any(|program| program == word) {
        return false;
    }
    let (Some(clients), Some(agent)) = (&group.clients, agent) else { return true };
    let has_adapter = clients.iter().any(|client| client == agent.adapter.name());
    match &agent.keys {
        // An agent whose setting `keys` names a cloud gets the variables of that cloud, even if its kind of program
        // does not get them by default.
        Some(keys) => keys.contains(&group.name) && (has_adapter || group.when.is_none()),
        None => has_adapter,
    }
}

/// Returns the list `keys` of an agent's settings, which can name single variables. Empty for other programs.
fn keys<'a>(kind: ProgramKind<'a>) -> &'a [String] {
    match kind {
        ProgramKind::Agent(agent) => agent.keys.as_deref().unwrap_or_default(),
        ProgramKind::Setup | ProgramKind::Check | ProgramKind::Notify => &[],
    }
}

fn any(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

/// Returns true when a name matches a pattern, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests;
