//! Who asks for what: agents, persons and timers that misbehave in every way the design names.

use std::collections::VecDeque;

use engine::command::{CreateWorkflow, Key, Register, SessionEnd};
use engine::id::{AgentId, Ids, SessionId, TaskId, WorkflowId};
use engine::tables::Tables;
use engine::task::Task;
use engine::workflow::{Workflow, WorkflowStatus};
use engine::{Caller, Command, Millis, Refusal, Reply, Rights, Timestamp};

use crate::machine::Step;
use crate::plans::{self, ROLES, SKILLS};
use crate::rng::Rng;

const WORKERS: usize = 4;
const RECENT_MAX: usize = 24;

/// What goes wrong in this run, besides the rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    /// Doors read clocks that differ and jump.
    pub(crate) skew: bool,
    /// All are on one machine, which knows whose processes live.
    pub(crate) one_machine: bool,
}

impl Mode {
    pub(crate) fn of(seed: u64) -> Self {
        Self { skew: seed % 2 == 1, one_machine: seed % 4 >= 2 }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Worker {
    name: String,
    role: String,
    skills: Vec<String>,
    pub(crate) id: Option<AgentId>,
    session: usize,
    skew: i64,
    /// What it thinks it holds. Lost replies and ended leases make it wrong.
    beliefs: Vec<(TaskId, u32)>,
}

/// A step, and who waits for its answer.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) step: Step,
    worker: Option<usize>,
    lost: bool,
}

pub(crate) struct Crew {
    pub(crate) rng: Rng,
    pub(crate) now: i64,
    mode: Mode,
    ids: Ids,
    sessions: Vec<(SessionId, bool)>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) workflows: Vec<WorkflowId>,
    pub(crate) names: usize,
    queue: VecDeque<Order>,
    recent: VecDeque<Order>,
    pub(crate) serial: usize,
}

impl Crew {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut ids = Ids::new(rng.seed());
        let sessions = (0..3).map(|_| (SessionId::next(&mut ids), true)).collect();
        let worker = |number: usize| Worker {
            name: format!("worker {number}"),
            role: ROLES[number % ROLES.len()].to_owned(),
            skills: SKILLS.iter().take(number % 3).map(|skill| (*skill).to_owned()).collect(),
            id: None,
            session: number % 3,
            skew: 0,
            beliefs: Vec::new(),
        };
        Self {
            rng,
            now: 1_000_000,
            mode: Mode::of(seed),
            ids,
            sessions,
            workers: (0..WORKERS).map(worker).collect(),
            workflows: Vec::new(),
            names: 0,
            queue: VecDeque::new(),
            recent: VecDeque::new(),
            serial: 0,
        }
    }

    /// The next command of anyone.
    pub(crate) fn next(&mut self, tables: &Tables) -> Order {
        self.pass_time();
        let queued = if self.rng.percent(70) { self.queue.pop_front() } else { None };
        let order = match queued {
            Some(order) => Order { step: Step { now: Timestamp(self.now), ..order.step }, ..order },
            None if self.workflows.len() < 2 => self.create_workflow(),
            None if self.rng.percent(50) && self.is_idle(tables) => self.manage(tables),
            None => self.anything(tables),
        };
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        // A door sends the pieces of a plan one after the other and each once.
        if order.step.command.is_final() {
            self.recent.push_back(order.clone());
        }
        order
    }

    /// What the caller makes of the answer, if it arrives.
    pub(crate) fn learn(&mut self, order: &Order, reply: &Result<Reply, Refusal>) {
        if let Ok(Reply::WorkflowCreated { workflow, .. }) = reply
            && !self.workflows.contains(workflow)
        {
            self.workflows.push(*workflow);
        }
        if let (Err(_), Some(token)) = (reply, token(&order.step.command)) {
            self.queue.retain(|order| self::token(&order.step.command) != Some(token));
        }
        let Some(worker) = order.worker.filter(|_| !order.lost).map(|place| &mut self.workers[place]) else {
            return;
        };
        match reply {
            Ok(Reply::Registered { agent, .. }) => worker.id = Some(*agent),
            Ok(Reply::Unregistered { .. }) => worker.id = None,
            Ok(Reply::Claimed { task, attempt, .. }) => worker.beliefs.push((*task, *attempt)),
            Err(Refusal::ClaimLost { task, .. }) => worker.beliefs.retain(|(held, _)| held != task),
            Ok(_) | Err(_) => {}
        }
    }

    fn pass_time(&mut self) {
        self.now += match self.rng.below(100) {
            0..60 => self.rng.between(0, 300),
            60..94 => self.rng.between(300, 2_500),
            94..99 => self.rng.between(2_500, 40_000),
            _ if self.rng.percent(40) => self.rng.between(1, 4) * 3_600_000,
            _ => 0,
        };
        if self.mode.skew && self.rng.percent(5) {
            let place = self.rng.below(WORKERS);
            self.workers[place].skew = self.rng.between(-60_000, 60_000);
        }
    }

    /// Something waits for a plan, or all is done.
    fn is_idle(&self, tables: &Tables) -> bool {
        let waits = |workflow: &Workflow| workflow.status == WorkflowStatus::Planning;
        let runs = |workflow: &Workflow| workflow.status.is_running() && workflow.open > 0;
        tables.workflows.values().any(waits) || !tables.workflows.values().any(runs)
    }

    fn anything(&mut self, tables: &Tables) -> Order {
        match self.rng.below(100) {
            0..56 => {
                let worker = self.rng.below(WORKERS);
                self.work(tables, worker)
            }
            56..64 => self.approval(tables),
            64..73 => self.repeat(),
            73..81 => self.sweep(),
            81..89 => self.person(tables),
            89..96 => self.manage(tables),
            96..98 => self.end_session(),
            _ => self.timer(),
        }
    }

    /// The same request again: at once, late, with its key or without, on another clock.
    fn repeat(&mut self) -> Order {
        let place = self.rng.below(self.recent.len());
        let Some(mut order) = self.recent.get(place).cloned() else {
            return self.sweep();
        };
        order.step.seed = self.rng.seed();
        order.step.now = self.clock(order.worker);
        order.step.caller.alive = self.alive();
        if self.rng.percent(20) {
            order.step.caller.key = None;
        }
        order
    }

    fn sweep(&mut self) -> Order {
        let workflow = self.workflow();
        let mut order = self.order(Caller::with_rights(Rights::Engine), Command::Sweep { workflow }, None);
        // A sweep may be late, never early: it is our own timer.
        order.step.now = Timestamp(self.now);
        order
    }

    fn timer(&mut self) -> Order {
        self.order(Caller::with_rights(Rights::Engine), Command::ForgetKeys, None)
    }

    /// A connection closes or its process is killed; who used it comes back through another one.
    fn end_session(&mut self) -> Order {
        let place = self.rng.below(self.sessions.len());
        let (session, _) = self.sessions[place];
        self.sessions[place] = (SessionId::next(&mut self.ids), true);
        let end = if self.rng.percent(60) { SessionEnd::Killed } else { SessionEnd::Closed };
        for worker in self.workers.iter_mut().filter(|worker| worker.session == place) {
            // Some remember who they were; others begin anew and come back for nothing.
            if self.rng.percent(50) {
                worker.id = None;
                worker.beliefs.clear();
            }
        }
        if self.rng.percent(25) {
            // Nobody notices: only the lease ends the claims.
            return self.sweep();
        }
        let own = self.rng.percent(30);
        let caller = Caller {
            session: own.then_some(session),
            ..Caller::with_rights(if own { Rights::Agent } else { Rights::Engine })
        };
        self.order(caller, Command::CloseSession { session, end }, None)
    }

    pub(crate) fn create_workflow(&mut self) -> Order {
        let lease_ms = Some(Millis(u32::try_from(self.rng.between(1_000, 40_000)).unwrap_or(1_000)));
        let parallel_max = self.rng.percent(40).then(|| u32::try_from(self.rng.between(1, 3)).unwrap_or(1));
        let create = CreateWorkflow { parallel_max, lease_ms, ..CreateWorkflow::named("a plan") };
        self.order(Caller::with_rights(Rights::Person), Command::CreateWorkflow(create), None)
    }

    pub(crate) fn register(&mut self, place: usize) -> Order {
        let worker = self.workers[place].clone();
        let register =
            Register { role: Some(worker.role), capabilities: worker.skills, ..Register::named(worker.name, "exec") };
        let caller = Caller { session: Some(self.sessions[worker.session].0), ..Caller::with_rights(Rights::Agent) };
        self.order(caller, Command::Register(register), Some(place))
    }

    pub(crate) fn workflow(&mut self) -> WorkflowId {
        let place = self.rng.below(self.workflows.len());
        self.workflows.get(place).copied().unwrap_or(WorkflowId::FIRST)
    }

    /// A worker as a caller: named, or by its connection only; now and then as the runner that verifies.
    pub(crate) fn caller(&mut self, place: usize) -> Caller {
        let worker = &self.workers[place];
        let session = Some(self.sessions[worker.session].0);
        let agent = worker.id.filter(|_| self.rng.percent(75));
        let rights = if agent.is_some() && self.rng.percent(25) { Rights::Runner } else { Rights::Agent };
        let session = if agent.is_some() && self.rng.percent(30) { None } else { session };
        Caller { agent, session, ..Caller::with_rights(rights) }
    }

    pub(crate) fn order(&mut self, caller: Caller, command: Command, worker: Option<usize>) -> Order {
        self.serial += 1;
        let key = if self.rng.percent(25) { Some(self.key(worker)) } else { None };
        let caller = Caller { key, alive: self.alive(), ..caller };
        let step = Step { caller, command, now: self.clock(worker), seed: self.rng.seed() };
        Order { step, worker, lost: self.rng.percent(8) }
    }

    /// A key of its own, one that was used already, or a blank one.
    fn key(&mut self, worker: Option<usize>) -> Key {
        let owner = worker.map_or("person".to_owned(), |place| self.workers[place].name.clone());
        let key = match self.rng.below(100) {
            0..85 => format!("key {}", self.serial),
            85..97 => format!("key {}", self.rng.below(self.serial)),
            _ => " ".to_owned(),
        };
        Key { owner, key, fingerprint: self.serial.to_string() }
    }

    fn alive(&self) -> Vec<SessionId> {
        let living = self.sessions.iter().filter(|(_, lives)| *lives && self.mode.one_machine);
        living.map(|(session, _)| *session).collect()
    }

    fn clock(&self, worker: Option<usize>) -> Timestamp {
        Timestamp(self.now + worker.map_or(0, |place| self.workers[place].skew))
    }

    /// Does a sequence of commands before anything else.
    pub(crate) fn then(&mut self, orders: impl IntoIterator<Item = Order>) {
        self.queue.extend(orders);
    }

    /// A task with the attempt its would-be holder believes in: mostly its own, sometimes anyone's.
    pub(crate) fn aim(&mut self, tables: &Tables, place: usize) -> Option<(TaskId, Option<u32>)> {
        let beliefs = self.workers[place].beliefs.clone();
        let own = match self.rng.below(100) {
            0..65 => beliefs.last(),
            65..85 => self.rng.pick(&beliefs[beliefs.len().saturating_sub(4)..]),
            _ => None,
        };
        if let Some((task, attempt)) = own {
            let attempt = self.rng.percent(70).then_some(*attempt);
            return Some((*task, attempt));
        }
        let task = self.some_task(tables)?;
        let number = task.attempt;
        let attempt = match self.rng.below(3) {
            0 => None,
            1 => Some(number),
            _ => Some(number.saturating_sub(1)),
        };
        Some((task.id, attempt))
    }

    pub(crate) fn some_task<'a>(&mut self, tables: &'a Tables) -> Option<&'a Task> {
        tables.tasks.values().nth(self.rng.below(tables.tasks.len()))
    }

    pub(crate) fn new_name(&mut self) -> String {
        self.names += 1;
        format!("n{}-", self.names)
    }

    pub(crate) fn plan(&mut self) -> Vec<engine::plan::PlanTask> {
        let prefix = self.new_name();
        plans::tasks(&mut self.rng, &prefix)
    }
}

/// The draft that a piece of a plan belongs to.
fn token(command: &Command) -> Option<&str> {
    match command {
        Command::BeginPlan { token, .. }
        | Command::ClearDraft { token, .. }
        | Command::StagePlan { token, .. }
        | Command::CommitPlan { token, .. } => Some(token),
        _ => None,
    }
}
