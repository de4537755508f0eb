//! Tests the output of `task list`, `task show` and `archive` for a person.

use crate::scene::{WorkScene, passed};

#[test]
fn task_list_has_every_task_with_its_state_in_plain_words() {
    let scene = WorkScene::new();
    assert_eq!(scene.out(&["task", "list"]), "There are no tasks. Add one: handover add \"...\"\n");
    scene.out(&["add", "Go back after login"]);
    scene.out(&["add", "Docs", "--after", "1"]);
    scene.out(&["add", "A very long name of a task that does not fit into one line of a terminal of 80 columns"]);
    scene.deliver("3", "main", &[("a.txt", "a\n")], passed());
    let table = scene.out(&["task", "list"]);
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["number", "name", "state", "agent", "since", "plan"], "{table}");
    assert_eq!(lines[1][..6], ["1", "Go", "back", "after", "login", "ready"], "{table}");
    assert_eq!(lines[2][..4], ["2", "Docs", "after", "1"], "{table}");
    assert!(table.lines().nth(3).is_some_and(|line| line.contains("checked") && line.contains("…")), "{table}");
    let ready = scene.out(&["task", "list", "--ready"]);
    assert_eq!(ready.lines().count(), 2, "{ready}");
    let json: serde_json::Value = serde_json::from_str(&scene.out(&["task", "list", "--json"])).unwrap();
    assert_eq!(json["tasks"][1]["state"], "after 1", "{json}");
    let said = scene.ask(&["task", "list", "--status", "done"]);
    assert!(said.err.contains("the statuses are pending, planning"), "{said:?}");
    let said = scene.ask(&["task", "list", "--plan", "nothing"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("there is no plan nothing"), "{said:?}");
}

#[test]
fn task_show_says_who_did_it_from_which_base_on_which_branch_and_where_it_is_now() {
    let scene = WorkScene::new();
    let base = scene.tip("main");
    scene.out(&["add", "Fix the login"]);
    scene.deliver("1", "main", &[("a.txt", "a\n")], passed());
    let shown = scene.out(&["task", "show", "1"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], " 1  Fix the login", "{shown}");
    assert!(lines[1].starts_with("    completed by ") && lines[1].ends_with(" of Tasks"), "{shown}");
    assert!(shown.contains("    checked: npm test passed in 6.5 s\n"), "{shown}");
    assert!(shown.contains(&format!("    from main at {}; branch ", &base[..7])), "{shown}");
    assert!(shown.contains("; 1 file, +5 −1\n    not merged yet\n"), "{shown}");
    scene.out(&["merge", "1", "--yes"]);
    let merged = &scene.tip("main")[..7];
    let shown = scene.out(&["task", "show", "1"]);
    assert!(shown.contains(&format!("    merged into main as {merged} by ")), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&scene.out(&["task", "show", "1", "--json"])).unwrap();
    assert_eq!(json["delivery"]["state"], "merged", "{json}");
    assert_eq!(json["delivery"]["base"], base.as_str(), "{json}");
}

#[test]
fn an_archived_plan_leaves_the_lists_and_comes_back_whole() {
    let scene = WorkScene::new();
    scene.out(&["add", "Docs"]);
    let made: serde_json::Value =
        serde_json::from_str(&scene.out(&["workflow", "create", "Release", "--json"])).unwrap();
    let plan = made["id"].as_str().unwrap().to_owned();
    scene.out(&["workflow", "plan", &plan, r#"{"summary": "s", "tasks": [{"name": "Notes"}]}"#]);
    assert_eq!(scene.out(&["archive"]), "No plan is over, so there is nothing to archive.\n");
    let said = scene.ask(&["archive", "Release"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("only a completed, failed or abandoned workflow can be archived"), "{said:?}");
    let said = scene.at_terminal(&["workflow", "status", "Release", "abandoned"], "");
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(scene.out(&["archive"]), "Archived 1 plan: Release\n");
    assert!(!scene.out(&["task", "list"]).contains("Notes"));
    assert!(!scene.out(&["workflow", "list"]).contains("Release"));
    assert!(scene.out(&["task", "list", "--all"]).contains("Notes"));
    assert!(scene.out(&["workflow", "list", "--all"]).contains("Release"));
    // A person can still name a task of an archived plan in a command.
    assert!(scene.out(&["task", "show", "2"]).starts_with(" 2  Notes\n"));
    assert_eq!(scene.out(&["archive", "--undo", "release"]), "Back in the lists: Release\n");
    assert!(scene.out(&["task", "list"]).contains("Notes"));
}
