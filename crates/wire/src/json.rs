//! A strict reader for the JSON of RFC 8259, which keeps the place of every value.
//!
//! A general parser would be shorter, but it drops facts that a checker needs: the place of a value, the spelling of a
//! number, and a key that occurs twice.

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

/// A range of bytes in a text. `end` is exclusive.
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

/// A value with its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'t> {
    pub span: Span,
    pub kind: Kind<'t>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind<'t> {
    Null,
    Bool(bool),
    /// A number with its original spelling.
    Number(&'t str),
    Text(Cow<'t, str>),
    List(Vec<Node<'t>>),
    Object(Vec<Member<'t>>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Member<'t> {
    pub name: Cow<'t, str>,
    /// The place of the name.
    pub at: Span,
    pub node: Node<'t>,
}

impl<'t> Node<'t> {
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    pub fn text(&self) -> Option<&str> {
        if let Kind::Text(text) = &self.kind { Some(text) } else { None }
    }

    pub fn list(&self) -> Option<&[Self]> {
        if let Kind::List(items) = &self.kind { Some(items) } else { None }
    }

    pub fn members(&self) -> Option<&[Member<'t>]> {
        if let Kind::Object(members) = &self.kind { Some(members) } else { None }
    }

    /// Returns a member of an object. Returns `None` also when this node is not an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.members()?.iter().find(|member| member.name == name).map(|member| &member.node)
    }

    /// Returns the type of the value in words for a person.
    pub fn noun(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(text) if Number::is_integer_text(text) => "an integer",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a string",
            Kind::List(_) => "an array",
            Kind::Object(_) => "an object",
        }
    }

    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(yes) => Value::Bool(*yes),
            Kind::Number(text) => Value::Number(Number::of(text)),
            Kind::Text(text) => Value::Text(text.clone().into_owned()),
            Kind::List(items) => Value::List(items.iter().map(Node::to_value).collect()),
            Kind::Object(members) => {
                Value::Object(members.iter().map(|member| (member.name.to_string(), member.node.to_value())).collect())
            }
        }
    }
}

/// Writes compact JSON: no blanks, names and numbers with their original spelling.
impl fmt::Display for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Null => f.write_str("null"),
            Kind::Bool(yes) => write!(f, "{yes}"),
            Kind::Number(text) => f.write_str(text),
            Kind::Text(text) => value::quote(text, f),
            Kind::List(items) => {
                f.write_str("[")?;
                for (number, item) in items.iter().enumerate() {
                    f.write_str(if number > 0 { "," } else { "" })?;
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
            Kind::Object(members) => {
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
