//! Makes the state that one cell of the permission table needs. A cell is the call of one tool by one kind of caller.
//! The call needs an agent, and the tasks, messages and other rows that its arguments name.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use engine::command::{OpenReview, StartTurn};
use engine::id::{AgentId, TaskId, TurnId, WorkflowId};
use engine::turn::{Purpose, Spent, TurnEnd, TurnResult};
use engine::{Caller, Command, Reply, Rights};
use handover::desk::{TurnSeat, Visitor};
use handover::reception::new_session;
use serde_json::{Value, json};

use crate::door::Place;
use crate::line::{CallLine, DeskTime, InnerDesk};
use crate::postgres::schema_of;
use crate::table::TableRow;

/// The database in which the tested program keeps its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Database {
    Sqlite,
    Postgres,
}

/// A project with a store, and the values that all cells of the permission table share.
pub(crate) struct TableProject {
    pub(crate) place: Place,
    pub(crate) inside: Rc<InnerDesk>,
    number: Cell<u32>,
    shared: BTreeMap<&'static str, String>,
    /// The temporary folder of the project. It is the last field, so it is dropped after everything that uses the
    /// folder.
    _folder: tempfile::TempDir,
}

/// The values for the tool call that one cell of the permission table tests: the agent, the arguments and, for a caller
/// in a turn (a run of an agent's program), the turn.
pub(crate) struct CellState {
    pub(crate) agent: String,
    pub(crate) arguments: Value,
    pub(crate) seat: Option<TurnSeat>,
}

/// The conditions under which the agent for one cell of the permission table is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CellOrigin {
    /// The time at which the agent, its tasks and its messages are made.
    pub(crate) time: DeskTime,
    /// True when the agent works in a turn, that is, in a program that the runner started for a task.
    pub(crate) below_turn: bool,
}

impl TableProject {
    pub(crate) fn new(name: &str, database: Database) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().canonicalize().unwrap();
        git(&folder, &["init", "-q", "-b", "main"]);
        git(&folder, &["commit", "-q", "--allow-empty", "-m", "first"]);
        std::fs::create_dir(folder.join("state")).unwrap();
        std::fs::create_dir(folder.join(".handover")).unwrap();
        // The MCP clients of this test send the name `transcript`. The settings allow a client of this name to act as a
        // coordinator, a caller with more rights than an agent.
        let settings = "[mcp]\ncoordinators = [\"transcript\"]\n";
        std::fs::write(folder.join(".handover/config.toml"), settings).unwrap();
        let view = base::project::trust::view(&folder, Some(&folder)).unwrap();
        base::project::trust::accept(&folder, &view).unwrap();
        let store = match database {
            Database::Sqlite => folder.join("state/handover.db").display().to_string(),
            // This test kills no process, so commits need not wait for the disk.
            Database::Postgres => {
                format!("{}%20-csynchronous_commit%3Doff", schema_of(&format!("identity_{name}")))
            }
        };
        let place = Place { folder, store };
        let inside = Rc::new(InnerDesk::open(&place));
        let mut project = Self { place, inside, number: Cell::new(0), shared: BTreeMap::new(), _folder: temporary };
        let peer = json!({"name": "peer", "runtime": "table", "role": "peer"});
        let peer = project.home().must("agent_register", &peer);
        let template = json!({"name": "table", "template": {"tasks": [{"name": "one"}]}});
        let template = project.inside.person(DeskTime::Now, "template_create", &template);
        let folder = project.place.folder.display().to_string();
        project.inside.person(DeskTime::Now, "repository_register", &json!({"path": folder}));
        project.shared.insert("$peer", text(&peer["id"]));
        project.shared.insert("$template", text(&template["id"]));
        project.shared.insert("$folder", folder);
        project
    }

    /// Returns a connection to `Desk`, the code that serves tool calls, inside this process.
    pub(crate) fn home(&self) -> CallLine {
        let visitor = Box::new(Visitor::on_session(new_session().unwrap(), Rights::Agent));
        CallLine::Desk { inside: Rc::clone(&self.inside), visitor, time: DeskTime::Now }
    }

    pub(crate) fn next_number(&self) -> u32 {
        self.number.set(self.number.get() + 1);
        self.number.get()
    }

    /// Makes an agent on the connection `home`, and everything that the arguments of a row of the permission table
    /// name, such as a task or a message.
    pub(crate) fn cell_state(&self, row: &TableRow, home: &mut CallLine, origin: CellOrigin) -> CellState {
        let number = self.next_number();
        let name = format!("agent-{number}");
        let registered = home.must("agent_register", &json!({"name": name, "runtime": "table"}));
        let agent = text(&registered["id"]);
        let mut values: BTreeMap<&str, String> = self.shared.clone();
        values.insert("$agent", agent.clone());
        values.insert("$name", name);
        values.insert("$slug", text(&registered["slug"]));
        values.insert("$n", number.to_string());
        let mut maker = CellMaker { project: self, home, time: origin.time, agent: &agent, values };
        let of_task = ["$task", "$place"].iter().any(|name| row.arguments.contains(name));
        let needs_task = origin.below_turn || of_task;
        let of_workflow =
            ["$workflow", "$open", "$gated", "$reviewed", "$limited", "$failed", "$stuck", "$workspace", "$repository"];
        let mut claimed = None;
        if needs_task || of_workflow.iter().any(|name| row.arguments.contains(name)) {
            claimed = maker.workflow(&row.arguments, needs_task);
        }
        maker.more(&row.arguments);
        let values = maker.values;
        let seat = origin.below_turn.then(|| self.turn(&agent, claimed.unwrap()));
        CellState { arguments: filled(&row.arguments, &values), agent, seat }
    }

    fn turn(&self, agent: &str, (task, attempt): (TaskId, u32)) -> TurnSeat {
        let agent: AgentId = agent.parse().unwrap();
        let (adapter, runner) = ("exec".to_owned(), "table".to_owned());
        let start = StartTurn { task, attempt, agent: None, purpose: Purpose::First, adapter, runner };
        let caller = Caller { rights: Rights::Runner, ..Caller::agent(agent) };
        let reply = self.inside.execute(caller, Command::StartTurn(start));
        let Reply::TurnStarted { turn, .. } = reply else { panic!("{reply:?}") };
        TurnSeat { turn, agent, task, attempt }
    }

    pub(crate) fn end_turn(&self, seat: TurnSeat) {
        let ended = TurnResult {
            at: engine::Timestamp(0),
            end: TurnEnd::Finished,
            reason: None,
            conversation: None,
            spent: Spent::default(),
            tool_calls: 0,
            stream: None,
            verdict: None,
            model: None,
        };
        let turn: TurnId = seat.turn;
        let caller = Caller { rights: Rights::Runner, ..Caller::agent(seat.agent) };
        self.inside.execute(caller, Command::EndTurn { turn, ended: Box::new(ended) });
    }
}

/// The values that are needed while the state of one cell of the permission table is made.
struct CellMaker<'a> {
    project: &'a TableProject,
    home: &'a mut CallLine,
    time: DeskTime,
    agent: &'a str,
    values: BTreeMap<&'a str, String>,
}

impl CellMaker<'_> {
    fn person(&self, tool: &str, arguments: &Value) -> Value {
        self.project.inside.person(self.time, tool, arguments)
    }

    /// Makes a workflow with one task for each placeholder that arguments may contain, such as `$gated` for a gated
    /// task, which needs a person's approval to start. When `needs_task` is true, the agent claims a task, and the
    /// function returns the task and the attempt, which is the number of the claim.
    fn workflow(&mut self, arguments: &str, needs_task: bool) -> Option<(TaskId, u32)> {
        let workflow = text(&self.person("workflow_create", &json!({"name": "table"}))["id"]);
        let tasks = json!([
            {"name": "task"}, {"name": "open"}, {"name": "gated", "gate": true}, {"name": "reviewed", "review": "critic"},
            {"name": "limited", "limits": {"turns": 1}}, {"name": "failed"}, {"name": "stuck", "gate": true},
        ]);
        let planned =
            self.person("workflow_set_plan", &json!({"id": workflow, "plan": {"summary": "s", "tasks": tasks}}));
        for name in ["$task", "$open", "$gated", "$reviewed", "$limited", "$failed", "$stuck"] {
            self.values.insert(name, text(&planned["task_ids"][name.trim_start_matches('$')]));
        }
        if arguments.contains("$failed") {
            let failed = json!({"id": self.values["$failed"], "status": "failed", "error": "broken"});
            self.person("task_update_status", &failed);
        }
        if arguments.contains("$stuck") {
            let stuck = json!({"id": self.values["$stuck"], "status": "blocked", "reason": "not clear"});
            self.person("task_update_status", &stuck);
        }
        if arguments.contains("$workspace") {
            let path = format!("{}/made-{}", self.values["$folder"], self.values["$n"]);
            let made = self.person("workspace_create", &json!({"workflow_id": workflow, "path": path, "branch": "b"}));
            self.values.insert("$workspace", text(&made["id"]));
        }
        if arguments.contains("$place") {
            let path = format!("{}/place-{}", self.values["$folder"], self.values["$n"]);
            let tasks = [&self.values["$task"]];
            let create = json!({"workflow_id": workflow, "path": path, "branch": "p", "task_ids": tasks});
            let made = self.person("workspace_create", &create);
            self.values.insert("$place", text(&made["id"]));
        }
        if arguments.contains("$repository") {
            let attach = json!({"workflow_id": workflow, "repository_path": self.values["$folder"]});
            let attached = self.person("workflow_add_repository", &attach);
            self.values.insert("$repository", text(&attached["repository_id"]));
        }
        let mut claimed = None;
        if needs_task {
            let task = self.values["$task"].clone();
            let claim = self.home.must("task_claim", &json!({"task_id": task, "agent_id": self.agent}));
            claimed = Some((task.parse().unwrap(), u32::try_from(claim["attempt"].as_u64().unwrap()).unwrap()));
            if self.time == DeskTime::LongAgo {
                let workflow: WorkflowId = workflow.parse().unwrap();
                self.project.inside.execute(Caller::with_rights(Rights::Engine), Command::Sweep { workflow });
            }
        }
        self.values.insert("$workflow", workflow);
        claimed
    }

    fn more(&mut self, arguments: &str) {
        for name in ["$plain", "$draft", "$paused", "$narrow", "$locked"] {
            if arguments.contains(name) {
                let made = self.plain_workflow(name);
                self.values.insert(name, made);
            }
        }
        if arguments.contains("$message") {
            let message = json!({"recipient_id": self.agent, "message_type": "query", "body": "which?"});
            let sent = self.person("message_send", &message);
            self.values.insert("$message", text(&sent["id"]));
        }
        if arguments.contains("$review") {
            let open = OpenReview { provider: "critic".to_owned(), gate: None, rounds_max: None };
            let caller = Caller::agent(self.agent.parse().unwrap());
            let reply = self.project.inside.execute(caller, Command::OpenReview(open));
            let Reply::ReviewOpened { review } = reply else { panic!("{reply:?}") };
            self.values.insert("$review", review.to_string());
        }
    }

    fn plain_workflow(&mut self, name: &str) -> String {
        let limit = if name == "$narrow" { 1 } else { 100 };
        let workflow = self.person("workflow_create", &json!({"name": "table", "max_parallel_tasks": limit}));
        let workflow = text(&workflow["id"]);
        if name == "$draft" {
            return workflow;
        }
        let plan = json!({"id": workflow, "plan": {"summary": "s", "tasks": [{"name": "one"}]}});
        self.person("workflow_set_plan", &plan);
        match name {
            "$paused" => {
                self.person("workflow_suspend", &json!({"workflow_id": workflow}));
            }
            "$locked" => {
                let (id, owner) = (workflow.parse().unwrap(), self.agent.to_owned());
                let caller = Caller::agent(self.agent.parse().unwrap());
                // The lock on the workflow is made with the current time: a lock that was made long ago would have
                // expired.
                self.project.inside.execute(caller, Command::LockWorkflow { workflow: id, owner });
            }
            _ => {}
        }
        workflow
    }
}

/// Replaces the placeholders in the arguments of a row of the permission table by values. Longer placeholders are
/// replaced first, because the name of one placeholder may be the start of another one.
fn filled(arguments: &str, values: &BTreeMap<&str, String>) -> Value {
    let mut names: Vec<&&str> = values.keys().collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let text = names.iter().fold(arguments.to_owned(), |text, name| text.replace(**name, &values[**name]));
    assert!(!text.contains('$'), "nothing is called that: {text}");
    serde_json::from_str(&text).unwrap()
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn git(folder: &std::path::Path, words: &[&str]) {
    let fixed = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"];
    let ran = std::process::Command::new("git").current_dir(folder).args(fixed).args(words).output().unwrap();
    assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
}
