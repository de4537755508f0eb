//! Tests `handover run` as a process, with scripts that act as agents: every way in which a turn (one run of an agent's
//! program) can end, and that nothing is left behind afterwards.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

#[path = "runner/books.rs"]
mod books;
#[path = "runner/branches.rs"]
mod branches;
#[path = "proof/busy.rs"]
mod busy;
#[path = "runner/changed.rs"]
mod changed;
#[path = "runner/checked.rs"]
mod checked;
#[path = "runner/client.rs"]
mod client;
#[path = "runner/clocks.rs"]
mod clocks;
#[path = "runner/conversations.rs"]
mod conversations;
#[path = "runner/disturbed.rs"]
mod disturbed;
#[path = "runner/endings.rs"]
mod endings;
#[path = "runner/evaluator.rs"]
mod evaluator;
#[path = "runner/foreign.rs"]
mod foreign;
#[path = "runner/forgery.rs"]
mod forgery;
#[path = "runner/killed_git.rs"]
mod killed_git;
#[path = "runner/kills.rs"]
mod kills;
#[path = "runner/listed.rs"]
mod listed;
#[path = "runner/machine.rs"]
mod machine;
#[path = "runner/notices.rs"]
mod notices;
#[path = "runner/outcomes.rs"]
mod outcomes;
#[path = "runner/people.rs"]
mod people;
#[path = "runner/points.rs"]
mod points;
#[path = "proof/postgres.rs"]
mod postgres;
#[path = "runner/process.rs"]
mod process;
#[path = "runner/reviewers.rs"]
mod reviewers;
#[path = "runner/reviews.rs"]
mod reviews;
#[path = "runner/rows.rs"]
mod rows;
#[path = "runner/scene.rs"]
mod scene;
#[path = "runner/several.rs"]
mod several;
#[path = "runner/sleeps.rs"]
mod sleeps;
#[path = "runner/slots.rs"]
mod slots;
#[path = "runner/staying.rs"]
mod staying;
#[path = "runner/stops.rs"]
mod stops;
#[path = "runner/stores.rs"]
mod stores;
#[path = "support/terminal.rs"]
#[expect(dead_code, reason = "programs here get an environment of their own")]
mod terminal;

/// Returns a number from an environment variable, which a person sets for a longer run.
fn setting(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().unwrap())
}
