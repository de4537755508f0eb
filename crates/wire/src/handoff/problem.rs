//! What is wrong with a contract: problems are kept small and put into words when somebody reads them.
//!
//! A hostile contract has half a million of them, and nobody may ever look.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use super::field::Source;
use super::rule::Rule;
use crate::json::{Kind, Node, Span};
use crate::report::excerpt;
use crate::text::is_blank;

/// How much of a value a code shows, in characters.
const VALUE_MAX: usize = 64;

/// One code of a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    rule: &'static Rule,
    /// Means something unless nothing was found.
    span: Span,
    found: Found,
    subject: Subject,
    words: Option<Box<Words>>,
}

/// What the part of a code behind the colon is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    None,
    Index(u32),
    /// A text among the words.
    Text,
}

/// What most problems do without.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Words {
    subject: Box<str>,
    found: Option<Box<str>>,
}

/// What stands where something else should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
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
    Lacking(Part),
}

/// A member whose absence or value spoils an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
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

/// Why something cannot be read: a part of it, or the whole.
pub(super) type Lack = Option<Part>;

impl Problem {
    pub fn rule(&self) -> &'static Rule {
        self.rule
    }

    /// Where it stands in the whole text, if it is there at all.
    pub fn span(&self) -> Option<Span> {
        (self.found != Found::Nothing).then_some(self.span)
    }

    /// `AGENT_ID:unknown`
    pub fn code(&self) -> String {
        let code = self.rule.code;
        match self.subject {
            Subject::None => code.to_owned(),
            Subject::Index(index) => format!("{code}:{index}"),
            Subject::Text => format!("{code}:{}", self.subject()),
        }
    }

    /// One line that names the field, what is legal and what was found.
    pub fn message(&self) -> String {
        let Rule { field, legal, .. } = self.rule;
        let found = self.words.as_ref().and_then(|words| words.found.as_deref()).unwrap_or(self.found.as_str());
        match self.subject {
            Subject::Index(index) => format!("`{field}[{index}]`: {legal}; found {found}"),
            Subject::Text if field.is_empty() || field.ends_with('.') => {
                format!("`{field}{}`: {legal}; found {found}", excerpt(self.subject()))
            }
            Subject::Text | Subject::None => format!("`{field}`: {legal}; found {found}"),
        }
    }

    fn subject(&self) -> &str {
        self.words.as_ref().map_or("", |words| &words.subject)
    }

    /// About the element of a list.
    pub(super) fn at(self, index: usize) -> Self {
        Self { subject: Subject::Index(u32::try_from(index).unwrap_or(u32::MAX)), ..self }
    }

    /// About one of several, by its name.
    pub(super) fn named(mut self, name: impl Into<Box<str>>) -> Self {
        self.subject = Subject::Text;
        self.words.get_or_insert_default().subject = name.into();
        self
    }

    /// Because of a part, if there is one to blame.
    pub(super) fn lacking(self, lack: Lack) -> Self {
        Self { found: lack.map_or(self.found, Found::Lacking), ..self }
    }

    /// With better words for what was found.
    pub(super) fn saying(mut self, found: impl Into<Box<str>>) -> Self {
        self.words.get_or_insert_default().found = Some(found.into());
        self
    }

    /// With the beginning of the value in the code and in the message.
    pub(super) fn showing(self, value: &str) -> Self {
        let short: String = value.chars().take(VALUE_MAX).collect();
        self.named(short).saying(quoted(value))
    }
}

impl Found {
    fn of(node: Option<&Node<'_>>) -> Self {
        match node.map(|node| &node.kind) {
            None => Self::Nothing,
            Some(Kind::Null) => Self::Null,
            Some(Kind::Bool(_)) => Self::Boolean,
            Some(Kind::Number(text)) if crate::json::Number::is_integer_text(text) => Self::Integer,
            Some(Kind::Number(_)) => Self::Number,
            Some(Kind::Text(text)) if text.is_empty() => Self::EmptyString,
            Some(Kind::Text(text)) if is_blank(text) => Self::BlankString,
            Some(Kind::Text(_)) => Self::String,
            Some(Kind::List(_)) => Self::Array,
            Some(Kind::Object(members)) if members.is_empty() => Self::EmptyObject,
            Some(Kind::Object(_)) => Self::Object,
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

impl Part {
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

/// The problems of one text, list by list.
#[derive(Debug, Default)]
pub(super) struct Findings<'t> {
    /// The body of the block, and where it begins in the whole text.
    pub(super) source: Source<'t>,
    start: u32,
    pub(super) missing: Vec<Problem>,
    pub(super) invalid: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
}

impl<'t> Findings<'t> {
    pub(super) fn in_block(&mut self, body: &'t str, start: usize) {
        self.source = Source(body);
        self.start = u32::try_from(start).unwrap_or(u32::MAX);
    }

    pub(super) fn is_clean(&self) -> bool {
        self.missing.is_empty() && self.invalid.is_empty()
    }

    pub(super) fn missing(&mut self, rule: &'static Rule, node: Option<&Node<'_>>) {
        let problem = self.problem(rule, node);
        self.missing.push(problem);
    }

    pub(super) fn invalid(&mut self, rule: &'static Rule, node: &Node<'_>) {
        let problem = self.problem(rule, Some(node));
        self.invalid.push(problem);
    }

    /// A problem that is not on a list yet.
    pub(super) fn problem(&self, rule: &'static Rule, node: Option<&Node<'_>>) -> Problem {
        let span = node.map_or_else(Span::default, |node| self.place(node.span));
        Problem { rule, span, found: Found::of(node), subject: Subject::None, words: None }
    }

    /// A place in the block as a place in the whole text.
    pub(super) fn place(&self, span: Span) -> Span {
        Span { start: span.start.saturating_add(self.start), end: span.end.saturating_add(self.start) }
    }
}

/// A value for a message: one line, not too long.
pub(super) fn quoted(value: &str) -> String {
    format!("`{}`", excerpt(value))
}

/// A value as codes name it: a string bare, anything else as compact JSON, as much as a code shows.
pub(super) fn shown<'n>(node: &'n Node<'_>) -> Cow<'n, str> {
    if let Some(text) = node.text() {
        return Cow::Borrowed(text);
    }
    let mut short = Short { text: String::new(), room: VALUE_MAX };
    // Writing fails when there is no more room, and the rest is not wanted.
    let _ = write!(short, "{node}");
    Cow::Owned(short.text)
}

/// Takes so many characters and refuses the rest, so that a value of a megabyte is not written down.
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
        assert!(size_of::<Problem>() <= 40, "{}", size_of::<Problem>());
    }

    #[test]
    fn a_code_shows_the_beginning_of_a_value() {
        let show = |text: &str| shown(&parse(text).expect("JSON")).into_owned();
        assert_eq!(show(r#""a\nb""#), "a\nb");
        assert_eq!(show(r#" { "b" : [ 1.50E+3 , "\u00e9" ] , "a" : null } "#), r#"{"b":[1.50E+3,"é"],"a":null}"#);
        assert_eq!(show(&format!("[{}]", vec!["10"; 500_000].join(","))), format!("[{}", "10,".repeat(21)));
    }
}
