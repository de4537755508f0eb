//! The section `agent_status` of a handoff contract, with its four fields: status, agent id, pending steps, next
//! action.

use std::fmt;

use super::field::{ExtraMembers, ObjectWriting, Spelt, given};
use super::problem::{Findings, quoted, shown};
use super::rule;
use crate::json::{JsonNode, Value};
use crate::shape::{NonBlank, vocabulary};
use crate::text::is_blank;

vocabulary! {
    /// The status that an agent reports for its work at the end of a turn.
    pub enum PlanStatus {
        InProgress = "IN_PROGRESS",
        ApprovalRequest = "APPROVAL_REQUEST",
        Complete = "COMPLETE",
        Blocked = "BLOCKED",
        NeedsInput = "NEEDS_INPUT",
    }
}

/// The id of an agent in handoff contracts, by which the agent is resumed: the letter `a` and at least five digits of
/// `0-9a-f`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId(String);

impl AgentId {
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('a')?.as_bytes();
        let legal = digits.len() >= 5 && digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        legal.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The steps of an agent's work that remain to be done: one text, or a list of texts that may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingSteps {
    /// The pending steps as one text, which is not empty.
    Text(String),
    List(Vec<String>),
}

impl PendingSteps {
    /// Returns true when no pending steps remain.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::List(steps) => steps.is_empty(),
        }
    }
}

/// The section `agent_status` of a handoff contract. A field that could not be read is `None`. A valid contract has all
/// fields. When only the agent's id could be read, the agent can still be resumed to repair its contract.
#[derive(Debug, Default)]
pub(super) struct AgentStatusSection {
    pub(super) plan: Option<Spelt<PlanStatus>>,
    /// The id that the agent wrote, if it is well-formed. It may differ from the id under which the agent was started.
    pub(super) agent: Option<AgentId>,
    pub(super) pending_steps: Option<PendingSteps>,
    pub(super) next_action: Option<NonBlank>,
    pub(super) extra: ExtraMembers,
}

const KNOWN: &[&str] = &["plan_status", "agent_id", "pending_steps", "next_action"];

impl AgentStatusSection {
    pub(super) fn read(node: Option<&JsonNode<'_>>, dispatched: Option<&AgentId>, findings: &mut Findings<'_>) -> Self {
        let Some(node) = node.filter(|node| node.members().is_some()) else {
            findings.missing(&rule::AGENT_STATUS, node);
            for rule in [&rule::PLAN_STATUS, &rule::AGENT_ID, &rule::PENDING_STEPS, &rule::NEXT_ACTION] {
                findings.missing(rule, None);
            }
            return Self::default();
        };
        Self {
            plan: plan(node.get("plan_status"), findings),
            agent: agent(node.get("agent_id"), dispatched, findings),
            pending_steps: pending_steps(node.get("pending_steps"), findings),
            next_action: next_action(node.get("next_action"), findings),
            extra: findings.source.others(node, KNOWN),
        }
    }
}

fn plan(node: Option<&JsonNode<'_>>, findings: &mut Findings<'_>) -> Option<Spelt<PlanStatus>> {
    let Some(node) = given(node).filter(|node| !node.text().is_some_and(is_blank)) else {
        findings.missing(&rule::PLAN_STATUS, node);
        return None;
    };
    let Some(text) = node.text() else {
        findings.invalid.push(findings.problem(&rule::PLAN_STATUS, Some(node)).showing(&shown(node)));
        return None;
    };
    // Look for a status in its usual spelling first, because this needs no normalised copy of the text.
    if let Some(word) = PlanStatus::parse(text) {
        return Some(Spelt { word, text: text.to_owned() });
    }
    let upper = text.trim().to_ascii_uppercase();
    let normal = upper.trim_end_matches(['.', ',', ';']);
    if normal != text {
        let problem = findings.problem(&rule::PLAN_STATUS_NORMALISED, Some(node));
        findings.warnings.push(problem.saying(quoted(text)));
    }
    let word = PlanStatus::parse(normal);
    if word.is_none() {
        findings.invalid.push(findings.problem(&rule::PLAN_STATUS, Some(node)).showing(normal));
    }
    word.map(|word| Spelt { word, text: text.to_owned() })
}

fn agent(node: Option<&JsonNode<'_>>, dispatched: Option<&AgentId>, findings: &mut Findings<'_>) -> Option<AgentId> {
    let Some(node) = given(node).filter(|node| node.text() != Some("")) else {
        findings.missing(&rule::AGENT_ID, node);
        return None;
    };
    let agent = node.text().and_then(AgentId::parse);
    let problem = || findings.problem(&rule::AGENT_ID, Some(node)).showing(&shown(node));
    match (&agent, dispatched) {
        (Some(agent), Some(dispatched)) if agent != dispatched => {
            let words = format!("{}, dispatched as {}", quoted(agent.as_str()), quoted(dispatched.as_str()));
            findings.invalid.push(problem().saying(words));
        }
        (None, _) => findings.invalid.push(problem()),
        (Some(_), _) => {}
    }
    agent
}

fn pending_steps(node: Option<&JsonNode<'_>>, findings: &mut Findings<'_>) -> Option<PendingSteps> {
    let Some(node) = given(node).filter(|node| node.text() != Some("")) else {
        findings.missing(&rule::PENDING_STEPS, node);
        return None;
    };
    let text = |node: &JsonNode<'_>| node.text().map(str::to_owned);
    let list = |items: &[JsonNode<'_>]| items.iter().map(text).collect::<Option<Vec<_>>>().map(PendingSteps::List);
    let steps = text(node).map(PendingSteps::Text).or_else(|| node.list().and_then(list));
    if steps.is_none() {
        let wrong = node.list().and_then(|items| items.iter().enumerate().find(|(_, item)| item.text().is_none()));
        let problem = findings.problem(&rule::PENDING_STEPS_TYPE, Some(node));
        findings.invalid.push(match wrong {
            Some((index, item)) => problem.saying(format!("{} at index {index}", item.noun())),
            None => problem,
        });
    }
    steps
}

fn next_action(node: Option<&JsonNode<'_>>, findings: &mut Findings<'_>) -> Option<NonBlank> {
    let Some(node) = given(node) else {
        findings.missing(&rule::NEXT_ACTION, node);
        return None;
    };
    let Some(text) = node.text() else {
        findings.invalid(&rule::NEXT_ACTION_TYPE, node);
        return None;
    };
    let action = NonBlank::new(text);
    if action.is_none() {
        findings.missing(&rule::NEXT_ACTION, Some(node));
    }
    action
}

impl PendingSteps {
    pub(super) fn render(&self) -> Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::List(steps) => Value::List(steps.iter().map(|step| step.as_str().into()).collect()),
        }
    }
}

/// Renders the fields of the section `agent_status` of a handoff contract, in the order of the specification.
pub(super) fn render(plan: &str, agent: &AgentId, steps: &PendingSteps, action: &NonBlank) -> ObjectWriting {
    ObjectWriting::default()
        .field("plan_status", plan)
        .field("agent_id", agent.as_str())
        .field("pending_steps", steps.render())
        .field("next_action", action.as_str())
}
