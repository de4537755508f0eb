//! The report on a checked document: every problem of the document, in order, each with its place.
//!
//! A hostile document may have half a million problems. The text of a problem is made only when a caller asks for it.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::json::{Number, Span, SyntaxError, Value, object};

/// The rule for keys that a document has although the protocol does not define them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Unknown keys of a document are kept and cause warnings.
    Warned,
    /// Unknown keys of a document are errors, except extensions: names that begin with `x-`.
    Refused,
    /// Unknown keys are errors, and null for an optional field means that the field is absent. This rule is for the
    /// arguments of tools, because clients write null for arguments that their model did not give.
    Strict,
}

impl Unknown {
    pub(crate) fn takes_null_as_absent(self) -> bool {
        self == Self::Strict
    }
}

/// The roles, agents and output types that exist. An agent card (the description of an agent) may name only these.
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

    /// Reads the known names from a JSON object `{roles, agents, output_types}`. A missing list counts as empty.
    pub fn from_value(value: &Value) -> Self {
        let names = |key| {
            let items = value.get(key).and_then(Value::as_list).unwrap_or_default();
            items.iter().filter_map(Value::as_text).map(str::to_owned).collect()
        };
        Self { roles: names("roles"), agents: names("agents"), output_types: names("output_types") }
    }
}

/// The last step of the path (JSON pointer) to a value in the document that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PointerStep<'p> {
    Field(&'static str),
    /// A key that the protocol does not define, so the author of the document chose its name.
    Key(&'p str),
    Index(usize),
}

/// One step of a JSON pointer to a value with a problem, in the form that the report stores.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KeptStep {
    Field(&'static str),
    Key(Box<str>),
    Index(usize),
}

/// The position in a document of the value that is being read. A position is cheap, because it is on the stack. The
/// report stores a position as a [`ReportPlace`] only when the value at this position has a problem.
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

    /// Returns the position in the document of a field that the protocol defines.
    pub fn field(&'p self, name: &'static str) -> Self {
        self.down(PointerStep::Field(name))
    }

    /// Returns the position in the document of a key that the author of the document chose.
    pub fn key(&'p self, name: &'p str) -> Self {
        self.down(PointerStep::Key(name))
    }

    pub fn item(&'p self, index: usize) -> Self {
        self.down(PointerStep::Index(index))
    }
}

/// A place in a document: an index into the list of places that the report on the document stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportPlace(u32);

/// The advice to the author of a document on how to repair one problem.
pub type Hint = Cow<'static, str>;

/// One problem of a document. One report can store more than a hundred thousand problems, so a problem must take little
/// memory. [`Report::message`] makes its text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DocumentProblem {
    /// The part of the problem's code before the colon, such as `TYPE` in `TYPE:/context/iteration`.
    kind: &'static str,
    subject: ReportSubject,
    pub span: Span,
    /// The advice for the document's author: a text that is fixed in the code, or the index in [`Report::words`] of a
    /// text that was made for this problem.
    hint: Result<&'static str, u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportSubject {
    None,
    Place(ReportPlace),
    /// The problem is about an item of a list. This variant holds the place of the list and the index of the item.
    Item(ReportPlace, u32),
    /// The problem is about a field that the protocol defines. This variant holds the place of the object with the
    /// field, and the index of the field's name in [`Report::fields`].
    Field(ReportPlace, u16),
    /// The problem is about a named thing, such as a finding's id. The number is the name's index in [`Report::words`].
    Named(u32),
}

/// All problems of one document.
#[derive(Debug, Clone)]
pub struct Report<'t> {
    text: &'t str,
    places: Vec<(ReportPlace, KeptStep)>,
    /// The names of the fields that have problems, each name once. They are few, even when there are many problems.
    fields: Vec<&'static str>,
    /// The names and hints that were made for single problems of the document. The problems refer to them by index.
    words: Vec<String>,
    errors: Vec<DocumentProblem>,
    warnings: Vec<DocumentProblem>,
    unknown: Unknown,
    /// The function that returns the hint for a key that the protocol does not define.
    stray_hint: fn(&str) -> Hint,
    registry: Option<&'t Registry>,
    /// The problems with unknown keys of the document. They are reported after all other problems, in the order in
    /// which the keys occur in the document.
    strays: Vec<DocumentProblem>,
    /// For each text of the document that should be an id but is not well-formed: the made-up id that is used instead,
    /// and the text. An error message to the caller shows the text and not the made-up id.
    stand_ins: Vec<(String, String)>,
}

impl<'t> Report<'t> {
    pub(crate) fn takes_null_as_absent(&self) -> bool {
        self.unknown.takes_null_as_absent()
    }

    pub fn new(text: &'t str, unknown: Unknown) -> Self {
        let top = (ReportPlace(0), KeptStep::Index(0));
        let (errors, warnings, strays) = (Vec::new(), Vec::new(), Vec::new());
        let stray_hint = |_: &str| Hint::Borrowed("is not a field of this message; remove it");
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
            stand_ins: Vec::new(),
        }
    }

    /// Remembers that the made-up `id` is used instead of a text of the document that is not a well-formed id.
    pub(crate) fn stand_in(&mut self, id: String, text: &str) {
        self.stand_ins.push((id, text.to_owned()));
    }

    /// Returns the made-up ids that are used instead of texts of the document that are not well-formed ids, each with
    /// the text that it replaces.
    pub fn stand_ins(&self) -> &[(String, String)] {
        &self.stand_ins
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

    /// Returns a report with one problem that prevents all further checks of the document.
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

    /// Returns the subject of a problem. To save memory, all problems about the items of one list share the stored
    /// place of the list, and all problems about the fields of one object share the place of the object.
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
                // The protocols have far fewer fields than a `u16` can count, so the index always fits.
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

    /// Adds an error about the value at the position `at` of the document.
    pub fn error(&mut self, kind: &'static str, at: &At<'_>, span: Span, hint: impl Into<Hint>) {
        let subject = self.subject(at);
        let problem = self.problem(kind, subject, span, hint.into());
        push(&mut self.errors, problem);
    }

    /// Inserts an error before the error with index `number`. In the specification, the rules about a whole list come
    /// before the rules about its items. Some of the rules about the whole list are checked after the items, so their
    /// errors are inserted.
    pub(crate) fn error_before(&mut self, number: usize, kind: &'static str, at: &At<'_>, about: (Span, &'static str)) {
        let subject = self.subject(at);
        let problem = DocumentProblem { kind, subject, span: about.0, hint: Ok(about.1) };
        if self.errors.len() < PROBLEMS_MAX {
            self.errors.insert(number.min(self.errors.len()), problem);
        }
    }

    /// Adds an error whose code names no place in the document, such as `PROCEED_WITHOUT_SUCCESS`.
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

    /// Adds a problem with a key that the protocol does not define.
    pub(crate) fn stray(&mut self, at: &At<'_>, name: &str, span: Span) {
        // A key that names a session is not reported here, because another check reports it with the code
        // `SESSION_FIELD`.
        let allowed = self.unknown == Unknown::Refused && (name.starts_with("x-") || is_session(name));
        if !allowed {
            let hint = (self.stray_hint)(name);
            let subject = self.subject(at);
            let problem = self.problem("UNKNOWN_FIELD", subject, span, hint);
            push(&mut self.strays, problem);
        }
    }

    /// Ends the report. Adds the problems with unknown keys to the errors or to the warnings, depending on
    /// `self.unknown`.
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

    /// Returns the codes of all errors, and the codes of all warnings.
    pub fn codes(&self) -> (Vec<String>, Vec<String>) {
        let codes = |problems: &[DocumentProblem]| problems.iter().map(|problem| self.code(problem)).collect();
        (codes(&self.errors), codes(&self.warnings))
    }

    /// Returns the code of a problem, such as `TYPE:/context/iteration`.
    pub fn code(&self, problem: &DocumentProblem) -> String {
        match &problem.subject {
            ReportSubject::None => problem.kind.to_owned(),
            ReportSubject::Place(_) | ReportSubject::Item(..) | ReportSubject::Field(..) => {
                format!("{}:{}", problem.kind, self.pointer(problem))
            }
            ReportSubject::Named(name) => format!("{}:{}", problem.kind, self.word(*name)),
        }
    }

    /// Returns the text of a problem: one sentence that names the field, the legal values and the found value.
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

    /// Returns the JSON pointer to the value that a problem is about. It is empty when the problem is about the whole
    /// document or has no place.
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

    /// Returns the report as the JSON object `{valid, errors, warnings, messages}`.
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

/// The maximum number of problems that each list of a report keeps: the errors, the warnings and the problems with
/// unknown keys. Later problems are dropped. A hostile document may have a problem in every third byte. One error is
/// enough to make a document invalid, and no author repairs so many problems from one report.
const PROBLEMS_MAX: usize = 100_000;

fn push(problems: &mut Vec<DocumentProblem>, problem: DocumentProblem) {
    if problems.len() < PROBLEMS_MAX {
        problems.push(problem);
    }
}

/// The maximum number of characters that are shown of one name in a JSON pointer; the rest of the name is left out.
/// Otherwise a pointer into a hostile document could be as long as the document.
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

/// Returns true when a key names a session, such as `session`, `sessionId` or `session-id`.
pub(crate) fn is_session(name: &str) -> bool {
    if name.len() > 64 {
        return false;
    }
    let plain: String = name.chars().filter(|letter| !matches!(letter, '-' | '_')).collect();
    plain.eq_ignore_ascii_case("session") || plain.eq_ignore_ascii_case("sessionid")
}

/// Returns the first 64 characters of a text on one line, with `...` at the end when the text is longer.
pub(crate) fn excerpt(text: &str) -> String {
    const MAX: usize = 64;
    let one_line = |letter: char| if letter.is_control() { ' ' } else { letter };
    let short: String = text.chars().take(MAX).map(one_line).collect();
    if text.chars().nth(MAX).is_some() { format!("{short}...") } else { short }
}

/// Returns true when a number, given as JSON text, is at least a bound.
pub(crate) fn at_least(text: &str, bound: i64) -> bool {
    Number::of(text).compare(&Number::from(bound)).is_ge()
}
