//! Compares the lines of a run with the expected lines in `screen/*.txt`. With `UPDATE=1` in the environment, writes
//! these files instead.

use std::path::Path;

use engine::id::{TaskId, TurnId};
use engine::turn::{Purpose, TurnEnd};

use super::*;
use crate::attempt::shared::{CheckFailure, FailedSetup, RetryNote};

fn news(number: u32, agent: &str, name: &str, what: RunEvent) -> RunNews {
    let task = format!("tk_{number:012}").parse().unwrap_or(TaskId::FIRST);
    RunNews { task, number: Some(number), name: name.to_owned(), agent: agent.to_owned(), what }
}

fn started(purpose: Purpose, retry: Option<RetryNote>) -> RunEvent {
    RunEvent::Started { turn: TurnId::FIRST, purpose, retry }
}

fn text(text: &str) -> String {
    text.to_owned()
}

/// Returns the lines that stay on the screen, and the summary without its time.
fn shown(all: &[RunNews]) -> String {
    let mut out = Vec::new();
    let mut screen = Screen::new(&mut out, ScreenLook::Lines, 80);
    for one in all {
        screen.tell(one).unwrap();
    }
    let summary = RunSummary { ms: 252_000, ..screen.summary() };
    let lines = anstream_free(&String::from_utf8(out).unwrap());
    let all = format!("{lines}{}\nexit code {}\n", summary.lines().join("\n"), summary.exit_code());
    for line in all.lines() {
        assert!(line.chars().count() <= 80, "longer than 80 columns: {line}");
    }
    all
}

/// Removes the colours, which are shown only at a terminal.
fn anstream_free(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(letter);
        }
    }
    plain
}

fn compare(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/screen").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(&path).unwrap(), "{name}");
}

#[test]
fn two_tasks_one_of_which_fails_its_check_first() {
    let (one, two) =
        ("After login, go back to the page the user came from", "Validate the email field on the sign-up form");
    let claude = |number: u32, what: RunEvent| news(number, "claude", if number == 1 { one } else { two }, what);
    let finished =
        |files, added, removed, summary: &str| RunEvent::Finished { files, added, removed, summary: text(summary) };
    let checked = |ms| RunEvent::Checked { command: text("npm test"), ms, flaky: None };
    let done = |micros, ms| RunEvent::Completed {
        summary: String::new(),
        usd_micros: Some(micros),
        ms,
        waits_for_merge: true,
    };
    let long = "Keeps ?next= through the form and refuses addresses of other hosts.";
    let retry = RetryNote { with: text("the output of npm test"), number: 2, of: 2 };
    let failed = RunEvent::CheckFailed {
        command: text("npm test"),
        end: CheckFailure::Exited(1),
        runs: 2,
        last_line: text("1 failing: keeps the query"),
    };
    let all = [
        claude(1, started(Purpose::First, None)),
        claude(2, started(Purpose::First, None)),
        claude(2, finished(2, 31, 4, long)),
        claude(2, checked(6_420)),
        claude(2, done(180_000, 110_000)),
        claude(1, finished(3, 58, 12, long)),
        claude(1, failed),
        claude(1, started(Purpose::Verification, Some(retry))),
        claude(1, finished(3, 61, 12, long)),
        claude(1, checked(6_500)),
        claude(1, done(420_000, 245_000)),
    ];
    compare("both-checked.txt", &shown(&all));
}

#[test]
fn a_red_baseline_a_question_and_everything_that_needs_a_person() {
    let bot = |number: u32, what: RunEvent| news(number, "bot", "A function that greets a person by name", what);
    let problem = FailedSetup {
        command: text("npm ci"),
        how: text("exited with 1"),
        last_lines: text("npm error code EAI_AGAIN"),
    };
    let all = [
        bot(1, started(Purpose::First, None)),
        bot(1, RunEvent::Finished { files: 1, added: 5, removed: 0, summary: text("added greet()") }),
        bot(1, RunEvent::Unchecked { why: text("cargo test already fails on main") }),
        bot(1, RunEvent::Completed { summary: String::new(), usd_micros: None, ms: 12_400, waits_for_merge: true }),
        bot(2, started(Purpose::Answer, None)),
        bot(2, RunEvent::Asks { question: text("Shall \"a@b\" without a dot count as valid?") }),
        bot(3, RunEvent::NoChanges { summary: text("All done, everything works.") }),
        bot(
            3,
            RunEvent::Blocked {
                kind: text("verification_fail"),
                reason: text("no changes: the task was to change files"),
            },
        ),
        bot(4, RunEvent::Crashed { reason: text("killed by signal 9 after 2 s"), again_ms: 5_000, attempt: 2, of: 5 }),
        bot(
            5,
            RunEvent::Ended { turn: TurnId::FIRST, end: TurnEnd::TimedOut, reason: None, verdict: None, ms: 1_800_000 },
        ),
        bot(6, RunEvent::Checked { command: text("npm test"), ms: 900, flaky: Some((2, 2)) }),
        news(
            7,
            "codex",
            "x",
            RunEvent::AgentRests {
                reason: text("not logged in; it said \"Please run codex login\""),
                advice: text("codex login. Afterwards: handover run"),
            },
        ),
        bot(8, RunEvent::SetupFailed { problem }),
    ];
    compare("needs-you.txt", &shown(&all));
}

#[test]
fn a_run_without_tasks_says_how_to_add_one() {
    compare("nothing.txt", &shown(&[]));
}
