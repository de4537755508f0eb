//! Tests that a runner, the process that works on a task, can be killed at any of its git calls and started again.

use std::fs;
use std::path::Path;

use git::Git;
use git::branch::{CommitResult, MergeResult, workflow_branch};

use crate::scene::{Scene, WORKFLOW, alone, git, runtime, save, script, this_test};

pub(crate) const HOME: &str = "HANDOVER_TEST_HOME";
const WORK: &str = "stops::worked_in_a_process_of_its_own";

/// Does the work of a runner on one task: commits, merges and fixes the conflict. When it is called again after a kill,
/// it continues from the state that it finds.
async fn work(scene: &Scene) {
    let workspace = scene.workspace("tk_work").await;
    if git(&workspace.path, &["log", "--format=%s", "-1"]) == "a.txt" {
        fs::write(workspace.path.join("a.txt"), "MINE\ntwo\nthree\n").unwrap();
        fs::write(workspace.path.join("new"), "new").unwrap();
    }
    let head = match scene.commit(&workspace).await.unwrap() {
        CommitResult::Clean { head, .. } | CommitResult::Commit { head, .. } => head,
        CommitResult::Unmended { .. } => git(&workspace.path, &["rev-parse", "HEAD"]),
    };
    let MergeResult::Conflict { .. } = scene.merge(&head).await.unwrap() else { return };
    if let MergeResult::Conflict { paths, .. } = scene.bring(&workspace).await.unwrap() {
        assert!(paths.is_empty() || paths == ["a.txt"], "{paths:?}");
        fs::write(workspace.path.join("a.txt"), "OURS and MINE\ntwo\nthree\n").unwrap();
    }
    let (CommitResult::Clean { head, .. } | CommitResult::Commit { head, .. }) =
        scene.commit(&workspace).await.unwrap()
    else {
        panic!()
    };
    let merged = scene.merge(&head).await.unwrap();
    assert!(matches!(merged, MergeResult::FastForward { .. } | MergeResult::Already { .. }), "{merged:?}");
}

#[test]
fn worked_in_a_process_of_its_own() {
    let Some(scene) = stopped_scene() else { return };
    runtime().block_on(work(&scene));
}

/// Returns the test repository if this process is the one that the test kills. Returns `None` in any other process.
pub(crate) fn stopped_scene() -> Option<Scene> {
    let mut scene = Scene::new();
    scene.home = std::env::var_os(HOME)?.into();
    scene.git = Git { program: scene.home.with_file_name("counting-git"), ..Git::default() };
    Some(scene)
}

/// Runs a test in a separate process. A fake git kills that process at git call number `stop`. Returns true when the
/// process was killed.
pub(crate) fn is_stopped(test: &str, home: &Path, stop: u32) -> bool {
    let count = home.with_file_name("count");
    fs::write(&count, "0").unwrap();
    let text = format!(
        "n=$(($(cat '{count}') + 1)); echo $n > '{count}'\n[ $n = {stop} ] && kill -9 $PPID && exit 1\nexec git \"$@\"",
        count = count.display()
    );
    script(&home.with_file_name("counting-git"), &text);
    let output = this_test(test).env(HOME, home).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || output.status.code().is_none(), "{stop}: {said}");
    !output.status.success()
}

alone! {
    fn between_any_two_calls(_scene) {
        at_each_call(30, goes_on);
    }
}

/// Calls `check` with the numbers 1, 2, 3 and so on. Each number is the git call at which `check` kills a process. Ends
/// when `check` returns false, because there was no such call. Fails when there were fewer than `least` calls.
pub(crate) fn at_each_call(least: u32, check: fn(u32) -> bool) {
    // Run four checks at the same time, because most of the time is spent waiting for processes.
    for first in (1..).step_by(4) {
        let ends: Vec<bool> = std::thread::scope(|threads| {
            let started: Vec<_> = (first..first + 4).map(|stop| threads.spawn(move || check(stop))).collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        if ends.contains(&false) {
            assert!(first > least, "{first}");
            return;
        }
    }
}

/// Checks that a run that is killed once and started again has the same result as a run without a stop. Returns false
/// when the run ended before git call number `stop`, so that it was not killed.
fn goes_on(stop: u32) -> bool {
    let scene = Scene::new();
    // The task `tk_work` starts. Then the task `tk_first` changes the same line of `a.txt` and is merged first.
    runtime().block_on(async {
        let first = scene.workspace("tk_first").await;
        scene.workspace("tk_work").await;
        scene.merge(&save(&first.path, "a.txt", "OURS\ntwo\nthree\n")).await.unwrap();
    });
    let main = scene.git(&["rev-parse", "main"]);
    let is_stopped_once = is_stopped(WORK, &scene.home, stop);
    assert!(!is_stopped(WORK, &scene.home, 0), "{stop}");
    assert_eq!(scene.shown("a.txt"), "OURS and MINE\ntwo\nthree", "{stop}");
    assert_eq!(scene.shown("new"), "new");
    let log = scene.git(&["log", "--format=%s", &format!("main..{}", workflow_branch(WORKFLOW))]);
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["a.txt", "what the agent left", "what the agent left"], "{stop}");
    assert_eq!((scene.git(&["rev-parse", "main"]), scene.git(&["status", "--porcelain"])), (main, String::new()));
    is_stopped_once
}
