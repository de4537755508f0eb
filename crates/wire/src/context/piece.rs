//! Pieces of the reply that know what they cost, and how to become shorter.

use engine::Json;

use crate::json::{DEPTH_MAX, Kind, Node, Value, parse};
use crate::tokens::{UNIT, weight};

/// What a text that was cut ends with costs at most.
const MARKER: u64 = 14 * UNIT;
/// Less than this of a text says nothing; it is better left out.
pub(super) const LEAST: u64 = MARKER + 10 * UNIT;
/// What is kept of a name, however little room there is.
const NAME_LEAST: u64 = MARKER + 16 * UNIT;
/// What costs no more than leaving it out would save.
const SMALL: u64 = 6 * UNIT;
/// A word longer than this may be cut anywhere.
const WORD_BYTES_MAX: usize = 24;
/// Of any text that is shown at all.
const FEW_CHARACTERS: usize = 4;
/// The reply has a few levels of its own around a value, and readers stop where we do.
const VALUE_DEPTH_MAX: usize = DEPTH_MAX - 8;

/// What a member of an object holds.
#[derive(Debug)]
pub(super) enum Content<'f> {
    /// Small, and never cut.
    Whole(Value),
    /// It keeps its beginning longer than others.
    Name(&'f str),
    Text(&'f str),
    Json(&'f Json),
    List(Vec<&'f str>),
}

/// A member of an object, with its price.
#[derive(Debug)]
pub(super) struct Field<'f> {
    pub(super) name: &'static str,
    content: Content<'f>,
    /// In full.
    pub(super) want: u64,
    /// What it gets before anything else is shared.
    pub(super) least: u64,
}

/// What became of a field.
pub(super) struct Rendered {
    /// `None` when it was left out.
    pub(super) value: Option<Value>,
    /// Characters of a text, items of a list.
    pub(super) left_out: u64,
}

impl<'f> Field<'f> {
    pub(super) fn new(name: &'static str, content: Content<'f>) -> Self {
        let text = match &content {
            Content::Whole(value) => value.to_string(),
            Content::Name(text) | Content::Text(text) => Value::from(*text).to_string(),
            Content::Json(json) => json.as_str().to_owned(),
            Content::List(items) => Value::from(items.clone()).to_string(),
        };
        let want = weight(&format!("\"{name}\":{text},"));
        let least = match content {
            Content::Whole(_) => want,
            Content::Name(_) => want.min(NAME_LEAST),
            Content::Text(_) | Content::Json(_) | Content::List(_) if want <= SMALL => want,
            Content::Text(_) | Content::Json(_) | Content::List(_) => 0,
        };
        Self { name, content, want, least }
    }

    pub(super) fn text(name: &'static str, text: Option<&'f str>) -> Self {
        Self::new(name, text.map_or(Content::Whole(Value::Null), Content::Text))
    }

    pub(super) fn json(name: &'static str, json: Option<&'f Json>) -> Self {
        Self::new(name, json.map_or(Content::Whole(Value::Null), Content::Json))
    }

    /// A list that is not empty.
    pub(super) fn list(name: &'static str, items: &'f [String]) -> Option<Self> {
        let content = Content::List(items.iter().map(String::as_str).collect());
        (!items.is_empty()).then(|| Self::new(name, content))
    }

    /// As much as this buys.
    pub(super) fn render(&self, grant: u64) -> Rendered {
        let whole = grant >= self.want;
        // The name, its quotes, the colon and the comma.
        let room = grant.saturating_sub(weight(self.name) + 2 * UNIT);
        let part = |text: &str| match cut(text, room) {
            Some((text, left_out)) => Rendered { value: Some(text.into()), left_out },
            // An empty text that is left out is left out, too.
            None => Rendered { value: None, left_out: characters(text).max(1) },
        };
        let all = |value: Value| Rendered { value: Some(value), left_out: 0 };
        match &self.content {
            Content::Whole(value) => all(value.clone()),
            Content::Name(text) | Content::Text(text) if whole => all((*text).into()),
            Content::Name(text) | Content::Text(text) => part(text),
            Content::Json(json) if whole => all(read(json)),
            Content::Json(json) => part(json.as_str()),
            Content::List(items) if whole => all(items.clone().into()),
            Content::List(items) => first_items(items, room),
        }
    }
}

/// The first items of a list, the last of them perhaps cut.
fn first_items(items: &[&str], room: u64) -> Rendered {
    let mut left = room;
    let mut kept: Vec<Value> = Vec::new();
    for item in items {
        let price = weight(&Value::from(*item).to_string()) + UNIT;
        if price > left {
            kept.extend(cut(item, left.saturating_sub(UNIT)).map(|(part, _)| Value::from(part)));
            break;
        }
        left -= price;
        kept.push((*item).into());
    }
    let whole = kept.iter().zip(items).filter(|(kept, item)| kept.as_text() == Some(item)).count();
    let left_out = u64::try_from(items.len() - whole).unwrap_or(u64::MAX);
    Rendered { value: (!kept.is_empty()).then(|| kept.into()), left_out }
}

/// Shares a budget among fields: the smaller wants are met, the larger ones get the same each. Who would get too little to
/// say anything gets nothing, the last first, so that the others get more.
pub(super) fn share(fields: &[Field<'_>], budget: u64) -> Vec<u64> {
    let least: u64 = fields.iter().map(|field| field.least).sum();
    let mut wants: Vec<u64> = fields.iter().map(|field| field.want - field.least).collect();
    loop {
        let level = level(&wants, budget.saturating_sub(least));
        let starved = |(at, want): (usize, &u64)| *want > level && level < LEAST && fields[at].least == 0;
        match wants.iter().enumerate().rposition(starved) {
            Some(last) => wants[last] = 0,
            None => return fields.iter().zip(wants).map(|(field, want)| field.least + want.min(level)).collect(),
        }
    }
}

/// How much each may get when all wants together are more than there is.
pub(super) fn level(wants: &[u64], budget: u64) -> u64 {
    let mut sorted = wants.to_vec();
    sorted.sort_unstable();
    let mut left = budget;
    for (met, want) in sorted.iter().enumerate() {
        let open = u64::try_from(sorted.len() - met).unwrap_or(u64::MAX);
        if want.saturating_mul(open) > left {
            return left / open;
        }
        left -= want;
    }
    u64::MAX
}

/// The value of carried JSON. What is nested deeper than readers go is given as its text; a damaged row reads as null.
fn read(json: &Json) -> Value {
    match parse(json.as_str()) {
        Ok(node) if depth_within(&node, VALUE_DEPTH_MAX) => node.to_value(),
        Ok(_) => json.as_str().into(),
        Err(_) => Value::Null,
    }
}

fn depth_within(node: &Node<'_>, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return false };
    match &node.kind {
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => true,
        Kind::List(items) => items.iter().all(|item| depth_within(item, below)),
        Kind::Object(members) => members.iter().all(|member| depth_within(&member.node, below)),
    }
}

/// The beginning of a text that this buys, as a string of JSON, with a word about what is missing; and how many characters are.
pub(super) fn cut(text: &str, budget: u64) -> Option<(String, u64)> {
    let end = beginning(text, budget.checked_sub(MARKER)?);
    if end == text.len() {
        return Some((text.to_owned(), 0));
    }
    let kept = text[..end].trim_end();
    if kept.is_empty() {
        return None;
    }
    let left_out = characters(&text[kept.len()..]);
    Some((format!("{kept} … [cut {left_out} characters]"), left_out))
}

/// The first words of a text, for a line.
pub(super) fn first_words(text: &str, budget: u64) -> String {
    // However much a character costs, a few of them are the beginning.
    let few = text.char_indices().nth(FEW_CHARACTERS).map_or(text.len(), |(at, _)| at);
    let end = beginning(text, budget).max(few);
    let kept = text[..end].trim();
    format!("{}{}", kept.replace(['\n', '\r', '\t'], " "), if end < text.len() { "…" } else { "" })
}

/// Where the words end that this buys.
fn beginning(text: &str, budget: u64) -> usize {
    let (mut end, mut left) = (0, budget);
    while end < text.len() {
        let next = end + word_bytes(&text[end..]);
        let Some(rest) = left.checked_sub(escaped_weight(&text[end..next])) else { break };
        (end, left) = (next, rest);
    }
    end
}

/// Bytes of the first word with the blanks before it, at least one character.
fn word_bytes(text: &str) -> usize {
    let mut in_word = false;
    for (at, found) in text.char_indices() {
        let blank = found.is_whitespace();
        if at > 0 && ((in_word && blank) || at >= WORD_BYTES_MAX) {
            return at;
        }
        in_word |= !blank;
    }
    text.len()
}

fn escaped_weight(text: &str) -> u64 {
    let plain = !text.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
    if plain {
        return weight(text);
    }
    let quoted = Value::from(text).to_string();
    weight(quoted.get(1..quoted.len() - 1).unwrap_or(&quoted))
}

fn characters(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}
