//! The problems of a handoff contract. They take little memory, and their texts are made only when they are read.
//!
//! This saves memory and time, because a hostile contract may have half a million problems, and often none of them is
//! ever read.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use super::field::ContractSource;
use super::rule::ContractRule;
use crate::json::{JsonKind, JsonNode, Span};
use crate::report::excerpt;
use crate::text::is_blank;

/// The maximum number of characters of a wrong value that a problem's code shows. The rest of the value is left out.
const VALUE_MAX: usize = 64;

/// One problem of a handoff contract. The verdict on the contract lists it as one code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffProblem {
    rule: &'static ContractRule,
    /// The place of the wrong value in the agent's text. It must not be used when the value is absent.
    span: Span,
    found: FoundValue,
    subject: CodeSubject,
    words: Option<Box<Words>>,
}

/// The part of a problem's code after the colon, such as `unknown` in `AGENT_ID:unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeSubject {
    None,
    Index(u32),
    /// The part of the problem's code after the colon is a text, such as `unknown` in `AGENT_ID:unknown`. The text is
    /// stored in [`Words::subject`].
    Text,
}

/// Texts that most problems of a handoff contract do not have. They are stored separately to keep a problem small.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Words {
    subject: Box<str>,
    found: Option<Box<str>>,
}

/// The kind of value that was found in a handoff contract in the place of a legal value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FoundValue {
    Nothing,
    Null,
    Boolean,
    Integer,
    Number,
    EmptyString,
    BlankString,
    String,
    Array,
    EmptyObject,
    Object,
    Lacking(RequiredPart),
}

/// A required member that is absent or wrong in an object of a handoff contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequiredPart {
    Iteration,
    MaxIterations,
    Metric,
    Threshold,
    Description,
    Body,
    Contract,
    Payload,
    TokensUsed,
    PctWindow,
}

/// The required member that is absent or wrong in an object, or `None` when the value as a whole is wrong.
pub(super) type Lack = Option<RequiredPart>;

impl HandoffProblem {
    pub fn rule(&self) -> &'static ContractRule {
        self.rule
    }

    /// Returns the place of the wrong value in the agent's whole text, or `None` when the value is absent.
    pub fn span(&self) -> Option<Span> {
        (self.found != FoundValue::Nothing).then_some(self.span)
    }

    /// Returns the code of the problem, such as `AGENT_ID:unknown`.
    pub fn code(&self) -> String {
        let code = self.rule.code;
        match self.subject {
            CodeSubject::None => code.to_owned(),
            CodeSubject::Index(index) => format!("{code}:{index}"),
            CodeSubject::Text => format!("{code}:{}", self.subject()),
        }
    }

    /// Returns the problem as one line that names the field, the legal values and the value that was found.
    pub fn message(&self) -> String {
        let ContractRule { field, legal, .. } = self.rule;
        let found = self.words.as_ref().and_then(|words| words.found.as_deref()).unwrap_or(self.found.as_str());
        match self.subject {
            CodeSubject::Index(index) => format!("`{field}[{index}]`: {legal}; found {found}"),
            CodeSubject::Text if field.is_empty() || field.ends_with('.') => {
                format!("`{field}{}`: {legal}; found {found}", excerpt(self.subject()))
            }
            CodeSubject::Text | CodeSubject::None => format!("`{field}`: {legal}; found {found}"),
        }
    }

    fn subject(&self) -> &str {
        self.words.as_ref().map_or("", |words| &words.subject)
    }

    /// Sets the index of the list element that the problem is about.
    pub(super) fn at(self, index: usize) -> Self {
        Self { subject: CodeSubject::Index(u32::try_from(index).unwrap_or(u32::MAX)), ..self }
    }

    /// Sets the name of the field or value that the problem is about. The name follows the colon in the problem's code.
    pub(super) fn named(mut self, name: impl Into<Box<str>>) -> Self {
        self.subject = CodeSubject::Text;
        self.words.get_or_insert_default().subject = name.into();
        self
    }

    /// Sets the required member that is absent or wrong in an object, as the reason why the object is wrong. `None`
    /// changes nothing.
    pub(super) fn lacking(self, lack: Lack) -> Self {
        Self { found: lack.map_or(self.found, FoundValue::Lacking), ..self }
    }

    /// Sets the words that describe the wrong value in the problem's message. Without them, the message names the
    /// value's type.
    pub(super) fn saying(mut self, found: impl Into<Box<str>>) -> Self {
        self.words.get_or_insert_default().found = Some(found.into());
        self
    }

    /// Puts the beginning of the wrong value into the problem's code and message.
    pub(super) fn showing(self, value: &str) -> Self {
        let short: String = value.chars().take(VALUE_MAX).collect();
        self.named(short).saying(quoted(value))
    }
}

impl FoundValue {
    fn of(node: Option<&JsonNode<'_>>) -> Self {
        match node.map(|node| &node.kind) {
            None => Self::Nothing,
            Some(JsonKind::Null) => Self::Null,
            Some(JsonKind::Bool(_)) => Self::Boolean,
            Some(JsonKind::Number(text)) if crate::json::Number::is_integer_text(text) => Self::Integer,
            Some(JsonKind::Number(_)) => Self::Number,
            Some(JsonKind::Text(text)) if text.is_empty() => Self::EmptyString,
            Some(JsonKind::Text(text)) if is_blank(text) => Self::BlankString,
            Some(JsonKind::Text(_)) => Self::String,
            Some(JsonKind::List(_)) => Self::Array,
            Some(JsonKind::Object(members)) if members.is_empty() => Self::EmptyObject,
            Some(JsonKind::Object(_)) => Self::Object,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::EmptyString => "an empty string",
            Self::BlankString => "a blank string",
            Self::String => "a string",
            Self::Array => "an array",
            Self::EmptyObject => "an empty object",
            Self::Object => "an object",
            Self::Lacking(part) => part.as_str(),
        }
    }
}

impl RequiredPart {
    fn as_str(self) -> &'static str {
        match self {
            Self::Iteration => "an object without a legal `iteration`",
            Self::MaxIterations => "an object without a legal `max_iterations`",
            Self::Metric => "an object with an illegal `metric`",
            Self::Threshold => "an object with an illegal `threshold`",
            Self::Description => "an object without a legal `description`",
            Self::Body => "an object without a legal `body`",
            Self::Contract => "an object without a legal `contract`",
            Self::Payload => "an object without a legal `payload`",
            Self::TokensUsed => "an object without a legal `tokens_used`",
            Self::PctWindow => "an object without a legal `pct_window`",
        }
    }
}

/// The problems of one handoff contract, in three lists: missing fields, invalid fields and warnings.
#[derive(Debug, Default)]
pub(super) struct Findings<'t> {
    /// The JSON text of the handoff contract, as the agent wrote it.
    pub(super) source: ContractSource<'t>,
    /// The byte offset of the handoff contract's JSON text in the agent's whole text.
    start: u32,
    pub(super) missing: Vec<HandoffProblem>,
    pub(super) invalid: Vec<HandoffProblem>,
    pub(super) warnings: Vec<HandoffProblem>,
}

impl<'t> Findings<'t> {
    pub(super) fn in_block(&mut self, body: &'t str, start: usize) {
        self.source = ContractSource(body);
        self.start = u32::try_from(start).unwrap_or(u32::MAX);
    }

    pub(super) fn is_clean(&self) -> bool {
        self.missing.is_empty() && self.invalid.is_empty()
    }

    pub(super) fn missing(&mut self, rule: &'static ContractRule, node: Option<&JsonNode<'_>>) {
        let problem = self.problem(rule, node);
        self.missing.push(problem);
    }

    pub(super) fn invalid(&mut self, rule: &'static ContractRule, node: &JsonNode<'_>) {
        let problem = self.problem(rule, Some(node));
        self.invalid.push(problem);
    }

    /// Creates a problem of the handoff contract without adding it to one of the three lists (missing, invalid,
    /// warnings).
    pub(super) fn problem(&self, rule: &'static ContractRule, node: Option<&JsonNode<'_>>) -> HandoffProblem {
        let span = node.map_or_else(Span::default, |node| self.place(node.span));
        HandoffProblem { rule, span, found: FoundValue::of(node), subject: CodeSubject::None, words: None }
    }

    /// Converts a place in the JSON text of the handoff contract to a place in the agent's whole text.
    pub(super) fn place(&self, span: Span) -> Span {
        Span { start: span.start.saturating_add(self.start), end: span.end.saturating_add(self.start) }
    }
}

/// Returns a wrong value in the form for a message: in backticks, on one line and cut to an excerpt.
pub(super) fn quoted(value: &str) -> String {
    format!("`{}`", excerpt(value))
}

/// Returns a wrong value in the form for a problem's code. A string is returned whole and without quotes. Any other
/// value becomes compact JSON, cut to [`VALUE_MAX`] characters.
pub(super) fn shown<'n>(node: &'n JsonNode<'_>) -> Cow<'n, str> {
    if let Some(text) = node.text() {
        return Cow::Borrowed(text);
    }
    let mut short = Short { text: String::new(), room: VALUE_MAX };
    // Ignore the error. Writing fails when `short` is full, and the rest of the value is not needed.
    let _ = write!(short, "{node}");
    Cow::Owned(short.text)
}

/// A writer that accepts a limited number of characters and fails for the rest, so that a value of a megabyte is not
/// copied.
struct Short {
    text: String,
    room: usize,
}

impl fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            self.room = self.room.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(letter);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn a_problem_is_small() {
        assert!(size_of::<HandoffProblem>() <= 40, "{}", size_of::<HandoffProblem>());
    }

    #[test]
    fn a_code_shows_the_beginning_of_a_value() {
        let show = |text: &str| shown(&parse(text).expect("JSON")).into_owned();
        assert_eq!(show(r#""a\nb""#), "a\nb");
        assert_eq!(show(r#" { "b" : [ 1.50E+3 , "\u00e9" ] , "a" : null } "#), r#"{"b":[1.50E+3,"é"],"a":null}"#);
        assert_eq!(show(&format!("[{}]", vec!["10"; 500_000].join(","))), format!("[{}", "10,".repeat(21)));
    }
}
