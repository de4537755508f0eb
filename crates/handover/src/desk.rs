//! The `desk` module: takes a tool and its arguments, and returns a reply. MCP, HTTP and the command line all call it,
//! so a tool does the same through each of them.

mod adder;
mod author;
mod client_agents;
mod execution;
mod finished;
mod idle;
mod mail;
mod places;
mod plans;
mod reads;
mod repositories;
mod reviews;
mod seat;
mod serve;
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
use engine::{Caller, Command, DecisionStop, Refusal, Reply, Rights, Standing, Timestamp, identity};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wire::json::Value;
use wire::lifecycle::{self, Call, Effect, Tool, ToolError};

pub use adder::{DeskAdder, NotAdded};
pub use client_agents::ClientAgents;
pub use seat::TurnSeat;

use base::error::Error;
use base::people::principal;
use base::service::{self, Service};

/// The caller of a tool, as MCP, HTTP or the command line knows it. No field comes from the arguments of the call, so a
/// caller cannot choose its own rights.
#[derive(Debug, Clone)]
pub struct Visitor {
    pub rights: Rights,
    /// The id of the caller's connection: a process, an MCP session, a token or the command line. Agents are registered
    /// on a connection.
    pub session: Option<SessionId>,
    /// The rule that decides as which agent the caller may act. Either its token or its turn (one run of an agent's
    /// program) proves that it is one agent, or it may act as the agents that are registered on its connection.
    pub standing: Standing,
    /// The name of the user or of the token that opened the connection.
    pub principal: Option<String>,
    /// The caller's own agent, which is used when the call names no agent. It comes from the token or the environment.
    pub agent: Option<AgentId>,
    /// The agent that the caller named outside of the arguments, such as in an HTTP header. If the arguments name an
    /// agent, too, then the agent in the arguments is used.
    pub named: Option<AgentId>,
    /// `true` if the token belongs to one agent, so that the caller can act only as that `agent`.
    pub bound: bool,
    /// The owner under which the caller's idempotency keys are stored, when the call names no agent.
    pub owner: String,
    /// An idempotency key that the caller sent outside of the arguments, such as in an HTTP header.
    pub key: Option<String>,
    /// The turn (one run of an agent's program) that the caller's process belongs to; `None` if Handover's runner did
    /// not start the process for a turn.
    pub seat: Option<TurnSeat>,
    /// The name of the agent that wrote the tasks which a person sends, such as the agent that drafted a plan. `None`
    /// when the caller wrote them.
    pub author: Option<String>,
    /// The client's own names for the session, sub-agent and tool call that this call comes from.
    pub origin: Origin,
    /// A cancellation token, which is cancelled when the caller is about to leave or the server is about to stop. After
    /// that, calls that only wait return their results so far.
    pub leaving: CancellationToken,
}

impl Visitor {
    /// Returns the caller for a person at a terminal of this machine.
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
            author: None,
            origin: Origin::default(),
            leaving: CancellationToken::new(),
        }
    }

    /// Returns the caller for a client of this user that shares its connection with no other client.
    pub fn on_session(session: SessionId, rights: Rights) -> Self {
        let (standing, principal) = (Standing::Client, Some(principal::of_user()));
        Self { rights, session: Some(session), standing, principal, owner: session.to_string(), ..Self::person() }
    }

    /// Returns the caller for a command that was typed: a person, or a person's script, which has fewer rights.
    /// `rights` says which of the two.
    pub fn at_command_line(rights: Rights) -> Self {
        let (session, principal) = (Some(principal::command_line()), Some(principal::of_user()));
        Self { rights, session, principal, ..Self::person() }
    }

    fn may_override(&self) -> bool {
        self.rights.may_override()
    }
}

/// The result of a call of one of Handover's tools.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    Done(Value),
    Refused(ToolError),
    /// The store or this machine failed. Nothing was changed, unless the error says that the call may have happened.
    Failed(ToolError),
    UnknownTool,
}

/// A function that tells the caller that a long call is still running. The call awaits each report, so that no report
/// is sent after the answer. Dropping the future of the call cancels the call.
pub type CallProgress = Arc<dyn Fn(u32, &'static str) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The reason why a tool's call was stopped before it succeeded.
#[derive(Debug)]
pub(crate) enum Stopped {
    Said(ToolError),
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

type ToolAnswer = Result<Value, Stopped>;

/// The folders and the store that a `Desk` needs to perform the calls of tools.
#[derive(Debug, Clone, Default)]
pub struct DeskSurroundings {
    /// The root folder of the project. It holds the project's worktrees, its templates of plans, and its agent cards
    /// (the files that describe agents).
    pub root: Option<PathBuf>,
    /// The folder in which worktrees are created. Without it, the default folder is used.
    pub worktrees: Option<PathBuf>,
    /// The folder in which this machine keeps its state for the project. The state includes the proofs of running
    /// turns, with which a process shows that it belongs to a run of an agent's program.
    pub state: Option<PathBuf>,
    /// The user's data folder, which records the settings that a person accepted.
    pub data: Option<PathBuf>,
    /// The path or URL of the store, as it is passed to programs that this process starts.
    pub store: Option<String>,
    /// The path of the `handover` program. It is only set when this process runs another program than `handover`.
    pub binary: Option<PathBuf>,
}

#[derive(Clone)]
pub struct Desk {
    service: Service,
    surroundings: Arc<DeskSurroundings>,
    /// The time at which each caller's leases (its claims on tasks, which expire) were last renewed because the caller
    /// made a call.
    signs: Arc<Mutex<HashMap<String, Timestamp>>>,
    /// The reviews that run in the background, after the calls that asked for them returned.
    reviews: TaskTracker,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("surroundings", &self.surroundings).finish_non_exhaustive()
    }
}

/// One call in progress: the caller as MCP, HTTP or the command line knows it, the same caller as the engine needs it,
/// and the function that reports progress.
pub(crate) struct ToolRequest<'a> {
    visitor: &'a Visitor,
    caller: Caller,
    progress: Option<CallProgress>,
}

impl ToolRequest<'_> {
    /// Tells whether the caller is a person and not an agent. A person who names one of their agents acts as that
    /// agent.
    pub(crate) fn is_person(&self) -> bool {
        self.caller.rights == Rights::Person && self.caller.agent.is_none()
    }

    /// Tells whether the caller is a person or a person's script, and names no agent to act as.
    pub(crate) fn is_persons(&self) -> bool {
        self.caller.rights.is_persons() && self.caller.agent.is_none()
    }
}

/// The shortest time between two renewals of one caller's leases (its claims on tasks, which expire), in milliseconds.
/// A call within this time after the last renewal renews nothing.
const SIGN_MS: i64 = 20_000;
/// The largest number of callers for which the time of the last renewal of their leases (claims on tasks) is
/// remembered. When this number is reached, all these times are forgotten, and the next call of each caller renews
/// again.
const SIGNS_MAX: usize = 10_000;

impl Desk {
    pub fn new(service: Service, surroundings: DeskSurroundings) -> Self {
        Self { service, surroundings: Arc::new(surroundings), signs: Arc::default(), reviews: TaskTracker::new() }
    }

    /// Waits until all reviews that run in the background have ended.
    pub async fn settled(&self) {
        self.reviews.close();
        self.reviews.wait().await;
        self.reviews.reopen();
    }

    pub fn service(&self) -> &Service {
        &self.service
    }

    pub fn surroundings(&self) -> &DeskSurroundings {
        &self.surroundings
    }

    /// Returns the ids of the connections whose processes run on this machine now.
    pub fn alive(&self) -> Vec<SessionId> {
        self.service.live().map(|live| live.snapshot().present.to_vec()).unwrap_or_default()
    }

    /// Performs a tool's call. The future is boxed, because otherwise each of MCP, HTTP and the command line would
    /// contain a copy of the code of all tools.
    pub fn call<'a>(
        &'a self,
        visitor: &'a Visitor,
        tool: &'a str,
        arguments: &'a [u8],
        progress: Option<CallProgress>,
    ) -> Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'a>> {
        Box::pin(async move {
            let Some(tool) = Tool::find(tool) else { return ToolOutcome::UnknownTool };
            let judged = tool.judge(arguments);
            let Some(call) = judged.value else {
                return ToolOutcome::Refused(lifecycle::rejection(tool, &judged.report));
            };
            match self.perform(visitor, tool, &call, progress).await {
                ToolOutcome::Refused(said) => ToolOutcome::Refused(said.with_given_texts(judged.report.stand_ins())),
                outcome @ (ToolOutcome::Done(_) | ToolOutcome::Failed(_) | ToolOutcome::UnknownTool) => outcome,
            }
        })
    }

    async fn perform(
        &self,
        visitor: &Visitor,
        tool: &Tool,
        call: &Call,
        progress: Option<CallProgress>,
    ) -> ToolOutcome {
        let request = self.request(visitor, call, progress);
        if let Some(seat) = visitor.seat
            && let Err(stopped) = self.still_runs(seat).await
        {
            return outcome(Err(stopped));
        }
        if tool.effect != Effect::Reads && runner::review::is_below_a_review() {
            let problem = "a reviewer started this call, and a reviewer may only read".to_owned();
            return ToolOutcome::Refused(lifecycle::refusal(&Refusal::NotPermitted { problem }));
        }
        let decided = match visitor.seat {
            Some(seat) => self.below_turn(seat, &request, call).await,
            None => None,
        };
        let answer = match decided {
            Some(answer) => answer,
            None => self.serve(&request, call).await,
        };
        let outcome = outcome(answer);
        // A write that succeeded has already renewed the caller's leases (its claims on tasks). After a read or a
        // refused call, renew them here.
        if tool.effect == Effect::Reads || !matches!(outcome, ToolOutcome::Done(_)) {
            self.sign_of_life(&request);
        }
        outcome
    }

    fn request<'a>(&self, visitor: &'a Visitor, call: &Call, progress: Option<CallProgress>) -> ToolRequest<'a> {
        let common = call.common();
        let own = visitor.agent.filter(|_| visitor.bound);
        let (agent, standing) = match (own, common.agent.or(visitor.named)) {
            (Some(own), None) => (Some(own), Standing::Vouched),
            (Some(own), Some(named)) if own == named => (Some(own), Standing::Vouched),
            // A token that is bound to one agent can register only that agent, even if the call names another agent.
            (Some(own), Some(_)) if matches!(call, Call::AgentRegister(_)) => (Some(own), Standing::Vouched),
            (_, named) => (named.or(visitor.agent), visitor.standing),
        };
        // If both the arguments and a header have an idempotency key, then the key in the arguments is used.
        let key = common.key.or_else(|| visitor.key.clone());
        let owner = KeyOwner::Acting { connection: visitor.owner.clone(), tool: call.tool().name.to_owned() };
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
        ToolRequest { visitor, caller, progress }
    }

    /// Renews the leases of the calling agent (its claims on tasks), because every call shows that the agent is alive.
    /// The renewal runs in the background: the call does not wait for it.
    fn sign_of_life(&self, request: &ToolRequest<'_>) {
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
            // Errors are ignored: a caller that is not an agent has no leases (claims on tasks) to renew, and a fault
            // of the store shows again at the next command.
            let _ = service.execute(caller, Command::Renew).await;
        });
    }

    /// Refuses an agent that is registered on another connection than the caller's.
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

    /// Returns the agent that the caller acts as; `None` for a person who names no agent.
    async fn acting(&self, request: &ToolRequest<'_>) -> Result<Option<AgentId>, Stopped> {
        if request.is_persons() {
            return Ok(None);
        }
        let (caller, now) = (request.caller.clone(), self.service.now());
        let found = self.service.view(move |world| match identity::acting_agent(world, &caller, None, now) {
            Ok(agent) => Ok(Some(agent)),
            Err(DecisionStop::Refused(Refusal::AgentNotFound { agent: None })) => Ok(None),
            Err(stop) => Err(stop),
        });
        Ok(found.await?)
    }
}

fn outcome(answer: ToolAnswer) -> ToolOutcome {
    match answer {
        Ok(value) => ToolOutcome::Done(value),
        Err(Stopped::Said(said)) => ToolOutcome::Refused(said),
        Err(Stopped::Error(Error::Refused(refusal))) => ToolOutcome::Refused(lifecycle::refusal(&refusal)),
        Err(Stopped::Error(error)) => ToolOutcome::Failed(fault(&error)),
    }
}

fn answered(call: &Call, reply: &Reply) -> ToolAnswer {
    lifecycle::answer(call, reply).ok_or_else(|| unexpected(call.tool().name))
}

fn unexpected(tool: &str) -> Stopped {
    Stopped::Error(Error::Fault(store::Fault::Bug { what: format!("{tool} got the reply of another tool") }))
}

/// Describes a fault to the caller: the operation that failed, without internal details.
fn fault(error: &Error) -> ToolError {
    let unknown = matches!(error, Error::Fault(store::Fault::Unknown { .. }));
    lifecycle::fault(&error.told(), unknown)
}

/// Returns the refusal for a text that is not a cursor (a position) of the requested list.
fn bad_cursor() -> Refusal {
    Refusal::InvalidInput {
        field: "cursor".to_owned(),
        problem: "is not a cursor of this list; use next_cursor of the last reply".to_owned(),
    }
}

/// Parses a cursor: a position in a list, written as two parts with a dot between them, such as
/// `1700000000000.wf_0123456789ab`.
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
