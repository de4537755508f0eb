//! Rewrites the suggestion that comes with a refused call, so that a person can type it: names of tools become
//! commands, and their arguments become options.

use serde_json::{Map, Value};
use wire::lifecycle::TOOLS;

use super::verbs::{ToolVerb, VERBS};

/// Rewrites the suggestion of a refused call so that a person can type it. The suggestion is also sent to models, so it
/// names tools and not commands.
pub(crate) fn typed(suggestion: &str) -> String {
    let (mut typed, mut rest) = (String::new(), suggestion);
    while let Some(letter) = rest.chars().next() {
        let is_word = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        if end == 0 {
            typed.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        let (word, behind) = rest.split_at(end);
        rest = behind;
        let quoted = typed.ends_with('`');
        // Leave the text "the tool NAME" as it is. A suggestion uses these words when the agent must call the tool
        // itself, because a command in its place would have another effect.
        let is_tool = typed.ends_with("the tool ");
        if let Some(verb) = VERBS.iter().find(|verb| verb.tool.tool().name == word && !is_tool) {
            let arguments = arguments(&mut rest);
            // A tool is called and a command is run, so replace the word "call" before the name by "run".
            if typed.ends_with("call ") {
                typed.truncate(typed.len() - "call ".len());
                typed.push_str("run ");
            }
            typed.push_str(&format!("`{}`", command(verb, &arguments)));
        } else if quoted && is_argument(word) && (rest.starts_with('`') || rest.starts_with(": true`")) {
            rest = rest.strip_prefix(": true").unwrap_or(rest);
            typed.push_str(&option(word));
        } else {
            typed.push_str(word);
        }
    }
    typed
}

/// Parses the JSON arguments behind a tool's name at the start of `rest`, and removes them from `rest`.
fn arguments(rest: &mut &str) -> Map<String, Value> {
    let Some(text) = rest.strip_prefix(' ').filter(|text| text.starts_with('{')) else { return Map::new() };
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    let Some(Ok(arguments)) = values.next() else { return Map::new() };
    *rest = &text[values.byte_offset()..];
    arguments
}

fn command(verb: &ToolVerb, arguments: &Map<String, Value>) -> String {
    let mut words = vec!["handover".to_owned(), verb.noun.to_owned(), verb.verb.to_owned()];
    words.extend(verb.places.iter().map_while(|place| arguments.get(*place)).map(shell_word));
    for (name, value) in arguments.iter().filter(|(name, _)| !verb.places.contains(&name.as_str())) {
        words.extend([option(name), shell_word(value)]);
    }
    words.join(" ")
}

fn option(argument: &str) -> String {
    format!("--{}", argument.replace('_', "-"))
}

/// Returns a value as one word for a shell, quoted when necessary.
fn shell_word(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:".contains(letter);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn is_argument(word: &str) -> bool {
    let has = |tool: &wire::lifecycle::Tool| {
        tool.arguments().get("properties").and_then(|properties| properties.get(word)).is_some()
    };
    TOOLS.iter().any(has)
}
