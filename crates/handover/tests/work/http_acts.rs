//! Tests the acts of a person on tasks over HTTP, except merging: add, answer, retry, stop, drop, restore, take and send
//! back. They do the same as the commands with these names.

use engine::Command;
use engine::command::Target;
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::task::Status;
use serde_json::json;

use crate::scene::{WorkScene, passed};
use crate::server::WorkServer;

fn one() -> (WorkScene, WorkServer) {
    let scene = WorkScene::new();
    scene.out(&["add", "Go back after login"]);
    let server = WorkServer::start(&scene);
    (scene, server)
}

#[test]
fn a_task_is_added_to_the_list() {
    let scene = WorkScene::new();
    let server = WorkServer::start(&scene);
    let first = server.post("tasks", &json!({"name": "Fix the login\n\nIt forgets the page."}));
    assert_eq!(first.status, 201, "{first:?}");
    let task = scene.task("1");
    let expected = json!({"success": true, "task": 1, "task_id": task.id.to_string(), "name": "Fix the login"});
    assert_eq!(first.body, expected);
    let wanted = json!({"name": "Fix the login", "after": [1], "role": "developer", "touches": ["src/**"]});
    let second = server.post("tasks", &wanted).done();
    assert_eq!((&second["task"], &second["name"]), (&json!(2), &json!("Fix the login (2)")), "{second}");
    let task = scene.task("2");
    assert_eq!((task.role.as_deref(), task.touches.as_slice()), (Some("developer"), ["src/**".to_owned()].as_slice()));
    let shown: serde_json::Value = serde_json::from_str(&scene.out(&["task", "show", "2", "--json"])).unwrap();
    assert_eq!(shown["blocked_by"], json!(["Fix the login"]), "{shown}");
    let refused = server.post("tasks", &json!({"name": "x", "touches": ["src/{a"]}));
    assert_eq!(refused.status, 422, "{refused:?}");
}

#[test]
fn a_question_is_answered_once() {
    let (scene, server) = one();
    let nothing = server.post("tasks/1/answer", &json!({"text": "8080"}));
    assert_eq!(nothing.code(), (409, "INVALID_STATE"), "{nothing:?}");
    let (agent, task) = scene.claim("1");
    let draft = MessageDraft {
        task: Some(task),
        ..MessageDraft::text(MessageKind::Question, engine::task::Priority::DEFAULT, "Which port?")
    };
    scene.as_agent(agent, Command::Send { to: Recipients::One(MailboxOwner::Human), draft });
    let to = Target::Paused { reason: Some("asks".to_owned()) };
    scene.as_agent(agent, Command::Move { task, attempt: None, to });
    let said = server.post(&format!("tasks/{task}/answer"), &json!({"text": "8080"})).done();
    assert_eq!((&said["task"], &said["agent"]), (&json!(1), &json!("claude")), "{said}");
    assert_eq!(scene.task("1").status(), Status::InProgress);
    assert_eq!(server.post("tasks/1/answer", &json!({"text": "8081"})).status, 409);
}

#[test]
fn a_task_is_stopped_and_retried() {
    let (scene, server) = one();
    assert_eq!(server.post("tasks/1/stop", &json!({})).code(), (409, "INVALID_STATE"));
    assert_eq!(server.post("tasks/1/retry", &json!({})).code(), (409, "INVALID_STATE"));
    scene.claim("1");
    let busy = server.post("tasks/1/drop", &json!({}));
    assert_eq!(busy.code(), (409, "INVALID_STATE"), "{busy:?}");
    assert_eq!(server.post("tasks/1/stop", &json!({})).done(), json!({"success": true, "task": 1}));
    let task = scene.task("1");
    assert_eq!((task.status(), task.holder()), (Status::Pending, None));
    scene.block("1");
    assert_eq!(server.post("tasks/1/retry", &json!(null)).done(), json!({"success": true, "task": 1}));
    assert_eq!(scene.task("1").status(), Status::Pending);
}

#[test]
fn work_is_dropped_and_restored() {
    let (scene, server) = one();
    assert_eq!(server.post("tasks/1/restore", &json!({})).code(), (409, "INVALID_STATE"));
    scene.deliver("1", "main", &[("src/login.js", "one\nTWO\nthree\n")], passed());
    let tip = scene.tip("handover/1-work");
    for _ in 0..2 {
        let dropped = server.post("tasks/1/drop", &json!({})).done();
        assert_eq!(dropped, json!({"success": true, "task": 1, "kept_days": 14}));
        assert_eq!(scene.git(&["branch", "--list", "handover/*"]), "");
    }
    server.post("tasks/1/restore", &json!({})).done();
    assert_eq!(scene.tip("handover/1-work"), tip);
    assert_eq!(server.merge(1).status, 200);
    let merged = server.post("tasks/1/drop", &json!({}));
    assert_eq!(merged.code(), (409, "INVALID_STATE"), "{merged:?}");
    scene.out(&["add", "Nobody needs this"]);
    let skipped = server.post("tasks/2/drop", &json!({})).done();
    assert_eq!(skipped["kept_days"], json!(null), "{skipped}");
    assert_eq!(scene.task("2").status(), Status::Skipped);
}

#[test]
fn a_blocked_task_is_taken_as_it_is_with_its_work() {
    let (scene, server) = one();
    scene.block("1");
    let branch = git::branch::task_branch(&scene.task("1").id.to_string(), 1);
    let folder = scene.path("attempt");
    scene.git(&["worktree", "add", "--quiet", "-b", &branch, folder.to_str().unwrap(), "main"]);
    std::fs::write(folder.join("new.txt"), "new\n").unwrap();
    scene.git_in(&folder, &["add", "--all"]);
    scene.git_in(&folder, &["commit", "--quiet", "-m", "work"]);
    scene.git(&["worktree", "remove", folder.to_str().unwrap()]);
    let refused = server.post("tasks/1/take", &json!({"reason": ""}));
    assert!(refused.status >= 400, "{refused:?}");
    let taken = server.post("tasks/1/take", &json!({"reason": "the test is wrong"})).done();
    assert_eq!(taken, json!({"success": true, "task": 1, "has_work": true}));
    assert_eq!(server.merge(1).status, 200);
    assert_eq!(scene.read("new.txt").as_deref(), Some("new\n"));
}

#[test]
fn work_is_sent_back_with_remarks_on_lines() {
    let (scene, server) = one();
    scene.deliver("1", "main", &[("src/login.js", "one\nTWO\nthree\n")], passed());
    let body = json!({"text": " no capitals ", "notes": [{"path": "src/login.js", "line": 2, "text": "use two"},
        {"path": "src/login.js", "line": null, "text": "and add a test"}]});
    let said = server.post("tasks/1/send-back", &body).done();
    assert_eq!(said, json!({"success": true, "task": 1, "agent": "claude"}));
    let task = scene.task("1");
    assert_eq!((task.status(), task.attempt), (Status::Pending, 1));
    let shown = scene.out(&["task", "checkpoints", "1", "--json"]);
    for word in ["no capitals", "use two", "and add a test", "src/login.js"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    let again = server.post("tasks/1/send-back", &json!({"text": "again"}));
    assert_eq!(again.status, 409, "{again:?}");
}

#[test]
fn acts_and_reads_are_the_same_on_postgres() {
    let scene = WorkScene::on(Some(crate::postgres::schema_of("http_acts")));
    scene.out(&["add", "Go back after login", "Docs"]);
    let work = scene.deliver("1", "main", &[("src/login.js", "one\nTWO\nthree\n")], passed());
    let server = WorkServer::start(&scene);
    assert_eq!(server.post("tasks", &json!({"name": "Docs", "after": [1]})).done()["name"], json!("Docs (2)"));
    assert_eq!(server.get("turns").done(), json!({"turns": [], "next_cursor": null}));
    assert_eq!(server.get("tasks/1/diff").done()["tree"], json!(work.tree));
    assert_eq!(server.merge(1).status, 200);
    assert_eq!(server.post("tasks/1/merge", &json!({"tree": work.tree})).code(), (409, "ALREADY_MERGED"));
    assert_eq!(server.post("tasks/2/drop", &json!({})).done()["kept_days"], json!(null));
}
