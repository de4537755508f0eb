//! The rules of a handoff contract (an agent's report at the end of its turn). Each rule has a code, which verdicts
//! list, and the words that explain it.

/// A rule of a handoff contract: its code, the field that it is about, and the values that are legal in this field.
#[derive(Debug, PartialEq, Eq)]
pub struct ContractRule {
    /// The code of the rule, such as `AGENT_ID`. The code of a problem is the code of the broken rule, often with a
    /// colon and a text after it, as in `AGENT_ID:unknown`.
    pub code: &'static str,
    /// The path of the field in the contract, with dots between names. When the path is empty or ends with a dot, the
    /// text after the colon of the problem's code is appended to it.
    pub field: &'static str,
    /// A description of the values that are legal in the field. The agent that must repair its output reads it.
    pub legal: &'static str,
}

/// Declares the rules of a handoff contract in the order of the specification. The name of each rule is its code.
macro_rules! rules {
    ($($code:ident: $field:expr, $legal:expr;)*) => {
        $(pub(super) static $code: ContractRule = ContractRule { code: stringify!($code), field: $field, legal: $legal };)*

        /// All rules of a handoff contract, in the order in which a verdict lists the problems.
        pub static RULES: &[&ContractRule] = &[$(&$code),*];
    };
}

const PLAN: &str = "must be one of IN_PROGRESS, APPROVAL_REQUEST, COMPLETE, BLOCKED, NEEDS_INPUT";
const NOTES: &str = "must be there as an array of strings or objects; `[]` when there is nothing to say";
const COMMANDS: &str =
    "must be there as an array of strings or objects with a string `command`; `[]` when none was run";
const ASSESSED: &str = "must be there and not null; `[]` when there is nothing to say";
const OWNERSHIP: &str = "must be one of owned_here, cross_surface_dependency, not_my_surface";
const STATED: &str = "must be a string that is not blank";

rules! {
    MULTIPLE_BLOCKS: "agent_contract_handoff", "the last closed block was judged; write exactly one block";

    AGENT_STATUS: "agent_status",
        "must be an object with `plan_status`, `agent_id`, `pending_steps` and `next_action`";
    PLAN_STATUS: "agent_status.plan_status", PLAN;
    PLAN_STATUS_NORMALISED: "agent_status.plan_status",
        "was trimmed, upper-cased and freed of trailing `.,;` before it was read; write exactly one of \
         IN_PROGRESS, APPROVAL_REQUEST, COMPLETE, BLOCKED, NEEDS_INPUT";
    AGENT_ID: "agent_status.agent_id",
        "must be the id this agent was dispatched with: a string of `a` and at least five digits of 0-9a-f";
    PENDING_STEPS: "agent_status.pending_steps",
        "must be an array of strings, or a string that is not empty; `[]` when nothing is left";
    PENDING_STEPS_TYPE: "agent_status.pending_steps", "must be an array of strings, or a string that is not empty";
    NEXT_ACTION: "agent_status.next_action", STATED;
    NEXT_ACTION_TYPE: "agent_status.next_action", STATED;

    EVIDENCE_REPORT: "evidence_report",
        "must be an object with the arrays `patterns_checked`, `files_checked`, `commands_run`, `key_outputs`, \
         `verbatim_outputs`, `cross_layer_impacts` and `open_gaps`";
    PATTERNS_CHECKED: "evidence_report.patterns_checked", NOTES;
    FILES_CHECKED: "evidence_report.files_checked", NOTES;
    COMMANDS_RUN: "evidence_report.commands_run", COMMANDS;
    KEY_OUTPUTS: "evidence_report.key_outputs", NOTES;
    VERBATIM_OUTPUTS: "evidence_report.verbatim_outputs", NOTES;
    CROSS_LAYER_IMPACTS: "evidence_report.cross_layer_impacts", NOTES;
    OPEN_GAPS: "evidence_report.open_gaps", NOTES;
    PATTERNS_CHECKED_TYPE: "evidence_report.patterns_checked", NOTES;
    FILES_CHECKED_TYPE: "evidence_report.files_checked", NOTES;
    COMMANDS_RUN_TYPE: "evidence_report.commands_run", COMMANDS;
    KEY_OUTPUTS_TYPE: "evidence_report.key_outputs", NOTES;
    VERBATIM_OUTPUTS_TYPE: "evidence_report.verbatim_outputs", NOTES;
    CROSS_LAYER_IMPACTS_TYPE: "evidence_report.cross_layer_impacts", NOTES;
    OPEN_GAPS_TYPE: "evidence_report.open_gaps", NOTES;
    VERIFICATION_RESULT_REQUIRED_FOR_COMPLETE: "evidence_report.verification",
        "must be an object with `result` \"pass\" when `plan_status` is COMPLETE; verify the work, or report \
         another status";
    VERIFICATION_RESULT_MUST_BE_PASS: "evidence_report.verification.result",
        "must be \"pass\" when `plan_status` is COMPLETE; verify the work, or report another status";

    CONSOLIDATION_REPORT: "consolidation_report",
        "must be an object with `ownership_assessment`, `confirmed_findings`, `suspected_findings`, `conflicts`, \
         `open_gaps` and `next_best_agent`; null or absent only when the INPUT does not ask for it";
    OWNERSHIP_ASSESSMENT: "consolidation_report.ownership_assessment", OWNERSHIP;
    CONFIRMED_FINDINGS: "consolidation_report.confirmed_findings", ASSESSED;
    SUSPECTED_FINDINGS: "consolidation_report.suspected_findings", ASSESSED;
    CONFLICTS: "consolidation_report.conflicts", ASSESSED;
    CONSOLIDATION_OPEN_GAPS: "consolidation_report.open_gaps", ASSESSED;
    NEXT_BEST_AGENT: "consolidation_report.next_best_agent", "must be there and not null";

    APPROVAL_REQUEST: "approval_request",
        "must be an object with `operation`, `exact_content`, `scope`, `risk_level`, `rollback` and \
         `verification` when `plan_status` is APPROVAL_REQUEST";
    APPROVAL_REQUEST_TYPE: "approval_request",
        "must be an object, null or absent when `plan_status` is not APPROVAL_REQUEST";
    APPROVAL_REQUEST_ROLLBACK: "approval_request.rollback",
        "must be a string that is not blank: how to undo the operation";
    APPROVAL_REQUEST_VERIFICATION: "approval_request.verification",
        "must be a string that is not blank: how success is confirmed";
    APPROVAL_REQUEST_FIELD_MISSING: "approval_request.", STATED;
    APPROVAL_REQUEST_INVALID_RISK_LEVEL: "approval_request.risk_level", "must be one of LOW, MEDIUM, HIGH, CRITICAL";

    LOOP_STATE_TYPE: "loop_state",
        "must be an object with the integers `iteration` and `max_iterations`, and `metric` and `threshold` as \
         numbers, null or absent";
    LOOP_STATE_INCOMPLETE: "loop_state",
        "does not allow COMPLETE while `iteration` is below `max_iterations` and `metric` below `threshold`; \
         continue the loop and report IN_PROGRESS";

    USER_FACING_SUMMARY_TYPE: "user_facing_summary", "must be a string that is not blank; it was ignored";
    MEMORIALIZE_SUGGESTIONS_TYPE: "memorialize_suggestions", "must be an array of objects; it was ignored";
    MEMORIALIZE: "memorialize_suggestions",
        "must be an object with `description` and `body` as strings that are not blank; it was skipped";
    MEMORIALIZE_ENUM: "memorialize_suggestions",
        "should have as `type` one of atom, decision, negative, and as `class` one of anchor, thread, log; it was \
         kept";
    MEMORY_SUGGESTIONS_TYPE: "memory_suggestions", "must be an array of strings; it was ignored";
    MEMORY_SUGGESTIONS: "memory_suggestions", "must be a string; it was skipped";
    UPDATE_CONTRACTS_TYPE: "update_contracts", "must be an array of objects; it was ignored";
    UPDATE_CONTRACTS: "update_contracts",
        "must be an object with a string `contract` and an object `payload`; it was skipped";
    UPDATE_CONTRACT_DENIED: "update_contracts",
        "must name a contract of the INPUT's `write_permissions.writable_sections`; this one is not written";
    LIVE_STATE: "",
        "looks like live state, which is out of date soon; name what exists, and leave out addresses, counts and \
         status";
    ROLLBACK_EXECUTED_TYPE: "rollback_executed", "must be a string or null; it was ignored";
    CONTEXT_CONSUMPTION_TYPE: "context_consumption",
        "must be an object with the integer `tokens_used` of at least 0 and the number `pct_window` from 0 to \
         100; it was ignored";
    UNKNOWN_FIELD: "",
        "is not a field of the contract, so it was kept without effect; the fields are agent_status, \
         evidence_report, consolidation_report, approval_request, loop_state, user_facing_summary, \
         memorialize_suggestions, memory_suggestions, update_contracts, rollback_executed and context_consumption";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_there_once_and_explained() {
        for (number, rule) in RULES.iter().enumerate() {
            assert!(!RULES[..number].iter().any(|other| other.code == rule.code), "{}", rule.code);
            assert!(
                !rule.legal.is_empty() && !rule.legal.contains('\n') && !rule.legal.ends_with('.'),
                "{}",
                rule.code
            );
        }
    }
}
