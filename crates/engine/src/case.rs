//! A decision in the making: what the rules of every subject ask of it.

use std::cell::Cell;

use crate::command::{Actor, Caller, Rights};
use crate::event::{Cause, Event};
use crate::id::{AgentId, Ids, TaskId};
use crate::key::KeyId;
use crate::limits;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::task::{Lease, Task};
use crate::time::{Stamp, Timestamp};
use crate::workflow::{Workflow, WorkflowStatus};
use crate::world::{Need, Stop, World};

/// A decision in the making: what it may look at, and what it has found so far.
pub(crate) struct Case<'a> {
    pub(crate) world: &'a World,
    pub(crate) caller: &'a Caller,
    pub(crate) now: Timestamp,
    pub(crate) ids: Ids,
    pub(crate) events: Vec<Event>,
    /// Who acted, as the rule found it: the log says so.
    acted: Cell<Option<Actor>>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(world: &'a World, caller: &'a Caller, stamp: Stamp) -> Self {
        let (now, ids) = (stamp.now, Ids::new(stamp.seed));
        Self { world, caller, now, ids, events: Vec::new(), acted: Cell::new(None) }
    }

    pub(crate) fn answered(&self, id: &KeyId) -> Result<Option<Result<Reply, Refusal>>, Stop> {
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
    pub(crate) fn sender(&self) -> Actor {
        if let Some(actor) = self.acted.get() {
            return actor;
        }
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
        let agent = match self.caller.agent {
            Some(agent) => self.world.agent(agent)?.id,
            None => self.session_agent(task)?.ok_or(Refusal::AgentNotFound { agent: None })?,
        };
        self.acted.set(Some(Actor::Agent(agent)));
        Ok(agent)
    }

    /// An agent that did not exist before acts for itself.
    pub(crate) fn acts_as(&self, agent: AgentId) {
        self.acted.set(Some(Actor::Agent(agent)));
    }

    /// Whoever is named must exist, also when the caller may act without an agent.
    pub(crate) fn names_an_agent(&self) -> Result<(), Stop> {
        self.caller.agent.map_or(Ok(()), |agent| self.world.agent(agent).map(|_| ()))
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
        let actor = match self.caller.rights {
            Rights::Agent => self.present(None).map(Actor::Agent)?,
            // For an agent it acts as that agent, whose mailbox it may read and whose leaving ends that.
            Rights::Runner if self.caller.agent.is_some() => self.present(None).map(Actor::Agent)?,
            Rights::Runner => Actor::Runner,
            Rights::Coordinator => Actor::Coordinator,
            Rights::Person => Actor::Person,
            Rights::Engine => Actor::Engine,
        };
        self.acted.set(Some(actor));
        Ok(actor)
    }

    /// A task that can be seen, and its workflow. A piece of a plan that is not set cannot: its commit counts it as open and
    /// untouched, whatever somebody who guessed its id would like to do with it.
    pub(crate) fn task(&self, id: TaskId) -> Result<(&'a Task, &'a Workflow), Stop> {
        let task = self.world.task(id)?;
        let workflow = self.world.workflow(task.workflow)?;
        if workflow.status == WorkflowStatus::Planning || workflow.draft.is_some() {
            return Err(Refusal::TaskNotFound { task: id.to_string() }.into());
        }
        Ok((task, workflow))
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
        Ok(self.world.agent(lease.agent)?.is_kept_alive(&self.caller.alive))
    }

    pub(crate) fn live_holder(&self, task: &Task) -> Result<Option<AgentId>, Stop> {
        Ok(if self.is_live(task)? { task.holder() } else { None })
    }

    /// The caller writes as owner: it holds the live claim, or has the right to act for whoever does.
    pub(crate) fn owner(&self, task: &Task, attempt: Option<u32>) -> Result<Actor, Stop> {
        self.names_an_agent()?;
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
        Err(Refusal::ClaimLost { task: task.id, holder, attempt: task.attempt }.into())
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
        let failed = (cause.counts() && crashes >= task.attempts_max).then(|| {
            format!("no result after {crashes} of {} attempts; the last: {}", task.attempts_max, cause.as_words())
        });
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
            Self::Crashed => "its program gave no answer",
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
