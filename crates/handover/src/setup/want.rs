//! What a client's configuration has to say, whatever the format of its file.

use serde_json::Value;

use super::client::SERVER;

/// Keys that make an entry reach a server over the network. Who wrote one did so on purpose, and a command beside it
/// would be a contradiction.
const REMOTE: &[&str] = &["url", "httpUrl", "serverUrl", "uri"];

/// Keys that make an entry start a program.
const STARTING: &[&str] = &["command", "cmd"];

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

    /// Returns the name by which a receipt records it.
    pub(super) fn record(&self) -> String {
        match self {
            Self::Table { at, keys } if is_remote(keys) => format!("{}{OVER_HTTP}", place(at)),
            Self::Table { at, .. } | Self::Key { at, .. } | Self::Seed { at, .. } => place(at),
            Self::Item { at, item } => item_place(at, item),
        }
    }

    /// Returns the name by which a receipt records that it went into an entry that was there.
    pub(super) fn amended(&self) -> String {
        format!("{}{AMENDED}", self.record())
    }

    /// Returns whether an entry that is there may be removed. `has` says which keys the entry has.
    pub(super) fn may_remove(&self, made: Made<'_>, has: impl Fn(&str) -> bool) -> bool {
        let reaches = REMOTE.iter().any(|key| has(key));
        match self {
            // Without a record a person may have written it.
            Self::Table { keys, .. } if is_remote(keys) => {
                reaches && matches!(made, Made::Recorded(_)) && made.has(&self.record())
            }
            Self::Table { .. } => !reaches && made.has(&self.record()),
            Self::Key { .. } | Self::Item { .. } | Self::Seed { .. } => false,
        }
    }
}

/// What a table of ours meets in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Met {
    /// Nothing, or an entry that our keys fit into.
    Fitting,
    /// An entry that reaches a server over the network, where ours starts a program.
    Network,
    /// An entry that starts a program, where ours reaches a server over the network.
    Program,
}

impl Met {
    /// Compares the keys we want with those of an entry that is there.
    pub(super) fn of(keys: &[(&'static str, Value)], has: impl Fn(&str) -> bool) -> Self {
        match (is_remote(keys), REMOTE.iter().any(|key| has(key)), STARTING.iter().any(|key| has(key))) {
            (false, true, _) => Self::Network,
            (true, _, true) => Self::Program,
            (_, _, _) => Self::Fitting,
        }
    }
}

/// The problem with an entry that starts a program, where ours reaches a server over the network.
pub(super) const STARTS: &str =
    "`handover` starts a program here: take that out first, with `handover setup` and --undo, then try again";

/// Returns whether a table of ours reaches a server over the network.
pub(super) fn is_remote(keys: &[(&'static str, Value)]) -> bool {
    keys.iter().any(|(key, _)| REMOTE.contains(key))
}

/// What a receipt says of an entry that reaches a server over the network, behind its place.
const OVER_HTTP: &str = " over HTTP";

/// What a receipt says of an entry that was there before us, behind its record.
const AMENDED: &str = ", amended";

/// Returns whether a record of a receipt is that of an entry that reaches a server over the network.
pub(super) fn is_over_http(record: &str) -> bool {
    record.strip_suffix(AMENDED).unwrap_or(record).ends_with(OVER_HTTP)
}

/// Returns whether a record of a receipt is that of an entry of our server.
pub(super) fn is_entry(record: &str) -> bool {
    let record = record.strip_suffix(AMENDED).unwrap_or(record);
    let place = record.strip_suffix(OVER_HTTP).unwrap_or(record);
    let above = place.strip_suffix(SERVER).and_then(|above| above.strip_suffix('/'));
    // A project can be called as we are, so its path is not enough. Only Claude Code has entries below another table.
    above.is_some_and(|above| {
        ["mcpServers", "mcp", "mcp_servers", "extensions"].contains(&above) || above.ends_with("/mcpServers")
    })
}

/// A place in a file as one word, as receipts keep it.
pub(super) fn place(at: &[String]) -> String {
    at.join("/")
}

/// The place of an item: that of its list, then the item itself.
pub(super) fn item_place(at: &[String], item: &Value) -> String {
    format!("{}={item}", place(at))
}

/// Whether what is there will do. A longer list does when it begins with ours, and a table with more keys: someone added an
/// option or a header.
pub(super) fn will_do(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Array(there), Value::Array(wanted)) => there.starts_with(wanted),
        (Value::Object(there), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| there.get(key).is_some_and(|there| will_do(there, wanted)))
        }
        (there, wanted) => there == wanted,
    }
}

/// Returns what a key has to be set to: what we want, with the other keys of a table that is there.
pub(super) fn completed(there: Option<&Value>, wanted: &Value) -> Value {
    match (there, wanted) {
        (Some(Value::Object(there)), Value::Object(wanted)) => {
            let mut both = there.clone();
            both.extend(wanted.clone());
            Value::Object(both)
        }
        (Some(_) | None, wanted) => wanted.clone(),
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
