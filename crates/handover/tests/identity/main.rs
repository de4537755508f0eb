//! Tests the table of permissions: every tool for every kind of caller, while the connection of the tested agent is
//! alive and after it died, over every interface and on SQLite and PostgreSQL. `table.txt` has the expected answers and
//! explains how to read them.
#![expect(clippy::wildcard_enum_match_arm, reason = "of a JSON value the cases that matter are named")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "starts the program it tests, and bounds what it waits for")]

mod cell;
#[path = "../transcripts/door/mod.rs"]
#[expect(dead_code, reason = "of the doors, what transcripts need is not needed here")]
mod door;
mod line;
mod play;
#[path = "../proof/postgres.rs"]
mod postgres;
#[path = "../transcripts/schema.rs"]
#[expect(dead_code, reason = "replies are held to their schemas by the transcripts")]
mod schema;
#[path = "../transcripts/script.rs"]
#[expect(dead_code, reason = "of scripts, only the answer is needed here")]
mod script;
#[path = "../transcripts/show.rs"]
#[expect(dead_code, reason = "answers are compared by their code")]
mod show;
#[path = "../support/stand_in.rs"]
mod stand_in;
mod table;
#[path = "../support/terminal.rs"]
mod terminal;
/// The table that names the command for each tool. It is compiled from the program's own source file.
#[path = "../../src/cli/verbs.rs"]
#[expect(dead_code, reason = "its words for people are not needed here")]
mod verbs;

use std::collections::BTreeSet;
use std::rc::Rc;

use engine::id::{SessionId, TokenId};
use serde_json::{Value, json};

use cell::{Database, TableProject, text};
use line::{CallLine, HttpWay};
use play::{DoorKind, play};

#[test]
fn through_stdio() {
    play(DoorKind::Stdio, Database::Sqlite);
}

#[test]
fn through_mcp_over_http_in_a_session() {
    play(DoorKind::Http(HttpWay::Session), Database::Sqlite);
}

#[test]
fn through_mcp_over_http_without_a_session() {
    play(DoorKind::Http(HttpWay::Single), Database::Sqlite);
}

#[test]
fn through_the_api() {
    play(DoorKind::Http(HttpWay::Api), Database::Sqlite);
}

#[test]
fn through_the_command_line() {
    play(DoorKind::Command, Database::Sqlite);
}

#[test]
fn below_a_turn() {
    play(DoorKind::Desk, Database::Sqlite);
}

#[test]
fn through_stdio_on_postgres() {
    play(DoorKind::Stdio, Database::Postgres);
}

#[test]
fn through_mcp_over_http_in_a_session_on_postgres() {
    play(DoorKind::Http(HttpWay::Session), Database::Postgres);
}

#[test]
fn through_mcp_over_http_without_a_session_on_postgres() {
    play(DoorKind::Http(HttpWay::Single), Database::Postgres);
}

#[test]
fn through_the_api_on_postgres() {
    play(DoorKind::Http(HttpWay::Api), Database::Postgres);
}

#[test]
fn through_the_command_line_on_postgres() {
    play(DoorKind::Command, Database::Postgres);
}

#[test]
fn below_a_turn_on_postgres() {
    play(DoorKind::Desk, Database::Postgres);
}

#[test]
fn every_caller_of_the_table_comes_to_some_door() {
    let ways = [HttpWay::Session, HttpWay::Single, HttpWay::Api].map(DoorKind::Http);
    let doors = [DoorKind::Stdio, DoorKind::Command, DoorKind::Desk].into_iter().chain(ways);
    let played: BTreeSet<&str> = doors.flat_map(|door| door.callers().iter().copied()).collect();
    let table = table::IdentityTable::read();
    assert_eq!(played, table.callers.iter().map(String::as_str).collect());
}

/// Tests a caller whose token is bound to one agent and whose header `Handover-Agent` names another agent. The call
/// acts as the token's own agent, and no new agent is made.
#[test]
fn a_bound_token_registers_its_own_agent_whatever_the_header_names() {
    let project = TableProject::new("bound", Database::Sqlite);
    let server = Rc::new(door::http::Server::start(&project.place));
    let (amy, eve) = (server.made_token(&json!({"name": "amy"})), server.made_token(&json!({"name": "eve"})));
    let amys = text(&amy["agent"]);
    for way in [HttpWay::Session, HttpWay::Single, HttpWay::Api] {
        let mut line = CallLine::http(&server, way, &text(&eve["token"]));
        for header in [None, Some("amy"), Some("eve"), Some(amys.as_str())] {
            let told = line.call("agent_register", &json!({"name": "amy", "runtime": "table"}), header);
            let script::Answer::Done(registered) = &told else { panic!("{way:?} {header:?}: {}", told.show()) };
            assert_eq!(registered["id"], eve["agent"], "{way:?} {header:?}");
        }
        // The header `Handover-Agent` names the agent of a call only when the arguments name no agent.
        let read = line.call("inbox_read", &json!({"agent_id": "eve"}), Some("amy"));
        assert!(matches!(read, script::Answer::Done(_)), "{way:?}: {}", read.show());
        let read = line.call("inbox_read", &json!({}), Some("amy"));
        assert_eq!(read.value()["code"], "AGENT_ELSEWHERE", "{way:?}");
    }
}

/// An agent that was made for a token belongs to the token. A process of the same user that registers under the agent's
/// name gets a new agent.
#[test]
fn an_agent_made_for_a_token_is_resumed_by_no_process_of_the_user() {
    let project = TableProject::new("made", Database::Sqlite);
    let server = Rc::new(door::http::Server::start(&project.place));
    let amy = server.made_token(&json!({"name": "amy"}));
    let registered = json!({"name": "amy", "runtime": "http"});
    for mut line in [CallLine::pipe(&project.place, &[]), project.home()] {
        assert_ne!(line.must("agent_register", &registered)["id"], amy["agent"]);
        line.end();
    }
    let mut line = CallLine::http(&server, HttpWay::Single, &text(&amy["token"]));
    assert_eq!(line.must("agent_register", &registered)["id"], amy["agent"]);
}

/// The holder of an admin token makes tokens for agents, but cannot take an agent away from the connection over which
/// the agent works.
#[test]
fn a_token_is_not_bound_to_an_agent_that_works_elsewhere() {
    let project = TableProject::new("taken", Database::Sqlite);
    let server = Rc::new(door::http::Server::start(&project.place));
    let mut line = CallLine::pipe(&project.place, &[]);
    let amy = line.must("agent_register", &json!({"name": "amy", "runtime": "table"}));
    let admin = format!("Bearer {}", server.admin);
    let make = |asked: Value| server.send("POST", "/api/v1/tokens", &[("Authorization", &admin)], &asked.to_string());
    for asked in
        [json!({"name": "amy"}), json!({"name": "x", "agent": "amy"}), json!({"name": "x", "agent": amy["id"]})]
    {
        let answer = make(asked.clone());
        assert_eq!((answer.status, answer.json()["code"].clone()), (403, json!("AGENT_ELSEWHERE")), "{asked}");
    }
    let mut script = door::program(&project.place.folder, &project.place.store);
    let refused = script.args(["token", "create", "amy"]).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("(amy) is connected elsewhere"), "{refused:?}");
    line.must("agent_heartbeat", &json!({}));
    // When the agent's connection has ended, a token can be made for the agent, and later a second token.
    line.end();
    for _ in 0..2 {
        let made = make(json!({"name": "amy"})).json();
        assert_eq!(made["agent"], amy["id"], "{made}");
        let mut bound = CallLine::http(&server, HttpWay::Single, &text(&made["token"]));
        assert_eq!(bound.must("agent_register", &json!({"name": "any", "runtime": "http"}))["id"], amy["id"]);
    }
}

/// Revoking a token ends the connection of every agent that registered with it. One command of the engine ends only a
/// limited number of connections, so the revocation needs several commands.
#[test]
fn revoking_a_token_ends_the_homes_of_all_its_agents() {
    let project = TableProject::new("revoked", Database::Sqlite);
    let server = Rc::new(door::http::Server::start(&project.place));
    let made = server.made_token(&json!({"name": "gateway", "shared": true}));
    let token: TokenId = text(&made["id"]).parse().unwrap();
    let mut line = CallLine::http(&server, HttpWay::Api, &text(&made["token"]));
    for number in 0..2 * engine::limits::SESSION_AGENTS_MAX + 5 {
        line.must("agent_register", &json!({"name": format!("agent-{number}"), "runtime": "table"}));
    }
    assert_eq!(
        project.inside.at_home(SessionId::of_token(token)),
        engine::limits::SESSION_AGENTS_MAX,
        "a bounded look"
    );
    let admin = format!("Bearer {}", server.admin);
    let path = format!("/api/v1/tokens/{}", text(&made["id"]));
    assert_eq!(server.send("DELETE", &path, &[("Authorization", &admin)], "").status, 200);
    assert_eq!(project.inside.at_home(SessionId::of_token(token)), 0);
}
