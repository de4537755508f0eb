//! Formats answers for readers: replaces values that depend on time or random numbers, and wraps the lines.

use std::collections::BTreeMap;

use base::ground::clock::{Clock as _, SystemClock};
use engine::{Millis, Timestamp};
use serde_json::{Map, Value};
use wire::time::DateTime;

/// The largest width of a line in a transcript, in characters. Longer JSON is wrapped.
const WIDTH: usize = 118;

/// The numbers that count as times, in milliseconds: from 2020 to 2096. No other number of a reply is that large. When
/// such a number is a value of a reply, it is replaced by `<time>`. When it is part of a text, it is an error, because
/// people and models read the text.
const TIMES: std::ops::Range<i64> = 1_577_000_000_000..4_000_000_000_000;

/// The values that a sequence of steps saved, by the names that the transcript gives them.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<String, String>);

impl Names {
    pub(crate) fn save(&mut self, name: &str, value: String) {
        assert!(!value.is_empty(), "{name} is empty");
        self.0.insert(name.to_owned(), value);
    }

    /// Replaces the names of saved values in a text by the values. Begins with the longest names, because one name may
    /// be the start of another.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut names: Vec<(&String, &String)> = self.0.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names.into_iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// Replaces saved values by their names. Replaces times, and ids without a name, by their kind, such as `<time>`.
    pub(crate) fn cover(&self, tool: &str, value: &Value) -> Value {
        let mut value = value.clone();
        match (tool, &mut value) {
            ("task_load_context" | "workflow_get_summary", Value::Object(members)) => {
                // The estimate differs between runs, because ids are random and some have more tokens than others.
                cover_member(members, "token_estimate", Value::is_u64);
            }
            ("task_next" | "task_wait", Value::Object(members)) => {
                if let Some(Value::Object(context)) = members.get_mut("context") {
                    cover_member(context, "token_estimate", Value::is_u64);
                }
                cover_member(members, "cursor", Value::is_string);
            }
            ("workspace_update", Value::Object(members)) => {
                if let Some(Value::String(text)) = members.get_mut("branch_restore") {
                    *text = cover_removed(text);
                }
            }
            _ => {}
        }
        self.covered(&value)
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
        words(&times(&text))
    }
}

/// The start of the names of the git references with which Handover keeps the commits of removed branches.
const REMOVED: &str = "refs/handover/removed/";

/// Replaces the time and the commit in the reference of a removed branch, `refs/handover/removed/<time>-<commit>/NAME`.
fn cover_removed(text: &str) -> String {
    let Some((before, rest)) = text.split_once(REMOVED) else { return text.to_owned() };
    let parts = rest.split_once('/').and_then(|(name, after)| Some((name.split_once('-')?, after)));
    let ((time, commit), after) = parts.unwrap_or_else(|| panic!("not a reference of a removed branch: {text}"));
    assert!(time.parse().is_ok_and(|time: i64| TIMES.contains(&time)), "{text}");
    assert!(commit.len() == 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
    format!("{before}{REMOVED}<time>-<commit>/{after}")
}

/// Replaces the RFC 3339 times of this test run in a text, such as `2026-04-28T12:00:00Z`. Keeps the times that a
/// script gives, because they do not change.
fn times(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, digits) = rest.split_at(at);
        let length = digits.find(|letter: char| !matches!(letter, '0'..='9' | '-' | ':' | '.' | 'T' | 'Z'));
        let (word, behind) = digits.split_at(length.unwrap_or(digits.len()));
        let is_time = DateTime::new(word).is_some_and(|time| is_recent(&time));
        out.push_str(before);
        out.push_str(if is_time { "<time>" } else { word });
        rest = behind;
    }
    out + rest
}

/// Tells whether a time differs from the present time by less than a day.
fn is_recent(time: &DateTime) -> bool {
    let now = SystemClock.now();
    let day = i64::from(Millis::minutes(24 * 60).0);
    let shifted = |ms: i64| DateTime::from_timestamp(Timestamp(now.0 + ms)).map(|time| time.instant());
    shifted(-day) < Some(time.instant()) && Some(time.instant()) < shifted(day)
}

fn cover_member(members: &mut Map<String, Value>, name: &str, is: fn(&Value) -> bool) {
    if let Some(member) = members.get_mut(name).filter(|member| is(member)) {
        *member = format!("<{name}>").into();
    }
}

const PREFIXES: [&str; 12] = ["wf", "tk", "ag", "cp", "ws", "rp", "tmpl", "msg", "thr", "ses", "tok", "ap"];

/// The ends of ids that are not random: the end of an id that exists in no store, and the end of the example id in help
/// texts and errors.
const FIXED: [&str; 2] = ["000000000000", "0123456789ab"];

/// Replaces random ids, and aliases of agents, by fixed words. Panics when the text has a time in milliseconds.
fn words(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for letter in text.chars().chain(['\0']) {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            word.push(letter);
            continue;
        }
        assert!(
            !word.parse().is_ok_and(|number: i64| TIMES.contains(&number)),
            "a time in milliseconds is in a text, which people cannot read: {text}"
        );
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
        && !FIXED.contains(&body)
    {
        return format!("<{prefix}>");
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

#[test]
fn times_are_covered_in_numbers_and_as_rfc_3339_texts_only() {
    let names = Names::default();
    let now = SystemClock.now();
    let cover = |text: String| names.cover("", &Value::from(text));
    assert_eq!(names.cover("", &now.0.into()), "<time>");
    assert_eq!(cover(format!("locked until {}, by a", now.to_rfc3339())), "locked until <time>, by a");
    assert_eq!(cover("since 2026-04-28T12:00:00Z, 1.5 s".to_owned()), "since 2026-04-28T12:00:00Z, 1.5 s");
    let in_a_text = std::panic::catch_unwind(|| cover(format!("locked until {}", now.0)));
    assert!(in_a_text.is_err(), "{in_a_text:?}");
}

#[test]
fn reference_of_a_removed_branch_is_covered_in_its_one_place() {
    let names = Names::default();
    let text = format!("git branch x {REMOVED}{}-0123456789ab/x", SystemClock.now().0);
    let reply = serde_json::json!({"branch_restore": text});
    let covered = serde_json::json!({"branch_restore": "git branch x refs/handover/removed/<time>-<commit>/x"});
    assert_eq!(names.cover("workspace_update", &reply), covered);
    assert!(std::panic::catch_unwind(|| names.cover("task_get", &reply)).is_err());
}
