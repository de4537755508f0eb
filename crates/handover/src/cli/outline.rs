//! Renders a reply as indented lines for people: one name and value per line, lists with dashes, times as dates.

use anstyle::Style;
use base::ground::local_time::LocalClock;
use engine::Timestamp;
use wire::json::{Object, Value};

use super::show::{coloured, plain};

/// The largest number of characters that are shown of one text in a reply. A longer text is cut with a note that
/// `--json` prints all of it.
const TEXT_CHARS_MAX: usize = 4_000;
/// The width, in characters, of the column with the names of a reply's members. Their values begin after this column.
const NAME_WIDTH: usize = 23;

/// Renders the members of a tool's reply as indented lines. Skips members that are null or empty texts.
pub(crate) fn outline<'a>(members: impl Iterator<Item = &'a (String, Value)>) -> String {
    let mut text = String::new();
    members.for_each(|(name, value)| member(&mut text, 0, name, value));
    text
}

fn member(text: &mut String, depth: usize, name: &str, value: &Value) {
    let dim = Style::new().dimmed();
    let indent = " ".repeat(depth * 2);
    let title = plain(&name.strip_suffix("_id").unwrap_or(name).replace('_', " "));
    let head = format!("{indent}{dim}{title:<width$}{dim:#}", width = NAME_WIDTH.saturating_sub(depth * 2));
    match value {
        Value::Null => {}
        Value::Text(words) if words.is_empty() => {}
        Value::Object(members) if members.is_empty() => text.push_str(&format!("{head} none\n")),
        Value::Object(members) => {
            text.push_str(&format!("{indent}{dim}{title}{dim:#}\n"));
            object(text, depth + 1, members);
        }
        Value::List(items) if items.is_empty() => text.push_str(&format!("{head} none\n")),
        Value::List(items) if items.iter().all(is_short) => {
            let items: Vec<String> = items.iter().map(|item| scalar(name, item)).collect();
            text.push_str(&format!("{head} {}\n", items.join(", ")));
        }
        Value::List(items) => {
            text.push_str(&format!("{indent}{dim}{title}{dim:#}\n"));
            items.iter().for_each(|item| bullet(text, depth + 1, name, item));
        }
        Value::Text(words) if words.contains('\n') => {
            text.push_str(&format!("{indent}{dim}{title}{dim:#}\n"));
            for line in shortened(words).lines() {
                text.push_str(&format!("{indent}  {}\n", plain(line)));
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            text.push_str(&format!("{head} {}\n", scalar(name, value)));
        }
    }
}

fn object(text: &mut String, depth: usize, members: &Object) {
    members.iter().for_each(|(name, value)| member(text, depth, name, value));
}

/// Renders one item of a list. The first line of the item begins with a dash.
fn bullet(text: &mut String, depth: usize, name: &str, item: &Value) {
    let mut lines = String::new();
    match item {
        Value::Object(members) => object(&mut lines, depth + 1, members),
        Value::List(items) => items.iter().for_each(|item| bullet(&mut lines, depth + 1, name, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            lines.push_str(&format!("{}{}\n", "  ".repeat(depth + 1), scalar(name, item)));
        }
    }
    let indent = "  ".repeat(depth);
    let body = lines.get(indent.len() + 2..).unwrap_or("\n");
    text.push_str(&format!("{indent}- {body}"));
}

fn is_short(item: &Value) -> bool {
    match item {
        Value::Text(text) => text.len() <= 40 && !text.contains('\n'),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::List(_) | Value::Object(_) => false,
    }
}

/// Returns one value of a reply as a short text on one line.
pub(crate) fn scalar(name: &str, value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Text(text) if name == "status" => coloured(&plain(text)),
        Value::Text(text) => plain(&shortened(text)),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(_) => {
            moment(name, value).and_then(|at| LocalClock::here().full(at)).unwrap_or_else(|| value.to_string())
        }
        Value::List(_) | Value::Object(_) => value.to_string(),
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(TEXT_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push_str("… (--json prints all of it)");
    }
    short
}

/// Returns the time in a member of a reply. Returns `None` when the last word of the member's name does not say that
/// the number is a time, as it does in `created_at`.
pub(crate) fn moment(name: &str, value: &Value) -> Option<Timestamp> {
    let is_time = ["at", "since", "until", "heartbeat"].iter().any(|word| name.rsplit('_').next() == Some(word));
    value.to_string().parse().ok().filter(|ms| is_time && *ms > 0).map(Timestamp)
}
