//! What a client's configuration has to say, whatever the format of its file.

use serde_json::Value;

/// Keys that make an entry reach a server over the network. Who wrote one did so on purpose, and a command beside it
/// would be a contradiction.
pub(super) const REMOTE: &[&str] = &["url", "httpUrl", "serverUrl", "uri"];

/// One thing that must be there. What is beside it stays.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Want {
    /// A table that is ours as a whole: these keys in it, and others are left alone.
    Table { at: Vec<String>, keys: Vec<(&'static str, Value)> },
    /// A key with this value, in a table that others use as well.
    Key { at: Vec<String>, value: Value },
    /// An item of a list that others use as well.
    Item { at: Vec<String>, item: Value },
    /// A key of a file that does not exist yet; in an existing file it is the owner's to have.
    Seed { at: Vec<String>, value: Value },
}

impl Want {
    /// Where it is in the file.
    pub(super) fn at(&self) -> &[String] {
        match self {
            Self::Table { at, .. } | Self::Key { at, .. } | Self::Item { at, .. } | Self::Seed { at, .. } => at,
        }
    }

    /// The tables above it, from the outermost. The list of an item is not among them.
    pub(super) fn tables(&self) -> &[String] {
        let at = self.at();
        match self {
            Self::Table { .. } => at,
            Self::Key { .. } | Self::Item { .. } | Self::Seed { .. } => &at[..at.len().saturating_sub(1)],
        }
    }
}

/// A place in a file as one word, as receipts keep it.
pub(super) fn place(at: &[String]) -> String {
    at.join("/")
}

/// The place of an item: that of its list, then the item itself.
pub(super) fn item_place(at: &[String], item: &Value) -> String {
    format!("{}={item}", place(at))
}

/// Whether what is there will do. A longer list does when it begins with ours: someone added an option.
pub(super) fn will_do(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Array(there), Value::Array(wanted)) => there.starts_with(wanted),
        (there, wanted) => there == wanted,
    }
}

/// A file with what we want in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) text: String,
    /// The places that were not there before.
    pub(super) made: Vec<String>,
    /// Our entry was there and uses the network, so it was left as it is.
    pub(super) kept: bool,
}

/// A file without what is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) text: String,
    /// Nothing is left that means anything, not even a comment.
    pub(super) empty: bool,
}

/// What is wrong with a file, and in which line, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) line: usize,
    pub(super) problem: String,
}

impl Trouble {
    /// A trouble at a byte of the text.
    pub(super) fn at(text: &str, byte: usize, problem: impl Into<String>) -> Self {
        let before = text.as_bytes().iter().take(byte);
        Self { line: before.filter(|byte| **byte == b'\n').count() + 1, problem: problem.into() }
    }
}

/// Which places may be removed: those we made, or any when nobody recorded it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Made<'a> {
    Recorded(&'a [String]),
    Unknown,
}

impl Made<'_> {
    pub(super) fn has(self, place: &str) -> bool {
        match self {
            Self::Recorded(places) => places.iter().any(|made| made == place),
            Self::Unknown => true,
        }
    }
}
