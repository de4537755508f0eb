//! Tests a merge and its undo that are killed at every git call. When the same command runs again, the branch and the
//! store must have the same state as without the kill.

use std::fs;

use crate::scene::{WorkScene, passed};

/// The largest number of git calls at which the test kills a merge. A merge with more calls probably never ends, so the
/// test fails.
const CALLS_MAX: u32 = 200;

/// Returns a script that runs in place of git and counts its calls. At the call number `KILL_AT` it kills the program
/// that called it, before or after the real git works.
fn script(scene: &WorkScene, when: &str) -> String {
    let real = real_git();
    format!(
        "#!/bin/sh\ncount=$(cat '{0}' 2>/dev/null || echo 0)\ncount=$((count + 1))\necho $count > '{0}'\nif [ \"$count\" = \
         \"$KILL_AT\" ]; then\n{1}kill -9 $PPID\nexit 1\nfi\nexec {real} \"$@\"\n",
        scene.path("calls").display(),
        if when == "after" { format!("{real} \"$@\"\n") } else { String::new() }
    )
}

fn real_git() -> String {
    let path = std::env::var("PATH").unwrap();
    let found = path.split(':').map(|folder| format!("{folder}/git")).find(|file| fs::metadata(file).is_ok());
    found.unwrap()
}

/// Runs a command that the script in place of git kills at this git call. Returns false when the command ended before
/// that call.
fn killed(scene: &WorkScene, arguments: &[&str], call: u32) -> bool {
    let _first = fs::remove_file(scene.path("calls"));
    let output = scene.handover(arguments).env("KILL_AT", call.to_string()).output().unwrap();
    output.status.code().is_none()
}

fn play(when: &str) {
    let scene = WorkScene::new();
    scene.out(&["add", "Go back after login"]);
    let work = scene.deliver("1", "main", &[("src/login.js", "one\nTWO\nthree\n")], passed());
    let before = scene.tip("main");
    scene.install("git", &script(&scene, when));
    for (arguments, call) in
        (1..CALLS_MAX).flat_map(|call| [(["merge", "1", "--yes"], call), (["merge", "--undo", "--yes"], call)])
    {
        let is_merge = arguments[1] == "1";
        let was_killed = killed(&scene, &arguments, call);
        let told = scene.ask(&arguments);
        let state = format!("{when} call {call} of {arguments:?}: {told:?}");
        if is_merge {
            assert_eq!(told.code, 0, "{state}");
            assert_eq!(scene.git(&["rev-list", "--count", &format!("{before}..main")]), "1", "{state}");
            assert_eq!(scene.git(&["rev-parse", "main^{tree}"]), work.tree, "{state}");
            assert_eq!(scene.read("src/login.js").as_deref(), Some("one\nTWO\nthree\n"), "{state}");
        } else {
            // If the killed undo was already recorded in the store, there is nothing left to undo.
            assert!(told.code == 0 || told.err == "There is no merge to undo.\n", "{state}");
            assert_eq!(scene.tip("main"), before, "{state}");
            assert_eq!(scene.read("src/login.js").as_deref(), Some("one\ntwo\nthree\n"), "{state}");
        }
        assert_eq!(scene.git(&["status", "--porcelain", "src"]), "", "{state}");
        if !was_killed && !is_merge && call > 10 {
            return;
        }
    }
    panic!("the merge still calls git after {CALLS_MAX} calls");
}

#[test]
fn a_merge_killed_before_a_git_call_ends_well_when_it_is_run_again() {
    play("before");
}

#[test]
fn a_merge_killed_after_a_git_call_ends_well_when_it_is_run_again() {
    play("after");
}
