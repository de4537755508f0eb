//! Simulates writers: agents that make random calls and report every acknowledged write.

use std::sync::{Arc, Mutex, PoisonError};

use base::Error;
use base::Service;
use engine::command::{CreateWorkflow, Note, Register, Target};
use engine::id::{AgentId, MessageId, TaskId, WorkflowId};
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::plan::PlanTask;
use engine::task::Priority;
use engine::workflow::{Workflow, WorkflowStatus};
use engine::{Caller, Command, Millis, Refusal, Reply, Rights};

use crate::ack::{Ack, Report};
use chance::SeededRandom;

/// The number of tasks of a large plan: more tasks than one transaction inserts, so that the plan is written in several
/// transactions.
pub(crate) const LARGE_PLAN: usize = 3_100;
const LEASE: Millis = Millis::minutes(1);

/// The workflows and the mailboxes that the writers of one process share.
#[derive(Debug, Default)]
pub(crate) struct Board {
    workflows: Mutex<Vec<WorkflowId>>,
    mail: Mutex<Vec<(AgentId, Option<MessageId>)>>,
}

impl Board {
    /// Finds the workflows that earlier processes created in the store.
    pub(crate) async fn read(service: &Service) -> Result<Self, Error> {
        let heads = service.store().heads("workflows/".to_owned(), 500).await?;
        let ids = heads.iter().filter_map(|head| head.topic.strip_prefix("workflows/")?.parse().ok());
        Ok(Self { workflows: Mutex::new(ids.collect()), mail: Mutex::default() })
    }

    fn any_workflow(&self, rng: &mut SeededRandom) -> Option<WorkflowId> {
        let workflows = self.workflows.lock().unwrap_or_else(PoisonError::into_inner);
        workflows.get(rng.below(workflows.len())).copied()
    }

    fn all_workflows(&self) -> Vec<WorkflowId> {
        self.workflows.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add_workflow(&self, workflow: WorkflowId) {
        self.workflows.lock().unwrap_or_else(PoisonError::into_inner).push(workflow);
    }

    fn forget_workflow(&self, workflow: WorkflowId) {
        self.workflows.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| *known != workflow);
    }

    fn add_mail(&self, agent: AgentId, message: Option<MessageId>) {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner).push((agent, message));
    }

    fn any_mail(&self, rng: &mut SeededRandom) -> Option<(AgentId, Option<MessageId>)> {
        let mail = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        mail.get(rng.below(mail.len())).copied()
    }
}

/// A simulated agent that makes random calls.
pub(crate) struct Writer {
    service: Service,
    board: Arc<Board>,
    report: Report,
    rng: SeededRandom,
    pub(crate) agent: AgentId,
    held: Vec<(TaskId, u32)>,
    acts: u32,
}

impl Writer {
    pub(crate) async fn register(
        service: Service,
        board: Arc<Board>,
        report: Report,
        mut rng: SeededRandom,
    ) -> Result<Self, Error> {
        let register = Register::named(format!("writer-{}", rng.below(1_000_000)), "proof");
        let reply = service.execute(Caller::with_rights(Rights::Agent), Command::Register(register)).await?;
        let Reply::Registered { agent, slug, .. } = reply else { return Err(unexpected()) };
        report(Ack::Registered { agent, slug });
        board.add_mail(agent, None);
        Ok(Self { service, board, report, rng, agent, held: Vec::new(), acts: 0 })
    }

    /// Does one random action. Ignores refusals, because other writers may have been faster.
    pub(crate) async fn act(&mut self) -> Result<(), Error> {
        self.acts += 1;
        let done = match (self.rng.below(100), self.held.is_empty()) {
            (0..35, _) | (35..80, true) => self.claim().await,
            (35..58, false) => self.note().await,
            (58..74, false) => self.complete().await,
            (74..80, false) => self.release().await,
            (80..90, _) => self.send().await,
            (90..95, _) => self.read().await,
            (95..98, _) => self.add_task().await,
            _ => self.service.sweep().await.map(|_| ()),
        };
        unless_refused(done)
    }

    async fn execute(&self, command: Command) -> Result<Reply, Error> {
        self.service.execute(Caller::agent(self.agent), command).await
    }

    async fn claim(&mut self) -> Result<(), Error> {
        let Some(workflow) = self.board.any_workflow(&mut self.rng) else { return self.plan_small().await };
        let next = Command::ClaimNext { workflow, include_failed: false };
        match self.execute(next).await {
            Ok(Reply::Claimed { task, attempt, .. }) => {
                (self.report)(Ack::Claimed { task, agent: self.agent, attempt });
                self.held.push((task, attempt));
                Ok(())
            }
            Ok(Reply::NoTask { all_done: true, .. }) => {
                self.board.forget_workflow(workflow);
                self.plan_small().await
            }
            Ok(_) if self.rng.percent(20) => self.plan_small().await,
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn note(&mut self) -> Result<(), Error> {
        let (task, attempt) = self.held[self.rng.below(self.held.len())];
        let note = Note::plain(engine::checkpoint::Kind::Progress, format!("{} act {}", self.agent, self.acts));
        let reply = self.execute(Command::AddCheckpoint { task, attempt: Some(attempt), note }).await;
        if let Reply::CheckpointAdded { checkpoint, sequence } = self.kept(task, reply)? {
            (self.report)(Ack::Noted { task, sequence, checkpoint });
        }
        Ok(())
    }

    async fn complete(&mut self) -> Result<(), Error> {
        let (task, attempt) = self.held.swap_remove(self.rng.below(self.held.len()));
        let outcome = format!("{} act {}", self.agent, self.acts);
        let to = Target::Completed { outcome: Some(outcome.clone()), detail: None, delivery: None };
        self.execute(Command::Move { task, attempt: Some(attempt), to }).await?;
        (self.report)(Ack::Completed { task, agent: self.agent, attempt, outcome });
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Error> {
        let (task, attempt) = self.held.swap_remove(self.rng.below(self.held.len()));
        self.execute(Command::Release { task, attempt: Some(attempt), reason: None }).await?;
        (self.report)(Ack::Released { task, agent: self.agent, attempt });
        Ok(())
    }

    async fn send(&mut self) -> Result<(), Error> {
        let to = match self.board.any_mail(&mut self.rng) {
            Some((agent, _)) if self.rng.percent(90) => MailboxOwner::Agent(agent),
            _ => MailboxOwner::Human,
        };
        let draft =
            MessageDraft::text(MessageKind::Info, Priority::DEFAULT, format!("{} act {}", self.agent, self.acts));
        let reply = self.execute(Command::Send { to: Recipients::One(to), draft }).await?;
        if let Reply::Sent { message, sequence, .. } = reply {
            (self.report)(Ack::Sent { message, to, sequence });
            if let MailboxOwner::Agent(agent) = to {
                self.board.add_mail(agent, Some(message));
            }
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<(), Error> {
        let Some((owner, Some(message))) = self.board.any_mail(&mut self.rng) else { return Ok(()) };
        self.service.execute(Caller::agent(owner), Command::MarkRead { messages: vec![message] }).await?;
        (self.report)(Ack::Read { message });
        Ok(())
    }

    async fn add_task(&mut self) -> Result<(), Error> {
        let Some(workflow) = self.board.any_workflow(&mut self.rng) else { return Ok(()) };
        let task = Box::new(PlanTask::named(format!("{} act {}", self.agent, self.acts)));
        let caller = Caller::with_rights(Rights::Coordinator);
        let reply = self.service.execute(caller, Command::AddTask { workflow, task, after: None }).await?;
        if let Reply::TaskAdded { task, .. } = reply {
            (self.report)(Ack::Added { task });
        }
        Ok(())
    }

    async fn plan_small(&mut self) -> Result<(), Error> {
        let tasks = 3 + self.rng.below(20);
        plan(&self.service, &self.board, &self.report, tasks).await
    }

    /// If the reply says that the claim is lost, removes the task from the list of tasks that the writer believes it
    /// holds. Returns the reply.
    fn kept(&mut self, task: TaskId, reply: Result<Reply, Error>) -> Result<Reply, Error> {
        if matches!(reply, Err(Error::Refused(Refusal::ClaimLost { .. }))) {
            self.held.retain(|(held, _)| *held != task);
        }
        reply
    }
}

/// Finishes plans that a killed process left incomplete, then sets a large plan, which is written in several
/// transactions. Refusals are ignored, because another writer may have finished or set a plan first.
pub(crate) async fn plan_large(service: &Service, board: &Board, report: &Report) -> Result<(), Error> {
    for workflow in board.all_workflows() {
        let found: Workflow = service.view(move |world| world.workflow(workflow).cloned()).await?;
        if found.status == WorkflowStatus::Planning {
            let tasks = planned_size(&found.name).unwrap_or(LARGE_PLAN);
            unless_refused(set(service, report, workflow, tasks).await)?;
        }
    }
    unless_refused(plan(service, board, report, LARGE_PLAN).await)
}

fn unless_refused(done: Result<(), Error>) -> Result<(), Error> {
    if let Err(Error::Refused(_)) = done { Ok(()) } else { done }
}

/// Returns the number of tasks in a plan, from the workflow's name.
pub(crate) fn planned_size(name: &str) -> Option<usize> {
    name.strip_prefix("plan of ")?.parse().ok()
}

async fn plan(service: &Service, board: &Board, report: &Report, tasks: usize) -> Result<(), Error> {
    let create = CreateWorkflow { lease_ms: Some(LEASE), ..CreateWorkflow::named(format!("plan of {tasks}")) };
    let reply = service.execute(Caller::with_rights(Rights::Coordinator), Command::CreateWorkflow(create)).await?;
    let Reply::WorkflowCreated { workflow, .. } = reply else { return Err(unexpected()) };
    report(Ack::Created { workflow, tasks });
    set(service, report, workflow, tasks).await?;
    board.add_workflow(workflow);
    Ok(())
}

async fn set(service: &Service, report: &Report, workflow: WorkflowId, tasks: usize) -> Result<(), Error> {
    let caller = Caller::with_rights(Rights::Coordinator);
    let reply = service.set_plan(caller, workflow, "a plan".to_owned(), plan_tasks(tasks)).await?;
    let Reply::PlanSet { workflow, tasks, task_ids, .. } = reply else { return Err(unexpected()) };
    // A few ids are enough to find the plan, and the line with the acknowledgement must fit into a pipe's buffer.
    let ids = task_ids.iter().map(|(_, id)| *id).take(20).collect();
    report(Ack::Planned { workflow, tasks, ids });
    Ok(())
}

/// Returns the tasks of a plan. A small plan consists of chains of three tasks. In a large plan every task depends on
/// the task a hundred places before it.
fn plan_tasks(count: usize) -> Vec<PlanTask> {
    let name = |number: usize| format!("task {number}");
    let before = |number: usize| {
        if count < 100 { (!number.is_multiple_of(3)).then(|| number - 1) } else { number.checked_sub(100) }
    };
    let task = |number| PlanTask {
        depends_on: before(number).map(name).into_iter().collect(),
        attempts_max: 1_000,
        ..PlanTask::named(name(number))
    };
    (0..count).map(task).collect()
}

fn unexpected() -> Error {
    Error::Random("a reply of another kind than asked for".to_owned())
}
