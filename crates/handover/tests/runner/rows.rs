//! Tests every way in which a turn (one run of an agent's program) can end, all in one workflow.

use crate::people::workflow;
use crate::scene::Scene;

/// Each row: the task's name, the behaviour of its agent's program in one run after another, and the expected events. A
/// behaviour whose name begins with `h-` reports the work in a handoff document.
const ROWS: &[(&str, &str, &str)] = &[
    ("finished", "finished", "first done verified merged completed"),
    ("late", "late", "first done verified merged completed"),
    ("repaired", "bad finished", "first bad(MISSING:/summary) repair done verified merged completed"),
    ("half", "half finished", "first bad(UNCLOSED_BLOCK) repair done verified merged completed"),
    ("nonsense", "nonsense finished", "first bad(NO_OUTPUT) repair done verified merged completed"),
    ("silent", "nothing finished", "first bad(NO_OUTPUT) repair done verified merged completed"),
    ("twice", "twice finished", "first done verified merged completed"),
    // An invalid output can be repaired twice, not a third time.
    (
        "unrepaired",
        "bad",
        "first bad(MISSING:/summary) repair bad(MISSING:/summary) repair bad(MISSING:/summary) blocked(verification_fail)",
    ),
    ("exists", "exists finished", "first bad(ARTIFACT_EXISTS:README.md) repair done verified merged completed"),
    (
        "outside",
        "outside finished",
        "first bad(PATH_OUTSIDE_ROOT:/artifacts/0/path) repair done verified merged completed",
    ),
    ("by-hand", "writes", "first done verified merged completed"),
    ("progress", "goes-on goes-on finished", "first goes_on next goes_on next done verified merged completed"),
    ("circles", "goes-on", "first goes_on next goes_on next goes_on blocked(ambiguity)"),
    ("asks", "asks", "first asks asks"),
    // A crash uses up an attempt (one claim of the task), and the next attempt starts from the beginning.
    ("dies", "dies finished", "first signalled returned claimed(2) first done verified merged completed"),
    ("exits", "exits finished", "first failed returned claimed(2) first done verified merged completed"),
    ("hopeless", "exits", "first failed returned claimed(2) first failed failed"),
    // When a program reaches a limit of time or output, the program and all its children are ended.
    ("never", "never", "first timed_out blocked(resource)"),
    ("stubborn", "stubborn", "first timed_out blocked(resource)"),
    ("flood", "flood", "first over_budget blocked(resource)"),
    ("child", "child", "first done verified merged completed"),
    ("clinging", "clinging", "first done verified merged completed"),
    ("h-done", "h-done", "first done verified merged completed"),
    ("h-blocked", "h-blocked", "first blocked blocked(ambiguity)"),
    ("h-forged", "h-forged h-done", "first bad(AGENT_ID:a0123456789abcdef) repair done verified merged completed"),
    ("h-learns", "h-learns", "first done verified merged completed"),
];

fn plan() -> String {
    let mut text = "name: rows\ntasks:\n".to_owned();
    for (name, words, _) in ROWS {
        let role = if name.starts_with("h-") { "speaker" } else { "worker" };
        text.push_str(&format!("  - {{name: {name}, description: \"{words}\", role: {role}, max_attempts: 2}}\n"));
    }
    text
}

#[test]
fn every_end_of_a_turn_has_its_row() {
    let mut scene = Scene::new();
    scene.settings.push_str("[limits]\nturn_seconds = 4\noutput_bytes = 1000000\n");
    scene.agent("worker", "max_parallel = 6");
    scene.agent(
        "speaker",
        "roles = [\"speaker\"]\noutput = \"handoff\"\nmax_parallel = 2\nwritable_sections = [\"stack\"]",
    );
    scene.settle();
    let ran = scene.run_plan(&plan());
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let wrong: Vec<String> = ROWS
        .iter()
        .filter(|(name, _, expected)| ran.story(name) != *expected)
        .map(|(name, _, expected)| format!("{name}\n  expected: {expected}\n  found:    {}", ran.story(name)))
        .collect();
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), ran.stderr);
    // A task with an open question keeps its worktree, and the folder of its turn (one run of its agent's program),
    // until the answer comes.
    let paused =
        ran.events.iter().find(|event| event["event"] == "asks").unwrap()["task_id"].as_str().unwrap().to_owned();
    let turn = ran.events.iter().find(|event| event["event"] == "turn_ended" && event["task"] == "asks").unwrap();
    let turn = turn["turn_id"].as_str().unwrap();
    let left = scene.leftovers();
    assert!(left.iter().all(|left| left.contains(&paused) || left.contains(turn)), "{left:?}");
    assert_eq!(left.len(), 3, "{left:?}");
    // The work of each completed task is in the workflow's branch once, and the person's branch is unchanged.
    let files = scene.git(&["ls-tree", "-r", "--name-only", &scene.plan_branch(&workflow(&ran, &scene))]);
    let completed = ROWS.iter().filter(|(_, words, story)| story.ends_with("completed") && words.contains("finished"));
    assert_eq!(files.lines().filter(|file| file.starts_with("out/")).count(), completed.count() + 6, "{files}");
    assert_eq!(scene.git(&["log", "--oneline", "main"]).lines().count(), 1);
    let verdict = scene.ask(&["log", "verify"]);
    assert!(verdict.status.success(), "{}", String::from_utf8_lossy(&verdict.stdout));
}
