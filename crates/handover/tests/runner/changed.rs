//! Tests a task that changes the check of its own output, and a task that writes into Handover's state folder.

use base::people::approvals;
use engine::Rights;
use engine::approval::ApprovalDecision;
use engine::id::ApprovalId;

use crate::people::{service, task, workflow};
use crate::scene::{Ran, Scene};

const CHECKED: &str = "{type: file, schema_ref: code, output_ref_required: true}";

/// Returns a test project whose repository contains the check of outputs: a script that accepts only files with the
/// word `right`.
fn team() -> Scene {
    let mut scene = Scene::new();
    std::fs::create_dir(scene.project().join("ci")).unwrap();
    std::fs::write(scene.project().join("ci/check.sh"), "grep -q right out/*.txt\n").unwrap();
    scene.git(&["add", "ci"]);
    scene.git(&["commit", "--quiet", "-m", "a check"]);
    scene.settings.push_str("[contract.code]\nchecks = [{ command = [\"sh\", \"ci/check.sh\"], seconds = 20 }]\n");
    scene.agent("worker", "max_parallel = 4");
    scene.settle();
    scene
}

fn asked(ran: &Ran, task: &str) -> ApprovalId {
    let event = |event: &&serde_json::Value| event["event"] == "wants_approval" && event["task"] == task;
    ran.events.iter().find(event).unwrap()["approval_id"].as_str().unwrap().parse().unwrap()
}

/// Tests a task that changes the check of its own output, so that the check passes. The result does not count until a
/// person has seen the change. Other tasks continue.
#[test]
fn a_check_changed_by_its_task_counts_after_a_person_saw_it() {
    let scene = team();
    let plan = ["name: c\ntasks:\n".to_owned(), task("cheat", "cheats", CHECKED), task("plain", "right", CHECKED)];
    let ran = scene.run_plan(&plan.concat());
    assert_eq!((ran.code, ran.story("cheat").as_str()), (1, "first done wants_approval"), "{}", ran.stderr);
    assert_eq!(ran.story("plain"), "first done verified merged completed");
    let id = asked(&ran, "cheat");
    let shown = scene.json(&["approval", "show", &id.to_string()]).to_string();
    for words in
        ["use a check that this task changed: ci/check.sh", "-grep -q right out/*.txt", "+exit 0", "sh ci/check.sh"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(scene.json(&["status"]).to_string().contains(&id.to_string()));
    // While no person has decided about the changed check, the task still waits in the next run.
    let waits = scene.run(&[&workflow(&ran, &scene)]);
    assert_eq!((waits.code, waits.story("cheat").as_str()), (1, ""), "{}", waits.stderr);
    service(&scene, async |service| {
        approvals::decide(service, Rights::Person, id, ApprovalDecision::Approve).await.unwrap();
    });
    let again = scene.run(&[&workflow(&ran, &scene)]);
    assert_eq!((again.code, again.story("cheat").as_str()), (0, "verified merged completed"), "{}", again.stderr);
    assert_eq!(scene.leftovers(), [""; 0]);
    // Another task changes the check to the same content. This content is already approved.
    let later = scene.run_plan(&format!("name: d\ntasks:\n{}", task("same", "cheats", CHECKED)));
    assert_eq!((later.code, later.story("same").as_str()), (0, "first done verified merged completed"));
}

#[test]
fn a_changed_check_that_a_person_rejects_goes_back_to_the_agent() {
    let scene = team();
    let ran = scene.run_plan(&format!("name: c\ntasks:\n{}", task("cheat", "cheats honest", CHECKED)));
    let id = asked(&ran, "cheat");
    let reject = ApprovalDecision::Reject { reason: "test it for real".to_owned() };
    service(&scene, async |service| {
        approvals::decide(service, Rights::Person, id, reject).await.unwrap();
    });
    let again = scene.run(&[&workflow(&ran, &scene)]);
    let story = "unverified verification done verified merged completed";
    assert_eq!((again.code, again.story("cheat").as_str()), (0, story), "{:?} {}", again.events, again.stderr);
    let told = again.events.iter().find(|event| event["event"] == "rejected").unwrap().to_string();
    assert!(told.contains("test it for real") && told.contains("CHECK_CHANGED"), "{told}");
}

/// A change to Handover's state folder, such as to the store or a token, is not merged into any branch.
#[test]
fn nothing_below_the_state_is_merged_or_written() {
    let scene = team();
    let plan = "name: s\ntasks:\n  - {name: merges, description: state, role: worker}\n  \
                - {name: writes, description: state-artifact finished, role: worker}\n";
    let ran = scene.run_plan(plan);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(ran.story("merges"), "first done blocked(verification_fail)", "{:?}", ran.events);
    let blocked = ran.events.iter().find(|event| event["event"] == "blocked").unwrap()["reason"].to_string();
    assert!(
        blocked.contains(".handover/state") && blocked.contains("remove it from the branch handover/"),
        "{blocked}"
    );
    assert_eq!(
        ran.story("writes"),
        "first bad(PATH_OUTSIDE_ROOT:.handover/./State/token) repair done verified merged completed"
    );
    let line = scene.plan_branch(&workflow(&ran, &scene));
    let merged = scene.git(&["ls-tree", "-r", "--name-only", &line]);
    assert!(!merged.contains(".handover/state"), "{merged}");
}
