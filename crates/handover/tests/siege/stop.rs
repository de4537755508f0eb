//! Tests that the server answers every accepted request when it is stopped, and that an MCP session without requests
//! does not end early.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use handover::http::HttpLimits;
use serde_json::{Value, json};

use crate::busy::patience;
use crate::http::{Answer, Connection};
use crate::inside::{Inside, TOKEN};
use crate::pipe::Pipe;
use crate::place::Place;
use crate::serve::{Era, Server, ask_mcp, post_mcp, tool_call};

/// The number of writers of each kind: over the API, over MCP with sessions, over MCP without sessions.
const WRITERS: usize = 6;
const FOLLOWERS: usize = 4;
const WAITING: [Through; 2] = [Through::Api, Through::Single];
/// The number of writes after which the test asks the server to stop.
const WRITES: usize = 300;
/// The longest time in which the server must end, even on a busy machine.
const END_MAX: Duration = Duration::from_secs(8);

/// The answers that one writer got from the server.
#[derive(Debug, Default)]
struct Told {
    done: Vec<String>,
    /// The checkpoints (notes about a task's progress) that were sent but got no answer before the connection ended.
    open: Vec<String>,
    problems: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
enum Through {
    Api,
    Session,
    Single,
}

#[test]
fn a_stop_under_load_answers_everything_that_happened() {
    let place = Place::new();
    let server = Server::start(&place);
    let (task, quiet) = (one_task(&server), one_task(&server));
    let (written, ready) = (AtomicUsize::new(0), Barrier::new(FOLLOWERS + WAITING.len() + 1));
    let (port, token) = (server.port, server.coordinator.clone());
    let sessions: Vec<Era> = (0..WRITERS).map(|_| server.session(&token)).collect();
    let (all, followed, waited, took) = std::thread::scope(|scope| {
        let mut writers = Vec::new();
        for (number, session) in sessions.into_iter().enumerate() {
            for (through, era) in
                [(Through::Api, Era::New), (Through::Session, session.clone()), (Through::Single, Era::New)]
            {
                let (name, written) = (format!("{through:?} {number}"), &written);
                let writer = Writer { port, token: &token, task: &task, through, era, name };
                writers.push(scope.spawn(move || writer.write(written)));
            }
        }
        let (token, quiet, ready) = (&token, &quiet, &ready);
        let followers: Vec<_> = (0..FOLLOWERS).map(|_| scope.spawn(|| follow(port, token, ready))).collect();
        let waiting = WAITING.map(|through| scope.spawn(move || wait(port, token, quiet, through, ready)));
        ready.wait();
        while written.load(Ordering::SeqCst) < WRITES {
            std::thread::yield_now();
        }
        server.terminate();
        let asked = Instant::now();
        let (status, errors) = server.ended_within(patience(END_MAX));
        let took = asked.elapsed();
        assert!(status.success() && errors.is_empty(), "{status}: {errors}");
        let all: Vec<Told> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        let followed: Vec<String> = followers.into_iter().map(|follower| follower.join().unwrap()).collect();
        (all, followed, waiting.map(|waiting| waiting.join().unwrap()), took)
    });
    let kept: BTreeSet<String> = checkpoints(&place);
    for told in &all {
        assert!(told.problems.is_empty(), "{:?}", told.problems);
        assert!(told.done.iter().all(|summary| kept.contains(summary)), "an answered write is missing");
        for summary in &told.open {
            assert!(!kept.contains(summary), "{summary} was done and not answered");
        }
    }
    for text in &followed {
        assert!(
            text.contains("event: goodbye"),
            "a follower was not told: {}",
            &text[text.len().saturating_sub(200)..]
        );
    }
    assert_eq!(waited, [200, 200], "whoever waits is answered");
    let (done, open) = all.iter().fold((0, 0), |(done, open), told| (done + told.done.len(), open + told.open.len()));
    println!("{done} writes answered, {open} not begun, {FOLLOWERS} followers told; ended after {took:?}");
}

/// Creates a workflow with one task, and returns the task's id.
fn one_task(server: &Server) -> String {
    let workflow = server.must("workflow_create", &json!({"name": "stop"}))["id"].as_str().unwrap().to_owned();
    let plan = json!({"id": workflow, "plan": {"summary": "one", "tasks": [{"name": "task"}]}});
    server.must("workflow_set_plan", &plan)["task_ids"]["task"].as_str().unwrap().to_owned()
}

/// A simulated client that writes checkpoints (notes about a task's progress), and the interface over which it writes.
struct Writer<'a> {
    port: u16,
    token: &'a str,
    task: &'a str,
    through: Through,
    era: Era,
    name: String,
}

impl Writer<'_> {
    /// Writes checkpoints (notes about a task's progress) until the server no longer answers.
    fn write(&self, written: &AtomicUsize) -> Told {
        let mut told = Told::default();
        let mut connection = Connection::open(self.port);
        for round in 0.. {
            let summary = format!("{} round {round}", self.name);
            let answer = self.note(&mut connection, &summary);
            // When the server answers that it stops, or does not answer at all, this write must not have been done.
            let Some(answer) = answer.filter(|answer| answer.status != 503) else {
                told.open.push(summary);
                return told;
            };
            if !self.is_done(&answer) {
                told.problems.push(format!("{}: {} {}", self.name, answer.status, answer.text()));
                return told;
            }
            told.done.push(summary);
            written.fetch_add(1, Ordering::SeqCst);
            if answer.header("connection") == Some("close") {
                match Connection::try_open(self.port) {
                    Some(fresh) => connection = fresh,
                    None => return told,
                }
            }
        }
        told
    }

    fn note(&self, connection: &mut Connection, summary: &str) -> Option<Answer> {
        let note = json!({"task_id": self.task, "type": "progress", "summary": summary});
        match self.through {
            Through::Api => api(connection, self.token, "checkpoint_add", &note),
            Through::Session | Through::Single => {
                let message = tool_call(&self.era, "checkpoint_add", &note).to_string();
                post_mcp(connection, self.token, &self.era, message.as_bytes())
            }
        }
    }

    fn is_done(&self, answer: &Answer) -> bool {
        let said = match self.through {
            Through::Api => true,
            Through::Session | Through::Single => answer.message()["result"]["isError"] == false,
        };
        answer.status == 200 && said
    }
}

fn api(connection: &mut Connection, token: &str, tool: &str, arguments: &Value) -> Option<Answer> {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str())];
    connection.request("POST", &format!("/api/v1/tools/{tool}"), &headers, arguments.to_string().as_bytes())
}

/// Follows the log until the stream ends, and returns all text that came.
fn follow(port: u16, token: &str, ready: &Barrier) -> String {
    let mut connection = Connection::open(port);
    let bearer = format!("Bearer {token}");
    assert!(connection.ask("GET", "/api/v1/events?after=0", &[("Authorization", &bearer)], b""));
    assert_eq!(connection.head().unwrap().status, 200);
    ready.wait();
    let mut text = String::new();
    while let Some(chunk) = connection.chunk() {
        text.push_str(&String::from_utf8_lossy(&chunk));
    }
    text
}

/// Makes a call that waits for a change that never comes. Returns the status of the answer.
fn wait(port: u16, token: &str, task: &str, through: Through, ready: &Barrier) -> u16 {
    let mut connection = Connection::open(port);
    let asked = json!({"task_id": task, "wait_seconds": 50});
    let sent = match through {
        Through::Api => {
            let bearer = format!("Bearer {token}");
            let headers = [("Authorization", bearer.as_str())];
            connection.ask("POST", "/api/v1/tools/task_wait", &headers, asked.to_string().as_bytes())
        }
        Through::Session | Through::Single => {
            let message = tool_call(&Era::New, "task_wait", &asked).to_string();
            ask_mcp(&mut connection, token, &Era::New, message.as_bytes())
        }
    };
    assert!(sent);
    ready.wait();
    connection.answer().map_or(0, |answer| answer.status)
}

/// Returns the summaries of all checkpoints (notes about a task's progress) in the store.
fn checkpoints(place: &Place) -> BTreeSet<String> {
    let rows = place.export();
    let rows = rows.iter().filter(|row| row["t"] == "checkpoint");
    rows.map(|row| row["v"][6].as_str().unwrap().to_owned()).collect()
}

/// A client that sends all its requests and then closes its input still gets all its answers.
#[test]
fn what_was_said_before_the_end_of_a_pipe_is_answered() {
    let place = Place::new();
    let mut planner = Pipe::open(&place, &["--tools", "full"]);
    planner.register("planner");
    let workflow = planner.must("workflow_create", &json!({"name": "pipe"}))["id"].clone();
    let plan = json!({"summary": "two", "tasks": [{"name": "one"}, {"name": "two"}]});
    planner.must("workflow_set_plan", &json!({"id": workflow, "plan": plan}));
    let mut pipe = Pipe::open(&place, &["--tools", "full"]);
    pipe.register("hurried");
    for number in 0..20 {
        let call = json!({"name": "task_next", "arguments": {"workflow_id": workflow, "wait_seconds": 50}});
        let message = json!({"jsonrpc": "2.0", "id": format!("n{number}"), "method": "tools/call", "params": call});
        pipe.send(message.to_string().as_bytes());
    }
    let (status, answers, errors) = pipe.leave_with_answers();
    assert!(status.success() && errors.is_empty(), "{status}: {errors}");
    let replies: Vec<&Value> = answers.iter().map(|answer| &answer["result"]["structuredContent"]["success"]).collect();
    let given = |word: bool| replies.iter().filter(|reply| ***reply == word).count();
    assert_eq!((given(true), given(false)), (2, 18), "{answers:?}");
    assert_eq!(planner.leave().1, "");
}

/// A silent session stays open as long as the limits say, and its event stream ends with it. The default of the MCP
/// library, five minutes, is too short for an agent that thinks for long.
#[test]
fn a_silent_session_is_served_for_as_long_as_the_limits_say() {
    assert!(HttpLimits::default().session_idle_max > Duration::from_secs(2 * 3600), "an agent may think for hours");
    let short = Duration::from_millis(600);
    let patient = Inside::start(HttpLimits::default());
    let hasty = Inside::start(HttpLimits { session_idle_max: short, ..HttpLimits::default() });
    let lasting = open(patient.port);
    let silent = open(hasty.port);
    let began = Instant::now();
    let mut stream = listen(hasty.port, &silent);
    while stream.chunk().is_some() {}
    let lived = began.elapsed();
    assert!(lived >= short / 2 && lived < short + Duration::from_secs(10), "it lived for {lived:?}");
    assert_eq!(call(hasty.port, &silent).status, 404, "whoever comes back is told to begin anew");
    assert_eq!(call(patient.port, &lasting).status, 200, "the same silence under the usual limits");
}

/// When the maximum number of sessions is open, a new session replaces the session that was used longest ago. A session
/// with an open stream is not replaced.
#[test]
fn sessions_that_are_in_use_are_never_given_up_for_a_new_one() {
    let inside = Inside::start(HttpLimits { sessions_max: 3, ..HttpLimits::default() });
    let [first, second, third] = [open(inside.port), open(inside.port), open(inside.port)];
    assert_eq!(call(inside.port, &first).status, 200);
    let fourth = open(inside.port);
    let alive = [&first, &second, &third, &fourth].map(|era| call(inside.port, era).status);
    assert_eq!(alive, [200, 404, 200, 200], "the second was used longest ago");
    let streams = [&first, &third, &fourth].map(|era| listen(inside.port, era));
    let refused = initialize(inside.port);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("60")), "{}", refused.text());
    assert_eq!([&first, &third, &fourth].map(|era| call(inside.port, era).status), [200; 3]);
    drop(streams);
}

fn initialize(port: u16) -> Answer {
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "siege", "version": "1"}}});
    post_mcp(&mut Connection::open(port), TOKEN, &Era::New, opening.to_string().as_bytes()).unwrap()
}

fn open(port: u16) -> Era {
    let answer = initialize(port);
    let era = Era::Old { session: answer.header("mcp-session-id").unwrap().to_owned() };
    let told = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(post_mcp(&mut Connection::open(port), TOKEN, &era, told).unwrap().status, 202);
    era
}

fn call(port: u16, era: &Era) -> Answer {
    let message = tool_call(era, "workflow_list", &json!({})).to_string();
    post_mcp(&mut Connection::open(port), TOKEN, era, message.as_bytes()).unwrap()
}

/// Opens the event stream of a session.
fn listen(port: u16, era: &Era) -> Connection {
    let Era::Old { session } = era else { panic!("only sessions have such a stream") };
    let mut connection = Connection::open(port);
    let head = format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nAccept: text/event-stream\r\n\
         MCP-Protocol-Version: 2025-06-18\r\nMcp-Session-Id: {session}\r\n\r\n"
    );
    assert!(connection.send(head.as_bytes()));
    assert_eq!(connection.head().unwrap().status, 200);
    connection
}
