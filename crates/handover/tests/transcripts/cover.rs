//! Checks that the transcripts are complete. Every tool must succeed in at least one transcript, and every refusal of a
//! tool must occur in at least one transcript.

use std::collections::{BTreeMap, BTreeSet};

use wire::lifecycle::{Effect, TOOLS};

use super::script::{self, Answer, What};

/// The refusals of each tool, without `INVALID_INPUT`, which every tool has, and `IDEMPOTENCY_CONFLICT`, which every
/// tool with an idempotency key has.
const REFUSALS: &[(&str, &str)] = &[
    ("agent_register", "WORKFLOW_NOT_FOUND INVALID_STATE"),
    ("task_next", "AGENT_NOT_FOUND WORKFLOW_NOT_FOUND INVALID_STATE WORKFLOW_LOCKED PARALLEL_LIMIT"),
    ("workflow_list", ""),
    ("workflow_progress", "WORKFLOW_NOT_FOUND"),
    ("workflow_next_tasks", "WORKFLOW_NOT_FOUND AGENT_NOT_FOUND"),
    (
        "task_claim",
        "TASK_NOT_FOUND AGENT_NOT_FOUND INVALID_STATE TASK_BLOCKED NOT_ELIGIBLE FILES_BUSY PARALLEL_LIMIT WORKFLOW_LOCKED \
         APPROVAL_REQUIRED",
    ),
    ("task_load_context", "TASK_NOT_FOUND"),
    ("task_set_plan", "TASK_NOT_FOUND AGENT_NOT_FOUND INVALID_STATE CLAIM_LOST WORKFLOW_LOCKED"),
    (
        "task_update_status",
        "TASK_NOT_FOUND AGENT_NOT_FOUND INVALID_TRANSITION CLAIM_LOST TASK_BLOCKED MISSING_OUTCOME MISSING_ERROR \
         MISSING_REASON VERIFICATION_REQUIRED NOT_PERMITTED INVALID_STATE WORKFLOW_LOCKED REVIEW_REQUIRED FINDINGS_OPEN \
         APPROVAL_REQUIRED AGENT_ELSEWHERE PROTECTED",
    ),
    ("checkpoint_add", "TASK_NOT_FOUND AGENT_NOT_FOUND CLAIM_LOST INVALID_STATE WORKFLOW_LOCKED"),
    ("agent_heartbeat", "AGENT_NOT_FOUND TASK_NOT_FOUND INVALID_STATE AGENT_ELSEWHERE"),
    ("task_release", "TASK_NOT_FOUND AGENT_NOT_FOUND CLAIM_LOST INVALID_STATE WORKFLOW_LOCKED AGENT_ELSEWHERE"),
    ("task_wait", "TASK_NOT_FOUND WORKFLOW_NOT_FOUND AGENT_NOT_FOUND"),
    ("agent_unregister", "AGENT_NOT_FOUND AGENT_ELSEWHERE"),
    ("workflow_create", ""),
    (
        "workflow_set_plan",
        "WORKFLOW_NOT_FOUND INVALID_STATE DUPLICATE_TASK_NAME SELF_DEPENDENCY UNKNOWN_DEPENDENCY DEPENDENCY_CYCLE \
         WORKFLOW_LOCKED",
    ),
    ("inbox_read", "AGENT_NOT_FOUND RECIPIENT_NOT_FOUND NOT_PERMITTED AGENT_ELSEWHERE"),
    ("inbox_ack", "AGENT_NOT_FOUND NOT_PERMITTED INVALID_STATE"),
    (
        "message_send",
        "RECIPIENT_NOT_FOUND SENDER_NOT_FOUND MESSAGE_NOT_FOUND TASK_NOT_FOUND WORKFLOW_NOT_FOUND AGENT_NOT_FOUND \
         INVALID_STATE INBOX_FULL AGENT_ELSEWHERE",
    ),
    (
        "workspace_create",
        "WORKFLOW_NOT_FOUND TASK_NOT_FOUND WORKFLOW_MISMATCH MISSING_PATH MISSING_REPO_PATH WORKFLOW_LOCKED \
         BRANCH_EXISTS NOT_A_REPOSITORY BASE_NOT_FOUND PATH_TAKEN NOT_PERMITTED",
    ),
    (
        "workspace_update",
        "WORKSPACE_NOT_FOUND MISSING_MERGE_COMMIT INVALID_STATE WORKFLOW_LOCKED WORKSPACE_DIRTY WORKSPACE_NOT_OURS",
    ),
    ("workflow_get", "WORKFLOW_NOT_FOUND"),
    ("task_get", "TASK_NOT_FOUND"),
    ("workflow_update_status", "WORKFLOW_NOT_FOUND INVALID_TRANSITION INVALID_STATE WORKFLOW_LOCKED"),
    ("workflow_start", "WORKFLOW_NOT_FOUND INVALID_STATE WORKFLOW_LOCKED"),
    ("workflow_suspend", "WORKFLOW_NOT_FOUND NOT_RUNNING WORKFLOW_LOCKED"),
    ("workflow_resume", "WORKFLOW_NOT_FOUND NOT_SUSPENDED WORKFLOW_LOCKED PROTECTED"),
    ("workflow_execution_status", "WORKFLOW_NOT_FOUND"),
    ("workflow_check_merge", "WORKFLOW_NOT_FOUND MISSING_REPO_PATH NOT_A_REPOSITORY"),
    ("workflow_set_parallelism", "WORKFLOW_NOT_FOUND WORKFLOW_LOCKED"),
    ("workflow_get_summary", "WORKFLOW_NOT_FOUND"),
    ("workflow_lock", "WORKFLOW_NOT_FOUND"),
    ("workflow_unlock", "WORKFLOW_NOT_FOUND WORKFLOW_LOCKED"),
    ("workflow_lock_info", "WORKFLOW_NOT_FOUND"),
    ("workflow_set_config", "WORKFLOW_NOT_FOUND WORKFLOW_LOCKED PROTECTED"),
    ("workflow_add_repository", "WORKFLOW_NOT_FOUND WORKFLOW_LOCKED"),
    ("workflow_remove_repository", "WORKFLOW_NOT_FOUND REPOSITORY_IN_USE WORKFLOW_LOCKED"),
    ("workflow_list_repositories", "WORKFLOW_NOT_FOUND"),
    (
        "workflow_add_task",
        "WORKFLOW_NOT_FOUND INVALID_STATE DUPLICATE_TASK_NAME SELF_DEPENDENCY UNKNOWN_DEPENDENCY TASK_NOT_FOUND \
         WORKFLOW_LOCKED",
    ),
    (
        "workflow_remove_task",
        "WORKFLOW_NOT_FOUND TASK_NOT_FOUND TASK_NOT_REMOVABLE WORKFLOW_MISMATCH INVALID_STATE WORKFLOW_LOCKED PROTECTED",
    ),
    (
        "workflow_replan",
        "WORKFLOW_NOT_FOUND INVALID_STATE NAME_CONFLICT DUPLICATE_TASK_NAME SELF_DEPENDENCY UNKNOWN_DEPENDENCY \
         DEPENDENCY_CYCLE WORKFLOW_LOCKED",
    ),
    ("task_replan", "TASK_NOT_FOUND AGENT_NOT_FOUND INVALID_STATE CLAIM_LOST WORKFLOW_LOCKED"),
    ("task_check_dependencies", "TASK_NOT_FOUND"),
    ("task_assign_workspace", "TASK_NOT_FOUND WORKSPACE_NOT_FOUND WORKFLOW_MISMATCH INVALID_STATE WORKFLOW_LOCKED"),
    ("task_get_available", "WORKFLOW_NOT_FOUND AGENT_NOT_FOUND"),
    ("checkpoint_list", "TASK_NOT_FOUND"),
    ("workspace_list", "WORKFLOW_NOT_FOUND"),
    ("repository_register", ""),
    ("repository_list", ""),
    ("repository_get", "REPOSITORY_NOT_FOUND"),
    (
        "template_create",
        "WORKFLOW_NOT_FOUND DUPLICATE_TEMPLATE DUPLICATE_TASK_NAME SELF_DEPENDENCY UNKNOWN_DEPENDENCY DEPENDENCY_CYCLE",
    ),
    ("template_list", ""),
    ("template_apply", "TEMPLATE_NOT_FOUND MISSING_VARIABLES DUPLICATE_TASK_NAME"),
    ("agent_update", "AGENT_NOT_FOUND INVALID_STATE"),
    ("agent_get", "AGENT_NOT_FOUND"),
    ("agent_list", ""),
    ("message_broadcast", "SENDER_NOT_FOUND AGENT_NOT_FOUND WORKFLOW_NOT_FOUND INVALID_STATE"),
    ("message_list", "AGENT_NOT_FOUND RECIPIENT_NOT_FOUND NOT_PERMITTED"),
    ("message_get", "MESSAGE_NOT_FOUND NOT_PERMITTED"),
    ("message_mark_read", "AGENT_NOT_FOUND NOT_PERMITTED INVALID_STATE"),
    ("message_archive", "AGENT_NOT_FOUND NOT_PERMITTED INVALID_STATE"),
    ("message_count_unread", "AGENT_NOT_FOUND RECIPIENT_NOT_FOUND NOT_PERMITTED"),
    (
        "review_request",
        "NOT_TRUSTED PROVIDER_UNKNOWN PROVIDER_NOT_READY REVIEW_NOT_FOUND TASK_NOT_FOUND CLAIM_LOST AGENT_NOT_FOUND NOT_PERMITTED \
         ROUNDS_USED_UP",
    ),
    ("review_answer", "REVIEW_NOT_FOUND FINDING_NOT_FOUND NOT_PERMITTED AGENT_NOT_FOUND CLAIM_LOST"),
    ("review_status", "REVIEW_NOT_FOUND"),
    (
        "wire_post",
        "INVALID_WIRE NOT_PERMITTED AGENT_NOT_FOUND TASK_NOT_FOUND RECIPIENT_NOT_FOUND WORKFLOW_NOT_FOUND DUPLICATE_TASK_NAME CLAIM_LOST \
         WORKFLOW_LOCKED INBOX_FULL",
    ),
];

/// Each entry is a tool, a refusal code that all tools of its kind should give, and the reason why this tool cannot
/// give it.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "agent_unregister",
    "IDEMPOTENCY_CONFLICT",
    "it takes nothing but an id, and a key belongs to the agent of that id",
)];

/// Refusal codes that no transcript can cause, each with the reason.
pub(super) const UNREACHABLE: &[(&str, &str)] = &[
    (
        "AGENT_REQUIRED",
        "a connection of the scripts has one agent; the engine's scripts and those of the command line have it",
    ),
    ("TOKEN_NOT_FOUND", "tokens are no tools"),
    ("CODE_INVALID", "browsers connect by routes of their own; the tests of the HTTP interface have it"),
    ("KEY_UNKNOWN", "the same"),
    ("ITEM_NOT_FOUND", "only a person puts items off, by a route; the tests of the HTTP interface have it"),
    ("TURN_NOT_FOUND", "turns are no tools; the engine's scripts have it"),
    ("APPROVAL_NOT_FOUND", "approvals are no tools, so that no agent decides; the engine's scripts have it"),
    ("FINGERPRINT_MISMATCH", "the same"),
    ("ALREADY_ANSWERED", "people's answers are no tool, so that no agent gives them; the engine's scripts have it"),
    ("SECTION_NOT_FOUND", "project context is no tool"),
    ("SECTION_CHANGED", "the same; the engine's scripts have it"),
    ("WRONG_ITERATION", "the tool counts by itself; `review run` answers it in the protocol's words"),
    ("GIT_FAILED", "git's own words differ from version to version; tests of worktrees have it"),
    ("GIT_MISSING", "the machine would need to have no git; tests of worktrees have it"),
    ("GIT_TIMEOUT", "it takes minutes; tests of worktrees have it"),
    ("PATH_UNUSABLE", "a folder that cannot be written is none for root; tests of worktrees have it"),
    ("IDENTITY_MISSING", "no tool merges into a person's branch; tests of `merge` have it"),
    ("SLOTS_USED", "only the runner uses slots; tests of slots have it"),
    ("SLOT_IN_USE", "the same"),
    ("INTERNAL_ERROR", "is no refusal"),
];

type Codes = BTreeMap<String, BTreeSet<String>>;

/// Returns the tools that succeed in the transcripts, and the refusals that each tool gives there.
fn found() -> (BTreeSet<String>, Codes) {
    let (mut done, mut refused) = (BTreeSet::new(), Codes::new());
    for step in script::all().into_iter().flat_map(|script| script.worlds).flat_map(|world| world.steps) {
        let What::Call { tool, .. } = step.what else { continue };
        match step.answer {
            Some(Answer::Done(_)) => drop(done.insert(tool)),
            Some(Answer::Refused(value)) => {
                let code = value["code"].as_str().unwrap().to_owned();
                refused.entry(tool).or_default().insert(code);
            }
            None => panic!("line {}: {tool} has no answer", step.line),
        }
    }
    (done, refused)
}

/// Returns the refusals that each tool must give: the codes in the table `REFUSALS`, and the codes `INVALID_INPUT` and
/// `IDEMPOTENCY_CONFLICT`, which are not in the table.
fn wanted() -> Codes {
    let mut wanted = Codes::new();
    for (tool, codes) in REFUSALS {
        wanted.insert((*tool).to_owned(), codes.split_whitespace().map(str::to_owned).collect());
    }
    for tool in TOOLS {
        let codes = wanted.entry(tool.name.to_owned()).or_default();
        codes.insert("INVALID_INPUT".to_owned());
        let key = tool.arguments().get("properties").and_then(|list| list.get("idempotency_key")).is_some();
        assert_eq!(key, tool.effect != Effect::Reads, "{}: whatever changes something takes a key", tool.name);
        if key {
            codes.insert("IDEMPOTENCY_CONFLICT".to_owned());
        }
    }
    for (tool, code, _) in EXCEPTIONS {
        assert!(wanted.get_mut(*tool).unwrap().remove(*code), "{tool} {code}");
    }
    wanted
}

#[test]
fn every_tool_succeeds_and_says_each_of_its_refusals() {
    let (done, refused) = found();
    let idle: Vec<&str> = TOOLS.iter().map(|tool| tool.name).filter(|name| !done.contains(*name)).collect();
    assert_eq!(idle, Vec::<&str>::new(), "tools that never succeed");
    let wanted = wanted();
    assert_eq!(wanted.len(), TOOLS.len(), "a row for each tool");
    let pairs = |codes: &Codes| -> BTreeSet<(String, String)> {
        let pair = |(tool, codes): (&String, &BTreeSet<String>)| {
            codes.iter().map(|code| (tool.clone(), code.clone())).collect::<Vec<_>>()
        };
        codes.iter().flat_map(pair).collect()
    };
    let (wanted, refused) = (pairs(&wanted), pairs(&refused));
    let missing: Vec<_> = wanted.difference(&refused).collect();
    let unlisted: Vec<_> = refused.difference(&wanted).collect();
    println!("{} tools, {} refusals of tools", done.len(), refused.len());
    assert!(missing.is_empty() && unlisted.is_empty(), "not in a script: {missing:?}\nnot in the table: {unlisted:?}");
}

/// Returns the refusal codes of the engine and of the crate `git`, from the source files that explain them.
pub(super) fn codes() -> BTreeSet<&'static str> {
    let all = include_str!("../../../../crates/engine/src/refusal/advice.rs");
    let more = include_str!("../../../../crates/git/src/problem.rs");
    let words = all.split('"').chain(more.split('"'));
    let is_code = |word: &&str| {
        word.len() > 5 && word.contains('_') && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    let codes: BTreeSet<&str> = words.filter(is_code).collect();
    assert!(codes.len() > 40, "{codes:?}");
    codes
}

#[test]
fn every_code_is_said_or_cannot_be() {
    let said: BTreeSet<String> = found().1.into_values().flatten().collect();
    let silent: BTreeSet<&str> = UNREACHABLE.iter().map(|(code, _)| *code).collect();
    let codes = codes();
    let missing: Vec<_> = codes.iter().filter(|code| !said.contains(**code) && !silent.contains(**code)).collect();
    assert_eq!(missing, Vec::<&&str>::new());
    let reached: Vec<_> = silent.iter().filter(|code| said.contains(**code)).collect();
    assert_eq!(reached, Vec::<&&str>::new(), "a script reaches these codes, so they need no reason");
}
