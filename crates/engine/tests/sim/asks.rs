//! Requests of simulated agents to a person, and the decisions about these requests. A decision comes in time, too
//! late, twice, or from a caller who may not decide.

use engine::approval::{Approval, ApprovalDecision, ApprovalRequest, ApprovalStatus, Source};
use engine::command::{AskApproval, Target};
use engine::id::TaskId;
use engine::tables::Tables;
use engine::task::Status;
use engine::{Caller, Command, Rights, Timestamp};

use crate::crew::{Crew, Order};

/// The number of different operations for which agents ask. It is small, so that agents often ask for the same
/// operation again.
const OPERATIONS: usize = 5;

impl Crew {
    pub(crate) fn approval(&mut self, tables: &Tables) -> Order {
        match self.rng.below(100) {
            0..30 => self.ask(tables),
            30..50 => self.ask_gate(tables),
            50..78 => self.decide(tables),
            78..93 => self.consume(tables),
            _ => self.expire(),
        }
    }

    /// Returns the command by which an agent asks for an approval. The request names a task that the agent believes it
    /// holds, or no task.
    fn ask(&mut self, tables: &Tables) -> Order {
        let place = self.awake();
        if self.workers[place].id.is_none() {
            return self.register(place);
        }
        let aimed = if self.rng.percent(80) { self.aim(tables, place) } else { None };
        let waits = aimed.and_then(|(task, attempt)| {
            let attempt = attempt.or_else(|| tables.tasks.get(&task).map(|task| task.attempt))?;
            Some((task, attempt))
        });
        let caller = self.caller(place);
        let source = match (waits, caller.rights) {
            (None, _) => Source::Gate,
            (Some(_), Rights::Runner) => Source::Handoff,
            (Some(_), _) => Source::ExecGate,
        };
        let command = self.asked(source, waits);
        self.order(caller, command, Some(place))
    }

    /// Returns the command that asks a person to approve the start of a gated task, as the engine does when the task
    /// could begin.
    fn ask_gate(&mut self, tables: &Tables) -> Order {
        let gated: Vec<_> =
            tables.tasks.values().filter(|task| task.gate).map(|task| (task.id, task.attempt)).collect();
        let waits = self.rng.pick(&gated).map(|(task, attempt)| (*task, attempt + u32::from(self.rng.percent(95))));
        let command = self.asked(Source::ExecGate, waits);
        self.order(Caller::with_rights(Rights::Engine), command, None)
    }

    pub(crate) fn asked(&mut self, source: Source, waits: Option<(TaskId, u32)>) -> Command {
        let operation = format!("operation {}", self.rng.below(OPERATIONS));
        let fingerprint = format!("{operation} {waits:?} {source}");
        let request = ApprovalRequest { operation, ..ApprovalRequest::default() };
        Command::AskApproval(Box::new(AskApproval { source, waits, request, fingerprint }))
    }

    fn some_approval(&mut self, tables: &Tables, status: ApprovalStatus) -> Option<Approval> {
        let wanted: Vec<_> = tables.approvals.values().filter(|row| row.state.status() == status).cloned().collect();
        let found = if self.rng.percent(85) { self.rng.pick(&wanted).cloned() } else { None };
        found.or_else(|| tables.approvals.values().nth(self.rng.below(tables.approvals.len())).cloned())
    }

    /// Returns the command by which a script or a coordinator resumes a paused task although the person has not
    /// answered.
    fn pass_by(&mut self, tables: &Tables) -> Option<Order> {
        let paused = |row: &Approval| {
            let task = row.waiting.filter(|_| row.state.status() == ApprovalStatus::Pending)?.task;
            tables.tasks.get(&task).filter(|task| task.status() == Status::Paused).map(|task| task.id)
        };
        let paused: Vec<TaskId> = tables.approvals.values().filter_map(paused).collect();
        let task = *self.rng.pick(&paused)?;
        let rights = if self.rng.percent(60) { Rights::Script } else { Rights::Coordinator };
        let command = Command::Move { task, attempt: None, to: Target::InProgress { answer: None } };
        Some(self.order(Caller::with_rights(rights), command, None))
    }

    /// Returns a command that decides about an approval: mostly as a person, sometimes as a caller who may not decide.
    fn decide(&mut self, tables: &Tables) -> Order {
        if self.rng.percent(15)
            && let Some(order) = self.pass_by(tables)
        {
            return order;
        }
        let Some(found) = self.some_approval(tables, ApprovalStatus::Pending) else { return self.expire() };
        let decision = match self.rng.below(10) {
            0..6 => ApprovalDecision::Approve,
            6..9 => ApprovalDecision::Reject { reason: "no".to_owned() },
            _ => ApprovalDecision::Revoke { reason: None },
        };
        let caller = match self.rng.below(20) {
            0 => Caller::with_rights(Rights::Coordinator),
            4..8 => Caller::with_rights(Rights::Script),
            1 => Caller { agent: found.agent(), ..Caller::with_rights(Rights::Agent) },
            2 => Caller { agent: found.agent(), ..Caller::with_rights(Rights::Person) },
            3 => Caller { agent: found.agent(), ..Caller::with_rights(Rights::Runner) },
            _ => Caller::with_rights(Rights::Person),
        };
        self.order(caller, Command::DecideApproval { approval: found.id, decision }, None)
    }

    fn consume(&mut self, tables: &Tables) -> Order {
        let Some(found) = self.some_approval(tables, ApprovalStatus::Approved) else { return self.expire() };
        let place = self.rng.below(self.workers.len());
        let agent = if self.rng.percent(85) { found.agent() } else { self.workers[place].id };
        let fingerprint = if self.rng.percent(90) { found.fingerprint.clone() } else { "something else".to_owned() };
        let caller = Caller { agent, ..Caller::with_rights(Rights::Runner) };
        self.order(caller, Command::ConsumeApproval { approval: found.id, fingerprint }, None)
    }

    fn expire(&mut self) -> Order {
        let mut order = self.order(Caller::with_rights(Rights::Engine), Command::ExpireApprovals, None);
        order.step.now = Timestamp(self.now);
        order
    }
}
