//! The contract that an agent hands over at the end of its turn. This module finds the contract in the agent's text,
//! checks it and reads it.
//!
//! A text without a readable contract is never accepted. Only the verdict on a valid contract has a
//! [`HandoffContract`], and other code acts only on a [`HandoffContract`]. Therefore an invalid contract has no effect.
//!
//! ````
//! use wire::handoff::{HandoffContext, PlanStatus, judge};
//!
//! let said = r#"I read the brief.
//!
//! ```agent_contract_handoff
//! {"agent_status": {"plan_status": "blocked.", "agent_id": "ab7e4d2", "pending_steps": [], "next_action": "Ask."},
//!  "evidence_report": {"patterns_checked": [], "files_checked": [], "commands_run": [], "key_outputs": [],
//!                      "verbatim_outputs": [], "cross_layer_impacts": []}}
//! ```
//! "#;
//! let verdict = judge(said, &HandoffContext::default());
//! assert_eq!(verdict.plan_status, Some(PlanStatus::Blocked));
//! assert_eq!(verdict.to_value().get("missing").map(ToString::to_string).as_deref(), Some(r#"["OPEN_GAPS"]"#));
//! assert_eq!(verdict.repair.as_str(), "resume_same_agent");
//!
//! let whole = said.replace(r#""cross_layer_impacts": []"#, r#""cross_layer_impacts": [], "open_gaps": ["no design"]"#);
//! let contract = judge(&whole, &HandoffContext::default()).contract.unwrap();
//! assert_eq!(contract.evidence().open_gaps[0].to_string(), "no design");
//! ````
//!
//! Further parts: [`merge`] applies an update to a stored project contract (a JSON object with facts about the project)
//! and never deletes a value. [`identity`] turns all forms of a git remote into one name. [`Reference`] names a
//! resource in another repository. [`Machine`] decides which status may follow which.

mod advice;
mod approval;
mod consolidation;
mod contract;
mod evidence;
pub(crate) mod fence;
mod field;
mod live;
mod looping;
mod machine;
mod merge;
mod pointer;
mod problem;
mod reference;
mod remote;
mod rule;
mod schema;
mod status;
mod update;
mod verdict;

pub use advice::{Consumption, Memorial, MemoryClass, MemoryType, PersonSummary};
pub use approval::{HandoffApproval, Risk};
pub use consolidation::{Consolidation, Ownership};
pub use contract::{HandoffContract, HandoffStatus};
pub use evidence::{EvidenceCommand, EvidenceNote, EvidenceReport, EvidenceVerification};
pub use field::{ExtraMembers, Lenient, Listing, Spelt, WrittenValue};
pub use looping::LoopState;
pub use machine::{Machine, MachineRefusal, MachineStep};
pub use merge::{MergedContract, merge, merge_all};
pub use problem::HandoffProblem;
pub use reference::{NoReference, Reference};
pub use remote::{NoIdentity, RemoteIdentity, identity};
pub use rule::{ContractRule, RULES};
pub use schema::schema;
pub use status::{AgentId, PendingSteps, PlanStatus};
pub use update::ContractUpdate;
pub use verdict::{HandoffVerdict, NoContractReason, Repair};

use crate::json::{self, JsonMember, JsonNode, Span, Value};
use contract::{Optional, Sections};
use problem::Findings;
use status::AgentStatusSection;

/// The size limit in bytes of the JSON in the block that holds an agent's handoff contract. A larger block is refused.
pub const BODY_BYTES_MAX: usize = 1_048_576;

/// Facts about an agent's turn that do not come from the agent's text.
#[derive(Debug, Clone, Copy, Default)]
pub struct HandoffContext<'c> {
    /// The INPUT envelope (the JSON that the agent got at the start of its turn). A section of the envelope that has
    /// the wrong type counts as absent.
    pub input: Option<&'c Value>,
    /// The id under which the agent was started. If this id is not well-formed, it counts as unknown.
    pub dispatch_agent_id: Option<&'c str>,
}

/// Finds the handoff contract in the text that an agent wrote at the end of its turn, and checks every rule of the
/// contract.
pub fn judge(text: &str, context: &HandoffContext<'_>) -> HandoffVerdict {
    let dispatched = context.dispatch_agent_id.and_then(AgentId::parse);
    let mut findings = Findings::default();
    let scan = fence::scan(text);
    if scan.opened > 1 {
        let problem = findings.problem(&rule::MULTIPLE_BLOCKS, None);
        findings.warnings.push(problem.saying(format!("{} blocks", scan.opened)));
    }
    let Some(block) = scan.block else {
        let reason = if scan.opened == 0 { NoContractReason::NoBlock } else { NoContractReason::UnclosedBlock };
        return HandoffVerdict::unparsed(reason, findings, dispatched);
    };
    findings.in_block(block.body, block.start);
    let bytes = block.body.len();
    let body = findings.place(Span { start: 0, end: u32::try_from(bytes).unwrap_or(u32::MAX) });
    let contract = if bytes > BODY_BYTES_MAX {
        Err(NoContractReason::TooLarge { bytes })
    } else {
        json::parse_object(block.body).map_err(NoContractReason::InvalidJson)
    };
    let verdict = match contract {
        Err(reason) => HandoffVerdict::unparsed(reason, findings, dispatched),
        Ok(node) => judge_contract(&node, context.input, dispatched, findings),
    };
    HandoffVerdict { body: Some(body), ..verdict }
}

fn judge_contract(
    node: &JsonNode<'_>,
    input: Option<&Value>,
    dispatched: Option<AgentId>,
    mut findings: Findings<'_>,
) -> HandoffVerdict {
    let top = Top::of(node);
    let agent_status = AgentStatusSection::read(top.agent_status, dispatched.as_ref(), &mut findings);
    let plan_status = agent_status.plan.as_ref().map(Spelt::word);
    // When the contract is invalid, the agent with this id is resumed to repair it. The id under which the agent was
    // started has priority over the id in the contract, because a wrong id in the contract would resume another agent.
    let agent = dispatched.or_else(|| agent_status.agent.clone());
    let sections = top.read(agent_status, input, &mut findings);
    let contract = if findings.is_clean() { HandoffContract::of(sections) } else { None };
    let repair = if contract.is_some() { Repair::None } else { Repair::by(agent) };
    let Findings { missing, invalid, warnings, .. } = findings;
    HandoffVerdict { reason: None, plan_status, missing, invalid, warnings, repair, contract, body: None }
}

/// Returns true when the INPUT envelope (the JSON that started the agent's turn) requires a consolidation report. Only
/// the value `true` requires one.
fn requires_consolidation(input: Option<&Value>) -> bool {
    let flag = |section: &str, name: &str| {
        input.and_then(|input| input.get(section)?.get(name)).is_some_and(|flag| *flag == Value::Bool(true))
    };
    flag("agent_contract_handoff", "consolidation_required")
        || flag("agent_contract_handoff", "cross_check_required")
        || flag("surface_routing", "multi_surface")
}

/// The sections of a handoff contract (an agent's report at the end of its turn), as they stand in its JSON object.
#[derive(Debug, Default)]
struct Top<'n, 't> {
    agent_status: Option<&'n JsonNode<'t>>,
    evidence_report: Option<&'n JsonNode<'t>>,
    consolidation_report: Option<&'n JsonNode<'t>>,
    approval_request: Option<&'n JsonNode<'t>>,
    loop_state: Option<&'n JsonNode<'t>>,
    user_facing_summary: Option<&'n JsonNode<'t>>,
    memorialize_suggestions: Option<&'n JsonNode<'t>>,
    memory_suggestions: Option<&'n JsonNode<'t>>,
    update_contracts: Option<&'n JsonNode<'t>>,
    rollback_executed: Option<&'n JsonNode<'t>>,
    context_consumption: Option<&'n JsonNode<'t>>,
    unknown: Vec<&'n JsonMember<'t>>,
}

impl<'n, 't> Top<'n, 't> {
    fn of(node: &'n JsonNode<'t>) -> Self {
        let mut top = Self::default();
        for member in node.members().unwrap_or_default() {
            let place = match &*member.name {
                "agent_status" => &mut top.agent_status,
                "evidence_report" => &mut top.evidence_report,
                "consolidation_report" => &mut top.consolidation_report,
                "approval_request" => &mut top.approval_request,
                "loop_state" => &mut top.loop_state,
                "user_facing_summary" => &mut top.user_facing_summary,
                "memorialize_suggestions" => &mut top.memorialize_suggestions,
                "memory_suggestions" => &mut top.memory_suggestions,
                "update_contracts" => &mut top.update_contracts,
                "rollback_executed" => &mut top.rollback_executed,
                "context_consumption" => &mut top.context_consumption,
                _ => {
                    top.unknown.push(member);
                    continue;
                }
            };
            *place = Some(&member.node);
        }
        top
    }

    /// Reads the sections of a handoff contract in the order of the specification, because the verdict must list the
    /// problems in that order.
    fn read(&self, agent_status: AgentStatusSection, input: Option<&Value>, findings: &mut Findings<'_>) -> Sections {
        let plan = agent_status.plan.as_ref().map(Spelt::word);
        let (evidence, verification) = evidence::read(self.evidence_report, plan, findings);
        let is_required = requires_consolidation(input);
        Sections {
            agent_status,
            evidence,
            verification,
            consolidation: consolidation::read(self.consolidation_report, is_required, findings),
            request: approval::read(self.approval_request, plan, findings),
            loop_state: looping::read(self.loop_state, plan, findings),
            optional: Optional {
                summary: advice::summary(self.user_facing_summary, findings),
                memorials: advice::memorials(self.memorialize_suggestions, findings),
                memory_suggestions: advice::memory_suggestions(self.memory_suggestions, findings),
                updates: update::read(self.update_contracts, input, findings),
                rollback_executed: advice::rollback_executed(self.rollback_executed, findings),
                context_consumption: advice::context_consumption(self.context_consumption, findings),
            },
            extra: self.unknown(findings),
        }
    }

    fn unknown(&self, findings: &mut Findings<'_>) -> ExtraMembers {
        findings.warnings.reserve(self.unknown.len());
        for member in &self.unknown {
            let problem = findings.problem(&rule::UNKNOWN_FIELD, Some(&member.node));
            findings.warnings.push(problem.named(&*member.name));
        }
        findings.source.extra(self.unknown.iter().copied())
    }
}

#[cfg(test)]
mod tests;

/// Returns the id that an agent writes into its handoff contract (its report at the end of a turn): the letter `a` and
/// 16 hexadecimal digits of a hash. The hash is made from the agent's id in the engine, such as `ag_0123456789xy`,
/// because that id does not have the form that the protocol requires.
pub fn alias(agent: engine::id::AgentId) -> String {
    use sha2::{Digest, Sha256};
    let hash = Sha256::digest(agent.to_string().as_bytes());
    format!("a{}", engine::hex::hexadecimal(&hash[..8]))
}
