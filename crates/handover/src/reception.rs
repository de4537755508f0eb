//! The backend of the MCP server: translates between the MCP protocol and `Desk::call`, which performs the tools.

mod origin;
mod prompts;
mod resources;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use engine::command::SessionEnd;
use engine::id::{Ids, SessionId};
use engine::world::{AgentIdNeed, TaskIdNeed};
use engine::{Caller, Command, Rights, Standing};
use serde_json::{Map, Value};
use tokio::sync::watch;
use wire::lifecycle::{self, Effect, Set};

use crate::desk::{self, Desk, TurnSeat, Visitor};
use crate::keeper::Keeper;
use base::error::Error;
use base::ground::random;
use base::service::feed::Feed;
use mcp::{
    Backend, BackendProblem, CallOutcome, CallerIdentity, Hints, McpCall, McpClient, McpTool, Prompt, PromptText,
    Resource, ResourcePage, ServerInfo, UriTemplate,
};
use runner::review::provider::can_review;

/// The set of tools that the MCP server offers to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    Default,
    Full,
    These(Vec<String>),
}

impl Offer {
    /// Parses the option `--tools`: `default`, `full`, or names of tools with commas between them.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "default" => Ok(Self::Default),
            "full" => Ok(Self::Full),
            names => {
                let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
                let unknown = names.iter().find(|name| lifecycle::Tool::find(name).is_none());
                match unknown {
                    Some(name) => Err(format!(
                        "there is no tool `{name}`; give `default`, `full`, or names of tools \
                        with commas between them"
                    )),
                    None => Ok(Self::These(names)),
                }
            }
        }
    }

    fn takes(&self, tool: &lifecycle::Tool, can_review: bool) -> bool {
        match self {
            Self::Default => match tool.set {
                Set::Core | Set::Default => true,
                Set::Review => can_review,
                Set::Full => false,
            },
            Self::Full => true,
            Self::These(names) => names.iter().any(|name| name == tool.name),
        }
    }
}

/// The instructions that the MCP server sends to the client's model.
const INSTRUCTIONS: &str = "Handover keeps the team's work: tasks with exclusive claims, checkpoints, messages. \
Register once (agent_register; over a connection that does not last give the id it returns as agent_id), then loop: task_next claims a task and gives its context; set it in_progress; \
checkpoint_add after each significant step; finish with task_update_status (completed needs outcome, failed needs error). \
A refusal has a code and a suggestion: follow it. After CLAIM_LOST stop working on that task. \
Read inbox_read when you start and before you finish. agent_unregister when you leave.";

/// The instructions for the model of a program that Handover's runner started for a turn (one run of an agent's
/// program). They replace the general instructions.
const BELOW_A_TURN: &str = "Handover runs you for one turn on one task, which is claimed for you: do not register, \
    claim or complete anything. checkpoint_add after each significant step; task_load_context shows what others did; \
    inbox_read your messages. You finish by the output your instructions describe, which is checked; when you \
    cannot continue, say so in it.";

/// The advice when a task needs a review, for a client that is not offered the review tools.
const NO_REVIEW_TOOLS: &str = "ask a person (message_send to `human`) to name an agent that can review in \
    .handover/config.toml, to start this server with `--tools full`, or to complete the task";

pub struct Reception {
    desk: Desk,
    feed: Feed,
    offered: Vec<&'static lifecycle::Tool>,
    templates: Vec<UriTemplate>,
    prompts: Vec<Prompt>,
    /// The client that started this process and speaks over its standard input and output; `None` in the HTTP server.
    pipe: Option<Pipe>,
    /// The connections of HTTP clients that use sessions of the MCP protocol. The key is the name that the `mcp` crate
    /// gives to the session.
    sessions: Mutex<HashMap<Arc<str>, SessionId>>,
}

/// The client that started this process, and its connection over the pipe.
#[derive(Debug)]
struct Pipe {
    session: SessionId,
    /// The names of the clients that may be coordinators, that is, that may also act on tasks that they do not hold.
    /// The list is empty unless this process was started with `--as coordinator`.
    coordinators: Vec<String>,
    /// `true` if the client introduced itself with a name in `coordinators`. Then it has a coordinator's rights: it may
    /// also act on tasks that it does not hold.
    is_coordinator: AtomicBool,
    keeper: Keeper,
    /// The turn (one run of an agent's program) that the client works for; `None` if Handover's runner did not start
    /// the client for a turn.
    seat: Option<TurnSeat>,
    /// The client's own name for its session; `None` if the client did not put it into the environment of this process.
    conversation: Option<String>,
}

impl Pipe {
    fn rights(&self) -> Rights {
        if self.is_coordinator.load(Ordering::Relaxed) { Rights::Coordinator } else { Rights::Agent }
    }

    /// Gives the client a coordinator's rights (it may act on tasks that it does not hold) if it introduces itself with
    /// a name in `coordinators`. If that list has names and the client has none of them, prints a message.
    fn introduced(&self, client: &McpClient) {
        let is_named = self.coordinators.contains(&client.name);
        self.is_coordinator.store(is_named, Ordering::Relaxed);
        if !is_named && !self.coordinators.is_empty() {
            let name: String = client.name.chars().filter(|letter| !letter.is_control()).take(64).collect();
            eprintln!(
                "handover: the client `{name}` has only an agent's rights, because `[mcp] coordinators` in \
                 .handover/config.toml does not name it"
            );
        }
    }
}

impl std::fmt::Debug for Reception {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reception").field("pipe", &self.pipe).finish_non_exhaustive()
    }
}

impl Reception {
    pub fn new(desk: Desk, offer: &Offer) -> Self {
        let can_review = can_review(desk.surroundings().root.as_deref());
        Self {
            feed: Feed::new(desk.service().clone()),
            offered: lifecycle::TOOLS.iter().filter(|tool| offer.takes(tool, can_review)).collect(),
            templates: resources::templates(),
            prompts: prompts::prompts(),
            pipe: None,
            sessions: Mutex::default(),
            desk,
        }
    }

    /// Configures the backend for a process that a client started. If the client introduces itself with a name in
    /// `coordinators`, it gets a coordinator's rights: it may also act on tasks that it does not hold.
    pub fn with_pipe(mut self, session: SessionId, coordinators: Vec<String>, keeper: Keeper) -> Self {
        let (is_coordinator, conversation) = (AtomicBool::new(false), origin::conversation());
        self.pipe = Some(Pipe { session, coordinators, is_coordinator, keeper, seat: None, conversation });
        self
    }

    /// Configures the backend for a client that Handover's runner started for a turn (one run of an agent's program).
    /// The client acts as the turn's agent. When its connection closes, no task is released, because the runner holds
    /// the claim on the task.
    pub fn below_a_turn(mut self, seat: Option<TurnSeat>) -> Self {
        if let Some(pipe) = &mut self.pipe {
            pipe.seat = seat;
        }
        self
    }

    /// Replaces the advice in a refusal when the advice tells the client to use review tools that this client was not
    /// offered.
    fn within_reach(&self, said: lifecycle::ToolError) -> lifecycle::ToolError {
        let is_offered = |name: &str| self.offered.iter().any(|tool| tool.name == name);
        let needs_review = matches!(said.code, "REVIEW_REQUIRED" | "FINDINGS_OPEN");
        if !needs_review || (is_offered("review_request") && is_offered("review_answer")) {
            return said;
        }
        lifecycle::ToolError { recoverable: false, suggestion: NO_REVIEW_TOOLS.to_owned(), ..said }
    }

    fn is_seated(&self) -> bool {
        self.pipe.as_ref().is_some_and(|pipe| pipe.seat.is_some())
    }

    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Returns the caller of a request. Returns `None` for an HTTP request that did not pass the check of its token.
    fn visitor(&self, who: &CallerIdentity) -> Option<Visitor> {
        match who {
            CallerIdentity::Pipe => {
                let pipe = self.pipe.as_ref()?;
                pipe.keeper.touch();
                Some(match pipe.seat {
                    Some(seat) => Visitor::seated(seat),
                    None => Visitor::on_session(pipe.session, pipe.rights()),
                })
            }
            CallerIdentity::Http { session, parts } => {
                let visitor = parts.extensions.get::<Visitor>()?.clone();
                let (session, standing) = match session.as_ref().and_then(|name| self.session(name)) {
                    Some(session) => (Some(session), Standing::Client),
                    None => (visitor.session, visitor.standing),
                };
                // An MCP client acts for a model. Even with a person's token it gets only an agent's rights.
                let rights = if visitor.rights == Rights::Person { Rights::Agent } else { visitor.rights };
                Some(Visitor { session, standing, rights, ..visitor })
            }
        }
    }

    /// Returns the connection id of an MCP session. Creates the id at the session's first request.
    fn session(&self, name: &Arc<str>) -> Option<SessionId> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = sessions.get(name) {
            return Some(*known);
        }
        let fresh = new_session().ok()?;
        sessions.insert(Arc::clone(name), fresh);
        Some(fresh)
    }
}

/// Returns a new random id for a client's connection.
pub fn new_session() -> Result<SessionId, Error> {
    Ok(SessionId::next(&mut Ids::new(random::seed()?)))
}

fn map(value: &wire::json::Value) -> Map<String, Value> {
    serde_json::from_str(&value.to_string()).unwrap_or_default()
}

fn told(tool: &lifecycle::Tool) -> McpTool {
    McpTool {
        name: tool.name.to_owned(),
        title: None,
        description: tool.about.to_owned(),
        input_schema: map(&tool.offered()),
        output_schema: Some(map(&tool.reply())),
        hints: Hints {
            read_only: tool.effect == Effect::Reads,
            destructive: tool.effect == Effect::Destroys,
            idempotent: tool.idempotent,
        },
        always_load: tool.set == Set::Core,
    }
}

fn stranger() -> String {
    lifecycle::fault("the server does not know the caller of this request", false).render().to_string()
}

impl Backend for Reception {
    fn server(&self) -> ServerInfo {
        ServerInfo {
            name: "handover".to_owned(),
            title: "Handover".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: if self.is_seated() { BELOW_A_TURN } else { INSTRUCTIONS }.to_owned(),
        }
    }

    fn tool_names(&self) -> Vec<String> {
        self.offered.iter().map(|tool| tool.name.to_owned()).collect()
    }

    fn tools(&self) -> Vec<McpTool> {
        self.offered.iter().copied().map(told).collect()
    }

    fn message_bytes_max(&self, tool: &str) -> usize {
        // The room for the parts of an MCP message other than the tool's arguments, in bytes.
        const FRAME: usize = 4_096;
        let most = lifecycle::Tool::find(tool).map_or(wire::document::BYTES_MAX, |tool| tool.bytes_max);
        most.saturating_add(FRAME).min(mcp::limits::MESSAGE_BYTES_MAX)
    }

    async fn call(&self, call: McpCall) -> CallOutcome {
        let Some(visitor) = self.visitor(&call.who) else { return CallOutcome::Fault(stranger()) };
        let tell = call.progress.clone().map(|progress| -> desk::CallProgress {
            Arc::new(move |number, message| {
                let progress = progress.clone();
                Box::pin(async move { progress.send(number, message).await })
            })
        });
        let conversation = match &call.who {
            CallerIdentity::Pipe => self.pipe.as_ref().and_then(|pipe| pipe.conversation.as_deref()),
            CallerIdentity::Http { .. } => None,
        };
        let origin = origin::of(&call.meta, matches!(call.who, CallerIdentity::Pipe), conversation);
        let visitor = Visitor { leaving: call.closing.clone(), origin, ..visitor };
        let work = self.desk.call(&visitor, &call.tool, call.arguments.as_bytes(), tell);
        // While a call waits, it changes nothing, so other calls of the client may run at the same time.
        let waits = matches!(call.tool.as_str(), "task_wait" | "task_next");
        match if waits { call.act.waiting(work).await } else { work.await } {
            desk::ToolOutcome::Done(value) => CallOutcome::Reply(value.to_string()),
            desk::ToolOutcome::Refused(said) => CallOutcome::Refused(self.within_reach(said).render().to_string()),
            desk::ToolOutcome::Failed(said) => CallOutcome::Fault(said.render().to_string()),
            desk::ToolOutcome::UnknownTool => CallOutcome::UnknownTool,
        }
    }

    async fn resources(
        &self,
        who: &CallerIdentity,
        cursor: Option<&str>,
    ) -> Result<ResourcePage<Resource>, BackendProblem> {
        let visitor = self.visitor(who).ok_or_else(|| BackendProblem::Fault(stranger()))?;
        self.list_resources(&visitor, cursor).await
    }

    fn templates(&self) -> &[UriTemplate] {
        &self.templates
    }

    async fn read(&self, who: &CallerIdentity, uri: &str) -> Result<String, BackendProblem> {
        let visitor = self.visitor(who).ok_or_else(|| BackendProblem::Fault(stranger()))?;
        self.read_resource(&visitor, uri).await
    }

    async fn watch(&self, who: &CallerIdentity, uri: &str) -> Result<watch::Receiver<u64>, BackendProblem> {
        let visitor = self.visitor(who).ok_or_else(|| BackendProblem::Fault(stranger()))?;
        self.watch_resource(&visitor, uri).await
    }

    fn prompts(&self) -> &[Prompt] {
        &self.prompts
    }

    async fn prompt(
        &self,
        _who: &CallerIdentity,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<Vec<PromptText>, BackendProblem> {
        prompts::say(name, &arguments)
    }

    fn opened(&self, _who: &CallerIdentity) {}

    fn introduced(&self, who: &CallerIdentity, client: McpClient) {
        if let (CallerIdentity::Pipe, Some(pipe)) = (who, &self.pipe) {
            pipe.introduced(&client);
        }
    }

    fn is_same(&self, opened: &http::request::Parts, now: &http::request::Parts) -> bool {
        let token =
            |parts: &http::request::Parts| parts.extensions.get::<Visitor>().map(|visitor| visitor.owner.clone());
        token(opened) == token(now)
    }

    fn owner(&self, parts: &http::request::Parts) -> String {
        parts.extensions.get::<Visitor>().map(|visitor| visitor.owner.clone()).unwrap_or_default()
    }

    async fn first_free(&self, sessions: Vec<CallerIdentity>) -> Option<usize> {
        let known = {
            let known = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            let of = |who: &CallerIdentity| match who {
                CallerIdentity::Http { session: Some(name), .. } => known.get(name).copied(),
                CallerIdentity::Http { session: None, .. } | CallerIdentity::Pipe => None,
            };
            sessions.iter().map(of).collect::<Vec<Option<SessionId>>>()
        };
        let view = self.desk.service().view(move |world| {
            world.want(known.iter().flatten().map(|session| AgentIdNeed::OfSession(*session)))?;
            let mut agents = Vec::new();
            for session in &known {
                agents.push(match session {
                    Some(session) => world.ask(&AgentIdNeed::OfSession(*session))?.clone(),
                    None => Vec::new(),
                });
            }
            world.want(agents.iter().flatten().map(|agent| TaskIdNeed::HeldBy(*agent)))?;
            for (place, agents) in agents.iter().enumerate() {
                let mut holds = false;
                for agent in agents {
                    holds |= !world.ask(&TaskIdNeed::HeldBy(*agent))?.is_empty();
                }
                if !holds {
                    return Ok(Some(place));
                }
            }
            Ok(None)
        });
        // If the store cannot be read, it is not known which sessions have agents that hold tasks. Then choose no
        // session to end.
        view.await.ok().flatten()
    }

    async fn closed(&self, who: &CallerIdentity) {
        if matches!(who, CallerIdentity::Pipe) && self.is_seated() {
            return;
        }
        let session = match who {
            CallerIdentity::Pipe => self.pipe.as_ref().map(|pipe| pipe.session),
            CallerIdentity::Http { session, .. } => session
                .as_ref()
                .and_then(|name| self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(name)),
        };
        let Some(session) = session else { return };
        let caller = Caller { session: Some(session), ..Caller::with_rights(Rights::Agent) };
        let close = Command::CloseSession { session, end: SessionEnd::Closed };
        // Ignore a failure: the leases of the session's agents (their claims on tasks) then expire at their time.
        let _late = self.desk.service().execute(caller, close).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names of the review tools that the MCP server offers with this option.
    fn review_tools(offer: &Offer, can_review: bool) -> Vec<&'static str> {
        let taken = lifecycle::TOOLS.iter().filter(|tool| offer.takes(tool, can_review)).map(|tool| tool.name);
        taken.filter(|name| name.starts_with("review_")).collect()
    }

    #[test]
    fn review_tools_are_offered_where_an_agent_can_review() {
        let all = ["review_request", "review_answer", "review_status"];
        assert_eq!(review_tools(&Offer::Default, true), all);
        assert_eq!(review_tools(&Offer::Default, false), [""; 0]);
        assert_eq!(review_tools(&Offer::Full, false), all);
        assert_eq!(review_tools(&Offer::These(vec!["review_status".to_owned()]), true), ["review_status"]);
    }
}
