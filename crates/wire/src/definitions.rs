//! The JSON Schemas of all messages of the agent protocols, made from the Rust types. The repository also has these
//! schemas as files in `definitions/`.

use crate::json::Value;
use crate::message::Type;
use crate::report::Unknown;
use crate::schema::document;
use crate::shape::Shape;
use crate::{card, envelope, feedback};

/// Returns the JSON Schema of every message of the agent protocols, with its file path under `definitions/`.
pub fn all() -> Vec<(String, Value)> {
    let warned = Unknown::Warned;
    let mut all = vec![
        ("envelope/input", "Input envelope", "The input of an agent.", envelope::EnvelopeInput::schema(warned)),
        ("envelope/output", "Output envelope", "The output of an agent.", envelope::EnvelopeOutput::schema(warned)),
        (
            "feedback/request",
            "Feedback request",
            "Asks a peer to review an artifact.",
            feedback::FeedbackRequest::schema(Unknown::Refused),
        ),
        (
            "feedback/response",
            "Feedback response",
            "The findings of a review, or the reason why there are none.",
            feedback::Response::schema(),
        ),
        ("feedback/frame", "Stream frame", "One line of the tool layer's stream.", crate::stream::schema()),
        (
            "handoff/contract",
            "Handoff contract",
            "The body of the agent_contract_handoff block at the end of a turn.",
            crate::handoff::schema(),
        ),
        ("card/card", "Agent Card", "An agent: its identity, limits, routes and voice.", card::Card::schema(warned)),
    ];
    let wires = [
        (Type::Brief, "wire/brief", "Brief wire", "What must be true when a task is done."),
        (Type::Inbox, "wire/inbox", "Inbox wire", "A message from one agent to another."),
        (Type::Complete, "wire/complete", "Complete wire", "A task is done and verified."),
        (Type::Blocked, "wire/blocked", "Blocked wire", "A task is blocked."),
        (Type::Claim, "wire/claim", "Claim wire", "An agent takes a task."),
    ];
    all.extend(wires.map(|(kind, path, title, about)| (path, title, about, kind.wire_schema(warned))));
    let calls = crate::lifecycle::TOOLS.iter().flat_map(|tool| {
        let name = tool.name;
        let [asked, answered] =
            ["The arguments of the tool", "The reply of the tool"].map(|about| format!("{about} {name}."));
        [
            (format!("lifecycle/{name}.json"), document(name, &asked, tool.arguments())),
            (format!("lifecycle/{name}.reply.json"), document(name, &answered, tool.reply())),
        ]
    });
    let calls: Vec<(String, Value)> = calls.collect();
    let file = |(path, title, about, schema)| (format!("{path}.json"), document(title, about, schema));
    all.into_iter().map(file).chain(calls).collect()
}
