//! Helpers that the sections of a contract share: fields that may be wrong without harm, and members that no table
//! lists.
//!
//! Values that no code reads are kept as their original text: that loses nothing and costs almost nothing.

use crate::json::{self, JsonMember, JsonNode, Object, Value};
use crate::shape::{Maybe, NonBlank};

/// The text of a contract, from which values are copied as they were written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ContractSource<'t>(pub(super) &'t str);

impl ContractSource<'_> {
    pub(super) fn written(self, node: &JsonNode<'_>) -> WrittenValue {
        WrittenValue(node.span.of(self.0).into())
    }

    /// Returns the members of an object that are not in `known`.
    pub(super) fn others(self, node: &JsonNode<'_>, known: &[&str]) -> ExtraMembers {
        self.extra(node.members().unwrap_or_default().iter().filter(|member| !known.contains(&&*member.name)))
    }

    pub(super) fn extra<'n, 't: 'n>(self, members: impl Iterator<Item = &'n JsonMember<'t>>) -> ExtraMembers {
        ExtraMembers(members.map(|member| (member.name.to_string(), self.written(&member.node))).collect())
    }
}

/// A JSON value as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenValue(Box<str>);

impl WrittenValue {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn value(&self) -> Value {
        // This text is part of a text that was parsed before, so parsing does not fail.
        json::parse(&self.0).map_or(Value::Null, |node| node.to_value())
    }
}

/// Members of an object that its table does not list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtraMembers(Vec<(String, WrittenValue)>);

impl ExtraMembers {
    pub fn get(&self, name: &str) -> Option<&WrittenValue> {
        self.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// Returns the members in their original order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &WrittenValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// A field that never makes a contract invalid. A value that is not legal is kept but not read.
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

    /// Reads a field. `read` returns `None` when the value is not legal.
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

/// A list whose malformed elements are skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<T> {
    pub(super) kept: Vec<T>,
    /// The whole list as written, if some of its elements were skipped.
    whole: Option<WrittenValue>,
}

impl<T> Listing<T> {
    /// Returns the elements that are well-formed.
    pub fn kept(&self) -> &[T] {
        &self.kept
    }

    /// Reads a node that is a list. `element` returns `None` for an element to skip.
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

/// A word of a fixed list, and its spelling in the text.
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

/// Returns the value if it is present and not null.
pub(super) fn given<'n, 't>(node: Option<&'n JsonNode<'t>>) -> Option<&'n JsonNode<'t>> {
    node.filter(|node| !node.is_null())
}

/// Returns the text of a string that is not blank.
pub(super) fn stated(node: &JsonNode<'_>) -> Option<NonBlank> {
    node.text().and_then(NonBlank::new)
}

/// An object that is being written.
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
