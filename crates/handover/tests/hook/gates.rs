//! Tests of gate rules in hooks: a tool call that the rules alone allow or deny needs no store, and a call that a
//! person approved passes once.

use engine::approval::{ApprovalDecision, ApprovalStatus, Source};
use engine::command::StartTurn;
use engine::turn::Purpose;
use engine::{Caller, Command, Reply, Rights};
use serde_json::json;

use crate::postgres::schema_of;
use crate::scene::{GATED, Scene, call, project};

#[test]
fn the_configuration_alone_decides_without_a_store() {
    let folder = project(GATED);
    let bash = |command: &str| {
        let payload = json!({
            "session_id": "s1", "hook_event_name": "PreToolUse", "cwd": folder.path(), "tool_name": "Bash",
            "tool_input": {"command": command}, "tool_use_id": "t1",
        });
        call(folder.path(), &["hook", "PreToolUse"], payload.to_string().as_bytes(), &[])
    };
    bash("ls").is_nothing();
    let said = bash("rm -rf x");
    assert_eq!((said.code, said.text("/hookSpecificOutput/permissionDecision")), (Some(0), "deny"), "{said:?}");
    assert!(said.denied().contains("rm"), "{said:?}");
    assert!(!folder.path().join(".handover/state").exists(), "no store was made");
}

/// The gate rules come from the project folder that the client names in `CLAUDE_PROJECT_DIR`, even when the session has
/// changed into another folder.
#[test]
fn leaving_the_folder_leaves_no_gate_behind() {
    let (folder, elsewhere) = (project(GATED), tempfile::tempdir().expect("a folder"));
    let payload = json!({
        "session_id": "s1", "hook_event_name": "PreToolUse", "cwd": elsewhere.path(), "tool_name": "Bash",
        "tool_input": {"command": "rm x"}, "tool_use_id": "t1",
    });
    let here = folder.path().display().to_string();
    let environment = [("CLAUDE_PROJECT_DIR", here.as_str())];
    let said = call(elsewhere.path(), &["hook", "PreToolUse"], payload.to_string().as_bytes(), &environment);
    assert_eq!(said.text("/hookSpecificOutput/permissionDecision"), "deny", "{said:?}");
}

#[test]
fn what_is_asked_is_sealed_approved_and_goes_through_once() {
    let scene = Scene::new(GATED);
    let agent = scene.agent("quinn", None);
    let said = scene.bash("git push origin main");
    let [asked] = &scene.approvals()[..] else { panic!("{:?}", scene.approvals()) };
    assert_eq!((asked.source, asked.agent(), asked.waiting), (Source::Gate, Some(agent), None));
    assert_eq!(asked.request.operation, "Bash");
    assert_eq!(asked.request.content, r#"{"command":"git push origin main"}"#);
    assert_eq!(asked.request.directory, scene.at().display().to_string());
    assert!(asked.request.scope.contains(crate::scene::SESSION));
    assert!(said.denied().contains(&asked.id.to_string()), "{said:?}");
    assert!(said.denied().contains("handover approval approve"), "{said:?}");
    // When the agent makes the same call again, the refusal names the same approval request.
    assert!(scene.bash("git push origin main").denied().contains(&asked.id.to_string()));
    scene.decide(asked.id, ApprovalDecision::Approve);
    // The approval covers only this exact command. A command that differs in any byte needs another approval.
    for other in ["git push origin  main", "git push origin main ", "git push origin main2"] {
        assert!(!scene.bash(other).denied().is_empty(), "{other}");
    }
    scene.bash("git push origin main").is_nothing();
    let again = scene.bash("git push origin main");
    assert!(!again.denied().is_empty() && !again.denied().contains(&asked.id.to_string()), "once: {again:?}");
    let used = scene.approvals().into_iter().filter(|row| row.state.status() == ApprovalStatus::Consumed).count();
    assert_eq!(used, 1);
}

/// A model writes a different caption (the field `description`) each time when it tries the same command. So an
/// approval covers the command with any caption.
#[test]
fn another_caption_or_time_limit_uses_the_same_approval() {
    let scene = Scene::new(GATED);
    let call = |input: serde_json::Value| {
        scene.hook("PreToolUse", json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": "t1"}))
    };
    let first = call(json!({"command": "git push", "description": "Push the work", "timeout": 1000}));
    let [asked] = &scene.approvals()[..] else { panic!("{:?}", scene.approvals()) };
    assert!(first.denied().contains(&asked.id.to_string()), "{first:?}");
    assert_eq!(asked.request.content, r#"{"command":"git push"}"#);
    // The same command with another caption (the field `description`) belongs to the same approval request.
    assert!(call(json!({"command": "git push", "description": "Send it"})).denied().contains(&asked.id.to_string()));
    scene.decide(asked.id, ApprovalDecision::Approve);
    // If a field of the tool's input changes how the command runs, the call needs another approval.
    let other = call(json!({"command": "git push", "description": "Send it", "run_in_background": true}));
    assert!(!other.denied().is_empty() && !other.denied().contains(&asked.id.to_string()), "{other:?}");
    call(json!({"timeout": 9000, "command": "git push", "description": "Push once more"})).is_nothing();
    assert!(!call(json!({"command": "git push"})).denied().is_empty(), "once");
}

/// An approval covers a call only in the session, sub-agent and folder from which it was requested. The same call from
/// another session, sub-agent or folder needs another approval.
#[test]
fn an_approval_is_for_one_session_part_and_folder() {
    let scene = Scene::new(GATED);
    scene.bash("git push");
    let asked = scene.approvals()[0].id;
    scene.decide(asked, ApprovalDecision::Approve);
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "git push"}, "tool_use_id": "t2"});
    let with = |name: &str, value: serde_json::Value| {
        let mut call = call.clone();
        call[name] = value;
        scene.hook("PreToolUse", call)
    };
    for (name, value) in [
        ("session_id", json!("another")),
        ("agent_id", json!("sub1")),
        ("cwd", json!(scene.at().join(".git"))),
        ("tool_name", json!("bash")),
    ] {
        let said = with(name, value);
        assert!(said.code == Some(2) || !said.denied().is_empty(), "{name}: {said:?}");
    }
    scene.hook("PreToolUse", call).is_nothing();
}

#[test]
fn a_session_nobody_registered_in_asks_too_as_one_agent() {
    let scene = Scene::new(GATED);
    scene.bash("git push one");
    scene.bash("git push two");
    let rows = scene.approvals();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].agent(), rows[1].agent());
}

/// A program that the runner started for a turn (one run of an agent's program) requests an approval as the agent of
/// that turn, even if the program registered another agent in its session.
#[test]
fn below_a_turn_the_turns_agent_asks() {
    let scene = Scene::new(GATED);
    let (_other, holder) = (scene.agent("other", None), scene.agent("quinn", Some("elsewhere")));
    let task = scene.held(holder, engine::plan::PlanTask::named("one"));
    let start = StartTurn {
        task,
        attempt: 1,
        agent: None,
        purpose: Purpose::First,
        adapter: "claude".to_owned(),
        runner: "here".to_owned(),
    };
    let caller = Caller { agent: Some(holder), ..Caller::with_rights(Rights::Runner) };
    let Reply::TurnStarted { turn, .. } = scene.run(caller, Command::StartTurn(start)) else { panic!("no turn") };
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "git push"}, "tool_use_id": "t1"});
    let folder = runner::turn_proof::turn_folder(&scene.at().join(".handover/state"), turn);
    std::fs::create_dir_all(&folder).expect("a folder");
    let proof = runner::turn_proof::make(&folder).expect("a proof");
    let turn = turn.to_string();
    let environment = [("HANDOVER_TURN", turn.as_str()), ("HANDOVER_TURN_PROOF", proof.as_str())];
    assert!(!scene.hook_in("PreToolUse", call.clone(), &environment).denied().is_empty());
    let [asked] = &scene.approvals()[..] else { panic!("{:?}", scene.approvals()) };
    assert_eq!(asked.agent(), Some(holder));
    scene.decide(asked.id, ApprovalDecision::Approve);
    scene.hook_in("PreToolUse", call, &environment).is_nothing();
}

/// The id of a turn (one run of an agent's program) is not secret. The hook in this test knows the id, but it does not
/// run below the turn's host process and does not have the turn's secret proof. So it requests approvals only for its
/// own session, and cannot use an approval of the turn.
#[test]
fn a_turn_that_was_named_by_hand_is_not_the_asker() {
    let scene = Scene::new(GATED);
    let (own, holder) = (scene.agent("other", None), scene.agent("quinn", Some("elsewhere")));
    let task = scene.held(holder, engine::plan::PlanTask::named("one"));
    let start = StartTurn {
        task,
        attempt: 1,
        agent: None,
        purpose: Purpose::First,
        adapter: "claude".to_owned(),
        runner: "here".to_owned(),
    };
    let caller = Caller { agent: Some(holder), ..Caller::with_rights(Rights::Runner) };
    let Reply::TurnStarted { turn, .. } = scene.run(caller, Command::StartTurn(start)) else { panic!("no turn") };
    let folder = runner::turn_proof::turn_folder(&scene.at().join(".handover/state"), turn);
    std::fs::create_dir_all(&folder).expect("a folder");
    runner::turn_proof::make(&folder).expect("a proof");
    let turn = turn.to_string();
    for proof in ["", "guessed"] {
        let environment = [("HANDOVER_TURN", turn.as_str()), ("HANDOVER_TURN_PROOF", proof)];
        let call = json!({"tool_name": "Bash", "tool_input": {"command": "git push"}, "tool_use_id": "t1"});
        assert!(!scene.hook_in("PreToolUse", call, &environment).denied().is_empty());
    }
    let [asked] = &scene.approvals()[..] else { panic!("{:?}", scene.approvals()) };
    assert_eq!(asked.agent(), Some(own));
    // This command has the id of the turn (one run of an agent's program), but not the turn's secret proof. So it
    // cannot act as the turn's agent.
    let task = task.to_string();
    let checkpoint = ["task", "checkpoint", &task, "progress", "mine", "--json"];
    let said = call(scene.at(), &checkpoint, b"", &[("HANDOVER_TURN", turn.as_str())]);
    let refused: serde_json::Value = serde_json::from_str(&said.error).expect("a JSON object on standard error");
    let refused = |pointer: &str| refused.pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or_default();
    assert_eq!((said.code, refused("/error/code")), (Some(1), "AGENT_REQUIRED"), "{said:?}");
    assert!(
        refused("/error/message").contains(
            "HANDOVER_TURN is set, which marks commands of agents, but this process belongs to no turn of the runner"
        ),
        "{said:?}"
    );
    let proof = std::fs::read_to_string(folder.join("proof")).expect("a proof");
    let proven = [("HANDOVER_TURN", turn.as_str()), ("HANDOVER_TURN_PROOF", proof.as_str())];
    let said = call(scene.at(), &checkpoint, b"", &proven);
    assert_eq!((said.code, said.text("/code")), (Some(0), ""), "{said:?}");
}

#[test]
fn a_no_is_told_with_its_reason_and_asked_no_more() {
    let scene = Scene::new(GATED);
    scene.bash("git push");
    let asked = scene.approvals()[0].id;
    scene.decide(asked, ApprovalDecision::Reject { reason: "not on a Friday".to_owned() });
    let said = scene.bash("git push");
    assert!(said.denied().contains("not on a Friday"), "{said:?}");
    assert_eq!(scene.approvals().len(), 1, "nobody is asked again");
}

#[test]
fn of_two_hooks_with_one_approval_one_goes_through() {
    race(&|_| Scene::new(GATED));
}

#[test]
fn of_two_hooks_with_one_approval_over_postgres_one_goes_through() {
    race(&|round| Scene::over(GATED, schema_of(&format!("hook_race_{round}"))));
}

fn race(scene: &dyn Fn(u32) -> Scene) {
    for round in 0..5 {
        let scene = scene(round);
        scene.bash("git push");
        scene.decide(scene.approvals()[0].id, ApprovalDecision::Approve);
        let through = std::thread::scope(|scope| {
            let hooks: Vec<_> = (0..4).map(|_| scope.spawn(|| scene.bash("git push"))).collect();
            let said = hooks.into_iter().map(|hook| hook.join().expect("it answers"));
            said.filter(|said| said.code == Some(0) && said.reply == json!({})).count()
        });
        assert_eq!(through, 1);
        let used = scene.approvals().into_iter().filter(|row| row.state.status() == ApprovalStatus::Consumed).count();
        assert_eq!(used, 1);
    }
}

/// A new approval request costs one commit of the database, using an approval costs one commit, and a call that the
/// gate rules allow or deny costs no commit.
#[test]
fn a_call_costs_at_most_one_commit() {
    let scene = Scene::new(GATED);
    let count = |command: &str| {
        let before = scene.commits();
        scene.bash(command);
        scene.commits() - before
    };
    assert_eq!(count("ls"), 0);
    assert_eq!(count("rm x"), 0);
    assert_eq!(count("git push"), 1, "the agent of the session and its question");
    assert_eq!(count("git push"), 0, "the question is known");
    scene.decide(scene.approvals()[0].id, ApprovalDecision::Approve);
    assert_eq!(count("git push"), 1);
}
