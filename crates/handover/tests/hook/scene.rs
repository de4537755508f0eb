//! A project with hooks: its configuration, its store, and a client that calls `handover hook`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command as Program, Stdio};
use std::sync::Arc;

use base::Service;
use base::ground::clock::SystemClock;
use engine::agent::Origin;
use engine::approval::{Approval, ApprovalDecision, ApprovalStatus};
use engine::command::{CreateWorkflow, Register};
use engine::id::{AgentId, ApprovalId, TaskId};
use engine::list::ApprovalQuery;
use engine::plan::PlanTask;
use engine::task::Task;
use engine::{Caller, Command, Reply, Rights};
use serde_json::{Value, json};

pub(crate) const SESSION: &str = "326057d8-656f-4a0c-8bab-3f8a9f07e9f5";

/// Settings of a project with an agent that must write a handoff document, a report of its work, when it stops.
pub(crate) const HANDS_OVER: &str = "[[agent]]\nslug = \"quinn\"\nadapter = \"claude\"\ncommand = [\"claude\"]\n";
/// Settings with gate rules: `git push` needs an approval, `rm` is denied, and all other commands are allowed.
pub(crate) const GATED: &str = "[gates]\ndefault = \"allow\"\n\n[[gate]]\ncommand = [\"git\", \"push\"]\ndecision = \"ask\"\n\n\
                                [[gate]]\ncommand = [\"rm\"]\ndecision = \"deny\"\n";

pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    pub(crate) service: Service,
    url: String,
}

fn open(runtime: &tokio::runtime::Runtime, url: &str) -> Service {
    let store = runtime.block_on(store::open(url, 1)).expect("a store");
    Service::new(store, Arc::new(SystemClock))
}

/// The result of a hook process: its exit code and what it printed.
#[derive(Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    /// The JSON reply of the hook; null when there is no output or it is not JSON.
    pub(crate) reply: Value,
    pub(crate) error: String,
}

impl Said {
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.reply.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the reason for which the reply denies the tool call.
    pub(crate) fn denied(&self) -> &str {
        self.text("/hookSpecificOutput/permissionDecisionReason")
    }

    /// Checks that the reply is empty, so that the client continues normally.
    #[track_caller]
    pub(crate) fn is_nothing(&self) {
        assert_eq!((self.code, &self.reply), (Some(0), &json!({})), "{self:?}");
    }
}

/// Creates a folder that looks like a git repository, with Handover's configuration file in it.
pub(crate) fn project(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join(".git")).expect("a repository");
    std::fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a repository");
    std::fs::create_dir_all(folder.path().join(".handover")).expect("a folder");
    std::fs::write(folder.path().join(".handover/config.toml"), config).expect("a configuration");
    folder
}

/// Runs `handover` with these arguments as a client does, and returns the result.
pub(crate) fn call(folder: &Path, arguments: &[&str], input: &[u8], environment: &[(&str, &str)]) -> Said {
    let mut program = Program::new(env!("CARGO_BIN_EXE_handover"));
    program.current_dir(folder).args(arguments);
    for name in ["HANDOVER_STORE", "HANDOVER_TURN", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID"] {
        program.env_remove(name);
    }
    program.env("XDG_DATA_HOME", folder.join("data")).envs(environment.iter().copied());
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // The program may close its input before it has read everything, so a failed write is fine.
    let _closed = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    Said {
        code: output.status.code(),
        reply: serde_json::from_str(text.trim()).unwrap_or_default(),
        error: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Scene {
    pub(crate) fn new(config: &str) -> Self {
        let folder = project(config);
        std::fs::create_dir_all(folder.path().join(".handover/state")).expect("a folder");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let url = folder.path().join(".handover/state/handover.db").display().to_string();
        let service = open(&runtime, &url);
        Self { folder, runtime, service, url }
    }

    /// Makes a test project whose store is at this URL instead of in the project's folder.
    pub(crate) fn over(config: &str, url: String) -> Self {
        let scene = Self::new(config);
        Self { service: open(&scene.runtime, &url), url, ..scene }
    }

    pub(crate) fn at(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn run(&self, caller: Caller, command: Command) -> Reply {
        self.runtime.block_on(self.service.execute(caller, command)).expect("it is allowed")
    }

    /// Registers an agent that belongs to the client's session, or to the sub-agent `part` of the session.
    pub(crate) fn agent(&self, name: &str, part: Option<&str>) -> AgentId {
        let register = Register::named(name, "claude");
        let origin = Origin { conversation: Some(SESSION.to_owned()), part: part.map(str::to_owned), call: None };
        let caller = Caller { origin, ..Caller::with_rights(Rights::Agent) };
        let Reply::Registered { agent, .. } = self.run(caller, Command::Register(register)) else { panic!("no agent") };
        agent
    }

    /// Creates a task and lets an agent claim it.
    pub(crate) fn held(&self, agent: AgentId, task: PlanTask) -> TaskId {
        let person = Caller::with_rights(Rights::Person);
        let create = CreateWorkflow::named("release");
        let made = self.run(person.clone(), Command::CreateWorkflow(create));
        let Reply::WorkflowCreated { workflow, .. } = made else { panic!("no workflow") };
        let planned = self.runtime.block_on(self.service.set_plan(person, workflow, "one".to_owned(), vec![task]));
        let Ok(Reply::PlanSet { task_ids, .. }) = planned else { panic!("no plan") };
        let task = task_ids[0].1;
        self.run(Caller::agent(agent), Command::Claim { task });
        task
    }

    pub(crate) fn task(&self, id: TaskId) -> Task {
        self.runtime.block_on(self.service.view(move |world| world.task(id).cloned())).expect("a task")
    }

    pub(crate) fn approvals(&self) -> Vec<Approval> {
        let list = ApprovalQuery::WithStatus { statuses: ApprovalStatus::ALL.to_vec(), before: None, limit: 50 };
        self.runtime.block_on(self.service.ask(list)).expect("a list")
    }

    pub(crate) fn decide(&self, approval: ApprovalId, decision: ApprovalDecision) {
        self.run(Caller::with_rights(Rights::Person), Command::DecideApproval { approval, decision });
    }

    /// Counts the transactions that wrote to the store: each transaction ends with a frame in the database's
    /// write-ahead log that marks a commit.
    pub(crate) fn commits(&self) -> usize {
        let log = std::fs::read(self.at().join(".handover/state/handover.db-wal")).expect("a log");
        let number = |at: usize| log.get(at..at + 4).map(|bytes| u32::from_be_bytes(bytes.try_into().expect("four")));
        let page = usize::try_from(number(8).expect("a header")).expect("a size");
        let frames = (32..log.len()).step_by(page + 24);
        // Each frame of the write-ahead log repeats the salts of the log's header. Frames from before the last restart
        // of the log have other salts, so they do not count.
        frames.filter(|at| number(at + 4) > Some(0) && log.get(at + 8..at + 16) == log.get(16..24)).count()
    }

    /// Sets back, by two minutes, the time at which each agent was last seen alive and the time at which each lease
    /// (claim on a task) ends.
    pub(crate) fn age(&self) {
        let file = rusqlite::Connection::open(self.at().join(".handover/state/handover.db")).expect("the file");
        let age = "UPDATE agent SET seen = seen - 120000; UPDATE task SET lease_until = lease_until - 120000";
        file.execute_batch(age).expect("it is made older");
    }

    pub(crate) fn payload(&self, event: &str, more: Value) -> Value {
        let mut payload = json!({
            "session_id": SESSION,
            "hook_event_name": event,
            "cwd": self.at(),
            "prompt_id": "p1",
        });
        if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
            payload.extend(more);
        }
        payload
    }

    pub(crate) fn hook(&self, event: &str, more: Value) -> Said {
        let elsewhere = [("HANDOVER_STORE", self.url.as_str())];
        self.hook_in(event, more, if self.url.contains("://") { &elsewhere } else { &[] })
    }

    pub(crate) fn hook_in(&self, event: &str, more: Value, environment: &[(&str, &str)]) -> Said {
        let payload = self.payload(event, more).to_string();
        call(self.at(), &["hook", event], payload.as_bytes(), environment)
    }

    /// Calls the `PreToolUse` hook for this shell command, and returns the hook's answer.
    pub(crate) fn bash(&self, command: &str) -> Said {
        self.hook("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t1"}))
    }

    pub(crate) fn stop(&self, prompt: &str, said: &str) -> Said {
        self.hook("Stop", json!({"prompt_id": prompt, "stop_hook_active": false, "last_assistant_message": said}))
    }
}

/// Returns a handoff document (the report of an agent when it stops). The top-level fields of `more` replace the
/// default fields.
pub(crate) fn handoff(agent: AgentId, status: &str, more: Value) -> String {
    let mut contract = json!({
        "agent_status": {
            "plan_status": status, "agent_id": wire::handoff::alias(agent), "pending_steps": [], "next_action": "Look at it.",
        },
        "evidence_report": {
            "patterns_checked": [], "files_checked": [], "commands_run": [], "key_outputs": ["it builds"],
            "verbatim_outputs": [], "cross_layer_impacts": [], "open_gaps": [], "verification": {"result": "pass"},
        },
    });
    if let (Some(contract), Value::Object(more)) = (contract.as_object_mut(), more) {
        contract.extend(more);
    }
    format!("That is it.\n\n```agent_contract_handoff\n{contract}\n```\n")
}
