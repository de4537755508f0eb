//! The callers of the simulator: agents, persons and timers. They misbehave on purpose. For example, they repeat calls,
//! lose replies, use wrong clocks and name claims that have ended.

use std::collections::VecDeque;

use engine::command::{CreateWorkflow, Key, KeyOwner, Register};
use engine::id::{AgentId, Ids, TaskId, WorkflowId};
use engine::tables::Tables;
use engine::task::Task;
use engine::workflow::{Workflow, WorkflowStatus};
use engine::{Caller, Command, Millis, Refusal, Reply, Rights, Timestamp};

use crate::connections::{CrewConnection, HostView};
use crate::machine::Step;
use crate::plans::{self, ROLES, SKILLS};
use chance::SeededRandom;

const WORKERS: usize = 7;
const RECENT_MAX: usize = 24;

/// The settings of one run of the simulator: whether clocks are wrong, and which processes the machines know to be
/// alive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    /// True when the callers' clocks differ from the true time and jump.
    pub(crate) skew: bool,
    pub(crate) view: HostView,
}

impl Mode {
    pub(crate) fn of(seed: u64) -> Self {
        let view = match seed % 6 / 2 {
            0 => HostView::TwoMachines,
            1 => HostView::OneMachine,
            _ => HostView::Unwatched,
        };
        Self { skew: seed % 2 == 1, view }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Worker {
    pub(crate) name: String,
    role: String,
    skills: Vec<String>,
    pub(crate) id: Option<AgentId>,
    pub(crate) connection: usize,
    skew: i64,
    /// The time stamp of a call that the agent sent before its process fell asleep, and that reaches the engine only
    /// after the sleep. The agent's next call gets this time stamp. `None` when the next call gets the current time.
    pub(crate) stamped: Option<i64>,
    /// The claims that the agent believes it holds. Lost replies and ended leases make this list wrong.
    beliefs: Vec<(TaskId, u32)>,
}

/// A step of the simulation, and the worker (a simulated client of an agent) that waits for the answer.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) step: Step,
    worker: Option<usize>,
    /// The connection that gets the new token, if the answer to this command has one. `None` for all other commands.
    pub(crate) connection: Option<usize>,
    lost: bool,
}

pub(crate) struct Crew {
    pub(crate) rng: SeededRandom,
    pub(crate) now: i64,
    pub(crate) mode: Mode,
    pub(crate) ids: Ids,
    pub(crate) connections: Vec<CrewConnection>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) workflows: Vec<WorkflowId>,
    pub(crate) names: usize,
    queue: VecDeque<Order>,
    recent: VecDeque<Order>,
    pub(crate) serial: usize,
}

impl Crew {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = SeededRandom::new(seed);
        let ids = Ids::new(rng.seed());
        let mode = Mode::of(seed);
        let connections = CrewConnection::all(&mut rng, mode.view);
        let worker = |number: usize| Worker {
            name: format!("worker {number}"),
            role: ROLES[number % ROLES.len()].to_owned(),
            skills: SKILLS.iter().take(number % 3).map(|skill| (*skill).to_owned()).collect(),
            id: None,
            // The first two workers (simulated clients) are sub-agents of one client, so they share a connection.
            connection: number.saturating_sub(1),
            skew: 0,
            stamped: None,
            beliefs: Vec::new(),
        };
        Self {
            rng,
            now: 1_000_000,
            mode,
            ids,
            connections,
            workers: (0..WORKERS).map(worker).collect(),
            workflows: Vec::new(),
            names: 0,
            queue: VecDeque::new(),
            recent: VecDeque::new(),
            serial: 0,
        }
    }

    /// Returns the next command of any simulated caller.
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
        // Add the command to `recent`, so that a later step may repeat it. Leave out commands that store only a part of
        // a plan, because a caller sends each of them once and in order.
        if order.step.command.is_final() {
            self.recent.push_back(order.clone());
        }
        order
    }

    /// Updates the simulated caller's belief about its agent and its claims, if the answer reaches the caller.
    pub(crate) fn learn(&mut self, order: &Order, reply: &Result<Reply, Refusal>) {
        if let Ok(Reply::WorkflowCreated { workflow, .. } | Reply::ListOpened { workflow, .. }) = reply
            && !self.workflows.contains(workflow)
        {
            self.workflows.push(*workflow);
        }
        if let (Err(_), Some(token)) = (reply, token(&order.step.command)) {
            self.queue.retain(|order| self::token(&order.step.command) != Some(token));
        }
        if let (Ok(Reply::TokenCreated { token }), Some(place)) = (reply, order.connection) {
            self.learn_token(place, *token);
        }
        let Some(worker) = order.worker.filter(|_| !order.lost).map(|place| &mut self.workers[place]) else {
            return;
        };
        match reply {
            Ok(Reply::Registered { agent, .. }) => {
                worker.id = Some(*agent);
                self.connections[worker.connection].bind(*agent);
            }
            // The caller's agent belongs to another connection now. So the worker (a simulated client) forgets the
            // agent's id, and registers again later, as the refusal suggests.
            Err(Refusal::AgentElsewhere { agent, .. }) if worker.id == Some(*agent) => worker.id = None,
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
        if self.rng.percent(2) {
            self.fall_asleep();
        }
    }

    /// Returns true when a workflow waits for a plan, or no running workflow has an open task.
    fn is_idle(&self, tables: &Tables) -> bool {
        let waits = |workflow: &Workflow| workflow.status == WorkflowStatus::Planning;
        let runs = |workflow: &Workflow| workflow.status.is_running() && workflow.open > 0;
        tables.workflows.values().any(waits) || !tables.workflows.values().any(runs)
    }

    fn anything(&mut self, tables: &Tables) -> Order {
        match self.rng.below(100) {
            0..50 => {
                let worker = self.awake();
                self.work(tables, worker)
            }
            50..58 => self.approval(tables),
            58..66 => self.repeat(),
            66..72 => self.sweep(),
            72..79 => self.person(tables),
            79..86 => self.manage(tables),
            86..95 => self.intrude(tables),
            95..98 => self.end_connection(),
            98 if self.rng.percent(30) => self.put_off(),
            98 => self.browser(tables),
            _ => self.timer(),
        }
    }

    /// Returns a worker (a simulated client) whose process runs. When all processes sleep, returns any worker, as if
    /// the worker had made its call before its process fell asleep.
    pub(crate) fn awake(&mut self) -> usize {
        let first = self.rng.below(WORKERS);
        let asleep = |place: &usize| self.connections[self.workers[*place].connection].is_asleep(self.now);
        (0..WORKERS).map(|number| (first + number) % WORKERS).find(|place| !asleep(place)).unwrap_or(first)
    }

    /// Returns an earlier request again. The repeated request comes soon or late, with or without its idempotency key,
    /// and with another time.
    fn repeat(&mut self) -> Order {
        let place = self.rng.below(self.recent.len());
        let Some(mut order) = self.recent.get(place).cloned() else {
            return self.sweep();
        };
        order.step.seed = self.rng.seed();
        order.step.now = self.clock(order.worker);
        order.step.caller.alive = self.alive(self.host(order.worker));
        // Sometimes the client has connected again in the meantime, and repeats its call over its new connection.
        if let (true, Some(place)) = (self.rng.percent(30), order.worker) {
            order.step.caller.session = Some(self.connections[self.workers[place].connection].session);
        }
        if self.rng.percent(20) {
            order.step.caller.key = None;
        }
        order
    }

    pub(crate) fn sweep(&mut self) -> Order {
        let workflow = self.workflow();
        let mut order = self.order(Caller::with_rights(Rights::Engine), Command::Sweep { workflow }, None);
        // The timer that sends sweeps (commands that end expired leases) belongs to Handover itself. So a sweep may be
        // late, but it always has the true time.
        order.step.now = Timestamp(self.now);
        order
    }

    fn timer(&mut self) -> Order {
        self.order(Caller::with_rights(Rights::Engine), Command::ForgetKeys, None)
    }

    pub(crate) fn create_workflow(&mut self) -> Order {
        let lease_ms = Some(Millis(u32::try_from(self.rng.between(1_000, 40_000)).unwrap_or(1_000)));
        let parallel_max = self.rng.percent(40).then(|| u32::try_from(self.rng.between(1, 3)).unwrap_or(1));
        let create = CreateWorkflow { parallel_max, lease_ms, ..CreateWorkflow::named("a plan") };
        self.order(Caller::with_rights(Rights::Person), Command::CreateWorkflow(create), None)
    }

    pub(crate) fn register(&mut self, place: usize) -> Order {
        let name = self.workers[place].name.clone();
        self.register_named(place, name)
    }

    pub(crate) fn register_named(&mut self, place: usize, name: String) -> Order {
        let worker = self.workers[place].clone();
        let register =
            Register { role: Some(worker.role), capabilities: worker.skills, ..Register::named(name, "exec") };
        let caller = self.connections[worker.connection].caller(None);
        self.order(caller, Command::Register(register), Some(place))
    }

    pub(crate) fn workflow(&mut self) -> WorkflowId {
        let place = self.rng.below(self.workflows.len());
        self.workflows.get(place).copied().unwrap_or(WorkflowId::FIRST)
    }

    /// Returns a caller for a worker (a simulated client), chosen at random: the call names the agent; or it names no
    /// agent and has only the connection; or it comes from the runner that works for the agent; or it comes from a hook
    /// of the agent's client.
    pub(crate) fn caller(&mut self, place: usize) -> Caller {
        let worker = &self.workers[place];
        let connection = &self.connections[worker.connection];
        let Some(agent) = worker.id else { return connection.caller(None) };
        match self.rng.below(100) {
            0..16 => {
                let session = self.rng.percent(50).then_some(connection.session);
                Caller { session, rights: Rights::Runner, ..Caller::agent(agent) }
            }
            16..22 => Caller::agent(agent),
            22..80 => connection.caller(Some(agent)),
            _ => connection.caller(None),
        }
    }

    pub(crate) fn order(&mut self, caller: Caller, command: Command, worker: Option<usize>) -> Order {
        self.serial += 1;
        let key = if self.rng.percent(25) { Some(self.key(&caller, &command)) } else { None };
        let alive = self.alive(self.host(worker));
        let caller = Caller { key, alive, ..caller };
        let now = self.clock(worker);
        let stamped = worker.and_then(|place| self.workers[place].stamped.take());
        let now = stamped.map_or(now, Timestamp);
        let step = Step { caller, command, now, seed: self.rng.seed() };
        Order { step, worker, connection: None, lost: self.rng.percent(8) }
    }

    /// Returns an idempotency key: a new key, a key that was used before, or a blank key. The key belongs to the agent
    /// that acts.
    fn key(&mut self, caller: &Caller, command: &Command) -> Key {
        let key = match self.rng.below(100) {
            0..85 => format!("key {}", self.serial),
            85..97 => format!("key {}", self.rng.below(self.serial)),
            _ => " ".to_owned(),
        };
        let owner = match caller.session {
            Some(session) => KeyOwner::Acting { connection: session.to_string(), tool: command.name().to_owned() },
            None => KeyOwner::Fixed("person".to_owned()),
        };
        Key { owner, key, fingerprint: self.serial.to_string() }
    }

    /// Returns the machine from which a worker (a simulated client) calls. Calls without a worker come from machine 0.
    fn host(&self, worker: Option<usize>) -> usize {
        worker.map_or(0, |place| self.connections[self.workers[place].connection].host)
    }

    fn clock(&self, worker: Option<usize>) -> Timestamp {
        Timestamp(self.now + worker.map_or(0, |place| self.workers[place].skew))
    }

    /// Queues a sequence of commands. They run in this order, and commands of other callers may run in between.
    pub(crate) fn then(&mut self, orders: impl IntoIterator<Item = Order>) {
        self.queue.extend(orders);
    }

    /// Returns a task, and the claim number (attempt) that the worker believes it holds. Mostly the task is one of the
    /// worker's own claims, sometimes it is any task.
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

/// Returns the token of the unfinished plan to which a command belongs. Returns `None` for a command that does not set
/// a plan in pieces.
fn token(command: &Command) -> Option<&str> {
    match command {
        Command::BeginPlan { token, .. }
        | Command::ClearDraft { token, .. }
        | Command::StagePlan { token, .. }
        | Command::CommitPlan { token, .. } => Some(token),
        _ => None,
    }
}
