//! Converts documents between the agent protocols when both protocols can express the same act, for example a handoff
//! to an output envelope. Reports every field that the target protocol cannot express, so that no field is dropped
//! silently.
//!
//! ```
//! let text = "```agent_contract_handoff\n{\"agent_status\": {\"plan_status\": \"NEEDS_INPUT\", \"agent_id\": \"ab7e4d2\",\
//!             \"pending_steps\": [], \"next_action\": \"Choose A or B.\"}, \"evidence_report\": {\"patterns_checked\": [],\
//!             \"files_checked\": [], \"commands_run\": [], \"key_outputs\": [], \"verbatim_outputs\": [],\
//!             \"cross_layer_impacts\": [], \"open_gaps\": []}}\n```\n";
//! let contract = wire::handoff::judge(text, &Default::default()).contract.unwrap();
//! let converted = wire::convert::output_from_handoff(&contract);
//! assert_eq!(converted.value.recommendation, wire::envelope::Recommendation::Escalate);
//! assert_eq!(converted.value.summary.as_str(), "Choose A or B.");
//! ```

use crate::envelope::{Artifacts, EnvelopeOutput, Recommendation};
use crate::feedback::{Response, ReviewOutcome};
use crate::handoff::{HandoffContract, HandoffStatus};
use crate::json::{Value, object};
use crate::message::{Blocked, Id, InboxMessage, MessageType, Sender, Wire, WirePayload, WirePriority};
use crate::shape::{Integer, ListShape, Maybe, NonBlank, Slug, Text};
use crate::time::DateTime;
use crate::translate::{LeftPart, blocker, obstacle};

/// A converted document, and the parts of the original document that the target protocol cannot express.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted<T> {
    pub value: T,
    pub lost: Vec<LeftPart>,
}

/// Converts a handoff (an agent's report at the end of its turn) to an output envelope. The status `COMPLETE` becomes
/// `proceed`, `IN_PROGRESS` becomes `retry`, and every other status becomes `escalate`.
pub fn output_from_handoff(contract: &HandoffContract) -> Converted<EnvelopeOutput> {
    let (success, recommendation) = match contract.status() {
        HandoffStatus::Complete { .. } => (true, Recommendation::Proceed),
        HandoffStatus::InProgress => (false, Recommendation::Retry),
        HandoffStatus::Blocked | HandoffStatus::NeedsInput | HandoffStatus::ApprovalRequest { .. } => {
            (false, Recommendation::Escalate)
        }
    };
    let next = contract.next_action();
    let summary = contract.summary().unwrap_or(next);
    let evidence = contract.evidence();
    let found = evidence.key_outputs.iter().map(ToString::to_string);
    let gaps = evidence.open_gaps.iter().map(|gap| format!("open: {gap}"));
    let notes: Vec<Text> = found.chain(gaps).filter_map(Text::new).collect();
    let rendered = contract.render();
    let has = |name: &str| rendered.get(name).is_some_and(|value| *value != Value::Null);
    let list = |name: &str| {
        let report = rendered.get("evidence_report");
        report.and_then(|report| report.get(name)?.as_list()).is_some_and(|items| !items.is_empty())
    };
    let why = "an output envelope has no field for it";
    let lost = [
        LeftPart::when(true, "/agent_status/agent_id", "an output envelope does not say who wrote it"),
        LeftPart::when(!contract.pending_steps().is_empty(), "/agent_status/pending_steps", why),
        LeftPart::when(
            contract.summary().is_some(),
            "/agent_status/next_action",
            "the summary for people stands in its place",
        ),
        LeftPart::when(list("commands_run"), "/evidence_report/commands_run", why),
        LeftPart::when(list("files_checked"), "/evidence_report/files_checked", why),
        LeftPart::when(list("patterns_checked"), "/evidence_report/patterns_checked", why),
        LeftPart::when(list("verbatim_outputs"), "/evidence_report/verbatim_outputs", why),
        LeftPart::when(list("cross_layer_impacts"), "/evidence_report/cross_layer_impacts", why),
        LeftPart::when(has("consolidation_report"), "/consolidation_report", why),
        LeftPart::when(
            has("approval_request"),
            "/approval_request",
            "what is to be approved has no place; a person is asked",
        ),
        LeftPart::when(has("update_contracts"), "/update_contracts", why),
        LeftPart::when(has("memorialize_suggestions"), "/memorialize_suggestions", why),
        LeftPart::when(has("memory_suggestions"), "/memory_suggestions", why),
        LeftPart::when(has("loop_state"), "/loop_state", why),
    ];
    let value = EnvelopeOutput {
        success,
        summary: NonBlank::new(summary).unwrap_or_else(|| contract.next_action_text().clone()),
        artifacts: Artifacts(Vec::new()),
        notes: if notes.is_empty() { Maybe::Absent } else { Maybe::Is(ListShape(notes)) },
        recommendation,
        extra: Vec::new(),
    };
    Converted { value, lost: lost.into_iter().flatten().collect() }
}

/// Converts an output envelope to the JSON of a handoff contract. Fails for the recommendation `proceed`: it would
/// become the status `COMPLETE`, which needs a verification that passed, and an output envelope has no verification.
pub fn handoff_from_output(output: &EnvelopeOutput, agent_id: &str) -> Result<Converted<Value>, LeftPart> {
    let status = match output.recommendation {
        Recommendation::Proceed => {
            return Err(LeftPart {
                part: "/recommendation",
                why: "COMPLETE needs a verification, which an output does not carry",
            });
        }
        Recommendation::Retry => "IN_PROGRESS",
        Recommendation::Escalate => "NEEDS_INPUT",
    };
    let notes: Vec<Value> =
        output.notes.get().iter().flat_map(|notes| &notes.0).map(|note| note.as_str().into()).collect();
    let none = || Value::List(Vec::new());
    let value = object([
        (
            "agent_status",
            object([
                ("plan_status", status.into()),
                ("agent_id", agent_id.into()),
                ("pending_steps", none()),
                ("next_action", output.summary.as_str().into()),
            ]),
        ),
        (
            "evidence_report",
            object([
                ("patterns_checked", none()),
                ("files_checked", none()),
                ("commands_run", none()),
                ("key_outputs", Value::List(notes)),
                ("verbatim_outputs", none()),
                ("cross_layer_impacts", none()),
                ("open_gaps", none()),
            ]),
        ),
    ]);
    let lost =
        LeftPart::when(!output.artifacts.0.is_empty(), "/artifacts", "a contract carries no files; write them first");
    Ok(Converted { value, lost: lost.into_iter().collect() })
}

/// The sender and the time of a message between agents, and the task that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct WireHeader {
    pub sender: Sender,
    pub ts: DateTime,
    pub task_id: Id,
}

/// Converts a handoff (an agent's report at the end of its turn) with the status `BLOCKED` to an Agent Wire message.
/// Returns `None` for every other status.
pub fn blocked_from_handoff(
    contract: &HandoffContract,
    header: WireHeader,
    agent: Slug,
    attempts: u32,
) -> Option<Converted<Wire>> {
    if !matches!(contract.status(), HandoffStatus::Blocked) {
        return None;
    }
    let (kind, reason) = obstacle(contract);
    let payload = Blocked {
        task_id: header.task_id,
        agent,
        reason: NonBlank::new(reason)?,
        blocker_type: blocker(kind),
        suggested_resolution: Maybe::from(Text::new(contract.next_action())),
        attempts: Integer::new(u64::from(attempts))?,
        extra: Vec::new(),
    };
    let why = "a blocked wire carries the reason only";
    let lost = vec![LeftPart { part: "/evidence_report", why }, LeftPart { part: "/agent_status/agent_id", why }];
    let (sender, ts) = (header.sender, header.ts);
    Some(Converted { value: Wire { sender, ts, payload: WirePayload::Blocked(payload), extra: Vec::new() }, lost })
}

/// Converts a review to an inbox message with numbered findings, for the author of the reviewed work. Returns `None`
/// when the review failed.
pub fn feedback_as_inbox(response: &Response, header: WireHeader, to: Slug) -> Option<Converted<Wire>> {
    let ReviewOutcome::Success(feedback) = &response.outcome else { return None };
    let finding = |(number, area): (usize, &crate::feedback::Area)| {
        format!("{}. [{}] {}: {} {}", number + 1, area.id, area.aspect, area.description, area.recommendation)
    };
    let findings: Vec<String> = feedback.areas_for_improvement.0.iter().enumerate().map(finding).collect();
    let body = std::iter::once(feedback.general_summary.to_string()).chain(findings.iter().cloned());
    let payload = InboxMessage {
        to_agent: to,
        priority: WirePriority::new(2)?,
        message_type: MessageType::TaskFeedback,
        ref_task_id: Maybe::Is(header.task_id),
        subject: NonBlank::new(format!("Review, round {}: {} to address", response.iteration.0, findings.len()))?,
        body: Text::new(body.collect::<Vec<_>>().join("\n"))?,
        action_required: !findings.is_empty(),
        extra: Vec::new(),
    };
    let why = "a message has no field for it";
    let lost = [
        LeftPart::when(true, "/feedback/confidence", why),
        LeftPart::when(!feedback.positive_points.0.is_empty(), "/feedback/positive_points", why),
        LeftPart::when(response.ack.is_some(), "/applied_feedback_ack", why),
    ];
    let (sender, ts) = (header.sender, header.ts);
    let value = Wire { sender, ts, payload: WirePayload::Inbox(payload), extra: Vec::new() };
    Some(Converted { value, lost: lost.into_iter().flatten().collect() })
}
