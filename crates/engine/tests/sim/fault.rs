//! Faults that the simulator plants around the engine on purpose. Each fault breaks one invariant, and the checker of
//! the invariants must notice that.

use engine::agent::Agent;
use engine::approval::{Approval, ApprovalStatus};
use engine::caller::{KeyOwner, Standing};
use engine::command::Target;
use engine::tables::Tables;
use engine::task::{Task, TaskState};
use engine::{Change, Command, Event, Millis, Reply, Rights, Write};

use crate::check::{about, live_holder};
use crate::machine::Step;
use crate::voice::{is_home_dead, is_same_principal, overrides, rights, speaks_as};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Planted fault: every write counts as a write of the task's holder, independent of its sender and its claim
    /// number.
    NoFence,
    /// Planted fault: a claim gets the same attempt number as the claim before it.
    SameAttempt,
    /// Planted fault: a claim treats every lease as expired.
    StolenLease,
    /// Planted fault: the timer that ends expired leases has a clock that is far ahead.
    EagerSweep,
    /// Planted fault: no timer ends expired leases.
    NoSweep,
    /// Planted fault: a message is counted in its mailbox but not stored.
    LostMessage,
    /// Planted fault: the tasks that waited for a completed task still count it as an unmet dependency.
    LostMet,
    /// Planted fault: a task is completed without an outcome text.
    BlankOutcome,
    /// Planted fault: when an agent completes a task, the engine treats the agent like a runner that has verified the
    /// output.
    Unverified,
    /// Planted fault: an event changes the state but is not written to the log.
    Unlogged,
    /// Planted fault: the answer to a call is not stored under the call's idempotency key.
    LostKey,
    /// Planted fault: a refused command changes the state nevertheless.
    LeakyRefusal,
    /// Planted fault: one crash counts as several.
    Overcounted,
    /// Planted fault: any caller that decides about an approval counts as a person.
    AnyoneDecides,
    /// Planted fault: an approval that no task needs any more stays pending.
    NoWithdrawal,
    /// Planted fault: a claim of a gated task does not use up its approval, so the next claim can use it again.
    UnusedGate,
    /// Planted fault: a heartbeat moves the agent that it names to the caller's connection.
    MoveOnRead,
    /// Planted fault: a heartbeat renews the leases of the agent that it names, over any connection.
    ForeignRenewal,
    /// Planted fault: a call acts as the agent that it names, over any connection.
    BorrowedVoice,
    /// Planted fault: registering under the name of a live agent resumes that agent.
    EarlyResumption,
    /// Planted fault: registering under the name of a dead agent creates another agent.
    LostIdentity,
    /// Planted fault: an agent skips a gated task, which only a person may do.
    SkippedGate,
    /// Planted fault: an agent removes a protected task (a task with a gate, a review, limits or a contract), which
    /// only a person may do.
    RemovedGate,
    /// Planted fault: skipping a task lets later tasks begin, although a task with a protection (such as a required
    /// review) before the skipped task is still open.
    FreedPastSkip,
    /// Planted fault: any caller may change a workflow's settings and limits.
    LooseLimits,
    /// Planted fault: any caller may abandon and suspend workflows.
    LooseCourse,
    /// Planted fault: a process that has just started ends expired leases before it has checked which processes are
    /// alive.
    NoFirstLook,
    /// Planted fault: the idempotency keys of an agent belong to its connection, so the agent loses them when it
    /// resumes on another connection.
    KeysLeftBehind,
    /// Planted fault: a person's script may skip and remove protected tasks like the person.
    ScriptLoosens,
    /// Planted fault: a person's script may suspend, end and resume workflows like the person.
    ScriptSteers,
    /// Planted fault: a person's script may decide about approvals like the person.
    ScriptDecides,
    /// Planted fault: the last number that was given to a task is not stored, so it is given again.
    ReusedNumber,
    /// Planted fault: the code with which a browser was enrolled is not deleted, so it can enrol another browser.
    ReusedCode,
}

impl Fault {
    pub(crate) const ALL: [Self; 33] = [
        Self::NoFence,
        Self::SameAttempt,
        Self::StolenLease,
        Self::EagerSweep,
        Self::NoSweep,
        Self::LostMessage,
        Self::LostMet,
        Self::BlankOutcome,
        Self::Unverified,
        Self::Unlogged,
        Self::LostKey,
        Self::LeakyRefusal,
        Self::Overcounted,
        Self::AnyoneDecides,
        Self::NoWithdrawal,
        Self::UnusedGate,
        Self::MoveOnRead,
        Self::ForeignRenewal,
        Self::BorrowedVoice,
        Self::EarlyResumption,
        Self::LostIdentity,
        Self::SkippedGate,
        Self::RemovedGate,
        Self::FreedPastSkip,
        Self::LooseLimits,
        Self::LooseCourse,
        Self::NoFirstLook,
        Self::KeysLeftBehind,
        Self::ScriptLoosens,
        Self::ScriptSteers,
        Self::ScriptDecides,
        Self::ReusedNumber,
        Self::ReusedCode,
    ];

    /// Returns the invariant that this planted fault must break. The checker must report exactly this invariant.
    pub(crate) fn breaks(self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::SameAttempt => "(a) each claim has a higher attempt",
            Self::NoFence => "(b) who does not hold the live claim changes nothing",
            Self::StolenLease => "(c) ",
            Self::EagerSweep => "(c) work of a live agent is not taken away",
            Self::NoSweep => "(c) nothing is held by the dead",
            Self::LostMessage => "(e) no message is lost or out of order",
            Self::LostMet => "(f) unmet counters are right",
            Self::BlankOutcome => "(d) nothing is completed without an outcome",
            Self::Unverified => "(d) what is verified is completed by the runner",
            Self::Unlogged => "(g) every change is in the log",
            Self::LostKey => "(h) the first answer is kept",
            Self::LeakyRefusal => "(h) a refusal changes nothing",
            Self::Overcounted => "(f) crashes stay within the attempts",
            Self::AnyoneDecides => "(k) only a person decides",
            Self::NoWithdrawal => "(k) what waits for a person is needed",
            Self::UnusedGate => "(k) a gated task begins with a person's yes",
            Self::MoveOnRead => "(l) an agent moves only by registering",
            Self::ForeignRenewal => "(l) a lease is renewed by its holder's own voice",
            Self::BorrowedVoice => "(l) ",
            Self::EarlyResumption => "(l) only a dead home is taken over",
            Self::LostIdentity => "(l) a dead agent's identity is not lost",
            Self::ScriptLoosens => "(m) a ",
            Self::ScriptSteers => "(m) the course of a workflow is a person's",
            Self::ScriptDecides => "(k) only a person decides",
            Self::SkippedGate => "(m) a protected task is loosened by a person",
            Self::RemovedGate => "(m) a ",
            Self::FreedPastSkip => "(m) nothing passes round a protected task",
            Self::LooseLimits => "(m) ",
            Self::LooseCourse => "(m) the course of a workflow is a person's",
            Self::NoFirstLook => "(c) work of a live agent is not taken away",
            Self::KeysLeftBehind => "(h) ",
            Self::ReusedNumber => "(n) a task number is given once",
            Self::ReusedCode => "(p) a code is used once",
        }
    }

    /// Changes a step of the simulator as the planted fault requires, before the engine gets it. Returns `None` if the
    /// fault does not change this step.
    pub(crate) fn bend_step(self, tables: &Tables, step: &Step) -> Option<Step> {
        if self == Self::None {
            return None;
        }
        let mut bent = step.clone();
        match self {
            Self::NoFence => {
                let task = about(&step.command).and_then(|(id, _)| tables.tasks.get(&id))?;
                let holder = live_holder(tables, task, step)?;
                // Do not plant the fault `NoFence` in a call with an idempotency key. Such a call would get the stored
                // answer of another agent's call, which breaks another invariant first.
                let keyed = step.caller.key.is_some();
                if keyed || matches!(step.command, Command::Claim { .. }) || overrides(tables, step) {
                    return None;
                }
                bent.caller.agent = Some(holder);
                drop_attempt(&mut bent.command);
            }
            Self::StolenLease => {
                let Command::Claim { task } = &step.command else { return None };
                let until = tables.tasks.get(task)?.state.running_lease()?.until;
                bent.now = bent.now.max(until);
                bent.caller.alive.clear();
            }
            Self::EagerSweep if matches!(step.command, Command::Sweep { .. }) => {
                bent.now = bent.now + Millis::minutes(10);
            }
            Self::Unverified if step.caller.rights == Rights::Agent && matches!(step.command, Command::Move { .. }) => {
                let agent = step.caller.agent.filter(|agent| speaks_as(tables, step, *agent))?;
                bent.caller.agent = Some(agent);
                bent.caller.rights = Rights::Runner;
            }
            Self::AnyoneDecides if matches!(step.command, Command::DecideApproval { .. }) => {
                bent.caller.rights = Rights::Person;
                bent.caller.agent = None;
            }
            _ => return self.bend_identity(tables, step),
        }
        Some(bent)
    }

    /// Applies the planted faults that change the acting agent or the caller's rights.
    fn bend_identity(self, tables: &Tables, step: &Step) -> Option<Step> {
        // Do not change a step that has an idempotency key, because such a key belongs to one caller and the code below
        // changes the caller. The exception is the fault `KeysLeftBehind`, which is about these keys.
        if step.caller.key.is_some() && self != Self::KeysLeftBehind {
            return None;
        }
        let mut bent = step.clone();
        let is_agent = matches!(step.caller.rights, Rights::Agent | Rights::Runner);
        match (self, &step.command) {
            (Self::ForeignRenewal, Command::Heartbeat { .. } | Command::Renew) => {
                // Change the step only if a lease of the named agent is due for renewal. Otherwise the planted fault
                // would have no effect, because the engine renews a lease only when a tenth of it has passed.
                let due = |task: &Task| {
                    let lease_ms = tables.workflows.get(&task.workflow).map(|workflow| workflow.lease_ms);
                    let until = task.state.running_lease().map(|lease| lease.until);
                    let old = until
                        .zip(lease_ms)
                        .is_some_and(|(until, lease_ms)| until + Millis(lease_ms.0 / 10) <= step.now + lease_ms);
                    old && live_holder(tables, task, step).is_some_and(|holder| Some(holder) == step.caller.agent)
                };
                tables.tasks.values().find(|task| due(task))?;
                bent.caller.standing = Standing::Vouched;
            }
            // Do not plant the fault `BorrowedVoice` in a claim. A claim in the name of another agent would break the
            // invariants of claims first.
            (Self::BorrowedVoice, command)
                if !matches!(command, Command::Register(_) | Command::Claim { .. } | Command::ClaimNext { .. }) =>
            {
                bent.caller.standing = Standing::Vouched;
            }
            (Self::EarlyResumption, Command::Register(register)) => {
                let same = |agent: &&Agent| agent.left.is_none() && agent.name == register.name;
                bent.caller.agent = Some(tables.agents.values().find(same)?.id);
                bent.caller.standing = Standing::Vouched;
            }
            (Self::LostIdentity, Command::Register(register)) => {
                let dead = |agent: &Agent| {
                    let own = agent.name == register.name && is_same_principal(step, agent);
                    own && agent.left.is_none() && is_home_dead(tables, step, agent)
                };
                if !tables.agents.values().any(dead) {
                    return None;
                }
                bent.caller.principal = None;
            }
            (Self::SkippedGate, Command::Move { to: Target::Skipped { .. }, .. }) if is_agent => {
                (bent.caller.agent, bent.caller.rights) = (None, Rights::Person);
            }
            (Self::RemovedGate, Command::RemoveTask { .. }) if is_agent => {
                (bent.caller.agent, bent.caller.rights) = (None, Rights::Person);
            }
            (Self::LooseLimits, Command::SetConfig { .. } | Command::SetParallelism { .. })
            | (Self::LooseCourse, Command::SetWorkflowStatus { .. }) => {
                (bent.caller.agent, bent.caller.rights) = (None, Rights::Person);
            }
            (Self::ScriptLoosens, Command::Move { .. } | Command::RemoveTask { .. } | Command::Replan { .. })
            | (Self::ScriptSteers, Command::SetWorkflowStatus { .. })
            | (Self::ScriptDecides, Command::DecideApproval { .. })
                if rights(tables, step) == Rights::Script =>
            {
                bent.caller.rights = Rights::Person;
            }
            (Self::NoFirstLook, Command::Sweep { .. }) => bent.caller.alive.clear(),
            (Self::KeysLeftBehind, _) => {
                let key = bent.caller.key.as_mut()?;
                let KeyOwner::Acting { connection, tool } = &key.owner else { return None };
                key.owner = KeyOwner::Fixed(format!("{connection} {tool}"));
            }
            _ => return None,
        }
        Some(bent)
    }

    /// Plants a fault: treats a heartbeat over another connection like a heartbeat over the agent's own connection, and
    /// moves the agent to the caller's connection.
    pub(crate) fn move_on_read(self, tables: &Tables, step: &Step, change: &mut Change, writes: &mut Vec<Write>) {
        let heartbeat = matches!(step.command, Command::Heartbeat { .. } | Command::Renew);
        if self != Self::MoveOnRead || !heartbeat || step.caller.key.is_some() {
            return;
        }
        let named = step.caller.agent.and_then(|named| tables.agents.get(&named));
        if let (Some(agent), Some(session)) = (named, step.caller.session)
            && agent.session != Some(session)
        {
            change.reply = Ok(Reply::Alive { next_heartbeat_ms: Millis::seconds(30) });
            writes.push(Write::Agent(Box::new(Agent { session: Some(session), ..agent.clone() })));
        }
    }

    /// Applies the planted faults that change the recorded events, and changes the rows that follow from these events.
    pub(crate) fn bend_change(self, change: &mut Change, mut writes: Vec<Write>) -> Vec<Write> {
        match self {
            Self::SameAttempt => {
                for event in &mut change.events {
                    let Event::Claimed { task: id, attempt, .. } = event else { continue };
                    *attempt -= 1;
                    for write in &mut writes {
                        if let Write::Task(task) = write
                            && task.id == *id
                        {
                            task.attempt = *attempt;
                        }
                    }
                }
            }
            Self::BlankOutcome => {
                for write in &mut writes {
                    if let Write::Task(task) = write
                        && let TaskState::Completed { outcome, .. } = &mut task.state
                    {
                        outcome.clear();
                    }
                }
            }
            Self::Unlogged => change.events.retain(|event| !matches!(event, Event::Moved(_))),
            Self::LeakyRefusal if change.reply.is_err() => {
                writes.push(Write::ForgetKeys(engine::Timestamp(0)));
            }
            Self::Overcounted => {
                let ended = |write: &&mut Write| matches!(write, Write::Task(task) if task.crashes > 0);
                for write in writes.iter_mut().filter(ended) {
                    if let Write::Task(task) = write {
                        task.crashes += task.attempts_max;
                    }
                }
            }
            Self::FreedPastSkip => {
                let kept = |event: &Event| matches!(event, Event::DependenciesKept { .. });
                if change.events.iter().any(kept) {
                    change.events.retain(|event| !kept(event));
                    writes.retain(|write| !matches!(write, Write::Edges(_) | Write::Waits(..)));
                }
            }
            Self::NoWithdrawal => drop_approvals(change, &mut writes, ApprovalStatus::Revoked),
            Self::UnusedGate => drop_approvals(change, &mut writes, ApprovalStatus::Consumed),
            Self::NoSweep if matches!(change.reply, Ok(Reply::Swept { .. })) => {
                change.events.retain(|event| matches!(event, Event::KeyKept { .. }));
                writes.retain(|write| matches!(write, Write::Key(_)));
            }
            _ => {}
        }
        writes
    }

    pub(crate) fn bend_writes(self, writes: &mut Vec<Write>) {
        match self {
            Self::LostMessage => writes.retain(|write| !matches!(write, Write::Message(_))),
            Self::LostMet => writes.retain(|write| !matches!(write, Write::Met(_))),
            Self::ReusedNumber => writes.retain(|write| !matches!(write, Write::LastTaskNumber(_))),
            Self::LostKey => writes.retain(|write| !matches!(write, Write::Key(_))),
            Self::ReusedCode => writes.retain(|write| !matches!(write, Write::DropToken(_))),
            _ => {}
        }
    }
}

/// Plants a fault: removes the changes by which the engine itself moves approvals to this status. The changes stay when
/// the command itself decides about an approval or consumes it.
fn drop_approvals(change: &mut Change, writes: &mut Vec<Write>, status: ApprovalStatus) {
    if !matches!(change.reply, Ok(Reply::ApprovalDecided { .. } | Reply::ApprovalConsumed)) {
        let dropped = |approval: &Approval| approval.state.status() == status;
        change.events.retain(|event| !matches!(event, Event::ApprovalMoved { approval } if dropped(approval)));
        writes.retain(|write| !matches!(write, Write::Approval(approval) if dropped(approval)));
    }
}

fn drop_attempt(command: &mut Command) {
    match command {
        Command::Release { attempt, .. }
        | Command::Move { attempt, .. }
        | Command::SetTaskPlan { attempt, .. }
        | Command::ReplanTask { attempt, .. }
        | Command::AddCheckpoint { attempt, .. } => *attempt = None,
        _ => {}
    }
}
