//! Whoever judges has work of its own, too, but never what it would have to judge.

use crate::books;
use crate::kills::workflow;
use crate::scene::Scene;

#[test]
fn the_evaluator_takes_no_task_that_it_would_have_to_judge() {
    let mut scene = Scene::new();
    scene.settings.push_str("[evaluator]\nagent = \"judge\"\n");
    // By its name the judge is asked first what it would like to do.
    scene.agent("judge", "max_parallel = 2");
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
