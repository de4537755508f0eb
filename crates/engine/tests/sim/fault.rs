//! Faults planted around the engine. Each breaks one promise, and the checker must notice.

use engine::approval::{Approval, ApprovalStatus};
use engine::tables::Tables;
use engine::task::State;
use engine::{Change, Command, Event, Millis, Rights, Write};

use crate::check::about;
use crate::machine::Step;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// A write counts as the holder's, whoever sent it and whatever its attempt.
    NoFence,
    /// A claim keeps the number of the last one.
    SameAttempt,
    /// A claim finds every lease over.
    StolenLease,
    /// The sweep's clock is far ahead.
    EagerSweep,
    /// Nobody ends leases that are over.
    NoSweep,
    /// A message is counted but not kept.
    LostMessage,
    /// Who waits is not told.
    LostMet,
    /// Completion without a text.
    BlankOutcome,
    /// Anyone's completion counts as verified.
    Unverified,
    /// An event is applied and left out of the log.
    Unlogged,
    /// The answer to a key is not kept.
    LostKey,
    /// A refusal leaves something behind.
    LeakyRefusal,
    /// A crash counts for many.
    Overcounted,
    /// Whoever asks for a decision is taken for a person.
    AnyoneDecides,
    /// What nobody needs goes on waiting for a person.
    NoWithdrawal,
    /// A claim of a gated task leaves its approval for the next one.
    UnusedGate,
}

impl Fault {
    pub(crate) const ALL: [Self; 16] = [
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
    ];

    /// The rule that must notice.
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
        }
    }

    /// What the engine is given instead of what was asked.
    pub(crate) fn bend_step(self, tables: &Tables, step: &Step) -> Option<Step> {
        if self == Self::None {
            return None;
        }
        let mut bent = step.clone();
        match self {
            Self::NoFence => {
                let holder = about(&step.command).and_then(|(id, _)| tables.tasks.get(&id)?.holder())?;
                if matches!(step.command, Command::Claim { .. }) {
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
                bent.caller.rights = Rights::Runner;
            }
            Self::AnyoneDecides if matches!(step.command, Command::DecideApproval { .. }) => {
                bent.caller.rights = Rights::Person;
                bent.caller.agent = None;
            }
            _ => return None,
        }
        Some(bent)
    }

    /// What is recorded instead of what was decided. Rows that follow from it are bent along.
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
                        && let State::Completed { outcome, .. } = &mut task.state
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
            Self::NoWithdrawal => drop_approvals(change, &mut writes, ApprovalStatus::Revoked),
            Self::UnusedGate => drop_approvals(change, &mut writes, ApprovalStatus::Consumed),
            Self::NoSweep if matches!(change.reply, Ok(engine::Reply::Swept { .. })) => {
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
            Self::LostKey => writes.retain(|write| !matches!(write, Write::Key(_))),
            _ => {}
        }
    }
}

/// Approvals that the engine itself brought there are left as they were.
fn drop_approvals(change: &mut Change, writes: &mut Vec<Write>, status: ApprovalStatus) {
    if !matches!(change.reply, Ok(engine::Reply::ApprovalDecided { .. } | engine::Reply::ApprovalConsumed)) {
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
