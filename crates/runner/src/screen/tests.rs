//! Compares the lines of a run with the expected lines in `screen/*.txt`. With `UPDATE=1` in the environment, writes
//! these files instead.

use std::path::Path;

use base::ground::local_time::LocalClock;
use base::people::attention::{AttentionCause, AttentionFact, TaskLabel};
use engine::Timestamp;
use engine::id::{TaskId, TurnId};
use engine::turn::{Purpose, Spent, TurnEnd};

use super::*;
use crate::attempt::shared::{CheckFailure, FailedSetup, RetryNote};

fn news(number: u32, agent: &str, name: &str, what: RunEvent) -> RunNews {
    let task = format!("tk_{number:012}").parse().unwrap_or(TaskId::FIRST);
    RunNews { task, number: Some(number), name: name.to_owned(), agent: agent.to_owned(), what }
}

fn started(purpose: Purpose, retry: Option<RetryNote>) -> RunEvent {
    RunEvent::Started { turn: TurnId::FIRST, purpose, retry }
}

/// Returns the end of a task whose cost is unknown and whose work waits for a merge.
fn completed(ms: u64) -> RunEvent {
    let spent = Spent { ms, ..Spent::default() };
    RunEvent::Completed { summary: String::new(), spent, waits_for_merge: true }
}

fn text(text: &str) -> String {
    text.to_owned()
}

/// Returns the lines that stay on the screen, and the summary with a fixed time.
fn shown(all: &[RunNews], needs: &[AttentionFact], width: usize) -> String {
    let clock = LocalClock::fixed(Timestamp(1_794_958_205_000));
    let mut out = Vec::new();
    let mut screen = Screen::new(&mut out, ScreenLook::Lines, width);
    for one in all {
        screen.tell(one).unwrap();
    }
    let needs = needs.iter().filter_map(|fact| PersonNeed::of(fact, &clock)).collect();
    let summary = RunSummary { ms: 252_000, ..screen.summary(needs, SummaryEnd::Over) };
    let lines = String::from_utf8(out).unwrap();
    format!("{lines}{}\nexit code {}\n", summary.lines(width).join("\n"), summary.exit_code())
}

/// Compares the lines of a run with the expected files: at 80 and 120 columns, with colours and without.
fn compare_run(name: &str, all: &[RunNews], needs: &[AttentionFact]) {
    for (width, is_coloured) in [(80, false), (80, true), (120, false), (120, true)] {
        let found = shown(all, needs, width);
        let plain = anstream_free(&found);
        for line in plain.lines() {
            assert!(line.chars().count() <= width, "longer than {width} columns: {line}");
        }
        let file = match (width, is_coloured) {
            (80, false) => format!("{name}.txt"),
            (_, true) => format!("{name}-{width}-colour.txt"),
            (_, false) => format!("{name}-{width}.txt"),
        };
        compare(&file, &if is_coloured { found.replace('\u{1b}', "\\e") } else { plain });
    }
}

fn question(number: u32, text: &str) -> AttentionFact {
    let cause =
        AttentionCause::Question { agent: "claude".to_owned(), text: text.to_owned(), message: "msg_1".to_owned() };
    fact(number, cause)
}

fn fact(number: u32, cause: AttentionCause) -> AttentionFact {
    let name = "A function that greets a person by name".to_owned();
    let task = Some(TaskLabel { id: TaskId::FIRST, number, name });
    AttentionFact { cause, task, since: Timestamp(1_794_958_000_000), behind: 0, put_off_until: None }
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
        spent: Spent { usd_micros: Some(micros), ms, ..Spent::default() },
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
    compare_run("both-checked", &all, &[]);
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
        bot(1, completed(12_400)),
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
            RunEvent::Ended {
                turn: TurnId::FIRST,
                end: TurnEnd::TimedOut,
                reason: None,
                verdict: None,
                spent: Spent { ms: 1_800_000, ..Spent::default() },
                model: None,
            },
        ),
        bot(6, RunEvent::Checked { command: text("npm test"), ms: 900, flaky: Some((2, 2)) }),
        RunNews {
            number: None,
            ..news(
                7,
                "codex",
                "",
                RunEvent::AgentRests {
                    reason: text("not logged in; it said \"Please run codex login\""),
                    advice: text("codex login"),
                    waiting: 3,
                },
            )
        },
        bot(8, RunEvent::SetupFailed { problem }),
    ];
    let no_changes = AttentionCause::NoChanges {
        said: text("All done, everything works."),
        agent: Some(text("bot")),
        tries: 1,
        usd_micros: None,
    };
    let stuck = AttentionCause::Stuck { why: text("needs the role `reviewer`; no agent has it") };
    let crashed = AttentionCause::Failed { crashes: 5, error: text("spawn claude ENOENT") };
    let facts = [
        question(2, "Shall \"a@b\" without a dot count as valid?"),
        fact(3, no_changes),
        fact(9, stuck),
        fact(10, crashed),
    ];
    compare_run("needs-you", &all, &facts);
}

#[test]
fn one_question_is_the_whole_summary() {
    let claude = |what: RunEvent| news(2, "claude", "Validate the email field on the sign-up form", what);
    let asked = "Shall \"a@b\" without a dot count as valid?";
    let all = [claude(started(Purpose::SentBack, None)), claude(RunEvent::Asks { question: text(asked) })];
    compare_run("one-question", &all, &[question(2, asked)]);
}

#[test]
fn unlike_results_have_a_column_and_one_task_has_no_table() {
    let bot = |number: u32, what: RunEvent| news(number, "bot", "A function that greets a person by name", what);
    let done = || completed(2_600);
    let finished = || RunEvent::Finished { files: 1, added: 5, removed: 0, summary: text("added greet()") };
    let checked = || RunEvent::Checked { command: text("cargo test"), ms: 2_300, flaky: None };
    let one = |number| [bot(number, started(Purpose::First, None)), bot(number, finished())];
    let first = [bot(1, checked()), bot(1, done())];
    let second = [bot(2, RunEvent::Unchecked { why: text("cargo test already fails on main") }), bot(2, done())];
    let all: Vec<RunNews> = [one(1), first.clone(), one(2), second].concat();
    compare_run("unlike", &all, &[]);
    compare_run("one-checked", &[one(1), first].concat(), &[]);
}

#[test]
fn stopping_names_the_running_tasks_and_the_time_that_they_have() {
    let said = |tasks: u32| {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, ScreenLook::Lines, 80);
        for number in 0..tasks {
            let task = format!("tk_{number:012}").parse().unwrap();
            let news = news(number, "claude", "x", RunEvent::Claimed { attempt: 1 });
            screen.tell(&RunNews { task, ..news }).unwrap();
        }
        screen.finishing(1_800_000).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        said(2),
        "Finishing 2 running tasks (up to 30 min); starting nothing new. Ctrl-C again stops them and gives the tasks \
         back.\n"
    );
    let one = said(1);
    assert!(one.starts_with("Finishing 1 running task (up to 30 min)") && one.ends_with("gives the task back.\n"));
    assert_eq!(said(0), "Starting nothing new.\n");
}

#[test]
fn the_live_line_and_the_json_event_name_the_title_of_a_tool_call() {
    let title = text("run npm test");
    let call = RunEvent::Tool { turn: TurnId::FIRST, name: text("Bash"), title };
    let all = [news(1, "claude", "Fix it", started(Purpose::First, None)), news(1, "claude", "Fix it", call)];
    let said = |look: ScreenLook| {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, look, 80);
        all.iter().for_each(|news| screen.tell(news).unwrap());
        String::from_utf8(out).unwrap()
    };
    assert!(said(ScreenLook::Live).contains("1 calls           run npm test: Fix it"), "{}", said(ScreenLook::Live));
    let event: serde_json::Value = serde_json::from_str(said(ScreenLook::Json).lines().last().unwrap()).unwrap();
    assert_eq!((&event["tool"], &event["title"]), (&"Bash".into(), &"run npm test".into()));
}

#[test]
fn a_run_without_tasks_says_how_to_add_one() {
    compare_run("nothing", &[], &[]);
}
