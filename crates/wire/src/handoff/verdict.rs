//! The verdict on the text of an agent: whether its handoff contract is valid, every problem, and how to repair it.

use super::contract::HandoffContract;
use super::problem::{Findings, HandoffProblem};
use super::status::{AgentId, PlanStatus};
use super::{BODY_BYTES_MAX, rule};
use crate::json::{Object, Span, SyntaxError, Value, object};

/// The verdict on the text that an agent wrote at the end of its turn. A text with warnings only is valid.
#[derive(Debug, Clone, PartialEq)]
pub struct HandoffVerdict {
    /// The reason why no handoff contract could be read from the text. `None` when a contract was read.
    pub reason: Option<NoContractReason>,
    pub plan_status: Option<PlanStatus>,
    pub missing: Vec<HandoffProblem>,
    pub invalid: Vec<HandoffProblem>,
    pub warnings: Vec<HandoffProblem>,
    pub repair: Repair,
    /// The handoff contract that was read from the text. It is present exactly when the verdict is valid.
    pub contract: Option<HandoffContract>,
    /// The place of the handoff contract's JSON in the agent's text; `None` when the text has no contract block.
    pub body: Option<Span>,
}

/// The reason why no handoff contract could be read from an agent's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoContractReason {
    NoBlock,
    UnclosedBlock,
    TooLarge {
        bytes: usize,
    },
    /// The content of the contract's code block is not JSON. Line and column count from the start of the content.
    InvalidJson(SyntaxError),
}

/// The next step after a handoff contract was checked: accept it, ask the same agent for a valid one, or escalate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// The handoff contract is valid and needs no repair.
    None,
    ResumeSameAgent(AgentId),
    Escalate,
}

impl NoContractReason {
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoBlock => "NO_BLOCK",
            Self::UnclosedBlock => "UNCLOSED_BLOCK",
            Self::TooLarge { .. } => "TOO_LARGE",
            Self::InvalidJson(_) => "INVALID_JSON",
        }
    }

    /// Returns the reason why no handoff contract could be read, as one line for the agent that must repair its output.
    pub fn message(&self) -> String {
        match self {
            Self::NoBlock => {
                "`agent_contract_handoff`: the text must end with a block: a line ```agent_contract_handoff, one JSON \
                 object, a line ```; found none"
                    .to_owned()
            }
            Self::UnclosedBlock => {
                "`agent_contract_handoff`: the block must be closed by a line of at least as many backticks as opened \
                 it, with nothing else on it; found the end of the text"
                    .to_owned()
            }
            Self::TooLarge { bytes } => {
                format!("`agent_contract_handoff`: the block may have {BODY_BYTES_MAX} bytes; found {bytes}")
            }
            Self::InvalidJson(error) => {
                format!("`agent_contract_handoff`: the block must hold exactly one JSON object; found at {error}")
            }
        }
    }
}

impl Repair {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ResumeSameAgent(_) => "resume_same_agent",
            Self::Escalate => "escalate",
        }
    }

    pub(super) fn by(agent: Option<AgentId>) -> Self {
        agent.map_or(Self::Escalate, Self::ResumeSameAgent)
    }
}

impl HandoffVerdict {
    /// Returns the verdict on a text without a readable handoff contract. The verdict lists every required part of a
    /// contract as missing.
    pub(super) fn unparsed(reason: NoContractReason, mut findings: Findings<'_>, dispatched: Option<AgentId>) -> Self {
        for rule in [
            &rule::AGENT_STATUS,
            &rule::PLAN_STATUS,
            &rule::AGENT_ID,
            &rule::PENDING_STEPS,
            &rule::NEXT_ACTION,
            &rule::EVIDENCE_REPORT,
        ] {
            findings.missing(rule, None);
        }
        let Findings { missing, invalid, warnings, .. } = findings;
        let repair = Repair::by(dispatched);
        let reason = Some(reason);
        Self { reason, plan_status: None, missing, invalid, warnings, repair, contract: None, body: None }
    }

    /// Returns true when a handoff contract could be read from the text. The contract need not be valid.
    pub fn is_parsed(&self) -> bool {
        self.reason.is_none()
    }

    pub fn is_valid(&self) -> bool {
        self.contract.is_some()
    }

    /// Returns all problems of the handoff contract: first the missing fields, then the invalid ones, then the
    /// warnings.
    pub fn problems(&self) -> impl Iterator<Item = &HandoffProblem> {
        self.missing.iter().chain(&self.invalid).chain(&self.warnings)
    }

    /// Returns the verdict as the JSON object `{parsed, reason?, valid, plan_status, missing, invalid, warnings,
    /// repair, applies?, messages}`. `applies` has the indexes of the contract updates that take effect.
    pub fn to_value(&self) -> Value {
        let codes = |problems: &[HandoffProblem]| problems.iter().map(HandoffProblem::code).collect::<Vec<_>>();
        let mut members = Object::new();
        let mut member = |name: &str, value: Value| members.push((name.to_owned(), value));
        member("parsed", self.is_parsed().into());
        if let Some(reason) = &self.reason {
            member("reason", reason.code().into());
        }
        member("valid", self.is_valid().into());
        member("plan_status", self.plan_status.map(PlanStatus::as_str).into());
        member("missing", codes(&self.missing).into());
        member("invalid", codes(&self.invalid).into());
        member("warnings", codes(&self.warnings).into());
        member("repair", self.repair.as_str().into());
        if self.is_parsed() {
            member("applies", self.applies().into());
        }
        member("messages", self.messages());
        Value::Object(members)
    }

    fn applies(&self) -> Vec<u64> {
        let indices = self.contract.iter().flat_map(HandoffContract::applied).map(|update| update.index());
        indices.filter_map(|index| u64::try_from(index).ok()).collect()
    }

    fn messages(&self) -> Value {
        let message = |code: Value, message: String| object([("code", code), ("message", message.into())]);
        let reason = self.reason.iter().map(|reason| message(reason.code().into(), reason.message()));
        let problems = self.problems().map(|problem| message(problem.code().into(), problem.message()));
        Value::List(reason.chain(problems).collect())
    }
}
