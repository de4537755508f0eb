//! Tests the names of plans' branches. A branch has the name of its plan, with a number when the name is taken. A plan
//! that began with version 0.1.0 keeps its old branch.

use crate::kills::workflow;
use crate::scene::{Ran, Scene};

const PLAN: &str =
    "summary: two\ntasks:\n  - {name: one, description: one}\n  - {name: two, description: two, depends_on: [one]}\n";

fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.plain("bot", "read -r goal; echo x >\"$goal\"; echo wrote it", "");
    scene.settle();
    scene
}

fn completed(scene: &Scene, workflow: &str) -> Ran {
    let ran = scene.run(&[workflow]);
    assert_eq!(ran.code, 0, "{}\n{:#?}", ran.stderr, ran.events);
    ran
}

fn files(scene: &Scene, branch: &str) -> Vec<String> {
    let listed = scene.git(&["ls-tree", "-r", "--name-only", branch]);
    listed.lines().filter(|name| *name != "README.md").map(str::to_owned).collect()
}

#[test]
fn plans_with_the_same_name_get_a_branch_each() {
    let scene = scene();
    // A person made this branch. A plan must not use it, although its name has the form of a plan's branch.
    scene.git(&["branch", "handover/killed-2"]);
    let plans: Vec<String> = (0..2).map(|_| workflow(&scene, PLAN)).collect();
    plans.iter().for_each(|plan| drop(completed(&scene, plan)));
    let branches: Vec<String> = plans.iter().map(|plan| scene.plan_branch(plan)).collect();
    assert_eq!(branches, ["handover/killed", "handover/killed-3"]);
    for branch in &branches {
        assert_eq!(files(&scene, branch), ["one", "two"], "{branch}");
    }
    assert_eq!(files(&scene, "handover/killed-2"), Vec::<String>::new());
}

#[test]
fn the_name_of_a_plans_branch_stays_taken_after_the_branch_is_deleted() {
    let scene = scene();
    let first = workflow(&scene, PLAN);
    completed(&scene, &first);
    scene.git(&["branch", "-D", "handover/killed"]);
    let second = workflow(&scene, PLAN);
    completed(&scene, &second);
    assert_eq!(scene.plan_branch(&second), "handover/killed-2");
    assert_eq!(
        scene.git(&["branch", "--list", "handover/killed"]),
        "",
        "no branch is left with the name of the first plan"
    );
}

#[test]
fn a_plan_that_began_with_version_0_1_0_keeps_the_branch_with_its_id() {
    let scene = scene();
    let plan = workflow(&scene, PLAN);
    scene.git(&["branch", &format!("handover/{plan}")]);
    completed(&scene, &plan);
    assert_eq!(scene.plan_branch(&plan), format!("handover/{plan}"));
    assert_eq!(files(&scene, &format!("handover/{plan}")), ["one", "two"]);
    assert_eq!(scene.git(&["branch", "--list", "handover/killed*"]), "");
}
