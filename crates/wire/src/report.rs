//! The report on a document: every problem, in order, each with its place.
//!
//! Problems are kept small, and their texts are made only when they are read, because a hostile document has half a
//! million.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::json::{Number, Span, SyntaxError, Value, object};

/// The rule for keys that the protocol's tables do not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Unknown keys are kept and cause warnings.
    Warned,
    /// Unknown keys are errors, except extensions: names that begin with `x-`.
    Refused,
    /// Unknown keys are errors. This is for the arguments of tools. There, null for an optional field means that the
    /// field is absent, because clients fill in arguments that their model did not give.
    Strict,
}

impl Unknown {
    pub(crate) fn takes_null_as_absent(self) -> bool {
        self == Self::Strict
    }
}

/// The names that cards may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Registry {
    pub roles: BTreeSet<String>,
    pub agents: BTreeSet<String>,
    pub output_types: BTreeSet<String>,
}

impl Registry {
    pub fn has_role(&self, name: &str) -> bool {
        self.roles.contains(name)
    }

    pub fn has_agent(&self, name: &str) -> bool {
        self.agents.contains(name)
    }

    pub fn has_output_type(&self, name: &str) -> bool {
        self.output_types.contains(name)
    }

    /// Reads `{roles, agents, output_types}`. A missing list is empty.
    pub fn from_value(value: &Value) -> Self {
        let names = |key| {
            let items = value.get(key).and_then(Value::as_list).unwrap_or_default();
            items.iter().filter_map(Value::as_text).map(str::to_owned).collect()
        };
        Self { roles: names("roles"), agents: names("agents"), output_types: names("output_types") }
    }
}

/// One step of a JSON pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PointerStep<'p> {
    Field(&'static str),
    /// A name that the document chose.
    Key(&'p str),
    Index(usize),
}

/// A step that a report stores.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KeptStep {
    Field(&'static str),
    Key(Box<str>),
    Index(usize),
}

/// The position of a reader: a path on the stack. It becomes a [`ReportPlace`] of the report when a problem is found there.
#[derive(Debug)]
pub struct At<'p> {
    parent: Option<&'p At<'p>>,
    step: PointerStep<'p>,
    place: Cell<Option<ReportPlace>>,
}

impl<'p> At<'p> {
    pub fn top() -> At<'static> {
        At { parent: None, step: PointerStep::Index(0), place: Cell::new(Some(ReportPlace(0))) }
    }

    fn down(&'p self, step: PointerStep<'p>) -> Self {
        Self { parent: Some(self), step, place: Cell::new(None) }
    }

    /// Returns the position of a field that the protocol defines.
    pub fn field(&'p self, name: &'static str) -> Self {
        self.down(PointerStep::Field(name))
    }

    /// Returns the position of a key that the document chose.
    pub fn key(&'p self, name: &'p str) -> Self {
        self.down(PointerStep::Key(name))
    }

    pub fn item(&'p self, index: usize) -> Self {
        self.down(PointerStep::Index(index))
    }
}

/// A place in a document, as an index into its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportPlace(u32);

/// The advice of a problem, for the agent that must repair its output.
pub type Hint = Cow<'static, str>;

/// One problem. It is small, because there may be half a million of them. Its report makes its text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DocumentProblem {
    /// The part of the code before the colon.
    kind: &'static str,
    subject: ReportSubject,
    pub span: Span,
    /// A fixed hint, or the number of a hint that was made for this problem.
    hint: Result<&'static str, u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportSubject {
    None,
    Place(ReportPlace),
    /// An item of a list.
    Item(ReportPlace, u32),
    /// A field of the protocol, by the number of its name.
    Field(ReportPlace, u16),
    /// A named thing, such as an id, by the number of its name.
    Named(u32),
}

/// All problems of one document.
#[derive(Debug, Clone)]
pub struct Report<'t> {
    text: &'t str,
    places: Vec<(ReportPlace, KeptStep)>,
    /// The names of fields with problems. They are few, even when there are many problems.
    fields: Vec<&'static str>,
    /// Names and hints that were made for single problems.
    words: Vec<String>,
    errors: Vec<DocumentProblem>,
    warnings: Vec<DocumentProblem>,
    unknown: Unknown,
    /// The function that returns the hint for a key that no table lists.
    stray_hint: fn(&str) -> Hint,
    registry: Option<&'t Registry>,
    /// Problems with unknown keys. They are reported last, in document order.
    strays: Vec<DocumentProblem>,
}

impl<'t> Report<'t> {
    pub(crate) fn takes_null_as_absent(&self) -> bool {
        self.unknown.takes_null_as_absent()
    }

    pub fn new(text: &'t str, unknown: Unknown) -> Self {
        let top = (ReportPlace(0), KeptStep::Index(0));
        let (errors, warnings, strays) = (Vec::new(), Vec::new(), Vec::new());
        let stray_hint = |_: &str| Hint::Borrowed("is no field of this message; remove it");
        Self {
            text,
            places: vec![top],
            fields: Vec::new(),
            words: Vec::new(),
            errors,
            warnings,
            unknown,
            stray_hint,
            registry: None,
            strays,
        }
    }

    pub(crate) fn hinting(mut self, stray_hint: fn(&str) -> Hint) -> Self {
        self.stray_hint = stray_hint;
        self
    }

    pub(crate) fn against(mut self, registry: Option<&'t Registry>) -> Self {
        self.registry = registry;
        self
    }

    pub fn registry(&self) -> Option<&'t Registry> {
        self.registry
    }

    /// Returns a report with one problem, for a document that cannot be judged further.
    pub(crate) fn only(text: &'t str, kind: &'static str, place: Option<&At<'_>>, span: Span, hint: Hint) -> Self {
        let mut report = Self::new(text, Unknown::Warned);
        match place {
            Some(at) => report.error(kind, at, span, hint),
            None => report.plain_error(kind, span, hint),
        }
        report
    }

    pub(crate) fn not_json(text: &'t str, error: &SyntaxError) -> Self {
        let at = u32::try_from(error.at).unwrap_or(u32::MAX);
        let hint = format!("not a JSON object: {error}");
        Self::only(text, "NOT_JSON", None, Span { start: at, end: at }, hint.into())
    }

    fn place(&mut self, at: &At<'_>) -> ReportPlace {
        if let Some(place) = at.place.get() {
            return place;
        }
        let parent = at.parent.map_or(ReportPlace(0), |parent| self.place(parent));
        let place = ReportPlace(u32::try_from(self.places.len()).unwrap_or(u32::MAX));
        let step = match at.step {
            PointerStep::Field(name) => KeptStep::Field(name),
            PointerStep::Key(name) => KeptStep::Key(name.into()),
            PointerStep::Index(index) => KeptStep::Index(index),
        };
        self.places.push((parent, step));
        at.place.set(Some(place));
        place
    }

    /// Returns the subject of a problem. An item or field without a stored place is described by the place of its
    /// parent.
    fn subject(&mut self, at: &At<'_>) -> ReportSubject {
        if self.errors.len() >= PROBLEMS_MAX {
            return ReportSubject::None;
        }
        match (at.step, at.place.get(), at.parent) {
            (PointerStep::Index(index), None, Some(parent)) => {
                ReportSubject::Item(self.place(parent), u32::try_from(index).unwrap_or(u32::MAX))
            }
            (PointerStep::Field(name), None, Some(parent)) => {
                let known = self.fields.iter().position(|known| std::ptr::eq(*known, name));
                let number = known.unwrap_or_else(|| {
                    self.fields.push(name);
                    self.fields.len() - 1
                });
                // A table has about twelve fields, so the number always fits.
                u16::try_from(number)
                    .map_or(ReportSubject::None, |number| ReportSubject::Field(self.place(parent), number))
            }
            _ => ReportSubject::Place(self.place(at)),
        }
    }

    fn keep(&mut self, words: String) -> u32 {
        self.words.push(words);
        u32::try_from(self.words.len() - 1).unwrap_or(u32::MAX)
    }

    fn problem(&mut self, kind: &'static str, subject: ReportSubject, span: Span, hint: Hint) -> DocumentProblem {
        let hint = match hint {
            Cow::Borrowed(hint) => Ok(hint),
            Cow::Owned(hint) => Err(self.keep(hint)),
        };
        DocumentProblem { kind, subject, span, hint }
    }

    /// Adds an error about the value at a position.
    pub fn error(&mut self, kind: &'static str, at: &At<'_>, span: Span, hint: impl Into<Hint>) {
        let subject = self.subject(at);
        let problem = self.problem(kind, subject, span, hint.into());
        push(&mut self.errors, problem);
    }

    /// Adds an error before the error with this number. The specification lists a rule about several items before the
    /// rules of the items.
    pub(crate) fn error_before(&mut self, number: usize, kind: &'static str, at: &At<'_>, about: (Span, &'static str)) {
        let subject = self.subject(at);
        let problem = DocumentProblem { kind, subject, span: about.0, hint: Ok(about.1) };
        if self.errors.len() < PROBLEMS_MAX {
            self.errors.insert(number.min(self.errors.len()), problem);
        }
    }

    /// Adds an error without a place.
    pub fn plain_error(&mut self, kind: &'static str, span: Span, hint: impl Into<Hint>) {
        let problem = self.problem(kind, ReportSubject::None, span, hint.into());
        push(&mut self.errors, problem);
    }

    pub fn named_error(&mut self, kind: &'static str, name: &str, span: Span, hint: impl Into<Hint>) {
        let subject = ReportSubject::Named(self.keep(name.to_owned()));
        let problem = self.problem(kind, subject, span, hint.into());
        push(&mut self.errors, problem);
    }

    pub fn warning(&mut self, kind: &'static str, at: &At<'_>, span: Span, hint: impl Into<Hint>) {
        let subject = self.subject(at);
        let problem = self.problem(kind, subject, span, hint.into());
        push(&mut self.warnings, problem);
    }

    pub fn plain_warning(&mut self, kind: &'static str, span: Span, hint: impl Into<Hint>) {
        let problem = self.problem(kind, ReportSubject::None, span, hint.into());
        push(&mut self.warnings, problem);
    }

    /// Adds a problem with a key that no table lists.
    pub(crate) fn stray(&mut self, at: &At<'_>, name: &str, span: Span) {
        // A session key is reported with another code.
        let allowed = self.unknown == Unknown::Refused && (name.starts_with("x-") || is_session(name));
        if !allowed {
            let hint = (self.stray_hint)(name);
            let subject = self.subject(at);
            let problem = self.problem("UNKNOWN_FIELD", subject, span, hint);
            push(&mut self.strays, problem);
        }
    }

    /// Ends the report: moves the problems with unknown keys to the errors or the warnings.
    pub(crate) fn close(&mut self) {
        let mut strays = std::mem::take(&mut self.strays);
        strays.sort_by_key(|stray| stray.span.start);
        match self.unknown {
            Unknown::Warned => self.warnings.append(&mut strays),
            Unknown::Refused | Unknown::Strict => self.errors.append(&mut strays),
        }
    }

    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    pub fn text(&self) -> &'t str {
        self.text
    }

    pub fn errors(&self) -> &[DocumentProblem] {
        &self.errors
    }

    pub fn warnings(&self) -> &[DocumentProblem] {
        &self.warnings
    }

    /// Returns the codes of the errors and of the warnings.
    pub fn codes(&self) -> (Vec<String>, Vec<String>) {
        let codes = |problems: &[DocumentProblem]| problems.iter().map(|problem| self.code(problem)).collect();
        (codes(&self.errors), codes(&self.warnings))
    }

    /// Returns the code, such as `TYPE:/context/iteration`.
    pub fn code(&self, problem: &DocumentProblem) -> String {
        match &problem.subject {
            ReportSubject::None => problem.kind.to_owned(),
            ReportSubject::Place(_) | ReportSubject::Item(..) | ReportSubject::Field(..) => {
                format!("{}:{}", problem.kind, self.pointer(problem))
            }
            ReportSubject::Named(name) => format!("{}:{}", problem.kind, self.word(*name)),
        }
    }

    /// Returns one sentence that names the field, the value that was found and the legal values.
    pub fn message(&self, problem: &DocumentProblem) -> String {
        let found = match problem.kind {
            "TYPE" | "BLANK" | "ENUM" | "PATTERN" | "RANGE" | "PATH_OUTSIDE_ROOT" => {
                excerpt(problem.span.of(self.text))
            }
            _ => String::new(),
        };
        let pointer = self.pointer(problem);
        let subject = if pointer.is_empty() { pointer } else { format!("`{pointer}`: ") };
        let found = if found.is_empty() { found } else { format!("; found {found}") };
        let hint = problem.hint.unwrap_or_else(|number| self.word(number));
        let required = match problem.kind {
            "MISSING" => "is required and must be ",
            _ => "",
        };
        format!("{subject}{required}{hint}{found}")
    }

    fn word(&self, number: u32) -> &str {
        self.words.get(usize::try_from(number).unwrap_or(usize::MAX)).map_or("", String::as_str)
    }

    /// Returns the JSON pointer of a problem. It is empty for the top and for a problem without a place.
    pub fn pointer(&self, problem: &DocumentProblem) -> String {
        let (mut place, last) = match problem.subject {
            ReportSubject::Place(place) => (place, String::new()),
            ReportSubject::Item(place, index) => (place, format!("/{index}")),
            ReportSubject::Field(place, number) => {
                (place, format!("/{}", self.fields.get(usize::from(number)).copied().unwrap_or_default()))
            }
            ReportSubject::None | ReportSubject::Named(_) => return String::new(),
        };
        let mut steps = Vec::new();
        while place.0 != 0 {
            let Some((parent, step)) = self.places.get(usize::try_from(place.0).unwrap_or(usize::MAX)) else { break };
            steps.push(step);
            place = *parent;
        }
        let mut text = String::new();
        for step in steps.into_iter().rev() {
            text.push('/');
            push_step(&mut text, step);
        }
        text + &last
    }

    /// Returns `{valid, errors, warnings, messages}`, the shape that all these protocols share.
    pub fn to_value(&self) -> Value {
        let (errors, warnings) = self.codes();
        let messages =
            self.errors.iter().chain(&self.warnings).map(|problem| {
                object([("code", self.code(problem).into()), ("message", self.message(problem).into())])
            });
        object([
            ("valid", self.is_valid().into()),
            ("errors", errors.into()),
            ("warnings", warnings.into()),
            ("messages", Value::List(messages.collect())),
        ])
    }
}

/// The most errors and the most warnings that a report keeps. An author cannot repair more at once, and a hostile
/// document has a problem in every third byte. The first problems are kept, which is enough to make the document
/// invalid.
const PROBLEMS_MAX: usize = 100_000;

fn push(problems: &mut Vec<DocumentProblem>, problem: DocumentProblem) {
    if problems.len() < PROBLEMS_MAX {
        problems.push(problem);
    }
}

/// The most characters of a name in a pointer. Otherwise a pointer into a hostile document could be as long as the
/// document.
const STEP_MAX: usize = 1_024;

fn push_step(out: &mut String, step: &KeptStep) {
    match step {
        KeptStep::Index(index) => {
            let _ = write!(out, "{index}");
        }
        KeptStep::Field(name) => out.push_str(name),
        KeptStep::Key(name) => {
            for letter in name.chars().take(STEP_MAX) {
                match letter {
                    '~' => out.push_str("~0"),
                    '/' => out.push_str("~1"),
                    other => out.push(other),
                }
            }
        }
    }
}

/// Tells whether a name means the session, in any spelling.
pub(crate) fn is_session(name: &str) -> bool {
    if name.len() > 64 {
        return false;
    }
    let plain: String = name.chars().filter(|letter| !matches!(letter, '-' | '_')).collect();
    plain.eq_ignore_ascii_case("session") || plain.eq_ignore_ascii_case("sessionid")
}

/// Returns the beginning of a text, on one line.
pub(crate) fn excerpt(text: &str) -> String {
    const MAX: usize = 64;
    let one_line = |letter: char| if letter.is_control() { ' ' } else { letter };
    let short: String = text.chars().take(MAX).map(one_line).collect();
    if text.chars().nth(MAX).is_some() { format!("{short}...") } else { short }
}

/// Tells whether a number is at least a bound.
pub(crate) fn at_least(text: &str, bound: i64) -> bool {
    Number::of(text).compare(&Number::from(bound)).is_ge()
}
