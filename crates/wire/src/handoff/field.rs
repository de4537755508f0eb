//! What the sections of a contract share: fields that may be wrong without harm, and members nobody asked for.

use crate::json::{self, Node, Object, Value};
use crate::shape::{Maybe, NonBlank};

/// A field that never makes a contract invalid: what is not legal is kept as it came and not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lenient<T> {
    Absent,
    Null,
    Is(T),
    Other(Value),
}

impl<T> Lenient<T> {
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Absent | Self::Null | Self::Other(_) => None,
        }
    }

    /// Reads what is there; `read` gives nothing when it is not legal.
    pub(super) fn read(node: Option<&Node<'_>>, read: impl FnOnce(&Node<'_>) -> Option<T>) -> Self {
        match node {
            None => Self::Absent,
            Some(node) if node.is_null() => Self::Null,
            Some(node) => read(node).map_or_else(|| Self::Other(node.to_value()), Self::Is),
        }
    }

    pub(super) fn render(&self, render: impl FnOnce(&T) -> Value) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Null => Some(Value::Null),
            Self::Is(value) => Some(render(value)),
            Self::Other(value) => Some(value.clone()),
        }
    }
}

/// A list of which the malformed elements are skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<T> {
    pub(super) kept: Vec<T>,
    /// The whole list in JSON, if there is more in it than was kept.
    written: Option<Box<str>>,
}

impl<T> Listing<T> {
    /// The elements that are well-formed.
    pub fn kept(&self) -> &[T] {
        &self.kept
    }

    /// `element` gives nothing for what is to be skipped.
    pub(super) fn read<'n, 't>(
        items: &'n [Node<'t>],
        written: &str,
        mut element: impl FnMut(usize, &'n Node<'t>) -> Option<T>,
    ) -> Self {
        let kept: Vec<T> = items.iter().enumerate().filter_map(|(index, item)| element(index, item)).collect();
        let written = (kept.len() < items.len()).then(|| written.into());
        Self { kept, written }
    }

    pub(super) fn render(&self, render: impl Fn(&T) -> Value) -> Value {
        let written = self.written.as_deref().and_then(|written| json::parse(written).ok());
        let all = written.map(|list| list.to_value());
        all.unwrap_or_else(|| Value::List(self.kept.iter().map(render).collect()))
    }
}

/// A word of a fixed list, and the way it was spelt.
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

/// A value that is there and not null.
pub(super) fn given<'n, 't>(node: Option<&'n Node<'t>>) -> Option<&'n Node<'t>> {
    node.filter(|node| !node.is_null())
}

/// A text that says something.
pub(super) fn stated(node: &Node<'_>) -> Option<NonBlank> {
    node.text().and_then(NonBlank::new)
}

/// The members of an object that are not in its table.
pub(super) fn others(node: &Node<'_>, known: &[&str]) -> Object {
    let strange = node.members().unwrap_or_default().iter().filter(|member| !known.contains(&&*member.name));
    strange.map(|member| (member.name.to_string(), member.node.to_value())).collect()
}

/// An object that is being written.
#[derive(Debug, Default)]
pub(super) struct Writing(Object);

impl Writing {
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

    pub(super) fn extra(mut self, extra: &Object) -> Value {
        self.0.extend(extra.iter().cloned());
        Value::Object(self.0)
    }
}
