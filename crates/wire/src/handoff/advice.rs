//! Optional fields of a handoff contract (an agent's report at the end of its turn), such as the summary and the memory
//! suggestions. They only inform people. A wrong value in them causes a warning, but never makes a contract invalid.

use super::field::{ContractSource, ExtraMembers, Lenient, Listing, ObjectWriting, stated};
use super::looping::number;
use super::problem::{Findings, Lack, RequiredPart, quoted, shown};
use super::rule::{self, ContractRule};
use crate::json::{JsonNode, Number, Value};
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

/// The agent's summary of its turn, written for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonSummary(NonBlank);

impl PersonSummary {
    /// Returns the summary without white space around it.
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim()
    }
}

/// A fact that the agent suggests for the project's memory. A person decides whether the fact is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memorial {
    pub description: NonBlank,
    pub body: NonBlank,
    /// The type of the suggested memory. A type that is not one of the words in [`MemoryType`] is kept as it was
    /// written.
    pub kind: Lenient<MemoryType>,
    pub class: Lenient<MemoryClass>,
    /// The fields of the memory suggestion for which this type has no field of its own, such as `slug` and `rationale`.
    pub extra: ExtraMembers,
}

/// An agent's own report on how much of its context window it has used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumption {
    /// The number of tokens that the agent used, an integer of at least 0.
    tokens_used: Number,
    /// The percentage of the context window that the agent used, from 0 to 100.
    pct_window: Number,
    extra: ExtraMembers,
}

impl Consumption {
    pub fn tokens_used(&self) -> &Number {
        &self.tokens_used
    }

    pub fn pct_window(&self) -> &Number {
        &self.pct_window
    }
}

pub(super) fn summary(node: Option<&JsonNode<'_>>, findings: &mut Findings<'_>) -> Lenient<PersonSummary> {
    read(node, &rule::USER_FACING_SUMMARY_TYPE, |node| stated(node).map(PersonSummary).ok_or(None), findings)
}

pub(super) fn rollback_executed(node: Option<&JsonNode<'_>>, findings: &mut Findings<'_>) -> Lenient<String> {
    read(node, &rule::ROLLBACK_EXECUTED_TYPE, |node| node.text().map(str::to_owned).ok_or(None), findings)
}

pub(super) fn context_consumption(node: Option<&JsonNode<'_>>, findings: &mut Findings<'_>) -> Lenient<Consumption> {
    let source = findings.source;
    read(node, &rule::CONTEXT_CONSUMPTION_TYPE, |node| Consumption::read(node, source), findings)
}

pub(super) fn memory_suggestions(node: Option<&JsonNode<'_>>, findings: &mut Findings<'_>) -> Lenient<Listing<String>> {
    let text = |_, node: &JsonNode<'_>| node.text().map(str::to_owned).ok_or(None);
    list(node, &rule::MEMORY_SUGGESTIONS_TYPE, &rule::MEMORY_SUGGESTIONS, text, findings)
}

pub(super) fn memorials(node: Option<&JsonNode<'_>>, findings: &mut Findings<'_>) -> Lenient<Listing<Memorial>> {
    // Collect the memory suggestions whose type or class is not a legal word. The warnings about them are added last,
    // after the warnings about the suggestions that are skipped.
    let mut off_list = Vec::new();
    let source = findings.source;
    let read = |index, node| {
        let memorial = Memorial::read(node, source);
        if memorial.as_ref().is_ok_and(Memorial::is_off_list) {
            off_list.push((index, node));
        }
        memorial
    };
    let all = list(node, &rule::MEMORIALIZE_SUGGESTIONS_TYPE, &rule::MEMORIALIZE, read, findings);
    for (index, node) in off_list {
        let word = |name: &str| node.get(name).map(|word| format!("`{name}` {}", quoted(&shown(word))));
        let words: Vec<String> = ["type", "class"].into_iter().filter_map(word).collect();
        let problem = findings.problem(&rule::MEMORIALIZE_ENUM, Some(node)).at(index);
        findings.warnings.push(problem.saying(words.join(" and ")));
    }
    all
}

/// Reads an optional field of a handoff contract. Adds a warning when the value of the field is not legal.
fn read<T>(
    node: Option<&JsonNode<'_>>,
    wrong: &'static ContractRule,
    read: impl FnOnce(&JsonNode<'_>) -> Result<T, Lack>,
    findings: &mut Findings<'_>,
) -> Lenient<T> {
    Lenient::read(node, findings.source, |node| match read(node) {
        Ok(value) => Some(value),
        Err(lack) => {
            findings.warnings.push(findings.problem(wrong, Some(node)).lacking(lack));
            None
        }
    })
}

/// Reads an optional list of a handoff contract. Skips each element that is not legal and adds a warning about it.
pub(super) fn list<'n, 't, T>(
    node: Option<&'n JsonNode<'t>>,
    wrong: &'static ContractRule,
    skipped: &'static ContractRule,
    mut element: impl FnMut(usize, &'n JsonNode<'t>) -> Result<T, Lack>,
    findings: &mut Findings<'_>,
) -> Lenient<Listing<T>> {
    let Some(node) = node.filter(|node| node.list().is_some()) else {
        return read(node, wrong, |_| Err(None), findings);
    };
    let mut room = node.list().map_or(0, <[_]>::len);
    Lenient::Is(Listing::read(node, findings.source, |index, item| match element(index, item) {
        Ok(element) => Some(element),
        Err(lack) => {
            // When one element of the list is wrong, all other elements are often wrong, too. Therefore the first wrong
            // element reserves memory for one warning per element of the list, so that the memory need not grow many
            // times.
            findings.warnings.reserve(std::mem::take(&mut room));
            findings.warnings.push(findings.problem(skipped, Some(item)).at(index).lacking(lack));
            None
        }
    }))
}

impl Memorial {
    fn read(node: &JsonNode<'_>, source: ContractSource<'_>) -> Result<Self, Lack> {
        node.members().ok_or(None)?;
        let text = |name, part| node.get(name).and_then(stated).ok_or(Some(part));
        Ok(Self {
            description: text("description", RequiredPart::Description)?,
            body: text("body", RequiredPart::Body)?,
            kind: Lenient::read(node.get("type"), source, |node| node.text().and_then(MemoryType::parse)),
            class: Lenient::read(node.get("class"), source, |node| node.text().and_then(MemoryClass::parse)),
            extra: source.others(node, &["description", "body", "type", "class"]),
        })
    }

    fn is_off_list(&self) -> bool {
        matches!(self.kind, Lenient::Other(_)) || matches!(self.class, Lenient::Other(_))
    }

    pub(super) fn render(&self) -> Value {
        ObjectWriting::default()
            .field("description", self.description.as_str())
            .field("body", self.body.as_str())
            .optional("type", self.kind.render(|kind| kind.as_str().into()))
            .optional("class", self.class.render(|class| class.as_str().into()))
            .extra(&self.extra)
    }
}

impl PersonSummary {
    pub(super) fn render(&self) -> Value {
        self.0.as_str().into()
    }
}

impl Consumption {
    fn read(node: &JsonNode<'_>, source: ContractSource<'_>) -> Result<Self, Lack> {
        node.members().ok_or(None)?;
        let at_least_zero = |number: &Number| number.compare(&Number::from(0_i64)).is_ge();
        let at_most_all = |number: &Number| number.compare(&Number::from(100_i64)).is_le();
        let tokens_used = node.get("tokens_used").and_then(number).filter(Number::is_integer).filter(at_least_zero);
        let pct_window = node.get("pct_window").and_then(number).filter(at_least_zero).filter(at_most_all);
        Ok(Self {
            tokens_used: tokens_used.ok_or(Some(RequiredPart::TokensUsed))?,
            pct_window: pct_window.ok_or(Some(RequiredPart::PctWindow))?,
            extra: source.others(node, &["tokens_used", "pct_window"]),
        })
    }

    pub(super) fn render(&self) -> Value {
        ObjectWriting::default()
            .field("tokens_used", self.tokens_used.clone())
            .field("pct_window", self.pct_window.clone())
            .extra(&self.extra)
    }
}
