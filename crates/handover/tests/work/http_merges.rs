//! Tests merging over HTTP: what is shown before, what is merged, and every reason why nothing is merged.

use serde_json::json;

use crate::scene::{WorkScene, passed, unchecked};
use crate::server::{WorkServer, wait_for};

const LOGIN: &[(&str, &str)] = &[("src/login.js", "one\nTWO\nthree\n"), ("test/login.js", "ok\n")];
const EMAIL: &[(&str, &str)] = &[("src/email.js", "valid\n")];

/// Creates a project with two finished tasks whose work starts from the same commit.
fn two() -> WorkScene {
    let scene = WorkScene::new();
    scene.out(&["add", "Go back after login", "Validate the email"]);
    scene.deliver("1", "main", LOGIN, passed());
    scene.deliver("2", "main", EMAIL, passed());
    scene
}

/// Writes settings with a check, which the person accepts.
fn with_check(scene: &WorkScene, command: &str) {
    scene.settings(&format!("[verify]\nchecks = [{{ command = [\"sh\", \"-c\", \"{command}\"] }}]\n"));
}

#[test]
fn a_merge_is_shown_before_it_is_made() {
    let scene = two();
    let server = WorkServer::start(&scene);
    let shown = server.get("tasks/1/merge").done();
    let expected = json!({
        "target": "main",
        "message": "Go back after login",
        "files": [
            {"path": "src/login.js", "added": 1, "removed": 1},
            {"path": "test/login.js", "added": 1, "removed": 0},
        ],
        "tree": scene.git(&["rev-parse", "handover/1-work^{tree}"]),
        "moved": 0,
        "checked": "Checked on exactly this tree",
        "dirty": [],
        "blocked_by": [],
        "conflict": [],
        "command": "git merge handover/1-work",
        "seconds": null,
    });
    assert_eq!(shown, expected);
    let before = scene.tip("main");
    let merged = server.post("tasks/1/merge", &json!({"tree": shown["tree"]})).done();
    let tip = scene.tip("main");
    let expected = json!({"success": true, "task": 1, "into": "main", "before": before, "commit": tip, "is_new": true});
    assert_eq!(merged, expected);
    assert_eq!(scene.read("src/login.js").as_deref(), Some("one\nTWO\nthree\n"));
    assert_eq!(scene.git(&["rev-list", "--count", &format!("{before}..main")]), "1");
    let again = server.post("tasks/1/merge", &json!({"tree": shown["tree"]}));
    assert_eq!(again.code(), (409, "ALREADY_MERGED"), "{again:?}");
    assert_eq!(again.body["details"]["commit"], json!(tip));
    // The branch moved by the merge of the first task, so the second is not what was checked.
    let shown = server.get("tasks/2/merge").done();
    assert_eq!((&shown["moved"], &shown["seconds"]), (&json!(1), &json!(7)), "{shown}");
    assert_eq!(scene.out(&["merge", "--undo"]).lines().count(), 1, "the command line knows the merge");
}

#[test]
fn another_tree_than_the_shown_one_is_not_merged() {
    let scene = two();
    let server = WorkServer::start(&scene);
    let before = scene.tip("main");
    let said = server.post("tasks/1/merge", &json!({"tree": scene.git(&["rev-parse", "main^{tree}"])}));
    assert_eq!(said.code(), (409, "TREE_CHANGED"), "{said:?}");
    assert_eq!(said.body["details"]["tree"], json!(scene.git(&["rev-parse", "handover/1-work^{tree}"])));
    assert_eq!(scene.tip("main"), before);
    // A commit on the branch of the work that no agent delivered was not checked, so it is not merged either.
    let tree = scene.git(&["rev-parse", "handover/1-work^{tree}"]);
    scene.git(&["branch", "--force", "handover/1-work", "handover/2-work"]);
    let said = server.post("tasks/1/merge", &json!({"tree": tree}));
    assert_eq!(said.code(), (409, "MERGE_REFUSED"), "{said:?}");
    assert_eq!(scene.tip("main"), before);
}

#[test]
fn an_unrelated_dirty_file_stays_and_a_touched_one_stops_the_merge_by_name() {
    let scene = two();
    let server = WorkServer::start(&scene);
    scene.write("README.md", "my own words\n");
    let shown = server.get("tasks/1/merge").done();
    assert_eq!((&shown["dirty"], &shown["blocked_by"]), (&json!(["README.md"]), &json!([])), "{shown}");
    let merged = server.post("tasks/1/merge", &json!({"tree": shown["tree"]}));
    assert_eq!(merged.status, 200, "{merged:?}");
    assert_eq!(scene.read("README.md").as_deref(), Some("my own words\n"));
    let before = scene.tip("main");
    scene.write("src/email.js", "mine\n");
    let shown = server.get("tasks/2/merge").done();
    assert_eq!((&shown["dirty"], &shown["blocked_by"]), (&json!(["README.md"]), &json!(["src/email.js"])), "{shown}");
    let said = server.post("tasks/2/merge", &json!({"tree": shown["tree"]}));
    assert_eq!(said.code(), (409, "LOCAL_CHANGES"), "{said:?}");
    assert_eq!(said.body["details"]["files"], json!(["src/email.js"]));
    assert_eq!((scene.tip("main"), scene.read("src/email.js").as_deref()), (before, Some("mine\n")));
}

#[test]
fn a_conflict_is_shown_and_not_merged() {
    let scene = two();
    let server = WorkServer::start(&scene);
    scene.write("src/login.js", "one\nzwei\nthree\n");
    let before = scene.commit("mine");
    let shown = server.get("tasks/1/merge").done();
    assert_eq!(shown["conflict"], json!(["src/login.js"]), "{shown}");
    let said = server.post("tasks/1/merge", &json!({"tree": shown["tree"]}));
    assert_eq!(said.code(), (409, "MERGE_CONFLICT"), "{said:?}");
    assert_eq!(said.body["details"], json!({"target": "main", "paths": ["src/login.js"], "more": false}));
    assert_eq!(scene.tip("main"), before);
}

#[test]
fn the_result_of_a_moved_branch_is_checked_before_it_is_merged() {
    let scene = two();
    with_check(&scene, "test ! -e stop.txt");
    let server = WorkServer::start(&scene);
    scene.write("other.txt", "x\n");
    scene.commit("mine");
    assert_eq!(server.merge(1).status, 200);
    scene.write("stop.txt", "x\n");
    let before = scene.commit("the check fails now, on the branch, too");
    // A check that already fails on the branch cannot judge the work, so it does not stop the merge.
    assert_eq!(server.merge(2).status, 200);
    assert_ne!(scene.tip("main"), before);
    scene.git(&["rm", "--quiet", "stop.txt"]);
    scene.commit("it passes again");
    scene.out(&["add", "Stop it"]);
    scene.deliver("3", "main", &[("stop.txt", "x\n")], passed());
    scene.write("other.txt", "y\n");
    let before = scene.commit("mine again");
    let said = server.merge(3);
    assert_eq!(said.code(), (409, "CHECK_FAILED"), "{said:?}");
    assert!(said.body["details"]["command"].as_str().unwrap().contains("stop.txt"), "{said:?}");
    assert_eq!(scene.tip("main"), before);
}

#[test]
fn two_merges_at_once_are_made_one_after_the_other() {
    let scene = two();
    with_check(&scene, "sleep 0.2");
    let before = scene.tip("main");
    let server = WorkServer::start(&scene);
    let tree = |task: u32| server.get(&format!("tasks/{task}/merge")).done()["tree"].clone();
    let trees = [(1, tree(1)), (2, tree(2)), (1, tree(1))];
    let codes: Vec<(u32, u16, String)> = std::thread::scope(|threads| {
        let merge = |(task, tree)| {
            let server = &server;
            threads.spawn(move || {
                let said = server.post(&format!("tasks/{task}/merge"), &json!({"tree": tree}));
                (task, said.status, said.code().1.to_owned())
            })
        };
        let all: Vec<_> = trees.into_iter().map(merge).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut found: Vec<(u32, u16, &str)> =
        codes.iter().map(|(task, status, code)| (*task, *status, code.as_str())).collect();
    found.sort_unstable();
    assert_eq!(found, [(1, 200, ""), (1, 409, "ALREADY_MERGED"), (2, 200, "")]);
    assert_eq!(scene.git(&["rev-list", "--count", &format!("{before}..main")]), "2");
    assert_eq!((scene.read("src/email.js").is_some(), scene.read("test/login.js").is_some()), (true, true));
}

#[test]
fn a_client_that_leaves_during_the_check_ends_the_check_and_merges_nothing() {
    let scene = two();
    let (pid, go) = (scene.path("pid"), scene.path("go"));
    let script = format!("echo $$ > {}; while [ ! -e {} ]; do sleep 0.05; done", pid.display(), go.display());
    with_check(&scene, &script);
    let server = WorkServer::start(&scene);
    scene.write("other.txt", "x\n");
    let before = scene.commit("mine");
    let shown = server.get("tasks/1/merge").done();
    let left = server.send("POST", "tasks/1/merge", &json!({"tree": shown["tree"]}));
    let process = wait_for("the check", || std::fs::read_to_string(&pid).ok().filter(|text| text.ends_with('\n')));
    drop(left);
    let process = format!("/proc/{}", process.trim());
    wait_for("the end of the check", || (!std::path::Path::new(&process).exists()).then_some(()));
    assert_eq!(scene.tip("main"), before);
    std::fs::write(&go, "").unwrap();
    let merged = server.post("tasks/1/merge", &json!({"tree": shown["tree"]}));
    assert_eq!(merged.status, 200, "{merged:?}");
    assert_eq!(scene.git(&["rev-list", "--count", &format!("{before}..main")]), "1");
}

#[test]
fn a_plan_is_merged_as_a_whole_and_work_that_does_not_wait_is_not() {
    let scene = WorkScene::new();
    scene.out(&["add", "Docs", "More"]);
    scene.deliver("1", "main", &[("docs.md", "docs\n")], unchecked());
    let server = WorkServer::start(&scene);
    let shown = server.get("tasks/1/merge").done();
    assert_eq!(shown["checked"], json!("Unchecked: this project has no check"), "{shown}");
    let without = server.get("tasks/2/merge");
    assert_eq!(without.code(), (404, "WORK_NOT_FOUND"), "{without:?}");
    assert_eq!(server.post("tasks/1/drop", &json!({})).status, 200);
    let dropped = server.post("tasks/1/merge", &json!({"tree": shown["tree"]}));
    assert_eq!(dropped.code(), (409, "INVALID_STATE"), "{dropped:?}");
    let (plan, work) = scene.deliver_plan("2", "main", &[("plan.md", "plan\n")]);
    let shown = server.get(&format!("workflows/{plan}/merge")).done();
    assert_eq!((&shown["tree"], &shown["message"]), (&json!(work.tree), &json!("Tasks")), "{shown}");
    let diff = server.get(&format!("workflows/{plan}/diff")).done();
    assert_eq!(diff["files"][0]["path"], json!("plan.md"), "{diff}");
    let merged = server.post(&format!("workflows/{plan}/merge"), &json!({"tree": work.tree})).done();
    assert_eq!((&merged["task"], &merged["into"]), (&json!(null), &json!("main")), "{merged}");
    assert_eq!(scene.read("plan.md").as_deref(), Some("plan\n"));
}
