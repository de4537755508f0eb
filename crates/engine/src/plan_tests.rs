//! Tests that plans with mistakes are refused, and that each refusal names the mistake.

use super::*;

fn plan(lines: &str) -> Result<Plan, Refusal> {
    let tasks = lines
        .split(';')
        .map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next().unwrap_or_default();
            PlanTask { depends_on: words.map(str::to_owned).collect(), ..PlanTask::named(name) }
        })
        .collect();
    Plan::whole(tasks)
}

/// Each case has a plan and the expected result. The plan is written as `name dependency dependency; name …`. The
/// result is the refusal, or the number of dependencies of a plan that is accepted.
#[test]
fn faults_of_a_plan_are_named() {
    let cases = [
        ("a; b a; c a b", "3"),
        ("b a; a", "1"),
        ("a; b a a a", "1"),
        ("a a", "SELF_DEPENDENCY a depends on itself"),
        ("a b", "UNKNOWN_DEPENDENCY a depends on b, which does not exist"),
        ("a; a", "DUPLICATE_TASK_NAME two tasks are named a"),
        ("a b; b a", "DEPENDENCY_CYCLE the dependencies go in a circle: a -> b -> a"),
        ("x; a x b; b c; c a; z c", "DEPENDENCY_CYCLE the dependencies go in a circle: a -> b -> c -> a"),
    ];
    for (text, expected) in cases {
        let found = match plan(text) {
            Ok(plan) => plan.inside.len().to_string(),
            Err(refusal) => format!("{} {refusal}", refusal.code()),
        };
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_chain_of_a_hundred_thousand_is_checked_without_recursion() {
    let chain = (0..limits::PLAN_TASKS_MAX).map(|number| PlanTask {
        depends_on: if number == 0 { Vec::new() } else { vec![format!("t{}", number - 1)] },
        ..PlanTask::named(format!("t{number}"))
    });
    let mut tasks: Vec<_> = chain.collect();
    assert_eq!(Plan::whole(tasks.clone()).map(|plan| plan.inside.len()), Ok(limits::PLAN_TASKS_MAX - 1));
    tasks[0].depends_on.push(format!("t{}", limits::PLAN_TASKS_MAX - 1));
    assert!(
        matches!(Plan::whole(tasks), Err(Refusal::DependencyCycle { cycle }) if cycle.len() == limits::PLAN_TASKS_MAX + 1)
    );
}
