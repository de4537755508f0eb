//! Clients that claim the same few tasks concurrently, and the history of their calls and answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::Error;
use base::Service;
use base::ground::clock::{Clock, ManualClock};
use engine::command::{CreateWorkflow, Note, Register, Target};
use engine::id::{AgentId, TaskId, WorkflowId};
use engine::plan::PlanTask;
use engine::task::{Task, TaskState};
use engine::{Actor, Caller, Command, Millis, Refusal, Reply, Rights, Timestamp};
use store::Store;

use crate::checker::Call;
use crate::lease::{Act, Answer, By, Holder, LEASE_MS, State};
use chance::SeededRandom;

const CLIENTS: usize = 5;
const TASKS: usize = 3;
const ACTS: usize = 18;

/// A clock that is wrong by a fixed time, and remembers the last time that it returned.
struct Skewed {
    shared: Arc<ManualClock>,
    skew_ms: i64,
    last: AtomicI64,
}

impl Clock for Skewed {
    fn now(&self) -> Timestamp {
        let now = Timestamp(self.shared.now().0 + self.skew_ms);
        self.last.store(now.0, Ordering::SeqCst);
        now
    }
}

/// One round of the test: some clients that call concurrently and want the same tasks.
pub(crate) struct Round {
    clients: Vec<Client>,
    shared: Arc<Shared>,
}

struct Shared {
    /// The tasks, each in its own workflow, so that a sweep of expired leases touches only one task.
    tasks: Vec<(WorkflowId, TaskId)>,
    clock: Arc<ManualClock>,
    ticks: AtomicU64,
    calls: Mutex<BTreeMap<TaskId, Vec<Call>>>,
}

struct Client {
    service: Service,
    clock: Arc<Skewed>,
    agent: AgentId,
    rng: SeededRandom,
    /// For each task, the number of the claim (the attempt) that the client believes it holds.
    believes: BTreeMap<TaskId, u32>,
}

impl Round {
    pub(crate) async fn new(seed: u64, stores: &[Arc<dyn Store>]) -> Self {
        let mut rng = SeededRandom::new(seed);
        let clock = Arc::new(ManualClock::starting_at(Timestamp(1_000_000)));
        let plain = Service::new(Arc::clone(&stores[0]), Arc::clone(&clock) as Arc<dyn Clock>);
        let mut tasks = Vec::new();
        for _ in 0..TASKS {
            tasks.push(make_task(&plain).await);
        }
        let shared = Shared { tasks, clock: Arc::clone(&clock), ticks: AtomicU64::new(1), calls: Mutex::default() };
        let mut clients = Vec::new();
        for number in 0..CLIENTS {
            let skew_ms = i64::try_from(rng.below(800)).unwrap() - 400;
            let clock = Arc::new(Skewed { shared: Arc::clone(&clock), skew_ms, last: AtomicI64::new(0) });
            let service =
                Service::new(Arc::clone(&stores[number % stores.len()]), Arc::clone(&clock) as Arc<dyn Clock>);
            let agent = register(&plain).await;
            clients.push(Client {
                service,
                clock,
                agent,
                rng: SeededRandom::new(rng.word()),
                believes: BTreeMap::new(),
            });
        }
        Self { clients, shared: Arc::new(shared) }
    }

    /// Runs all clients. Returns the history of each task.
    pub(crate) async fn run(self) -> Vec<Vec<Call>> {
        let mut running = tokio::task::JoinSet::new();
        for client in self.clients {
            running.spawn(client.run(Arc::clone(&self.shared)));
        }
        while let Some(ended) = running.join_next().await {
            ended.unwrap();
        }
        let calls = std::mem::take(&mut *self.shared.calls.lock().unwrap());
        calls.into_values().collect()
    }
}

async fn make_task(service: &Service) -> (WorkflowId, TaskId) {
    let create = CreateWorkflow { lease_ms: Some(Millis(LEASE_MS)), ..CreateWorkflow::named("race") };
    let coordinator = || Caller::with_rights(Rights::Coordinator);
    let reply = service.execute(coordinator(), Command::CreateWorkflow(create)).await.unwrap();
    let Reply::WorkflowCreated { workflow, .. } = reply else { panic!("{reply:?}") };
    // The second task is never completed, so that the workflow stays open.
    let task = |name| PlanTask { attempts_max: 1_000, ..PlanTask::named(name) };
    let plan = vec![task("raced for"), task("left alone")];
    let reply = service.set_plan(coordinator(), workflow, "a race".to_owned(), plan).await.unwrap();
    let Reply::PlanSet { task_ids, .. } = reply else { panic!("{reply:?}") };
    (workflow, task_ids[0].1)
}

async fn register(service: &Service) -> AgentId {
    let register = Register::named("racer", "proof");
    let reply = service.execute(Caller::with_rights(Rights::Agent), Command::Register(register)).await.unwrap();
    let Reply::Registered { agent, .. } = reply else { panic!("{reply:?}") };
    agent
}

impl Client {
    async fn run(mut self, shared: Arc<Shared>) {
        for _ in 0..ACTS {
            // Sometimes let time pass on the shared clock, up to one and a half times the duration of a lease (a claim
            // on a task).
            if self.rng.percent(20) {
                shared.clock.advance(i64::try_from(self.rng.below(1_500)).unwrap());
            }
            let (workflow, task) = shared.tasks[self.rng.below(shared.tasks.len())];
            let act = self.choose(task);
            let began = shared.ticks.fetch_add(1, Ordering::SeqCst);
            let answer = self.call(workflow, task, act).await;
            let ended = shared.ticks.fetch_add(1, Ordering::SeqCst);
            match answer {
                Some(Answer::Claimed { attempt, .. }) => drop(self.believes.insert(task, attempt)),
                // The client went away during the call and comes back without knowing which claim it held.
                None => drop(self.believes.remove(&task)),
                Some(_) => {}
            }
            let by = By { agent: self.agent, now: Timestamp(self.clock.last.load(Ordering::SeqCst)) };
            let call = Call { by, act, began, answer: answer.map(|answer| (ended, answer)) };
            shared.calls.lock().unwrap().entry(task).or_default().push(call);
        }
    }

    /// Returns the client's next action. In some cases the action names a wrong claim number, as a confused client
    /// would.
    fn choose(&mut self, task: TaskId) -> Act {
        let mut attempt = self.believes.get(&task).copied();
        if self.rng.percent(15) {
            attempt = match self.rng.below(3) {
                0 => None,
                1 => Some(attempt.unwrap_or(1).saturating_sub(1)),
                _ => Some(attempt.unwrap_or(0) + 1),
            };
        }
        match (self.rng.below(100), attempt.is_some()) {
            (0..35, _) | (35..70, false) => Act::Claim,
            (35..60, true) => Act::Note { attempt },
            (60..66, true) => Act::Complete { attempt },
            (66..76, true) => Act::Release { attempt },
            (76..80, _) => Act::Complete { attempt },
            (80..90, _) => Act::Sweep,
            _ => Act::Look,
        }
    }

    /// Calls the service. Returns `None` when the client goes away during the call.
    async fn call(&mut self, workflow: WorkflowId, task: TaskId, act: Act) -> Option<Answer> {
        let goes_away =
            self.rng.percent(8).then(|| Duration::from_micros(u64::try_from(self.rng.below(2_000)).unwrap()));
        let service = self.service.clone();
        let calling = ask(&service, self.agent, (workflow, task), act);
        match goes_away {
            None => Some(calling.await),
            Some(after) => tokio::time::timeout(after, calling).await.ok(),
        }
    }
}

async fn ask(service: &Service, agent: AgentId, (workflow, task): (WorkflowId, TaskId), act: Act) -> Answer {
    let outcome = Some(agent.to_string());
    let command = match act {
        Act::Claim => Command::Claim { task },
        Act::Note { attempt } => {
            Command::AddCheckpoint { task, attempt, note: Note::plain(engine::checkpoint::Kind::Progress, "a step") }
        }
        Act::Complete { attempt } => {
            Command::Move { task, attempt, to: Target::Completed { outcome, detail: None, delivery: None } }
        }
        Act::Release { attempt } => Command::Release { task, attempt, reason: None },
        Act::Sweep => {
            let swept =
                service.execute(Caller::with_rights(Rights::Engine), Command::Sweep { workflow }).await.unwrap();
            let Reply::Swept { offered, .. } = swept else { panic!("{swept:?}") };
            return Answer::Swept { offered };
        }
        Act::Look => {
            let found = service.view(move |world| world.task(task).cloned()).await.unwrap();
            return Answer::Seen(seen(&found));
        }
    };
    read(service.execute(Caller::agent(agent), command).await)
}

fn read(reply: Result<Reply, Error>) -> Answer {
    match reply {
        Ok(Reply::Claimed { attempt, until, .. }) => Answer::Claimed { attempt, until },
        Ok(Reply::AlreadyClaimedBy { agent }) => Answer::HeldBy(agent),
        Ok(Reply::CheckpointAdded { sequence, .. }) => Answer::Noted { sequence },
        Ok(Reply::Moved { .. }) => Answer::Completed,
        Ok(Reply::Released) => Answer::Released,
        Err(Error::Refused(Refusal::ClaimLost { holder, .. })) => Answer::Lost { holder },
        Err(Error::Refused(Refusal::InvalidState { .. })) => Answer::Refused,
        other => panic!("{other:?}"),
    }
}

fn seen(task: &Task) -> State {
    let lease = task.state.lease().map(|lease| Holder::Lease { agent: lease.agent, until: lease.until });
    let done = if let TaskState::Completed { by: Actor::Agent(agent), .. } = &task.state { Some(*agent) } else { None };
    let holder = done.map(Holder::Done).or(lease).unwrap_or_default();
    State { attempt: task.attempt, notes: task.checkpoints, holder }
}
