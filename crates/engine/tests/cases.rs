//! Runs the scripts of `cases/*.txt`: one command per line, with the expected answer after `=>`. The comments in
//! `claims.txt` explain the language of the scripts.
//!
//! `UPDATE=1 cargo test -p engine --test cases` writes the actual answers into the scripts.

#[path = "cases/act.rs"]
mod act;
#[path = "cases/bench.rs"]
mod bench;
#[path = "cases/codes.rs"]
mod codes;
#[path = "cases/conversations.rs"]
mod conversations;
#[path = "cases/deliveries.rs"]
mod deliveries;
#[path = "cases/line.rs"]
mod line;
#[path = "cases/plans.rs"]
mod plans;
#[path = "cases/reviews.rs"]
mod reviews;
#[path = "cases/show.rs"]
mod show;
#[path = "cases/turns.rs"]
mod turns;
#[path = "cases/verbs.rs"]
mod verbs;
#[path = "cases/view.rs"]
mod view;

use std::path::{Path, PathBuf};

use bench::Bench;
use line::Line;

fn scripts() -> Result<Vec<PathBuf>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut found: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "txt")).collect();
    found.retain(|path| path.file_name().is_some_and(|name| name != "codes.txt"));
    found.sort();
    Ok(found)
}

/// Runs one script. Returns its text with the actual answers, and a list of the answers that differ from the expected
/// ones.
fn play(name: &str, text: &str) -> (String, Vec<String>) {
    let mut bench = Bench::default();
    let mut faults = Vec::new();
    let mut played = Vec::new();
    for (number, raw) in (1..).zip(text.lines()) {
        if raw.starts_with("## ") {
            bench = Bench::default();
        }
        let Some(line) = Line::read(raw) else {
            played.push((raw.to_owned(), None));
            continue;
        };
        let found = bench.play(&line).unwrap_or_else(|problem| format!("cannot be read: {problem}"));
        let found = line.in_the_form_expected(&found);
        if found != line.expected {
            faults.push(format!(
                "{name}:{number}: {}\n    expected: {}\n    found:    {found}",
                line.asked, line.expected
            ));
        }
        played.push((line.asked, Some(found)));
    }
    (line::aligned(&played), faults)
}

#[test]
fn scripts_answer_as_they_say() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut faults = Vec::new();
    for path in scripts().unwrap() {
        let text = std::fs::read_to_string(&path).unwrap();
        let (played, found) = play(&path.file_name().unwrap_or_default().to_string_lossy(), &text);
        if update {
            std::fs::write(&path, played).unwrap();
        } else {
            faults.extend(found);
        }
    }
    assert!(faults.is_empty(), "{} answers differ\n{}", faults.len(), faults.join("\n"));
}
