//! Tests a task with `review`: another agent reviews its work after the verification. The worker gets the findings (the
//! reviewer's remarks), the reviewer gets the worker's answers, and the task is not completed while a finding is open.

use std::sync::Arc;

use base::ground::clock::SystemClock;
use base::people::answers;
use base::service::Service;
use engine::Rights;

use crate::books;
use crate::kills::workflow;
use crate::process::Runner;
use crate::reviewers::rooms;
use crate::scene::{Ran, Scene};

fn team(words: &str) -> Scene {
    let mut scene = Scene::new();
    scene.settings.push_str("[limits]\nturn_seconds = 5\n");
    scene.agent("worker", "");
    scene.reviewer("critic", words, "roles = [\"reviewer\"]");
    scene.settle();
    scene
}

fn plan(words: &str, more: &str) -> String {
    format!("name: r\ntasks:\n  - {{name: one, role: worker, description: \"{words}\", review: critic{more}}}\n")
}

fn worked(scene: &Scene, words: &str, more: &str) -> Ran {
    scene.run_plan(&plan(words, more))
}

#[test]
fn what_is_found_goes_to_the_worker_and_its_word_goes_back() {
    let scene = team("nonsense finds-two nothing");
    let ran = worked(&scene, "finished answers", "");
    let story = "first done verified review heard review heard reviewed feedback done verified review heard reviewed merged completed";
    assert_eq!((ran.code, ran.story("one").as_str()), (0, story), "{}", ran.stderr);
    assert_eq!(rooms(&scene, "critic").len(), 1, "it was repaired or asked again elsewhere");
    let task = ran.events[0]["task_id"].as_str().unwrap();
    let told = std::fs::read_to_string(scene.sim().join(format!("{task}.2.envelope"))).unwrap();
    assert!(told.contains("\"code\":\"finding-0001\"") && told.contains("\"code\":\"finding-0002\""), "{told}");
    let prompt = std::fs::read_to_string(scene.sim().join(format!("{task}.2.prompt"))).unwrap();
    assert!(
        prompt.contains("task.feedback from critic") && prompt.contains("Recommendation: make it better"),
        "{prompt}"
    );
    let request = |number| std::fs::read_to_string(scene.sim().join(format!("critic.{number}.request"))).unwrap();
    assert!(
        request(2).contains("\"media_type\":\"text/x-diff\"") && request(2).contains("in turn 1"),
        "{}",
        request(2)
    );
    let items = "\"applied_feedback\":{\"items\":[{\"id\":\"finding-0001\",\"status\":\"accepted\",\"explanation\":\"made it better\"},\
                 {\"id\":\"finding-0002\",\"status\":\"rejected\",\"explanation\":\"not: here\"}]}";
    assert!(request(3).contains("in turn 2") && request(3).contains(items), "{}", request(3));
    assert_eq!(scene.leftovers(), [""; 0]);
}

#[test]
fn a_worker_answers_with_the_tool_and_nothing_found_is_completed_at_once() {
    let scene = team("finds nothing");
    let ran = worked(&scene, "finished answers-by-tool", "");
    let story =
        "first done verified review heard reviewed feedback done verified review heard reviewed merged completed";
    assert_eq!((ran.code, ran.story("one").as_str()), (0, story), "{}", ran.stderr);
    let task = ran.events[0]["task_id"].as_str().unwrap();
    let said = std::fs::read_to_string(scene.sim().join(format!("{task}.said"))).unwrap();
    assert!(said.lines().next().unwrap().contains("\"success\":true"), "{said}");
    assert!(said.lines().nth(1).unwrap().contains("NOT_PERMITTED"), "{said}");
    let again = worked(&scene, "finished", "");
    let story = "first done verified review heard reviewed merged completed";
    assert_eq!((again.code, again.story("one").as_str()), (0, story), "{}", again.stderr);
}

/// A finding (a remark of the reviewer) without an answer stays open. After the last allowed round of the review a
/// person decides.
#[test]
fn after_the_last_round_a_person_decides() {
    let scene = team("finds");
    let ran = worked(&scene, "finished", ", limits: {review_rounds: 2}");
    let round = "done verified review heard reviewed";
    let story = format!("first {round} feedback {round} asks");
    assert_eq!((ran.code, ran.story("one").as_str()), (1, story.as_str()), "{}", ran.stderr);
    let task = ran.events[0]["task_id"].as_str().unwrap().to_owned();
    let session = scene.json(&["review", "list"])["reviews"][0]["session"].as_str().unwrap().to_owned();
    // A task with an open finding (a remark of the reviewer) cannot be completed, not even by a person.
    let refused = scene.json(&["task", "status", &task, "completed", "--outcome", "enough"]);
    assert_eq!(refused["code"], "FINDINGS_OPEN", "{refused}");
    let finding = format!("{session}/finding-0001");
    assert_eq!(scene.json(&["review", "answer", &finding, "rejected", "--reason", "good as it is"])["open"], 0);
    let question = scene.json(&["inbox", "read"])["messages"][0]["id"].as_str().unwrap().parse().unwrap();
    let file = scene.project().join(".handover/state/handover.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let service = Service::new(store::open(file.to_str().unwrap(), 1).await.unwrap(), Arc::new(SystemClock));
        answers::answer(&service, Rights::Person, question, "it is good".to_owned()).await.unwrap();
    });
    let id = scene.json(&["task", "show", &task])["workflow_id"].as_str().unwrap().to_owned();
    let again = scene.run(&[&id]);
    assert_eq!((again.code, again.story("one").as_str()), (0, "merged completed"), "{}", again.stderr);
    assert_eq!(books::problems(&scene, &id), Vec::<String>::new());
}

#[test]
fn a_reviewer_that_gives_no_answer_blocks_the_task() {
    let scene = team("dies");
    let ran = worked(&scene, "finished", "");
    let story = "first done verified review signalled reviewed blocked(tool_failure)";
    assert_eq!((ran.code, ran.story("one").as_str()), (1, story), "{}", ran.stderr);
}

#[test]
fn nobody_reviews_its_own_work_and_whoever_is_missing_is_told_first() {
    let mut scene = Scene::new();
    scene.agent("alone", "roles = [\"worker\", \"reviewer\"]");
    scene.settle();
    let ran = scene
        .run_plan("name: r\ntasks:\n  - {name: one, role: worker, description: finished, review: roles.reviewer}\n");
    // The run could start no task, so its exit code is 2.
    assert_eq!(ran.code, 2, "{:?}", ran.events);
    assert!(!ran.events.iter().any(|event| event["event"] == "claimed"), "{:?}", ran.events);
    let reason = ran.events.last().unwrap()["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("Nobody here can review task 1 (role reviewer)."), "{reason}");
    let ran = scene.run_plan("name: r\ntasks:\n  - {name: one, role: worker, description: finished, review: nobody}\n");
    assert_eq!((ran.code, ran.events.len()), (2, 0), "{:?}", ran.events);
    assert!(ran.stderr.contains("Nobody here can review task 1 (role nobody). Run it without: handover run "));
    assert!(ran.stderr.contains("--without-review"), "{}", ran.stderr);
    assert_eq!(scene.json(&["workflow", "list"])["workflows"].as_array().unwrap().len(), 1, "no second workflow");
    let path = scene.sim().join("plan.yaml");
    let ran = scene.run(&[path.to_str().unwrap(), "--without-review"]);
    assert_eq!((ran.code, ran.story("one").as_str()), (0, "first done verified merged completed"), "{}", ran.stderr);
}

/// Tests a runner that is killed during a review, and while the worker fixes a finding (a remark of the reviewer).
#[test]
fn a_runner_killed_around_a_review_completes_the_task_once() {
    for (reviews, words) in [
        ("kills-runner nothing", "finished"),
        ("finds kills-runner nothing", "finished answers-one"),
        ("finds nothing", "finished kills-runner answers-one"),
    ] {
        let scene = team(reviews);
        let workflow = workflow(&scene, &plan(words, "").replace("name: r\n", "summary: r\n"));
        let mut codes = Vec::new();
        for _ in 0..3 {
            let ran = Runner::start(&scene, "here", &[&workflow]).end();
            codes.push((ran.code, ran.story("one"), ran.stderr));
            if ran.code == 0 {
                break;
            }
        }
        assert_eq!(codes.last().unwrap().0, 0, "{reviews}: {codes:?}");
        assert_eq!(codes.len(), 2, "{reviews}: {codes:?}");
        assert_eq!(books::problems(&scene, &workflow), Vec::<String>::new(), "{reviews}: {codes:?}");
    }
}

/// Tests two agents that review each other's work. The program of each agent can run only once at a time. Neither agent
/// blocks the other.
#[test]
fn two_who_review_each_other_do_not_wait_for_each_other() {
    let mut scene = Scene::new();
    scene.settings.push_str("[limits]\nturn_seconds = 5\n");
    scene.both("left", "slow", "roles = [\"left\"]");
    scene.both("right", "slow", "roles = [\"right\"]");
    scene.settle();
    let ran = scene.run_plan(
        "name: r\ntasks:\n  - {name: l, role: left, description: soon, review: right}\n  \
         - {name: r, role: right, description: soon, review: left}\n",
    );
    assert_eq!(ran.code, 0, "{:#?}\n{}", ran.events, ran.stderr);
}
