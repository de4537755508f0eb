//! Reads the permission table and the arguments of its calls from their files, and checks them against the list of
//! tools.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use wire::lifecycle::TOOLS;

use crate::script::Answer;

const TABLE: &str = include_str!("table.txt");
const ARGUMENTS: &str = include_str!("arguments.txt");

/// The state of the connection on which the tested agent registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HomeLife {
    Alive,
    Dead,
}

#[derive(Debug)]
pub(crate) struct IdentityTable {
    pub(crate) callers: Vec<String>,
    pub(crate) rows: Vec<TableRow>,
    /// The word that the permission table uses for each refusal code.
    words: BTreeMap<String, String>,
}

/// A row of the permission table. It is about one tool, or about one way to use a tool.
#[derive(Debug)]
pub(crate) struct TableRow {
    pub(crate) title: String,
    pub(crate) tool: String,
    /// The arguments of the call as `arguments.txt` has them, with placeholders.
    pub(crate) arguments: String,
    /// For each caller: the expected answer while the agent's connection is alive, and the expected answer after the
    /// connection died.
    cells: Vec<(String, String)>,
}

impl IdentityTable {
    pub(crate) fn read() -> Self {
        let arguments = arguments();
        let mut table = Self { callers: Vec::new(), rows: Vec::new(), words: BTreeMap::new() };
        let mut known = BTreeSet::new();
        let mut section = "";
        for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            if !line.starts_with(' ') && section != "table" {
                section = words[0];
                if section == "table" {
                    assert_eq!(words[1..], table.callers, "the head of the table has the callers");
                }
                continue;
            }
            match section {
                "words" => {
                    known.insert(words[0].to_owned());
                    if let Some(code) = words[1].strip_suffix(':') {
                        table.words.insert(code.to_owned(), words[0].to_owned());
                    }
                }
                // In the section `callers`, indented lines below a caller's line explain the caller, so they are
                // skipped.
                "callers" if !line.starts_with("   ") => table.callers.push(words[0].to_owned()),
                "callers" => {}
                _ => {
                    let row = row(&words, &arguments);
                    assert_eq!(row.cells.len(), table.callers.len(), "{}: one cell for each caller", row.title);
                    let unknown =
                        row.cells.iter().flat_map(|(alive, dead)| [alive, dead]).find(|word| !known.contains(*word));
                    assert_eq!(unknown, None, "{}: no such word", row.title);
                    table.rows.push(row);
                }
            }
        }
        assert_eq!(table.rows.len(), arguments.len(), "every line of arguments.txt has a row in table.txt");
        table
    }

    /// Returns the word that the permission table expects in a cell, such as `ok` or `taken`.
    pub(crate) fn expected<'a>(&self, row: &'a TableRow, caller: &str, life: HomeLife) -> &'a str {
        let place =
            self.callers.iter().position(|known| known == caller).unwrap_or_else(|| panic!("no caller {caller}"));
        let (alive, dead) = &row.cells[place];
        if life == HomeLife::Alive { alive } else { dead }
    }

    /// Returns the word of the permission table for an answer. Returns the code of a refusal when the table has no word
    /// for it.
    pub(crate) fn word(&self, answer: &Answer) -> String {
        match answer {
            Answer::Done(value) if value["success"] == false && value.get("already_claimed_by").is_some() => {
                "taken".to_owned()
            }
            Answer::Done(_) => "ok".to_owned(),
            Answer::Refused(value) => {
                let code = value["code"].as_str().unwrap();
                self.words.get(code).cloned().unwrap_or_else(|| code.to_owned())
            }
        }
    }
}

fn row(words: &[&str], arguments: &BTreeMap<&str, &str>) -> TableRow {
    let title = words[0].to_owned();
    let tool = title.split('/').next().unwrap().to_owned();
    let arguments = arguments.get(words[0]).unwrap_or_else(|| panic!("{title} has no line in arguments.txt"));
    let cell = |cell: &&str| {
        let (alive, dead) = cell.split_once('/').unwrap_or((cell, cell));
        (alive.to_owned(), dead.to_owned())
    };
    let cells = words[1..].iter().map(cell).collect();
    TableRow { title, tool, arguments: (*arguments).to_owned(), cells }
}

fn arguments() -> BTreeMap<&'static str, &'static str> {
    let lines = ARGUMENTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pairs: Vec<(&str, &str)> =
        lines.map(|line| line.split_once(' ').unwrap()).map(|(title, json)| (title, json.trim())).collect();
    for (title, json) in &pairs {
        assert!(serde_json::from_str::<Value>(json).is_ok_and(|value| value.is_object()), "{title}: {json}");
    }
    let found: BTreeMap<&str, &str> = pairs.iter().copied().collect();
    assert_eq!(found.len(), pairs.len(), "a title stands twice in arguments.txt");
    found
}

#[test]
fn every_tool_has_a_row_and_every_row_a_tool() {
    let table = IdentityTable::read();
    let rows: BTreeSet<&str> = table.rows.iter().map(|row| row.tool.as_str()).collect();
    let tools: BTreeSet<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    assert_eq!(rows, tools, "left: rows of table.txt, right: tools");
    let titles: BTreeSet<&str> = table.rows.iter().map(|row| row.title.as_str()).collect();
    assert_eq!(titles.len(), table.rows.len(), "a title stands twice in table.txt");
}
