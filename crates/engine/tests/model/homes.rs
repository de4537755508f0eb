//! Checks that an agent acts only over its home, which is the connection that registered it last. The model checker
//! tries every order of steps in which two connections register two agents, make calls in their names, close, and open
//! again. One task needs the approval of a person before it is claimed.
//!
//! A state of the model contains no date. It contains the age of each agent's last sign of life and the rest of each
//! lease, as small numbers with a maximum. So the number of different states is finite, and all of them are visited.
//! The engine itself computes each step from one state to the next.

use std::sync::Arc;

use engine::agent::Agent;
use engine::approval::{ApprovalDecision, ApprovalRequest, Source};
use engine::caller::Standing;
use engine::command::{AskApproval, CreateWorkflow, Register, SessionEnd, Target};
use engine::id::{AgentId, Ids, SessionId, TaskId, WorkflowId};
use engine::plan::{Plan, PlanPlace, PlanTask};
use engine::tables::Tables;
use engine::task::{Lease, TaskState};
use engine::workflow::WorkflowStatus;
use engine::{Actor, Caller, Change, Command, Event, Millis, Reply, Rights, Timestamp};
use stateright::{Model, Property};

use crate::home_world::{
    ACTORS, AgentPlace, HomeAct, HomeAction, HomeBreach, HomeFault, HomePlace, HomeWorld, TaskPlace,
};
use crate::real::apply;

/// The length of a tick (the model's unit of time) in milliseconds. An agent without a claim counts as gone after a
/// quarter of an hour of silence. One tick is shorter than that and two ticks are longer, so the agent counts as gone
/// after two ticks.
const TICK_MS: i64 = 8 * 60_000;
const LEASE_TICKS: u8 = 2;
/// The silence, in ticks, after which an agent counts as gone.
const AGE_MAX: u8 = 2;
/// The time at which the engine runs every command of the model. It never changes, because a state of the model holds
/// ages and remaining times, not dates.
const NOW_MS: i64 = 1_000 * TICK_MS;
const PRINCIPAL: &str = "user:u";

pub(crate) struct HomeModel {
    base: Tables,
    agents: Vec<AgentId>,
    sessions: Vec<SessionId>,
    stale: SessionId,
    workflow: WorkflowId,
    task: TaskId,
    /// True when the machine knows which processes are alive, as it does when all processes run on one machine. When it
    /// is false, only the signs of life of an agent show that the agent is alive.
    watched: bool,
    fault: HomeFault,
}

impl HomeModel {
    pub(crate) fn new(watched: bool, fault: HomeFault) -> Self {
        let mut ids = Ids::new(7);
        let sessions: Vec<SessionId> = (0..ACTORS).map(|_| SessionId::next(&mut ids)).collect();
        let mut model = Self {
            base: Tables::default(),
            agents: Vec::new(),
            sessions,
            stale: SessionId::next(&mut ids),
            workflow: WorkflowId::FIRST,
            task: TaskId::FIRST,
            watched,
            fault,
        };
        let person = Caller::with_rights(Rights::Person);
        let lease_ms = u32::try_from(i64::from(LEASE_TICKS) * TICK_MS).map_or(Millis::minutes(16), Millis);
        let create = CreateWorkflow { lease_ms: Some(lease_ms), ..CreateWorkflow::named("model") };
        if let Ok(Reply::WorkflowCreated { workflow, .. }) = model.settle(&person, &Command::CreateWorkflow(create)) {
            model.workflow = workflow;
        }
        let existing = std::collections::BTreeMap::new();
        let place = PlanPlace { workflow: model.workflow, sequence: 0, now: Timestamp(NOW_MS), existing: &existing };
        let gated = PlanTask { gate: true, attempts_max: 20, ..PlanTask::named("deploy") };
        let piece = Plan::whole(vec![gated]).and_then(|plan| plan.lay_out(&place, &mut ids)).unwrap_or_default();
        model.task = piece.tasks.first().map_or(TaskId::FIRST, |(task, _)| task.id);
        let summary = "model".to_owned();
        let plan = Command::SetPlan { workflow: model.workflow, summary, piece: Arc::new(piece), groups: Vec::new() };
        assert!(model.settle(&person, &plan).is_ok(), "the plan is taken");
        for number in 0..ACTORS {
            let caller = model.caller(number, None, true);
            if let Ok(Reply::Registered { agent, .. }) = model.settle(&caller, &register(number)) {
                model.agents.push(agent);
            }
        }
        assert_eq!(model.agents.len(), ACTORS, "the model is set up");
        model
    }

    /// Runs a command that prepares the state in memory before the model checker starts.
    fn settle(&mut self, caller: &Caller, command: &Command) -> Result<Reply, engine::Refusal> {
        apply(&mut self.base, caller, command, NOW_MS).reply
    }

    fn caller(&self, via: usize, named: Option<usize>, all_open: bool) -> Caller {
        Caller {
            agent: named.map(|named| self.agents[named]),
            session: Some(self.sessions[via]),
            standing: Standing::Client,
            principal: Some(PRINCIPAL.to_owned()),
            alive: if all_open && self.watched { self.sessions.clone() } else { Vec::new() },
            ..Caller::with_rights(Rights::Agent)
        }
    }

    fn alive(&self, world: &HomeWorld) -> Vec<SessionId> {
        let open = world.open.iter().zip(&self.sessions).filter(|(open, _)| **open && self.watched);
        open.map(|(_, session)| *session).collect()
    }

    /// Returns true when the connection that registered the agent last is alive, as far as the machine of the
    /// connection `via` can tell.
    fn home_lives(&self, world: &HomeWorld, agent: usize, via: usize) -> bool {
        let heard = match world.task {
            TaskPlace::Held { agent: holder, left } if holder == agent => left > 0,
            TaskPlace::Free | TaskPlace::Held { .. } | TaskPlace::Done { .. } | TaskPlace::Skipped { .. } => {
                world.agents[agent].age < AGE_MAX
            }
        };
        match world.agents[agent].home {
            HomePlace::At(home) => home == via || self.watched || heard,
            HomePlace::Stale => heard,
            HomePlace::Nowhere => false,
        }
    }

    fn tables(&self, world: &HomeWorld) -> Tables {
        let mut tables = self.base.clone();
        for (number, place) in world.agents.iter().enumerate() {
            if let Some(agent) = tables.agents.get_mut(&self.agents[number]) {
                agent.session = match place.home {
                    HomePlace::At(connection) => Some(self.sessions[connection]),
                    HomePlace::Stale => Some(self.stale),
                    HomePlace::Nowhere => None,
                };
                agent.seen = Timestamp(NOW_MS - i64::from(place.age) * TICK_MS);
            }
        }
        let over = matches!(world.task, TaskPlace::Done { .. } | TaskPlace::Skipped { .. });
        if let Some(workflow) = tables.workflows.get_mut(&self.workflow) {
            workflow.open = u32::from(!over);
            workflow.status = if over { WorkflowStatus::Completed } else { WorkflowStatus::InProgress };
        }
        if let Some(task) = tables.tasks.get_mut(&self.task) {
            (task.attempt, task.crashes) = (1, 0);
            task.state = match world.task {
                TaskPlace::Free => TaskState::Pending { lease: None },
                TaskPlace::Held { agent, left } => {
                    let until = Timestamp(NOW_MS + i64::from(left) * TICK_MS);
                    let since = Timestamp(NOW_MS - i64::from(AGE_MAX) * TICK_MS);
                    TaskState::InProgress { lease: Lease { agent: self.agents[agent], since, until } }
                }
                TaskPlace::Done { by } => {
                    TaskState::Completed { by: Actor::Agent(self.agents[by]), outcome: "done".to_owned() }
                }
                TaskPlace::Skipped { by_person } => {
                    let by = if by_person { Actor::Person } else { Actor::Agent(self.agents[0]) };
                    TaskState::Skipped { by, reason: "no".to_owned() }
                }
            };
        }
        tables
    }

    /// Reads the state of the model back from the database rows that the engine wrote.
    fn read(&self, tables: &Tables, last: &HomeWorld) -> HomeWorld {
        let mut world = last.clone();
        for (number, place) in world.agents.iter_mut().enumerate() {
            let Some(agent) = tables.agents.get(&self.agents[number]) else { continue };
            place.home = match agent.session {
                None => HomePlace::Nowhere,
                Some(session) => {
                    let found = self.sessions.iter().position(|other| *other == session);
                    found.map_or(HomePlace::Stale, HomePlace::At)
                }
            };
            place.age = ticks(NOW_MS - agent.seen.0).min(AGE_MAX);
        }
        let number = |id: AgentId| self.agents.iter().position(|agent| *agent == id).unwrap_or(0);
        if let Some(task) = tables.tasks.get(&self.task) {
            world.task = match &task.state {
                TaskState::Completed { by: Actor::Agent(by), .. } => TaskPlace::Done { by: number(*by) },
                TaskState::Skipped { by, .. } => TaskPlace::Skipped { by_person: *by == Actor::Person },
                state => match state.lease() {
                    Some(lease) => TaskPlace::Held {
                        agent: number(lease.agent),
                        left: ticks(lease.until.0 - NOW_MS).min(LEASE_TICKS),
                    },
                    None => TaskPlace::Free,
                },
            };
        }
        world
    }

    /// Lets the engine decide a command in the state `last`. The planted fault of this model, if it has one, is
    /// applied.
    fn take(&self, last: &HomeWorld, caller: &Caller, command: &Command) -> (HomeWorld, Change) {
        let mut tables = self.tables(last);
        let mut caller = Caller { alive: self.alive(last), ..caller.clone() };
        let heartbeat = matches!(command, Command::Heartbeat { .. });
        match (self.fault, command) {
            (HomeFault::ForeignRenewal, Command::Heartbeat { .. }) => caller.standing = Standing::Vouched,
            (HomeFault::EarlyResumption, Command::Register(register)) => {
                let same = |agent: &&Agent| agent.name == register.name;
                caller.agent = tables.agents.values().find(same).map(|agent| agent.id);
                caller.standing = Standing::Vouched;
            }
            (HomeFault::SkippedGate, Command::Move { to: Target::Skipped { .. }, .. }) => {
                (caller.agent, caller.rights) = (None, Rights::Person);
            }
            _ => {}
        }
        let change = apply(&mut tables, &caller, command, NOW_MS);
        if let (HomeFault::MoveOnRead, true, Some(named)) = (self.fault, heartbeat, caller.agent) {
            tables.agents.entry(named).and_modify(|agent| agent.session = caller.session);
        }
        (self.read(&tables, last), change)
    }

    fn call(&self, last: &HomeWorld, via: usize, named: Option<usize>, act: HomeAct) -> HomeWorld {
        let caller = self.caller(via, named, false);
        let task = self.task;
        let to = |to| Command::Move { task, attempt: None, to };
        let command = match act {
            HomeAct::Heartbeat => Command::Heartbeat { current_task: None },
            HomeAct::Claim { .. } => Command::Claim { task },
            HomeAct::Complete => {
                to(Target::Completed { outcome: Some("done".to_owned()), detail: None, delivery: None })
            }
            HomeAct::Skip => to(Target::Skipped { reason: Some("no".to_owned()) }),
        };
        if act == (HomeAct::Claim { approved: true }) {
            return self.claim_with_approval(last, &caller, &command);
        }
        let (mut world, change) = self.take(last, &caller, &command);
        let claimed = change.events.iter().any(|event| matches!(event, Event::Claimed { .. }));
        if claimed {
            world.breach.get_or_insert(HomeBreach::ClaimedWithoutApproval);
        }
        world
    }

    /// Lets a person approve the next claim of the gated task, and then claims the task in the same step of the model.
    fn claim_with_approval(&self, last: &HomeWorld, caller: &Caller, command: &Command) -> HomeWorld {
        let mut tables = self.tables(last);
        let request = ApprovalRequest { operation: "begin".to_owned(), ..ApprovalRequest::default() };
        let asked =
            AskApproval { source: Source::ExecGate, waits: Some((self.task, 2)), request, fingerprint: "f".to_owned() };
        let engine = Caller { alive: self.alive(last), ..Caller::with_rights(Rights::Engine) };
        let change = apply(&mut tables, &engine, &Command::AskApproval(Box::new(asked)), NOW_MS);
        if let Ok(Reply::ApprovalAsked { approval, .. }) = change.reply {
            let decide = Command::DecideApproval { approval, decision: ApprovalDecision::Approve };
            drop(apply(&mut tables, &Caller::with_rights(Rights::Person), &decide, NOW_MS));
        }
        let caller = Caller { alive: self.alive(last), ..caller.clone() };
        drop(apply(&mut tables, &caller, command, NOW_MS));
        self.read(&tables, last)
    }

    /// Compares the states before and after one step of the model, without asking the engine. Returns the property that
    /// the step broke, or `None`.
    fn judge(&self, last: &HomeWorld, action: HomeAction, world: &HomeWorld) -> Option<HomeBreach> {
        for (number, (old, new)) in last.agents.iter().zip(&world.agents).enumerate() {
            let registered = match action {
                HomeAction::Register { via, name } if name == number => Some(via),
                _ => None,
            };
            let gone = matches!(action, HomeAction::Die { connection } | HomeAction::Close { connection } if old.home == HomePlace::At(connection));
            if old.home != new.home && registered.is_none() && !gone {
                return Some(HomeBreach::MovedWithoutRegistering);
            }
            let taken = registered.is_some_and(|via| {
                old.home != new.home && old.home != HomePlace::At(via) && self.home_lives(last, number, via)
            });
            if taken {
                return Some(HomeBreach::LiveHomeTakenOver);
            }
        }
        self.judge_task(last, action, world).or_else(|| {
            let HomeAction::Call { via, named: Some(named), .. } = action else { return None };
            let elsewhere = last.agents[named].home != HomePlace::At(via);
            (elsewhere && world != last).then_some(HomeBreach::ForeignNameActed)
        })
    }

    fn judge_task(&self, last: &HomeWorld, action: HomeAction, world: &HomeWorld) -> Option<HomeBreach> {
        if matches!(world.task, TaskPlace::Skipped { .. })
            && world.task != last.task
            && action != HomeAction::PersonSkips
        {
            return Some(HomeBreach::GateLoosened);
        }
        let TaskPlace::Held { agent: holder, left } = last.task else { return None };
        let home = last.agents[holder].home;
        let by_holder = match action {
            HomeAction::Call { via, named, .. } => {
                home == HomePlace::At(via) && named.is_none_or(|named| named == holder)
            }
            _ => false,
        };
        let lives = matches!(home, HomePlace::At(_)) && self.watched;
        match world.task {
            TaskPlace::Held { agent, left: after } if agent == holder => {
                let swept = action == HomeAction::Sweep && lives;
                (after > left && !by_holder && !swept).then_some(HomeBreach::RenewedFromElsewhere)
            }
            TaskPlace::Free | TaskPlace::Held { .. } => {
                let closed = matches!(action, HomeAction::Close { connection } if home == HomePlace::At(connection));
                let taken = left > 0 || lives;
                (taken && !by_holder && !closed).then_some(HomeBreach::LiveClaimTaken)
            }
            TaskPlace::Done { .. } | TaskPlace::Skipped { .. } => None,
        }
    }

    fn step(&self, last: &HomeWorld, action: HomeAction) -> HomeWorld {
        match action {
            HomeAction::Call { via, named, act } => self.call(last, via, named, act),
            HomeAction::Register { via, name } => {
                let mut world = self.take(last, &self.caller(via, None, false), &register(name)).0;
                let holds = matches!(last.task, TaskPlace::Held { agent, .. } if agent == name);
                world.came_back |= holds && world.agents[name].home != last.agents[name].home;
                world
            }
            HomeAction::Die { connection } => {
                let mut world = last.clone();
                world.open[connection] = false;
                let lost = |agent: &&mut AgentPlace| agent.home == HomePlace::At(connection);
                world.agents.iter_mut().filter(lost).for_each(|agent| agent.home = HomePlace::Stale);
                world
            }
            HomeAction::Close { connection } => {
                let mut open = last.clone();
                open.open[connection] = false;
                let close = Command::CloseSession { session: self.sessions[connection], end: SessionEnd::Killed };
                self.take(&open, &Caller::with_rights(Rights::Engine), &close).0
            }
            HomeAction::Connect { connection } => {
                let mut world = last.clone();
                world.open[connection] = true;
                world
            }
            HomeAction::PersonSkips => {
                let to = Target::Skipped { reason: Some("no".to_owned()) };
                let skip = Command::Move { task: self.task, attempt: None, to };
                self.take(last, &Caller::with_rights(Rights::Person), &skip).0
            }
            HomeAction::Sweep => {
                let sweep = Command::Sweep { workflow: self.workflow };
                self.take(last, &Caller::with_rights(Rights::Engine), &sweep).0
            }
            HomeAction::Tick => {
                let mut world = last.clone();
                world.agents.iter_mut().for_each(|agent| agent.age = (agent.age + 1).min(AGE_MAX));
                if let TaskPlace::Held { left, .. } = &mut world.task {
                    *left = left.saturating_sub(1);
                }
                world
            }
        }
    }
}

impl Model for HomeModel {
    type State = HomeWorld;
    type Action = HomeAction;

    fn init_states(&self) -> Vec<HomeWorld> {
        let agents = [0, 1].map(|number| AgentPlace { home: HomePlace::At(number), age: 0 });
        vec![HomeWorld { agents, open: [true; ACTORS], task: TaskPlace::Free, came_back: false, breach: None }]
    }

    fn actions(&self, world: &HomeWorld, actions: &mut Vec<HomeAction>) {
        let acts = [
            HomeAct::Heartbeat,
            HomeAct::Claim { approved: true },
            HomeAct::Claim { approved: false },
            HomeAct::Complete,
            HomeAct::Skip,
        ];
        for connection in 0..ACTORS {
            if !world.open[connection] {
                actions.push(HomeAction::Connect { connection });
                continue;
            }
            for named in [None, Some(0), Some(1)] {
                actions.extend(acts.map(|act| HomeAction::Call { via: connection, named, act }));
            }
            actions.extend((0..ACTORS).map(|name| HomeAction::Register { via: connection, name }));
            actions.extend([HomeAction::Die { connection }, HomeAction::Close { connection }]);
        }
        actions.extend([HomeAction::PersonSkips, HomeAction::Sweep, HomeAction::Tick]);
    }

    fn next_state(&self, last: &HomeWorld, action: HomeAction) -> Option<HomeWorld> {
        // Take no further step after a broken property, so that the model stops there.
        if last.breach.is_some() {
            return None;
        }
        let mut world = self.step(last, action);
        world.breach = world.breach.or_else(|| self.judge(last, action, &world));
        (world != *last).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("only registering moves an agent", |_, world: &HomeWorld| {
                world.breach != Some(HomeBreach::MovedWithoutRegistering)
            }),
            Property::always("a live home is not taken over", |_, world: &HomeWorld| {
                world.breach != Some(HomeBreach::LiveHomeTakenOver)
            }),
            Property::always("naming an agent is not being it", |_, world: &HomeWorld| {
                world.breach != Some(HomeBreach::ForeignNameActed)
            }),
            Property::always("a lease is renewed by its holder's own voice", |_, world: &HomeWorld| {
                world.breach != Some(HomeBreach::RenewedFromElsewhere)
            }),
            Property::always("a gated task is skipped by a person", |_, world: &HomeWorld| {
                world.breach != Some(HomeBreach::GateLoosened)
            }),
            Property::always("a gated task begins with an approval", |_, world: &HomeWorld| {
                world.breach != Some(HomeBreach::ClaimedWithoutApproval)
            }),
            Property::always("the claim of a live agent is not taken", |_, world: &HomeWorld| {
                world.breach != Some(HomeBreach::LiveClaimTaken)
            }),
            Property::sometimes("an agent comes back with its task and completes it", |_, world: &HomeWorld| {
                world.came_back && matches!(world.task, TaskPlace::Done { .. })
            }),
            Property::sometimes("both agents are at home on one connection", |_, world: &HomeWorld| {
                world.agents[0].home == world.agents[1].home && matches!(world.agents[0].home, HomePlace::At(_))
            }),
            Property::sometimes("another agent takes the task of a dead one", |_, world: &HomeWorld| {
                matches!(world.task, TaskPlace::Held { agent: 1, .. }) && world.agents[0].home == HomePlace::Stale
            }),
        ]
    }
}

fn ticks(span_ms: i64) -> u8 {
    u8::try_from((span_ms.max(0) + TICK_MS - 1) / TICK_MS).unwrap_or(u8::MAX)
}

fn register(number: usize) -> Command {
    Command::Register(Register::named(format!("agent {number}"), "exec"))
}
