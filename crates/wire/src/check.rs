//! Checks documents of all kinds with one function, for the command line, for tests and for other programs.

mod batch;
mod beside;

use std::collections::HashMap;
use std::ops::Range;

pub use batch::line;

use crate::document::JudgedDocument;
use crate::feedback::AskedParts;
use crate::json::{Span, SyntaxError, Value, object, parse};
use crate::prompt::{Sources, assemble};
use crate::report::{DocumentProblem, Registry, Report};
use crate::shape::Shape;
use crate::{card, envelope, feedback, handoff, message, stream};

macro_rules! kinds {
    ($($variant:ident = $word:literal, $about:literal;)*) => {
        /// A kind of document that can be checked for problems.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum DocumentKind { $(#[doc = $about] $variant,)* }

        impl DocumentKind {
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
    EnvelopeInput = "envelope-input", "the input envelope of an agent";
    EnvelopeOutput = "envelope-output", "the output envelope of an agent";
    FeedbackRequest = "feedback-request", "a request for review, protocol 1.2";
    FeedbackResponse = "feedback-response", "the answer to a request for review";
    Stream = "stream", "the NDJSON stream that carries an answer";
    Handoff = "handoff", "the last text of an agent's turn, with its handoff in a fenced block";
    Wire = "wire", "an Agent Wire message, version 1.0";
    Card = "card", "an Agent Card, version 1.0";
    Merge = "merge", "an update of a project contract: an object with `stored` and `payload`";
    Remote = "remote", "the URL of a git remote; prints its identity host/owner/repo";
    Reference = "reference", "a reference across repositories, host/owner/repo:table/name";
    Transitions = "transitions", "the reports and resumptions of one agent: an array of objects with `report` or \
        `resume`";
    Prompt = "prompt", "the parts of a system prompt: card, persona, skills, shared_skills, memory, inbox and brief";
}

/// Facts from outside a document that the rules for the document need. Each kind of document needs only some facts.
#[derive(Debug, Clone, Default)]
pub struct CheckContext {
    /// For a review response: the bytes of the review request that the response answers. `None` if the request is not
    /// known.
    pub request: Option<Vec<u8>>,
    /// For a review response: the ids of the findings in earlier responses of the review session. `None` if they are
    /// not known.
    pub issued_ids: Option<Vec<String>>,
    /// For an agent card: the registry of the agents, roles and output types that the card may name. `None` allows
    /// every well-formed name.
    pub registry: Option<Registry>,
    /// For a handoff (an agent's report at the end of its turn): the INPUT envelope, which is the JSON that the agent
    /// got at the start of the turn.
    pub input: Option<Value>,
    /// For a handoff (an agent's report at the end of its turn): the id under which the agent was started. The handoff
    /// must contain this id.
    pub dispatch_agent_id: Option<String>,
}

/// The result of checking a document, for documents of all kinds.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckFinding {
    pub valid: bool,
    /// The verdict on the document as JSON. Each kind of document has its own verdict fields, such as `valid` and
    /// `errors`.
    pub verdict: Value,
    pub notes: Vec<CheckNote>,
    /// The document, rendered to JSON again after it was read. `None` when the document is not valid, or when documents
    /// of this kind cannot be rendered.
    pub rendered: Option<Value>,
}

/// One problem of a document, described for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckNote {
    pub code: String,
    pub message: String,
    pub severity: Severity,
    /// The range of bytes in the document that the problem is about; `None` when the problem has no place in the
    /// document.
    pub place: Option<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

/// Checks whether the bytes are a valid document of the given kind, such as an output envelope. Returns all problems of
/// the document.
pub fn check(kind: DocumentKind, bytes: &[u8], context: &CheckContext) -> CheckFinding {
    match kind {
        DocumentKind::EnvelopeInput => shaped(&envelope::judge_input(bytes)),
        DocumentKind::EnvelopeOutput => shaped(&envelope::judge_output(bytes)),
        DocumentKind::FeedbackRequest => shaped(&feedback::judge_request(bytes)),
        DocumentKind::FeedbackResponse => {
            let asked = context.request.as_ref().map(|request| AskedParts::by(request, context.issued_ids.clone()));
            let judged = feedback::judge_response(bytes, asked.as_ref());
            let rendered = judged.value.as_ref().map(feedback::Response::render);
            CheckFinding { rendered, ..reported(&judged.report) }
        }
        DocumentKind::Stream => streamed(bytes),
        DocumentKind::Handoff => handed_over(bytes, context),
        DocumentKind::Wire => shaped(&message::judge(bytes)),
        DocumentKind::Card => shaped(&card::judge(bytes, context.registry.as_ref())),
        DocumentKind::Merge | DocumentKind::Transitions | DocumentKind::Prompt => match value(bytes) {
            Ok(value) if kind == DocumentKind::Prompt => prompted(&value),
            Ok(value) => beside::judge(kind, &value),
            Err(refused) => *refused,
        },
        DocumentKind::Remote | DocumentKind::Reference => {
            beside::judge(kind, &String::from_utf8_lossy(bytes).trim_end().into())
        }
    }
}

fn shaped<T: Shape>(judged: &JudgedDocument<'_, T>) -> CheckFinding {
    CheckFinding { rendered: judged.value.as_ref().map(Shape::render), ..reported(&judged.report) }
}

fn reported(report: &Report<'_>) -> CheckFinding {
    let note = |severity| {
        move |problem: &DocumentProblem| {
            let (code, message) = (report.code(problem), report.message(problem));
            CheckNote { code, message, severity, place: (!report.text().is_empty()).then(|| range(problem.span)) }
        }
    };
    let errors = report.errors().iter().map(note(Severity::Error));
    let notes = errors.chain(report.warnings().iter().map(note(Severity::Warning))).collect();
    CheckFinding { valid: report.is_valid(), verdict: report.to_value(), notes, rendered: None }
}

pub(crate) fn range(span: Span) -> Range<usize> {
    let place = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
    place(span.start)..place(span.end)
}

/// Returns one note for each entry in the list `messages` of a verdict. `errors` has the names of the verdict's lists
/// of error codes: a note whose code is in one of these lists is an error, and every other note is a warning.
fn told(verdict: &Value, errors: &[&str]) -> Vec<CheckNote> {
    let texts = |list: &str| -> Vec<String> {
        let found = verdict.get(list).and_then(Value::as_list).unwrap_or_default();
        found.iter().filter_map(Value::as_text).map(str::to_owned).collect()
    };
    let wrong: Vec<String> = errors.iter().flat_map(|list| texts(list)).collect();
    let messages = verdict.get("messages").and_then(Value::as_list).unwrap_or_default();
    let notes = messages.iter().filter_map(|entry| {
        let code = entry.get("code")?.as_text()?.to_owned();
        let severity = if wrong.contains(&code) { Severity::Error } else { Severity::Warning };
        Some(CheckNote { message: entry.get("message")?.as_text()?.to_owned(), code, severity, place: None })
    });
    notes.collect()
}

fn streamed(bytes: &[u8]) -> CheckFinding {
    let mut reader = stream::StreamReader::new();
    reader.feed(bytes);
    let transcript = reader.end();
    let verdict = transcript.to_value();
    let mut notes = told(&verdict, &["errors"]);
    // The stream has one JSON object per line. A note about a wrong line has a code that ends with the number of the
    // line, as in `BAD_LINE:3`. One pass over the bytes finds the places of all wrong lines.
    let mut wanted: HashMap<usize, &mut CheckNote> = HashMap::new();
    for note in &mut notes {
        let line = note.code.split_once(':').and_then(|(_, line)| line.parse().ok());
        wanted.extend(line.map(|line| (line, note)));
    }
    let mut start = 0;
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if let Some(note) = wanted.get_mut(&number) {
            note.place = Some(start..start + line.len().max(1));
        }
        start += line.len() + 1;
    }
    CheckFinding { valid: transcript.is_valid(), notes, verdict, rendered: None }
}

fn handed_over(bytes: &[u8], context: &CheckContext) -> CheckFinding {
    // Replace every byte that is not UTF-8 by the replacement character U+FFFD, so that an accepted handoff is always
    // valid UTF-8.
    let text = String::from_utf8_lossy(bytes);
    let known = handoff::HandoffContext {
        input: context.input.as_ref(),
        dispatch_agent_id: context.dispatch_agent_id.as_deref(),
    };
    let verdict = handoff::judge(&text, &known);
    // A problem about an absent field has no place in the text. Its note points to the first byte of the handoff
    // contract instead.
    let begin = verdict.body.map(range).map(|body| body.start..body.start + 1);
    let note = |severity| {
        let begin = begin.clone();
        move |problem: &handoff::HandoffProblem| {
            let (code, message) = (problem.code(), problem.message());
            CheckNote { code, message, severity, place: problem.span().map(range).or_else(|| begin.clone()) }
        }
    };
    let errors = verdict.missing.iter().chain(&verdict.invalid).map(note(Severity::Error));
    let warnings = verdict.warnings.iter().map(note(Severity::Warning));
    let notes = match &verdict.reason {
        None => errors.chain(warnings).collect(),
        // If the text has no readable handoff contract, every field counts as missing. One note with the reason
        // replaces all the notes about missing fields.
        Some(reason) => {
            let place = verdict.body.map(range).map(|body| match reason {
                handoff::NoContractReason::InvalidJson(error) => body.start + error.at..body.start + error.at + 1,
                handoff::NoContractReason::NoBlock
                | handoff::NoContractReason::UnclosedBlock
                | handoff::NoContractReason::TooLarge { .. } => body,
            });
            let why = CheckNote {
                code: reason.code().to_owned(),
                message: reason.message(),
                severity: Severity::Error,
                place,
            };
            std::iter::once(why).chain(warnings).collect()
        }
    };
    CheckFinding { valid: verdict.is_valid(), verdict: verdict.to_value(), notes, rendered: None }
}

fn value(bytes: &[u8]) -> Result<Value, Box<CheckFinding>> {
    let not_json = |error: &SyntaxError| {
        let mut finding = refused("NOT_JSON", error.to_string());
        finding.notes.iter_mut().for_each(|note| note.place = Some(error.at..error.at + 1));
        Box::new(finding)
    };
    let text =
        std::str::from_utf8(bytes).map_err(|error| not_json(&SyntaxError::not_utf8(bytes, error.valid_up_to())))?;
    Ok(parse(text).map_err(|error| not_json(&error))?.to_value())
}

fn prompted(sources: &Value) -> CheckFinding {
    match Sources::from_value(sources) {
        Ok(sources) => {
            let verdict = object([("prompt", assemble(&sources).into())]);
            CheckFinding { valid: true, verdict, notes: Vec::new(), rendered: None }
        }
        Err(problem) => refused(problem.code, problem.message),
    }
}

/// Returns the finding for a document whose content could not be checked, for example because it is not JSON.
fn refused(code: &str, problem: String) -> CheckFinding {
    let error = object([("code", code.into()), ("message", problem.as_str().into())]);
    let note = CheckNote { code: code.to_owned(), message: problem, severity: Severity::Error, place: None };
    CheckFinding { valid: false, verdict: object([("error", error)]), notes: vec![note], rendered: None }
}
