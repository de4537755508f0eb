//! Tests the difference of work over HTTP: its files and lines, since an earlier look, and its bounds.

use serde_json::{Value, json};

use crate::scene::{WorkScene, passed};
use crate::server::WorkServer;

#[test]
fn a_difference_has_files_and_numbered_lines() {
    let scene = WorkScene::new();
    scene.out(&["add", "Go back after login"]);
    let files: &[(&str, &str)] = &[("src/login.js", "one\nTWO \u{202e}\nthree\n"), ("dé b.txt", "x\n")];
    let work = scene.deliver("1", "main", files, passed());
    let server = WorkServer::start(&scene);
    let found = server.get("tasks/1/diff").done();
    let line =
        |kind: &str, old: Value, new: Value, text: &str| json!({"kind": kind, "old": old, "new": new, "text": text});
    let expected = json!({
        "from": work.base, "to": work.commit, "tree": work.tree, "cut": false,
        "files": [
            {
                "path": "dé b.txt", "old_path": null, "status": "added", "added": 1, "removed": 0, "binary": false,
                "cut": false,
                "hunks": [{"old_start": 0, "new_start": 1, "heading": null,
                    "lines": [line("add", json!(null), json!(1), "x")]}],
            },
            {
                "path": "src/login.js", "old_path": null, "status": "changed", "added": 1, "removed": 1,
                "binary": false, "cut": false,
                "hunks": [{"old_start": 1, "new_start": 1, "heading": null, "lines": [
                    line("same", json!(1), json!(1), "one"),
                    line("remove", json!(2), json!(null), "two"),
                    line("add", json!(null), json!(2), "TWO <U+202E>"),
                    line("same", json!(3), json!(3), "three"),
                ]}],
            },
        ],
    });
    assert_eq!(found, expected);
}

#[test]
fn a_difference_since_a_tree_has_only_what_came_after_it() {
    let scene = WorkScene::new();
    scene.out(&["add", "Go back after login"]);
    let work = scene.deliver("1", "main", &[("a.txt", "a\n"), ("b.txt", "b\n")], passed());
    let server = WorkServer::start(&scene);
    let seen = server.get("tasks/1/diff").done()["tree"].as_str().unwrap().to_owned();
    assert_eq!(seen, work.tree);
    let nothing = server.get(&format!("tasks/1/diff?since={seen}")).done();
    assert_eq!(nothing["files"], json!([]));
    scene.out(&["send-back", "1", "change b"]);
    scene.git(&["branch", "--move", "handover/1-work", "handover/1-first"]);
    scene.deliver("1", "handover/1-first", &[("b.txt", "B\n")], passed());
    let since = server.get(&format!("tasks/1/diff?since={seen}")).done();
    let files: Vec<&str> =
        since["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!((files, &since["from"]), (vec!["b.txt"], &json!(seen)), "{since}");
    let gone = server.get(&format!("tasks/1/diff?since={}", "0".repeat(40)));
    assert_eq!(gone.code(), (404, "TREE_NOT_FOUND"), "{gone:?}");
}

#[test]
fn a_large_difference_is_cut_and_says_so() {
    let scene = WorkScene::new();
    scene.out(&["add", "Many files"]);
    let long = "line\n".repeat(5_010);
    let names: Vec<String> = (0..310).map(|number| format!("many/{number:03}.txt")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x\n")).collect();
    files.push(("a-long.txt", &long));
    scene.deliver("1", "main", &files, passed());
    let server = WorkServer::start(&scene);
    let found = server.get("tasks/1/diff").done();
    let listed = found["files"].as_array().unwrap();
    assert_eq!((listed.len(), &found["cut"]), (300, &json!(true)));
    let long = &listed[0];
    let shown = long["hunks"][0]["lines"].as_array().unwrap().len();
    assert_eq!(
        (&long["path"], &long["cut"], &long["added"], shown),
        (&json!("a-long.txt"), &json!(true), &json!(5_010), 5_000)
    );
    assert_eq!(listed[1]["cut"], json!(false));
}

#[test]
fn a_task_without_work_has_no_difference() {
    let scene = WorkScene::new();
    scene.out(&["add", "Docs"]);
    let server = WorkServer::start(&scene);
    let said = server.get("tasks/1/diff");
    assert_eq!(said.code(), (404, "WORK_NOT_FOUND"), "{said:?}");
}
