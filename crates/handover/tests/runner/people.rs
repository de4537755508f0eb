//! Tests the parts of a run in which a person or another agent decides: questions, approvals, and the evaluation of an
//! output.

use std::sync::Arc;

use base::ground::clock::SystemClock;
use base::people::answers;
use base::people::approvals;
use base::service::Service;
use engine::Rights;
use engine::approval::{ApprovalDecision, ApprovalStatus};
use engine::id::ApprovalId;

use crate::scene::{Ran, Scene};

/// Opens the store of a test project and runs an action on it. The tests use it to decide and answer as a person.
pub(crate) fn service<T>(scene: &Scene, act: impl AsyncFnOnce(&Service) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let file = scene.project().join(".handover/state/handover.db");
    runtime.block_on(async {
        let store = store::open(file.to_str().unwrap(), 1).await.unwrap();
        act(&Service::new(store, Arc::new(SystemClock))).await
    })
}

fn team(more: &str) -> Scene {
    let mut scene = Scene::new();
    scene.settings.push_str(more);
    scene.agent("worker", "max_parallel = 4");
    scene.agent("speaker", "roles = [\"speaker\"]\noutput = \"handoff\"\nwritable_sections = [\"stack\"]");
    scene.agent("judge", "roles = [\"judge\"]");
    scene.settle();
    scene
}

pub(crate) fn workflow(ran: &Ran, scene: &Scene) -> String {
    let listed = scene.json(&["workflow", "list"]);
    assert!(!ran.events.is_empty());
    listed["workflows"][0]["id"].as_str().unwrap().to_owned()
}

fn told(scene: &Scene, ran: &Ran, task: &str, turn: u32) -> String {
    let id = ran.events.iter().find(|event| event["task"] == task).unwrap()["task_id"].as_str().unwrap().to_owned();
    std::fs::read_to_string(scene.sim().join(format!("{id}.{turn}.envelope"))).unwrap()
}

#[test]
fn an_answer_lets_the_task_go_on() {
    let scene = team("");
    let ran = scene.run_plan("name: q\ntasks:\n  - {name: port, description: asks finished, role: worker}\n");
    assert_eq!((ran.code, ran.story("port").as_str()), (1, "first asks asks"), "{}", ran.stderr);
    assert!(ran.events.last().unwrap()["reason"].as_str().unwrap().contains("port is paused"));
    let question = scene.json(&["inbox", "read"])["messages"][0]["id"].as_str().unwrap().to_owned();
    let id = question.parse().unwrap();
    service(&scene, async |service| answers::answer(service, Rights::Person, id, "8080".to_owned()).await.unwrap());
    let again = scene.run(&[&workflow(&ran, &scene)]);
    assert_eq!((again.code, again.story("port").as_str()), (0, "answer done verified merged completed"));
    let told = told(&scene, &ran, "port", 2);
    assert!(told.contains(r#""answer":"8080""#), "{told}");
    assert_eq!(scene.leftovers(), [""; 0]);
}

/// Approves the approval request of the task `yes` and rejects the request of the task `no`. Returns the approval of
/// `yes`.
fn yes_and_no(scene: &Scene, ran: &Ran, reason: &str) -> ApprovalId {
    let of = |task: &str| {
        let event = |event: &&serde_json::Value| event["event"] == "wants_approval" && event["task"] == task;
        ran.events.iter().find(event).unwrap()["approval_id"].as_str().unwrap().parse().unwrap()
    };
    let (yes, no) = (of("yes"), of("no"));
    service(scene, async |service| {
        approvals::decide(service, Rights::Person, yes, ApprovalDecision::Approve).await.unwrap();
        let reject = ApprovalDecision::Reject { reason: reason.to_owned() };
        approvals::decide(service, Rights::Person, no, reject).await.unwrap();
    });
    yes
}

#[test]
fn an_approval_is_used_once_and_a_refusal_is_told() {
    let scene = team("");
    let plan = "name: a\ntasks:\n  - {name: yes, description: h-approval h-done, role: speaker}\n  \
                - {name: no, description: h-approval h-done, role: speaker}\n";
    let ran = scene.run_plan(plan);
    assert_eq!((ran.code, ran.story("yes").as_str()), (1, "first wants_approval wants_approval"), "{}", ran.stderr);
    let yes = yes_and_no(&scene, &ran, "not on a Friday");
    let again = scene.run(&[&workflow(&ran, &scene)]);
    assert_eq!((again.code, again.story("yes").as_str()), (0, "answer done verified merged completed"));
    assert_eq!(again.story("no"), "answer done verified merged completed");
    assert!(told(&scene, &ran, "yes", 2).contains(r#""answer":"approved""#));
    assert!(told(&scene, &ran, "no", 2).contains("rejected: not on a Friday"));
    let used = service(&scene, async |service| approvals::show(service, yes).await.unwrap().state.status());
    assert_eq!(used, ApprovalStatus::Consumed);
    assert_eq!(scene.leftovers(), [""; 0]);
}

const BRIEF: &str = "brief: {goal: \"WORDS\", acceptance_criteria: [\"It is.\"], output_contract: CONTRACT}";

pub(crate) fn task(name: &str, words: &str, contract: &str) -> String {
    let brief = BRIEF.replace("WORDS", words).replace("CONTRACT", contract);
    format!("  - {{name: {name}, role: worker, {brief}}}\n")
}

#[test]
fn outputs_are_held_to_their_contracts() {
    let scene = team(
        "[evaluator]\nagent = \"judge\"\n[contract.right]\n\
         checks = [{ command = [\"sh\", \"-c\", \"grep -q right out/*.txt\"], seconds = 20 }]\n\
         [contract.busy]\nchecks = [{ command = [\"sh\", \"-c\", \"setsid sleep 1000 & exit 0\"], seconds = 20 }]\n",
    );
    // The words of `evaluate` tell the script of the evaluating agent which answer to give at each of its starts.
    let checked = "{type: file, schema_ref: right, output_ref_required: true}";
    let judged = |words: &str| format!("{{type: file, output_ref_required: true, evaluate: {words}}}");
    let plan = [
        "name: c\ntasks:\n".to_owned(),
        task("mended", "wrong mends", checked),
        task("stays-wrong", "wrong updates-wrong", checked),
        task("leaks", "finished", "{type: file, schema_ref: busy, output_ref_required: true}"),
        task("long", "finished", "{type: file, output_ref_required: true, min_length: 100000}"),
        task("good", "finished", &judged("judge-pass")),
        task("not-good", "wrong mends", &judged("judge-fail judge-pass")),
        task("odd", "finished", &judged("judge-odd")),
    ];
    let ran = scene.run_plan(&plan.concat());
    let stories = [
        ("mended", "first done unverified verification done verified merged completed"),
        ("stays-wrong", "first done unverified verification done unverified blocked(verification_fail)"),
        ("leaks", "first done verified merged completed"),
        ("long", "first done unverified verification done unverified blocked(verification_fail)"),
        ("good", "first done evaluation heard verified merged completed"),
        (
            "not-good",
            "first done evaluation heard unverified verification done evaluation heard verified merged completed",
        ),
        ("odd", "first done evaluation heard evaluation heard evaluation heard blocked(tool_failure)"),
    ];
    for (name, story) in stories {
        assert_eq!(ran.story(name), story, "{name}\n{}", ran.stderr);
    }
    assert_eq!(scene.leftovers(), [""; 0]);
}

#[test]
fn what_is_missing_is_told_before_anything_is_claimed() {
    let scene = team("");
    let judged = task("x", "finished", "{type: file, output_ref_required: true, evaluate: Is it good?}");
    let named = task("y", "finished", "{type: file, schema_ref: nowhere, output_ref_required: true}");
    let ran = scene.run_plan(&format!("name: c\ntasks:\n{judged}{named}"));
    let reason = ran.events.last().unwrap()["reason"].as_str().unwrap().to_owned();
    assert!(ran.code == 1 && reason.contains("[evaluator]") && reason.contains("nowhere"), "{reason}");
    assert_eq!(ran.events.len(), 1, "{:?}", ran.events);
    let changed = scene.project().join(".handover/config.toml");
    std::fs::write(&changed, format!("{}\n[notify]\ncommand = [\"touch\", \"owned\"]\n", scene.settings)).unwrap();
    let untrusted = scene.run(&["--once"]);
    assert!(untrusted.code == 1 && untrusted.stderr.contains("NOT_TRUSTED"), "{}", untrusted.stderr);
    assert!(untrusted.stderr.contains("+ notify: touch owned"), "{}", untrusted.stderr);
    // A new comment in the settings file does not change the settings, so a person need not accept them again.
    std::fs::write(&changed, format!("{}\n# later\n", scene.settings)).unwrap();
    assert_eq!(scene.json(&["trust"])["trusted"], true);
}

#[test]
fn what_an_agent_learned_is_kept_once() {
    let scene = team("");
    let ran = scene.run_plan("name: k\ntasks:\n  - {name: learns, description: h-learns, role: speaker}\n");
    assert_eq!((ran.code, ran.story("learns").as_str()), (0, "first done verified merged completed"));
    let section = scene.json(&["project", "show", "stack"]);
    assert_eq!(section["body"]["languages"][0], "sh", "{section}");
    // The agent has no permission to write the section `secrets` of the project context (the shared knowledge about the
    // project), so the section does not exist.
    assert!(!scene.ask(&["project", "show", "secrets"]).status.success());
    let turn = ran.events.iter().find(|event| event["event"] == "turn_ended").unwrap();
    let shown = scene.json(&["turn", "show", turn["turn_id"].as_str().unwrap()]);
    assert!(shown.to_string().contains("UPDATE_CONTRACT_DENIED:secrets"), "{shown}");
    let id = turn["task_id"].as_str().unwrap();
    let notes = scene.json(&["task", "checkpoints", id]).to_string();
    assert!(notes.contains("the other layer"), "{notes}");
}

#[test]
fn whoever_works_outside_of_the_runner_is_judged_too() {
    let scene = team("[evaluator]\nagent = \"judge\"\n");
    let judged = |words: &str| format!("{{type: file, output_ref_required: true, evaluate: {words}}}");
    let plan = [
        "summary: by hand\ntasks:\n".to_owned(),
        task("good", "x", &judged("judge-pass")),
        task("bad", "x", &judged("judge-fail")),
    ];
    let path = scene.plan(&plan.concat());
    let id = scene.json(&["workflow", "create", "by hand"])["id"].as_str().unwrap().to_owned();
    let planned = scene.json(&["workflow", "plan", &id, &format!("@{}", path.display())]);
    let amy =
        scene.json(&["agent", "register", "amy", "claude_code", "--role", "worker"])["id"].as_str().unwrap().to_owned();
    std::fs::write(scene.project().join("out.txt"), "an output").unwrap();
    for (name, status) in [("good", "completed"), ("bad", "pending")] {
        let task = planned["task_ids"][name].as_str().unwrap();
        assert_eq!(scene.json(&["task", "claim", task, "amy"])["success"], true);
        let verified = scene.json(&["task", "verify", task, "--output-ref", "out.txt", "--agent-id", &amy]);
        assert_eq!(verified["success"] == true, name == "good", "{verified}");
        assert_eq!(scene.json(&["task", "show", task])["status"], status);
        let turns = scene.json(&["turn", "list", "--task", task]);
        assert_eq!(turns["turns"][0]["purpose"], "evaluation", "{turns}");
    }
    assert_eq!(scene.leftovers().iter().filter(|left| left.starts_with("process")).count(), 0);
}

#[test]
fn what_a_program_may_not_do_waits_for_a_person_and_is_done_once() {
    let mut scene = Scene::new();
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runner/acp.sh");
    scene.settings = format!(
        "[[agent]]\nslug = \"free\"\nadapter = \"acp\"\npersona = \"You are free.\"\noutput = \"envelope\"\n\
         command = [\"{}\"]\nenv = {{ SIM = \"{}\" }}\n",
        script.display(),
        scene.sim().display()
    );
    scene.settle();
    let ran = scene.run_plan("name: p\ntasks:\n  - {name: mode, description: be free}\n");
    assert_eq!((ran.code, ran.story("mode").as_str()), (1, "first goes_on wants_approval"), "{}", ran.stderr);
    let asked = ran.events.iter().find(|event| event["event"] == "wants_approval").unwrap();
    let approval = asked["approval_id"].as_str().unwrap().parse().unwrap();
    let shown = scene.json(&["approval", "show", asked["approval_id"].as_str().unwrap()]);
    assert_eq!((&shown["exact_content"], &shown["source"]), (&r#"{"mode": "yolo"}"#.into(), &"acp".into()), "{shown}");
    service(&scene, async |service| {
        approvals::decide(service, Rights::Person, approval, ApprovalDecision::Approve).await.unwrap();
    });
    let again = scene.run(&[&workflow(&ran, &scene)]);
    assert_eq!(
        (again.code, again.story("mode").as_str()),
        (0, "answer done verified merged completed"),
        "{}",
        again.stderr
    );
    let used = service(&scene, async |service| approvals::show(service, approval).await.unwrap().state.status());
    assert_eq!(used, ApprovalStatus::Consumed);
    assert_eq!(scene.leftovers(), [""; 0]);
}

#[test]
fn a_gated_task_begins_when_a_person_says_so() {
    let scene = team("");
    let tasks = "  - {name: free, description: finished, role: worker}\n  \
                 - {name: gated, description: finished, role: worker, gate: true}\n";
    let ran = scene.run_plan(&format!("name: g\ntasks:\n{tasks}"));
    assert_eq!((ran.code, ran.story("free").as_str()), (1, "first done verified merged completed"), "{}", ran.stderr);
    assert_eq!(ran.story("gated"), "");
    let waits = scene.json(&["approval", "list"])["approvals"][0].clone();
    assert_eq!((&waits["source"], &waits["asked_by"]), (&"exec_gate".into(), &"system".into()), "{waits}");
    let id = waits["id"].as_str().unwrap();
    let reason = ran.events.last().unwrap()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains(&format!("gated waits for your approval: `handover approval show {id}`")), "{reason}");
    let approval = id.parse().unwrap();
    let status = |scene: &Scene| {
        service(scene, async |service| approvals::show(service, approval).await.unwrap().state.status())
    };
    service(&scene, async |service| {
        approvals::decide(service, Rights::Person, approval, ApprovalDecision::Approve).await.unwrap();
    });
    let again = scene.run(&[&workflow(&ran, &scene)]);
    let story = "first done verified merged completed";
    assert_eq!((again.code, again.story("gated").as_str()), (0, story), "{}", again.stderr);
    assert_eq!(status(&scene), ApprovalStatus::Consumed);
    assert_eq!(scene.json(&["approval", "list", "--all"])["approvals"].as_array().unwrap().len(), 1, "asked once");
    assert_eq!(scene.leftovers(), [""; 0]);
}

const GATED_CARD: &str = r#"{"card_version": "1.0", "identity": {"slug": "speaker", "name": "Speaker", "department": "d",
  "reports_to": "human", "model": "any"}, "scope": "I speak.", "capabilities": ["Speaking"],
  "constraints": ["I never guess"], "escalation_rules": [{"trigger": "Which colour?", "route_to": "exec", "via": "exec.gate"}],
  "output_types": [], "working_style": "Calm.", "voice": {"description": "Short.", "example": "Done."}, "values": ["Exactness"]}"#;

/// A question that the agent's card (the file that describes the agent) marks for approval is decided with yes or no,
/// and not answered in free text.
#[test]
fn a_card_lets_a_person_say_yes_or_no() {
    let scene = team("");
    std::fs::create_dir_all(scene.project().join(".handover/cards")).unwrap();
    std::fs::write(scene.project().join(".handover/cards/speaker.json"), GATED_CARD).unwrap();
    let plan = "name: c\ntasks:\n  - {name: yes, description: h-asks h-done, role: speaker}\n  \
                - {name: no, description: h-asks h-done, role: speaker}\n";
    let ran = scene.run_plan(plan);
    assert_eq!((ran.code, ran.story("yes").as_str()), (1, "first asks wants_approval"), "{}", ran.stderr);
    let yes = yes_and_no(&scene, &ran, "blue is enough");
    let again = scene.run(&[&workflow(&ran, &scene)]);
    assert_eq!(
        (again.code, again.story("yes").as_str()),
        (0, "answer done verified merged completed"),
        "{}",
        again.stderr
    );
    assert!(told(&scene, &ran, "yes", 2).contains(r#""answer":"approved""#));
    assert!(told(&scene, &ran, "no", 2).contains("rejected: blue is enough"));
    let used = service(&scene, async |service| approvals::show(service, yes).await.unwrap().state.status());
    assert_eq!(used, ApprovalStatus::Consumed);
    assert_eq!(scene.leftovers(), [""; 0]);
}

#[test]
fn whoever_has_several_roles_works_in_all_of_them() {
    let mut scene = Scene::new();
    scene.agent("both", "roles = [\"builder\", \"reviewer\"]");
    scene.settle();
    let tasks =
        "  - {name: a, role: builder, description: finished}\n  - {name: b, role: reviewer, description: finished}\n";
    let ran = scene.run_plan(&format!("name: r\ntasks:\n{tasks}"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let agents: Vec<&str> = ["a", "b"]
        .iter()
        .map(|task| ran.events.iter().find(|event| event["task"] == *task).unwrap()["agent"].as_str().unwrap())
        .collect();
    assert_eq!(agents, ["both", "both-reviewer"]);
}

/// A question in one workflow does not stop the run of another workflow from completing.
#[test]
fn a_run_ends_though_a_task_of_another_workflow_waits_for_a_person() {
    let scene = team("");
    let plan = |name: &str, word: &str| {
        format!("name: {name}\ntasks:\n  - {{name: {name}, role: worker, description: {word}}}\n")
    };
    let asked = scene.run_plan(&plan("first", "asks"));
    assert_eq!(asked.code, 1, "{:#?}", asked.events);
    let ran = scene.run_plan(&plan("second", "finished"));
    assert_eq!((ran.code, ran.events.last().unwrap()["how"].as_str()), (0, Some("completed")), "{:#?}", ran.events);
}
