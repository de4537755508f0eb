//! The entries that Handover needs in a client's file, independent of the format of the file.

use serde_json::Value;

use super::client::SERVER;

/// The keys with which an entry in a client's file gives the address of a server on the network. If an existing entry
/// has one of these keys, a person wrote the key on purpose, and the key `command` in the same entry would contradict
/// it.
const REMOTE: &[&str] = &["url", "httpUrl", "serverUrl", "uri"];

/// The keys with which an entry in a client's file names a program to start.
const STARTING: &[&str] = &["command", "cmd"];

/// One entry that Handover needs in a client's file. Everything else in the file stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Want {
    /// A table in the client's file (an object in JSON, a mapping in YAML) that belongs to Handover. It must have these
    /// keys; other keys in it are left alone.
    Table { at: Vec<String>, keys: Vec<(&'static str, Value)> },
    /// A key of the client's file that must have this value, in a table that other programs use, too.
    Key { at: Vec<String>, value: Value },
    /// An item that must be in a list of the client's file. Other programs use this list, too.
    Item { at: Vec<String>, item: Value },
    /// A key that setup writes only into a new file. In an existing file, the owner decides about the key.
    Seed { at: Vec<String>, value: Value },
}

impl Want {
    /// Returns the keys that lead to the entry in the client's file, outermost first.
    pub(super) fn at(&self) -> &[String] {
        match self {
            Self::Table { at, .. } | Self::Key { at, .. } | Self::Item { at, .. } | Self::Seed { at, .. } => at,
        }
    }

    /// Returns the keys of the tables that lead to this entry of a client's file, outermost first. For an item of a
    /// list, the key of the list is not included.
    pub(super) fn tables(&self) -> &[String] {
        let at = self.at();
        match self {
            Self::Table { .. } => at,
            Self::Key { .. } | Self::Item { .. } | Self::Seed { .. } => &at[..at.len().saturating_sub(1)],
        }
    }

    /// Returns the name under which a receipt (the record of what setup wrote) lists the entry.
    pub(super) fn record(&self) -> String {
        match self {
            Self::Table { at, keys } if is_remote(keys) => format!("{}{OVER_HTTP}", place(at)),
            Self::Table { at, .. } | Self::Key { at, .. } | Self::Seed { at, .. } => place(at),
            Self::Item { at, item } => item_place(at, item),
        }
    }

    /// Returns the name under which a receipt (the record of what setup wrote) lists an entry that existed before and
    /// to which setup added keys.
    pub(super) fn amended(&self) -> String {
        format!("{}{AMENDED}", self.record())
    }

    /// Tells whether an undo may remove an existing entry from a client's file. `has` tells whether the existing entry
    /// has a key.
    pub(super) fn may_remove(&self, made: RecordedPlaces<'_>, has: impl Fn(&str) -> bool) -> bool {
        let reaches = REMOTE.iter().any(|key| has(key));
        match self {
            // An entry for HTTP is removed only if a receipt (the record of what setup wrote) lists it. Otherwise a
            // person may have written it.
            Self::Table { keys, .. } if is_remote(keys) => {
                reaches && matches!(made, RecordedPlaces::Recorded(_)) && made.has(&self.record())
            }
            Self::Table { .. } => !reaches && made.has(&self.record()),
            Self::Key { .. } | Self::Item { .. } | Self::Seed { .. } => false,
        }
    }
}

/// The kind of entry for Handover's server that a client's file already has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Met {
    /// The client's file has no entry for Handover's server, or an entry to which Handover's keys can be added.
    Fitting,
    /// The client's file has an entry that reaches a server over the network, while the wanted entry starts a program.
    Network,
    /// The client's file has an entry that starts a program, while the wanted entry reaches a server over the network.
    Program,
}

impl Met {
    /// Compares the keys that setup wants in the entry for Handover's server with the keys of the existing entry.
    pub(super) fn of(keys: &[(&'static str, Value)], has: impl Fn(&str) -> bool) -> Self {
        match (is_remote(keys), REMOTE.iter().any(|key| has(key)), STARTING.iter().any(|key| has(key))) {
            (false, true, _) => Self::Network,
            (true, _, true) => Self::Program,
            (_, _, _) => Self::Fitting,
        }
    }
}

/// The error when the existing entry for Handover's server starts a program, while the wanted entry reaches a server
/// over the network.
pub(super) const STARTS: &str =
    "the entry `handover` starts a program; remove it first with `handover setup CLIENT --undo`, then try again";

/// Tells whether an entry with these keys reaches a server over the network.
pub(super) fn is_remote(keys: &[(&'static str, Value)]) -> bool {
    keys.iter().any(|(key, _)| REMOTE.contains(key))
}

/// The end of an entry's name in a receipt (the record of what setup wrote), if the entry reaches a server over the
/// network.
const OVER_HTTP: &str = " over HTTP";

/// The end of an entry's name in a receipt (the record of what setup wrote), if the entry existed before the setup.
const AMENDED: &str = ", amended";

/// Tells whether a name in a receipt (the record of what setup wrote) stands for an entry that reaches a server over
/// the network.
pub(super) fn is_over_http(record: &str) -> bool {
    record.strip_suffix(AMENDED).unwrap_or(record).ends_with(OVER_HTTP)
}

/// Tells whether a name in a receipt (the record of what setup wrote) stands for an entry of Handover's server.
pub(super) fn is_entry(record: &str) -> bool {
    let record = record.strip_suffix(AMENDED).unwrap_or(record);
    let place = record.strip_suffix(OVER_HTTP).unwrap_or(record);
    let above = place.strip_suffix(SERVER).and_then(|above| above.strip_suffix('/'));
    // Check the keys before `handover`, too. In Claude Code's file the path of a project is a key, and a project's
    // folder can also be called `handover`. Only in that file do other keys come before `mcpServers`.
    above.is_some_and(|above| {
        ["mcpServers", "mcp", "mcp_servers", "extensions"].contains(&above) || above.ends_with("/mcpServers")
    })
}

/// Returns a path of keys as one text, such as `mcpServers/handover`. Receipts (the records of what setup wrote) list
/// entries in this form.
pub(super) fn place(at: &[String]) -> String {
    at.join("/")
}

/// Returns the name under which a receipt (the record of what setup wrote) lists an item of a list: the path of the
/// list, `=`, and the item.
pub(super) fn item_place(at: &[String], item: &Value) -> String {
    format!("{}={item}", place(at))
}

/// Tells whether the existing value is good enough, so that setup keeps it. A person may have added an option or a
/// header. So a longer list is good enough if it begins with the wanted list, and a table may have more keys.
pub(super) fn will_do(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Array(there), Value::Array(wanted)) => there.starts_with(wanted),
        (Value::Object(there), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| there.get(key).is_some_and(|there| will_do(there, wanted)))
        }
        (there, wanted) => there == wanted,
    }
}

/// Returns the new value of a key: the wanted value. If the existing and the wanted value are tables, the other keys of
/// the existing table are kept.
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

/// The text of a client's file after setup added Handover's entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WantedText {
    pub(super) text: String,
    /// The names of the entries that setup added because they did not exist before. The receipt (the record of what
    /// setup wrote) lists them.
    pub(super) made: Vec<String>,
    /// `true` if the client's file already has an entry that reaches a server over the network. Setup does not change
    /// such an entry.
    pub(super) kept: bool,
}

/// The text of a client's file after an undo removed Handover's entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemainingText {
    pub(super) text: String,
    /// `true` if nothing remains in the client's file, not even a comment.
    pub(super) empty: bool,
}

/// A problem in a client's file, with the number of its line, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileError {
    pub(super) line: usize,
    pub(super) problem: String,
}

impl FileError {
    /// Returns the problem at a position of the file's text, which is given as a number of bytes.
    pub(super) fn at(text: &str, byte: usize, problem: impl Into<String>) -> Self {
        let before = text.as_bytes().iter().take(byte);
        Self { line: before.filter(|byte| **byte == b'\n').count() + 1, problem: problem.into() }
    }
}

/// The entries that setup created, so that an undo may remove them: those that the receipt (the record of what setup
/// wrote) lists. With `Unknown`, there is no receipt, and every entry counts as created by setup.
#[derive(Debug, Clone, Copy)]
pub(super) enum RecordedPlaces<'a> {
    Recorded(&'a [String]),
    Unknown,
}

impl RecordedPlaces<'_> {
    pub(super) fn has(self, place: &str) -> bool {
        match self {
            Self::Recorded(places) => places.iter().any(|made| made == place),
            Self::Unknown => true,
        }
    }
}
