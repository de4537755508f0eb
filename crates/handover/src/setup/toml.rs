//! Edits TOML files and keeps comments, order and layout.

use serde_json::Value;
use toml_edit::{Array, Document, DocumentMut, InlineTable, Item, Table, TableLike};

use super::want::{
    FileError, Met, RecordedPlaces, RemainingText, STARTS, Want, WantedText, completed, is_remote, place, will_do,
};

/// Adds the entries `wants` to the text of a client's TOML file, unless the file already has them. `text` is `None` for
/// a new file.
pub(super) fn write(text: Option<&str>, wants: &[Want]) -> Result<WantedText, FileError> {
    let text = text.unwrap_or_default();
    let ends = Ends::of(text);
    let mut document = parse(text, wants)?;
    let mut written = WantedText { text: text.to_owned(), made: Vec::new(), kept: false };
    for want in wants {
        if put(&mut document, want, &mut written).map_err(|problem| FileError { line: 1, problem })? {
            written.text = ends.restore(&document);
        }
    }
    Ok(written)
}

/// Removes Handover's entries from the text of a client's TOML file, and also the tables that become empty by this.
pub(super) fn remove(text: &str, wants: &[Want], made: RecordedPlaces<'_>) -> Result<RemainingText, FileError> {
    let ends = Ends::of(text);
    let mut document = parse(text, wants)?;
    let mut touched = false;
    for want in wants.iter().rev() {
        for depth in (1..=want.at().len()).rev() {
            let (above, key) = (&want.at()[..depth - 1], &want.at()[depth - 1]);
            let Some(table) = descend(document.as_table_mut(), above) else { break };
            let Some(there) = table.get(key).and_then(Item::as_table_like) else { break };
            // A table above Handover's entry is removed only if removing the entry made it empty. A table that was
            // empty before stays, because Handover did not make it.
            let ours = if depth == want.at().len() {
                want.may_remove(made, |key| there.contains_key(key))
            } else {
                there.is_empty() && made.has(&place(&want.at()[..depth]))
            };
            if !ours {
                break;
            }
            table.remove(key);
            touched = true;
        }
    }
    let text = if touched { ends.restore(&document) } else { text.to_owned() };
    Ok(RemainingText { empty: text.trim().is_empty(), text })
}

/// Returns the value at a path of keys in a client's TOML file. Setup uses it to read those settings of the client that
/// decide which entries the client needs.
pub(super) fn value(text: &str, at: &[&str]) -> Option<Value> {
    let document = text.parse::<DocumentMut>().ok()?;
    let mut here = document.as_item();
    for key in at {
        here = here.get(key)?;
    }
    json(here)
}

/// Tells whether a client's TOML file has a table at this path of keys.
pub(super) fn holds(text: &str, at: &[String]) -> bool {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return false };
    descend(document.as_table_mut(), at).is_some()
}

/// The kind of line ends in a file: `Feed` is a line feed, and `Return` is a carriage return with a line feed. The TOML
/// editor always writes line feeds, so the carriage returns of a `Return` file are added again after an edit.
#[derive(Clone, Copy)]
enum Ends {
    Feed,
    Return,
}

impl Ends {
    fn of(text: &str) -> Self {
        let returns = text.matches("\r\n").count();
        if returns > 0 && returns == text.matches('\n').count() { Self::Return } else { Self::Feed }
    }

    fn restore(self, document: &DocumentMut) -> String {
        let text = document.to_string();
        match self {
            Self::Feed => text,
            Self::Return => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        }
    }
}

fn parse(text: &str, wants: &[Want]) -> Result<DocumentMut, FileError> {
    let document = Document::parse(text.to_owned()).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        FileError::at(text, start, format!("not valid TOML: {}", error.message().replace('\n', ", ")))
    })?;
    for want in wants {
        let mut here = document.as_item();
        for (depth, key) in want.at().iter().enumerate() {
            let Some(next) = here.get(key) else { break };
            if next.as_table_like().is_none() {
                let start = next.span().map_or(0, |span| span.start);
                let name = want.at()[..=depth].join(".");
                return Err(FileError::at(text, start, format!("`{name}` must be a table")));
            }
            here = next;
        }
    }
    Ok(document.into_mut())
}

/// Adds one of Handover's entries to a client's TOML file. Returns whether the file had to change.
fn put(document: &mut DocumentMut, want: &Want, written: &mut WantedText) -> Result<bool, String> {
    let Want::Table { at, keys } = want else { return Ok(false) };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut fresh = false;
    for (depth, key) in at.iter().enumerate() {
        fresh = table.get(key).is_none();
        if fresh {
            written.made.push(place(&at[..=depth]));
            let mut new = Table::new();
            // Setup may have to create several tables, each inside of another. Only the innermost table, which gets
            // Handover's keys, has a header line such as `[mcp_servers.handover]`.
            new.set_implicit(depth + 1 < at.len());
            table.insert(key, Item::Table(new));
        }
        let Some(next) = table.get_mut(key).and_then(Item::as_table_like_mut) else { return Ok(false) };
        table = next;
    }
    match Met::of(keys, |key| table.contains_key(key)) {
        Met::Network if !fresh => {
            written.kept = true;
            return Ok(false);
        }
        Met::Program => return Err(STARTS.to_owned()),
        Met::Network | Met::Fitting => {}
    }
    if is_remote(keys) {
        written.made.push(if fresh { want.record() } else { want.amended() });
    }
    let mut touched = fresh;
    for (key, value) in keys {
        let there = table.get(key).and_then(json);
        if there.as_ref().is_some_and(|there| will_do(there, value)) {
            continue;
        }
        let Some(new) = toml(&completed(there.as_ref(), value)) else { continue };
        touched = true;
        match table.get_mut(key).and_then(Item::as_value_mut) {
            // Replace the old value of the key, and keep the comment that follows the value.
            Some(old) => {
                let decor = old.decor().clone();
                *old = new;
                *old.decor_mut() = decor;
            }
            None => {
                table.insert(key, Item::Value(new));
            }
        }
    }
    Ok(touched)
}

fn descend<'a>(table: &'a mut Table, at: &[String]) -> Option<&'a mut dyn TableLike> {
    let mut here: &mut dyn TableLike = table;
    for key in at {
        here = here.get_mut(key)?.as_table_like_mut()?;
    }
    Some(here)
}

/// Converts a TOML value to JSON, to compare it: a text, boolean, integer, list of texts, or table of these. Returns
/// `None` for other values.
fn json(item: &Item) -> Option<Value> {
    if let Some(table) = item.as_table_like() {
        let pairs = table.iter().map(|(key, item)| Some((key.to_owned(), json(item)?)));
        return pairs.collect::<Option<serde_json::Map<_, _>>>().map(Value::from);
    }
    let value = item.as_value()?;
    if let Some(list) = value.as_array() {
        return list.iter().map(|value| value.as_str().map(Value::from)).collect::<Option<Vec<_>>>().map(Value::from);
    }
    let text = value.as_str().map(Value::from);
    text.or_else(|| value.as_bool().map(Value::from)).or_else(|| value.as_integer().map(Value::from))
}

fn toml(value: &Value) -> Option<toml_edit::Value> {
    match value {
        Value::Bool(value) => Some((*value).into()),
        Value::Number(value) => value.as_i64().map(Into::into),
        Value::String(value) => Some(value.into()),
        Value::Array(items) => items.iter().map(toml).collect::<Option<Array>>().map(Into::into),
        Value::Object(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| Some((key.as_str(), toml(value)?)));
            pairs.collect::<Option<InlineTable>>().map(Into::into)
        }
        Value::Null => None,
    }
}
