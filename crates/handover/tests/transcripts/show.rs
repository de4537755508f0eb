//! Formats answers for readers: replaces values that depend on time or random numbers, and wraps the lines.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The most columns of a line; longer JSON is wrapped.
const WIDTH: usize = 118;

/// The numbers that count as times, in milliseconds: from 2020 to 2096. No other number of a reply is that large.
const TIMES: std::ops::Range<i64> = 1_577_000_000_000..4_000_000_000_000;

/// The values that a sequence of steps saved, by the names that the transcript gives them.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<String, String>);

impl Names {
    pub(crate) fn save(&mut self, name: &str, value: String) {
        assert!(!value.is_empty(), "{name} is empty");
        self.0.insert(name.to_owned(), value);
    }

    /// Replaces the names of saved values in a text by the values, longer names first.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut names: Vec<(&String, &String)> = self.0.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names.into_iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// Replaces saved values by their names. Replaces times, and ids without a name, by their kind, such as `<time>`.
    pub(crate) fn cover(&self, tool: &str, value: &Value) -> Value {
        let mut covered = self.covered(value);
        match (tool, &mut covered) {
            ("task_load_context", Value::Object(_)) => covered = "<context>".into(),
            ("task_next" | "task_wait", Value::Object(members)) => {
                cover_member(members, "context", Value::is_object);
                cover_member(members, "cursor", Value::is_string);
            }
            ("workflow_get_summary", Value::Object(members)) => {
                cover_member(members, "token_estimate", Value::is_u64);
            }
            ("workspace_update", Value::Object(members)) => {
                if let Some(Value::String(text)) = members.get_mut("branch_restore") {
                    *text = cover_commit(text);
                }
            }
            _ => {}
        }
        covered
    }

    fn covered(&self, value: &Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => {
                if number.as_i64().is_some_and(|number| TIMES.contains(&number)) {
                    return "<time>".into();
                }
                value.clone()
            }
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.covered(item)).collect(),
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| (self.text(name), self.covered(value)));
                Value::Object(members.collect())
            }
        }
    }

    fn text(&self, text: &str) -> String {
        let mut values: Vec<(&String, &String)> = self.0.iter().collect();
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        let mut text = text.to_owned();
        for (name, value) in values {
            // A short value may be part of other words, so it must match the whole text.
            text = if value.len() >= 12 {
                text.replace(value, name)
            } else if text == *value {
                name.clone()
            } else {
                text
            };
        }
        words(&text)
    }
}

/// Replaces the commit in the name of a removed branch, `refs/handover/removed/<time>-<commit>/NAME`.
fn cover_commit(text: &str) -> String {
    let Some((before, (commit, after))) =
        text.split_once("<time>-").and_then(|(before, rest)| Some((before, rest.split_once('/')?)))
    else {
        return text.to_owned();
    };
    assert!(commit.len() == 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
    format!("{before}<time>-<commit>/{after}")
}

fn cover_member(members: &mut Map<String, Value>, name: &str, is: fn(&Value) -> bool) {
    if let Some(member) = members.get_mut(name).filter(|member| is(member)) {
        *member = format!("<{name}>").into();
    }
}

const PREFIXES: [&str; 12] = ["wf", "tk", "ag", "cp", "ws", "rp", "tmpl", "msg", "thr", "ses", "tok", "ap"];

/// Replaces ids, times and aliases of agents word by word. Keeps an id of only zeros, because no store has such an id.
fn words(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for letter in text.chars().chain(['\0']) {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            word.push(letter);
            continue;
        }
        out.push_str(&covered_word(&word));
        word.clear();
        if letter != '\0' {
            out.push(letter);
        }
    }
    out
}

fn covered_word(word: &str) -> String {
    let is_body =
        |body: &str| body.len() == 12 && body.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
    if let Some((prefix, body)) = word.split_once('_')
        && PREFIXES.contains(&prefix)
        && is_body(body)
        && body != "000000000000"
    {
        return format!("<{prefix}>");
    }
    if word.parse().is_ok_and(|number: i64| TIMES.contains(&number)) {
        return "<time>".to_owned();
    }
    let is_alias = word.strip_prefix('a').is_some_and(|digits| {
        digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    });
    if is_alias { "<alias>".to_owned() } else { word.to_owned() }
}

/// Formats JSON on one line when it fits after `before` columns, else member by member.
pub(crate) fn wrapped(value: &Value, before: usize) -> String {
    let mut out = String::new();
    wrap(value, before, 0, &mut out);
    out
}

fn wrap(value: &Value, before: usize, depth: usize, out: &mut String) {
    let line = line(value);
    let inner = "  ".repeat(depth + 1);
    let fits = before + line.chars().count() < WIDTH;
    match value {
        Value::Array(items) if !fits && !items.is_empty() => {
            out.push_str("[\n");
            for (number, item) in items.iter().enumerate() {
                out.push_str(&inner);
                wrap(item, inner.len(), depth + 1, out);
                out.push_str(if number + 1 < items.len() { ",\n" } else { "\n" });
            }
            out.push_str(&format!("{}]", "  ".repeat(depth)));
        }
        Value::Object(members) if !fits && !members.is_empty() => wrap_members(members, depth, out),
        _ => out.push_str(&line),
    }
}

/// Formats the members of a JSON object. Short members share lines; a long one gets lines of its own.
fn wrap_members(members: &Map<String, Value>, depth: usize, out: &mut String) {
    let inner = "  ".repeat(depth + 1);
    out.push_str("{\n");
    let mut column = 0;
    for (number, (name, value)) in members.iter().enumerate() {
        let name = format!("{}: ", Value::from(name.as_str()));
        let comma = if number + 1 < members.len() { "," } else { "" };
        let short = format!("{name}{}{comma}", line(value));
        if column > 0 && column + 1 + short.chars().count() < WIDTH {
            out.push_str(&format!(" {short}"));
            column += 1 + short.chars().count();
            continue;
        }
        if column > 0 {
            out.push('\n');
        }
        out.push_str(&inner);
        if inner.len() + short.chars().count() < WIDTH {
            out.push_str(&short);
            column = inner.len() + short.chars().count();
        } else {
            out.push_str(&name);
            wrap(value, inner.len() + name.len(), depth + 1, out);
            out.push_str(comma);
            column = WIDTH;
        }
    }
    out.push_str(&format!("\n{}}}", "  ".repeat(depth)));
}

/// Formats JSON on one line, with spaces after colons and commas.
pub(crate) fn line(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(line).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("{}: {}", Value::from(name.as_str()), line(value));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}
