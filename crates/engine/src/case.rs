//! A case is one decision about one command, while the decision is being made. A rule is the function that decides one
//! kind of command. This file also has the checks that several rules share.

use std::cell::Cell;

use crate::command::{Actor, Caller, Command, Rights, Standing};
use crate::event::{Cause, Event};
use crate::id::{AgentId, Ids, TaskId};
use crate::identity;
use crate::key::{CallKey, KeyId};
use crate::lapse_evidence;
use crate::limits;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::task::{Lease, Task};
use crate::time::{Stamp, Timestamp};
use crate::workflow::{Workflow, WorkflowStatus};
use crate::world::{AgentIdNeed, DecisionStop, Need, TaskIdNeed, World};

/// One decision while it is being made: the state, the caller, and the events that the decision has produced so far.
pub(crate) struct Case<'a> {
    pub(crate) world: &'a World,
    pub(crate) caller: &'a Caller,
    /// The caller's rights in this call. When a person acts as an agent, the call has only the rights of an agent.
    pub(crate) rights: Rights,
    pub(crate) now: Timestamp,
    pub(crate) ids: Ids,
    pub(crate) events: Vec<Event>,
    /// The actor that acts in this call, for example an agent or a person. The log names this actor as the sender of
    /// the events. `None` until the decision has found the actor.
    acted: Cell<Option<Actor>>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(world: &'a World, caller: &'a Caller, rights: Rights, stamp: Stamp) -> Self {
        let (now, ids) = (stamp.now, Ids::new(stamp.seed));
        Self { world, caller, rights, now, ids, events: Vec::new(), acted: Cell::new(None) }
    }

    /// Returns true when the caller may act on tasks of others. When such a caller acts on a task, the log names the
    /// caller and not the holder of the task.
    pub(crate) fn may_override(&self) -> bool {
        self.rights.may_override()
    }

    /// Returns the answer that is stored under the idempotency key of this call, or `None` when no answer is stored.
    pub(crate) fn answered(&self, call: &CallKey) -> Result<Option<Result<Reply, Refusal>>, DecisionStop> {
        let Some(key) = &self.caller.key else {
            return Ok(None);
        };
        crate::check::key("idempotency_key", &key.key)?;
        self.world.want(std::iter::once(&call.id).chain(&call.others).map(|id| Need::Key(id.clone())))?;
        let stored = |id: &KeyId| self.world.key(id).map(|stored| stored.filter(|stored| stored.until > self.now));
        match stored(&call.id)? {
            Some(stored) if stored.fingerprint == key.fingerprint => return Ok(Some(stored.answer.clone())),
            // The idempotency key was used for another call, so refuse this call. Do not store the refusal, so that the
            // first call's answer stays under the key.
            Some(_) => return Ok(Some(Err(Refusal::IdempotencyConflict { key: key.key.clone() }))),
            None => {}
        }
        // The agent of a repeated call can differ from the agent of the first call. So also look for an answer that is
        // stored for another agent of the connection, or for the connection itself. Use this answer only if its call
        // had the same arguments, because two agents can choose the same key for different calls. Do not use a stored
        // refusal: the first call may have been refused because no agent had registered yet.
        for id in &call.others {
            let same = stored(id)?.filter(|stored| stored.fingerprint == key.fingerprint && stored.answer.is_ok());
            if let Some(first) = same {
                return Ok(Some(first.answer.clone()));
            }
        }
        Ok(None)
    }

    /// Returns the actor that the log names as the sender of the events.
    pub(crate) fn sender(&self) -> Actor {
        if let Some(actor) = self.acted.get() {
            return actor;
        }
        match (self.rights, self.caller.agent) {
            (Rights::Runner, Some(agent)) => Actor::Agent(agent),
            (Rights::Agent, _) => self.agent_of_call().map_or(Actor::Engine, Actor::Agent),
            (Rights::Runner, None) => Actor::Runner,
            (Rights::Coordinator, _) => Actor::Coordinator,
            (Rights::Person | Rights::Script, _) => Actor::Person,
            (Rights::Engine, _) => Actor::Engine,
        }
    }

    /// Returns the agent that acts. This is the agent that the call names; else the connection's agent that holds the
    /// task; else the agent that the kind of connection selects, usually the one that registered last.
    pub(crate) fn agent(&self, task: Option<&Task>) -> Result<AgentId, DecisionStop> {
        let agent = identity::acting_agent(self.world, self.caller, task, self.now)?;
        self.acted.set(Some(Actor::Agent(agent)));
        Ok(agent)
    }

    /// Returns the agent that acts in this call. Returns `None` when no agent acts, or when the agent is not loaded
    /// from the store yet.
    fn agent_of_call(&self) -> Option<AgentId> {
        identity::acting_agent(self.world, self.caller, None, self.now).ok()
    }

    /// Returns the author of a text that the caller sends. Returns `None` when the caller is an agent that has not
    /// registered.
    pub(crate) fn author(&self) -> Result<Option<Actor>, DecisionStop> {
        match self.rights {
            Rights::Agent => match self.present(None) {
                Ok(agent) => Ok(Some(Actor::Agent(agent))),
                Err(missing @ DecisionStop::Missing(_)) => Err(missing),
                Err(DecisionStop::Refused(Refusal::AgentNotFound { agent: None })) => Ok(None),
                Err(refused) => Err(refused),
            },
            Rights::Runner | Rights::Coordinator | Rights::Script | Rights::Person | Rights::Engine => {
                self.actor().map(Some)
            }
        }
    }

    /// Refuses a command whose agent may not act. An agent may not act when its last registration was on another
    /// connection, when it has unregistered, or when it is unclear which of several agents acts. Some rules do not
    /// check the agent themselves, so this check runs after every rule.
    pub(crate) fn check_identity(&self, command: &Command) -> Result<(), DecisionStop> {
        if matches!(command, Command::Register(_) | Command::CloseSession { .. }) {
            return Ok(());
        }
        // A coordinator, a script or a person acts under its own name, even when its call names an agent. But the call
        // is refused when the agent that it names does not exist.
        let own_name = match self.rights {
            Rights::Coordinator | Rights::Script | Rights::Person => self.caller.standing != Standing::Vouched,
            Rights::Agent | Rights::Runner | Rights::Engine => false,
        };
        if let Some(named) = self.caller.agent.filter(|_| own_name) {
            self.world.agent(named)?;
        }
        if self.rights != Rights::Agent {
            return Ok(());
        }
        let agent = match self.acted.get() {
            Some(Actor::Agent(agent)) => agent,
            Some(Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine) => return Ok(()),
            None => match self.agent(None) {
                Ok(agent) => agent,
                // Accept the call of a caller without a registered agent, because it may use the commands that need no
                // agent.
                Err(DecisionStop::Refused(Refusal::AgentNotFound { agent: None })) => return Ok(()),
                Err(stop) => return Err(stop),
            },
        };
        let is_new = |event: &Event| matches!(event, Event::Registered { agent: new } if new.id == agent);
        if self.events.iter().any(is_new) {
            return Ok(());
        }
        // Refuse a call that changes something when its agent has unregistered. A repeated call that only gets its
        // stored answer has no events, so it is not refused.
        if !self.events.is_empty() && self.world.agent(agent)?.left.is_some() {
            return Err(Refusal::state(format!("{agent} has unregistered; register again")).into());
        }
        Ok(())
    }

    /// Refuses a call that names an agent which does not exist or whose last registration was on another connection.
    /// Also refuses a call for which it is unclear which of several agents acts. This check runs when the command is
    /// already refused for another reason, for example because of the task's status. The refusal of this check then
    /// replaces the first refusal, because the caller must first learn that it may not act as the agent.
    pub(crate) fn check_voice_first(&self, command: &Command) -> Result<(), DecisionStop> {
        if matches!(command, Command::Register(_) | Command::CloseSession { .. }) {
            return Ok(());
        }
        let task = match command.task().map(|task| self.world.task(task)).transpose() {
            Ok(task) => task,
            Err(missing @ DecisionStop::Missing(_)) => return Err(missing),
            Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => None,
        };
        match self.names_an_agent(task) {
            // A caller without a registered agent keeps the refusal that the command already got, because that refusal
            // says what the call needs.
            Err(DecisionStop::Refused(Refusal::AgentNotFound { agent: None })) => Ok(()),
            found => found,
        }
    }

    /// Records that this agent acts in the call, for example an agent that the command has just created.
    pub(crate) fn acts_as(&self, agent: AgentId) {
        self.acted.set(Some(Actor::Agent(agent)));
    }

    /// Refuses a call that names an agent which does not exist. Also refuses a caller that has only an agent's rights
    /// and may not act as that agent. Callers with other rights act under their own name, even if they name an agent.
    pub(crate) fn names_an_agent(&self, task: Option<&Task>) -> Result<(), DecisionStop> {
        if let Some(agent) = self.caller.agent {
            self.world.agent(agent)?;
        }
        if self.rights == Rights::Agent {
            self.agent(task)?;
        }
        Ok(())
    }

    /// Returns the agent that acts in this call. Refuses the call when this agent has unregistered.
    pub(crate) fn present(&self, task: Option<&Task>) -> Result<AgentId, DecisionStop> {
        let agent = self.agent(task)?;
        if self.world.agent(agent)?.left.is_some() {
            return Err(Refusal::state(format!("{agent} has unregistered; register again")).into());
        }
        Ok(agent)
    }

    /// Returns true when the caller may act in the name of the agent. Either the call names this agent and may act as
    /// it, or the call names no agent and the agent's last registration was on this connection.
    pub(crate) fn speaks_for(&self, agent: AgentId) -> Result<bool, DecisionStop> {
        match (self.caller.agent, self.caller.session) {
            (Some(named), _) => Ok(named == agent && identity::may_act_as(self.caller, self.world.agent(agent)?)),
            (None, Some(session)) => Ok(self.world.ask(&AgentIdNeed::OfSession(session))?.contains(&agent)),
            (None, None) => Ok(false),
        }
    }

    /// Returns the actor that the log names for a command: an agent, a runner, a coordinator, a person or the engine.
    pub(crate) fn actor(&self) -> Result<Actor, DecisionStop> {
        let actor = match self.rights {
            Rights::Agent => self.present(None).map(Actor::Agent)?,
            // A runner that names an agent acts as that agent, so it may read that agent's mailbox. The call is refused
            // when that agent has unregistered.
            Rights::Runner if self.caller.agent.is_some() => self.present(None).map(Actor::Agent)?,
            Rights::Runner => Actor::Runner,
            Rights::Coordinator => Actor::Coordinator,
            Rights::Person | Rights::Script => Actor::Person,
            Rights::Engine => Actor::Engine,
        };
        self.acted.set(Some(actor));
        Ok(actor)
    }

    /// Returns a task and its workflow. While the workflow's plan is not set, its tasks count as not found, even for a
    /// caller that guessed an id. So no caller can change a task of an unfinished plan. The command that sets the plan
    /// relies on this, because it counts all tasks of the plan as open.
    pub(crate) fn task(&self, id: TaskId) -> Result<(&'a Task, &'a Workflow), DecisionStop> {
        let task = self.world.task(id)?;
        let workflow = self.world.workflow(task.workflow)?;
        if workflow.status == WorkflowStatus::Planning || workflow.draft.is_some() {
            return Err(Refusal::TaskNotFound { task: id.to_string() }.into());
        }
        Ok((task, workflow))
    }

    /// Returns true when the lease of the task is in force. A lease is in force while it has time left, while the task
    /// is paused, or while the holder's connection is known to be alive.
    pub(crate) fn is_live(&self, task: &Task) -> Result<bool, DecisionStop> {
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

    pub(crate) fn live_holder(&self, task: &Task) -> Result<Option<AgentId>, DecisionStop> {
        Ok(if self.is_live(task)? { task.holder() } else { None })
    }

    /// Returns the actor that may write as the owner of the task. This is the agent that holds the live claim, or a
    /// caller that may act on tasks of others.
    pub(crate) fn owner(&self, task: &Task, attempt: Option<u32>) -> Result<Actor, DecisionStop> {
        self.names_an_agent(Some(task))?;
        // A person who names no agent acts under their own name, even on a connection on which the person's agents
        // registered.
        if self.rights.is_persons() && self.caller.agent.is_none() {
            return self.actor();
        }
        let agent = match self.present(Some(task)) {
            Err(DecisionStop::Refused(_)) if self.may_override() => return self.actor(),
            found => found?,
        };
        let holder = self.live_holder(task)?;
        // The agent that holds the task acts under its own name, even when the call has a coordinator's rights. So its
        // acts count as signs of life.
        if holder == Some(agent) && attempt.is_none_or(|attempt| attempt == task.attempt) {
            return Ok(Actor::Agent(agent));
        }
        if self.may_override() {
            return self.actor();
        }
        Err(Refusal::ClaimLost { task: task.id, holder, attempt: task.attempt }.into())
    }

    /// Refuses the caller when another owner has locked the workflow and the lock has not expired.
    pub(crate) fn unlocked(&self, workflow: &Workflow) -> Result<(), DecisionStop> {
        let Some(lock) = workflow.lock.as_ref().filter(|lock| lock.until > self.now) else {
            return Ok(());
        };
        if self.rights == Rights::Engine || self.owns_lock(&lock.owner, self.caller.lock_owner.as_deref())? {
            return Ok(());
        }
        Err(Refusal::WorkflowLocked { owner: lock.owner.clone(), until: lock.until }.into())
    }

    /// Returns true when the caller owns a lock of a workflow. If the lock's owner is an agent id, the caller must act
    /// as that agent, or must name the owner and have rights on tasks of others. Otherwise the owner is a text, and the
    /// caller must name this text.
    pub(crate) fn owns_lock(&self, owner: &str, named: Option<&str>) -> Result<bool, DecisionStop> {
        let Ok(agent) = owner.parse::<AgentId>() else { return Ok(named == Some(owner)) };
        match self.world.agent(agent) {
            Ok(found) if identity::may_act_as(self.caller, found) => Ok(true),
            // A caller that may act on tasks of others owns the lock if it names the lock's owner.
            Ok(_) if self.may_override() && named == Some(owner) => Ok(true),
            Ok(_) => self.speaks_for(agent),
            // The owner of the lock looks like an agent id, but no such agent exists. So the owner is treated as a
            // plain text.
            Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => Ok(named == Some(owner)),
            Err(missing @ DecisionStop::Missing(_)) => Err(missing),
        }
    }

    /// Records a sign of life of the agent. Skips it when another one was stored less than [`limits::SEEN_MS`] ago.
    pub(crate) fn touch(&mut self, agent: AgentId) -> Result<(), DecisionStop> {
        let found = self.world.agent(agent)?;
        if found.left.is_none() && found.seen + limits::SEEN_MS <= self.now {
            self.events.push(Event::Seen { agent, at: self.now.max(found.seen) });
        }
        Ok(())
    }

    /// Renews the task's lease when a tenth of it has passed. Never shortens a lease. Returns the time at which the
    /// lease ends.
    pub(crate) fn renew(&mut self, task: &Task, workflow: &Workflow) -> Timestamp {
        let until = self.now + workflow.lease_ms;
        // The lease of a paused task does not run, so it is not renewed. The returned time is the end that the lease
        // would have if the task resumed now.
        let Some(lease) = task.state.running_lease() else {
            return until;
        };
        if lease.until + crate::time::Millis(workflow.lease_ms.0 / 10) > until {
            return lease.until;
        }
        self.events.push(Event::Renewed { task: task.id, workflow: task.workflow, until });
        until
    }

    /// Records a sign of life and renews the lease of the task, if the actor is the agent that holds the task.
    pub(crate) fn sign_of_life(&mut self, actor: Actor, task: &Task, workflow: &Workflow) -> Result<(), DecisionStop> {
        if let Actor::Agent(agent) = actor {
            self.touch(agent)?;
            self.renew(task, workflow);
        }
        Ok(())
    }

    pub(crate) fn fresh_lease(&self, agent: AgentId, workflow: &Workflow) -> Lease {
        Lease { agent, since: self.now, until: self.now + workflow.lease_ms }
    }

    /// Ends a claim that gave no result. If this used up the task's attempts, the task fails and the reason is
    /// returned.
    pub(crate) fn end_lease(
        &mut self,
        task: &Task,
        agent: AgentId,
        cause: Cause,
        reason: Option<&str>,
    ) -> Option<String> {
        let crashes = task.crashes + u32::from(cause.counts());
        let failed = (cause.counts() && crashes >= task.attempts_max).then(|| {
            format!(
                "{crashes} of {} attempts ended without a result; the last one: {}",
                task.attempts_max,
                cause.as_words()
            )
        });
        let mut summary = format!("attempt {} of {agent} ended: {}", task.attempt, cause.as_words());
        if let Some(reason) = reason {
            summary = format!("{summary}: {reason}");
        }
        let mut note = crate::command::Note::plain(crate::checkpoint::Kind::Recovery, summary);
        note.detail = lapse_evidence::of(agent, cause);
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
            Self::Crashed => "its agent's program gave no answer",
            Self::Closed => "its connection closed",
            Self::Released => "the task was released",
            Self::Unregistered => "its agent unregistered",
        }
    }
}

/// Returns the task that a caller named by its id or by its name. Returns `None` when the workflow has no such task.
pub(crate) fn find_task(
    world: &World,
    workflow: crate::id::WorkflowId,
    text: &str,
) -> Result<Option<TaskId>, DecisionStop> {
    if let Ok(id) = text.parse::<TaskId>() {
        world.want([Need::Task(id)])?;
        let found = world.tasks.get(&id).and_then(Option::as_ref);
        return Ok(found.filter(|task| task.workflow == workflow).map(|task| task.id));
    }
    let need = TaskIdNeed::Named(workflow, text.to_owned());
    Ok(world.ask(&need)?.first().copied())
}
