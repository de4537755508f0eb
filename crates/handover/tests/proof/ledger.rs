//! The ledger of acknowledged writes. Each of these writes must be in the store, and the rows of the store must agree
//! with the store's log.

use std::collections::{BTreeMap, BTreeSet};

use engine::id::{AgentId, TaskId, WorkflowId};
use engine::task::Status;
use engine::{Event, Reply};

use crate::ack::Ack;
use crate::crew::planned_size;
use crate::state::State;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Problem {
    /// A write was acknowledged but is missing in the store.
    Lost,
    /// Two agents hold one task, or the number of a task's claims decreased.
    DoubleClaim,
    /// A part of one change is visible in the store without the rest of the change.
    HalfDone,
    /// A stored counter does not agree with the rows that it counts, or the row of a task does not agree with the log.
    Miscounted,
    /// The verification of the log fails, or the database file is damaged.
    Unverified,
    /// A caller got an error that is not one of Handover's normal refusals, or no answer at all.
    Fault,
}

pub(crate) type Problems = Vec<(Problem, String)>;

/// A record of all writes that the store has acknowledged so far.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) acks: Vec<Ack>,
}

impl Ledger {
    /// Compares the ledger of acknowledged writes with the state of the store. Returns the differences.
    pub(crate) fn check(&self, state: &State) -> Problems {
        let replay = Replay::of(state);
        let mut problems: Problems = state.recount().into_iter().map(|text| (Problem::Miscounted, text)).collect();
        problems.extend(replay.problems.iter().cloned());
        problems.extend(replay.against(state));
        problems.extend(self.double_claims());
        let lost = self.acks.iter().filter(|ack| !is_there(ack, state, &replay));
        problems.extend(lost.map(|ack| (Problem::Lost, format!("{ack:?}"))));
        problems
    }

    /// Finds numbers that were used twice: for two claims of one task by different agents, for two messages of one
    /// mailbox, or for two checkpoints (notes about the progress) of one task.
    fn double_claims(&self) -> Problems {
        let mut claims: BTreeMap<(TaskId, u32), AgentId> = BTreeMap::new();
        let mut numbers = BTreeSet::new();
        let mut problems = Problems::new();
        for ack in &self.acks {
            let is_new = match ack {
                Ack::Claimed { task, agent, attempt } => *claims.entry((*task, *attempt)).or_insert(*agent) == *agent,
                Ack::Noted { task, sequence, .. } => numbers.insert((task.to_string(), *sequence)),
                Ack::Sent { to, sequence, .. } => numbers.insert((to.to_string(), *sequence)),
                Ack::Registered { .. }
                | Ack::Created { .. }
                | Ack::Planned { .. }
                | Ack::Added { .. }
                | Ack::Completed { .. }
                | Ack::Released { .. }
                | Ack::Read { .. } => true,
            };
            if !is_new {
                problems.push((Problem::DoubleClaim, format!("given twice: {ack:?}")));
            }
        }
        problems
    }
}

fn is_there(ack: &Ack, state: &State, replay: &Replay) -> bool {
    match ack {
        Ack::Registered { agent, slug } => state.agents.get(agent) == Some(slug),
        Ack::Created { workflow, .. } => state.workflows.contains_key(workflow),
        Ack::Planned { workflow, tasks, ids } => {
            let set = replay.plans.get(workflow).is_some_and(|plan| plan.planned == Some(u64::from(*tasks)));
            set && state.is_planned(*workflow) && ids.iter().all(|id| state.tasks.contains_key(id))
        }
        Ack::Added { task } => state.tasks.contains_key(task),
        Ack::Claimed { task, agent, attempt } => replay.claims.get(&(*task, *attempt)) == Some(agent),
        Ack::Noted { task, sequence, checkpoint } => {
            state.checkpoints.get(&(*task, u64::from(*sequence))) == Some(checkpoint)
        }
        Ack::Completed { task, agent, attempt, outcome } => state.tasks.get(task).is_some_and(|task| {
            task.status == Status::Completed
                && task.attempt == u64::from(*attempt)
                && task.actor == Some(agent.to_string())
                && task.note.as_ref() == Some(outcome)
        }),
        Ack::Released { task, attempt, .. } => replay.ended.contains(&(*task, *attempt)),
        Ack::Sent { message, to, sequence } => {
            let found = state.messages.get(message);
            found.is_some_and(|found| found.owner == *to && found.sequence == u64::from(*sequence))
        }
        Ack::Read { message } => state.messages.get(message).is_some_and(|found| !found.is_unread),
    }
}

/// The history of the tasks, replayed from the store's log.
#[derive(Debug, Default)]
struct Replay {
    claims: BTreeMap<(TaskId, u32), AgentId>,
    ended: BTreeSet<(TaskId, u32)>,
    tasks: BTreeMap<TaskId, Lease>,
    plans: BTreeMap<WorkflowId, Plan>,
    problems: Problems,
}

#[derive(Debug, Default)]
struct Lease {
    attempt: u32,
    holder: Option<AgentId>,
    status: Option<Status>,
}

#[derive(Debug, Default)]
struct Plan {
    planned: Option<u64>,
    added: u64,
}

impl Replay {
    #[expect(clippy::wildcard_enum_match_arm, reason = "only what the writers do is followed")]
    fn of(state: &State) -> Self {
        let mut replay = Self::default();
        for (_, _, event) in &state.log {
            match event {
                Event::PlanSet { workflow, tasks, .. } => {
                    let plan = replay.plans.entry(*workflow).or_default();
                    if plan.planned.replace(u64::from(*tasks)).is_some() {
                        replay.problems.push((Problem::HalfDone, format!("{workflow} was planned twice")));
                    }
                }
                Event::TaskAdded { task, .. } => replay.plans.entry(task.workflow).or_default().added += 1,
                Event::Claimed { task, agent, attempt, .. } => replay.claimed(*task, *agent, *attempt),
                Event::LeaseEnded { task, agent, failed, .. } => {
                    let lease = replay.tasks.entry(*task).or_default();
                    if lease.holder.take() != Some(*agent) {
                        replay
                            .problems
                            .push((Problem::DoubleClaim, format!("{task}: ended for {agent}, not its holder")));
                    }
                    lease.status = Some(if failed.is_some() { Status::Failed } else { Status::Pending });
                    replay.ended.insert((*task, lease.attempt));
                }
                Event::Moved(moved) => {
                    let lease = replay.tasks.entry(moved.task).or_default();
                    if lease.attempt != moved.attempt {
                        replay
                            .problems
                            .push((Problem::DoubleClaim, format!("{}: moved by a stale attempt", moved.task)));
                    }
                    lease.holder = moved.state.lease().map(|lease| lease.agent);
                    lease.status = Some(moved.state.status());
                }
                _ => {}
            }
        }
        replay
    }

    fn claimed(&mut self, task: TaskId, agent: AgentId, attempt: u32) {
        let lease = self.tasks.entry(task).or_default();
        if let Some(holder) = lease.holder {
            self.problems.push((Problem::DoubleClaim, format!("{task} given to {agent} while {holder} holds it")));
        }
        if attempt != lease.attempt + 1 {
            let text = format!("{task}: attempt {attempt} follows {}", lease.attempt);
            self.problems.push((Problem::DoubleClaim, text));
        }
        *lease = Lease { attempt, holder: Some(agent), status: Some(Status::Pending) };
        self.claims.insert((task, attempt), agent);
    }

    /// Compares the rows of the store with the log of the store.
    fn against(&self, state: &State) -> Problems {
        let mut problems = Problems::new();
        for (id, task) in state.tasks.iter().filter(|(_, task)| state.is_planned(task.workflow)) {
            let row = (task.attempt, task.holder, task.status);
            let said = self.tasks.get(id).map_or((0, None, Status::Pending), |lease| {
                (u64::from(lease.attempt), lease.holder, lease.status.unwrap_or(Status::Pending))
            });
            if row != said {
                problems.push((Problem::Miscounted, format!("{id} is {row:?}, the log says {said:?}")));
            }
        }
        for (id, workflow) in &state.workflows {
            let plan = self.plans.get(id);
            let planned = plan.and_then(|plan| plan.planned);
            let wanted = planned_size(&workflow.name).and_then(|size| u64::try_from(size).ok());
            let whole = match (state.is_planned(*id), planned) {
                (false, planned) => planned.is_none() && workflow.tasks == 0,
                (true, None) => false,
                (true, Some(_)) => {
                    planned == wanted && Some(workflow.tasks) == plan.map(|plan| plan.added + planned.unwrap_or(0))
                }
            };
            if !whole {
                problems.push((Problem::HalfDone, format!("{id} {workflow:?}, the log says {plan:?}")));
            }
        }
        problems
    }
}

/// Checks that no caller can see or claim a task of a plan that is not written completely.
pub(crate) async fn drafts_are_hidden(service: &base::Service, state: &State) -> Problems {
    let mut problems = Problems::new();
    let Some(agent) = state.agents.keys().next().copied() else { return problems };
    for workflow in state.workflows.keys().filter(|id| !state.is_planned(**id)) {
        let ask = engine::offer::OfferQuery {
            workflow: *workflow,
            agent: None,
            include_failed: true,
            after: None,
            limit: 10,
        };
        let page = service.next_tasks(ask).await;
        if !page.as_ref().is_ok_and(|page| page.tasks.is_empty()) {
            problems.push((Problem::HalfDone, format!("{workflow} is in planning and offers {page:?}")));
        }
        let Some((task, _)) = state.tasks.iter().find(|(_, task)| task.workflow == *workflow) else { continue };
        let claim = service.execute(engine::Caller::agent(agent), engine::Command::Claim { task: *task }).await;
        if let Ok(Reply::Claimed { .. } | Reply::AlreadyClaimedBy { .. }) = claim {
            problems.push((Problem::HalfDone, format!("{task} of a plan that is not set was claimed")));
        }
    }
    problems
}
