//! Edits a YAML file by adding and removing full lines, so that everything else stays as it is. A YAML parser finds the
//! lines. The parser also reads the edited text: if that is not the old content plus Handover's entries, nothing is
//! written.

mod lines;

use serde_json::{Map, Value};

use self::lines::{Outline, YamlNode, render};
use super::want::{
    FileError, Met, RecordedPlaces, RemainingText, STARTS, Want, WantedText, completed, is_remote, place, will_do,
};

/// Adds the entries `wants` to the text of a client's YAML file, unless the file already has them. `text` is `None` for
/// a new file.
pub(super) fn write(text: Option<&str>, wants: &[Want]) -> Result<WantedText, FileError> {
    let before = text.unwrap_or_default();
    let mut written = WantedText { text: before.to_owned(), made: Vec::new(), kept: false };
    for want in wants {
        if let Want::Table { at, keys } = want {
            put(want, (at, keys), &mut written)?;
        }
    }
    let mut expected = Outline::read(before)?.value;
    for want in wants.iter().filter(|_| !written.kept) {
        if let Want::Table { at, keys } = want {
            expect(&mut expected, at, keys);
        }
    }
    prove(&written.text, &expected)?;
    Ok(written)
}

/// Removes Handover's entries from the text of a client's YAML file. Also removes the mapping around an entry if the
/// mapping becomes empty by this and Handover made it.
pub(super) fn remove(text: &str, wants: &[Want], made: RecordedPlaces<'_>) -> Result<RemainingText, FileError> {
    let mut text = text.to_owned();
    for want in wants {
        let [outer, inner] = want.at() else { continue };
        let outline = Outline::read(&text)?;
        let Some(parent) = outline.root.get(outer) else { continue };
        let Some(node) = parent.get(inner) else { continue };
        if !want.may_remove(made, |key| node.get(key).is_some()) {
            continue;
        }
        let mut expected = outline.value.clone();
        let only = parent.children.len() == 1;
        let all = only && made.has(&place(&want.at()[..1]));
        if let Some(table) = expected.get_mut(outer).and_then(Value::as_object_mut) {
            table.shift_remove(inner);
        }
        if all && let Some(root) = expected.as_object_mut() {
            root.shift_remove(outer);
        }
        let doomed = if all { parent } else { node };
        let mut lines = lines::of(&text);
        if parent.flow {
            return Err(parent.trouble(&format!("`{outer}` is written on one line; put each entry on its own lines")));
        }
        lines.drain(doomed.first..=doomed.last);
        if only && !all {
            // Write a mapping that is now empty as `{}`: a key without a value would be null.
            let line = format!("{}{outer}: {{}}{}", " ".repeat(parent.column), lines::end(&text));
            lines.splice(parent.first..=parent.first, [line]);
        }
        text = lines.concat();
        prove(&text, &expected)?;
    }
    Ok(RemainingText { empty: text.trim().is_empty(), text })
}

/// Returns the value at a path of keys in a client's YAML file. Setup uses it to read those settings of the client that
/// decide which entries the client needs.
pub(super) fn value(text: &str, at: &[&str]) -> Option<Value> {
    let outline = Outline::read(text).ok()?;
    at.iter().try_fold(&outline.value, |value, key| value.get(key)).cloned()
}

/// Tells whether a client's YAML file has a node at this path of keys.
pub(super) fn holds(text: &str, at: &[String]) -> bool {
    let Ok(outline) = Outline::read(text) else { return false };
    at.iter().try_fold(&outline.root, |node, key| node.get(key)).is_some()
}

fn put(
    want: &Want,
    (at, keys): (&[String], &[(&'static str, Value)]),
    written: &mut WantedText,
) -> Result<(), FileError> {
    let [outer, inner] = at else { return Ok(()) };
    let outline = Outline::read(&written.text)?;
    let entry = || Value::Object(keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect());
    let Some(parent) = outline.root.get(outer) else {
        outline.root.must_be_table("the file")?;
        written.made.extend([place(&at[..1]), place(at), want.record()]);
        let table = Value::Object(Map::from_iter([(inner.clone(), entry())]));
        let column = outline.root.children.first().map_or(0, |child| child.column);
        let lines = lines::of(&written.text).len();
        return insert(&mut written.text, lines, &render(outer, &table, column));
    };
    parent.must_be_table(&format!("`{outer}`"))?;
    let Some(node) = parent.get(inner) else {
        written.made.extend([place(at), want.record()]);
        let column = parent.children.first().map_or(parent.column + 2, |child| child.column);
        let first = parent.first;
        open(&mut written.text, parent);
        return insert(&mut written.text, first + 1, &render(inner, &entry(), column));
    };
    node.must_be_table(&format!("`{outer}.{inner}`"))?;
    match Met::of(keys, |key| node.get(key).is_some()) {
        Met::Network => {
            written.kept = true;
            return Ok(());
        }
        Met::Program => return Err(node.trouble(STARTS)),
        Met::Fitting => {}
    }
    if is_remote(keys) {
        written.made.push(want.amended());
    }
    keys.iter().try_for_each(|(key, value)| set(&mut written.text, at, key, value))
}

/// Sets one key in Handover's entry of a YAML file, unless the existing value is good enough (see `will_do`).
fn set(text: &mut String, at: &[String], key: &str, value: &Value) -> Result<(), FileError> {
    let outline = Outline::read(text)?;
    let Some(table) = at.iter().try_fold(&outline.root, |node, key| node.get(key)) else { return Ok(()) };
    let there = at.iter().try_fold(&outline.value, |value, key| value.get(key)).and_then(|value| value.get(key));
    if there.is_some_and(|there| will_do(there, value)) {
        return Ok(());
    }
    let column = table.children.first().map_or(table.column + 2, |child| child.column);
    let new = render(key, &completed(there, value), column);
    match table.get(key) {
        Some(old) => {
            let mut lines = lines::of(text);
            lines.drain(old.first..=old.last);
            let first = old.first;
            *text = lines.concat();
            insert(text, first, &new)
        }
        None => {
            let first = table.first + 1;
            open(text, table);
            insert(text, first, &new)
        }
    }
}

/// Changes an empty mapping from `key: {}` to `key:`, so that indented lines can follow below it.
fn open(text: &mut String, table: &YamlNode) {
    if table.children.is_empty() {
        let mut lines = lines::of(text);
        if let Some(line) = lines.get_mut(table.first) {
            *line = lines::without_value(line);
        }
        *text = lines.concat();
    }
}

fn insert(text: &mut String, before: usize, new: &[String]) -> Result<(), FileError> {
    let end = lines::end(text);
    let mut lines = lines::of(text);
    if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
        last.push_str(end);
    }
    let at = before.min(lines.len());
    lines.splice(at..at, new.iter().map(|line| format!("{line}{end}")));
    *text = lines.concat();
    Ok(())
}

/// Adds Handover's entry to the parsed value of a file. After the edit, the text of the file must parse to this value.
fn expect(value: &mut Value, at: &[String], keys: &[(&'static str, Value)]) {
    let mut here = value;
    for key in at {
        if here.is_null() {
            *here = Value::Object(Map::new());
        }
        let Some(table) = here.as_object_mut() else { return };
        here = table.entry(key.clone()).or_insert(Value::Null);
    }
    if here.is_null() {
        *here = Value::Object(Map::new());
    }
    for (key, wanted) in keys {
        let Some(table) = here.as_object_mut() else { return };
        let there = table.entry(*key).or_insert(Value::Null);
        if !will_do(there, wanted) {
            *there = completed(Some(there), wanted);
        }
    }
}

/// Parses the edited text of a YAML file, and refuses it unless it has the expected value.
fn prove(text: &str, expected: &Value) -> Result<(), FileError> {
    let same = Outline::read(text).is_ok_and(|outline| same(&outline.value, expected));
    if same {
        return Ok(());
    }
    let problem = "handover cannot edit the layout of this file safely; add the extension `handover` by hand";
    Err(FileError { line: 1, problem: problem.to_owned() })
}

/// Tells whether two values are equal. Null and an empty mapping count as equal.
fn same(left: &Value, right: &Value) -> bool {
    let none = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let within = |left: &Map<String, Value>, right: &Map<String, Value>| {
                left.iter().all(|(key, value)| right.get(key).map_or(none(value), |other| same(value, other)))
            };
            within(left, right) && within(right, left)
        }
        (left, right) => left == right || (none(left) && none(right)),
    }
}
