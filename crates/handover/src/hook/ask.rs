//! Asks a person when a gate (a rule about tool calls) requires it. A matching approval lets one tool call through. A
//! call without an approval creates a request that waits for a person.

use engine::agent::Origin;
use engine::approval::{ApprovalRequest, Source};
use engine::command::{AskApproval, PassGate, Register};
use engine::id::{AgentId, Ids};
use engine::{Caller, Command, Millis, Reply, Rights};

use super::{HookAnswer, HookCall, HookError, who};
use crate::office::Office;
use base::error::Error;
use base::people::seal::{Seal, sealed_input};

/// Consumes a person's approval that matches the tool call. If there is no such approval, creates a request for one.
/// The search and the change happen in one transaction, so that one approval never lets two calls through.
pub(super) async fn ask(
    office: &Office,
    hook: &HookCall<'_>,
    (tool, input): (&str, &str),
    reason: &str,
) -> Result<HookAnswer, HookError> {
    let request = request(hook, tool, input);
    let (conversation, part) = (hook.payload.session_id.clone(), hook.payload.part());
    let turn = office.desk.seat().await?.map(|seat| seat.turn).filter(|turn| office.desk.belongs_to(*turn));
    let told = hook.told(office);
    let done = office.desk.service().execute_from(move |world, stamp| {
        let known = who::asker(world, turn, &told)?;
        // A session without a registered agent can ask for an approval, too: the hook creates an agent for the session.
        let agent = known.unwrap_or_else(|| AgentId::next(&mut Ids::new(stamp.seed)));
        let newcomer = known.is_none().then(|| (agent, register(&conversation, part.as_deref())));
        let origin = Origin { conversation: Some(conversation.clone()), part: part.clone(), call: None };
        let seal = Seal { request: &request, task: None, attempt: None, agent: Some(agent) };
        let fingerprint = seal.fingerprint();
        let asked = AskApproval { source: Source::Gate, waits: None, request: request.clone(), fingerprint };
        let caller = Caller { agent: known, origin, ..Caller::with_rights(Rights::Agent) };
        Ok((caller, Command::PassGate(Box::new(PassGate { asked, newcomer }))))
    });
    let reply = done.await?;
    if reply == Reply::ApprovalConsumed {
        return Ok(HookAnswer::Nothing);
    }
    if let Reply::ApprovalRefused { approval, reason } = &reply {
        let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        return Ok(HookAnswer::Deny(format!(
            "a person rejected exactly this call ({approval}){why}. Do something else."
        )));
    }
    let Reply::ApprovalAsked { approval, .. } = reply else { return Err(Error::unexpected(&reply).into()) };
    Ok(HookAnswer::Deny(format!(
        "a gate of this project needs a person's approval for this call: {reason}. The request is {approval}. Only a \
         person can decide, in a terminal, with `handover approval approve {approval}` or `handover approval reject \
         {approval} --reason REASON`. After the approval, make the same call again within {}: it is allowed once. \
         Only the description and the time limit of the call may differ.",
        words(office.desk.service().lifetimes().approved)
    )))
}

fn words(time: Millis) -> String {
    let seconds = time.0 / 1_000;
    if seconds > 60 && seconds.is_multiple_of(60) {
        format!("{} minutes", seconds / 60)
    } else {
        format!("{seconds} seconds")
    }
}

/// Returns the request for approval of a tool call. Its fingerprint covers the tool, the tool's input, the folder and
/// the session. The description and the time limit in the input of a shell call are left out, because they may differ
/// when the call is made again.
fn request(hook: &HookCall<'_>, tool: &str, input: &str) -> ApprovalRequest {
    let session = &hook.payload.session_id;
    let scope = match hook.payload.part() {
        Some(part) => format!("session {session}, sub-agent {part}"),
        None => format!("session {session}"),
    };
    let directory = hook.payload.cwd.clone().or_else(|| hook.folder()).unwrap_or_default();
    ApprovalRequest {
        operation: tool.to_owned(),
        content: sealed_input(input),
        scope,
        directory: directory.display().to_string(),
        ..ApprovalRequest::default()
    }
}

fn register(conversation: &str, part: Option<&str>) -> Register {
    let name = |text: &str| text.chars().filter(|letter| !letter.is_control()).take(8).collect::<String>();
    let below = part.map(|part| format!(" {}", name(part))).unwrap_or_default();
    let runtime = if std::env::var_os("CLAUDECODE").is_some() { "claude-code" } else { "hook" };
    Register::named(format!("session {}{below}", name(conversation)), runtime)
}
