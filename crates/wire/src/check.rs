//! One call for every kind of document: what a command line, a test or another program needs to judge bytes.

mod batch;
mod beside;

use std::ops::Range;

pub use batch::line;

use crate::document::Judged;
use crate::feedback::Asked;
use crate::json::{Span, Value, parse};
use crate::prompt::{Sources, assemble};
use crate::report::{Problem, Registry, Report};
use crate::shape::Shape;
use crate::{card, envelope, feedback, handoff, message, stream};

macro_rules! kinds {
    ($($variant:ident = $word:literal, $about:literal;)*) => {
        /// What a document is taken for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind { $(#[doc = $about] $variant,)* }

        impl Kind {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            pub fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)* }
            }

            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

kinds! {
    EnvelopeInput = "envelope-input", "what an agent is given";
    EnvelopeOutput = "envelope-output", "what an agent gives back";
    FeedbackRequest = "feedback-request", "a request for review, protocol 1.2";
    FeedbackResponse = "feedback-response", "the answer to one";
    Stream = "stream", "the NDJSON stream that carries an answer";
    Handoff = "handoff", "what an agent said at the end of its turn, with its contract in a fenced block";
    Wire = "wire", "an Agent Wire message, version 1.0";
    Card = "card", "an Agent Card, version 1.0";
    Merge = "merge", "an update of a project contract: {stored, payload}";
    Remote = "remote", "a git remote, to its identity host/owner/repo";
    Reference = "reference", "a reference across repositories, host/owner/repo:table/name";
    Transitions = "transitions", "reports and resumptions of one agent, in order: [{report}, {resume}]";
    Prompt = "prompt", "the sources of a system prompt: {card, persona, skills, shared_skills, memory, inbox, brief}";
}

/// What is known beside the document.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The request a response answers.
    pub request: Option<Vec<u8>>,
    /// Ids that earlier responses of the session gave.
    pub issued_ids: Option<Vec<String>>,
    /// Names a card may use.
    pub registry: Option<Registry>,
    /// The INPUT an agent was given before it handed over.
    pub input: Option<Value>,
    /// The id it was dispatched with.
    pub dispatch_agent_id: Option<String>,
}

/// A judged document of any kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub valid: bool,
    /// The verdict as its protocol writes it.
    pub verdict: Value,
    pub notes: Vec<Note>,
    /// The document written anew, when it is valid and has such a form.
    pub rendered: Option<Value>,
}

/// One problem, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub code: String,
    pub message: String,
    pub severity: Severity,
    /// The bytes of the document it is about.
    pub place: Option<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

/// Judges bytes as a kind of document.
pub fn check(kind: Kind, bytes: &[u8], context: &Context) -> Finding {
    match kind {
        Kind::EnvelopeInput => shaped(&envelope::judge_input(bytes)),
        Kind::EnvelopeOutput => shaped(&envelope::judge_output(bytes)),
        Kind::FeedbackRequest => shaped(&feedback::judge_request(bytes)),
        Kind::FeedbackResponse => {
            let asked = context.request.as_ref().map(|request| Asked::by(request, context.issued_ids.clone()));
            let judged = feedback::judge_response(bytes, asked.as_ref());
            let rendered = judged.value.as_ref().map(feedback::Response::render);
            Finding { rendered, ..reported(&judged.report) }
        }
        Kind::Stream => streamed(bytes),
        Kind::Handoff => handed_over(bytes, context),
        Kind::Wire => shaped(&message::judge(bytes)),
        Kind::Card => shaped(&card::judge(bytes, context.registry.as_ref())),
        Kind::Merge | Kind::Transitions => match value(bytes) {
            Ok(value) => beside::judge(kind, &value),
            Err(problem) => beside::refused("NOT_JSON", problem),
        },
        Kind::Remote | Kind::Reference => beside::judge(kind, &String::from_utf8_lossy(bytes).trim_end().into()),
        Kind::Prompt => prompted(bytes),
    }
}

fn shaped<T: Shape>(judged: &Judged<'_, T>) -> Finding {
    Finding { rendered: judged.value.as_ref().map(Shape::render), ..reported(&judged.report) }
}

fn reported(report: &Report<'_>) -> Finding {
    let note = |severity| {
        move |problem: &Problem| {
            let (code, message) = (report.code(problem), report.message(problem));
            Note { code, message, severity, place: (!report.text().is_empty()).then(|| range(problem.span)) }
        }
    };
    let errors = report.errors().iter().map(note(Severity::Error));
    let notes = errors.chain(report.warnings().iter().map(note(Severity::Warning))).collect();
    Finding { valid: report.is_valid(), verdict: report.to_value(), notes, rendered: None }
}

pub(crate) fn range(span: Span) -> Range<usize> {
    let place = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
    place(span.start)..place(span.end)
}

/// Notes from a verdict that has messages and no places.
fn told(verdict: &Value, errors: &[&str]) -> Vec<Note> {
    let texts = |list: &str| -> Vec<String> {
        let found = verdict.get(list).and_then(Value::as_list).unwrap_or_default();
        found.iter().filter_map(Value::as_text).map(str::to_owned).collect()
    };
    let wrong: Vec<String> = errors.iter().flat_map(|list| texts(list)).collect();
    let messages = verdict.get("messages").and_then(Value::as_list).unwrap_or_default();
    let notes = messages.iter().filter_map(|entry| {
        let code = entry.get("code")?.as_text()?.to_owned();
        let severity = if wrong.contains(&code) { Severity::Error } else { Severity::Warning };
        Some(Note { message: entry.get("message")?.as_text()?.to_owned(), code, severity, place: None })
    });
    notes.collect()
}

fn streamed(bytes: &[u8]) -> Finding {
    let mut reader = stream::Reader::new();
    reader.feed(bytes);
    let transcript = reader.end();
    let verdict = transcript.to_value();
    Finding { valid: transcript.is_valid(), notes: told(&verdict, &["errors"]), verdict, rendered: None }
}

fn handed_over(bytes: &[u8], context: &Context) -> Finding {
    // Bytes that are no text stay visible as such: they cannot become part of a contract that is accepted.
    let text = String::from_utf8_lossy(bytes);
    let known =
        handoff::Context { input: context.input.as_ref(), dispatch_agent_id: context.dispatch_agent_id.as_deref() };
    let verdict = handoff::judge(&text, &known);
    // What is not there at all is missed where the contract begins.
    let begin = verdict.body.map(range).map(|body| body.start..body.start + 1);
    let note = |severity| {
        let begin = begin.clone();
        move |problem: &handoff::Problem| {
            let (code, message) = (problem.code(), problem.message());
            Note { code, message, severity, place: problem.span().map(range).or_else(|| begin.clone()) }
        }
    };
    let errors = verdict.missing.iter().chain(&verdict.invalid).map(note(Severity::Error));
    let warnings = verdict.warnings.iter().map(note(Severity::Warning));
    let notes = match &verdict.reason {
        None => errors.chain(warnings).collect(),
        // What is missing follows from this one.
        Some(reason) => {
            let place = verdict.body.map(range);
            let why =
                Note { code: reason.code().to_owned(), message: reason.message(), severity: Severity::Error, place };
            std::iter::once(why).chain(warnings).collect()
        }
    };
    let rendered = None;
    Finding { valid: verdict.is_valid(), verdict: verdict.to_value(), notes, rendered }
}

fn value(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    Ok(parse(text).map_err(|error| error.to_string())?.to_value())
}

fn prompted(bytes: &[u8]) -> Finding {
    let sources = value(bytes)
        .map_err(|problem| ("NOT_JSON", problem))
        .and_then(|value| Sources::from_value(&value).map_err(|problem| (problem.code, problem.message)));
    assembled(sources.map(|sources| assemble(&sources)))
}

pub(crate) fn assembled(prompt: Result<String, (&'static str, String)>) -> Finding {
    match prompt {
        Ok(prompt) => {
            let verdict = crate::json::object([("prompt", prompt.into())]);
            Finding { valid: true, verdict, notes: Vec::new(), rendered: None }
        }
        Err((code, message)) => {
            let error = crate::json::object([("code", code.into()), ("message", message.as_str().into())]);
            let note = Note { code: code.to_owned(), message, severity: Severity::Error, place: None };
            let verdict = crate::json::object([("error", error)]);
            Finding { valid: false, verdict, notes: vec![note], rendered: None }
        }
    }
}
