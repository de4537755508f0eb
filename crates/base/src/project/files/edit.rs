//! Changes the text of a settings file. Comments, order and spelling that a person wrote stay as they are. The
//! functions work on texts; they read and write no file.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Value};

use crate::project::settings::{DetectedAgent, SettingsFiles};

/// The reason why a settings file is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditProblem {
    #[error("the file cannot be read: {0}; correct it first")]
    NotToml(String),
    #[error("`{0}` cannot be the name of an agent; use a-z, 0-9, _ and -, at most 64 characters")]
    Name(String),
    #[error("there is already an agent `{0}` with another command; use another name, or change its `command`")]
    NameTaken(String),
    #[error("`{0}` is not written as a section; write it as {1}")]
    NoSection(&'static str, &'static str),
    #[error("the command names no program")]
    NoProgram,
    #[error("there is already an agent `{0}` in .handover/config.toml; use another name")]
    NameOfTeam(String),
    #[error("`checks` in .handover/local.toml wins over .handover/config.toml; change it there")]
    OwnChecks,
}

/// An agent that a person adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddedAgent {
    /// Any program. It gets the task as text.
    Plain { name: String, command: Vec<String> },
    /// An agent program, such as Claude Code, for which Handover has an adapter.
    Client(DetectedAgent),
}

impl AddedAgent {
    pub fn name(&self) -> &str {
        match self {
            Self::Plain { name, .. } => name,
            Self::Client(agent) => &agent.slug,
        }
    }

    pub fn command(&self) -> &[String] {
        match self {
            Self::Plain { command, .. } => command,
            Self::Client(agent) => &agent.command,
        }
    }

    /// Returns the agent as a section of `local.toml`.
    fn section(&self) -> String {
        match self {
            Self::Plain { name, command } => format!(
                "[[agent]]\nslug = {}\nadapter = \"exec\"\ncommand = {}\noutput = \"plain\"\n",
                Value::from(name),
                list(command)
            ),
            Self::Client(agent) => format!(
                "[[agent]]\nslug = {}\nadapter = {}\ncommand = {}\nmax_parallel = {}\n",
                Value::from(&agent.slug),
                Value::from(agent.adapter.name()),
                list(&agent.command),
                agent.max_parallel
            ),
        }
    }
}

/// Returns the settings files with one more agent in `local.toml`. Agents that only exist because their programs are
/// installed are written there first, because they count only as long as no file names an agent.
pub fn with_agent(files: &SettingsFiles, agent: &AddedAgent) -> Result<SettingsFiles, EditProblem> {
    let team = read(&files.config)?;
    let slugs = |document: &DocumentMut| -> Vec<String> {
        let agents = document.get("agent").and_then(Item::as_array_of_tables);
        let slug = |table: &toml_edit::Table| Some(table.get("slug")?.as_str()?.to_owned());
        agents.map(|agents| agents.iter().filter_map(slug).collect()).unwrap_or_default()
    };
    if slugs(&team).iter().any(|slug| slug == agent.name()) {
        return Err(EditProblem::NameOfTeam(agent.name().to_owned()));
    }
    let detected = if team.contains_key("agent") { &[] } else { files.detected.agents.as_slice() };
    let local = one_added(&agents_written(&files.local, detected)?, agent)?;
    Ok(SettingsFiles { local, ..files.clone() })
}

/// Returns the settings files with a changed `config.toml`, in which this command is the only check.
pub fn with_check(files: &SettingsFiles, command: &[String]) -> Result<SettingsFiles, EditProblem> {
    let own = read(&files.local)?;
    let verify = own.get("verify").and_then(Item::as_table_like);
    if verify.is_some_and(|verify| verify.contains_key("checks")) {
        return Err(EditProblem::OwnChecks);
    }
    let config = check_set(&files.config.replace(super::first::NO_CHECK_LINE, ""), command)?;
    Ok(SettingsFiles { config, ..files.clone() })
}

/// Returns the text of `local.toml` with one more agent, whose program gets the task as text. Returns the text
/// unchanged when it already has this agent.
pub fn agent_added(local: &str, name: &str, command: &[String]) -> Result<String, EditProblem> {
    one_added(local, &AddedAgent::Plain { name: name.to_owned(), command: command.to_vec() })
}

fn one_added(local: &str, agent: &AddedAgent) -> Result<String, EditProblem> {
    let (name, command) = (agent.name(), agent.command());
    if !engine::agent::is_slug(name) || engine::agent::is_reserved(name) {
        return Err(EditProblem::Name(name.to_owned()));
    }
    if command.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(EditProblem::NoProgram);
    }
    let known = read(local)?;
    match known.get("agent") {
        None => {}
        Some(Item::ArrayOfTables(agents)) => {
            let same = agents.iter().find(|agent| agent.get("slug").and_then(Item::as_str) == Some(name));
            if let Some(agent) = same {
                let words: Option<Vec<&str>> = agent
                    .get("command")
                    .and_then(Item::as_array)
                    .map(|words| words.iter().filter_map(Value::as_str).collect());
                let is_same = words.is_some_and(|words| words.iter().eq(command));
                return if is_same { Ok(local.to_owned()) } else { Err(EditProblem::NameTaken(name.to_owned())) };
            }
        }
        Some(_) => return Err(EditProblem::NoSection("agent", "[[agent]]")),
    }
    Ok(appended(local, &agent.section()))
}

/// Returns the text of `local.toml` with these installed programs as agents. Returns the text unchanged when it already
/// has agents.
///
/// As soon as a settings file names one agent, installed programs are no longer used as agents automatically. So call
/// this function before the first call of `agent_added`.
pub fn agents_written(local: &str, agents: &[DetectedAgent]) -> Result<String, EditProblem> {
    if read(local)?.contains_key("agent") {
        return Ok(local.to_owned());
    }
    let section = |agent: &DetectedAgent| AddedAgent::Client(agent.clone()).section();
    Ok(agents.iter().fold(local.to_owned(), |text, agent| appended(&text, &section(agent))))
}

/// Returns the text of `config.toml` with this command as the only check. Returns the text unchanged when the command
/// is already the only check.
pub fn check_set(config: &str, command: &[String]) -> Result<String, EditProblem> {
    if command.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(EditProblem::NoProgram);
    }
    let mut known = read(config)?;
    let mut check = InlineTable::new();
    check.insert("command", Value::Array(words(command)));
    let mut checks = Array::new();
    checks.push(check);
    match known.get_mut("verify") {
        None => Ok(appended(config, &format!("[verify]\nchecks = {}\n", Value::Array(checks)))),
        Some(section) => {
            let section = section.as_table_like_mut().ok_or(EditProblem::NoSection("verify", "[verify]"))?;
            if is_only(section.get("checks"), command) {
                return Ok(config.to_owned());
            }
            let mut value = Value::Array(checks);
            // Change the value and keep the key, because a comment above the key would be lost with the key.
            match section.get_mut("checks") {
                Some(before) => {
                    if let Item::Value(old) = before {
                        *value.decor_mut() = old.decor().clone();
                    }
                    *before = Item::Value(value);
                }
                None => {
                    section.insert("checks", Item::Value(value));
                }
            }
            Ok(known.to_string())
        }
    }
}

/// Returns true when a list of checks has only this command. The time limit of the command is not compared.
fn is_only(checks: Option<&Item>, command: &[String]) -> bool {
    let Some(checks) = checks.and_then(Item::as_array).filter(|checks| checks.len() == 1) else { return false };
    let found = checks.get(0).and_then(Value::as_inline_table).and_then(|check| check.get("command")?.as_array());
    found.is_some_and(|words| words.iter().filter_map(Value::as_str).eq(command))
}

fn read(text: &str) -> Result<DocumentMut, EditProblem> {
    text.parse::<DocumentMut>().map_err(|error| EditProblem::NotToml(error.to_string()))
}

/// Adds a section at the end of a file, after a blank line.
fn appended(text: &str, section: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() { section.to_owned() } else { format!("{text}\n\n{section}") }
}

fn words(command: &[String]) -> Array {
    command.iter().map(String::as_str).collect()
}

/// Returns a list of texts in the syntax of TOML.
pub(super) fn list(texts: &[String]) -> String {
    Value::Array(words(texts)).to_string()
}

#[cfg(test)]
mod tests;
