//! Tests the pages of the documentation. The test types the commands of a page at a terminal, in a new project, and
//! compares their output with the output that the page shows. `page.rs` explains the marks in the pages.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

mod compare;
mod mentions;
mod page;
mod player;
mod terminal;

use std::collections::BTreeSet;
use std::fs;

use crate::page::{PageBlock, blocks};
use crate::player::{PlayedCommand, play, root};

/// Returns the paths of all pages of the documentation, relative to the root of the repository.
fn pages() -> Vec<String> {
    let files = fs::read_dir(root().join("docs")).unwrap().flatten().map(|entry| entry.file_name());
    let files = files.map(|name| format!("docs/{}", name.to_string_lossy()));
    let mut pages: Vec<String> = files.filter(|name| name.ends_with(".md")).collect();
    pages.push("README.md".to_owned());
    pages.sort();
    pages
}

/// For each documentation page, the example projects in which its commands are typed. Each project has a test below.
const PLAYED: &[(&str, &[&str])] = &[
    ("README.md", &["shop", "signin"]),
    ("docs/plans.md", &["draft"]),
    ("docs/start.md", &["bill", "cart", "count", "greet"]),
];

#[test]
fn every_block_of_commands_is_played_or_says_why_not() {
    let mut played = Vec::new();
    for page in pages() {
        let mut projects = BTreeSet::new();
        for block in blocks(&fs::read_to_string(root().join(&page)).unwrap()) {
            match block {
                PageBlock::Skipped { line, reason: None } => {
                    panic!(
                        "{page}:{line}: write `<!-- played: PROJECT -->` or `<!-- not played: REASON -->` above the block"
                    );
                }
                PageBlock::Played { project, .. } => drop(projects.insert(project)),
                PageBlock::Skipped { .. } | PageBlock::File { .. } => {}
            }
        }
        if !projects.is_empty() {
            played.push((page, projects));
        }
    }
    let owned =
        |(page, names): &(&str, &[&str])| ((*page).to_owned(), names.iter().map(|&name| name.to_owned()).collect());
    assert_eq!(played, PLAYED.iter().map(owned).collect::<Vec<_>>(), "each project has a test below");
}

/// Asserts the limits for the output of `handover init`: at most one question, 20 lines and 3 new files.
fn init_is_short(init: &PlayedCommand) {
    let lines = init.lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    assert!(init.typed == "handover init" && init.questions <= 1, "{init:?}");
    assert!(lines <= 20, "{lines} lines:\n{}", init.lines.join("\n"));
    assert!(init.new_files.len() <= 3, "{:?}", init.new_files);
}

/// Types the commands of `docs/start.md` that belong to one project. Each project is written in another language.
fn start_leads_to_merged_work(project: &str) {
    let played = play("docs/start.md", project);
    init_is_short(&played[0]);
    let has = |text: &str| played.iter().any(|command| command.lines.iter().any(|line| line.contains(text)));
    assert!(has(" 1  checked ") && has("main is now "), "{played:#?}");
}

#[test]
fn readme_takes_a_person_to_two_agents_and_merged_work_in_three_commands() {
    let played = play("README.md", "shop");
    init_is_short(&played[0]);
    let worked = |command: &PlayedCommand| {
        let has = |client: &str| command.lines.iter().any(|line| line.contains(&format!("{client} finished")));
        has("claude") && has("codex")
    };
    let commands = played.iter().position(worked).map(|index| index + 1).unwrap();
    let questions: usize = played[..commands].iter().map(|command| command.questions).sum();
    assert!(commands <= 3 && questions <= 1, "{commands} commands and {questions} questions");
    assert!(played.last().unwrap().lines.iter().any(|line| line.starts_with("main is now")), "{played:#?}");
}

#[test]
fn readme_shows_what_becomes_of_two_claims() {
    play("README.md", "signin");
}

#[test]
fn plans_shows_the_problems_of_a_plan() {
    play("docs/plans.md", "draft");
}

#[test]
fn start_is_true_in_a_rust_project() {
    start_leads_to_merged_work("greet");
}

#[test]
fn start_is_true_in_a_javascript_project() {
    start_leads_to_merged_work("cart");
}

#[test]
fn start_is_true_in_a_python_project() {
    start_leads_to_merged_work("bill");
}

#[test]
fn start_is_true_in_a_go_project() {
    start_leads_to_merged_work("count");
}
