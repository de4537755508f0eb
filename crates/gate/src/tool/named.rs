//! Reads tool calls whose command is in an unusual place: in the tool's own name, or in an input field whose name does
//! not say that it holds a command.

use wire::json::Value;

use super::fields::{self, plain};

/// The largest number of texts that are checked in the input of one tool call. Further texts are ignored.
const TEXTS_MAX: usize = 200;
/// The longest text that is checked, in bytes. A longer text is ignored, because it can hardly be a command or a path.
const TEXT_BYTES_MAX: usize = 4 << 10;
/// The largest depth of objects within objects in the input of a tool. Deeper objects are ignored.
const DEPTH_MAX: usize = 8;
/// Names of services that host git repositories. In the name of a tool, the name of such a service is read as `git`.
const GIT_HOSTS: &[&str] = &["github", "gitlab", "gitea", "forgejo", "bitbucket"];
/// Tools whose input names another tool or command to run.
const BY_NAME: &[&str] = &["Skill", "SlashCommand", "skill", "slash_command"];

/// Returns the last part of a tool's name: `git_push` of `mcp__git__git_push`.
pub(super) fn own_name(tool: &str) -> &str {
    tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map_or(tool, |(_, name)| name)
}

/// Returns every text in the input of a tool call with the name of its field. The name is written without capitals,
/// underscores and hyphens.
pub(super) fn texts(input: &Value) -> Vec<(String, &str)> {
    let (mut found, mut open) = (Vec::new(), vec![(String::new(), input, 0)]);
    while let Some((name, value, depth)) = open.pop() {
        match value {
            Value::Text(text) if text.len() <= TEXT_BYTES_MAX && found.len() < TEXTS_MAX => {
                found.push((name, text.as_str()));
            }
            Value::Object(members) if depth < DEPTH_MAX => {
                open.extend(members.iter().map(|(name, value)| (plain(name), value, depth + 1)));
            }
            Value::List(values) if depth < DEPTH_MAX => {
                open.extend(values.iter().map(|value| (name.clone(), value, depth + 1)));
            }
            Value::Text(_) | Value::Object(_) | Value::List(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

/// Tells whether an input field of this name holds a text for people, or the content of a file.
pub(super) fn is_prose(field: &str) -> bool {
    fields::PROSE.contains(&field) || fields::TEXTS.contains(&field)
}

/// Returns the commands that a tool's name may stand for, alone or with one value of its input. The command `git push`
/// comes from the tool `git_push`, or from the tool `git` with the value `push`.
pub(super) fn names(tool: &str, input: &Value) -> Vec<Vec<String>> {
    let mut name: Vec<String> = words(tool).into_iter().filter(|word| word != "mcp").collect();
    // A tool's name often repeats the name of its server (`mcp__git__git_push`), so repeated words are dropped.
    name.dedup();
    let mut found = vec![name.clone()];
    let by_name = BY_NAME.contains(&tool);
    for (field, text) in texts(input) {
        if is_prose(&field) || text.contains(char::is_whitespace) || text.is_empty() {
            continue;
        }
        let value = if by_name { words(text) } else { vec![text.to_owned()] };
        found.push(name.iter().cloned().chain(value).collect());
    }
    found
}

/// Splits a name into words at its signs and capital letters: `gitPush` gives `git` and `push`.
fn words(name: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut small = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() && small {
            found.push(String::new());
        }
        small = letter.is_lowercase();
        if letter.is_alphanumeric()
            && let Some(word) = found.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    let plain = |word: String| if GIT_HOSTS.contains(&word.as_str()) { "git".to_owned() } else { word };
    found.into_iter().filter(|word| !word.is_empty()).map(plain).collect()
}
