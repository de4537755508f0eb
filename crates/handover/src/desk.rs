//! The desk: a tool and its arguments in, a reply out. Every door puts its visitors before it, so an act is the same
//! through all of them.

mod author;
mod client_agents;
mod execution;
mod mail;
mod places;
mod plans;
mod reads;
mod repositories;
mod reviews;
mod seat;
mod task_reviews;
mod waits;
mod wires;
mod work;

use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use engine::agent::Origin;
use engine::caller::KeyOwner;
use engine::id::{AgentId, SessionId};
use engine::{Caller, Command, Refusal, Reply, Rights, Standing, Stop, Timestamp, identity};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wire::json::Value;
use wire::lifecycle::{self, Call, Effect, Said, Tool};

pub use client_agents::ClientAgents;
pub use seat::Seat;

use crate::error::Error;
use crate::principal;
use crate::service::{self, Service};

/// Who stands at the door, as the door knows it: nothing here comes from the call itself.
#[derive(Debug, Clone)]
pub struct Visitor {
    pub rights: Rights,
    /// The connection: a process, a session, a token, the command line.
    pub session: Option<SessionId>,
    /// How the visitor is tied to the agents of its connection.
    pub standing: Standing,
    /// The user or token behind the connection.
    pub principal: Option<String>,
    /// The agent that the token or the surroundings stand for.
    pub agent: Option<AgentId>,
    /// The agent that was named beside the call, as in a header. The call's own arguments count before it.
    pub named: Option<AgentId>,
    /// The visitor can be no other agent than that: its token says so.
    pub bound: bool,
    /// Whose idempotency keys these are when the call names no agent.
    pub owner: String,
    /// A key that came beside the call.
    pub key: Option<String>,
    /// The turn of the runner it works for.
    pub seat: Option<Seat>,
    /// Where in its client the call comes from.
    pub origin: Origin,
    /// Cancelled when the visitor is about to go, or the door about to close: what only waits ends with what it has.
    pub leaving: CancellationToken,
}

impl Visitor {
    /// Somebody at a terminal of this machine.
    pub fn person() -> Self {
        Self {
            rights: Rights::Person,
            session: None,
            standing: Standing::Shared,
            principal: None,
            agent: None,
            named: None,
            bound: false,
            owner: "human".to_owned(),
            key: None,
            seat: None,
            origin: Origin::default(),
            leaving: CancellationToken::new(),
        }
    }

    /// A client of this user with a connection of its own.
    pub fn on_session(session: SessionId, rights: Rights) -> Self {
        let (standing, principal) = (Standing::Client, Some(principal::of_user()));
        Self { rights, session: Some(session), standing, principal, owner: session.to_string(), ..Self::person() }
    }

    /// A person at the command line of this machine, or a script of theirs, which has fewer rights.
    pub fn at_command_line(rights: Rights) -> Self {
        let (session, principal) = (Some(principal::command_line()), Some(principal::of_user()));
        Self { rights, session, principal, ..Self::person() }
    }

    fn may_override(&self) -> bool {
        self.rights.may_override()
    }
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Done(Value),
    Refused(Said),
    /// The machine failed.
    Failed(Said),
    UnknownTool,
}

/// Tells whoever waits for a long call that it goes on. It is waited for, so that nothing is told after the answer. A call
/// is cancelled by dropping it.
pub type Progress = Arc<dyn Fn(u32, &'static str) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// What stopped a call.
#[derive(Debug)]
pub(crate) enum Stopped {
    Said(Said),
    Error(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Self {
        Self::Error(Error::Refused(refusal))
    }
}

type Answer = Result<Value, Stopped>;

/// What the desk knows of its surroundings.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The project's root, where its cards, templates and worktrees are.
    pub root: Option<PathBuf>,
    /// Where worktrees are made instead of the usual place.
    pub worktrees: Option<PathBuf>,
    /// Where this machine keeps what is its own.
    pub state: Option<PathBuf>,
    /// The user's data folder, where it is kept what was accepted.
    pub data: Option<PathBuf>,
    /// The store, as a program below us has to be told it.
    pub store: Option<String>,
    /// Our own program, where this process is another one.
    pub binary: Option<PathBuf>,
}

#[derive(Clone)]
pub struct Desk {
    service: Service,
    surroundings: Arc<Surroundings>,
    /// When the last sign of life of a caller was passed on.
    signs: Arc<Mutex<HashMap<String, Timestamp>>>,
    /// Reviews that are under way beside the calls that asked for them.
    reviews: TaskTracker,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("surroundings", &self.surroundings).finish_non_exhaustive()
    }
}

/// One call on its way: who asks, as the engine sees it, and what it is compared with when it comes again.
pub(crate) struct Request<'a> {
    visitor: &'a Visitor,
    caller: Caller,
    progress: Option<Progress>,
}

impl Request<'_> {
    /// Whether a person acts under their own name. A person who names an agent of theirs acts as that agent.
    pub(crate) fn is_person(&self) -> bool {
        self.caller.rights == Rights::Person && self.caller.agent.is_none()
    }

    /// Whether a person or a person's script acts under the person's name.
    pub(crate) fn is_persons(&self) -> bool {
        self.caller.rights.is_persons() && self.caller.agent.is_none()
    }
}

/// A sign of life is passed on at most this often for each caller; the engine stores fewer.
const SIGN_MS: i64 = 20_000;
/// Callers whose signs are remembered.
const SIGNS_MAX: usize = 10_000;

impl Desk {
    pub fn new(service: Service, surroundings: Surroundings) -> Self {
        Self { service, surroundings: Arc::new(surroundings), signs: Arc::default(), reviews: TaskTracker::new() }
    }

    /// What goes on beside the calls has ended.
    pub async fn settled(&self) {
        self.reviews.close();
        self.reviews.wait().await;
        self.reviews.reopen();
    }

    pub fn service(&self) -> &Service {
        &self.service
    }

    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Returns the connections of this machine whose processes live.
    pub fn alive(&self) -> Vec<SessionId> {
        self.service.live().map(|live| live.snapshot().present.to_vec()).unwrap_or_default()
    }

    /// Does what a call asks for. Boxed, because every door would get a copy of all tools otherwise.
    pub fn call<'a>(
        &'a self,
        visitor: &'a Visitor,
        tool: &'a str,
        arguments: &'a [u8],
        progress: Option<Progress>,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(async move {
            let Some(judged) = lifecycle::judge(tool, arguments) else { return Outcome::UnknownTool };
            let Some(tool) = Tool::find(tool) else { return Outcome::UnknownTool };
            let Some(call) = judged.value else { return Outcome::Refused(lifecycle::rejection(tool, &judged.report)) };
            self.perform(visitor, tool, &call, progress).await
        })
    }

    async fn perform(&self, visitor: &Visitor, tool: &Tool, call: &Call, progress: Option<Progress>) -> Outcome {
        let request = self.request(visitor, call, progress);
        if let Some(seat) = visitor.seat
            && let Err(stopped) = self.still_runs(seat).await
        {
            return outcome(Err(stopped));
        }
        if tool.effect != Effect::Reads && crate::review::is_below_a_review() {
            let problem = "this runs below a reviewer, who looks and changes nothing".to_owned();
            return Outcome::Refused(lifecycle::refusal(&Refusal::NotPermitted { problem }));
        }
        let decided = match visitor.seat {
            Some(seat) => self.below_turn(seat, &request, call).await,
            None => None,
        };
        let answer = match (decided, call.command()) {
            (Some(answer), _) => answer,
            (None, Some(command)) => self.command(&request, call, command).await,
            (None, None) => self.other(&request, call).await,
        };
        let outcome = outcome(answer);
        // A write that was done is a sign of life by itself.
        if tool.effect == Effect::Reads || !matches!(outcome, Outcome::Done(_)) {
            self.sign_of_life(&request);
        }
        outcome
    }

    fn request<'a>(&self, visitor: &'a Visitor, call: &Call, progress: Option<Progress>) -> Request<'a> {
        let common = call.common();
        let own = visitor.agent.filter(|_| visitor.bound);
        let (agent, standing) = match (own, common.agent.or(visitor.named)) {
            (Some(own), None) => (Some(own), Standing::Vouched),
            (Some(own), Some(named)) if own == named => (Some(own), Standing::Vouched),
            // A registration over a bound token is always the bound agent's.
            (Some(own), Some(_)) if matches!(call, Call::AgentRegister(_)) => (Some(own), Standing::Vouched),
            (_, named) => (named.or(visitor.agent), visitor.standing),
        };
        // What the call itself says counts before what came beside it.
        let key = common.key.or_else(|| visitor.key.clone());
        let owner = KeyOwner::Acting { connection: visitor.owner.clone(), tool: call.tool().to_owned() };
        let key = key.map(|key| service::key(owner, key, &call.fingerprint()));
        let caller = Caller {
            agent,
            session: visitor.session,
            standing,
            principal: visitor.principal.clone(),
            lock_owner: common.session,
            key,
            origin: visitor.origin.clone(),
            ..Caller::with_rights(visitor.rights)
        };
        Request { visitor, caller, progress }
    }

    /// A call that is one command.
    async fn command(&self, request: &Request<'_>, call: &Call, command: Command) -> Answer {
        let caller = self.with_work(request, &command).await?;
        let command = self.with_card(call, command);
        let asks = wires::Asks::by(call, &command);
        let reply = self.service.execute(caller, command).await;
        let reply = reply.map_err(|error| mail::of_a_sender(call, error))?;
        self.keep_base(&reply).await;
        if let (Call::WorkflowSetConfig(asked), Reply::Configured) = (call, &reply) {
            return self.config(asked.id).await;
        }
        let mut answer = answered(call, &reply)?;
        if let (Some(asks), Value::Object(members)) = (asks, &mut answer)
            && let Some(approval) = self.ask_exec_gate(request, asks).await?
        {
            members.push(("approval_id".to_owned(), approval.to_string().into()));
        }
        Ok(answer)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "`Call::command` names every call; the rest are commands")]
    async fn other(&self, request: &Request<'_>, call: &Call) -> Answer {
        match call {
            Call::TaskNext(asked) => self.task_next(request, asked).await,
            Call::TaskWait(asked) => self.task_wait(request, asked).await,
            Call::TaskLoadContext(asked) => self.load_context(asked).await,
            Call::WorkflowNextTasks(asked) => self.next_tasks(asked).await,
            Call::TaskGetAvailable(asked) => self.available(request, asked).await,
            Call::TaskGet(asked) => self.task(asked).await,
            Call::TaskCheckDependencies(asked) => self.dependencies(asked.task_id).await,
            Call::CheckpointList(asked) => self.checkpoints(asked).await,
            Call::WorkflowGet(asked) => self.workflow(asked).await,
            Call::WorkflowList(asked) => self.workflows(asked).await,
            Call::WorkflowProgress(asked) => self.progress(asked.workflow_id).await,
            Call::WorkflowGetSummary(asked) => self.summary(asked).await,
            Call::WorkflowLockInfo(asked) => self.lock_info(asked.id).await,
            Call::WorkflowListRepositories(asked) => self.attached(asked.workflow_id).await,
            Call::WorkflowStart(asked) => self.start(request, asked).await,
            Call::WorkflowSuspend(asked) => self.suspend(request, asked).await,
            Call::WorkflowResume(asked) => self.resume(request, asked).await,
            Call::WorkflowExecutionStatus(asked) => self.execution(asked).await,
            Call::WorkflowCheckMerge(asked) => self.check_merge(asked).await,
            Call::WorkflowSetPlan(asked) => self.set_plan(request, call, asked).await,
            Call::WorkflowAddTask(asked) => self.add_task(request, call, asked).await,
            Call::WorkflowReplan(asked) => self.replan(request, call, asked).await,
            Call::TemplateCreate(asked) => self.create_template(request, call, asked).await,
            Call::TemplateList(asked) => self.templates(asked).await,
            Call::TemplateApply(asked) => self.apply_template(request, asked).await,
            Call::WorkspaceCreate(asked) => self.create_workspace(request, asked).await,
            Call::WorkspaceUpdate(asked) => self.update_workspace(request, asked).await,
            Call::WorkspaceList(asked) => self.workspaces(asked).await,
            Call::RepositoryList(asked) => self.repositories(asked).await,
            Call::RepositoryGet(asked) => self.repository(asked.path.as_str()).await,
            Call::AgentGet(asked) => self.agent(request, asked).await,
            Call::AgentList(asked) => self.agents(asked).await,
            Call::MessageList(asked) => self.messages(request, asked).await,
            Call::MessageGet(asked) => self.message(request, asked).await,
            Call::MessageCountUnread(asked) => self.count_unread(request, asked).await,
            Call::InboxRead(asked) => self.inbox(request, asked).await,
            Call::WirePost(asked) => self.post(request, asked).await,
            Call::ReviewRequest(asked) => self.review_request(request, asked).await,
            Call::ReviewAnswer(asked) => self.review_answer(request, asked).await,
            Call::ReviewStatusGet(asked) => self.review_status(request, asked).await,
            _ => Err(unexpected(call.tool())),
        }
    }

    /// Any call by an agent renews what it holds. Never waited for.
    fn sign_of_life(&self, request: &Request<'_>) {
        let who = match (request.caller.agent, request.caller.session) {
            (Some(agent), _) => agent.to_string(),
            (None, Some(session)) => session.to_string(),
            (None, None) => return,
        };
        let now = self.service.now();
        if let Ok(mut signs) = self.signs.lock() {
            if signs.get(&who).is_some_and(|last| now.0 < last.0 + SIGN_MS) {
                return;
            }
            if signs.len() >= SIGNS_MAX {
                signs.clear();
            }
            signs.insert(who, now);
        }
        let service = self.service.clone();
        let caller = Caller { key: None, lock_owner: None, ..request.caller.clone() };
        tokio::spawn(async move {
            // Somebody who is no agent gives no sign; a fault here shows when the next command is given.
            let _ = service.execute(caller, Command::Renew).await;
        });
    }

    /// Returns the agent that the caller acts as, where a view needs one. A person who names no agent is none.
    /// Refuses an agent that is at home on another connection than the visitor's.
    pub async fn check_named(&self, visitor: &Visitor, agent: AgentId) -> Result<(), Error> {
        let caller = Caller {
            agent: Some(agent),
            session: visitor.session,
            standing: visitor.standing,
            principal: visitor.principal.clone(),
            ..Caller::with_rights(visitor.rights)
        };
        let (caller, now) = (self.service.informed(caller), self.service.now());
        self.service.view(move |world| identity::check_voice(world, &caller, world.agent(agent)?, now)).await
    }

    async fn acting(&self, request: &Request<'_>) -> Result<Option<AgentId>, Stopped> {
        if request.is_persons() {
            return Ok(None);
        }
        let (caller, now) = (request.caller.clone(), self.service.now());
        let found = self.service.view(move |world| match identity::acting_agent(world, &caller, None, now) {
            Ok(agent) => Ok(Some(agent)),
            Err(Stop::Refused(Refusal::AgentNotFound { agent: None })) => Ok(None),
            Err(stop) => Err(stop),
        });
        Ok(found.await?)
    }
}

fn outcome(answer: Answer) -> Outcome {
    match answer {
        Ok(value) => Outcome::Done(value),
        Err(Stopped::Said(said)) => Outcome::Refused(said),
        Err(Stopped::Error(Error::Refused(refusal))) => Outcome::Refused(lifecycle::refusal(&refusal)),
        Err(Stopped::Error(error)) => Outcome::Failed(fault(&error)),
    }
}

fn answered(call: &Call, reply: &Reply) -> Answer {
    lifecycle::answer(call, reply).ok_or_else(|| unexpected(call.tool()))
}

fn unexpected(tool: &str) -> Stopped {
    Stopped::Error(Error::Fault(store::Fault::Bug { what: format!("{tool} was answered by something else") }))
}

/// What a caller is told of a fault: what failed, without what is inside.
fn fault(error: &Error) -> Said {
    let unknown = matches!(error, Error::Fault(store::Fault::Unknown { .. }));
    lifecycle::fault(&error.told(), unknown)
}

/// A cursor that is not one of ours.
fn bad_cursor() -> Refusal {
    Refusal::InvalidInput {
        field: "cursor".to_owned(),
        problem: "is no cursor of this list; use next_cursor of the last reply".to_owned(),
    }
}

/// A place in a list as text, and back.
fn place<A: std::str::FromStr, B: std::str::FromStr>(
    cursor: Option<&wire::shape::NonBlank>,
) -> Result<Option<(A, B)>, Refusal> {
    let Some(cursor) = cursor else { return Ok(None) };
    let (first, second) = cursor.as_str().split_once('.').ok_or_else(bad_cursor)?;
    let pair = first.parse().ok().zip(second.parse().ok());
    pair.map(Some).ok_or_else(bad_cursor)
}

fn limit(asked: Option<lifecycle::Limit>) -> u32 {
    asked.map_or(u32::try_from(engine::limits::PAGE_ROWS_DEFAULT).unwrap_or(50), |wire::lifecycle::Within(rows)| rows)
}
