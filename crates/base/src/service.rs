//! The service that every interface (MCP, HTTP, command line) calls with a command.

pub mod feed;
pub mod log_tail;
pub mod recent_claims;
pub mod sections;
pub mod takeover;
pub mod together;
pub mod turns;

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::approval::Lifetimes;
use engine::command::{Key, KeyOwner};
use engine::id::{AgentId, Ids, TaskId, WorkflowId};
use engine::key::KeyId;
use engine::list::ApprovalQuery;
use engine::offer::{self, OfferPage, OfferQuery};
use engine::plan::{Plan, PlanPlace, PlanTask};
use engine::world::{AgentIdNeed, WorkflowIdNeed};
use engine::{
    Actor, Caller, Change, Command, DecisionStop, Json, Need, Refusal, Reply, Rights, Stamp, Timestamp, TypedQuestion,
    World, decide,
};
use store::Store;
pub use store::{Cursor, Entry, LogPage, StoreWatch};
use wire::json::Value;

use crate::error::Error;
use crate::ground::clock::{Clock, LEASE_SLACK_MS, ServerClock};
use crate::ground::digest::sha256;
use crate::ground::random;
use crate::live::LiveSessions;
use crate::service::recent_claims::RecentClaims;
use takeover::LeaseTime;

#[derive(Clone)]
pub struct Service {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    lifetimes: Lifetimes,
    /// The live sessions of this host. `None` when this process does not check which sessions are alive.
    live: Option<Arc<LiveSessions>>,
    /// The same clock as the field `clock`, if that clock is measured against the database server's clock. `None`
    /// otherwise.
    server_clock: Option<Arc<ServerClock>>,
    recent_claims: Arc<RecentClaims>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

/// The result of a sweep of all workflows, which ends expired leases: the number of tasks that were offered again, and
/// the number of tasks that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    pub offered: u32,
    pub failed: u32,
}

impl Service {
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let recent_claims = Arc::default();
        Self { store, clock, lifetimes: Lifetimes::default(), live: None, server_clock: None, recent_claims }
    }

    /// Makes the service check the live sessions of this host before it treats a lease as expired.
    #[must_use]
    pub fn with_live(self, live: Arc<LiveSessions>) -> Self {
        Self { live: Some(live), ..self }
    }

    /// Makes the service read the time from a clock that is measured against the database server's clock.
    #[must_use]
    pub fn with_server_clock(self, clock: Arc<ServerClock>) -> Self {
        Self { clock: Arc::clone(&clock) as Arc<dyn Clock>, server_clock: Some(clock), ..self }
    }

    /// Returns the live sessions of this host, or `None` when this process does not check them.
    pub fn live(&self) -> Option<&Arc<LiveSessions>> {
        self.live.as_ref()
    }

    /// Returns the clock that is measured against the database server's clock, or `None` when there is none.
    pub fn server_clock(&self) -> Option<&ServerClock> {
        self.server_clock.as_deref()
    }

    /// Returns the claims that were made through this service since the keeper (the code that renews leases) last took
    /// them.
    pub fn recent_claims(&self) -> &RecentClaims {
        &self.recent_claims
    }

    /// Returns the time in milliseconds that must pass after a lease's end before the service treats the lease as
    /// expired.
    pub fn lease_slack_ms(&self) -> i64 {
        if self.server_clock.is_some() { LEASE_SLACK_MS } else { 0 }
    }

    /// Measures the difference between this host's clock and the database server's clock.
    pub async fn measure_clock(&self) {
        if let Some(clock) = &self.server_clock {
            clock.measure(&*self.store).await;
        }
    }

    /// Returns the current time. First measures this host's clock again when the clock was set or the machine slept.
    /// Otherwise the time could be wrong, and other hosts would take a new lease for expired.
    pub async fn settled_now(&self) -> Timestamp {
        if self.server_clock.as_ref().is_some_and(|clock| clock.is_stale()) {
            self.measure_clock().await;
        }
        self.now()
    }

    /// Sets how long approvals are valid, from the settings of the project.
    #[must_use]
    pub fn with_lifetimes(self, lifetimes: Lifetimes) -> Self {
        Self { lifetimes, ..self }
    }

    pub fn lifetimes(&self) -> Lifetimes {
        self.lifetimes
    }

    pub fn now(&self) -> engine::Timestamp {
        self.clock.now()
    }

    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Returns the entries of all topics (the store's logs) that come after a cursor, a position in these logs. The
    /// entries of each topic are in order.
    pub async fn follow(&self, after: Cursor, limit: u32) -> Result<LogPage, Error> {
        Ok(self.store.follow(after, limit).await?)
    }

    /// Returns the cursor (a position in the log) after the newest log entry.
    pub async fn end(&self) -> Result<Cursor, Error> {
        Ok(self.store.end().await?)
    }

    /// Returns the entries of one topic (one of the store's logs) whose number is greater than `after`.
    pub async fn topic(&self, topic: String, after: i64, limit: u32) -> Result<Vec<Entry>, Error> {
        Ok(self.store.topic(topic, after, limit).await?)
    }

    /// Returns the number of the last entry of a topic (one of the store's logs), or 0 when the topic has no entry.
    pub async fn topic_head(&self, topic: &str) -> Result<i64, Error> {
        Ok(self.store.head(topic.to_owned()).await?.map_or(0, |head| head.seq))
    }

    /// Returns a watch that wakes up after changes of the store. A wake-up is only a hint: read the log to learn what
    /// changed.
    pub fn bell(&self) -> StoreWatch {
        self.store.watch()
    }

    /// Runs the database's own integrity check and returns the problems that it finds.
    pub async fn integrity(&self) -> Result<Vec<String>, Error> {
        Ok(self.store.integrity().await?)
    }

    /// Decides a command and stores its effects. Replies only after the effects are durable.
    pub async fn execute(&self, caller: Caller, command: Command) -> Result<Reply, Error> {
        match self.change(caller, command).await?.reply {
            // A gated task cannot be claimed before a person approves. So create the approval request, and name it in
            // the refusal.
            Err(Refusal::ApprovalRequired { task, approval: None }) => {
                let approval = self.ask_gate(task).await.ok();
                Err(Refusal::ApprovalRequired { task, approval }.into())
            }
            reply => Ok(reply?),
        }
    }

    pub async fn change(&self, caller: Caller, command: Command) -> Result<Change, Error> {
        let caller = Caller { lifetimes: self.lifetimes, ..caller };
        let needs = command.scope(&caller);
        let time = if matches!(command, Command::Sweep { .. }) { LeaseTime::Slack } else { LeaseTime::Now };
        let command = Arc::new(command);
        self.transact(needs, time, |moment| {
            let (caller, command) = (moment.informed(caller.clone()), Arc::clone(&command));
            move |world: &World| decide(world, &caller, &command, moment.stamp)
        })
        .await
    }

    /// Merges JSON payloads into a section of the project context (facts that agents have learned). Reads, merges and
    /// writes in one transaction, so that two writers cannot overwrite each other's text.
    pub async fn merge_section(
        &self,
        caller: Caller,
        name: String,
        payloads: Vec<Value>,
        task: TaskId,
    ) -> Result<Reply, Error> {
        self.execute_from(move |world, _| Ok((caller.clone(), merged_section(world, &name, &payloads, task)?))).await
    }

    /// Builds a command from the stored state with `make`, decides the command and stores its effects, all in one
    /// transaction.
    pub async fn execute_from<F>(&self, make: F) -> Result<Reply, Error>
    where
        F: Fn(&World, &Stamp) -> Result<(Caller, Command), DecisionStop> + Send + Sync + 'static,
    {
        let (lifetimes, make) = (self.lifetimes, Arc::new(make));
        let change = self.transact(Vec::new(), LeaseTime::Now, |moment| {
            let make = Arc::clone(&make);
            move |world: &World| match make(world, &moment.stamp) {
                Ok((caller, command)) => {
                    let caller = moment.informed(Caller { lifetimes, ..caller });
                    decide(world, &caller, &command, moment.stamp)
                }
                Err(DecisionStop::Missing(needs)) => Err(needs),
                Err(DecisionStop::Refused(refusal) | DecisionStop::Recorded(refusal)) => {
                    Ok(Change { events: Vec::new(), sender: Actor::Engine, reply: Err(refusal) })
                }
            }
        });
        Ok(change.await?.reply?)
    }

    /// Returns true when a command would change the stored state now. Stores nothing and blocks no writer.
    pub async fn would_change(&self, caller: Caller, command: Command) -> Result<bool, Error> {
        let (caller, stamp) = (self.informed(caller), Stamp { now: self.clock.now(), seed: random::seed()? });
        self.view(move |world| match decide(world, &caller, &command, stamp) {
            Ok(change) => Ok(!change.events.is_empty()),
            Err(needs) => Err(DecisionStop::Missing(needs)),
        })
        .await
    }

    /// Returns the reply or the refusal that a command would get now. Stores nothing.
    pub async fn would(&self, caller: Caller, command: Command) -> Result<Reply, Error> {
        let (caller, stamp) = (self.informed(caller), Stamp { now: self.clock.now(), seed: random::seed()? });
        self.view(move |world| match decide(world, &caller, &command, stamp) {
            Ok(change) => change.reply.map_err(DecisionStop::from),
            Err(needs) => Err(DecisionStop::Missing(needs)),
        })
        .await
    }

    /// Returns the stored reply of the first call with the caller's idempotency key, or `None` when there is no key or
    /// no stored reply.
    pub async fn kept(&self, caller: &Caller, act: &str) -> Result<Option<Result<Reply, Refusal>>, Error> {
        let Some(key) = caller.key.clone() else { return Ok(None) };
        let (now, caller, act) = (self.clock.now(), caller.clone(), act.to_owned());
        self.view(move |world| {
            let owners = engine::identity::key_owners(world, &caller, &key, None, now)?;
            let id = |owner: &String| KeyId { owner: owner.clone(), act: act.clone(), key: key.key.clone() };
            world.want(std::iter::once(&owners.own).chain(&owners.others).map(|owner| Need::Key(id(owner))))?;
            let stored = |owner| world.key(&id(owner)).map(|stored| stored.filter(|stored| stored.until > now));
            match stored(&owners.own)? {
                Some(stored) if stored.fingerprint != key.fingerprint => {
                    return Err(Refusal::IdempotencyConflict { key: key.key.clone() }.into());
                }
                Some(stored) => return Ok(Some(stored.answer.clone())),
                None => {}
            }
            for owner in &owners.others {
                let first = stored(owner)?.filter(|first| first.fingerprint == key.fingerprint && first.answer.is_ok());
                if let Some(first) = first {
                    return Ok(Some(first.answer.clone()));
                }
            }
            Ok(None)
        })
        .await
    }

    /// Answers a question from the stored state of one moment. `ask` must have no side effects, because it may be
    /// called several times.
    pub async fn view<T, F>(&self, ask: F) -> Result<T, Error>
    where
        F: Fn(&World) -> Result<T, DecisionStop> + Send + Sync + Clone + 'static,
    {
        Ok(store::view(&*self.store, Vec::new(), ask).await??)
    }

    /// Returns the answer that the stored state gives to one question, such as a list query.
    pub async fn ask<Q>(&self, question: Q) -> Result<Q::Answer, Error>
    where
        Q: TypedQuestion<Answer: Clone> + Send + Sync,
    {
        self.view(move |world| world.ask(&question).cloned()).await
    }

    /// Returns the agent that has this slug (short name) in the project, or `None` when there is none.
    pub async fn agent_by_slug(&self, slug: &str) -> Result<Option<AgentId>, Error> {
        if !engine::agent::is_slug(slug) {
            return Ok(None);
        }
        Ok(self.ask(AgentIdNeed::WithSlug(slug.to_owned())).await?.first().copied())
    }

    /// Returns one page of the tasks that can be claimed now.
    pub async fn next_tasks(&self, ask: OfferQuery) -> Result<OfferPage, Error> {
        let now = self.clock.now();
        self.view(move |world| offer::next(world, &ask, now)).await
    }

    /// Sets the plan of a workflow. A large plan is written in pieces, so that other writers do not wait long. Readers
    /// see the plan only when it is complete.
    pub async fn set_plan(
        &self,
        caller: Caller,
        workflow: WorkflowId,
        summary: String,
        tasks: Vec<PlanTask>,
    ) -> Result<Reply, Error> {
        let plan = Plan::whole(tasks)?;
        let groups = plan.groups();
        let place = PlanPlace { workflow, sequence: 0, now: self.clock.now(), existing: &BTreeMap::new() };
        let piece = plan.lay_out(&place, &mut Ids::new(random::seed()?))?;
        if piece.rows() <= engine::limits::PIECE_ROWS_MAX {
            let piece = Arc::new(piece);
            return self.execute(caller, Command::SetPlan { workflow, summary, piece, groups }).await;
        }
        let token = random::token()?;
        let begun = self.execute(caller.clone(), Command::BeginPlan { workflow, token: token.clone() }).await?;
        let Reply::PlanBegun { stale } = begun else {
            // If the idempotency key of the caller was used before, this reply is the stored reply of the first call.
            return Ok(begun);
        };
        if stale {
            self.clear_draft(&caller, workflow, &token).await?;
        }
        let (count, task_ids) = (u32::try_from(piece.tasks.len()).unwrap_or(u32::MAX), piece.named());
        for piece in piece.split() {
            let stage = Command::StagePlan { workflow, token: token.clone(), piece: Arc::new(piece) };
            self.execute(without_key(&caller), stage).await?;
        }
        self.execute(caller, Command::CommitPlan { workflow, token, summary, tasks: count, groups, task_ids }).await
    }

    /// Deletes the pieces of an unfinished plan that an earlier caller left behind when it ended early.
    async fn clear_draft(&self, caller: &Caller, workflow: WorkflowId, token: &str) -> Result<(), Error> {
        loop {
            let clear = Command::ClearDraft { workflow, token: token.to_owned() };
            if let Reply::DraftCleared { more: false } = self.execute(without_key(caller), clear).await? {
                return Ok(());
            }
        }
    }

    /// Marks approvals as expired when their time is over. Usually there is no such approval, and then this function
    /// only reads and blocks no writer.
    async fn expire_approvals(&self, now: Timestamp) -> Result<(), Error> {
        while !self.ask(ApprovalQuery::Overdue { now, limit: 1 }).await?.is_empty() {
            let caller = Caller::with_rights(Rights::Engine);
            if let Reply::ApprovalsExpired { expired: 0, .. } = self.execute(caller, Command::ExpireApprovals).await? {
                break;
            }
        }
        Ok(())
    }

    /// Ends the expired leases of all workflows, one workflow after the other; each transaction ends a limited number
    /// of leases. Then marks overdue approvals as expired, and asks a person about gated tasks that could start.
    pub async fn sweep(&self) -> Result<Swept, Error> {
        let mut swept = Swept::default();
        let now = self.settled_now().await;
        let over = Timestamp(now.0.saturating_sub(self.lease_slack_ms()));
        for workflow in self.ask(WorkflowIdNeed::WithExpired(over)).await? {
            loop {
                let caller = Caller::with_rights(Rights::Engine);
                match self.execute(caller, Command::Sweep { workflow }).await {
                    Ok(Reply::Swept { offered, failed, more }) => {
                        swept.offered += offered;
                        swept.failed += failed;
                        // Stop when the sweep ended no lease of a full page of expired leases, because the holders of
                        // all these leases are alive and their leases were renewed. The next sweep reads the remaining
                        // leases.
                        if !more || offered + failed == 0 {
                            break;
                        }
                    }
                    Ok(_) | Err(Error::Refused(Refusal::WorkflowNotFound { .. })) => break,
                    Err(error) => return Err(error),
                }
            }
        }
        self.expire_approvals(now).await?;
        self.ask_gates().await?;
        Ok(swept)
    }
}

/// Returns the command that merges JSON payloads into the stored text of a section of the project context (facts that
/// agents have learned) and writes the result.
pub fn merged_section(world: &World, name: &str, payloads: &[Value], task: TaskId) -> Result<Command, DecisionStop> {
    let stored = world.section(name)?;
    let body = stored.and_then(|section| wire::json::parse(section.body.as_str()).ok());
    let merged = wire::handoff::merge_all(&body.map_or(Value::Null, |node| node.to_value()), payloads);
    Ok(Command::WriteSection {
        name: name.to_owned(),
        version: stored.map_or(0, |section| section.version),
        body: Json::from_stored(merged.value.to_string()),
        task: Some(task),
    })
}

fn without_key(caller: &Caller) -> Caller {
    Caller { key: None, ..caller.clone() }
}

/// Returns the idempotency key for a command, with a fingerprint of its arguments. Equal arguments have an equal
/// fingerprint, because ids and times are assigned only later.
pub fn key(owner: KeyOwner, key: String, arguments: &impl serde::Serialize) -> Key {
    let text = serde_json::to_string(arguments).unwrap_or_default();
    Key { owner, key, fingerprint: sha256(text.as_bytes()) }
}
