//! Computes each step of the model with the engine itself: takes the rows of tasks and one command, and returns the new
//! rows and the events.
//!
//! A model's state must be small, so it has only the values that decisions about claims depend on. For each command,
//! the engine's tables are built from this state, the engine decides and writes, and the new state is read from the
//! tables. The omitted values (texts, ids of checkpoints, times of last changes) do not affect any decision about
//! claims. For the same state, command and time, the engine always gives the same answer, so answers are cached.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use engine::checkpoint::Kind;
use engine::command::{CreateWorkflow, Note, Register, SessionEnd, Target};
use engine::id::{AgentId, Ids, SessionId, TaskId, WorkflowId};
use engine::plan::{Plan, PlanPlace, PlanTask};
use engine::tables::Tables;
use engine::task::{Lease, Task, TaskState};
use engine::workflow::WorkflowStatus;
use engine::{Actor, Caller, Change, Command, Event, Millis, Reply, Rights, Stamp, Timestamp, World, decide, fold};

/// The length of a tick (the model's unit of time) in milliseconds. It equals the shortest lease that a workflow may
/// have, so every lease lasts at least one tick.
pub(crate) const TICK_MS: i64 = 1_000;
/// The number of crashes after which a task fails.
const CRASHES_MAX: u32 = 2;
const DONE: &str = "done";

/// The state of a task in the model: free, held by an agent, done or failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Free,
    /// An agent holds the task. `until` is the end of its lease in ticks, not milliseconds.
    Held {
        agent: usize,
        until: i64,
        paused: bool,
    },
    Failed,
    Done {
        by: usize,
    },
}

/// The columns of a task's row in the database that matter for claims.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    pub(crate) place: Place,
    pub(crate) attempt: u32,
    pub(crate) crashes: u32,
}

/// The kind of a write that an agent makes as the holder of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Act {
    Checkpoint,
    Complete,
    Release,
    Pause,
}

/// A write that an agent sent once. The model may deliver the write to the engine at any time, and any number of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Mail {
    pub(crate) agent: usize,
    pub(crate) task: usize,
    pub(crate) attempt: u32,
    pub(crate) act: Act,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ask {
    Claim { agent: usize, task: usize },
    Renew { agent: usize },
    Write(Mail),
    Kill { agent: usize },
    Resume { task: usize },
    Sweep,
}

/// The result of a command: the rows of the tasks after it, and the facts about it that the model checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    /// The attempt number that the reply grants to the caller. `None` when the reply grants no claim.
    pub(crate) granted: Option<u32>,
    /// The claims that the command wrote to the log: task, agent, attempt.
    pub(crate) claims: Vec<(usize, usize, u32)>,
    /// True when the write changed its task. It is false when the engine refused the write or changed nothing.
    pub(crate) accepted: bool,
    pub(crate) completed: bool,
}

/// A fault that the test plants in the engine on purpose. The model checker must find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Planted fault: the engine checks neither the claim number (attempt) of a write nor its sender.
    NoFence,
    /// Planted fault: a claim gets the same attempt number as the claim before it.
    SameAttempt,
}

/// Cached answers of the engine, by the rows of the tasks, the command and the time in ticks.
type Known = HashMap<(Vec<Row>, Ask, i64), Outcome>;

pub(crate) struct Engine {
    base: Tables,
    workflow: WorkflowId,
    agents: Vec<(AgentId, SessionId)>,
    tasks: Vec<TaskId>,
    fault: Fault,
    known: Mutex<Known>,
}

impl Engine {
    /// Creates a running workflow with its tasks and agents, by giving the engine the same commands that real callers
    /// give.
    pub(crate) fn new(agents: usize, tasks: usize, lease_ticks: i64, fault: Fault) -> Self {
        let mut engine = Self {
            base: Tables::default(),
            workflow: WorkflowId::FIRST,
            agents: Vec::new(),
            tasks: Vec::new(),
            fault,
            known: Mutex::new(HashMap::new()),
        };
        let mut ids = Ids::new(1);
        let lease_ms = u32::try_from(lease_ticks * TICK_MS).map_or(Millis::seconds(1), Millis);
        let create = CreateWorkflow { lease_ms: Some(lease_ms), ..CreateWorkflow::named("model") };
        let person = Caller::with_rights(Rights::Person);
        if let Ok(Reply::WorkflowCreated { workflow, .. }) = engine.settle(&person, &Command::CreateWorkflow(create)) {
            engine.workflow = workflow;
        }
        let planned = |number: usize| PlanTask { attempts_max: CRASHES_MAX, ..PlanTask::named(format!("t{number}")) };
        let existing = std::collections::BTreeMap::new();
        let place = PlanPlace { workflow: engine.workflow, sequence: 0, now: Timestamp(0), existing: &existing };
        let plan = Plan::whole((0..tasks).map(planned).collect());
        let piece = plan.and_then(|plan| plan.lay_out(&place, &mut ids)).unwrap_or_default();
        engine.tasks = piece.tasks.iter().map(|(task, _)| task.id).collect();
        let summary = "model".to_owned();
        let plan = Command::SetPlan { workflow: engine.workflow, summary, piece: Arc::new(piece), groups: Vec::new() };
        assert!(engine.settle(&person, &plan).is_ok(), "the plan is taken");
        for number in 0..agents {
            let session = SessionId::next(&mut ids);
            let caller = Caller { session: Some(session), ..Caller::with_rights(Rights::Agent) };
            if let Ok(Reply::Registered { agent, .. }) = engine.settle(&caller, &register(number)) {
                engine.agents.push((agent, session));
            }
        }
        assert_eq!((engine.agents.len(), engine.tasks.len()), (agents, tasks), "the model is set up");
        engine
    }

    pub(crate) fn first_rows(&self) -> Vec<Row> {
        self.tasks.iter().map(|_| Row { place: Place::Free, attempt: 0, crashes: 0 }).collect()
    }

    /// Returns the engine's answer to a command at the time `now`, which is in ticks (the model's unit of time).
    pub(crate) fn ask(&self, rows: &[Row], ask: Ask, now: i64) -> Outcome {
        let question = (rows.to_vec(), ask, now);
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&question) {
            return known.clone();
        }
        let outcome = self.decide(rows, ask, now);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(question, outcome.clone());
        outcome
    }

    fn decide(&self, rows: &[Row], ask: Ask, now: i64) -> Outcome {
        let mut tables = self.tables(rows);
        let (caller, command) = self.command(rows, ask);
        let mut change = apply(&mut tables, &caller, &command, now * TICK_MS);
        if self.fault == Fault::SameAttempt {
            for event in &mut change.events {
                if let Event::Claimed { task, attempt, .. } = event {
                    *attempt -= 1;
                    tables.tasks.entry(*task).and_modify(|task| task.attempt -= 1);
                }
            }
        }
        let claim = |event: &Event| match event {
            Event::Claimed { task, agent, attempt, .. } => Some((self.task(*task), self.agent(*agent), *attempt)),
            _ => None,
        };
        let written =
            |event: &Event| matches!(event, Event::CheckpointAdded { .. } | Event::Moved(_) | Event::LeaseEnded { .. });
        let completed = |event: &Event| matches!(event, Event::Moved(moved) if moved.state.status().is_met());
        Outcome {
            rows: self.tasks.iter().map(|id| self.row(&tables.tasks[id])).collect(),
            granted: match &change.reply {
                Ok(Reply::Claimed { attempt, .. }) => Some(*attempt),
                Ok(_) | Err(_) => None,
            },
            claims: change.events.iter().filter_map(claim).collect(),
            accepted: change.reply.is_ok() && change.events.iter().any(written),
            completed: change.events.iter().any(completed),
        }
    }

    fn command(&self, rows: &[Row], ask: Ask) -> (Caller, Command) {
        let agent = |agent: usize| Caller::agent(self.agents[agent].0);
        let engine = || Caller::with_rights(Rights::Engine);
        match ask {
            Ask::Claim { agent: number, task } => (agent(number), Command::Claim { task: self.tasks[task] }),
            Ask::Renew { agent: number } => (agent(number), Command::Renew),
            Ask::Write(mail) => {
                let (mut sender, mut attempt) = (mail.agent, Some(mail.attempt));
                if let (Fault::NoFence, Place::Held { agent, .. }) = (self.fault, &rows[mail.task].place) {
                    (sender, attempt) = (*agent, None);
                }
                (agent(sender), self.write(mail, attempt))
            }
            Ask::Kill { agent } => {
                (engine(), Command::CloseSession { session: self.agents[agent].1, end: SessionEnd::Killed })
            }
            Ask::Resume { task } => {
                let to = Target::InProgress { answer: None };
                (Caller::with_rights(Rights::Person), Command::Move { task: self.tasks[task], attempt: None, to })
            }
            Ask::Sweep => (engine(), Command::Sweep { workflow: self.workflow }),
        }
    }

    fn write(&self, mail: Mail, attempt: Option<u32>) -> Command {
        let task = self.tasks[mail.task];
        let to = |to| Command::Move { task, attempt, to };
        match mail.act {
            Act::Checkpoint => Command::AddCheckpoint { task, attempt, note: Note::plain(Kind::Progress, "went on") },
            Act::Complete => to(Target::Completed { outcome: Some(DONE.to_owned()), detail: None, delivery: None }),
            Act::Pause => to(Target::Paused { reason: None }),
            Act::Release => Command::Release { task, attempt, reason: None },
        }
    }

    fn tables(&self, rows: &[Row]) -> Tables {
        let mut tables = self.base.clone();
        let open = rows.iter().filter(|row| !matches!(row.place, Place::Done { .. })).count();
        if let Some(workflow) = tables.workflows.get_mut(&self.workflow) {
            workflow.open = u32::try_from(open).unwrap_or(u32::MAX);
            workflow.status = if open == 0 { WorkflowStatus::Completed } else { WorkflowStatus::InProgress };
        }
        for (id, row) in self.tasks.iter().zip(rows) {
            if let Some(task) = tables.tasks.get_mut(id) {
                (task.attempt, task.crashes, task.state) = (row.attempt, row.crashes, self.state(&row.place));
            }
        }
        tables
    }

    fn state(&self, place: &Place) -> TaskState {
        match place {
            Place::Free => TaskState::Pending { lease: None },
            Place::Held { agent, until, paused } => {
                let until = Timestamp(until * TICK_MS);
                let lease = Lease { agent: self.agents[*agent].0, since: Timestamp(0), until };
                if *paused { TaskState::Paused { lease, reason: None } } else { TaskState::InProgress { lease } }
            }
            Place::Failed => TaskState::Failed { by: Actor::Engine, error: "failed".to_owned() },
            Place::Done { by } => {
                TaskState::Completed { by: Actor::Agent(self.agents[*by].0), outcome: DONE.to_owned() }
            }
        }
    }

    fn row(&self, task: &Task) -> Row {
        let held = |lease: &Lease, paused: bool| Place::Held {
            agent: self.agent(lease.agent),
            until: lease.until.0 / TICK_MS,
            paused,
        };
        let place = match &task.state {
            TaskState::Pending { lease: None } => Place::Free,
            TaskState::Pending { lease: Some(lease) }
            | TaskState::Planning { lease }
            | TaskState::InProgress { lease } => held(lease, false),
            // The lease of a paused task does not expire. So set its end to 0, to keep the number of states of the
            // model small.
            TaskState::Paused { lease, .. } => held(&Lease { until: Timestamp(0), ..lease.clone() }, true),
            TaskState::Failed { .. } => Place::Failed,
            TaskState::Completed { by: Actor::Agent(by), .. } => Place::Done { by: self.agent(*by) },
            TaskState::Completed { .. } | TaskState::Blocked(_) | TaskState::Skipped { .. } => {
                panic!("no command of the model leads to {:?}", task.state)
            }
        };
        Row { place, attempt: task.attempt, crashes: task.crashes }
    }

    fn agent(&self, id: AgentId) -> usize {
        self.agents.iter().position(|(agent, _)| *agent == id).unwrap_or(usize::MAX)
    }

    fn task(&self, id: TaskId) -> usize {
        self.tasks.iter().position(|task| *task == id).unwrap_or(usize::MAX)
    }

    /// Runs a command that prepares the tables in memory before the model checker starts.
    fn settle(&mut self, caller: &Caller, command: &Command) -> Result<Reply, engine::Refusal> {
        apply(&mut self.base, caller, command, 0).reply
    }
}

fn register(number: usize) -> Command {
    Command::Register(Register::named(format!("agent {number}"), "exec"))
}

/// Decides a command, loads the parts of the state that the decision asks for, and writes the result.
pub(crate) fn apply(tables: &mut Tables, caller: &Caller, command: &Command, now: i64) -> Change {
    let seed = u128::try_from(tables.agents.len() + tables.workflows.len()).unwrap_or(0);
    let stamp = Stamp { now: Timestamp(now), seed };
    let mut world = World::default();
    for need in command.scope(caller) {
        tables.answer(&need, &mut world);
    }
    loop {
        match decide(&world, caller, command, stamp) {
            Ok(change) => {
                for write in fold(&mut world, &change.events, stamp.now) {
                    tables.write(write);
                }
                return change;
            }
            Err(needs) => needs.iter().for_each(|need| tables.answer(need, &mut world)),
        }
    }
}
