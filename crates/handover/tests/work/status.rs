//! Tests `handover status`: its text for a person on a quiet and on a busy day, and its JSON for programs.

use base::ground::clock::{Clock as _, SystemClock};
use base::ground::local_time::LocalClock;
use engine::command::Target;
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::put_off::ItemDelay;
use engine::{Command, Timestamp};

use crate::scene::{WorkScene, passed};

/// Replaces the times of merges by a fixed time, because they differ from run to run.
fn timeless(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once("merged ") {
        Some((before, time)) if time.len() == 5 && time.contains(':') => format!("{before}merged 09:41\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn an_empty_store_says_how_to_add_work() {
    let scene = WorkScene::new();
    assert_eq!(scene.out(&["status"]), "Nothing needs you. Nothing is running.\nAdd work: handover add \"...\"\n");
}

#[test]
fn a_quiet_day_shows_what_was_merged() {
    let scene = WorkScene::new();
    scene.out(&["add", "A function that greets a person by name"]);
    scene.deliver("1", "main", &[("new.txt", "new\n")], passed());
    scene.out(&["merge", "1", "--yes"]);
    let quiet = "Nothing needs you. Nothing is running.\n\
                 Done today   1  A function that greets a person by name   merged 09:41\n\
                 Add work: handover add \"...\"\n";
    assert_eq!(timeless(&scene.out(&["status"])), quiet);
    scene.out(&["add", "Docs for v2"]);
    let ready = "Nothing needs you. Nothing is running.\n\
                 Ready  2 Docs for v2\n\
                 Done today   1  A function that greets a person by name   merged 09:41\n\
                 Start them: handover run\n";
    assert_eq!(timeless(&scene.out(&["status"])), ready);
}

#[test]
fn a_busy_day_shows_questions_finished_work_running_and_ready_tasks() {
    let scene = WorkScene::new();
    for name in ["Fix login", "Add health endpoint", "Cart totals", "Search", "Rate limiting"] {
        scene.out(&["add", name]);
    }
    scene.out(&["add", "Docs for v2", "--after", "2"]);
    scene.deliver("1", "main", &[("new.txt", "new\n")], passed());
    scene.block("3");
    scene.claim("4");
    let (agent, task) = scene.claim("2");
    let draft = MessageDraft {
        kind: MessageKind::Question,
        priority: engine::task::Priority::FIRST,
        subject: None,
        body: "Which port should the service use?".to_owned(),
        body_json: false,
        action_required: true,
        workflow: None,
        task: Some(task),
        reply_to: None,
    };
    scene.as_agent(agent, Command::Send { to: Recipients::One(MailboxOwner::Human), draft });
    let to = Target::Paused { reason: Some("a question".to_owned()) };
    scene.as_agent(agent, Command::Move { task, attempt: None, to });
    let text = scene.out(&["status"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let order = [
        "Needs you\n  2  claude asks: Which port should the service use?",
        "        1 task waits behind it.   handover answer 2 \"...\"\n",
        "  3  claude is blocked: \"npm test failed twice\"",
        "  1  ready to merge: Fix login, checked, 1 file, +5 −1",
        "        handover diff 1   handover merge 1   handover send-back 1 \"...\"\n",
        "\nRunning\n  4  claude",
        "Search",
        "cost unknown\n",
        "\nReady  5 Rate limiting · 6 Docs for v2 (after 2)\n",
        "Today  1 done, 0 merged, 1 task of unknown cost\n",
    ];
    let mut rest = text.as_str();
    for part in order {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("{part:?} is not next in:\n{text}")).1;
    }
    assert_eq!(rest, "");
    let found: serde_json::Value = serde_json::from_str(&scene.out(&["status", "--json"])).unwrap();
    let items = found["items"].as_array().unwrap();
    let kinds: Vec<_> = items.iter().map(|item| (item["kind"].as_str().unwrap(), item["task"].as_u64())).collect();
    assert_eq!(kinds, [("question", Some(2)), ("blocked", Some(3)), ("merge", Some(1))]);
    assert_eq!(items[0]["acts"][0]["command"], "handover answer 2 \"...\"");
    assert_eq!((&items[0]["behind"], &items[0]["stops_agents"]), (&1.into(), &true.into()));
    assert_eq!((&found["running"][0]["task"], &found["ready"][1]["after"][0]), (&4.into(), &2.into()));
}

#[test]
fn an_item_that_is_put_off_stands_below_the_others() {
    let scene = WorkScene::new();
    for name in ["Fix login", "Cart totals"] {
        scene.out(&["add", name]);
    }
    scene.block("1");
    scene.block("2");
    let items = || -> Vec<serde_json::Value> {
        let found: serde_json::Value = serde_json::from_str(&scene.out(&["status", "--json"])).unwrap();
        found["items"].as_array().unwrap().clone()
    };
    let first = items();
    assert!(first.iter().all(|item| item["put_off_until"].is_null()), "{first:?}");
    let put_off = |item: &serde_json::Value| {
        let until = Timestamp(SystemClock.now().0 + 3_600_000);
        let item = item["name"].as_str().unwrap().to_owned();
        scene.as_person(Command::PutOff(ItemDelay { item, until: Some(until) }));
        until
    };
    let until = put_off(&first[0]);
    let second = items();
    assert_eq!((&second[1]["name"], &second[1]["put_off_until"]), (&first[0]["name"], &until.0.into()));
    let clock = LocalClock::here();
    let text = scene.out(&["status"]);
    let line = |number: u32, until| {
        let headline = "claude is blocked: \"npm test failed twice\"";
        format!("Put off until {}   {number}  {headline}\n", clock.ahead(until).unwrap())
    };
    let (needs, rest) = text.split_once("\n\n").unwrap();
    assert!(needs.starts_with("Needs you\n  2  claude is blocked"), "{text}");
    assert!(rest.starts_with(&format!("{}\nNothing is running.\n", line(1, until))), "{text}");
    let second_until = put_off(&first[1]);
    let quiet = format!(
        "Nothing needs you. Nothing is running.\n{}{}Stalled  Tasks: 2 tasks are blocked\nAdd work: handover add \"...\"\n",
        line(1, until),
        line(2, second_until)
    );
    assert_eq!(scene.out(&["status"]), quiet);
}
