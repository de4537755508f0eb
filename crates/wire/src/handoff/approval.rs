//! The permission that the agent asks for: `approval_request`.

use super::field::{Extra, Lenient, Spelt, Writing, given, stated};
use super::problem::Findings;
use super::rule;
use super::status::PlanStatus;
use crate::json::{Node, Object, Value};
use crate::shape::{NonBlank, vocabulary};

vocabulary! {
    pub enum Risk {
        Low = "LOW",
        Medium = "MEDIUM",
        High = "HIGH",
        Critical = "CRITICAL",
    }
}

/// A request that can be decided: it says how to undo the operation and how to verify that it worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub rollback: NonBlank,
    pub verification: NonBlank,
    pub operation: Lenient<NonBlank>,
    pub exact_content: Lenient<NonBlank>,
    pub scope: Lenient<NonBlank>,
    pub risk_level: Lenient<Spelt<Risk>>,
    pub extra: Extra,
}

/// The value of `approval_request` in any contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    Absent,
    Null,
    /// `{}`
    Empty,
    Request(Box<Request>),
}

const KNOWN: &[&str] = &["rollback", "verification", "operation", "exact_content", "scope", "risk_level"];

/// Reads the request. Returns `None` when it is wrong, or when the status needs one and there is none.
pub(super) fn read(node: Option<&Node<'_>>, plan: Option<PlanStatus>, findings: &mut Findings<'_>) -> Option<Asked> {
    let is_needed = plan == Some(PlanStatus::ApprovalRequest);
    let object = node.filter(|node| node.members().is_some());
    if let Some(request) = object.filter(|node| node.members() != Some(&[])) {
        return fields(request, findings).map(|request| Asked::Request(Box::new(request)));
    }
    if is_needed {
        findings.missing(&rule::APPROVAL_REQUEST, node);
        return None;
    }
    match (given(node), object) {
        (Some(_), Some(_)) => Some(Asked::Empty),
        (Some(wrong), None) => {
            findings.invalid(&rule::APPROVAL_REQUEST_TYPE, wrong);
            None
        }
        (None, _) => Some(if node.is_some() { Asked::Null } else { Asked::Absent }),
    }
}

fn fields(node: &Node<'_>, findings: &mut Findings<'_>) -> Option<Request> {
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
    Some(Request {
        rollback: rollback?,
        verification: verification?,
        operation,
        exact_content,
        scope,
        risk_level,
        extra,
    })
}

/// Reads a field whose absence causes only a warning.
fn advised(node: &Node<'_>, name: &'static str, findings: &mut Findings<'_>) -> Lenient<NonBlank> {
    let found = node.get(name);
    let field = Lenient::read(found, findings.source, stated);
    if field.get().is_none() {
        let problem = findings.problem(&rule::APPROVAL_REQUEST_FIELD_MISSING, found);
        findings.warnings.push(problem.named(name));
    }
    field
}

fn risk_level(node: &Node<'_>, findings: &mut Findings<'_>) -> Lenient<Spelt<Risk>> {
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

impl Request {
    pub(super) fn render(&self) -> Value {
        let text = |text: &NonBlank| text.as_str().into();
        Writing::default()
            .optional("operation", self.operation.render(text))
            .optional("exact_content", self.exact_content.render(text))
            .optional("scope", self.scope.render(text))
            .optional("risk_level", self.risk_level.render(|risk| risk.text.as_str().into()))
            .field("rollback", self.rollback.as_str())
            .field("verification", self.verification.as_str())
            .extra(&self.extra)
    }
}

impl Asked {
    pub(super) fn render(&self) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Null => Some(Value::Null),
            Self::Empty => Some(Value::Object(Object::new())),
            Self::Request(request) => Some(request.render()),
        }
    }
}
