//! Pieces of the reply of `task_load_context`. Each piece knows its weight, which is its estimated cost in parts of a
//! token, and can be shortened.

use engine::Json;

use crate::json::{DEPTH_MAX, JsonKind, JsonNode, Value, parse};
use crate::tokens::{UNIT, weight};

/// The largest weight, in parts of a token, of the marker after a cut text, such as ` … [cut 120 characters]`.
const MARKER: u64 = 14 * UNIT;
/// The least weight (token cost) with which a text is shown. A text that gets less weight is left out.
pub(super) const LEAST: u64 = MARKER + 10 * UNIT;
/// The weight (token cost) that the name of a task or workflow always gets, at every token budget.
const NAME_LEAST: u64 = MARKER + 16 * UNIT;
/// The largest weight (token cost) of a field that is never cut. Leaving out such a small field would save almost
/// nothing.
const SMALL: u64 = 6 * UNIT;
/// The length in bytes from which a word of a text may be cut in the middle. Shorter words are kept whole or left out.
const WORD_BYTES_MAX: usize = 24;
/// The number of characters that [`first_words`] shows of every text, even when they cost more tokens than the budget.
const FEW_CHARACTERS: usize = 4;
/// The maximum nesting depth of a JSON value in the reply of `task_load_context`. A deeper value is shown as a text.
/// The reply adds a few levels around the value, and clients may refuse JSON that is nested deeper than [`DEPTH_MAX`],
/// as our own parser does.
const VALUE_DEPTH_MAX: usize = DEPTH_MAX - 8;

/// The value of one field in the reply of `task_load_context`. The variants differ in how the value can be cut.
#[derive(Debug)]
pub(super) enum PieceContent<'f> {
    /// A small value that is never cut from the reply of `task_load_context`.
    Whole(Value),
    /// A name. When the token budget is small, other texts are left out, but the beginning of a name is always shown.
    Name(&'f str),
    Text(&'f str),
    Json(&'f Json),
    List(Vec<&'f str>),
}

/// A field of an object in the reply of `task_load_context`, with its weight (estimated token cost).
#[derive(Debug)]
pub(super) struct PieceField<'f> {
    pub(super) name: &'static str,
    content: PieceContent<'f>,
    /// The weight of the whole field, that is, its estimated token cost when nothing is cut.
    pub(super) want: u64,
    /// The weight (token cost) that the field always gets, before the rest of the token budget is shared among all
    /// fields.
    pub(super) least: u64,
}

/// A field of the reply of `task_load_context` after rendering, and how much of it was cut.
pub(super) struct Rendered {
    /// The value of the field as JSON; `None` when the field is left out of the reply.
    pub(super) value: Option<Value>,
    /// The amount that was cut from the field: a number of characters for a text, or a number of items for a list.
    pub(super) left_out: u64,
}

impl<'f> PieceField<'f> {
    pub(super) fn new(name: &'static str, content: PieceContent<'f>) -> Self {
        let text = match &content {
            PieceContent::Whole(value) => value.to_string(),
            PieceContent::Name(text) | PieceContent::Text(text) => Value::from(*text).to_string(),
            PieceContent::Json(json) => json.as_str().to_owned(),
            PieceContent::List(items) => Value::from(items.clone()).to_string(),
        };
        let want = weight(&format!("\"{name}\":{text},"));
        let least = match content {
            PieceContent::Whole(_) => want,
            PieceContent::Name(_) => want.min(NAME_LEAST),
            PieceContent::Text(_) | PieceContent::Json(_) | PieceContent::List(_) if want <= SMALL => want,
            PieceContent::Text(_) | PieceContent::Json(_) | PieceContent::List(_) => 0,
        };
        Self { name, content, want, least }
    }

    pub(super) fn text(name: &'static str, text: Option<&'f str>) -> Self {
        Self::new(name, text.map_or(PieceContent::Whole(Value::Null), PieceContent::Text))
    }

    pub(super) fn json(name: &'static str, json: Option<&'f Json>) -> Self {
        Self::new(name, json.map_or(PieceContent::Whole(Value::Null), PieceContent::Json))
    }

    /// Returns a field for the reply of `task_load_context` that holds a list, or `None` when the list is empty.
    pub(super) fn list(name: &'static str, items: &'f [String]) -> Option<Self> {
        let content = PieceContent::List(items.iter().map(String::as_str).collect());
        (!items.is_empty()).then(|| Self::new(name, content))
    }

    /// Renders as much of the field as the weight (token cost) `grant` allows.
    pub(super) fn render(&self, grant: u64) -> Rendered {
        let whole = grant >= self.want;
        // Subtract the weight (token cost) of the field's name with its quotes, the colon and the comma. The rest is
        // the room for the value.
        let room = grant.saturating_sub(weight(self.name) + 2 * UNIT);
        let part = |text: &str| match cut(text, room) {
            Some((text, left_out)) => Rendered { value: Some(text.into()), left_out },
            // An empty text that is left out counts as one cut character. With a count of 0, the list of cut pieces
            // would not name this text.
            None => Rendered { value: None, left_out: characters(text).max(1) },
        };
        let all = |value: Value| Rendered { value: Some(value), left_out: 0 };
        match &self.content {
            PieceContent::Whole(value) => all(value.clone()),
            PieceContent::Name(text) | PieceContent::Text(text) if whole => all((*text).into()),
            PieceContent::Name(text) | PieceContent::Text(text) => part(text),
            PieceContent::Json(json) if whole => all(read(json)),
            PieceContent::Json(json) => part(json.as_str()),
            PieceContent::List(items) if whole => all(items.clone().into()),
            PieceContent::List(items) => first_items(items, room),
        }
    }
}

/// Returns as many items from the beginning of a list as fit into the weight (token cost) `room`. The last returned
/// item may be cut.
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

/// Divides a budget (a weight, that is, a token cost) among fields of the reply of `task_load_context`. A small field
/// gets all that it wants, and the larger fields get equal shares. When an equal share would be less than [`LEAST`],
/// the last of the larger fields gets nothing, and its share goes to the other fields.
pub(super) fn share(fields: &[PieceField<'_>], budget: u64) -> Vec<u64> {
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

/// Returns the largest limit `n` for the weight (token cost) of one field with which all fields together fit into the
/// budget. A field that wants less than `n` takes only the weight that it wants.
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

/// Reads stored JSON as a value. Returns the JSON text as a string when the value is nested too deeply for clients.
/// Returns null when the stored text is not JSON.
fn read(json: &Json) -> Value {
    match parse(json.as_str()) {
        Ok(node) if depth_within(&node, VALUE_DEPTH_MAX) => node.to_value(),
        Ok(_) => json.as_str().into(),
        Err(_) => Value::Null,
    }
}

fn depth_within(node: &JsonNode<'_>, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return false };
    match &node.kind {
        JsonKind::Null | JsonKind::Bool(_) | JsonKind::Number(_) | JsonKind::Text(_) => true,
        JsonKind::List(items) => items.iter().all(|item| depth_within(item, below)),
        JsonKind::Object(members) => members.iter().all(|member| depth_within(&member.node, below)),
    }
}

/// Cuts a text so that it fits into a budget (token cost) as a JSON string, and appends a marker that says how much was
/// cut. Returns the text and the number of characters that were cut, or `None` when no text would remain.
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

/// Returns the first words of a text without line breaks, for a progress note of a task that is shown as one line.
pub(super) fn first_words(text: &str, budget: u64) -> String {
    // The first [`FEW_CHARACTERS`] characters are always shown, even when they cost more tokens than the budget.
    let few = text.char_indices().nth(FEW_CHARACTERS).map_or(text.len(), |(at, _)| at);
    let end = beginning(text, budget).max(few);
    let kept = text[..end].trim();
    format!("{}{}", kept.replace(['\n', '\r', '\t'], " "), if end < text.len() { "…" } else { "" })
}

/// Returns the byte index at which a text must be cut so that the words before it fit into the budget (token cost).
fn beginning(text: &str, budget: u64) -> usize {
    let (mut end, mut left) = (0, budget);
    while end < text.len() {
        let next = end + word_bytes(&text[end..]);
        let Some(rest) = left.checked_sub(escaped_weight(&text[end..next])) else { break };
        (end, left) = (next, rest);
    }
    end
}

/// Returns the length in bytes of the first word of a text, together with the blanks before the word. The length is at
/// least one character.
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
