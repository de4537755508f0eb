//! A valid handoff contract, that is, an agent's report at the end of its turn. The types can only hold values that the
//! rules allow, and they keep every value of the agent's text.

use super::advice::{Consumption, Memorial, PersonSummary};
use super::approval::{ApprovalSection, HandoffApproval};
use super::consolidation::Consolidation;
use super::evidence::{EvidenceReport, EvidenceVerification};
use super::field::{ExtraMembers, Lenient, Listing, ObjectWriting};
use super::looping::LoopState;
use super::status::{self, AgentId, AgentStatusSection, PendingSteps, PlanStatus};
use super::update::ContractUpdate;
use crate::json::Value;
use crate::shape::{Maybe, NonBlank};

/// The contract that an agent hands over at the end of its turn. Only [`super::judge`] creates one, and only from a
/// valid text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffContract {
    status: HandoffStatus,
    /// The status as the agent spelled it in its text, such as `blocked.`.
    spelling: String,
    agent: AgentId,
    pending_steps: PendingSteps,
    next_action: NonBlank,
    status_extra: ExtraMembers,
    evidence: EvidenceReport,
    consolidation: Maybe<Consolidation>,
    /// The section `approval_request`. When the status is `APPROVAL_REQUEST`, the request is in the field `status` and
    /// not in this field.
    request: ApprovalSection,
    loop_state: Maybe<LoopState>,
    optional: Optional,
    extra: ExtraMembers,
}

/// The status of the work that a handoff reports, with the data that this status needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandoffStatus {
    InProgress,
    ApprovalRequest { request: HandoffApproval },
    Complete { verification: EvidenceVerification },
    Blocked,
    NeedsInput,
}

impl HandoffStatus {
    pub fn plan_status(&self) -> PlanStatus {
        match self {
            Self::InProgress => PlanStatus::InProgress,
            Self::ApprovalRequest { .. } => PlanStatus::ApprovalRequest,
            Self::Complete { .. } => PlanStatus::Complete,
            Self::Blocked => PlanStatus::Blocked,
            Self::NeedsInput => PlanStatus::NeedsInput,
        }
    }
}

/// The optional fields of a handoff contract. A wrong value in them causes a warning, but never makes the contract
/// invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Optional {
    pub(super) summary: Lenient<PersonSummary>,
    pub(super) memorials: Lenient<Listing<Memorial>>,
    pub(super) memory_suggestions: Lenient<Listing<String>>,
    pub(super) updates: Lenient<Listing<ContractUpdate>>,
    pub(super) rollback_executed: Lenient<String>,
    pub(super) context_consumption: Lenient<Consumption>,
}

/// All sections of a handoff contract. A section that could not be read is `None`.
#[derive(Debug)]
pub(super) struct Sections {
    pub(super) agent_status: AgentStatusSection,
    pub(super) evidence: Option<EvidenceReport>,
    pub(super) verification: Option<EvidenceVerification>,
    pub(super) consolidation: Option<Maybe<Consolidation>>,
    pub(super) request: Option<ApprovalSection>,
    pub(super) loop_state: Option<Maybe<LoopState>>,
    pub(super) optional: Optional,
    pub(super) extra: ExtraMembers,
}

impl HandoffContract {
    /// Builds a handoff contract from its sections. Returns `None` when a required section could not be read.
    pub(super) fn of(sections: Sections) -> Option<Self> {
        let AgentStatusSection { plan, agent, pending_steps, next_action, extra: status_extra } = sections.agent_status;
        let plan = plan?;
        let (status, request) = match (plan.word, sections.request?) {
            (PlanStatus::InProgress, request) => (HandoffStatus::InProgress, request),
            (PlanStatus::Blocked, request) => (HandoffStatus::Blocked, request),
            (PlanStatus::NeedsInput, request) => (HandoffStatus::NeedsInput, request),
            (PlanStatus::Complete, request) => {
                (HandoffStatus::Complete { verification: sections.verification? }, request)
            }
            (PlanStatus::ApprovalRequest, ApprovalSection::Request(request)) => {
                (HandoffStatus::ApprovalRequest { request: *request }, ApprovalSection::Absent)
            }
            (PlanStatus::ApprovalRequest, ApprovalSection::Absent | ApprovalSection::Null | ApprovalSection::Empty) => {
                return None;
            }
        };
        Some(Self {
            status,
            spelling: plan.text,
            agent: agent?,
            pending_steps: pending_steps?,
            next_action: next_action?,
            status_extra,
            evidence: sections.evidence?,
            consolidation: sections.consolidation?,
            request,
            loop_state: sections.loop_state?,
            optional: sections.optional,
            extra: sections.extra,
        })
    }

    pub fn status(&self) -> &HandoffStatus {
        &self.status
    }

    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    pub fn pending_steps(&self) -> &PendingSteps {
        &self.pending_steps
    }

    pub(crate) fn next_action_text(&self) -> &NonBlank {
        &self.next_action
    }

    pub fn next_action(&self) -> &str {
        self.next_action.as_str()
    }

    pub fn evidence(&self) -> &EvidenceReport {
        &self.evidence
    }

    pub fn consolidation(&self) -> Option<&Consolidation> {
        self.consolidation.get()
    }

    /// Returns the approval request of a handoff contract with any status. A person is asked for a decision only when
    /// the status is [`HandoffStatus::ApprovalRequest`].
    pub fn request(&self) -> Option<&HandoffApproval> {
        match (&self.status, &self.request) {
            (HandoffStatus::ApprovalRequest { request }, _) => Some(request),
            (_, ApprovalSection::Request(request)) => Some(request),
            (_, ApprovalSection::Absent | ApprovalSection::Null | ApprovalSection::Empty) => None,
        }
    }

    pub fn loop_state(&self) -> Option<&LoopState> {
        self.loop_state.get()
    }

    /// Returns the agent's summary for a person, without white space around it.
    pub fn summary(&self) -> Option<&str> {
        self.optional.summary.get().map(PersonSummary::as_str)
    }

    /// Returns the well-formed suggestions of facts to store in the memory. Malformed suggestions were skipped.
    pub fn memorials(&self) -> &[Memorial] {
        self.optional.memorials.get().map_or(&[], Listing::kept)
    }

    /// Returns the elements of the list `memory_suggestions` that are texts. Elements of other types were skipped.
    pub fn memory_suggestions(&self) -> &[String] {
        self.optional.memory_suggestions.get().map_or(&[], Listing::kept)
    }

    /// Returns the updates of project contracts (stored JSON objects with facts about the project) that the agent has
    /// the permission to make, in the order in which they must be applied.
    pub fn applied(&self) -> impl Iterator<Item = &ContractUpdate> {
        self.updates().filter(|update| update.is_permitted())
    }

    /// Returns the updates of project contracts (stored JSON objects with facts about the project) that the agent asked
    /// for but has no permission to make.
    pub fn denied(&self) -> impl Iterator<Item = &ContractUpdate> {
        self.updates().filter(|update| !update.is_permitted())
    }

    fn updates(&self) -> impl Iterator<Item = &ContractUpdate> {
        self.optional.updates.get().into_iter().flat_map(Listing::kept)
    }

    pub fn rollback_executed(&self) -> Option<&str> {
        self.optional.rollback_executed.get().map(String::as_str)
    }

    pub fn context_consumption(&self) -> Option<&Consumption> {
        self.optional.context_consumption.get()
    }

    /// Returns the top-level members of a handoff contract that the specification does not list.
    pub fn extra(&self) -> &ExtraMembers {
        &self.extra
    }

    /// Renders a handoff contract as JSON. The result has the same value as the JSON that the agent wrote.
    pub fn render(&self) -> Value {
        let agent_status = status::render(&self.spelling, &self.agent, &self.pending_steps, &self.next_action);
        let verification = match &self.status {
            HandoffStatus::Complete { verification } => Some(verification),
            HandoffStatus::InProgress
            | HandoffStatus::ApprovalRequest { .. }
            | HandoffStatus::Blocked
            | HandoffStatus::NeedsInput => None,
        };
        let request = match &self.status {
            HandoffStatus::ApprovalRequest { request } => Some(request.render()),
            HandoffStatus::InProgress
            | HandoffStatus::Complete { .. }
            | HandoffStatus::Blocked
            | HandoffStatus::NeedsInput => self.request.render(),
        };
        let fields = ObjectWriting::default()
            .field("agent_status", agent_status.extra(&self.status_extra))
            .field("evidence_report", self.evidence.render(verification))
            .maybe("consolidation_report", &self.consolidation, Consolidation::render)
            .optional("approval_request", request)
            .maybe("loop_state", &self.loop_state, LoopState::render);
        self.optional.render(fields).extra(&self.extra)
    }
}

impl Optional {
    fn render(&self, fields: ObjectWriting) -> ObjectWriting {
        let text = |text: &String| text.as_str().into();
        fields
            .optional("user_facing_summary", self.summary.render(PersonSummary::render))
            .optional("memorialize_suggestions", self.memorials.render(|all| all.render(Memorial::render)))
            .optional("memory_suggestions", self.memory_suggestions.render(|all| all.render(text)))
            .optional("update_contracts", self.updates.render(|all| all.render(ContractUpdate::render)))
            .optional("rollback_executed", self.rollback_executed.render(text))
            .optional("context_consumption", self.context_consumption.render(Consumption::render))
    }
}
