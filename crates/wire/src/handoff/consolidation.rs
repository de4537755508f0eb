//! The section `consolidation_report` of a handoff contract: how the work relates to parts of the system that other
//! agents own. The INPUT envelope (the JSON that started the agent's turn) may require this section.

use super::field::{ExtraMembers, ObjectWriting, WrittenValue, given};
use super::problem::{Findings, shown};
use super::rule::{self, ContractRule};
use crate::json::{JsonNode, Value};
use crate::shape::{Maybe, vocabulary};

vocabulary! {
    pub enum Ownership {
        OwnedHere = "owned_here",
        CrossSurfaceDependency = "cross_surface_dependency",
        NotMySurface = "not_my_surface",
    }
}

/// The section `consolidation_report` of a handoff contract, with its six required keys. Every key except
/// `ownership_assessment` may hold any value except null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consolidation {
    ownership_assessment: Ownership,
    confirmed_findings: WrittenValue,
    suspected_findings: WrittenValue,
    conflicts: WrittenValue,
    open_gaps: WrittenValue,
    next_best_agent: WrittenValue,
    extra: ExtraMembers,
}

const KNOWN: &[&str] =
    &["ownership_assessment", "confirmed_findings", "suspected_findings", "conflicts", "open_gaps", "next_best_agent"];

/// Reads the section `consolidation_report` of a handoff contract. Returns `None` when the section breaks a rule, or
/// when it is required and absent.
pub(super) fn read(
    node: Option<&JsonNode<'_>>,
    is_required: bool,
    findings: &mut Findings<'_>,
) -> Option<Maybe<Consolidation>> {
    let Some(report) = given(node) else {
        if is_required {
            findings.missing(&rule::CONSOLIDATION_REPORT, node);
            return None;
        }
        return Some(if node.is_some() { Maybe::Null } else { Maybe::Absent });
    };
    if report.members().is_some() {
        return keys(report, findings).map(Maybe::Is);
    }
    if is_required {
        findings.missing(&rule::CONSOLIDATION_REPORT, node);
    } else {
        findings.invalid(&rule::CONSOLIDATION_REPORT, report);
    }
    None
}

fn keys(node: &JsonNode<'_>, findings: &mut Findings<'_>) -> Option<Consolidation> {
    let source = findings.source;
    let mut present = |name: &str, rule: &'static ContractRule| {
        let found = given(node.get(name));
        if found.is_none() {
            findings.missing(rule, node.get(name));
        }
        found
    };
    let ownership = present("ownership_assessment", &rule::OWNERSHIP_ASSESSMENT);
    let confirmed_findings = present("confirmed_findings", &rule::CONFIRMED_FINDINGS);
    let suspected_findings = present("suspected_findings", &rule::SUSPECTED_FINDINGS);
    let conflicts = present("conflicts", &rule::CONFLICTS);
    let open_gaps = present("open_gaps", &rule::CONSOLIDATION_OPEN_GAPS);
    let next_best_agent = present("next_best_agent", &rule::NEXT_BEST_AGENT);
    Some(Consolidation {
        ownership_assessment: ownership_assessment(ownership?, findings)?,
        confirmed_findings: source.written(confirmed_findings?),
        suspected_findings: source.written(suspected_findings?),
        conflicts: source.written(conflicts?),
        open_gaps: source.written(open_gaps?),
        next_best_agent: source.written(next_best_agent?),
        extra: source.others(node, KNOWN),
    })
}

fn ownership_assessment(node: &JsonNode<'_>, findings: &mut Findings<'_>) -> Option<Ownership> {
    let found = node.text().and_then(Ownership::parse);
    if found.is_none() {
        findings.invalid.push(findings.problem(&rule::OWNERSHIP_ASSESSMENT, Some(node)).showing(&shown(node)));
    }
    found
}

impl Consolidation {
    pub fn ownership_assessment(&self) -> Ownership {
        self.ownership_assessment
    }

    pub fn confirmed_findings(&self) -> &WrittenValue {
        &self.confirmed_findings
    }

    pub fn suspected_findings(&self) -> &WrittenValue {
        &self.suspected_findings
    }

    pub fn conflicts(&self) -> &WrittenValue {
        &self.conflicts
    }

    pub fn open_gaps(&self) -> &WrittenValue {
        &self.open_gaps
    }

    pub fn next_best_agent(&self) -> &WrittenValue {
        &self.next_best_agent
    }

    pub(super) fn render(&self) -> Value {
        ObjectWriting::default()
            .field("ownership_assessment", self.ownership_assessment.as_str())
            .field("confirmed_findings", self.confirmed_findings.value())
            .field("suspected_findings", self.suspected_findings.value())
            .field("conflicts", self.conflicts.value())
            .field("open_gaps", self.open_gaps.value())
            .field("next_best_agent", self.next_best_agent.value())
            .extra(&self.extra)
    }
}
