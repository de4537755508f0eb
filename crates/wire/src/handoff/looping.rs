//! The section `loop_state` of a handoff contract: the progress of a loop that the agent runs. A contract with an
//! unfinished loop cannot have the status `COMPLETE`.

use super::field::{ContractSource, ExtraMembers, ObjectWriting, given};
use super::problem::{Findings, Lack, RequiredPart, quoted};
use super::rule;
use super::status::PlanStatus;
use crate::json::{JsonKind, JsonNode, Number, Value};
use crate::shape::Maybe;

/// A loop that the agent runs. The loop ends when the metric reaches the threshold or when all iterations are used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopState {
    /// The number of the current iteration of the loop, an integer.
    iteration: Number,
    /// The largest number of iterations of the loop, an integer.
    max_iterations: Number,
    metric: Maybe<Number>,
    threshold: Maybe<Number>,
    extra: ExtraMembers,
}

const KNOWN: &[&str] = &["iteration", "max_iterations", "metric", "threshold"];

/// Reads the section `loop_state` of a handoff contract. Returns `None` when the section breaks a rule, or when the
/// status is `COMPLETE` and the loop is not finished.
pub(super) fn read(
    node: Option<&JsonNode<'_>>,
    plan: Option<PlanStatus>,
    findings: &mut Findings<'_>,
) -> Option<Maybe<LoopState>> {
    let Some(node) = given(node) else {
        return Some(if node.is_some() { Maybe::Null } else { Maybe::Absent });
    };
    let state = match LoopState::read(node, findings.source) {
        Ok(state) => state,
        Err(lack) => {
            findings.invalid.push(findings.problem(&rule::LOOP_STATE_TYPE, Some(node)).lacking(lack));
            return None;
        }
    };
    if plan == Some(PlanStatus::Complete) && !state.may_end() {
        let words =
            format!("{} of {}", quoted(&state.iteration.to_string()), quoted(&state.max_iterations.to_string()));
        let problem = findings.problem(&rule::LOOP_STATE_INCOMPLETE, Some(node));
        findings.missing.push(problem.saying(format!("iteration {words}")));
        return None;
    }
    Some(Maybe::Is(state))
}

impl LoopState {
    fn read(node: &JsonNode<'_>, source: ContractSource<'_>) -> Result<Self, Lack> {
        node.members().ok_or(None)?;
        let integer = |name, part| node.get(name).and_then(number).filter(Number::is_integer).ok_or(Some(part));
        Ok(Self {
            iteration: integer("iteration", RequiredPart::Iteration)?,
            max_iterations: integer("max_iterations", RequiredPart::MaxIterations)?,
            metric: measure(node.get("metric")).ok_or(Some(RequiredPart::Metric))?,
            threshold: measure(node.get("threshold")).ok_or(Some(RequiredPart::Threshold))?,
            extra: source.others(node, KNOWN),
        })
    }

    /// Returns true when the loop may end. It may end when all iterations are used up, when the metric reaches the
    /// threshold, or when the metric or the threshold is missing.
    pub fn may_end(&self) -> bool {
        let below = |(metric, threshold): (&Number, &Number)| metric.compare(threshold).is_lt();
        let is_short = self.metric.get().zip(self.threshold.get()).is_some_and(below);
        !(is_short && self.iteration.compare(&self.max_iterations).is_lt())
    }

    pub fn iteration(&self) -> &Number {
        &self.iteration
    }

    pub fn max_iterations(&self) -> &Number {
        &self.max_iterations
    }

    pub fn metric(&self) -> Option<&Number> {
        self.metric.get()
    }

    pub fn threshold(&self) -> Option<&Number> {
        self.threshold.get()
    }

    pub(super) fn render(&self) -> Value {
        ObjectWriting::default()
            .field("iteration", self.iteration.clone())
            .field("max_iterations", self.max_iterations.clone())
            .maybe("metric", &self.metric, |number| number.clone().into())
            .maybe("threshold", &self.threshold, |number| number.clone().into())
            .extra(&self.extra)
    }
}

pub(super) fn number(node: &JsonNode<'_>) -> Option<Number> {
    if let JsonKind::Number(text) = node.kind { Some(Number::of(text)) } else { None }
}

fn measure(node: Option<&JsonNode<'_>>) -> Option<Maybe<Number>> {
    match node {
        None => Some(Maybe::Absent),
        Some(node) if node.is_null() => Some(Maybe::Null),
        Some(node) => number(node).map(Maybe::Is),
    }
}
