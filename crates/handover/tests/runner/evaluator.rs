//! Tests that an agent that evaluates the outputs of other agents may also work on tasks, but never on a task whose
//! output this agent would evaluate.

use crate::books;
use crate::kills::workflow;
use crate::scene::Scene;

#[test]
fn the_evaluator_takes_no_task_that_it_would_have_to_judge() {
    let mut scene = Scene::new();
    scene.settings.push_str("[evaluator]\nagent = \"judge\"\n");
    // The runner gives work to its agents in the order of their names, so it tries to give each task to `judge` before
    // `worker`.
    scene.agent("judge", "max_parallel = 2\nworks = true");
    scene.agent("worker", "");
    scene.settle();
    let judged = |number| {
        format!(
            "  - name: t{number}\n    brief:\n      goal: finished\n      acceptance_criteria: [It is done.]\n      \
             output_contract: {{type: file, output_ref_required: true, evaluate: judge-pass}}\n"
        )
    };
    let tasks: String = (0..3).map(judged).collect();
    let plain: String = (3..5).map(|number| format!("  - {{name: t{number}, description: finished}}\n")).collect();
    let workflow = workflow(&scene, &format!("summary: s\ntasks:\n{tasks}{plain}"));
    let ran = scene.run(&[&workflow]);
    assert_eq!(ran.code, 0, "{:#?}\n{}", ran.events, ran.stderr);
    assert_eq!(books::problems(&scene, &workflow), Vec::<String>::new());
    let by_the_judge = ran.events.iter().filter(|event| event["event"] == "claimed" && event["agent"] == "judge");
    assert_eq!(by_the_judge.count(), 2, "{:#?}", ran.events);
}

/// A run ends when no task of its workflows can be claimed. If a workflow lacks an agent or a role, the run names the
/// missing agent or role.
#[test]
fn run_once_ends_on_workflows_that_lack_somebody_and_says_who() {
    let mut scene = Scene::new();
    scene.agent("worker", "");
    scene.settle();
    let judged = "summary: s\ntasks:\n  - name: one\n    brief:\n      goal: finished\n      acceptance_criteria: [It is \
                  done.]\n      output_contract: {type: file, output_ref_required: true, evaluate: judge-pass}\n";
    workflow(&scene, judged);
    workflow(&scene, "summary: s\ntasks:\n  - {name: two, description: finished, review: critic}\n");
    workflow(&scene, "summary: s\ntasks:\n  - {name: \"three\\u202e\", description: finished, role: nobody}\n");
    workflow(&scene, "summary: s\ntasks:\n  - {name: four, description: finished}\n");
    let ran = scene.run(&["--once"]);
    assert_eq!((ran.code, ran.events.last().unwrap()["how"].as_str()), (1, Some("stuck")), "{:#?}", ran.events);
    let reason = ran.events.last().unwrap()["reason"].as_str().unwrap();
    for expected in [
        "one: the task's output must be evaluated",
        "add `[evaluator]`",
        "Nobody here can review task 2 (role critic).",
        "the role `nobody`",
    ] {
        assert!(reason.contains(expected), "{expected} in {reason}");
    }
    // The workflow of the task `four` has every agent that it needs, so it is completed.
    assert!(ran.story("four").ends_with("completed"), "{:#?}", ran.events);
    // Without `--json` the run tells a person which role is missing. The invisible character U+202E, which reverses a
    // line, is shown as its code.
    let output = scene.handover(&["run", "--once"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("three<U+202E> needs the role `nobody`; no agent has it"), "{said}");
}
