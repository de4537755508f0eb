//! A test project in whose store the runner has recorded some work.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Service;
use base::ground::clock::ManualClock;
use base::ground::objects;
use engine::command::{CreateWorkflow, RecordVerification, Register, StartTurn};
use engine::id::{AgentId, TaskId, TurnId, WorkflowId};
use engine::plan::PlanTask;
use engine::turn::{Purpose, Spent, TurnEnd, TurnResult};
use engine::verification::Verdict;
use engine::{Caller, Command, Json, Reply, Rights, Timestamp};

pub(crate) const NOW: i64 = 4_000_000_000_000;

pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    service: Service,
    pub(crate) agent: AgentId,
    pub(crate) workflow: WorkflowId,
    pub(crate) task: TaskId,
}

impl Scene {
    /// Creates a workflow of one task, which the agent `quinn` holds.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join(".git")).expect("a repository");
        std::fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a repository");
        let state = folder.path().join(".handover/state");
        std::fs::create_dir_all(&state).expect("a folder");
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&state, own).expect("a folder of its owner alone");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let file = folder.path().join(".handover/state/handover.db").display().to_string();
        let store = runtime.block_on(store::open(&file, 1)).expect("a store");
        // The clock of this test project is ahead of any real clock, so that the tested program finds no expired lease.
        let clock = ManualClock::starting_at(Timestamp(NOW));
        let service = Service::new(store, Arc::new(clock));
        let person = Caller::with_rights(Rights::Person);
        let run = |caller: &Caller, command: Command| {
            runtime.block_on(service.execute(caller.clone(), command)).expect("it is allowed")
        };
        let register = Register::named("quinn", "custom");
        let Reply::Registered { agent, .. } = run(&Caller::with_rights(Rights::Agent), Command::Register(register))
        else {
            panic!("no agent")
        };
        let create = CreateWorkflow::named("release");
        let Reply::WorkflowCreated { workflow, .. } = run(&person, Command::CreateWorkflow(create)) else {
            panic!("no workflow")
        };
        let tasks = vec![PlanTask::named("build")];
        let planned = runtime.block_on(service.set_plan(person, workflow, "one".to_owned(), tasks));
        let Ok(Reply::PlanSet { task_ids, .. }) = planned else { panic!("no plan") };
        let task = task_ids[0].1;
        run(&Caller::agent(agent), Command::Claim { task });
        Self { folder, runtime, service, agent, workflow, task }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join(".handover/state")
    }

    fn run(&self, caller: Caller, command: Command) -> Reply {
        self.runtime.block_on(self.service.execute(caller, command)).expect("it is allowed")
    }

    pub(crate) fn as_runner(&self, command: Command) -> Reply {
        self.run(Caller { agent: Some(self.agent), ..Caller::with_rights(Rights::Runner) }, command)
    }

    pub(crate) fn as_person(&self, command: Command) -> Reply {
        self.run(Caller::with_rights(Rights::Person), command)
    }

    /// Records a turn (one run of an agent's program) that ended. Stores the output of the program when there is some
    /// output.
    pub(crate) fn turn(&self, purpose: Purpose, wrote: Option<&[u8]>) -> TurnId {
        let start = StartTurn {
            task: self.task,
            attempt: 1,
            agent: None,
            purpose,
            adapter: "exec".to_owned(),
            runner: "here".to_owned(),
        };
        let Reply::TurnStarted { turn, .. } = self.as_runner(Command::StartTurn(start)) else { panic!("no turn") };
        let verdict =
            r#"{"kind":"handoff","says":"done","codes":[],"warnings":["MULTIPLE_BLOCKS"],"summary":"it builds"}"#;
        let ended = TurnResult {
            at: Timestamp(NOW + 12_000),
            end: if wrote.is_some() { TurnEnd::Finished } else { TurnEnd::SpawnFailed },
            reason: wrote.is_none().then(|| "no such program".to_owned()),
            conversation: Some("c-1".to_owned()),
            spent: Spent {
                usd_micros: Some(120_000),
                tokens: Some(13_300),
                tokens_in: Some(12_400),
                tokens_out: Some(900),
                ms: 12_400,
                turns: 1,
            },
            tool_calls: 7,
            stream: wrote.map(|bytes| objects::put(&self.state(), bytes).expect("it is kept")),
            verdict: wrote.map(|_| Json::from_stored(verdict.to_owned())),
            model: wrote.map(|_| "opus".to_owned()),
        };
        self.as_runner(Command::EndTurn { turn, ended: Box::new(ended) });
        turn
    }

    pub(crate) fn verify(&self, turn: TurnId, mechanical: Verdict) {
        let evidence =
            r#"{"commands":[{"command":["cargo","test"],"exit_code":0,"seconds":3,"tail":"ok. 12 passed"}]}"#;
        let found = RecordVerification {
            task: self.task,
            attempt: 1,
            turn: Some(turn),
            mechanical,
            semantic: Verdict::Skipped,
            output_ref: Some("out.json".to_owned()),
            evidence: Json::from_stored(evidence.to_owned()),
        };
        self.as_runner(Command::RecordVerification(Box::new(found)));
    }

    pub(crate) fn at(&self) -> &Path {
        self.folder.path()
    }
}
