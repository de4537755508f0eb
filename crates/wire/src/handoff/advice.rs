//! The optional fields: they inform, and never make a contract invalid.

use super::field::{Lenient, Listing, Writing, others, stated};
use super::looping::number;
use super::problem::Findings;
use super::rule::{self, Rule};
use crate::json::{Node, Number, Object, Value};
use crate::shape::{NonBlank, vocabulary};

vocabulary! {
    pub enum MemoryType {
        Atom = "atom",
        Decision = "decision",
        Negative = "negative",
    }
}

vocabulary! {
    pub enum MemoryClass {
        Anchor = "anchor",
        Thread = "thread",
        Log = "log",
    }
}

/// A summary for the person, the only field that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary(NonBlank);

impl Summary {
    /// Without white space around it.
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim()
    }
}

/// A candidate for memory, for a person to decide about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memorial {
    pub description: NonBlank,
    pub body: NonBlank,
    /// A value that is not on the list is kept.
    pub kind: Lenient<MemoryType>,
    pub class: Lenient<MemoryClass>,
    /// Such as `slug` and `rationale`.
    pub extra: Object,
}

/// How much of its context the agent has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumption {
    /// An integer of at least 0.
    tokens_used: Number,
    /// From 0 to 100.
    pct_window: Number,
    extra: Object,
}

impl Consumption {
    pub fn tokens_used(&self) -> &Number {
        &self.tokens_used
    }

    pub fn pct_window(&self) -> &Number {
        &self.pct_window
    }
}

pub(super) fn summary(node: Option<&Node<'_>>, findings: &mut Findings<'_>) -> Lenient<Summary> {
    read(node, &rule::USER_FACING_SUMMARY_TYPE, |node| stated(node).map(Summary), findings)
}

pub(super) fn rollback_executed(node: Option<&Node<'_>>, findings: &mut Findings<'_>) -> Lenient<String> {
    read(node, &rule::ROLLBACK_EXECUTED_TYPE, |node| node.text().map(str::to_owned), findings)
}

pub(super) fn context_consumption(node: Option<&Node<'_>>, findings: &mut Findings<'_>) -> Lenient<Consumption> {
    read(node, &rule::CONTEXT_CONSUMPTION_TYPE, Consumption::read, findings)
}

pub(super) fn memory_suggestions(node: Option<&Node<'_>>, findings: &mut Findings<'_>) -> Lenient<Listing<String>> {
    let text = |_, node: &Node<'_>| node.text().map(str::to_owned);
    list(node, &rule::MEMORY_SUGGESTIONS_TYPE, &rule::MEMORY_SUGGESTIONS, text, findings)
}

pub(super) fn memorials(node: Option<&Node<'_>>, findings: &mut Findings<'_>) -> Lenient<Listing<Memorial>> {
    // They come after all that are skipped.
    let mut off_list = Vec::new();
    let read = |index, node| {
        let memorial = Memorial::read(node);
        if memorial.as_ref().is_some_and(Memorial::is_off_list) {
            off_list.push((index, node));
        }
        memorial
    };
    let all = list(node, &rule::MEMORIALIZE_SUGGESTIONS_TYPE, &rule::MEMORIALIZE, read, findings);
    for (index, node) in off_list {
        let problem = findings.problem(&rule::MEMORIALIZE_ENUM, Some(node)).at(index);
        findings.warnings.push(problem);
    }
    all
}

/// Reads a field and warns when it is not legal.
fn read<T>(
    node: Option<&Node<'_>>,
    wrong: &'static Rule,
    read: impl FnOnce(&Node<'_>) -> Option<T>,
    findings: &mut Findings<'_>,
) -> Lenient<T> {
    let field = Lenient::read(node, read);
    if let (Lenient::Other(_), Some(node)) = (&field, node) {
        findings.warn(wrong, node);
    }
    field
}

/// Reads a list and warns about the elements that are skipped.
pub(super) fn list<'n, 't, T>(
    node: Option<&'n Node<'t>>,
    wrong: &'static Rule,
    skipped: &'static Rule,
    mut element: impl FnMut(usize, &'n Node<'t>) -> Option<T>,
    findings: &mut Findings<'_>,
) -> Lenient<Listing<T>> {
    let Some(items) = node.and_then(Node::list) else {
        return read(node, wrong, |_| None, findings);
    };
    let written = node.map_or("", |node| findings.written(node));
    let mut room = items.len();
    let listing = Listing::read(items, written, |index, item| {
        let found = element(index, item);
        if found.is_none() {
            // Where one is wrong, many may be: room for all is made once.
            findings.warnings.reserve(std::mem::take(&mut room));
            let problem = findings.problem(skipped, Some(item)).at(index);
            findings.warnings.push(problem);
        }
        found
    });
    Lenient::Is(listing)
}

impl Memorial {
    fn read(node: &Node<'_>) -> Option<Self> {
        Some(Self {
            description: stated(node.get("description")?)?,
            body: stated(node.get("body")?)?,
            kind: Lenient::read(node.get("type"), |node| node.text().and_then(MemoryType::parse)),
            class: Lenient::read(node.get("class"), |node| node.text().and_then(MemoryClass::parse)),
            extra: others(node, &["description", "body", "type", "class"]),
        })
    }

    fn is_off_list(&self) -> bool {
        matches!(self.kind, Lenient::Other(_)) || matches!(self.class, Lenient::Other(_))
    }

    pub(super) fn render(&self) -> Value {
        Writing::default()
            .field("description", self.description.as_str())
            .field("body", self.body.as_str())
            .optional("type", self.kind.render(|kind| kind.as_str().into()))
            .optional("class", self.class.render(|class| class.as_str().into()))
            .extra(&self.extra)
    }
}

impl Summary {
    pub(super) fn render(&self) -> Value {
        self.0.as_str().into()
    }
}

impl Consumption {
    fn read(node: &Node<'_>) -> Option<Self> {
        let at_least_zero = |number: &Number| number.compare(&Number::from(0_i64)).is_ge();
        let at_most_all = |number: &Number| number.compare(&Number::from(100_i64)).is_le();
        let tokens_used = node.get("tokens_used").and_then(number)?;
        let pct_window = node.get("pct_window").and_then(number)?;
        let is_legal = tokens_used.is_integer()
            && at_least_zero(&tokens_used)
            && at_least_zero(&pct_window)
            && at_most_all(&pct_window);
        is_legal.then(|| Self { tokens_used, pct_window, extra: others(node, &["tokens_used", "pct_window"]) })
    }

    pub(super) fn render(&self) -> Value {
        Writing::default()
            .field("tokens_used", self.tokens_used.clone())
            .field("pct_window", self.pct_window.clone())
            .extra(&self.extra)
    }
}
