//! The connections over which a caller calls tools. A connection uses one interface of the program, or calls `Desk`,
//! the code behind all interfaces, inside this process.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use base::ground::clock::{Clock, ManualClock, SystemClock};
use base::people::principal;
use base::service::Service;
use engine::id::{SessionId, TokenId};
use engine::world::AgentIdNeed;
use engine::{Caller, Command, Reply, Rights, Standing, Timestamp};
use handover::desk::{Desk, DeskSurroundings, ToolOutcome, Visitor};
use runner::turn_proof;
use serde_json::{Value, json};

use crate::door::http::{Server, said};
use crate::door::stdio::{Client, Era, answer};
use crate::door::{Place, command, program};
use crate::script::Answer;
use crate::terminal::Terminal;

/// The time, in milliseconds, by which the clock is set back when this test makes an agent in the past. After such a
/// long silence, a connection by token or by the command line counts as dead, and a lease has expired.
const SILENCE_MS: i64 = 20 * 60 * 1000;

/// One way to call a tool of the server over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpWay {
    /// MCP at `/mcp` in a session, as in the MCP version of 2025-11-25.
    Session,
    /// MCP at `/mcp` without a session, as in the MCP version of 2026-07-28.
    Single,
    /// The HTTP API at `/api/v1/tools`.
    Api,
}

pub(crate) enum CallLine {
    /// A `handover mcp` server on a pipe.
    Pipe(Client),
    Http {
        server: Rc<Server>,
        way: HttpWay,
        bearer: String,
        session: Option<String>,
    },
    /// A connection to `Desk`, the code that serves tool calls, inside this process.
    Desk {
        inside: Rc<InnerDesk>,
        visitor: Box<Visitor>,
        time: DeskTime,
    },
    /// The command line, used by a person at a terminal, by a script, or by an agent's program that the runner started.
    Shell {
        place: Place,
        seat: ShellCaller,
    },
}

#[derive(Debug, Clone)]
pub(crate) enum ShellCaller {
    Person,
    Script,
    Turn(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeskTime {
    Now,
    /// A time so long ago that a connection without calls since then counts as dead.
    LongAgo,
}

/// Writes the files that the runner writes for a turn (one run of an agent's program). Returns the secret by which a
/// program proves that it belongs to the turn.
fn proof_of(place: &Place, turn: &str) -> String {
    let file = Path::new(place.store.strip_prefix("sqlite:").unwrap_or(&place.store));
    let state = match file.parent() {
        Some(folder) if !place.store.contains("://") => folder.to_owned(),
        _ => place.folder.join("handover"),
    };
    let folder = turn_proof::turn_folder(&state, turn.parse().unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    turn_proof::make(&folder).unwrap()
}

impl CallLine {
    pub(crate) fn pipe(place: &Place, more: &[&str]) -> Self {
        Self::Pipe(Client::open(place, Era::Old, more))
    }

    pub(crate) fn http(server: &Rc<Server>, way: HttpWay, bearer: &str) -> Self {
        Self::Http { server: Rc::clone(server), way, bearer: format!("Bearer {bearer}"), session: None }
    }

    /// Calls a tool, optionally with an agent's name in the header `Handover-Agent`.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value, header: Option<&str>) -> Answer {
        match self {
            Self::Pipe(client) => client.call(tool, arguments),
            Self::Desk { inside, visitor, time } => inside.call(visitor, *time, tool, arguments),
            Self::Shell { place, seat } => {
                let mut program = program(&place.folder, &place.store);
                let terminal = Terminal::new();
                match seat {
                    ShellCaller::Person => terminal.seat(&mut program),
                    ShellCaller::Script => {}
                    ShellCaller::Turn(turn) => {
                        program.env("HANDOVER_TURN", &*turn).env(turn_proof::PROOF, proof_of(place, turn));
                    }
                }
                command::run(&mut program, tool, arguments)
            }
            Self::Http { server, way: HttpWay::Api, bearer, .. } => {
                let mut headers = vec![("Authorization", bearer.as_str())];
                headers.extend(header.map(|agent| ("Handover-Agent", agent)));
                let response = server.send("POST", &format!("/api/v1/tools/{tool}"), &headers, &arguments.to_string());
                if response.status == 200 { Answer::Done(response.json()) } else { Answer::Refused(response.json()) }
            }
            Self::Http { server, way, bearer, session } => {
                let era = if *way == HttpWay::Session { Era::Old } else { Era::New };
                if era == Era::Old && session.is_none() {
                    let opened = post(server, (bearer, None, None), era, &era.initialize(0));
                    *session = Some(opened.headers["mcp-session-id"].clone());
                    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
                    post(server, (bearer, session.as_deref(), None), era, &told);
                }
                let request = era.request(1, "tools/call", json!({"name": tool, "arguments": arguments}));
                let response = post(server, (bearer, session.as_deref(), header), era, &request);
                answer(tool, &said(&response)["result"])
            }
        }
    }

    /// Calls a tool and panics when it is refused.
    pub(crate) fn must(&mut self, tool: &str, arguments: &Value) -> Value {
        match self.call(tool, arguments, None) {
            Answer::Done(value) => value,
            Answer::Refused(value) => panic!("{tool} {arguments}: {value}"),
        }
    }

    /// Ends the connection of the caller. When this function returns, the store has recorded the end.
    pub(crate) fn end(self) {
        match self {
            Self::Pipe(client) => client.end(),
            Self::Http { server, way: HttpWay::Session, bearer, session: Some(session) } => {
                let headers = [("Authorization", bearer.as_str()), ("Mcp-Session-Id", session.as_str())];
                assert_eq!(server.send("DELETE", "/mcp", &headers, "").status, 204);
            }
            Self::Desk { inside, visitor, .. } => {
                if let Some(session) = visitor.session {
                    let end = engine::command::SessionEnd::Closed;
                    inside.execute(Caller::with_rights(Rights::Engine), Command::CloseSession { session, end });
                }
            }
            Self::Http { .. } | Self::Shell { .. } => {}
        }
    }
}

/// Sends an MCP message with a token, optionally in a session and with an agent's name in the header `Handover-Agent`.
fn post(
    server: &Server,
    (bearer, session, agent): (&str, Option<&str>, Option<&str>),
    era: Era,
    message: &Value,
) -> crate::door::http::Response {
    let mut headers = vec![
        ("Authorization", bearer),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", era.version()),
    ];
    headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
    headers.extend(agent.map(|agent| ("Handover-Agent", agent)));
    if era == Era::New {
        headers.push(("Mcp-Method", message["method"].as_str().unwrap()));
        headers.extend(message["params"]["name"].as_str().map(|name| ("Mcp-Name", name)));
    }
    server.send("POST", "/mcp", &headers, &message.to_string())
}

/// Two values of `Desk`, the code that serves tool calls, inside this process. They use the same store as the program's
/// interfaces. One works with the current time, the other with a time long ago.
pub(crate) struct InnerDesk {
    runtime: tokio::runtime::Runtime,
    now: Desk,
    long_ago: Desk,
}

impl InnerDesk {
    pub(crate) fn open(place: &Place) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = runtime.block_on(store::open(&place.store, 7)).unwrap();
        let surroundings = DeskSurroundings {
            state: Some(place.folder.join("state")),
            data: Some(place.folder.clone()),
            store: Some(place.store.clone()),
            binary: Some(env!("CARGO_BIN_EXE_handover").into()),
            root: base::project::place::root(&place.folder),
            worktrees: None,
        };
        let past = ManualClock::starting_at(Timestamp(SystemClock.now().0 - SILENCE_MS));
        let now = Desk::new(Service::new(Arc::clone(&store), Arc::new(SystemClock)), surroundings.clone());
        let long_ago = Desk::new(Service::new(store, Arc::new(past)), surroundings);
        Self { runtime, now, long_ago }
    }

    fn desk(&self, time: DeskTime) -> &Desk {
        match time {
            DeskTime::Now => &self.now,
            DeskTime::LongAgo => &self.long_ago,
        }
    }

    pub(crate) fn call(&self, visitor: &Visitor, time: DeskTime, tool: &str, arguments: &Value) -> Answer {
        let read = |value: &wire::json::Value| serde_json::from_str(&value.to_string()).unwrap();
        let text = arguments.to_string();
        match self.runtime.block_on(self.desk(time).call(visitor, tool, text.as_bytes(), None)) {
            ToolOutcome::Done(value) => Answer::Done(read(&value)),
            ToolOutcome::Refused(said) => Answer::Refused(read(&said.render())),
            ToolOutcome::Failed(said) => panic!("{tool} failed: {}", said.message),
            ToolOutcome::UnknownTool => panic!("there is no tool {tool}"),
        }
    }

    /// Calls a tool with a person's rights and panics when it is refused.
    pub(crate) fn person(&self, time: DeskTime, tool: &str, arguments: &Value) -> Value {
        match self.call(&Visitor::person(), time, tool, arguments) {
            Answer::Done(value) => value,
            Answer::Refused(value) => panic!("{tool} {arguments}: {value}"),
        }
    }

    pub(crate) fn execute(&self, caller: Caller, command: Command) -> Reply {
        self.runtime.block_on(self.now.service().execute(caller, command)).unwrap()
    }

    /// Returns the number of agents that registered on the connection with this session id.
    pub(crate) fn at_home(&self, session: SessionId) -> usize {
        self.runtime.block_on(self.now.service().ask(AgentIdNeed::OfSession(session))).unwrap().len()
    }
}

/// Returns the caller for a token that is used over HTTP without a session.
pub(crate) fn token_visitor(made: &Value) -> Visitor {
    let id: TokenId = made["id"].as_str().unwrap().parse().unwrap();
    let agent = made["agent"].as_str().map(|agent| agent.parse().unwrap());
    Visitor {
        rights: Rights::Agent,
        session: Some(SessionId::of_token(id)),
        standing: Standing::Shared,
        principal: Some(principal::of_token(id)),
        agent,
        bound: agent.is_some(),
        owner: id.to_string(),
        ..Visitor::person()
    }
}
