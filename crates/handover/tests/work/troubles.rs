//! Tests `handover doctor` with real problems: a typo in the settings, a lock that another process holds, a full disk,
//! a read-only disk, and agents that cannot start.

use std::fs::File;
use std::process::Command;

use crate::scene::{WorkScene, command_said};

/// Words that the output of `handover doctor` must not have, because a person who follows such advice could lose data.
const COSTS_DATA: [&str; 4] = ["delete", "remove", "empty store", "move "];

fn no_advice_costs_data(text: &str) {
    for words in COSTS_DATA {
        assert!(!text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_typo_in_the_settings_is_a_typo_and_no_trouble_of_the_store() {
    let scene = WorkScene::new();
    scene.out(&["add", "Docs"]);
    scene.write(".handover/config.toml", "[verify]\nchekcs = []\n");
    let said = scene.ask(&["doctor"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("line 2: there is no key `chekcs`; did you mean `checks`?"), "{said:?}");
    assert!(said.out.contains("1 problem to fix."), "{said:?}");
    no_advice_costs_data(&said.out);
}

#[test]
fn a_lock_is_named_with_the_process_that_holds_it() {
    let scene = WorkScene::new();
    scene.out(&["add", "Docs"]);
    let path = scene.project().join(".handover/state/handover.db.lock");
    let lock = File::options().write(true).open(&path).unwrap();
    lock.lock().unwrap();
    let said = scene.ask(&["doctor"]);
    assert_eq!(said.code, 1, "{said:?}");
    let process = format!("process {} (", std::process::id());
    assert!(said.out.contains(&process) && said.out.contains("holds the lock of "), "{said:?}");
    no_advice_costs_data(&said.out);
    lock.unlock().unwrap();
    let said = scene.ask(&["doctor"]);
    assert!(!said.out.contains("holds the lock of "), "{said:?}");
}

#[test]
fn a_full_and_a_read_only_disk_are_named_with_their_path() {
    let scene = WorkScene::new();
    let disk = scene.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let shown = disk.display();
    for (options, expected) in [
        ("size=400k", format!("the disk of {shown} is full: ")),
        ("size=8m,ro", format!("{shown} is on a read-only file system")),
    ] {
        let script =
            format!("mount -t tmpfs -o {options} none \"$1\" || exit 99; exec \"$2\" --store \"$1/store.db\" doctor");
        #[expect(clippy::disallowed_methods, reason = "a test makes a disk of its own")]
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
        command.arg(&disk).arg(env!("CARGO_BIN_EXE_handover")).current_dir(scene.project());
        command.env("HOME", scene.path("home")).env("XDG_DATA_HOME", scene.path("data"));
        let said = command_said(command.output().unwrap());
        if said.code == 99 || said.err.starts_with("unshare") {
            // The kernel allows no user namespaces, or no mounts in them. So the test cannot make a disk; skip it.
            println!("no disk could be made: {said:?}");
            return;
        }
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.out.contains(&expected), "{expected}: {said:?}");
        no_advice_costs_data(&said.out);
    }
}

#[test]
fn agents_are_checked_as_run_checks_them() {
    let scene = WorkScene::new();
    scene.settings("[[agent]]\nslug = \"bot\"\nadapter = \"exec\"\ncommand = [\"no-such-program-here\"]\n");
    let said = scene.ask(&["doctor"]);
    assert!(said.out.contains("agent bot: there is no program `no-such-program-here`"), "{said:?}");
    let run = scene.ask(&["run"]);
    assert!(run.err.contains("agent bot: there is no program `no-such-program-here`"), "{run:?}");
    scene.install("no-such-program-here", "#!/bin/sh\n");
    let said = scene.ask(&["doctor"]);
    assert!(said.out.contains("1 agent can work: bot"), "{said:?}");
}

#[test]
fn a_task_that_no_agent_takes_is_told_in_the_same_words_everywhere() {
    let scene = WorkScene::new();
    scene.out(&["add", "Look at it", "--role", "reviewer"]);
    let why = "needs the role `reviewer`; no agent has it";
    let said = scene.ask(&["doctor"]);
    assert!(said.out.contains(&format!("task 1 {why}")), "{said:?}");
    assert!(scene.out(&["status"]).contains(why));
    scene.out(&["agent", "register", "quinn", "test"]);
    let next = scene.out(&["task", "next", "quinn"]);
    assert!(next.contains(&format!("no task can be claimed now: task 1 {why}")), "{next}");
}

#[test]
fn a_stalled_plan_is_told_by_status_and_doctor() {
    let scene = WorkScene::new();
    scene.out(&["add", "Port"]);
    scene.out(&["add", "Docs", "--after", "1"]);
    scene.block("1");
    let words = "1 task is blocked, 1 task waits for it";
    let status = scene.out(&["status"]);
    assert!(status.contains(&format!("Stalled  Tasks: {words}\n")), "{status}");
    let said = scene.ask(&["doctor"]);
    assert!(said.out.contains(&format!("the plan Tasks is stalled: {words}")), "{said:?}");
    let shown = scene.out(&["workflow", "show", "Tasks", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(json["stalled"], true, "{json}");
}

#[test]
fn status_of_all_projects_names_each_and_says_which_are_gone() {
    let scene = WorkScene::new();
    scene.at_terminal(&["add", "Docs"], "");
    let other = scene.path("other");
    std::fs::create_dir(&other).unwrap();
    scene.git_in(&other, &["init", "--quiet"]);
    let listed = scene.path("data").join("handover/projects");
    let known = std::fs::read_to_string(&listed).unwrap();
    assert_eq!(known, format!("{}\n", scene.project().display()));
    let gone = scene.path("gone");
    std::fs::write(&listed, format!("{}\n{}\n{known}", gone.display(), other.display())).unwrap();
    let all = scene.out(&["status", "--all"]);
    let project = scene.project();
    assert!(
        all.starts_with(&format!(
            "project  {}\n  nothing needs you, 0 running, 1 ready, 0 done today\n",
            project.display()
        )),
        "{all}"
    );
    assert!(all.contains("gone: the folder is gone"), "{all}");
    assert!(all.contains("other: it has no store any more"), "{all}");
    assert!(!other.join(".handover").exists(), "looking makes no store");
    let json: serde_json::Value = serde_json::from_str(&scene.out(&["status", "--all", "--json"])).unwrap();
    assert_eq!(json["projects"].as_array().unwrap().len(), 3, "{json}");
}

#[test]
fn two_agents_of_one_name_are_listed_with_what_tells_them_apart() {
    let scene = WorkScene::new();
    scene.out(&["add", "Docs"]);
    scene.out(&["agent", "register", "amy", "claude-code"]);
    scene.out(&["agent", "register", "amy", "codex"]);
    let said = scene.ask(&["task", "claim", "1", "amy"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.starts_with("\"amy\" can mean:\n"), "{said:?}");
    assert!(said.err.contains("claude-code") && said.err.contains("codex"), "{said:?}");
    assert!(said.err.ends_with("Name one of them by its id.\n"), "{said:?}");
    let said = scene.at_terminal(&["agent", "show", "amy", "--json"], "2\n");
    let json: serde_json::Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    assert_eq!(json["runtime"], "codex", "{said:?}");
}
