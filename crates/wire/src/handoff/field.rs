//! Helpers for all sections of a handoff contract: optional fields, whose wrong values do not make the contract
//! invalid, and members that the specification does not list.
//!
//! A value that no code reads is kept as its original text. So the value stays exactly as the agent wrote it, and no
//! time is spent on parsing it.

use crate::json::{self, JsonMember, JsonNode, Object, Value};
use crate::shape::{Maybe, NonBlank};

/// The JSON text of a handoff contract. Values that must stay unchanged are copied from it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ContractSource<'t>(pub(super) &'t str);

impl ContractSource<'_> {
    pub(super) fn written(self, node: &JsonNode<'_>) -> WrittenValue {
        WrittenValue(node.span.of(self.0).into())
    }

    /// Returns the members of an object whose names are not in `known`.
    pub(super) fn others(self, node: &JsonNode<'_>, known: &[&str]) -> ExtraMembers {
        self.extra(node.members().unwrap_or_default().iter().filter(|member| !known.contains(&&*member.name)))
    }

    pub(super) fn extra<'n, 't: 'n>(self, members: impl Iterator<Item = &'n JsonMember<'t>>) -> ExtraMembers {
        ExtraMembers(members.map(|member| (member.name.to_string(), self.written(&member.node))).collect())
    }
}

/// A JSON value as the agent wrote it, with the original spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenValue(Box<str>);

impl WrittenValue {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn value(&self) -> Value {
        // The text was already parsed as part of the whole handoff contract, so parsing it again does not fail.
        json::parse(&self.0).map_or(Value::Null, |node| node.to_value())
    }
}

/// The members that an object in a handoff contract has although the specification does not list them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtraMembers(Vec<(String, WrittenValue)>);

impl ExtraMembers {
    pub fn get(&self, name: &str) -> Option<&WrittenValue> {
        self.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// Returns the names and values of the members that the specification does not list, in their original order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &WrittenValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// An optional field that never makes a handoff contract invalid. A value that is not legal is kept as text, but no
/// code uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lenient<T> {
    Absent,
    Null,
    Is(T),
    Other(WrittenValue),
}

impl<T> Lenient<T> {
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Absent | Self::Null | Self::Other(_) => None,
        }
    }

    /// Reads an optional field of a handoff contract. The function `read` returns `None` when the value is not legal.
    pub(super) fn read(
        node: Option<&JsonNode<'_>>,
        source: ContractSource<'_>,
        read: impl FnOnce(&JsonNode<'_>) -> Option<T>,
    ) -> Self {
        match node {
            None => Self::Absent,
            Some(node) if node.is_null() => Self::Null,
            Some(node) => read(node).map_or_else(|| Self::Other(source.written(node)), Self::Is),
        }
    }

    pub(super) fn render(&self, render: impl FnOnce(&T) -> Value) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Null => Some(Value::Null),
            Self::Is(value) => Some(render(value)),
            Self::Other(value) => Some(value.value()),
        }
    }
}

/// A list in a handoff contract, without the malformed elements, which are skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<T> {
    pub(super) kept: Vec<T>,
    /// The original text of the whole list, if some of its elements were skipped. In that case the list is rendered
    /// from this text.
    whole: Option<WrittenValue>,
}

impl<T> Listing<T> {
    /// Returns the well-formed elements of this list of a handoff contract. Malformed elements were skipped.
    pub fn kept(&self) -> &[T] {
        &self.kept
    }

    /// Reads a node that must be a list. The function `element` returns `None` for an element to skip.
    pub(super) fn read<'n, 't>(
        node: &'n JsonNode<'t>,
        source: ContractSource<'_>,
        mut element: impl FnMut(usize, &'n JsonNode<'t>) -> Option<T>,
    ) -> Self {
        let items = node.list().unwrap_or_default();
        let kept: Vec<T> = items.iter().enumerate().filter_map(|(index, item)| element(index, item)).collect();
        let whole = (kept.len() < items.len()).then(|| source.written(node));
        Self { kept, whole }
    }

    pub(super) fn render(&self, render: impl Fn(&T) -> Value) -> Value {
        match &self.whole {
            Some(whole) => whole.value(),
            None => Value::List(self.kept.iter().map(render).collect()),
        }
    }
}

/// A word that is one of a fixed list of legal words, together with the agent's spelling of it, such as `blocked.` for
/// `BLOCKED`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelt<T> {
    pub(super) word: T,
    pub(super) text: String,
}

impl<T: Copy> Spelt<T> {
    pub fn word(&self) -> T {
        self.word
    }
}

/// Returns the node of an optional field if the field is present and its value is not null.
pub(super) fn given<'n, 't>(node: Option<&'n JsonNode<'t>>) -> Option<&'n JsonNode<'t>> {
    node.filter(|node| !node.is_null())
}

/// Returns the text of a JSON string that is not blank. Returns `None` for every other value.
pub(super) fn stated(node: &JsonNode<'_>) -> Option<NonBlank> {
    node.text().and_then(NonBlank::new)
}

/// A JSON object that is built member by member.
#[derive(Debug, Default)]
pub(super) struct ObjectWriting(Object);

impl ObjectWriting {
    pub(super) fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    pub(super) fn optional(self, name: &str, value: Option<Value>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    pub(super) fn maybe<T>(self, name: &str, value: &Maybe<T>, render: impl FnOnce(&T) -> Value) -> Self {
        match value {
            Maybe::Absent => self,
            Maybe::Null => self.field(name, Value::Null),
            Maybe::Is(value) => self.field(name, render(value)),
        }
    }

    pub(super) fn extra(mut self, extra: &ExtraMembers) -> Value {
        self.0.extend(extra.iter().map(|(name, value)| (name.to_owned(), value.value())));
        Value::Object(self.0)
    }
}
