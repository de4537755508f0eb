//! Tests which step of an attempt follows from the attempt's turns in the store.

use engine::id::{TaskId, WorkflowId};
use engine::task::{Lease, Priority, TaskDetail, TaskState};
use engine::turn::{Spent, TurnResult, TurnState};
use engine::workflow::{Workflow, WorkflowDetail};
use engine::{Json, Timestamp};

use super::*;

fn task(attempt: u32, state: TaskState) -> Task {
    Task {
        id: TaskId::FIRST,
        workflow: WorkflowId::FIRST,
        number: 1,
        name: "t".to_owned(),
        sequence: 1,
        priority: Priority::DEFAULT,
        role: None,
        capabilities: Vec::new(),
        touches: Vec::new(),
        group: None,
        verify: false,
        review: false,
        gate: false,
        limited: false,
        author: None,
        attempts_max: 5,
        attempt,
        crashes: 0,
        unmet: 0,
        checkpoints: 0,
        repository: None,
        workspace: None,
        state,
        created: Timestamp(0),
        updated: Timestamp(0),
    }
}

#[test]
fn an_attempt_is_over_when_nobody_holds_it() {
    let lease = || Lease { agent: AgentId::FIRST, since: Timestamp(0), until: Timestamp(1) };
    let cases = [
        ("held", TaskState::Pending { lease: Some(lease()) }, 2, false),
        ("worked on", TaskState::InProgress { lease: lease() }, 2, false),
        ("waits for a person", TaskState::Paused { lease: lease(), reason: None }, 2, false),
        ("given back", TaskState::Pending { lease: None }, 2, true),
        ("completed", TaskState::Completed { by: engine::Actor::Runner, outcome: "done".to_owned() }, 2, true),
        ("an earlier one", TaskState::InProgress { lease: lease() }, 1, true),
    ];
    for (case, state, attempt, expected) in cases {
        assert_eq!(is_over(&task(2, state), attempt), expected, "{case}");
    }
}

/// Returns a turn from a short text of the form `purpose:says`. The part `says` is a status of [`OutputStatus`], `bad`
/// for an invalid output, or `silent` for a program that gave no answer.
fn turn(number: u32, word: &str) -> Turn {
    let (purpose, says) = word.split_once(':').unwrap_or(("first", word));
    let verdict = (says != "silent").then(|| {
        let says = if says == "bad" { "null".to_owned() } else { format!("\"{says}\"") };
        format!(r#"{{"kind":"handoff","says":{says},"codes":[],"warnings":[],"summary":"s"}}"#)
    });
    let at = Timestamp(i64::from(number));
    Turn {
        id: TurnId::FIRST,
        task: TaskId::FIRST,
        workflow: WorkflowId::FIRST,
        agent: AgentId::FIRST,
        attempt: 1,
        number,
        purpose: Purpose::parse(purpose).unwrap_or(Purpose::First),
        adapter: "exec".to_owned(),
        runner: "here".to_owned(),
        started: at,
        state: TurnState::Ended(Box::new(TurnResult {
            at,
            end: if says == "silent" { TurnEnd::Interrupted } else { TurnEnd::Finished },
            reason: None,
            conversation: Some("c".to_owned()),
            spent: Spent::default(),
            tool_calls: 0,
            stream: None,
            verdict: verdict.map(Json::from_stored),
            model: None,
        })),
    }
}

/// Returns a name for the step after these turns. `turns` is a list of texts for [`turn`]. The last text describes the
/// turn that just ended.
fn then(turns: &str) -> String {
    let lease = Lease { agent: AgentId::FIRST, since: Timestamp(0), until: Timestamp(1) };
    let facts = AttemptView {
        task: task(1, TaskState::InProgress { lease }),
        detail: TaskDetail::default(),
        workflow: Workflow {
            id: WorkflowId::FIRST,
            name: "w".to_owned(),
            status: engine::workflow::WorkflowStatus::InProgress,
            parallel_max: None,
            lease_ms: engine::limits::LEASE_MS_DEFAULT,
            lock: None,
            draft: None,
            standing: false,
            archived: false,
            branch: None,
            tasks: 1,
            open: 1,
            sequence: 1,
            created: Timestamp(0),
            updated: Timestamp(0),
        },
        workflow_detail: WorkflowDetail::default(),
        turns: (1..).zip(turns.split_whitespace()).map(|(number, word)| turn(number, word)).collect(),
        verifications: Vec::new(),
        approvals: Vec::new(),
        questions: Vec::new(),
        checkpoints: Vec::new(),
        review: None,
        spent: Spent::default(),
        spent_workflow: Spent::default(),
    };
    let given = StepInput {
        agent: AgentId::FIRST,
        attempt: 1,
        runner: "here",
        repairs_max: 2,
        bounds: Bounds::default(),
        bounds_workflow: Bounds::default(),
        can_resume: true,
        has_reviewer: false,
        now: Timestamp(100),
    };
    match step(&facts, &given) {
        AttemptStep::Turn(purpose, _) => format!("{purpose} turn"),
        AttemptStep::Block(kind, _) => format!("block {kind}"),
        AttemptStep::Finish(_) => "finish".to_owned(),
        AttemptStep::Settle(_) => "settle".to_owned(),
        other @ (AttemptStep::Leave
        | AttemptStep::Wait
        | AttemptStep::Recover(_)
        | AttemptStep::Review(_)
        | AttemptStep::AskReview(_)
        | AttemptStep::Merge(_)
        | AttemptStep::Crash(_)
        | AttemptStep::Return(_)) => format!("{other:?}"),
    }
}

#[test]
fn the_stored_turns_decide_the_next_step() {
    let cases = [
        ("done", "finish"),
        ("goes_on", "next turn"),
        // With one of these outputs, the runner asks a person, requests an approval or blocks the task in the
        // transaction that ends the turn. The step `settle` does the same later, for a turn that a runner of version
        // 0.1 ended before it was stopped.
        ("asks", "settle"),
        ("wants_approval", "settle"),
        ("blocked", "settle"),
        // Two repairs of an invalid output are allowed. A third repair is not allowed.
        ("bad", "repair turn"),
        ("bad repair:bad", "repair turn"),
        ("bad repair:bad repair:bad", "block verification_fail"),
        ("bad repair:bad repair:done", "finish"),
        // A valid output between two invalid outputs resets the count of repairs.
        ("bad repair:goes_on next:bad repair:bad", "repair turn"),
        // A turn whose program did not answer does not count as a repair.
        ("bad repair:silent repair:bad", "repair turn"),
        ("goes_on next:goes_on", "next turn"),
        ("goes_on next:goes_on next:goes_on", "block ambiguity"),
        // A question and its answer between two progress reports do not count as reports and do not reset the count.
        ("goes_on next:asks answer:goes_on next:goes_on", "block ambiguity"),
        ("goes_on next:goes_on next:done", "finish"),
        ("goes_on evaluation:goes_on next:goes_on", "next turn"),
        ("silent", "recovery turn"),
    ];
    for (turns, expected) in cases {
        assert_eq!(then(turns), expected, "{turns}");
    }
}
