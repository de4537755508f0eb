//! Tests which tokens may act on work over HTTP: only those of scope person. Everybody else gets a refusal that says what
//! to do, and nothing changes.

use serde_json::{Value, json};

use crate::scene::{WorkScene, passed};
use crate::server::{WorkServer, token};

#[test]
fn only_a_person_acts_and_reads_outputs() {
    let scene = WorkScene::new();
    scene.out(&["add", "Go back after login", "Validate the email"]);
    let work = scene.deliver("1", "main", &[("src/login.js", "one\nTWO\nthree\n")], passed());
    let server = WorkServer::start(&scene);
    let (before, tasks) = (scene.tip("main"), scene.out(&["task", "list", "--json"]));
    let workflow = format!("workflows/{}", scene.task("1").workflow);
    let tree = json!({ "tree": work.tree });
    let rows: Vec<(&str, String, Value)> = vec![
        ("POST", "tasks".to_owned(), json!({"name": "More"})),
        ("POST", "tasks/1/answer".to_owned(), json!({"text": "8080"})),
        ("POST", "tasks/1/retry".to_owned(), json!({})),
        ("POST", "tasks/1/stop".to_owned(), json!({})),
        ("POST", "tasks/1/drop".to_owned(), json!({})),
        ("POST", "tasks/1/restore".to_owned(), json!({})),
        ("POST", "tasks/1/take".to_owned(), json!({"reason": "fine"})),
        ("POST", "tasks/1/send-back".to_owned(), json!({"text": "again"})),
        ("POST", "tasks/1/merge".to_owned(), tree.clone()),
        ("GET", "tasks/1/merge".to_owned(), Value::Null),
        ("POST", format!("{workflow}/merge"), tree),
        ("GET", format!("{workflow}/merge"), Value::Null),
        ("GET", "turns/tn_000000000000/transcript".to_owned(), Value::Null),
        ("GET", "tasks/1/checks/1/output".to_owned(), Value::Null),
    ];
    for scope in ["agent", "coordinator", "admin"] {
        let secret = token(&scene, scope);
        for (method, path, body) in &rows {
            let said = server.ask(&secret, method, path, body);
            assert_eq!(said.code(), (403, "NOT_PERMITTED"), "{scope} {method} {path}: {said:?}");
            assert!(said.body["suggestion"].as_str().unwrap().contains("handover open"), "{said:?}");
        }
        // Looking at work and at turns is not deciding.
        assert_eq!(server.ask(&secret, "GET", "tasks/1/diff", &Value::Null).status, 200, "{scope}");
        assert_eq!(server.ask(&secret, "GET", "turns?task=1", &Value::Null).status, 200, "{scope}");
    }
    assert_eq!((scene.tip("main"), scene.out(&["task", "list", "--json"])), (before, tasks));
}

#[test]
fn wrong_requests_are_refused_by_the_name_of_what_is_wrong() {
    let scene = WorkScene::new();
    scene.out(&["add", "Go back after login"]);
    scene.deliver("1", "main", &[("src/login.js", "one\nTWO\nthree\n")], passed());
    let server = WorkServer::start(&scene);
    let rows: &[(&str, &str, Value, u16, &str)] = &[
        ("POST", "tasks", json!({}), 422, "`name`"),
        ("POST", "tasks", json!({"name": "  "}), 422, "`name`"),
        ("POST", "tasks", json!({"name": 7}), 422, "`name`"),
        ("POST", "tasks", json!({"name": "x", "check": ["rm"]}), 422, "`check`"),
        ("POST", "tasks", json!({"name": "x", "after": ["1"]}), 422, "`after`"),
        ("POST", "tasks", json!({"name": "x", "after": [77]}), 422, "77"),
        ("POST", "tasks/1/merge", json!({}), 422, "`tree`"),
        ("POST", "tasks/1/take", json!({"why": "x"}), 422, "`why`"),
        ("POST", "tasks/1/send-back", json!({}), 422, "`text`"),
        ("POST", "tasks/1/send-back", json!({"notes": [{"path": "a"}]}), 422, "`notes`"),
        ("POST", "tasks/1/bless", json!({}), 404, "merge"),
        ("POST", "tasks/77/retry", json!({}), 404, "77"),
        ("POST", "tasks/nope/retry", json!({}), 404, "nope"),
        ("GET", "workflows/nope/merge", Value::Null, 404, "nope"),
        ("GET", "tasks/1/diff?since=HEAD", Value::Null, 422, "`since`"),
        ("GET", "tasks/1/diff?from=x", Value::Null, 422, "`from`"),
        ("GET", "turns/nope", Value::Null, 404, "nope"),
        ("GET", "turns?limit=0", Value::Null, 422, "`limit`"),
        ("GET", "turns?cursor=x", Value::Null, 422, "`cursor`"),
        ("GET", "turns/tn_000000000000/transcript", Value::Null, 404, "tn_000000000000"),
        ("GET", "tasks/1/checks/9/output", Value::Null, 404, "no check"),
    ];
    for (method, path, body, status, word) in rows {
        let person = |path: &str| if *method == "GET" { server.get(path) } else { server.post(path, body) };
        let said = person(path);
        assert_eq!(said.status, *status, "{method} {path} {body}: {said:?}");
        assert!(said.body["message"].as_str().unwrap_or_default().contains(word), "{method} {path} {body}: {said:?}");
    }
}
