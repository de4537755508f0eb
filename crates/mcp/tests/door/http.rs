//! Tests of the MCP server over HTTP. The requests are written as plain bytes.

use std::time::Duration;

use mcp::HttpSettings;
use serde_json::{Value, json};

use crate::site::{Site, call, initialize, settings};
use crate::transcript::NEW;

/// A test case: the title, the headers and the body of a request, then the expected status and a part of the expected
/// answer.
type Row<'t> = (&'t str, &'t [(&'t str, &'t str)], String, u16, Value);

fn check(site: &Site, table: &[Row<'_>]) {
    for (title, headers, body, status, part) in table {
        let answer = site.post(headers, body);
        assert_eq!(answer.status, *status, "{title}: {}", answer.body);
        assert!(answer.has(part), "{title}: {} has no {part}", answer.body);
    }
}

#[test]
fn a_session_of_the_old_era() {
    let site = Site::start(&settings());
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let opened = site.post(&[("x-agent", "ada")], &initialize(version));
        assert!(opened.has(&json!({"result": {"protocolVersion": version}})), "{}", opened.body);
        site.told("opened ada in a session");
        site.told("introduced test 0");
        let session = opened.header("mcp-session-id").unwrap();
        let named = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", version), ("x-agent", "bob")];
        check(
            &site,
            &[
                // `ada` opened the session, but this request comes from `bob`. The answer must name `bob`, because the
                // server must identify the caller of each request.
                (
                    "who",
                    &named,
                    call("whoami", "{}"),
                    200,
                    json!({"result": {"structuredContent": {"who": "bob in a session"}}}),
                ),
                (
                    "echo",
                    &named,
                    call("echo", r#"{"a":1}"#),
                    200,
                    json!({"id": 1, "result": {"structuredContent": {"a": 1}, "content": [{"text": "{\"a\":1}"}]}}),
                ),
                ("no", &named, call("refuse", "{}"), 200, json!({"result": {"isError": true}})),
                (
                    "unknown",
                    &named,
                    call("ecko", "{}"),
                    200,
                    json!({"error": {"code": -32602, "message": "unknown tool: ecko; did you mean echo?"}}),
                ),
                (
                    "method",
                    &named,
                    r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#.into(),
                    200,
                    json!({"error": {"code": -32601}}),
                ),
                ("without", &[], call("echo", "{}"), 400, Value::Null),
                ("another", &[("mcp-session-id", "nobody")], call("echo", "{}"), 404, Value::Null),
            ],
        );
        assert_eq!(site.delete(&session), 204);
        site.told("closed ada in a session");
        assert_eq!(site.post(&named, &call("echo", "{}")).status, 404);
        assert_eq!(site.delete(&session), 404);
    }
}

#[test]
fn requests_of_the_new_era() {
    let site = Site::start(&settings());
    let new = |method, name| {
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name), ("x-agent", "eve")]
    };
    let discover = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{"_meta":{NEW}}}}}"#);
    let calls = |tool| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"ms":10}},"_meta":{NEW}}}}}"#
        )
    };
    check(
        &site,
        &[
            (
                "discover",
                &new("server/discover", "")[..2],
                discover,
                200,
                json!({"result": {"resultType": "complete"}}),
            ),
            (
                "who",
                &new("tools/call", "whoami"),
                calls("whoami"),
                200,
                json!({"result": {"structuredContent": {"who": "eve without a session"}}}),
            ),
            (
                "echo",
                &new("tools/call", "echo"),
                calls("echo"),
                200,
                json!({"result": {"structuredContent": {"ms": 10}, "resultType": "complete"}}),
            ),
            ("no", &new("tools/call", "refuse"), calls("refuse"), 200, json!({"result": {"isError": true}})),
            ("unknown", &new("tools/call", "ecko"), calls("ecko"), 200, json!({"error": {"code": -32602}})),
            ("another name", &new("tools/call", "other"), calls("echo"), 400, json!({"error": {"code": -32020}})),
            ("no header", &[], calls("echo"), 400, json!({"error": {"code": -32020}})),
        ],
    );
    let answer = site.post(&new("tools/call", "echo"), &calls("echo"));
    assert_eq!(answer.header("content-type").as_deref(), Some("application/json"));
    assert_eq!(answer.header("mcp-session-id"), None);
}

#[test]
fn hosts_and_origins() {
    let site = Site::start(&settings());
    let open = initialize("2025-11-25");
    check(
        &site,
        &[
            ("no origin", &[], open.clone(), 200, Value::Null),
            ("a page of ours", &[("origin", "http://127.0.0.1:4747")], open.clone(), 200, Value::Null),
            ("a page of another", &[("origin", "http://evil.example")], open.clone(), 403, Value::Null),
            ("a page of nowhere", &[("origin", "null")], open.clone(), 403, Value::Null),
            ("another host", &[("host", "evil.example")], open, 403, Value::Null),
        ],
    );
}

#[test]
fn bodies() {
    let site = Site::start(&settings());
    let long = |tool: &str, bytes: usize| call(tool, &format!(r#"{{"t":"{}"}}"#, "x".repeat(bytes)));
    let session = site.open("ada");
    let named = [("mcp-session-id", session.as_str())];
    let error = |code: i32| json!({"error": {"code": code}});
    check(
        &site,
        &[
            ("not JSON", &named, "{".into(), 400, json!({"id": null, "error": {"code": -32700}})),
            ("empty", &named, String::new(), 400, error(-32700)),
            ("a batch", &named, "[]".into(), 400, error(-32600)),
            ("a key twice", &named, call("echo", r#"{"a":1,"a":2}"#), 200, json!({"id": 1, "error": {"code": -32602}})),
            (
                "too deep",
                &named,
                call("echo", &format!(r#"{{"a":{}{}}}"#, "[".repeat(200), "]".repeat(200))),
                200,
                error(-32700),
            ),
            ("a number", &named, call("echo", "5"), 200, error(-32602)),
            ("a long one", &named, long("echo", 1_040_000), 200, json!({"result": {"isError": false}})),
            ("too long", &named, long("echo", 1_100_000), 413, json!({"id": 1, "error": {"code": -32600}})),
            (
                "a plan",
                &named,
                long("workflow_set_plan", 20_000_000),
                200,
                json!({"result": {"structuredContent": {"bytes": 20_000_008}}}),
            ),
            (
                "too long a plan",
                &named,
                long("workflow_set_plan", 34_000_000),
                413,
                json!({"id": 1, "error": {"code": -32600}}),
            ),
            ("the next", &named, call("echo", "{}"), 200, json!({"result": {"isError": false}})),
        ],
    );
    let small = Site::start(&HttpSettings { message_bytes_max: 1_000, ..settings() });
    let session = small.open("ada");
    let named = [("mcp-session-id", session.as_str())];
    check(
        &small,
        &[
            ("within", &named, long("workflow_set_plan", 100), 200, json!({"result": {"isError": false}})),
            ("beyond", &named, long("workflow_set_plan", 1000), 413, json!({"id": 1, "error": {"code": -32600}})),
        ],
    );
}

#[test]
fn when_there_are_too_many_sessions_the_one_unused_for_longest_gives_way() {
    let site = Site::start(&HttpSettings { sessions_max: 2, ..settings() });
    let (first, second) = (site.open("ada"), site.open("bob"));
    let echo = |session: &String| site.post(&[("mcp-session-id", session)], &call("echo", "{}")).status;
    assert_eq!(echo(&first), 200);
    let third = site.open("eve");
    site.told("closed bob in a session");
    assert_eq!((echo(&first), echo(&second), echo(&third)), (200, 404, 200));
    // A session with an open stream is in use and cannot be ended. Therefore the next session is refused with 503.
    let streams = [site.stream(&first), site.stream(&third)];
    assert_eq!(site.post(&[], &initialize("2025-11-25")).status, 503);
    assert_eq!((echo(&first), echo(&third)), (200, 200));
    drop(streams);
}

#[test]
fn a_silent_session_ends_and_one_that_is_used_does_not() {
    let site = Site::start(&HttpSettings { session_idle_max: Duration::from_secs(2), ..settings() });
    let (used, silent) = (site.open("ada"), site.open("bob"));
    let echo = |session: &String| site.post(&[("mcp-session-id", session)], &call("echo", "{}")).status;
    let mut told = false;
    while !told {
        assert_eq!(echo(&used), 200);
        told = site.was_told("closed bob in a session", 50);
    }
    assert_eq!((echo(&used), echo(&silent)), (200, 404));
}

#[test]
fn changes_are_told_on_the_stream_of_a_session() {
    let site = Site::start(&settings());
    let session = site.open("ada");
    let named = [("mcp-session-id", session.as_str())];
    let mut stream = site.stream(&session);
    let subscribe = r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"toy://light"}}"#;
    assert!(site.post(&named, subscribe).has(&json!({"result": {}})));
    assert!(site.post(&named, &call("touch", "{}")).has(&json!({"result": {"isError": false}})));
    let notice = stream.next();
    assert_eq!(
        notice,
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "toy://light"}})
    );
}

#[test]
fn changes_are_told_to_a_listener_of_the_new_era() {
    let site = Site::start(&settings());
    let listen = format!(
        r#"{{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{{"_meta":{NEW},"notifications":{{"resourceSubscriptions":["toy://light"]}}}}}}"#
    );
    let mut stream = site.new_era_stream("subscriptions/listen", "", &listen);
    assert_eq!(stream.next()["method"], "notifications/subscriptions/acknowledged");
    let touch =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"touch","_meta":{NEW}}}}}"#);
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "touch")];
    assert!(site.post(&headers, &touch).has(&json!({"result": {"isError": false}})));
    assert_eq!(stream.next()["params"]["uri"], "toy://light");
}

#[test]
fn progress_comes_before_the_answer_and_a_caller_who_goes_cancels() {
    let site = Site::start(&settings());
    let wait = |ms: u32, meta: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"wait","arguments":{{"ms":{ms}}},"_meta":{meta}}}}}"#
        )
    };
    let session = site.open("ada");
    let answer = site.post(&[("mcp-session-id", &session)], &wait(10, r#"{"progressToken":"t"}"#));
    let messages = answer.messages();
    assert_eq!(
        (messages.len(), messages[0]["method"].as_str()),
        (12, Some("notifications/progress")),
        "{}",
        answer.body
    );
    assert_eq!(messages[11]["result"]["structuredContent"]["waited"], "to the end");
    let new = NEW.replacen('{', r#"{"progressToken":"t","#, 1);
    let mut stream = site.new_era_stream("tools/call", "wait", &wait(60_000, &new));
    assert_eq!(stream.next()["params"]["progress"], 0.0);
    drop(stream);
    site.told("dropped wait");
}

#[test]
fn the_end_of_the_server_is_the_end_of_its_sessions() {
    let site = Site::start(&settings());
    let session = site.open("ada");
    let _stream = site.stream(&session);
    site.stop();
    site.told("closed ada in a session");
    assert!(site.ended_well());
}
