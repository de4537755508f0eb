//! Reads the data for a system prompt from one JSON value, for callers that do not use the Rust types.

use std::fmt;

use super::{PromptAgent, PromptMemory, Skill, Sources, UnreadMessage, brief};
use crate::card;
use crate::json::{Number, Value, object};
use crate::message::{self, WirePayload};
use crate::report::Report;
use crate::text::is_blank;

/// The reason why no system prompt can be made from a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptProblem {
    pub code: &'static str,
    pub message: String,
}

impl fmt::Display for PromptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for PromptProblem {}

impl PromptProblem {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn judged(code: &'static str, what: &str, report: &Report<'_>) -> Self {
        let problems: Vec<String> = report.errors().iter().map(|problem| report.message(problem)).collect();
        Self::new(code, format!("{what} is not valid: {}", problems.join("; ")))
    }

    pub fn to_value(&self) -> Value {
        object([("code", self.code.into()), ("message", self.message.as_str().into())])
    }
}

impl Sources {
    /// Reads the data for a system prompt from a JSON object with the members `{card, persona, skills, shared_skills,
    /// memory, inbox, brief}`.
    pub fn from_value(value: &Value) -> Result<Self, PromptProblem> {
        let list = |name: &str| match value.get(name) {
            None | Some(Value::Null) => Ok(&[][..]),
            Some(found) => {
                found.as_list().ok_or_else(|| PromptProblem::new("INVALID_INPUT", format!("`{name}` must be an array")))
            }
        };
        let all = |name: &str| list(name)?.iter().map(|item| skill(name, item)).collect::<Result<Vec<_>, _>>();
        let inbox = list("inbox")?.iter().filter(|entry| entry.get("read") != Some(&Value::Bool(true)));
        Ok(Self {
            goal: None,
            who: who(value)?,
            skills: all("skills")?,
            shared_skills: all("shared_skills")?,
            memory: list("memory")?.iter().map(memory).collect::<Result<_, _>>()?,
            inbox: inbox.map(unread).collect::<Result<_, _>>()?,
            brief: match value.get("brief") {
                None | Some(Value::Null) => None,
                Some(found) => Some(task(found)?),
            },
        })
    }
}

fn who(value: &Value) -> Result<PromptAgent, PromptProblem> {
    match (value.get("card"), value.get("persona")) {
        (Some(found), _) if *found != Value::Null => {
            let text = found.to_string();
            let judged = card::judge(text.as_bytes(), None);
            let card = judged.value.ok_or_else(|| PromptProblem::judged("INVALID_CARD", "the card", &judged.report))?;
            Ok(PromptAgent::Card(Box::new(card)))
        }
        (_, Some(Value::Text(persona))) if !is_blank(persona) => Ok(PromptAgent::Persona(persona.clone())),
        _ => {
            Err(PromptProblem::new("NO_IDENTITY", "there is neither a card nor a persona: give the agent one of them"))
        }
    }
}

fn text(what: &str, item: &Value, name: &str) -> Result<String, PromptProblem> {
    let found = item.get(name).and_then(Value::as_text).map(str::to_owned);
    found.ok_or_else(|| PromptProblem::new("INVALID_INPUT", format!("an entry of `{what}` needs a string `{name}`")))
}

fn skill(what: &str, item: &Value) -> Result<Skill, PromptProblem> {
    Ok(Skill { name: text(what, item, "name")?, markdown: text(what, item, "markdown")? })
}

fn memory(item: &Value) -> Result<PromptMemory, PromptProblem> {
    let distance = match item.get("distance") {
        None | Some(Value::Null) => Number::from(0_i64),
        Some(Value::Number(distance)) => distance.clone(),
        Some(_) => return Err(PromptProblem::new("INVALID_INPUT", "the `distance` of a memory must be a number")),
    };
    let origin = item.get("origin").and_then(Value::as_text).filter(|origin| !is_blank(origin));
    let (id, text) = (text("memory", item, "id")?, text("memory", item, "text")?);
    Ok(PromptMemory { id, distance, text, origin: origin.map(str::to_owned) })
}

fn unread(item: &Value) -> Result<UnreadMessage, PromptProblem> {
    let document = item.get("wire").unwrap_or(item).to_string();
    let judged = message::judge(document.as_bytes());
    let Some(wire) = judged.value else {
        return Err(PromptProblem::judged("INVALID_INBOX", "an inbox message", &judged.report));
    };
    let WirePayload::Inbox(message) = wire.payload else {
        return Err(PromptProblem::new(
            "INVALID_INBOX",
            format!("a wire of type {} is not an inbox message", wire.payload.kind()),
        ));
    };
    let sequence = if let Some(Value::Number(number)) = item.get("seq") { number.as_u64() } else { None };
    Ok(UnreadMessage { sequence: sequence.unwrap_or(0), sender: wire.sender.to_string(), ts: wire.ts, message })
}

fn task(found: &Value) -> Result<(String, message::Brief), PromptProblem> {
    let document = found.to_string();
    let judged = message::judge(document.as_bytes());
    let Some(wire) = judged.value else {
        return Err(PromptProblem::judged("INVALID_BRIEF", "the brief", &judged.report));
    };
    let kind = wire.payload.kind();
    brief(wire).ok_or_else(|| PromptProblem::new("INVALID_BRIEF", format!("a wire of type {kind} is not a brief")))
}
