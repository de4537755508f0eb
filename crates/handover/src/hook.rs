//! `handover hook EVENT`: the command that the client of an interactive agent runs at the client's own events.
//!
//! ```text
//! event               effect                                                            database work
//! SessionStart        tells the agent its name, its tasks, its mail and the next calls  one read
//! PreToolUse          lets the call through, denies it, or asks for an approval         nothing, or one commit
//! PostToolUse         notes that the agent is alive; joins a sub-agent with its agent   one read, sometimes one commit
//! Stop, SubagentStop  accepts the report of an agent with a claim, or sends it back     one read, sometimes one commit
//! SessionEnd          offers the tasks of the session to other agents again             one commit
//! ```
//!
//! Handover's runner can also start an agent's program; one such run is a turn. In a turn, the hook applies only the
//! gates (the rules about tool calls, at `PreToolUse`), because the runner does everything else.

mod ask;
mod event;
mod guard;
mod handoff;
mod payload;
mod reply;
mod start;
mod stop;
mod who;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use engine::agent::Origin;
use engine::{Caller, Command, Rights};

pub use event::HookEvent;
pub use payload::{Bad, HookPayload};
pub use reply::HookAnswer;

use crate::below;
use crate::office::{self, Office};
use agents::host;
use base::Error;
use base::project::place;
use base::project::trust;
use gate::{GateCall, GateDecision, GateVerdict, Gates};

/// The word that selects `handover hook` on the command line.
pub const COMMAND: &str = "hook";
/// The environment variable in which the client puts the folder of its project. The hook prefers this folder to the
/// working directory, which may have changed during the session.
const PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// Runs `hook EVENT` without the command-line parser, which is too slow to run before every tool call. Returns `None`
/// when the arguments are not `hook EVENT`.
pub fn command(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let words: Vec<OsString> = arguments.into_iter().skip(1).take(3).collect();
    let [word, event] = words.as_slice() else { return None };
    if word != COMMAND {
        return None;
    }
    let event = HookEvent::parse(event.to_str()?).ok()?;
    let store = std::env::var("HANDOVER_STORE").ok();
    Some(run(event, store.as_deref()))
}

/// Reads the payload from standard input and answers the client. `named` is the store to use. Without it, the hook uses
/// the store of the client's project.
pub fn run(event: HookEvent, named: Option<&str>) -> ExitCode {
    guard::watch(event, event.patience());
    let answer = guard::caught(event, || match HookPayload::read(event, std::io::stdin().lock()) {
        Ok(payload) => answer(&HookCall { event, payload, named }),
        Err(bad) => misfit(event, &bad),
    });
    answer.code(event)
}

/// One call of the hook by a client, with the event and its payload.
struct HookCall<'a> {
    event: HookEvent,
    payload: HookPayload,
    /// The store that `--store` or `HANDOVER_STORE` names; `None` if neither is given.
    named: Option<&'a str>,
}

/// The reason why a call of `handover hook` fails.
#[derive(Debug, thiserror::Error)]
enum HookError {
    #[error("{}", chain(.0))]
    Closed(#[from] office::OfficeClosed),
    #[error("{}", .0.told())]
    Error(#[from] Error),
    #[error("{}", chain(.0))]
    Trust(#[from] trust::Untrusted),
    #[error("{0}")]
    Other(String),
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Answers an invalid payload. The hook refuses it, because the client must not continue as if the hook had checked the
/// call. There are two exceptions, which get only a note. If a hook has already blocked the end of the session, a
/// payload of a wrong event gets a note, because otherwise the session could never end. A payload that is too long gets
/// a note, except before a tool call.
fn misfit(event: HookEvent, bad: &Bad) -> HookAnswer {
    match bad {
        Bad::OtherEvent { again: true, .. } => HookAnswer::Note(bad.to_string()),
        Bad::TooLong if event != HookEvent::PreToolUse => HookAnswer::Note(bad.to_string()),
        Bad::Unreadable(_) | Bad::TooLong | Bad::NotAPayload(_) | Bad::OtherEvent { .. } | Bad::NoSession => {
            HookAnswer::Refuse(bad.to_string())
        }
    }
}

fn answer(hook: &HookCall<'_>) -> HookAnswer {
    let below_a_turn = std::env::var_os(host::TURN).is_some_and(|turn| !turn.is_empty());
    let done = match hook.event {
        HookEvent::PreToolUse => before_a_tool(hook),
        _ if below_a_turn => Ok(HookAnswer::Nothing),
        HookEvent::SessionStart => with_store(hook, async |office| start::context(office, hook).await),
        HookEvent::PostToolUse => with_store(hook, async |office| after_a_tool(office, hook).await),
        HookEvent::Stop | HookEvent::SubagentStop => stop::stopping(hook),
        HookEvent::SessionEnd => ending(hook),
        HookEvent::Other(_) => Ok(HookAnswer::Nothing),
    };
    done.unwrap_or_else(|trouble| guard::failed(hook.event, &trouble.to_string()))
}

impl HookCall<'_> {
    /// Returns the folder of the project in which the agent's client works.
    fn folder(&self) -> Option<PathBuf> {
        let named = std::env::var_os(PROJECT).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        named.or_else(|| std::env::current_dir().ok()).or_else(|| self.payload.cwd.clone())
    }

    fn root(&self) -> Option<PathBuf> {
        self.folder().and_then(|folder| place::root(&folder))
    }

    fn origin(&self) -> Origin {
        Origin { conversation: Some(self.payload.session_id.clone()), part: self.payload.part(), call: None }
    }

    /// Returns the conversation (the client's session) that the payload names, and the live connections of other
    /// clients. The payload may not act for the agents of those connections.
    fn told(&self, office: &Office) -> who::ToldConversation {
        let (conversation, part) = (self.payload.session_id.clone(), self.payload.part());
        who::ToldConversation { conversation, part, foreign: below::foreign_sessions(&office.live) }
    }

    /// Tells whether the store exists. Clients run the hook in every project, so the hook must not create a store in a
    /// project that has none.
    fn has_store(&self) -> Result<bool, HookError> {
        let place = office::find_from(self.named, self.folder().as_deref())?;
        if place.store.contains("://") {
            return Ok(true);
        }
        let file = place.store.strip_prefix("sqlite:").unwrap_or(&place.store);
        Ok(Path::new(file).exists())
    }

    /// Opens the store and runs `work` with it. One thread is enough, because the client waits for a single answer.
    fn open<T>(&self, work: impl AsyncFnOnce(&Office) -> Result<T, HookError>) -> Result<T, HookError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| HookError::Other(error.to_string()))?;
        let done = runtime.block_on(async {
            let office = office::open_from(self.named, self.folder().as_deref()).await?;
            work(&office).await
        });
        // Do not wait for background work: it ends together with this process.
        runtime.shutdown_background();
        done
    }
}

fn with_store(
    hook: &HookCall<'_>,
    work: impl AsyncFnOnce(&Office) -> Result<HookAnswer, HookError>,
) -> Result<HookAnswer, HookError> {
    if hook.has_store()? { hook.open(work) } else { Ok(HookAnswer::Nothing) }
}

/// Applies the project's gates, which are rules that allow or deny tool calls, to one call. Reads only the
/// configuration. Opens the store only when a gate requires a person's approval.
fn before_a_tool(hook: &HookCall<'_>) -> Result<HookAnswer, HookError> {
    let gates = match hook.root() {
        Some(root) => trust::gates(&root, base::project::place::data_folder().as_deref())?,
        None => Vec::new(),
    };
    if gates.iter().all(Gates::is_empty) {
        return Ok(HookAnswer::Nothing);
    }
    let Some(tool) = hook.payload.tool_name.as_deref().filter(|tool| !tool.trim().is_empty()) else {
        return Ok(HookAnswer::Refuse("the payload of the hook names no tool (`tool_name`)".to_owned()));
    };
    let input = hook.payload.tool_input.as_ref().map_or("null", |input| input.get());
    match judge(&gates, hook, tool, input)? {
        (GateDecision::Allow, _) => Ok(HookAnswer::Nothing),
        (GateDecision::Deny, reason) => Ok(HookAnswer::Deny(format!(
            "a gate of this project denies this call: \
            {reason}"
        ))),
        (GateDecision::Ask, reason) => hook.open(async |office| ask::ask(office, hook, (tool, input), &reason).await),
    }
}

/// Judges the tool call by every set of gate rules (rules about tool calls). One set is in the settings file. If a
/// person accepted other rules, these are a second set. Returns the strictest decision with its reason, because a call
/// must pass every set.
fn judge(gates: &[Gates], hook: &HookCall<'_>, tool: &str, input: &str) -> Result<(GateDecision, String), HookError> {
    let node = wire::json::parse(input).map_err(|error| HookError::Other(format!("`tool_input`: {error}")))?;
    let input = node.to_value();
    let directory = hook.payload.cwd.clone().filter(|folder| folder.is_absolute()).or_else(|| hook.folder());
    let directory =
        directory.ok_or_else(|| HookError::Other("the payload of the hook names no folder (`cwd`)".to_owned()))?;
    let call = GateCall { tool, input: &input, directory: &directory };
    let verdicts = gates.iter().map(|gates| gates.judge(&call));
    // When two verdicts are equally strict, keep the first one: it comes from the gate rules in the settings file,
    // where a person can read them.
    let strictest = verdicts.reduce(|one, other| if other.decision > one.decision { other } else { one });
    let verdict = strictest.unwrap_or_else(GateVerdict::allow);
    Ok((verdict.decision, verdict.reason))
}

/// Records in the store that the agent is alive. The store writes this record only from time to time, so most calls
/// only read.
async fn after_a_tool(office: &Office, hook: &HookCall<'_>) -> Result<HookAnswer, HookError> {
    let registers = hook.payload.tool_name.as_deref().is_some_and(|tool| tool.ends_with("agent_register"));
    let call = hook.payload.tool_use_id.clone().filter(|_| registers);
    let command = Command::Hear { origin: Origin { call, ..hook.origin() } };
    let service = office.desk.service();
    let caller = Caller { foreign: hook.told(office).foreign, ..Caller::with_rights(Rights::Engine) };
    if service.would_change(caller.clone(), command.clone()).await? {
        service.execute(caller, command).await?;
    }
    Ok(HookAnswer::Nothing)
}

/// Ends the client's session in the store, so that other agents can claim its tasks. Does nothing for the reasons
/// `clear` and `resume`, because the session continues after them.
fn ending(hook: &HookCall<'_>) -> Result<HookAnswer, HookError> {
    if matches!(hook.payload.reason.as_deref(), Some("clear" | "resume")) {
        return Ok(HookAnswer::Nothing);
    }
    with_store(hook, async |office| {
        let end = Command::EndConversation { conversation: hook.payload.session_id.clone() };
        let caller = Caller { foreign: hook.told(office).foreign, ..Caller::with_rights(Rights::Engine) };
        office.desk.service().execute(caller, end).await?;
        Ok(HookAnswer::Nothing)
    })
}
