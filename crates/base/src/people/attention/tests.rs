//! Compares the texts of every kind of item that needs a person with a table: title, detail, line on a terminal, and
//! commands.

use engine::Timestamp;
use engine::id::TaskId;

use super::cause::{ApprovalWish, RestingAgent};
use super::*;

/// The time 2026-11-17 09:24:00 UTC.
const NOW: Timestamp = Timestamp(1_794_907_440_000);
const MINUTE: i64 = 60_000;

fn fact(task: Option<(u32, &str)>, cause: AttentionCause) -> AttentionFact {
    let task = task.map(|(number, name)| TaskLabel { id: TaskId::FIRST, number, name: name.to_owned() });
    AttentionFact { cause, task, since: Timestamp(NOW.0 - 12 * MINUTE), behind: 2, put_off_until: None }
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn claude() -> Option<String> {
    Some(text("claude"))
}

/// Returns one fact for every kind of item that needs a person.
#[expect(clippy::too_many_lines, reason = "a table")]
fn facts() -> Vec<AttentionFact> {
    vec![
        fact(
            Some((10, "Publish the fix")),
            AttentionCause::Approval {
                approval: text("ap_0123456789ab"),
                agent: claude(),
                wish: ApprovalWish::Run(text("git push origin main")),
                folder: Some(text("~/…/shop-4f2c/1")),
                expires_in_ms: Some(23 * 3_600_000),
            },
        ),
        fact(
            Some((14, "Add health endpoint")),
            AttentionCause::Question {
                agent: text("claude"),
                text: text("Which port should the service use?"),
                message: text("ms_0123456789ab"),
            },
        ),
        fact(
            None,
            AttentionCause::AgentRests {
                agent: RestingAgent {
                    slug: text("codex"),
                    trouble: text("not logged in"),
                    said: text("Please run codex login"),
                },
                waiting: 3,
            },
        ),
        fact(
            None,
            AttentionCause::SetupFailed {
                command: text("npm ci"),
                how: text("exited 1"),
                last_line: text("ERESOLVE…"),
            },
        ),
        fact(
            None,
            AttentionCause::SettingsChanged {
                changes: vec![text("+ check: make lint")],
                commit: Some(text("4f2c1aa")),
            },
        ),
        fact(
            Some((13, "Cart totals")),
            AttentionCause::CheckFailed {
                failures: 2,
                check: text("`npm test` exited 1"),
                last_line: text("last line"),
                agent: claude(),
                tries: 2,
            },
        ),
        fact(
            Some((15, "Search")),
            AttentionCause::Conflict {
                path: text("src/api.rs"),
                other: Some(text("with 13, merged 5 min ago")),
                agent: claude(),
                tries: 1,
            },
        ),
        fact(
            Some((21, "Clean up")),
            AttentionCause::NoChanges {
                said: text("All done, everything works."),
                agent: claude(),
                tries: 1,
                usd_micros: Some(50_000),
            },
        ),
        fact(
            None,
            AttentionCause::TipFailed {
                command: text("npm test"),
                branch: text("handover/sign-in"),
                merged: vec![text("13"), text("15"), text("16")],
            },
        ),
        fact(
            Some((22, "Faster tests")),
            AttentionCause::CheckChanged { approval: text("ap_0123456789ab"), scripts: text("scripts/test") },
        ),
        fact(
            Some((16, "Refactor store")),
            AttentionCause::Budget { limit: text("$5.00 of $5.00"), turns: 9, files: Some(4) },
        ),
        fact(
            Some((17, "Rate limiting")),
            AttentionCause::Stuck { why: text("needs the role `reviewer`; no agent has it") },
        ),
        fact(
            Some((18, "Port to v2")),
            AttentionCause::Blocked {
                agent: claude(),
                reason: text("The API has no v2 schema"),
                kind: text("spec_gap"),
            },
        ),
        fact(Some((19, "Build docs")), AttentionCause::Failed { crashes: 5, error: text("spawn claude ENOENT") }),
        fact(
            Some((20, "Rate limiting")),
            AttentionCause::Finding {
                review: text("rs_0123456789ab"),
                open: 2,
                reviewer: text("quinn"),
                blocking: Some(1),
            },
        ),
        fact(
            Some((12, "Fix login")),
            AttentionCause::Merge {
                plan: None,
                agent: claude(),
                ms: 245_000,
                usd_micros: Some(420_000),
                result: text("checked"),
                check: text("`npm test` passed"),
                size: text("3 files, +61 −12"),
            },
        ),
        fact(None, AttentionCause::Baseline { command: text("npm test"), branch: Some(text("main")), unchecked: 4 }),
    ]
}

/// The expected texts. Each item has four lines: kind and title, detail, line on a terminal, and commands.
const EXPECTED: &str = r#"
approval: claude wants to run `git push origin main`
  for 10 Publish the fix · in ~/…/shop-4f2c/1 · expires in 23 h
  10 | claude wants to run `git push origin main`
  handover approval show ap_0123456789ab; handover approve ap_0123456789ab; handover reject ap_0123456789ab "..."
question: claude asks: Which port should the service use?
  14 Add health endpoint · waits 12 min, 2 tasks behind it
  14 | claude asks: Which port should the service use? | 2 tasks wait behind it.
  handover answer 14 "..."
agent_rests: codex is not logged in
  3 tasks wait for it · it said: "Please run codex login"
  codex is not logged in
  handover run
setup_failed: Setup failed: `npm ci` exited 1
  nothing can start until it works · last line: "ERESOLVE…"
  Setup failed: `npm ci` exited 1
  handover run
settings_changed: Settings changed: 1 new command to accept
  `+ check: make lint` (commit 4f2c1aa)
  Settings changed: 1 new command to accept
  handover trust
check_failed: Check failed twice: 13 Cart totals
  `npm test` exited 1 · last line · claude's 2 tries kept
  13 | check failed twice: Cart totals
  handover logs 13; handover send-back 13 "..."; handover take 13 "..."; handover drop 13
conflict: 15 cannot be merged: conflict in src/api.rs
  with 13, merged 5 min ago · claude tried once
  15 | cannot be merged: conflict in src/api.rs
  handover logs 15; handover send-back 15 "..."; handover drop 15
no_changes: 21 changed no file: "All done, everything works."
  claude, 1 try, $0.05
  21 | changed no file: "All done, everything works."
  handover logs 21; handover send-back 21 "..."; handover take 21 "..."; handover drop 21
tip_failed: `npm test` fails on handover/sign-in since 3 merges
  merged since the last good tip: 13, 15, 16
  `npm test` fails on handover/sign-in since 3 merges
  handover add "Make npm test pass"
check_changed: 22 changed its own check: scripts/test
  the result counts once you have seen the difference
  22 | changed its own check: scripts/test
  handover approval show ap_0123456789ab; handover approve 22; handover reject 22 "..."
budget: Stopped at the limit: 16 Refactor store
  $5.00 of $5.00 · 9 turns · has 4 changed files
  16 | stopped at the limit: Refactor store
  handover logs 16; handover take 16 "..."; handover drop 16
stuck: 17 needs the role `reviewer`; no agent has it
  ready since 09:12
  17 | needs the role `reviewer`; no agent has it
  handover drop 17
blocked: claude is blocked: "The API has no v2 schema"
  18 Port to v2 · kind: spec gap
  18 | claude is blocked: "The API has no v2 schema"
  handover send-back 18 "..."; handover drop 18
failed: Crashed 5 times: 19 Build docs
  last words: "spawn claude ENOENT"
  19 | crashed 5 times: Build docs
  handover retry 19; handover logs 19; handover drop 19
finding: 2 findings to decide in 20 Rate limiting
  quinn, 1 blocking
  20 | 2 findings to decide in Rate limiting
  handover review show rs_0123456789ab
merge: Ready: 12 Fix login · checked · 3 files, +61 −12
  claude, 4 min, $0.42 · `npm test` passed
  12 | ready to merge: Fix login, checked, 3 files, +61 −12 | no note
  handover diff 12; handover merge 12; handover send-back 12 "..."
baseline: `npm test` already fails on main
  4 tasks are unchecked because of it
  `npm test` already fails on main
  handover add "Make npm test pass"
"#;

fn told(items: &[AttentionItem]) -> String {
    let mut text = "\n".to_owned();
    for item in items {
        let number = item.task.as_ref().map(|task| format!("{} | ", task.number)).unwrap_or_default();
        let note = if item.note == item.detail {
            String::new()
        } else {
            format!(" | {}", if item.note.is_empty() { "no note" } else { &item.note })
        };
        let commands: Vec<&str> = item.acts.iter().map(|act| act.command.as_str()).collect();
        text.push_str(&format!("{}: {}\n  {}\n", item.kind.as_str(), item.title, item.detail));
        text.push_str(&format!("  {number}{}{note}\n  {}\n", item.headline, commands.join("; ")));
    }
    text
}

#[test]
fn every_kind_of_item_has_its_words_and_its_place_in_the_order() {
    let mut reversed = facts();
    reversed.reverse();
    assert_eq!(told(&items(&reversed, &LocalClock::fixed(NOW))), EXPECTED);
}

#[test]
fn only_finished_work_and_a_failing_start_stop_no_agent() {
    let items = items(&facts(), &LocalClock::fixed(NOW));
    let harmless: Vec<&str> = items.iter().filter(|item| !item.stops_agents).map(|item| item.kind.as_str()).collect();
    assert_eq!(harmless, ["merge", "baseline"]);
}

#[test]
fn of_one_kind_the_older_item_comes_first() {
    let mut newer = facts().remove(0);
    newer.since = NOW;
    newer.task = newer.task.map(|task| TaskLabel { number: 11, ..task });
    let older = facts().remove(0);
    let order = items(&[newer, older], &LocalClock::fixed(NOW));
    assert_eq!(order.iter().filter_map(|item| Some(item.task.as_ref()?.number)).collect::<Vec<_>>(), [10, 11]);
}

#[test]
fn a_long_title_is_cut_and_hidden_characters_are_shown() {
    let question = |text: String| {
        let cause = AttentionCause::Question { agent: "claude".to_owned(), text, message: String::new() };
        items(&[fact(Some((1, "a")), cause)], &LocalClock::fixed(NOW)).remove(0).title
    };
    let long = question("x".repeat(500));
    assert_eq!((long.chars().count(), long.ends_with("xx…")), (TITLE_CHARS_MAX, true));
    assert_eq!(question("a\nb\u{202e}c".to_owned()), "claude asks: a b<U+202E>c");
    let name = "n".repeat(200);
    let mut merge = facts().remove(15);
    merge.task = merge.task.map(|task| TaskLabel { name, ..task });
    let headline = items(&[merge], &LocalClock::fixed(NOW)).remove(0).headline;
    assert!(headline.ends_with("n…, checked, 3 files, +61 −12"), "{headline}");
}
