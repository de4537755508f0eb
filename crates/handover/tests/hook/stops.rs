//! Tests of stop hooks: which agents must write a handoff document (a report of their work) when they stop, how often
//! the hook blocks a stop without this document, and the effect of a valid document.

use engine::approval::{ApprovalDecision, ApprovalStatus, Source};
use engine::command::{EndRound, OpenReview, RoundAnswer, RoundEnd, StartRound};
use engine::plan::PlanTask;
use engine::review::ReviewedVersion;
use engine::task::{BlockKind, Status, TaskState};
use engine::turn::{Spent, StoredObject};
use engine::{Caller, Command, Reply, Rights, Timestamp};
use serde_json::{Value, json};

use crate::scene::{HANDS_OVER, Said, Scene, handoff};

fn reason(said: &Said) -> &str {
    assert_eq!((said.code, said.text("/decision")), (Some(0), "block"), "{said:?}");
    said.text("/reason")
}

#[test]
fn nobody_owes_a_handoff_without_a_claim_or_when_another_output_is_asked_for() {
    let scene = Scene::new(HANDS_OVER);
    scene.stop("p1", "done").is_nothing();
    let quinn = scene.agent("quinn", None);
    scene.stop("p1", "done").is_nothing();
    // An agent that the settings do not list needs no handoff document (a report of its work) when it stops.
    let other = scene.agent("somebody", None);
    scene.held(other, PlanTask::named("one"));
    scene.stop("p1", "done").is_nothing();
    scene.held(quinn, PlanTask::named("two"));
    assert!(!reason(&scene.stop("p1", "done")).is_empty());
    let envelope = HANDS_OVER.to_owned() + "output = \"envelope\"\n";
    let scene = Scene::new(&envelope);
    let quinn = scene.agent("quinn", None);
    scene.held(quinn, PlanTask::named("one"));
    scene.stop("p1", "done").is_nothing();
}

#[test]
fn what_is_wrong_is_sent_back_twice_and_then_blocks_the_task() {
    let scene = Scene::new(HANDS_OVER);
    let quinn = scene.agent("quinn", None);
    let task = scene.held(quinn, PlanTask::named("one"));
    let first = scene.stop("p1", "I am done.");
    assert!(reason(&first).contains("NO_BLOCK") && reason(&first).contains("agent_contract_handoff"), "{first:?}");
    let half = handoff(quinn, "COMPLETE", json!({"evidence_report": null}));
    let second = scene.hook(
        "Stop",
        // With `stop_hook_active` the client says whether a hook has already blocked this stop. Handover does not trust
        // the flag and counts by itself, so a wrong `false` changes nothing.
        json!({"prompt_id": "p1", "stop_hook_active": false, "last_assistant_message": half}),
    );
    assert!(reason(&second).contains("EVIDENCE_REPORT"), "{second:?}");
    let third = scene.stop("p1", "no");
    assert_eq!((third.code, third.text("/decision")), (Some(0), ""), "{third:?}");
    assert!(third.text("/systemMessage").contains("verification_fail"), "{third:?}");
    let TaskState::Blocked(block) = scene.task(task).state else { panic!("it is blocked") };
    assert_eq!(block.kind, BlockKind::VerificationFail);
    assert!(block.reason.contains("NO_BLOCK") && block.reason.contains("The agent's last text"), "{}", block.reason);
    scene.stop("p1", "no").is_nothing();
}

#[test]
fn another_prompt_another_part_and_another_session_have_counts_of_their_own() {
    let scene = Scene::new(HANDS_OVER);
    let (main, part) = (scene.agent("quinn", None), scene.agent("Quinn", Some("sub1")));
    let (one, two) = (scene.held(main, PlanTask::named("one")), scene.held(part, PlanTask::named("two")));
    let sub = |prompt: &str| {
        let more =
            json!({"prompt_id": prompt, "agent_id": "sub1", "last_assistant_message": "x", "stop_hook_active": true});
        scene.hook("SubagentStop", more)
    };
    for _ in 0..2 {
        reason(&scene.stop("p1", "x"));
        reason(&sub("p1"));
    }
    reason(&scene.stop("p2", "x"));
    assert_eq!(scene.task(one).status(), Status::Pending);
    assert_eq!(sub("p1").text("/decision"), "");
    assert_eq!((scene.task(two).status(), scene.task(one).status()), (Status::Blocked, Status::Pending));
    // A `SubagentStop` event without the sub-agent's id does not count as a stop of the session.
    scene.hook("SubagentStop", json!({"last_assistant_message": "x"})).is_nothing();
}

#[test]
fn a_valid_handoff_has_its_effect() {
    let scene = Scene::new(HANDS_OVER);
    let quinn = scene.agent("quinn", None);
    let task = scene.held(quinn, PlanTask::named("one"));
    scene.stop("p1", &handoff(quinn, "COMPLETE", json!({"user_facing_summary": "It builds."}))).is_nothing();
    let TaskState::Completed { outcome, .. } = scene.task(task).state else { panic!("{:?}", scene.task(task)) };
    assert_eq!(outcome, "It builds.");

    let task = scene.held(quinn, PlanTask::named("two"));
    let said = scene.stop("p2", &handoff(quinn, "BLOCKED", json!({})));
    assert!(said.text("/systemMessage").contains("blocked"), "{said:?}");
    assert_eq!(scene.task(task).status(), Status::Blocked);

    let task = scene.held(quinn, PlanTask::named("three"));
    let said = scene.stop("p3", &handoff(quinn, "NEEDS_INPUT", json!({})));
    assert!(said.text("/systemMessage").contains("waits for an answer"), "{said:?}");
    assert_eq!(scene.task(task).status(), Status::Paused);
    // While the task waits for a person, its agent may stop without a handoff document (a report of its work).
    scene.stop("p4", "still waiting").is_nothing();
}

#[test]
fn complete_is_refused_for_work_that_is_not_what_was_reviewed() {
    let scene = Scene::new(HANDS_OVER);
    let quinn = scene.agent("quinn", None);
    let task = scene.held(quinn, PlanTask { review: true, ..PlanTask::named("one") });
    let complete = handoff(quinn, "COMPLETE", json!({"user_facing_summary": "It builds."}));
    let said = scene.stop("p1", &complete);
    assert!(reason(&said).contains("REVIEW_REQUIRED") && reason(&said).contains("review_request with `task_id`"));
    let open = OpenReview { provider: "critic".to_owned(), gate: Some((task, 1)), rounds_max: None };
    let opened = scene.run(Caller::agent(quinn), Command::OpenReview(open));
    let Reply::ReviewOpened { review } = opened else { panic!("{opened:?}") };
    // The test project is no git repository, so the version of its work is `given: no repository`. In the second review
    // round the reviewer got this version, and in the first round another version.
    for (number, shown) in [(1, "tree:0123"), (2, "given: no repository")] {
        let artifact = ReviewedVersion {
            media_type: "text/plain".to_owned(),
            reference: Some(shown.to_owned()),
            request: StoredObject { hash: "00".to_owned(), bytes: 2 },
        };
        let start = StartRound {
            review,
            number,
            turn: None,
            artifact,
            decisions: Vec::new(),
            host: "here".to_owned(),
            until: Timestamp(i64::MAX),
        };
        scene.run(Caller::agent(quinn), Command::StartRound(Box::new(start)));
        let answer = RoundAnswer {
            confidence: "high".to_owned(),
            summary: "fine".to_owned(),
            found: Vec::new(),
            conversation: None,
            response: None,
            spent: Spent::default(),
        };
        let end = EndRound { review, number, tries: 1, end: RoundEnd::Answered(answer) };
        scene.run(Caller::with_rights(Rights::Runner), Command::EndRound(Box::new(end)));
        let said = scene.stop(&format!("p{}", number + 1), &complete);
        if number == 1 {
            assert!(reason(&said).contains("was changed after"), "{said:?}");
            assert_eq!(scene.task(task).holder(), Some(quinn));
        } else {
            said.is_nothing();
        }
    }
    assert_eq!(scene.task(task).status(), Status::Completed);
}

#[test]
fn progress_may_be_reported_twice_in_a_row() {
    let scene = Scene::new(HANDS_OVER);
    let quinn = scene.agent("quinn", None);
    let task = scene.held(quinn, PlanTask::named("one"));
    for prompt in ["p1", "p2"] {
        scene.stop(prompt, &handoff(quinn, "IN_PROGRESS", json!({}))).is_nothing();
        assert_eq!(scene.task(task).holder(), Some(quinn));
    }
    assert_eq!(scene.task(task).checkpoints, 2);
    let said = scene.stop("p3", &handoff(quinn, "IN_PROGRESS", json!({})));
    assert!(said.text("/systemMessage").contains("IN_PROGRESS_LIMIT"), "{said:?}");
    let TaskState::Blocked(block) = scene.task(task).state else { panic!("it is blocked") };
    assert_eq!(block.kind, BlockKind::Ambiguity);
}

#[test]
fn an_approval_is_sealed_and_the_task_waits() {
    let scene = Scene::new(HANDS_OVER);
    let quinn = scene.agent("quinn", None);
    let task = scene.held(quinn, PlanTask::named("one"));
    let request = json!({"approval_request": {
        "operation": "push", "exact_content": "git push", "scope": "origin", "risk_level": "HIGH", "rollback": "revert",
        "verification": "look",
    }});
    let said = scene.stop("p1", &handoff(quinn, "APPROVAL_REQUEST", request));
    let [asked] = &scene.approvals()[..] else { panic!("{said:?}") };
    assert_eq!((asked.source, asked.waiting.map(|waiting| waiting.task)), (Source::Handoff, Some(task)));
    assert!(said.text("/systemMessage").contains(&asked.id.to_string()), "{said:?}");
    assert_eq!(scene.task(task).status(), Status::Paused);
    // The agent learns of the approval by a message. Its next action uses the approval up.
    scene.decide(asked.id, ApprovalDecision::Approve);
    assert_eq!(scene.task(task).status(), Status::InProgress);
    let start = scene.hook("SessionStart", json!({"source": "resume"}));
    assert!(start.text("/hookSpecificOutput/additionalContext").contains(&asked.id.to_string()), "{start:?}");
    let status = || scene.approvals()[0].state.status();
    assert_eq!(status(), ApprovalStatus::Approved);
    scene.hook("PostToolUse", json!({"tool_name": "Bash"})).is_nothing();
    assert_eq!(status(), ApprovalStatus::Consumed);
}

/// A stop of an agent costs at most one commit of the database for any kind of handoff document (a report of its work),
/// and no commit when the agent needs no such document.
#[test]
fn a_stop_costs_at_most_one_commit() {
    let approval = json!({"approval_request": {
        "operation": "push", "exact_content": "git push", "scope": "origin", "risk_level": "HIGH", "rollback": "revert",
        "verification": "look",
    }});
    let taught = json!({"evidence_report": {
        "patterns_checked": [], "files_checked": [], "commands_run": [], "key_outputs": ["it builds"],
        "verbatim_outputs": [], "cross_layer_impacts": ["the API", "the docs"], "open_gaps": [],
        "verification": {"result": "pass"},
    }, "memory_suggestions": ["the tests are slow"]});
    let cases = [
        ("COMPLETE", json!({}), Status::Completed, 0),
        ("COMPLETE", taught.clone(), Status::Completed, 2),
        ("IN_PROGRESS", taught, Status::Pending, 3),
        ("NEEDS_INPUT", json!({}), Status::Paused, 0),
        ("APPROVAL_REQUEST", approval, Status::Paused, 0),
        ("BLOCKED", json!({}), Status::Blocked, 0),
    ];
    for (status, more, becomes, checkpoints) in cases {
        let scene = Scene::new(HANDS_OVER);
        let quinn = scene.agent("quinn", None);
        scene.stop("p0", "nothing is held").is_nothing();
        let task = scene.held(quinn, PlanTask::named("one"));
        let before = scene.commits();
        let said = scene.stop("p1", &handoff(quinn, status, more));
        let found = scene.task(task);
        assert_eq!((found.status(), found.checkpoints), (becomes, checkpoints), "{status}: {said:?}");
        assert_eq!(scene.commits() - before, 1, "{status}");
    }
    let scene = Scene::new(HANDS_OVER);
    let quinn = scene.agent("quinn", None);
    scene.held(quinn, PlanTask::named("one"));
    let before = scene.commits();
    scene.stop("p1", "no handoff");
    assert_eq!(scene.commits() - before, 1, "it is sent back");
    let before = scene.commits();
    scene.hook("SessionStart", json!({"source": "startup"}));
    scene.hook("PostToolUse", json!({"tool_name": "Bash"}));
    assert_eq!(scene.commits() - before, 0, "reading is enough");
    scene.hook("SessionEnd", json!({"reason": "other"}));
    assert_eq!(scene.commits() - before, 1, "what it held is free");
}

/// A handoff document (a report of an agent's work) in the name of another agent is invalid. A text that only describes
/// such a document is invalid, too.
#[test]
fn a_forged_handoff_is_sent_back() {
    let scene = Scene::new(HANDS_OVER);
    let (quinn, other) = (scene.agent("quinn", None), scene.agent("other", None));
    let task = scene.held(quinn, PlanTask::named("one"));
    let said = scene.stop("p1", &handoff(other, "COMPLETE", json!({})));
    assert!(reason(&said).contains("AGENT_ID"), "{said:?}");
    assert_eq!(scene.task(task).status(), Status::Pending);
}

/// Tests a client that lost the hook's answer and calls the hook again with the same text. The second call has no
/// effect.
#[test]
fn the_same_words_at_the_same_prompt_act_once() {
    let scene = Scene::new(HANDS_OVER);
    let quinn = scene.agent("quinn", None);
    let task = scene.held(quinn, PlanTask::named("one"));
    let said = handoff(quinn, "IN_PROGRESS", json!({}));
    scene.stop("p1", &said).is_nothing();
    scene.stop("p1", &said).is_nothing();
    assert_eq!(scene.task(task).checkpoints, 1);
}

/// A handoff document (a report of an agent's work) with the status `COMPLETE` is checked against the requirements for
/// the task's output. As long as no person accepted the project's settings, nothing is checked or completed, and the
/// person gets a message.
#[test]
fn done_is_verified_where_the_brief_demands_it() {
    let brief = json!({
        "goal": "A page.", "acceptance_criteria": ["There is a page."],
        "output_contract": {"type": "file", "output_ref_required": true},
    });
    let planned = |name: &str| {
        let mut task = PlanTask::named(name);
        task.brief = Some(engine::Json::from_stored(brief.to_string()));
        task.verify = true;
        task
    };
    let scene = Scene::new(HANDS_OVER);
    let quinn = scene.agent("quinn", None);
    let task = scene.held(quinn, planned("one"));
    let outputs = |path: &str| -> Value {
        json!({"evidence_report": {
            "patterns_checked": [], "files_checked": [], "commands_run": [], "verbatim_outputs": [],
            "key_outputs": [format!("output_ref: {path}")], "cross_layer_impacts": [], "open_gaps": [],
            "verification": {"result": "pass"},
        }})
    };
    let said = scene.stop("p1", &handoff(quinn, "COMPLETE", outputs("page.html")));
    assert!(said.text("/systemMessage").contains("NOT_TRUSTED"), "{said:?}");
    assert_ne!(scene.task(task).status(), Status::Completed);
    let looked = crate::scene::call(scene.at(), &["trust", "--json"], b"", &[]);
    let hash = looked.text("/sha256").to_owned();
    let trusted = crate::scene::call(scene.at(), &["trust", "--sha256", &hash], b"", &[]);
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    let said = scene.stop("p2", &handoff(quinn, "COMPLETE", outputs("page.html")));
    assert!(reason(&said).contains("OUTPUT_MISSING"), "{said:?}");
    std::fs::write(scene.at().join("page.html"), "<p>Here.").expect("a page");
    scene.stop("p3", &handoff(quinn, "COMPLETE", outputs("page.html"))).is_nothing();
    assert_eq!(scene.task(task).status(), Status::Completed);
}
