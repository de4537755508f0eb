//! Tests slow and silent clients, many clients at once, and large requests. Each client gets an answer or is
//! disconnected, memory stays bounded, and other clients are served at the same time.

use std::time::{Duration, Instant};

use handover::http::HttpLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::busy::patience;
use crate::http::{Answer, Connection};
use crate::inside::{ADMIN, Inside, TOKEN};
use crate::place::Place;
use crate::serve::{Era, Server, post_mcp, tool_call};

/// The time limit for slow clients on a server that runs inside the test.
const SHORT: Duration = Duration::from_millis(400);
/// The longest time until a limit must have taken effect, even on a busy machine.
const SOON: Duration = Duration::from_secs(10);
/// The longest time that a well-behaved client waits for an answer while other clients misbehave.
const ANSWER_MAX: Duration = Duration::from_secs(2);
const MIB: u64 = 1 << 20;

fn short() -> HttpLimits {
    HttpLimits { head_max: SHORT, body_max: SHORT, stall_max: SHORT, ..HttpLimits::default() }
}

/// Makes a valid call as a well-behaved client, and checks that the answer comes in time.
fn good(port: u16, token: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let asked = Instant::now();
    let answer =
        Connection::open(port).request("GET", "/api/v1/workflows", &[("Authorization", &bearer)], b"").unwrap();
    assert!(asked.elapsed() < patience(ANSWER_MAX), "a good client waited for {:?}", asked.elapsed());
    answer
}

/// The server's reaction to a client that stops in the middle of a request.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Closed,
    Problem(u16, &'static str),
}

const AUTHORIZED: &str = "Authorization: Bearer hnd_inside\r\nHost: localhost\r\n";
const FOR_MCP: &str = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";

#[test]
fn whoever_stops_in_the_middle_is_answered_or_let_go() {
    let too_slow = || End::Problem(408, "TOO_SLOW");
    let table: Vec<(&str, String, End)> = vec![
        ("nothing", String::new(), End::Closed),
        ("half a line", "GET /api/v1/work".to_owned(), End::Closed),
        ("half a head", format!("GET /api/v1/workflows HTTP/1.1\r\n{AUTHORIZED}"), End::Closed),
        (
            "half a body for the API",
            format!(
                "POST /api/v1/tools/workflow_create HTTP/1.1\r\n{AUTHORIZED}Content-Length: 100\r\n\r\n{{\"name\":"
            ),
            too_slow(),
        ),
        (
            "half a chunk for the API",
            format!("POST /api/v1/tools/task_wait HTTP/1.1\r\n{AUTHORIZED}Transfer-Encoding: chunked\r\n\r\nff\r\n{{"),
            too_slow(),
        ),
        (
            "half a token",
            format!(
                "POST /api/v1/tokens HTTP/1.1\r\n{}Content-Length: 100\r\n\r\n{{\"name\":",
                AUTHORIZED.replace(TOKEN, ADMIN)
            ),
            too_slow(),
        ),
        (
            "half a message",
            format!("POST /mcp HTTP/1.1\r\n{AUTHORIZED}{FOR_MCP}Content-Length: 100\r\n\r\n{{\"jsonrpc\":"),
            too_slow(),
        ),
    ];
    let inside = Inside::start(short());
    let mut clients: Vec<Connection> = Vec::new();
    for (_, text, _) in &table {
        let mut client = Connection::open(inside.port);
        // The client sends one byte at a time, as over a bad connection.
        assert!(text.bytes().all(|byte| client.send(&[byte])));
        clients.push(client);
    }
    assert_eq!(good(inside.port, TOKEN).status, 200);
    for ((name, _, end), client) in table.iter().zip(&mut clients) {
        match end {
            End::Closed => assert!(client.closes_within(patience(SOON)), "{name}"),
            End::Problem(status, code) => {
                let answer = client.answer().unwrap_or_else(|| panic!("{name}: closed without an answer"));
                assert_eq!((answer.status, answer.code().as_str()), (*status, *code), "{name}");
                assert!(client.closes_within(patience(SOON)), "{name}: the connection is of no use any more");
            }
        }
    }
    assert_eq!(good(inside.port, TOKEN).status, 200);
}

/// A client that sends a body byte by byte has the same time limit as a client that stops in the middle of a body.
#[test]
fn a_body_that_drips_has_no_more_time_than_one_that_stops() {
    let inside = Inside::start(short());
    let mut client = Connection::open(inside.port);
    let head = format!("POST /api/v1/tools/task_wait HTTP/1.1\r\n{AUTHORIZED}Content-Length: 100000\r\n\r\n");
    assert!(client.send(head.as_bytes()));
    let began = Instant::now();
    // Between two bytes, wait a moment and check whether an answer has come.
    while !client.has_come(Duration::from_millis(10)) {
        assert!(began.elapsed() < patience(SOON), "it may go on for ever");
        let _answered_meanwhile = client.send(b" ");
    }
    assert_eq!(client.answer().map(|answer| answer.code()), Some("TOO_SLOW".to_owned()));
}

#[test]
fn a_connection_without_a_request_is_let_go() {
    let inside = Inside::start(short());
    let mut client = Connection::open(inside.port);
    let headers = [("Authorization", "Bearer hnd_inside")];
    assert_eq!(client.request("GET", "/api/v1/workflows", &headers, b"").map(|answer| answer.status), Some(200));
    assert!(client.closes_within(patience(SOON)));
}

/// Tests a server that allows two connections: one follows the events but does not read them, the other belongs to
/// another client. After the server has ended the connection that does not read, it accepts a new connection.
#[test]
fn a_follower_that_does_not_read_is_let_go() {
    let inside = Inside::start(HttpLimits { stall_max: SHORT, connections_max: 2, ..HttpLimits::default() });
    let mut client = Connection::open(inside.port);
    let task = one_task(&mut client);
    let detail = "x".repeat(400 << 10);
    for number in 0..60 {
        let note =
            json!({"task_id": task, "type": "progress", "summary": number.to_string(), "detail": {"text": detail}});
        call(&mut client, "checkpoint_add", &note);
    }
    let mut follower = Connection::open(inside.port);
    assert!(follower.ask("GET", "/api/v1/events?after=0", &[("Authorization", "Bearer hnd_inside")], b""));
    assert_eq!(follower.head().unwrap().status, 200, "it reads the head, and then no more");
    let began = Instant::now();
    loop {
        let third = Connection::open(inside.port).request("GET", "/healthz", &[], b"");
        if third.is_some_and(|answer| answer.status == 200) {
            break;
        }
        assert!(began.elapsed() < patience(SOON), "the follower is kept for ever");
        call(&mut client, "workflow_list", &json!({}));
    }
    assert!(began.elapsed() >= SHORT / 2, "it was given some time");
}

#[test]
fn one_connection_too_many_is_told_so() {
    let inside = Inside::start(HttpLimits { connections_max: 3, ..HttpLimits::default() });
    let mut client = Connection::open(inside.port);
    call(&mut client, "workflow_list", &json!({}));
    let idle = [Connection::open(inside.port), Connection::open(inside.port)];
    let began = Instant::now();
    // The server counts a connection only when it accepts the connection. The two idle connections may be accepted a
    // moment after they were opened, so the test tries again until the server refuses.
    let refused = loop {
        let mut fourth = Connection::open(inside.port);
        match fourth.request("GET", "/healthz", &[], b"") {
            Some(answer) if answer.status == 503 => break answer,
            Some(_) | None => assert!(began.elapsed() < patience(SOON), "there is room for ever more"),
        }
    };
    assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("TOO_BUSY", Some("1")));
    call(&mut client, "workflow_list", &json!({}));
    drop(idle);
    let began = Instant::now();
    while Connection::open(inside.port).request("GET", "/healthz", &[], b"").is_none_or(|answer| answer.status != 200) {
        assert!(began.elapsed() < patience(SOON), "there is room again");
    }
}

fn call(client: &mut Connection, tool: &str, arguments: &Value) -> Value {
    let headers = [("Authorization", "Bearer hnd_inside")];
    let body = arguments.to_string();
    let answer = client.request("POST", &format!("/api/v1/tools/{tool}"), &headers, body.as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{tool}: {}", answer.text());
    answer.json()
}

fn one_task(client: &mut Connection) -> Value {
    let workflow = call(client, "workflow_create", &json!({"name": "slow"}))["id"].clone();
    let plan = json!({"id": workflow, "plan": {"summary": "one", "tasks": [{"name": "task"}]}});
    call(client, "workflow_set_plan", &plan)["task_ids"]["task"].clone()
}

/// Tests the `handover` program with its default limits. The test asks the system how much memory the program uses.
#[test]
fn a_thousand_idle_connections_cost_little_and_disturb_nobody() {
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files }).unwrap();
    let place = Place::new();
    let server = Server::start(&place);
    assert_eq!(good(server.port, &server.token).status, 200);
    let before = server.memory().1;
    let mut idle: Vec<Connection> = (0..1_000).map(|_| Connection::open(server.port)).collect();
    for (number, client) in idle.iter_mut().enumerate() {
        // Every second client has sent only a part of a request.
        assert!(number % 2 == 0 || client.send(b"GET /api/v1/workflows HTTP/1.1\r\nHost: localhost\r\nX-Slow: "));
    }
    let mut longest = Duration::ZERO;
    for number in 0..200 {
        let asked = Instant::now();
        server.must("workflow_create", &json!({"name": format!("beside {number}")}));
        longest = longest.max(asked.elapsed());
    }
    let (peak, present) = server.memory();
    println!(
        "1000 idle connections: {} KiB more, peak {} MiB; the longest call took {longest:?}",
        (present - before) >> 10,
        peak >> 20
    );
    assert!(longest < patience(ANSWER_MAX), "a good client waited for {longest:?}");
    assert!(present - before < 64 * MIB, "they cost {} MiB", (present - before) / MIB);
    drop(idle);
    server.stop();
}

/// When the system allows only a few open files, the server accepts fewer connections, so that enough files remain for
/// the store and git.
#[test]
fn connections_leave_files_for_the_work() {
    let place = Place::new();
    let server = Server::start_as(&place, place.program_after("ulimit -n 300"));
    let mut client = Connection::open(server.port);
    let bearer = format!("Bearer {}", server.token);
    let headers = [("Authorization", bearer.as_str())];
    let mut create = |number: usize| {
        let body = json!({"name": format!("beside {number}")}).to_string();
        client.request("POST", "/api/v1/tools/workflow_create", &headers, body.as_bytes()).unwrap()
    };
    assert_eq!(create(0).status, 200);
    let idle: Vec<Connection> = (0..400).map(|_| Connection::open(server.port)).collect();
    for number in 1..50 {
        let answer = create(number);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let workflow = create(50).json()["id"].clone();
    let worktree = json!({"workflow_id": workflow, "branch": "beside", "create_worktree": true}).to_string();
    let made = client.request("POST", "/api/v1/tools/workspace_create", &headers, worktree.as_bytes()).unwrap();
    assert_eq!(made.status, 200, "git was started: {}", made.text());
    drop(idle);
    drop(client);
    server.stop();
}

/// Sends 16 plans of 31 MiB at the same time, over the API and over MCP, each without its last byte. The server reads
/// as many plans as its memory limit allows and refuses the others. During that time it serves small requests, and
/// afterwards it frees the memory.
#[test]
fn large_requests_at_once_do_not_fill_the_memory() {
    let place = Place::new();
    let server = Server::start(&place);
    let (port, token) = (server.port, server.token.clone());
    let length = 31 << 20;
    let answers: Vec<Option<u16>> = std::thread::scope(|scope| {
        let client = |number: usize| {
            let token = &token;
            scope.spawn(move || {
                let target = if number.is_multiple_of(2) { "/api/v1/tools/workflow_set_plan" } else { "/mcp" };
                let head = format!(
                    "POST {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{FOR_MCP}Content-Length: {length}\r\n\r\n"
                );
                let mut client = Connection::open(port);
                assert!(client.send(head.as_bytes()));
                let piece = vec![b' '; 1 << 20];
                // The client sends all announced bytes except the last one.
                let sent = (0..30).all(|_| client.send(&piece)) && client.send(&piece[1..]);
                (client, sent)
            })
        };
        let clients: Vec<_> = (0..16).map(client).collect();
        let mut clients: Vec<(Connection, bool)> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        assert_eq!(good(port, &token).status, 200);
        let waiting = clients.iter_mut().filter_map(|(client, _)| (!client.has_come(SHORT)).then_some(())).count();
        assert!((1..=4).contains(&waiting), "there is room for four, and {waiting} are waited for");
        let status = |(client, _): &mut (Connection, bool)| {
            if client.has_come(SHORT) { client.answer().map(|answer| answer.status) } else { None }
        };
        clients.iter_mut().map(status).collect()
    });
    let refused = answers.iter().filter(|answer| **answer == Some(503)).count();
    let (peak, _) = server.memory();
    println!("16 requests of 31 MiB at once: {refused} heard that they were refused, peak {} MiB", peak >> 20);
    assert!(refused >= 1, "{answers:?}");
    assert!(peak < 400 * MIB, "{} MiB", peak / MIB);
    // The clients that sent the large plans are gone, so the server must have freed the memory of these plans and must
    // read another large plan.
    let plan = json!({"id": "wf_000000000000", "plan": {"summary": "x".repeat(20 << 20), "tasks": []}});
    let answer = server.call(&server.token, "workflow_set_plan", &plan);
    assert!([404, 422].contains(&answer.status), "{} {}", answer.status, answer.text());
    server.stop();
}

/// An event stream that its client does not read costs little memory while the followed workflow changes 500 times.
#[test]
fn a_stream_that_nobody_reads_costs_little() {
    let place = Place::new();
    let server = Server::start(&place);
    let workflow = server.must("workflow_create", &json!({"name": "followed"}))["id"].clone();
    let mut unread = Vec::new();
    for _ in 0..20 {
        let era = server.session(&server.token);
        let Era::Old { session } = &era else { continue };
        let mut stream = Connection::open(server.port);
        let headers = [
            ("Authorization", format!("Bearer {}", server.token)),
            ("Accept", "text/event-stream".to_owned()),
            ("MCP-Protocol-Version", "2025-06-18".to_owned()),
            ("Mcp-Session-Id", session.clone()),
        ];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert!(stream.ask("GET", "/mcp", &headers, b""));
        assert_eq!(stream.head().unwrap().status, 200);
        let uri = format!("handover://workflow/{}", workflow.as_str().unwrap());
        let subscribe = json!({"jsonrpc": "2.0", "id": 5, "method": "resources/subscribe", "params": {"uri": uri}});
        let answer = server.post_mcp(&server.token, &era, subscribe.to_string().as_bytes());
        assert!(answer.message().get("result").is_some(), "{}", answer.text());
        unread.push((era, stream));
    }
    let before = server.memory().1;
    for number in 0..500 {
        server.must("workflow_set_config", &json!({"id": workflow, "config": {"number": number}}));
    }
    let (era, _) = &unread[0];
    let mut client = Connection::open(server.port);
    let message = tool_call(era, "workflow_list", &json!({})).to_string();
    let own = post_mcp(&mut client, &server.token, era, message.as_bytes()).unwrap();
    assert_eq!(own.status, 200, "the session itself is served: {}", own.text());
    let (_, present) = server.memory();
    println!("20 streams unread during 500 changes: {} KiB more", present.saturating_sub(before) >> 10);
    assert!(present.saturating_sub(before) < 64 * MIB);
    drop(unread);
    server.stop();
}
