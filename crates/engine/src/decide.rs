//! One match: a command to the rule that owns it. No effects, so it may be run any number of times.

use crate::command::{Actor, Caller, Command, Rights};
use crate::event::{Cause, Event};
use crate::id::{AgentId, Ids, TaskId};
use crate::key::{KeyId, StoredKey};
use crate::limits;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::{agent, claim, inbox, place, plan, replan, status, workflow};
use crate::task::{Lease, Task};
use crate::time::{Stamp, Timestamp};
use crate::workflow::Workflow;
use crate::world::{Need, Stop, World};

/// What a command does and answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub events: Vec<Event>,
    pub sender: Actor,
    pub reply: Result<Reply, Refusal>,
}

/// Decides a command, or says what must be loaded first.
pub fn decide(world: &World, caller: &Caller, command: &Command, stamp: Stamp) -> Result<Change, Vec<Need>> {
    let key = caller.key.as_ref().map(|key| KeyId {
        owner: key.owner.clone(),
        act: command.name().to_owned(),
        key: key.key.clone(),
    });
    let mut case = Case { world, caller, now: stamp.now, ids: Ids::new(stamp.seed), events: Vec::new() };
    let sender = case.sender();
    let answered = match &key {
        Some(id) => case.answered(id),
        None => Ok(None),
    };
    let result = match answered {
        Ok(Some(reply)) => {
            return Ok(Change { events: Vec::new(), sender, reply });
        }
        Ok(None) => run(&mut case, command),
        Err(Stop::Missing(needs)) => return Err(needs),
        // What is not a key cannot be kept, and a database need not take it.
        Err(Stop::Refused(refusal) | Stop::Recorded(refusal)) => {
            return Ok(Change { events: Vec::new(), sender, reply: Err(refusal) });
        }
    };
    let reply = match result {
        Ok(reply) => Ok(reply),
        Err(Stop::Missing(needs)) => return Err(needs),
        Err(Stop::Refused(refusal)) => {
            case.events.clear();
            Err(refusal)
        }
        Err(Stop::Recorded(refusal)) => Err(refusal),
    };
    if let (Some(id), Some(key), true) = (key, &caller.key, command.is_final()) {
        let fingerprint = key.fingerprint.clone();
        let until = case.now + limits::KEY_MS;
        case.events.push(Event::KeyKept { key: Box::new(StoredKey { id, fingerprint, answer: reply.clone(), until }) });
    }
    Ok(Change { events: case.events, sender, reply })
}

fn run(case: &mut Case<'_>, command: &Command) -> Result<Reply, Stop> {
    match command {
        Command::Register(register) => agent::register(case, register),
        Command::Heartbeat { current_task } => agent::heartbeat(case, *current_task),
        Command::UpdateAgent { workspace_path, metadata } => {
            agent::update(case, workspace_path.as_deref(), metadata.as_ref())
        }
        Command::Unregister => agent::unregister(case),
        Command::Renew => agent::renew(case),
        Command::CloseSession { session, end } => agent::close_session(case, *session, *end),

        Command::CreateWorkflow(create) => workflow::create(case, create),
        Command::SetPlan { workflow, summary, piece, groups } => plan::set(case, *workflow, summary, piece, groups),
        Command::BeginPlan { workflow, token } => plan::begin(case, *workflow, token),
        Command::ClearDraft { workflow, token } => plan::clear(case, *workflow, token),
        Command::StagePlan { workflow, token, piece } => plan::stage(case, *workflow, token, piece),
        Command::CommitPlan { workflow, token, summary, tasks, groups, task_ids } => {
            plan::commit(case, *workflow, token, &plan::Committed { summary, tasks: *tasks, groups, task_ids })
        }
        Command::AddTask { workflow, task, after } => replan::add(case, *workflow, task, after.as_deref()),
        Command::RemoveTask { workflow, task } => replan::remove(case, *workflow, *task),
        Command::Replan { workflow, summary, reason, tasks } => replan::replan(case, *workflow, summary, reason, tasks),
        Command::SetWorkflowStatus { workflow, status, reason } => {
            workflow::set_status(case, *workflow, *status, reason.as_deref())
        }
        Command::SetParallelism { workflow, parallel_max, auto_workspaces } => {
            workflow::set_parallelism(case, *workflow, *parallel_max, *auto_workspaces)
        }
        Command::SetConfig { workflow, config } => workflow::set_config(case, *workflow, config),
        Command::LockWorkflow { workflow, owner } => workflow::lock(case, *workflow, owner),
        Command::UnlockWorkflow { workflow, owner } => workflow::unlock(case, *workflow, owner),
        Command::AttachRepository { workflow, path } => place::attach(case, *workflow, path),
        Command::DetachRepository { workflow, repository } => place::detach(case, *workflow, *repository),

        Command::Claim { task } => claim::claim(case, *task),
        Command::ClaimNext { workflow, include_failed } => claim::claim_next(case, *workflow, *include_failed),
        Command::Release { task, attempt, reason } => claim::release(case, *task, *attempt, reason.as_deref()),
        Command::Sweep { workflow } => claim::sweep(case, *workflow),
        Command::Move { task, attempt, to } => status::move_task(case, *task, *attempt, to),
        Command::SetTaskPlan { task, attempt, plan, context } => {
            status::set_plan(case, *task, *attempt, plan, context.as_ref())
        }
        Command::ReplanTask { task, attempt, reason, plan } => status::replan(case, *task, *attempt, reason, plan),
        Command::AddCheckpoint { task, attempt, note } => status::add_checkpoint(case, *task, *attempt, note),

        Command::RegisterRepository { path, name } => place::register(case, path, name.as_deref()),
        Command::CreateWorkspace(create) => place::create_workspace(case, create),
        Command::UpdateWorkspace(update) => place::update_workspace(case, update),
        Command::AssignWorkspace { task, workspace } => place::assign_workspace(case, *task, *workspace),
        Command::CreateTemplate { name, description, body } => {
            place::create_template(case, name, description.as_deref(), body)
        }
        Command::RemoveTemplate { template } => place::remove_template(case, *template),

        Command::Send { to, draft } => inbox::send(case, to, draft),
        Command::MarkRead { messages } => inbox::mark(case, messages, inbox::Mark::Read),
        Command::Archive { messages } => inbox::mark(case, messages, inbox::Mark::Archived),

        Command::ForgetKeys => {
            case.events.push(Event::KeysForgotten);
            Ok(Reply::KeysForgotten)
        }
    }
}

/// A decision in the making: what it may look at, and what it has found so far.
pub(crate) struct Case<'a> {
    pub(crate) world: &'a World,
    pub(crate) caller: &'a Caller,
    pub(crate) now: Timestamp,
    pub(crate) ids: Ids,
    pub(crate) events: Vec<Event>,
}

impl Case<'_> {
    fn answered(&self, id: &KeyId) -> Result<Option<Result<Reply, Refusal>>, Stop> {
        let Some(key) = &self.caller.key else {
            return Ok(None);
        };
        crate::check::key("idempotency_key", &key.key)?;
        let stored = self.world.key(id)?.filter(|stored| stored.until > self.now);
        match stored {
            None => Ok(None),
            Some(stored) if stored.fingerprint == key.fingerprint => Ok(Some(stored.answer.clone())),
            // Not stored itself: the first answer stays.
            Some(_) => Ok(Some(Err(Refusal::IdempotencyConflict { key: key.key.clone() }))),
        }
    }

    /// How the caller is recorded in the log.
    fn sender(&self) -> Actor {
        match (self.caller.rights, self.caller.agent) {
            (Rights::Agent | Rights::Runner, Some(agent)) => Actor::Agent(agent),
            (Rights::Agent, None) => self.session_agent(None).ok().flatten().map_or(Actor::Engine, Actor::Agent),
            (Rights::Runner, None) => Actor::Runner,
            (Rights::Coordinator, _) => Actor::Coordinator,
            (Rights::Person, _) => Actor::Person,
            (Rights::Engine, _) => Actor::Engine,
        }
    }

    /// The agent that acts: the named one, else the connection's agent that holds the task, else its last registered.
    pub(crate) fn agent(&self, task: Option<&Task>) -> Result<AgentId, Stop> {
        if let Some(agent) = self.caller.agent {
            return Ok(self.world.agent(agent)?.id);
        }
        self.session_agent(task)?.ok_or_else(|| Refusal::AgentNotFound { agent: None }.into())
    }

    /// The acting agent, which must not have left.
    pub(crate) fn present(&self, task: Option<&Task>) -> Result<AgentId, Stop> {
        let agent = self.agent(task)?;
        if self.world.agent(agent)?.left.is_some() {
            return Err(Refusal::state(format!("{agent} has unregistered; register again")).into());
        }
        Ok(agent)
    }

    /// The agent is the caller, or one of its connection's when the call names none.
    pub(crate) fn speaks_for(&self, agent: AgentId) -> Result<bool, Stop> {
        match (self.caller.agent, self.caller.session) {
            (Some(named), _) => Ok(named == agent),
            (None, Some(session)) => Ok(self.world.agent_ids(&Need::SessionAgents(session))?.contains(&agent)),
            (None, None) => Ok(false),
        }
    }

    fn session_agent(&self, task: Option<&Task>) -> Result<Option<AgentId>, Stop> {
        let Some(session) = self.caller.session else {
            return Ok(None);
        };
        let agents = self.world.agent_ids(&Need::SessionAgents(session))?;
        let holder = task.and_then(Task::holder).filter(|holder| agents.contains(holder));
        Ok(holder.or_else(|| agents.first().copied()))
    }

    /// Who the caller is when it need not be an agent.
    pub(crate) fn actor(&self) -> Result<Actor, Stop> {
        match self.caller.rights {
            Rights::Agent => self.present(None).map(Actor::Agent),
            Rights::Runner => Ok(Actor::Runner),
            Rights::Coordinator => Ok(Actor::Coordinator),
            Rights::Person => Ok(Actor::Person),
            Rights::Engine => Ok(Actor::Engine),
        }
    }

    /// The lease holds: it has time left, does not run (paused), or its connection is known to live.
    pub(crate) fn is_live(&self, task: &Task) -> Result<bool, Stop> {
        let Some(lease) = task.state.lease() else {
            return Ok(false);
        };
        if task.state.running_lease().is_none() || !lease.is_over(self.now) {
            return Ok(true);
        }
        if self.caller.alive.is_empty() {
            return Ok(false);
        }
        Ok(self.world.agent(lease.agent)?.is_kept_alive(&self.caller.alive, self.now))
    }

    pub(crate) fn live_holder(&self, task: &Task) -> Result<Option<AgentId>, Stop> {
        Ok(if self.is_live(task)? { task.holder() } else { None })
    }

    /// The caller writes as owner: it holds the live claim, or has the right to act for whoever does.
    pub(crate) fn owner(&self, task: &Task, attempt: Option<u32>) -> Result<Actor, Stop> {
        let agent = match self.present(Some(task)) {
            Err(Stop::Refused(_)) if self.caller.may_override() => return self.actor(),
            found => found?,
        };
        let holder = self.live_holder(task)?;
        // A coordinator that holds the task works like any other agent: its acts are its own, and signs of life.
        if holder == Some(agent) && attempt.is_none_or(|attempt| attempt == task.attempt) {
            return Ok(Actor::Agent(agent));
        }
        if self.caller.may_override() {
            return self.actor();
        }
        Err(Refusal::ClaimLost { task: task.id, holder }.into())
    }

    /// A lock keeps everyone out but its owner.
    pub(crate) fn unlocked(&self, workflow: &Workflow) -> Result<(), Stop> {
        let Some(lock) = workflow.lock.as_ref().filter(|lock| lock.until > self.now) else {
            return Ok(());
        };
        let named = self.caller.lock_owner.as_deref() == Some(lock.owner.as_str());
        let own = self.caller.agent.is_some_and(|agent| agent.to_string() == lock.owner);
        if named || own || self.caller.rights == Rights::Engine {
            return Ok(());
        }
        if let (Some(session), Ok(owner)) = (self.caller.session, lock.owner.parse::<AgentId>())
            && self.world.agent_ids(&Need::SessionAgents(session))?.contains(&owner)
        {
            return Ok(());
        }
        Err(Refusal::WorkflowLocked { owner: lock.owner.clone(), until: lock.until }.into())
    }

    /// A call is a sign of life; it is stored now and then.
    pub(crate) fn touch(&mut self, agent: AgentId) -> Result<(), Stop> {
        let found = self.world.agent(agent)?;
        let moved = self.caller.session.is_some() && self.caller.session != found.session;
        if found.left.is_none() && (moved || found.seen + limits::SEEN_MS <= self.now) {
            let session = self.caller.session.or(found.session);
            self.events.push(Event::Seen { agent, session, at: self.now.max(found.seen) });
        }
        Ok(())
    }

    /// A sign of life renews the lease when a tenth of it is gone. It never shortens one.
    pub(crate) fn renew(&mut self, task: &Task, workflow: &Workflow) -> Timestamp {
        let until = self.now + workflow.lease_ms;
        // A paused task has nothing to renew; resumed now, it would be held this long.
        let Some(lease) = task.state.running_lease() else {
            return until;
        };
        if lease.until + crate::time::Millis(workflow.lease_ms.0 / 10) > until {
            return lease.until;
        }
        self.events.push(Event::Renewed { task: task.id, workflow: task.workflow, until });
        until
    }

    /// What a caller who acts as the holder leaves behind: a sign of life and a renewed lease.
    pub(crate) fn sign_of_life(&mut self, actor: Actor, task: &Task, workflow: &Workflow) -> Result<(), Stop> {
        if let Actor::Agent(agent) = actor {
            self.touch(agent)?;
            self.renew(task, workflow);
        }
        Ok(())
    }

    pub(crate) fn fresh_lease(&self, agent: AgentId, workflow: &Workflow) -> Lease {
        Lease { agent, since: self.now, until: self.now + workflow.lease_ms }
    }

    /// Ends a claim without a result. Returns why the task failed, if its attempts are used up.
    pub(crate) fn end_lease(
        &mut self,
        task: &Task,
        agent: AgentId,
        cause: Cause,
        reason: Option<&str>,
    ) -> Option<String> {
        let crashes = task.crashes + u32::from(cause.counts());
        let failed = (cause.counts() && crashes >= task.attempts_max)
            .then(|| format!("{} attempts ended without a result; the last: {}", task.attempts_max, cause.as_words()));
        let mut summary = format!("attempt {} of {agent} ended: {}", task.attempt, cause.as_words());
        if let Some(reason) = reason {
            summary = format!("{summary}: {reason}");
        }
        let note = crate::command::Note::plain(crate::checkpoint::Kind::Recovery, summary);
        let checkpoint = crate::checkpoint::Checkpoint::after(task, &mut self.ids, Actor::Engine, note, self.now);
        self.events.push(Event::LeaseEnded {
            task: task.id,
            workflow: task.workflow,
            agent,
            cause,
            checkpoint: Box::new(checkpoint),
            failed: failed.clone(),
        });
        failed
    }
}

impl Cause {
    fn as_words(self) -> &'static str {
        match self {
            Self::Expired => "its lease expired",
            Self::Killed => "its process was killed",
            Self::Closed => "its connection closed",
            Self::Released => "it was released",
            Self::Unregistered => "its agent unregistered",
        }
    }
}

/// A task a caller gave by id or by name.
pub(crate) fn find_task(world: &World, workflow: crate::id::WorkflowId, text: &str) -> Result<Option<TaskId>, Stop> {
    if let Ok(id) = text.parse::<TaskId>() {
        world.want([Need::Task(id)])?;
        let found = world.tasks.get(&id).and_then(Option::as_ref);
        return Ok(found.filter(|task| task.workflow == workflow).map(|task| task.id));
    }
    let need = Need::TaskNamed(workflow, text.to_owned());
    Ok(world.task_ids(&need)?.first().copied())
}
