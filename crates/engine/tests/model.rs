//! Checks a model of claims. The model checker tries every order of claims, late writes, repeated writes, crashes and
//! wrong clocks, for a few agents and tasks. A second model (`model/homes.rs`) has connections, takeovers and a gated
//! task.
//!
//! The engine itself computes each step from one state of the model to the next (`model/real.rs`). `MODEL_AGENTS`,
//! `MODEL_TASKS`, `MODEL_TICKS`, `MODEL_ATTEMPTS` and `MODEL_MAIL` set the size of the model: `MODEL_AGENTS=3 cargo
//! test -p engine --release --test model`.

#![expect(clippy::wildcard_enum_match_arm, reason = "the model looks for single events among many")]

#[path = "model/home_world.rs"]
mod home_world;
#[path = "model/homes.rs"]
mod homes;
#[path = "model/real.rs"]
mod real;

use home_world::HomeFault;
use homes::HomeModel;
use real::{Act, Ask, Engine, Fault, Mail, Outcome, Place, Row};
use stateright::{Checker, Model, Property};

const LEASE_TICKS: i64 = 2;
/// The possible differences of an agent's clock from the true time, in ticks (the model's unit of time). The largest
/// difference is longer than a lease, so a wrong clock can make a running lease look expired, and an expired lease look
/// running.
const SKEWS: [i64; 3] = [-3, 0, 3];

struct Claims {
    engine: Engine,
    agents: usize,
    ticks: i64,
    attempts: u32,
    mail: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    rows: Vec<Row>,
    /// The true time, in ticks (the model's unit of time). Timers use the true time. An agent's calls have the true
    /// time plus the error of the agent's clock.
    clock: i64,
    agents: Vec<Agent>,
    /// The writes that agents have sent and that the model may deliver to the engine. They are sorted, so that two
    /// states with the same writes are equal.
    mail: Vec<Mail>,
    past: Vec<Past>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Agent {
    skew: i64,
    /// For each task, the number of the claim (the attempt) that the agent believes it holds. An agent that loses a
    /// claim gets no message about that.
    believes: Vec<Option<u32>>,
}

/// The history of one task, as the log of the engine shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Past {
    /// The claims of the task, each as its attempt number and its agent, in order.
    claims: Vec<(u32, usize)>,
    /// The agents whose writes to the task were accepted, each with the number of the task's last claim at that time.
    /// Each pair is listed once.
    writers: Vec<(u32, usize)>,
    completions: u8,
    /// The claim number (attempt) in the last accepted write to the task.
    written: u32,
    /// True when an accepted write had a lower claim number (attempt) than an earlier accepted write.
    went_back: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Claim {
        agent: usize,
        task: usize,
        reply_lost: bool,
    },
    Renew {
        agent: usize,
    },
    Send(Mail),
    /// Delivers a write, which an agent sent earlier, to the engine. The write stays in `mail`, so that the model can
    /// deliver the same write again.
    Deliver(Mail),
    Lose(Mail),
    /// The agent stops and forgets its claims. No process notices that, so the claims end only when their leases
    /// expire.
    Crash {
        agent: usize,
    },
    /// The agent's process is killed. The agent's machine notices that and ends the agent's claims.
    Kill {
        agent: usize,
    },
    /// A person answers the question that a paused task waits for, and the task resumes.
    Resume {
        task: usize,
    },
    Skew {
        agent: usize,
        to: i64,
    },
    Sweep,
    Tick,
}

impl Claims {
    fn take(&self, last: &World, ask: Ask, now: i64) -> (World, Outcome) {
        let outcome = self.engine.ask(&last.rows, ask, now);
        let mut world = World { rows: outcome.rows.clone(), ..last.clone() };
        for (task, agent, attempt) in &outcome.claims {
            world.past[*task].claims.push((*attempt, *agent));
        }
        (world, outcome)
    }

    fn now(last: &World, agent: usize) -> i64 {
        last.clock + last.agents[agent].skew
    }

    fn deliver(&self, last: &World, mail: Mail) -> World {
        let (mut world, outcome) = self.take(last, Ask::Write(mail), Self::now(last, mail.agent));
        let past = &mut world.past[mail.task];
        if outcome.accepted {
            past.went_back |= past.written > mail.attempt;
            past.written = mail.attempt;
            let writer = (last.rows[mail.task].attempt, mail.agent);
            if !past.writers.contains(&writer) {
                past.writers.push(writer);
            }
        }
        past.completions += u8::from(outcome.completed);
        world
    }

    fn forget(mut world: World, agent: usize) -> World {
        world.agents[agent].believes.fill(None);
        world
    }

    fn over(world: &World, row: &Row) -> bool {
        matches!(row.place, Place::Held { until, paused: false, .. } if until <= world.clock)
    }
}

impl Model for Claims {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let rows = self.engine.first_rows();
        let agent = Agent { skew: 0, believes: vec![None; rows.len()] };
        let past = vec![Past::default(); rows.len()];
        vec![World { rows, clock: 0, agents: vec![agent; self.agents], mail: Vec::new(), past }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (agent, known) in world.agents.iter().enumerate() {
            for (task, row) in world.rows.iter().enumerate() {
                if row.attempt < self.attempts {
                    actions.extend([false, true].map(|reply_lost| Action::Claim { agent, task, reply_lost }));
                }
                let Some(attempt) = known.believes[task].filter(|_| world.mail.len() < self.mail) else { continue };
                let acts = [Act::Checkpoint, Act::Complete, Act::Release, Act::Pause];
                actions.extend(acts.map(|act| Action::Send(Mail { agent, task, attempt, act })));
            }
            if known.believes.iter().any(Option::is_some) {
                actions.extend([Action::Renew { agent }, Action::Crash { agent }, Action::Kill { agent }]);
            }
        }
        // In this model, only one agent's clock jumps. One wrong clock is enough, because it can be behind or ahead of
        // all other clocks.
        actions.extend(SKEWS.map(|to| Action::Skew { agent: 0, to }));
        actions.extend(world.mail.iter().flat_map(|mail| [Action::Deliver(*mail), Action::Lose(*mail)]));
        actions.extend((0..world.rows.len()).map(|task| Action::Resume { task }));
        actions.push(Action::Sweep);
        if world.clock < self.ticks {
            actions.push(Action::Tick);
        }
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let world = match action {
            Action::Claim { agent, task, reply_lost } => {
                let (mut world, outcome) = self.take(last, Ask::Claim { agent, task }, Self::now(last, agent));
                if let (Some(attempt), false) = (outcome.granted, reply_lost) {
                    world.agents[agent].believes[task] = Some(attempt);
                }
                world
            }
            Action::Renew { agent } => self.take(last, Ask::Renew { agent }, Self::now(last, agent)).0,
            Action::Send(mail) => {
                let mut world = last.clone();
                world.mail.push(mail);
                world.mail.sort_unstable();
                world.mail.dedup();
                world
            }
            Action::Deliver(mail) => self.deliver(last, mail),
            Action::Lose(mail) => {
                let mut world = last.clone();
                world.mail.retain(|other| *other != mail);
                world
            }
            Action::Crash { agent } => Self::forget(last.clone(), agent),
            Action::Kill { agent } => Self::forget(self.take(last, Ask::Kill { agent }, last.clock).0, agent),
            Action::Resume { task } => self.take(last, Ask::Resume { task }, last.clock).0,
            Action::Skew { agent, to } => {
                let mut world = last.clone();
                world.agents[agent].skew = to;
                world
            }
            Action::Sweep => self.take(last, Ask::Sweep, last.clock).0,
            Action::Tick => World { clock: last.clock + 1, ..last.clone() },
        };
        // Skip an action that changes nothing, because it leads to no new state of the model.
        (world != *last).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("an attempt has at most one accepted writer", |_, world: &World| {
                world.past.iter().all(|past| {
                    let others = |(attempt, agent): &(u32, usize)| {
                        past.writers.iter().all(|(other, writer)| other != attempt || writer == agent)
                    };
                    past.writers.iter().all(others)
                })
            }),
            Property::always("accepted writes are of who claimed that attempt", |_, world: &World| {
                world.past.iter().all(|past| past.writers.iter().all(|writer| past.claims.contains(writer)))
            }),
            Property::always("attempts of accepted writes never decrease", |_, world: &World| {
                world.past.iter().all(|past| !past.went_back)
            }),
            Property::always("the attempt grows with each claim", |_, world: &World| {
                world.past.iter().all(|past| past.claims.is_sorted_by(|(one, _), (next, _)| one < next))
            }),
            Property::always("the row holds what was claimed last", |_, world: &World| {
                world.rows.iter().zip(&world.past).all(|(row, past)| match (&row.place, past.claims.last()) {
                    (Place::Held { agent, .. }, last) => last == Some(&(row.attempt, *agent)),
                    (_, last) => row.attempt == last.map_or(0, |(attempt, _)| *attempt),
                })
            }),
            Property::always("a task is completed once", |_, world: &World| {
                world.past.iter().all(|past| past.completions <= 1)
            }),
            Property::always("one sweep takes from the dead and from nobody else", |model: &Self, world: &World| {
                let swept = model.engine.ask(&world.rows, Ask::Sweep, world.clock).rows;
                world.rows.iter().zip(&swept).all(|(row, swept)| {
                    let offered =
                        matches!(swept.place, Place::Free | Place::Failed) && swept.crashes == row.crashes + 1;
                    if Self::over(world, row) { offered } else { row == swept }
                })
            }),
            Property::always("what is over is another's for the asking", |model: &Self, world: &World| {
                let free = |task: usize, row: &Row| {
                    let claimed =
                        model.engine.ask(&world.rows, Ask::Claim { agent: model.agents - 1, task }, world.clock);
                    claimed.granted == Some(row.attempt + 1) || matches!(claimed.rows[task].place, Place::Failed)
                };
                let mut rows = world.rows.iter().enumerate().filter(|(_, row)| Self::over(world, row));
                rows.all(|(task, row)| free(task, row))
            }),
            Property::sometimes("another takes over after the lease and completes", |_, world: &World| {
                world.rows.iter().zip(&world.past).any(|(row, past)| {
                    let taken =
                        past.claims.first().map(|(_, agent)| agent) != past.claims.last().map(|(_, agent)| agent);
                    matches!(row.place, Place::Done { .. }) && taken && row.crashes > 0 && past.writers.len() > 1
                })
            }),
            Property::sometimes("a write is still under way when another has done the task", |_, world: &World| {
                let late = |mail: &Mail| {
                    let row = &world.rows[mail.task];
                    row.attempt > mail.attempt && matches!(row.place, Place::Done { by } if by != mail.agent)
                };
                world.mail.iter().any(late)
            }),
            Property::sometimes("abandoned work is offered again", |_, world: &World| {
                world.rows.iter().any(|row| row.crashes > 0 && row.place == Place::Free)
            }),
            Property::sometimes("work that crashes too often fails", |_, world: &World| {
                world.rows.iter().any(|row| row.place == Place::Failed)
            }),
        ]
    }
}

fn setting(name: &str, usual: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn model(fault: Fault) -> Claims {
    let size = |name, usual| usize::try_from(setting(name, usual)).unwrap_or(1);
    let agents = size("MODEL_AGENTS", 2);
    Claims {
        engine: Engine::new(agents, size("MODEL_TASKS", 1), LEASE_TICKS, fault),
        agents,
        ticks: i64::from(setting("MODEL_TICKS", 3)),
        attempts: setting("MODEL_ATTEMPTS", 3),
        mail: size("MODEL_MAIL", 1),
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[test]
fn claims_are_fenced_in_every_order() {
    let checker = model(Fault::None).checker().threads(threads()).spawn_bfs().join();
    eprintln!(
        "{} states ({} generated), depth {}",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth()
    );
    checker.assert_properties();
}

/// Checks that the model checker finds planted faults: a property must break when the engine does not check the attempt
/// number of a write, or gives two claims the same attempt number.
#[test]
fn planted_faults_are_found() {
    let cases = [
        (Fault::NoFence, "an attempt has at most one accepted writer"),
        (Fault::NoFence, "accepted writes are of who claimed that attempt"),
        (Fault::NoFence, "attempts of accepted writes never decrease"),
        (Fault::SameAttempt, "the attempt grows with each claim"),
    ];
    for (fault, property) in cases {
        let checker = model(fault)
            .checker()
            .threads(threads())
            .finish_when(stateright::HasDiscoveries::AnyOf(std::collections::BTreeSet::from([property])))
            .spawn_bfs()
            .join();
        let path = checker.discovery(property);
        assert!(path.is_some(), "{fault:?} is not found");
        if let Some(path) = path {
            eprintln!("{fault:?}: {:?}", path.into_actions());
        }
    }
}

#[test]
fn agents_stay_at_home_in_every_order() {
    for watched in [true, false] {
        let checker = HomeModel::new(watched, HomeFault::None).checker().threads(threads()).spawn_bfs().join();
        eprintln!(
            "homes, watched {watched}: {} states ({} generated), depth {}",
            checker.unique_state_count(),
            checker.state_count(),
            checker.max_depth()
        );
        checker.assert_properties();
    }
}

#[test]
fn planted_takeovers_are_found() {
    let cases = [
        (HomeFault::MoveOnRead, "only registering moves an agent"),
        (HomeFault::ForeignRenewal, "a lease is renewed by its holder's own voice"),
        (HomeFault::ForeignRenewal, "naming an agent is not being it"),
        (HomeFault::EarlyResumption, "a live home is not taken over"),
        (HomeFault::SkippedGate, "a gated task is skipped by a person"),
    ];
    for (fault, property) in cases {
        let checker = HomeModel::new(true, fault)
            .checker()
            .threads(threads())
            .finish_when(stateright::HasDiscoveries::AnyOf(std::collections::BTreeSet::from([property])))
            .spawn_bfs()
            .join();
        let path = checker.discovery(property);
        assert!(path.is_some(), "{fault:?} is not found");
        if let Some(path) = path {
            eprintln!("{fault:?}: {:?}", path.into_actions());
        }
    }
}
