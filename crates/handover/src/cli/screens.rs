//! Compares every table of the command line with a stored text (a picture), at 80 and 120 columns, with colours and
//! without. The rows are in `screens/rows.json`, and the pictures are beside it. `UPDATE=1` writes the pictures again.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use base::ground::local_time::LocalClock;
use engine::Timestamp;
use wire::json::Value;
use wire::lifecycle::TOOLS;

use super::table::{TableScreen, display_width};
use super::{approval, project, review, show, task_list, token, turn, work};

/// The time that counts as now when the tables are drawn: 2026-11-17 23:30:05 UTC.
const NOW: Timestamp = Timestamp(1_794_958_205_000);

/// Returns every table that a command of the program prints: its name and its columns.
fn tables() -> Vec<(&'static str, Vec<&'static str>)> {
    let own: [(&str, &[&str]); 9] = [
        ("task list", &task_list::COLUMNS),
        ("turn list", &turn::COLUMNS),
        ("token list", &token::COLUMNS),
        ("approval list", &approval::COLUMNS),
        ("project show", &project::COLUMNS),
        ("review list", &review::COLUMNS),
        ("review show", &review::ROUND_COLUMNS),
        ("worktree list", &work::worktree::COLUMNS),
        ("wide letters", &["id", "name"]),
    ];
    let of_tools = TOOLS.iter().filter_map(|tool| Some((tool.name, show::columns(tool.name)?.1)));
    own.into_iter().chain(of_tools).map(|(name, columns)| (name, columns.to_vec())).collect()
}

fn rows() -> Vec<(String, Value)> {
    let parsed = wire::json::parse(include_str!("screens/rows.json")).unwrap().to_value();
    let Value::Object(members) = parsed else { panic!("rows.json is an object") };
    members
}

/// Draws all tables. A colour is shown by its escape code, with `\e` for the escape character.
fn picture(width: usize, is_coloured: bool) -> String {
    let screen = TableScreen { width, clock: LocalClock::fixed(NOW) };
    let all = rows();
    let mut text = String::new();
    for (name, columns) in tables() {
        let (_, rows) =
            all.iter().find(|(table, _)| table == name).unwrap_or_else(|| panic!("rows.json has no {name}"));
        let drawn = screen.table(&columns, rows.as_list().unwrap());
        for line in drawn.lines() {
            assert!(display_width(line) <= width, "{name} is wider than {width}: {line}");
        }
        let drawn = if is_coloured { drawn } else { anstream::adapter::strip_str(&drawn).to_string() };
        let _ = writeln!(text, "== {name}\n{}\n", drawn.replace('\x1b', "\\e"));
    }
    text
}

#[test]
fn every_table_looks_as_in_its_picture() {
    let mut wrong = Vec::new();
    for (width, is_coloured) in [(80, false), (80, true), (120, false), (120, true)] {
        let name = format!("{width}{}.txt", if is_coloured { "-colour" } else { "" });
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/cli/screens").join(&name);
        let drawn = picture(width, is_coloured);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &drawn).unwrap();
        }
        if std::fs::read_to_string(&path).ok().as_ref() != Some(&drawn) {
            wrong.push((name, drawn));
        }
    }
    assert!(wrong.is_empty(), "these pictures differ; UPDATE=1 writes them again: {wrong:#?}");
}

#[test]
fn rows_are_there_for_tables_and_for_nothing_else() {
    let named: BTreeSet<String> = rows().into_iter().map(|(name, _)| name).collect();
    let known: BTreeSet<String> = tables().into_iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(named, known);
}
