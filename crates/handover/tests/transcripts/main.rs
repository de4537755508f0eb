//! Checks that the same call gives the same answer over every interface, on SQLite and on PostgreSQL. Every interface
//! plays the same transcripts.
//!
//! `scripts/README.txt` explains how to read and change the scripts. `TRANSCRIPT=name` plays one of them.
#![expect(clippy::wildcard_enum_match_arm, reason = "of a JSON value the cases that matter are named")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "starts the program it tests, and bounds what it waits for")]

mod advice;
mod cover;
mod door;
mod play;
#[path = "../proof/postgres.rs"]
mod postgres;
mod schema;
mod script;
mod show;
#[path = "../support/stand_in.rs"]
mod stand_in;
/// The module that turns the suggestion of a refusal into commands of the command line. It is compiled from the
/// program's own source file.
#[path = "../../src/cli/advice.rs"]
mod suggestion;
#[path = "../support/terminal.rs"]
mod terminal;
/// The table that names the command for each tool. It is compiled from the program's own source file.
#[path = "../../src/cli/verbs.rs"]
#[expect(dead_code, reason = "its words for people are not needed here")]
mod verbs;

use door::Kind;
use play::{Database, play};

#[test]
fn through_the_library() {
    play(Kind::Library, Database::Memory);
}

#[test]
fn through_stdio() {
    play(Kind::Stdio, Database::Sqlite);
}

#[test]
fn through_stdio_in_the_new_era() {
    play(Kind::Modern, Database::Sqlite);
}

#[test]
fn through_the_api() {
    play(Kind::Api, Database::Sqlite);
}

#[test]
fn through_mcp_over_http_in_a_session() {
    play(Kind::Session, Database::Sqlite);
}

#[test]
fn through_mcp_over_http_without_a_session() {
    play(Kind::Single, Database::Sqlite);
}

#[test]
fn through_the_command_line() {
    play(Kind::Command, Database::Sqlite);
}

#[test]
fn through_the_library_on_postgres() {
    play(Kind::Library, Database::Postgres);
}

#[test]
fn through_the_api_on_postgres() {
    play(Kind::Api, Database::Postgres);
}

/// The answer to the call of an unknown tool is a protocol error and not a result: a client that has read the list of
/// tools does not make such a call.
#[test]
fn an_unknown_tool_is_an_error_of_the_protocol() {
    use door::stdio::Era;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("handover.db").display().to_string();
    let place = door::Place { folder: folder.path().to_owned(), store };
    for era in [Era::Old, Era::New] {
        assert_eq!(door::stdio::unknown_tool(&place, era)["code"], -32602, "{era:?}");
    }
    let [old, new, api] = door::http::unknown_tool(&place);
    assert_eq!((&old["code"], &new["code"]), (&(-32602).into(), &(-32602).into()));
    assert_eq!(api, serde_json::json!([404, "TOOL_NOT_FOUND"]));
}
