//! Edits JSON files and keeps comments, order and layout. Accepts a comma after the last item, because clients that
//! accept comments in JSON accept this comma, too.

use jsonc_parser::ast;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions};
use serde_json::Value;

use super::hooks::is_older;
use super::want::{
    FileError, Met, RecordedPlaces, RemainingText, STARTS, Want, WantedText, completed, is_remote, item_place, place,
    will_do,
};

/// Accepts JSON with comments and trailing commas, and no other extension. A file that the client cannot read must be
/// an error here, too.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Adds the entries `wants` to the text of a client's JSON file, unless the file already has them. `text` is `None` for
/// a new file.
pub(super) fn write(text: Option<&str>, wants: &[Want]) -> Result<WantedText, FileError> {
    let new = text.is_none();
    let text = text.unwrap_or_default();
    check(text, wants)?;
    let root = parse(if text.trim().is_empty() { "{}\n" } else { text })?;
    let mut written = WantedText { text: String::new(), made: Vec::new(), kept: false };
    let object = root.object_value_or_set();
    for want in wants.iter().filter(|want| new || !matches!(want, Want::Seed { .. })) {
        put(&object, want, &mut written).map_err(|problem| FileError { line: 1, problem })?;
    }
    written.text = root.to_string();
    Ok(written)
}

/// Removes Handover's entries from the text of a client's JSON file, and also the objects that become empty by this.
pub(super) fn remove(text: &str, wants: &[Want], made: RecordedPlaces<'_>) -> Result<RemainingText, FileError> {
    check(text, wants)?;
    let root = parse(text)?;
    if let Some(object) = root.object_value() {
        for want in wants.iter().rev() {
            take(&object, want, made);
        }
    }
    let comments = root.children().iter().any(CstNode::is_comment);
    let empty = !comments && root.object_value().is_none_or(|object| bare(&object));
    Ok(RemainingText { text: root.to_string(), empty })
}

/// Tells whether a client's JSON file has an object at this path of keys.
pub(super) fn holds(text: &str, at: &[String]) -> bool {
    let Ok(root) = parse(text) else { return false };
    root.object_value().and_then(|object| descend(&object, at)).is_some()
}

/// Returns the value at a path of keys in a client's JSON file. Setup uses it to read those settings of the client that
/// decide which entries the client needs.
pub(super) fn value(text: &str, at: &[&str]) -> Option<Value> {
    let root = parse(text).ok()?.to_serde_value()?;
    at.iter().try_fold(&root, |value, key| value.get(key)).cloned()
}

fn parse(text: &str) -> Result<CstRootNode, FileError> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| syntax(text, &error))
}

fn syntax(text: &str, error: &jsonc_parser::errors::ParseError) -> FileError {
    FileError::at(text, error.range().start, format!("not valid JSON: {}", error.kind().to_string().to_lowercase()))
}

/// Refuses a file that cannot be edited: at the path of an entry in `wants`, the file has a value that is not the
/// needed object or list, or a key appears twice.
fn check(text: &str, wants: &[Want]) -> Result<(), FileError> {
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &OPTIONS);
    let parsed = parsed.map_err(|error| syntax(text, &error))?;
    let Some(root) = &parsed.value else { return Ok(()) };
    wants.iter().try_for_each(|want| follow(text, root, want))
}

fn follow(text: &str, root: &ast::Value<'_>, want: &Want) -> Result<(), FileError> {
    use jsonc_parser::common::Ranged;
    let mut here = root;
    for (depth, key) in want.at().iter().enumerate() {
        let ast::Value::Object(object) = here else {
            let name = if depth == 0 { "the file".to_owned() } else { format!("`{}`", want.at()[..depth].join(".")) };
            return Err(FileError::at(text, here.range().start, format!("{name} must be an object")));
        };
        let mut named = object.properties.iter().filter(|property| property.name.as_str() == key);
        let Some(first) = named.next() else { return Ok(()) };
        if let Some(second) = named.next() {
            return Err(FileError::at(text, second.range.start, format!("`{key}` is there twice; keep one")));
        }
        here = &first.value;
    }
    let name = want.at().join(".");
    match (want, here) {
        (Want::Table { .. }, ast::Value::Object(_)) | (Want::Item { .. }, ast::Value::Array(_)) => Ok(()),
        (Want::Table { .. }, _) => Err(FileError::at(text, here.range().start, format!("`{name}` must be an object"))),
        (Want::Item { .. }, _) => Err(FileError::at(text, here.range().start, format!("`{name}` must be a list"))),
        (Want::Key { .. } | Want::Seed { .. }, _) => Ok(()),
    }
}

fn put(root: &CstObject, want: &Want, written: &mut WantedText) -> Result<(), String> {
    let mut object = root.clone();
    let mut fresh = false;
    for (depth, key) in want.tables().iter().enumerate() {
        fresh = object.get(key).is_none();
        if fresh {
            written.made.push(place(&want.at()[..=depth]));
        }
        object = object.object_value_or_set(key);
    }
    match want {
        Want::Table { keys, .. } => {
            match Met::of(keys, |key| object.get(key).is_some()) {
                Met::Network if !fresh => {
                    written.kept = true;
                    return Ok(());
                }
                Met::Program => return Err(STARTS.to_owned()),
                Met::Network | Met::Fitting => {}
            }
            if is_remote(keys) {
                written.made.push(if fresh { want.record() } else { want.amended() });
            }
            for (key, value) in keys {
                set(&object, key, value);
            }
        }
        Want::Key { at, value } | Want::Seed { at, value } => {
            let Some(key) = at.last() else { return Ok(()) };
            if set(&object, key, value) {
                written.made.push(place(at));
            }
        }
        Want::Item { at, item } => {
            let Some(key) = at.last() else { return Ok(()) };
            if object.get(key).is_none() {
                written.made.push(place(at));
            }
            let list = object.array_value_or_set(key);
            let there = list.elements().iter().any(|element| element.to_serde_value().as_ref() == Some(item));
            if !there {
                let older = |element: &CstNode| element.to_serde_value().is_some_and(|found| is_older(&found, item));
                for element in list.elements().into_iter().filter(older) {
                    element.remove();
                }
                list.append(input(item));
                written.made.push(item_place(at, item));
            }
        }
    }
    Ok(())
}

/// Sets a key to a value, unless the existing value is good enough (see `will_do`). Returns whether the key is new.
fn set(object: &CstObject, key: &str, value: &Value) -> bool {
    let Some(property) = object.get(key) else {
        object.append(key, input(value));
        return true;
    };
    let there = property.value().and_then(|value| value.to_serde_value());
    if !there.as_ref().is_some_and(|there| will_do(there, value)) {
        property.set_value(input(&completed(there.as_ref(), value)));
    }
    false
}

/// Removes one of Handover's entries from a client's JSON file. Also removes an object around the entry if the object
/// becomes empty by this and Handover made it.
fn take(root: &CstObject, want: &Want, made: RecordedPlaces<'_>) {
    let at = want.at();
    let (Some(key), Some(parent)) = (at.last(), descend(root, &at[..at.len().saturating_sub(1)])) else { return };
    let Some(property) = parent.get(key) else { return };
    let ours = match want {
        Want::Table { .. } => {
            let entry = property.object_value();
            want.may_remove(made, |key| entry.as_ref().is_some_and(|entry| entry.get(key).is_some()))
        }
        Want::Key { .. } => made.has(&place(at)),
        // Remove this key only if a receipt (the record of what setup wrote) lists it. Otherwise the owner of the file
        // may have written it.
        Want::Seed { .. } => matches!(made, RecordedPlaces::Recorded(_)) && made.has(&place(at)),
        Want::Item { item, .. } => {
            let Some(list) = property.array_value().filter(|_| made.has(&item_place(at, item))) else { return };
            if !pick(&list, item) {
                return;
            }
            made.has(&place(at)) && list.elements().is_empty() && !list.children().iter().any(CstNode::is_comment)
        }
    };
    if !ours {
        return;
    }
    property.remove();
    for depth in (1..at.len()).rev() {
        let Some(property) = descend(root, &at[..depth - 1]).and_then(|parent| parent.get(&at[depth - 1])) else {
            return;
        };
        if !made.has(&place(&at[..depth])) || !property.object_value().is_some_and(|object| bare(&object)) {
            return;
        }
        property.remove();
    }
}

/// Removes an item from a list in a JSON file. Returns `true` if the list had the item.
fn pick(list: &CstArray, item: &Value) -> bool {
    let mut picked = false;
    for element in list.elements().into_iter().filter(|element| element.to_serde_value().as_ref() == Some(item)) {
        let first = element.previous_sibling().is_some_and(|before| before.is_token());
        element.remove();
        picked = true;
        // After the first item is removed, remove the space behind it, too. Otherwise the space would follow the
        // opening bracket.
        if let Some(space) = list.child_at_index(1).filter(|node| first && node.is_whitespace()) {
            space.remove();
        }
    }
    picked
}

fn descend(root: &CstObject, at: &[String]) -> Option<CstObject> {
    at.iter().try_fold(root.clone(), |object, key| object.object_value(key))
}

/// Tells whether a JSON object has neither keys nor comments.
fn bare(object: &CstObject) -> bool {
    object.properties().is_empty() && !object.children().iter().any(CstNode::is_comment)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(keys) => {
            CstInputValue::Object(keys.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
