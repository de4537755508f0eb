//! Changes the text of a settings file and keeps everything else that a person wrote there: comments, order, spelling.
//! Nothing here reads or writes a file.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Value};

use crate::project::settings::DetectedAgent;

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
}

/// Returns the text of `local.toml` with one more agent: a program that gets the task as text. Returns the same text
/// when it has this agent already.
pub fn agent_added(local: &str, name: &str, command: &[String]) -> Result<String, EditProblem> {
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
    let section = format!(
        "[[agent]]\nslug = {}\nadapter = \"exec\"\ncommand = {}\noutput = \"plain\"\n",
        Value::from(name),
        list(command)
    );
    Ok(appended(local, &section))
}

/// Returns the text of `local.toml` with these installed programs as agents. Returns the same text when it has agents
/// already.
///
/// As soon as a file names one agent, the installed programs are no longer agents by themselves. So write them down
/// before the first `agent_added`.
pub fn agents_written(local: &str, agents: &[DetectedAgent]) -> Result<String, EditProblem> {
    if read(local)?.contains_key("agent") {
        return Ok(local.to_owned());
    }
    let section = |agent: &DetectedAgent| {
        format!(
            "[[agent]]\nslug = {}\nadapter = {}\ncommand = {}\nmax_parallel = {}\n",
            Value::from(&agent.slug),
            Value::from(agent.adapter.name()),
            list(&agent.command),
            agent.max_parallel
        )
    };
    Ok(agents.iter().fold(local.to_owned(), |text, agent| appended(&text, &section(agent))))
}

/// Returns the text of `config.toml` in which this command is the only check. Returns the same text when it is the only
/// check already.
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
            // The key is not inserted again, because the comment above it belongs to it.
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

/// Tells whether a list of checks has only this command. Its limits do not matter.
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

/// Returns a list of texts as TOML.
pub(super) fn list(texts: &[String]) -> String {
    Value::Array(words(texts)).to_string()
}

#[cfg(test)]
mod tests;
