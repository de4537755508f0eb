//! Checks of export and import. An import gives another store the same rows, or fails and leaves that store empty.

use std::io::Cursor;

use super::oracle::ExportText;
use super::{must, rows};
use crate::{Fault, Store, export, import};

/// Exports one store, imports the export into an empty store, and checks that both have the same rows. Checks also that
/// a second import into the same store is refused.
pub async fn same_after_transfer(from: &dyn Store, to: &dyn Store) {
    let expected = rows(from).await;
    let text = exported(from).await;
    must(import(to, Cursor::new(text.clone())).await, "import");
    assert_eq!(rows(to).await, expected, "the rows after an import");
    assert_eq!(exported(to).await, text, "an export of an import");
    let again = import(to, Cursor::new(text)).await;
    assert!(matches!(&again, Err(Fault::Import { problem }) if problem.contains("not empty")), "got {again:?}");
    assert_eq!(rows(to).await, expected, "a refused import changes nothing");
}

async fn exported(store: &dyn Store) -> Vec<u8> {
    let text = ExportText::default();
    let count = must(export(store, text.clone()).await, "export");
    assert_eq!(usize::try_from(count), Ok(rows(store).await.len()), "an export says how many rows it has");
    text.take()
}

/// Checks that the import of an export that was cut, reordered or changed is refused, and that the store `empty` stays
/// empty and usable.
pub async fn refuses_bad_exports(from: &dyn Store, empty: &dyn Store) {
    let text = must(String::from_utf8(exported(from).await), "an export is text");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() > 60, "too small a store to try this with: {} lines", lines.len());
    for (what, bad) in bad_exports(&lines) {
        let result = import(empty, Cursor::new(bad.into_bytes())).await;
        assert!(matches!(result, Err(Fault::Import { .. })), "an export {what} gives {result:?}");
        assert_eq!(rows(empty).await, [], "an export {what} leaves nothing behind");
    }
    same_after_transfer(from, empty).await;
}

fn bad_exports(lines: &[&str]) -> Vec<(&'static str, String)> {
    let last = lines.len() - 1;
    let middle = last / 2;
    let join = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let changed = |place: usize, line: &str| {
        let mut lines = lines.to_vec();
        lines[place] = line;
        join(&lines)
    };
    let swapped = |one: usize, other: usize| {
        let mut lines = lines.to_vec();
        lines.swap(one, other);
        join(&lines)
    };
    let mut without = lines.to_vec();
    without.remove(middle);
    let mut twice = lines.to_vec();
    twice.insert(middle, lines[middle]);
    let mut half = join(&lines[..middle]);
    half.truncate(half.len() - 20);
    // Change a row so that it is still a valid row. Only the hash in the last line of the export shows such a change.
    let event = lines[last - 1].replacen("\"seq\":", "\"seq\":1", 1).replacen("[\"", "[\"x", 1);
    vec![
        ("of nothing", String::new()),
        ("of another kind", "{\"some\":\"json\"}\n".to_owned()),
        ("with its first line only", join(&lines[..1])),
        ("without its last line", join(&lines[..last])),
        ("cut in the middle of a line", half),
        ("without its first line", join(&lines[1..])),
        ("without one row", join(&without)),
        ("with a row twice", join(&twice)),
        ("with two events swapped", swapped(last - 1, last - 2)),
        ("with two tables swapped", swapped(1, last - 1)),
        ("of a newer schema", changed(0, "{\"handover\":\"export\",\"schema\":999}")),
        ("with a line that is no JSON", changed(middle, "{\"t\":")),
        ("with an unknown table", changed(middle, "{\"t\":\"nonsense\",\"v\":[]}")),
        ("with a row too short", changed(middle, "{\"t\":\"repository\",\"v\":[1]}")),
        ("with a number that is none", changed(middle, "{\"t\":\"repository\",\"v\":[1.5,\"\",null,2]}")),
        ("with a changed row", changed(last - 1, &event)),
        ("with something after its end", format!("{}{}\n", join(lines), lines[middle])),
    ]
}
