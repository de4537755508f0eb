//! Makes the calls of all cells of the permission table (each tool, called by each kind of caller) through one
//! interface of the program.

use std::rc::Rc;

use engine::Rights;
use handover::desk::Visitor;
use serde_json::{Value, json};
use wire::lifecycle::Tool;

use crate::cell::{CellOrigin, CellState, Database, TableProject, text};
use crate::door::http::Server;
use crate::line::{CallLine, DeskTime, HttpWay, ShellCaller, token_visitor};
use crate::table::{HomeLife, IdentityTable, TableRow};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DoorKind {
    Stdio,
    Http(HttpWay),
    Command,
    /// Handover's `Desk`, the code behind all interfaces, inside this process. The test uses it for callers in a turn
    /// (one run of an agent's program), because otherwise the runner would have to start a real process for each cell
    /// of the permission table.
    Desk,
}

impl DoorKind {
    fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http(HttpWay::Session) => "session",
            Self::Http(HttpWay::Single) => "single",
            Self::Http(HttpWay::Api) => "api",
            Self::Command => "command",
            Self::Desk => "desk",
        }
    }

    /// Returns the kinds of callers that exist at this interface, each a column of the permission table.
    pub(crate) fn callers(self) -> &'static [&'static str] {
        match self {
            Self::Stdio => &["own", "stranger", "other", "coordinator"],
            Self::Http(HttpWay::Session) => &["own", "stranger", "other", "header", "coordinator", "bound"],
            Self::Http(HttpWay::Single) => {
                &["stranger", "other", "header", "coordinator", "bound", "shared", "unnamed", "token"]
            }
            Self::Http(HttpWay::Api) => {
                &["stranger", "other", "header", "coordinator", "person", "bound", "shared", "unnamed", "token"]
            }
            Self::Command => &["own", "person", "script", "turn"],
            Self::Desk => &["turn", "turn-other"],
        }
    }

    /// Tells whether this kind of caller can make a call in this state of the tested agent's connection. The caller
    /// `own` is the tested agent itself. It cannot call after its connection died, except on the command line, where
    /// every call is a new process.
    fn has(self, caller: &str, life: HomeLife) -> bool {
        life == HomeLife::Alive || caller != "own" || self == Self::Command
    }

    /// Tells whether a normal test run (`scripts/test`) tests this kind of caller, a column of the permission table. On
    /// the command line each call costs a process, so only some columns are tested. On PostgreSQL only columns that
    /// depend on the database are tested.
    fn is_bounded(self, database: Database, caller: &str, life: HomeLife) -> bool {
        match (database, self) {
            (Database::Sqlite, Self::Command) => life == HomeLife::Alive && ["own", "script"].contains(&caller),
            (Database::Sqlite, Self::Stdio | Self::Http(_) | Self::Desk) => true,
            (Database::Postgres, Self::Command) => life == HomeLife::Alive && caller == "own",
            (Database::Postgres, Self::Stdio | Self::Http(_) | Self::Desk) => {
                life == HomeLife::Alive && ["own", "other", "person", "turn", "token"].contains(&caller)
            }
        }
    }
}

/// The environment variable that `scripts/prove identity` sets to 1 to test every column of the permission table.
const FULL: &str = "HANDOVER_IDENTITY_FULL";

/// Makes the calls of all cells of the permission table through one interface. Fails with the list of cells whose
/// answer differs from the table.
pub(crate) fn play(door: DoorKind, database: Database) {
    let table = IdentityTable::read();
    let mut player = ColumnPlayer::new(door, database);
    let is_full = std::env::var(FULL).is_ok_and(|full| full == "1");
    let (mut played, mut problems) = (0, Vec::new());
    for caller in door.callers() {
        for life in [HomeLife::Alive, HomeLife::Dead].into_iter().filter(|life| door.has(caller, *life)) {
            if !is_full && !door.is_bounded(database, caller, life) {
                continue;
            }
            problems.extend(player.column(&table, caller, life));
            played += table.rows.len();
        }
    }
    eprintln!("{} on {database:?}: {played} cells", door.name());
    assert!(problems.is_empty(), "{} of {played} cells:\n{}", problems.len(), problems.join("\n"));
}

struct ColumnPlayer {
    door: DoorKind,
    project: TableProject,
    server: Option<Rc<Server>>,
}

/// A cell of the permission table that is ready for its call. The cell has a connection of its own when the callers of
/// its column do not share a connection.
struct ReadyCell<'a> {
    row: &'a TableRow,
    state: CellState,
    line: Option<CallLine>,
}

/// One way in which a call names the agent that it acts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentNaming {
    Nobody,
    Argument,
    Header,
    /// The call names the agent in the arguments, or in the header `Handover-Agent` when the tool has no argument for
    /// an agent.
    Either,
}

/// The connections that all cells of a column of the permission table share.
struct ColumnLines {
    /// The connection on which the tested agents register; `None` when each cell of the table has a connection of its
    /// own.
    home: Option<CallLine>,
    /// The connection over which the tested calls are made. `None` when the agents' own connection makes them, or when
    /// each call opens a connection of its own.
    caller: Option<CallLine>,
    /// The connection and the id of an agent. The caller, which is the program of another agent, tries to act as this
    /// agent. `None` in columns without such a caller.
    victim: Option<(CallLine, String)>,
}

impl ColumnPlayer {
    fn new(door: DoorKind, database: Database) -> Self {
        let project = TableProject::new(door.name(), database);
        let server = matches!(door, DoorKind::Http(_)).then(|| Rc::new(Server::start(&project.place)));
        Self { door, project, server }
    }

    fn column(&mut self, table: &IdentityTable, caller: &str, life: HomeLife) -> Vec<String> {
        let mut lines = self.lines(caller, life);
        let mut problems = Vec::new();
        // All agents of a column of the permission table share one connection. So the agents of all cells in the column
        // are made before the connection is ended.
        if life == HomeLife::Dead {
            let mut cells: Vec<ReadyCell<'_>> =
                table.rows.iter().map(|row| self.ready(&mut lines, row, caller, life)).collect();
            self.end(&mut lines, &cells, caller);
            for cell in &mut cells {
                problems.extend(self.cell(table, &mut lines, cell, (caller, life)));
            }
        } else {
            for row in &table.rows {
                let mut cell = self.ready(&mut lines, row, caller, life);
                problems.extend(self.cell(table, &mut lines, &mut cell, (caller, life)));
            }
        }
        problems
    }

    fn lines(&self, caller: &str, life: HomeLife) -> ColumnLines {
        let (home, line) = match (self.door, caller) {
            (DoorKind::Stdio, "own") => (Some(CallLine::pipe(&self.project.place, &[])), None),
            (DoorKind::Stdio, "coordinator") => {
                let more = ["--as", "coordinator"];
                (Some(CallLine::pipe(&self.project.place, &[])), Some(CallLine::pipe(&self.project.place, &more)))
            }
            (DoorKind::Stdio, _) => {
                (Some(CallLine::pipe(&self.project.place, &[])), Some(CallLine::pipe(&self.project.place, &[])))
            }
            (DoorKind::Http(_), "bound" | "token") => (None, None),
            (DoorKind::Http(way), "own") => (Some(self.shared_home(way, HomeLife::Alive).0), None),
            (DoorKind::Http(way), "shared" | "unnamed") => {
                let (home, bearer) = self.shared_home(way, life);
                (Some(home), Some(self.http(way, &bearer)))
            }
            (DoorKind::Http(way), _) => {
                let bearer = match caller {
                    "coordinator" | "person" => self.server().peoples_token(caller),
                    _ => text(&self.made_token(&json!({"shared": true}))["token"]),
                };
                (Some(self.shared_home(way, life).0), Some(self.http(way, &bearer)))
            }
            (DoorKind::Command, "own") => (
                Some(self.inside(Visitor::at_command_line(Rights::Script), life)),
                Some(self.shell(ShellCaller::Script)),
            ),
            (DoorKind::Command, "person") => {
                (Some(CallLine::pipe(&self.project.place, &[])), Some(self.shell(ShellCaller::Person)))
            }
            (DoorKind::Command, "script") => {
                (Some(CallLine::pipe(&self.project.place, &[])), Some(self.shell(ShellCaller::Script)))
            }
            (DoorKind::Command | DoorKind::Desk, _) => (Some(self.project.home()), None),
        };
        let victim = (caller == "turn-other").then(|| {
            let mut home = self.project.home();
            let named = home.must("agent_register", &json!({"name": format!("victim {life:?}"), "runtime": "table"}));
            (home, text(&named["id"]))
        });
        ColumnLines { home, caller: line, victim }
    }

    /// Returns a connection over HTTP that several agents share, and its token. A connection without a session cannot
    /// be closed; it counts as dead when it has made no call for a long time.
    fn shared_home(&self, way: HttpWay, life: HomeLife) -> (CallLine, String) {
        let made = self.made_token(&json!({"shared": true}));
        let bearer = text(&made["token"]);
        let home = match (way, life) {
            (HttpWay::Session, _) | (_, HomeLife::Alive) => self.http(way, &bearer),
            (_, HomeLife::Dead) => self.inside(token_visitor(&made), life),
        };
        (home, bearer)
    }

    fn server(&self) -> &Rc<Server> {
        self.server.as_ref().unwrap()
    }

    fn made_token(&self, asked: &Value) -> Value {
        let mut asked = asked.clone();
        asked["name"] = format!("token-{}", self.project.next_number()).into();
        self.server().made_token(&asked)
    }

    fn http(&self, way: HttpWay, bearer: &str) -> CallLine {
        CallLine::http(self.server(), way, bearer)
    }

    fn inside(&self, visitor: Visitor, life: HomeLife) -> CallLine {
        let time = if life == HomeLife::Dead { DeskTime::LongAgo } else { DeskTime::Now };
        CallLine::Desk { inside: Rc::clone(&self.project.inside), visitor: Box::new(visitor), time }
    }

    fn shell(&self, seat: ShellCaller) -> CallLine {
        CallLine::Shell { place: self.project.place.clone(), seat }
    }

    fn ready<'a>(&self, lines: &mut ColumnLines, row: &'a TableRow, caller: &str, life: HomeLife) -> ReadyCell<'a> {
        if let (DoorKind::Http(way), "bound" | "token") = (self.door, caller) {
            let made = self.made_token(&if caller == "token" { json!({"shared": true}) } else { json!({}) });
            let mut line = self.http(way, &text(&made["token"]));
            let origin = CellOrigin { time: self.time(life), below_turn: false };
            let state = match life {
                HomeLife::Alive => self.project.cell_state(row, &mut line, origin),
                HomeLife::Dead => self.project.cell_state(row, &mut self.inside(token_visitor(&made), life), origin),
            };
            return ReadyCell { row, state, line: Some(line) };
        }
        let below_turn = caller.starts_with("turn");
        let home = lines.home.as_mut().unwrap();
        let time = if let CallLine::Desk { time, .. } = home { *time } else { DeskTime::Now };
        let state = self.project.cell_state(row, home, CellOrigin { time, below_turn });
        let line = state.seat.map(|seat| match self.door {
            DoorKind::Command => self.shell(ShellCaller::Turn(seat.turn.to_string())),
            DoorKind::Stdio | DoorKind::Http(_) | DoorKind::Desk => self.inside(Visitor::seated(seat), HomeLife::Alive),
        });
        ReadyCell { row, state, line }
    }

    fn time(&self, life: HomeLife) -> DeskTime {
        if life == HomeLife::Dead { DeskTime::LongAgo } else { DeskTime::Now }
    }

    /// Ends the connection on which the agents of a column of the permission table registered. In the column `turn`,
    /// ends the turns (the runs of the agents' programs) instead of the connection.
    fn end(&self, lines: &mut ColumnLines, cells: &[ReadyCell<'_>], caller: &str) {
        if let Some((home, _)) = &mut lines.victim {
            let home = std::mem::replace(home, self.shell(ShellCaller::Script));
            return home.end();
        }
        if caller == "turn" {
            return cells.iter().filter_map(|cell| cell.state.seat).for_each(|seat| self.project.end_turn(seat));
        }
        match lines.home.take() {
            // This connection already counts as dead, because it made no call for a long time.
            Some(CallLine::Desk { time: DeskTime::LongAgo, .. }) | None => {}
            Some(home) => home.end(),
        }
    }

    fn cell(
        &self,
        table: &IdentityTable,
        lines: &mut ColumnLines,
        cell: &mut ReadyCell<'_>,
        (caller, life): (&str, HomeLife),
    ) -> Option<String> {
        let ReadyCell { row, state, line } = cell;
        let ColumnLines { home, caller: own, victim } = lines;
        let line = line.as_mut().or(own.as_mut()).or(home.as_mut()).unwrap();
        let has_agent = ["stranger", "other", "header"].contains(&caller);
        if has_agent {
            line.must("agent_register", &json!({"name": format!("{caller} {life:?}"), "runtime": "table"}));
        }
        let naming = match caller {
            "own" if self.door == DoorKind::Command => AgentNaming::Argument,
            "own" | "stranger" | "turn" | "bound" | "unnamed" | "token" => AgentNaming::Nobody,
            "header" => AgentNaming::Header,
            "shared" => AgentNaming::Either,
            _ => AgentNaming::Argument,
        };
        let named = victim.as_ref().map_or(state.agent.as_str(), |(_, victim)| victim.as_str());
        let (arguments, is_named) = with_agent(row, &state.arguments, named, naming);
        let header = match naming {
            AgentNaming::Header => Some(named),
            AgentNaming::Either if !is_named => Some(named),
            AgentNaming::Nobody | AgentNaming::Argument | AgentNaming::Either => None,
        };
        let answer = line.call(&row.tool, &arguments, header);
        let found = table.word(&answer);
        // If the tool `agent_register` gave this connection a second agent, unregister it: later calls on the
        // connection name no agent and must mean the first agent.
        if let ("agent_register", crate::script::Answer::Done(made), true) = (row.tool.as_str(), &answer, has_agent) {
            line.must("agent_unregister", &json!({"id": made["id"]}));
        }
        // On the command line the caller `own` counts as a script when its call names no agent. So the expected answer
        // is in the column `script` of the permission table.
        let column = if (self.door, caller, is_named) == (DoorKind::Command, "own", false) { "script" } else { caller };
        let expected = table.expected(row, column, life);
        (found != expected).then(|| {
            let told = answer.value().to_string();
            let told: String = told.chars().take(300).collect();
            format!("{} {caller} {life:?}: expected {expected}, found {found}: {arguments} => {told}", row.title)
        })
    }
}

/// Adds the agent to the arguments when `naming` asks for that and the tool has an argument for an agent. Returns the
/// arguments, and whether the agent was added.
fn with_agent(row: &TableRow, arguments: &Value, agent: &str, naming: AgentNaming) -> (Value, bool) {
    let mut arguments = arguments.clone();
    let fields: &[&str] = match row.tool.as_str() {
        "agent_update" | "agent_unregister" => &["id"],
        _ => &["agent_id", "sender_id"],
    };
    let schema = Tool::find(&row.tool).unwrap().arguments();
    let takes = |field: &&&str| schema.get("properties").and_then(|properties| properties.get(field)).is_some();
    let field = fields.iter().find(takes).filter(|field| arguments.get(**field).is_none());
    let Some(field) = field.filter(|_| matches!(naming, AgentNaming::Argument | AgentNaming::Either)) else {
        return (arguments, false);
    };
    arguments[*field] = agent.into();
    (arguments, true)
}
