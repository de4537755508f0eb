//! A strict reader for JSON by RFC 8259, which keeps the place of every value in the text.
//!
//! A general JSON parser would be less code, but it loses facts that a checker needs: the place of a value, the
//! spelling of a number, and whether a key occurs twice.

mod jcs;
mod measure;
mod number;
mod parse;
mod value;

use std::borrow::Cow;
use std::fmt;

pub(crate) use measure::measure;
pub use number::Number;
pub(crate) use parse::object_or_none;
pub use parse::{DEPTH_MAX, SyntaxError, parse, parse_object};
pub use value::{Object, Value, object};

/// A range of bytes in a text. The byte at `end` is not in the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn of<'t>(&self, text: &'t str) -> &'t str {
        let place = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
        text.get(place(self.start)..place(self.end)).unwrap_or_default()
    }
}

/// A JSON value with its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonNode<'t> {
    pub span: Span,
    pub kind: JsonKind<'t>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JsonKind<'t> {
    Null,
    Bool(bool),
    /// A number, spelled as in the JSON text.
    Number(&'t str),
    Text(Cow<'t, str>),
    List(Vec<JsonNode<'t>>),
    Object(Vec<JsonMember<'t>>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct JsonMember<'t> {
    pub name: Cow<'t, str>,
    /// The place of the member's name in the JSON text.
    pub at: Span,
    pub node: JsonNode<'t>,
}

impl<'t> JsonNode<'t> {
    pub fn is_null(&self) -> bool {
        matches!(self.kind, JsonKind::Null)
    }

    pub fn text(&self) -> Option<&str> {
        if let JsonKind::Text(text) = &self.kind { Some(text) } else { None }
    }

    pub fn list(&self) -> Option<&[Self]> {
        if let JsonKind::List(items) = &self.kind { Some(items) } else { None }
    }

    pub fn members(&self) -> Option<&[JsonMember<'t>]> {
        if let JsonKind::Object(members) = &self.kind { Some(members) } else { None }
    }

    /// Returns the member of an object with this name. Returns `None` when there is no such member or when this node is
    /// not an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.members()?.iter().find(|member| member.name == name).map(|member| &member.node)
    }

    /// Returns the type of the JSON value as a noun, for messages to people.
    pub fn noun(&self) -> &'static str {
        match &self.kind {
            JsonKind::Null => "null",
            JsonKind::Bool(_) => "a boolean",
            JsonKind::Number(text) if Number::is_integer_text(text) => "an integer",
            JsonKind::Number(_) => "a number",
            JsonKind::Text(_) => "a string",
            JsonKind::List(_) => "an array",
            JsonKind::Object(_) => "an object",
        }
    }

    pub fn to_value(&self) -> Value {
        match &self.kind {
            JsonKind::Null => Value::Null,
            JsonKind::Bool(yes) => Value::Bool(*yes),
            JsonKind::Number(text) => Value::Number(Number::of(text)),
            JsonKind::Text(text) => Value::Text(text.clone().into_owned()),
            JsonKind::List(items) => Value::List(items.iter().map(JsonNode::to_value).collect()),
            JsonKind::Object(members) => {
                Value::Object(members.iter().map(|member| (member.name.to_string(), member.node.to_value())).collect())
            }
        }
    }
}

/// Writes compact JSON without blanks. Names and numbers keep their original spelling.
impl fmt::Display for JsonNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            JsonKind::Null => f.write_str("null"),
            JsonKind::Bool(yes) => write!(f, "{yes}"),
            JsonKind::Number(text) => f.write_str(text),
            JsonKind::Text(text) => value::quote(text, f),
            JsonKind::List(items) => {
                f.write_str("[")?;
                for (number, item) in items.iter().enumerate() {
                    f.write_str(if number > 0 { "," } else { "" })?;
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
            JsonKind::Object(members) => {
                f.write_str("{")?;
                for (number, member) in members.iter().enumerate() {
                    f.write_str(if number > 0 { "," } else { "" })?;
                    value::quote(&member.name, f)?;
                    write!(f, ":{}", member.node)?;
                }
                f.write_str("}")
            }
        }
    }
}
