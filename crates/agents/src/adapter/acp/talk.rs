//! Holds the conversation of one turn (one run of an agent's program) over the Agent Client Protocol (ACP), from the
//! first request (`initialize`) to the agent's answer.

use std::pin::Pin;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::super::account::{Account, EventVerdict};
use super::super::listener::EventDialect;
use super::super::order::{McpServerLaunch, TurnOrder, path_text};
use super::super::said::{AgentEnd, Exit, TurnSaid};
use super::message::{AcpMessage, AcpSession, Initialized, Prompted};
use super::overheard::{Overheard, failed};
use super::peer::{AcpAnswer, AcpHost, Gone, Peer};
use super::usage::session_model;

/// The time without messages after which the history of a loaded conversation counts as complete. Gemini first answers
/// that the conversation is loaded, then sends its history, and does not mark the end of the history. If the prompt
/// were sent during the history, the answer would be mixed with old texts.
const QUIET: Duration = Duration::from_millis(700);
/// The longest wait for the end of a conversation's history. After this time the prompt is sent, even if the agent
/// still sends messages.
const QUIET_MAX: Duration = Duration::from_secs(20);
/// The longest wait for the answer of an agent that was asked to cancel its turn (the run of its program). After this
/// time the turn counts as cancelled anyway.
const FAREWELL: Duration = Duration::from_secs(5);
const VERSION: u32 = 1;

/// A conversation over the Agent Client Protocol (ACP) that has ended. The agent's process may still run.
#[derive(Debug)]
pub struct Talked {
    account: Account,
    overheard: Overheard,
}

impl Talked {
    /// Returns the report of the turn (the run of the agent's program), as `Listener::end` does for programs that do
    /// not use the Agent Client Protocol. The exit status is used only if the process ended before it gave an answer.
    pub fn end(mut self, exit: Exit, stderr_tail: &str) -> TurnSaid {
        let verdict = self.overheard.verdict(stderr_tail, &mut self.account);
        self.account.close(verdict, exit, stderr_tail)
    }
}

/// The reasons why a conversation with an agent ends before the agent answers.
enum TalkStop {
    Verdict(EventVerdict),
    Gone,
    Cancelled,
}

impl From<Gone> for TalkStop {
    fn from(Gone: Gone) -> Self {
        Self::Gone
    }
}

/// Holds the conversation of one turn (one run of an agent's program). When `cancel` is ready, the agent is asked to
/// stop and gets a short time to confirm. Dropping this future closes both pipes, but some agents continue to run even
/// without their pipes.
pub async fn converse<R, W, H>(
    order: &TurnOrder,
    pipes: (R, W),
    host: &mut H,
    cancel: impl Future<Output = ()>,
) -> Talked
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
    H: AcpHost,
{
    let mut peer = Peer::new(pipes.0, pipes.1, host);
    let mut turn = AcpTurn { order, peer: &mut peer, session: None, cancel: std::pin::pin!(cancel) };
    match turn.run().await {
        Ok(()) | Err(TalkStop::Gone) => {}
        Err(TalkStop::Verdict(verdict)) => peer.overheard.give_up(verdict),
        Err(TalkStop::Cancelled) => peer.overheard.give_up(EventVerdict::Ended(AgentEnd::Cancelled)),
    }
    let (account, overheard) = peer.close();
    Talked { account, overheard }
}

struct AcpTurn<'a, 'p, R, W, H, C> {
    order: &'a TurnOrder,
    peer: &'a mut Peer<'p, R, W, H>,
    session: Option<String>,
    cancel: Pin<&'a mut C>,
}

impl<R, W, H, C> AcpTurn<'_, '_, R, W, H, C>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
    H: AcpHost,
    C: Future<Output = ()>,
{
    async fn run(&mut self) -> Result<(), TalkStop> {
        if self.order.kind == super::super::AdapterKind::Acp && self.order.model.is_some() {
            self.peer.account.warn("no model was chosen: this agent takes one in its own arguments");
        }
        let able = self.greet().await?;
        let session = match &self.order.resume {
            Some(conversation) => self.resume(conversation.clone(), &able).await?,
            None => self.begin().await?,
        };
        self.peer.account.conversation(&session);
        self.peer.report();
        self.session = Some(session.clone());
        self.peer.live = true;
        // The prompt has two texts, the system prompt and the message, because the protocol has no separate place for a
        // system prompt.
        let prompt = [&self.order.system, &self.order.message].map(|text| json!({"type": "text", "text": text}));
        let answer = self.ask("session/prompt", &json!({"sessionId": session, "prompt": prompt})).await?;
        let result = answer.map_err(|failure| TalkStop::Verdict(failed(&failure)))?;
        let prompted = AcpMessage::read::<Prompted>(result.as_deref()).ok_or_else(|| {
            odd("the program's answer has no stop \
                reason")
        })?;
        self.peer.overheard.prompted(&prompted, &mut self.peer.account);
        Ok(())
    }

    async fn greet(&mut self) -> Result<Initialized, TalkStop> {
        let hello = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "handover", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = self.ask("initialize", &hello).await?;
        let result = answer.map_err(|failure| odd(&format!("the program refused to start: {}", failure.reason())))?;
        let able: Initialized = AcpMessage::read(result.as_deref()).unwrap_or_default();
        if able.protocol_version == VERSION {
            Ok(able)
        } else {
            Err(odd("the program speaks another version of the \
            protocol"))
        }
    }

    async fn begin(&mut self) -> Result<String, TalkStop> {
        let place = self.place()?;
        let answer = self.ask("session/new", &place).await?;
        let result = answer.map_err(|failure| TalkStop::Verdict(failed(&failure)))?;
        self.name_model(result.as_deref());
        let session = AcpMessage::read::<AcpSession>(result.as_deref());
        session.map(|session| session.session_id).ok_or_else(|| odd("the program started a conversation without an id"))
    }

    /// Records the model that the agent names when it opens or resumes a conversation.
    fn name_model(&mut self, result: Option<&RawValue>) {
        if let Some(model) = session_model(result) {
            self.peer.account.model(&model);
        }
    }

    /// Resumes an earlier conversation. Agents report a missing conversation with many different errors. So every
    /// error, except one that demands a login, counts as a missing conversation.
    async fn resume(&mut self, session: String, able: &Initialized) -> Result<String, TalkStop> {
        let capabilities = &able.agent_capabilities;
        let (method, history) = match (&capabilities.session_capabilities.resume, capabilities.load_session) {
            (Some(_), _) => ("session/resume", false),
            (None, true) => ("session/load", true),
            (None, false) => return Err(TalkStop::Verdict(EventVerdict::Ended(AgentEnd::NoConversation))),
        };
        let mut place = self.place()?;
        place["sessionId"] = session.clone().into();
        match self.ask(method, &place).await? {
            Ok(result) => self.name_model(result.as_deref()),
            Err(failure) if failure.wants_login() => return Err(TalkStop::Verdict(failed(&failure))),
            Err(_) => return Err(TalkStop::Verdict(EventVerdict::Ended(AgentEnd::NoConversation))),
        }
        if history {
            self.settle().await?;
        }
        Ok(session)
    }

    async fn settle(&mut self) -> Result<(), TalkStop> {
        let peer = &mut *self.peer;
        let listening = async {
            loop {
                match timeout(QUIET, peer.next()).await {
                    Ok(Ok(message)) => peer.serve(message).await,
                    Ok(Err(gone)) => return Err(gone),
                    Err(_) => return Ok(()),
                }
            }
        };
        // Stop waiting after `QUIET_MAX`, even if the agent still sends the history of the conversation.
        timeout(QUIET_MAX, listening).await.unwrap_or(Ok(()))?;
        Ok(())
    }

    async fn ask(&mut self, method: &str, params: &Value) -> Result<AcpAnswer, TalkStop> {
        let id = self.peer.ask(method, params);
        tokio::select! {
            answer = self.peer.answer(id) => return Ok(answer?),
            () = self.cancel.as_mut() => {}
        }
        let Some(session) = &self.session else { return Err(TalkStop::Cancelled) };
        self.peer.tell("session/cancel", &json!({"sessionId": session}));
        // The turn (the run of the agent's program) counts as cancelled with any answer of the agent, and also if no
        // answer arrives in time.
        drop(timeout(FAREWELL, self.peer.answer(id)).await);
        Err(TalkStop::Cancelled)
    }

    fn place(&self) -> Result<Value, TalkStop> {
        let server = &self.order.server;
        let environment: Vec<Value> =
            server.environment.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let folder = path_text(&self.order.worktree).map_err(|error| odd(&error.to_string()))?;
        Ok(json!({
            "cwd": folder,
            "mcpServers": [{
                "name": McpServerLaunch::NAME, "command": server.program, "args": server.arguments, "env": environment,
            }],
        }))
    }
}

fn odd(reason: &str) -> TalkStop {
    TalkStop::Verdict(EventVerdict::Ended(AgentEnd::Failed { code: None, reason: reason.to_owned() }))
}
