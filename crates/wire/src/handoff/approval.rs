//! The section `approval_request` of a handoff contract, in which an agent asks a person for a permission.

use super::field::{ExtraMembers, Lenient, ObjectWriting, Spelt, given, stated};
use super::problem::Findings;
use super::rule;
use super::status::PlanStatus;
use crate::json::{JsonNode, Object, Value};
use crate::shape::{NonBlank, vocabulary};

vocabulary! {
    pub enum Risk {
        Low = "LOW",
        Medium = "MEDIUM",
        High = "HIGH",
        Critical = "CRITICAL",
    }
}

/// An agent's request for an approval, with the facts that a person needs to decide: how to undo the operation and how
/// to verify that it worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffApproval {
    pub rollback: NonBlank,
    pub verification: NonBlank,
    pub operation: Lenient<NonBlank>,
    pub exact_content: Lenient<NonBlank>,
    pub scope: Lenient<NonBlank>,
    pub risk_level: Lenient<Spelt<Risk>>,
    pub extra: ExtraMembers,
}

/// The value of the field `approval_request` in a handoff contract of any status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ApprovalSection {
    Absent,
    Null,
    /// The field `approval_request` is the empty object `{}`.
    Empty,
    Request(Box<HandoffApproval>),
}

const KNOWN: &[&str] = &["rollback", "verification", "operation", "exact_content", "scope", "risk_level"];

/// Reads the section `approval_request` of a handoff contract. Returns `None` when the request breaks a rule, or when
/// the contract has the status `APPROVAL_REQUEST` but no request.
pub(super) fn read(
    node: Option<&JsonNode<'_>>,
    plan: Option<PlanStatus>,
    findings: &mut Findings<'_>,
) -> Option<ApprovalSection> {
    let is_needed = plan == Some(PlanStatus::ApprovalRequest);
    let object = node.filter(|node| node.members().is_some());
    if let Some(request) = object.filter(|node| node.members() != Some(&[])) {
        return fields(request, findings).map(|request| ApprovalSection::Request(Box::new(request)));
    }
    if is_needed {
        findings.missing(&rule::APPROVAL_REQUEST, node);
        return None;
    }
    match (given(node), object) {
        (Some(_), Some(_)) => Some(ApprovalSection::Empty),
        (Some(wrong), None) => {
            findings.invalid(&rule::APPROVAL_REQUEST_TYPE, wrong);
            None
        }
        (None, _) => Some(if node.is_some() { ApprovalSection::Null } else { ApprovalSection::Absent }),
    }
}

fn fields(node: &JsonNode<'_>, findings: &mut Findings<'_>) -> Option<HandoffApproval> {
    let rollback = node.get("rollback").and_then(stated);
    if rollback.is_none() {
        findings.missing(&rule::APPROVAL_REQUEST_ROLLBACK, node.get("rollback"));
    }
    let verification = node.get("verification").and_then(stated);
    if verification.is_none() {
        findings.missing(&rule::APPROVAL_REQUEST_VERIFICATION, node.get("verification"));
    }
    let operation = advised(node, "operation", findings);
    let exact_content = advised(node, "exact_content", findings);
    let scope = advised(node, "scope", findings);
    let risk_level = risk_level(node, findings);
    let extra = findings.source.others(node, KNOWN);
    Some(HandoffApproval {
        rollback: rollback?,
        verification: verification?,
        operation,
        exact_content,
        scope,
        risk_level,
        extra,
    })
}

/// Reads a field of an approval request that is recommended but not required. When the field is absent, adds only a
/// warning.
fn advised(node: &JsonNode<'_>, name: &'static str, findings: &mut Findings<'_>) -> Lenient<NonBlank> {
    let found = node.get(name);
    let field = Lenient::read(found, findings.source, stated);
    if field.get().is_none() {
        let problem = findings.problem(&rule::APPROVAL_REQUEST_FIELD_MISSING, found);
        findings.warnings.push(problem.named(name));
    }
    field
}

fn risk_level(node: &JsonNode<'_>, findings: &mut Findings<'_>) -> Lenient<Spelt<Risk>> {
    let stated = advised(node, "risk_level", findings);
    let found = node.get("risk_level");
    let risk = Lenient::read(found, findings.source, |node| {
        let text = node.text()?;
        let word = Risk::parse(&text.to_ascii_uppercase())?;
        Some(Spelt { word, text: text.to_owned() })
    });
    if let (Lenient::Is(text), Lenient::Other(_)) = (&stated, &risk) {
        let problem = findings.problem(&rule::APPROVAL_REQUEST_INVALID_RISK_LEVEL, found);
        findings.warnings.push(problem.showing(text.as_str()));
    }
    risk
}

impl HandoffApproval {
    pub(super) fn render(&self) -> Value {
        let text = |text: &NonBlank| text.as_str().into();
        ObjectWriting::default()
            .optional("operation", self.operation.render(text))
            .optional("exact_content", self.exact_content.render(text))
            .optional("scope", self.scope.render(text))
            .optional("risk_level", self.risk_level.render(|risk| risk.text.as_str().into()))
            .field("rollback", self.rollback.as_str())
            .field("verification", self.verification.as_str())
            .extra(&self.extra)
    }
}

impl ApprovalSection {
    pub(super) fn render(&self) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Null => Some(Value::Null),
            Self::Empty => Some(Value::Object(Object::new())),
            Self::Request(request) => Some(request.render()),
        }
    }
}
