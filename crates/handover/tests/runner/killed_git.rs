//! Tests a git process that is killed together with its runner. It leaves locks and half-made or half-removed worktrees
//! behind. A later runner must complete the work in spite of them.

use std::fs;

use crate::kills::workflow;
use crate::points::{plan, scene, script, worked};
use crate::process::Runner;
use crate::scene::Scene;

/// Calls of git that are killed halfway. Each row has words of the call, a name for the state that the call leaves, and
/// a shell script that makes this state. For `worktree add` the last word of the call is the commit, and the word
/// before it is the path. All other calls run in the slot (the worktree that the runner uses for the task).
const HALF: &[(&str, &str, &str)] = &[
    ("worktree add", "nothing", ":"),
    ("worktree add", "an empty registration", r#"mkdir -p ".git/worktrees/$name""#),
    (
        "worktree add",
        "a registration whose files are empty",
        r#"mkdir -p ".git/worktrees/$name" && cd ".git/worktrees/$name" && : >commondir && : >gitdir && echo initializing >locked"#,
    ),
    (
        "worktree add",
        "a registration without a head, and a link to it",
        r#"at=$PWD/.git/worktrees/$name && mkdir -p "$at" "$path" && echo ../.. >"$at/commondir" && echo "$path/.git" >"$at/gitdir" &&
           echo "gitdir: $at" >"$path/.git" && echo initializing >"$at/locked""#,
    ),
    (
        "worktree add",
        "a whole registration, and some of the files",
        r#"git worktree add --quiet --no-checkout --detach -- "$path" "$last" && echo initializing >".git/worktrees/$name/locked" &&
           echo half >"$path/README.md""#,
    ),
    ("add --all", "the lock of the index", r#": >"$(git rev-parse --git-dir)/index.lock""#),
    ("add --all", "an index without content", r#": >"$(git rev-parse --git-dir)/index""#),
    (
        "commit --quiet",
        "the locks of index, head and branch",
        r#"at=$(git rev-parse --git-dir) && : >"$at/index.lock" && : >"$at/HEAD.lock" &&
           : >"$(git rev-parse --git-common-dir)/$(git symbolic-ref HEAD).lock""#,
    ),
    ("reset --quiet", "half of the files", r#"rm README.md && : >"$(git rev-parse --git-dir)/index.lock""#),
    ("clean --quiet", "a file of the work before", "echo left >left.txt"),
    (
        "checkout --quiet --force --no-track",
        "the branch without its files",
        r#"rm README.md && : >"$(git rev-parse --git-dir)/index.lock" && git branch "$before" "$last""#,
    ),
    (
        "checkout --quiet --force --detach",
        "the locks of index and head",
        r#"at=$(git rev-parse --git-dir) && : >"$at/index.lock" && : >"$at/HEAD.lock""#,
    ),
    ("update-ref -d", "the lock of the branch", r#": >".git/$reference.lock""#),
];

/// Calls of git that are killed halfway and leave a lock on a file that other git processes write, too. Each row has
/// words of the call, a name for the lock, and a shell script that makes the lock. The next runner first waits to see
/// whether a live process holds the lock.
const SHARED: &[(&str, &str, &str)] = &[
    (
        "handover: merged",
        "the lock of the workflow's branch",
        r#": >".git/refs/heads/handover/$(cat "$SIM/workflow").lock""#,
    ),
    ("update-ref -d", "the lock of the packed references", ": >.git/packed-refs.lock"),
];

/// Writes the script that runs in place of git and does only half of the call's work. The script has variables for the
/// words of the call.
fn half(scene: &Scene, text: &str) {
    let names = "for word; do case $word in refs/heads/*) reference=$word ;; esac; before=$last; last=$word; done\n\
                 path=$before name=$(basename \"$before\")";
    let sim = scene.sim();
    script(&sim.join("half"), &format!("SIM={}\n{names}\n{text}\n", sim.display()));
}

#[test]
fn a_git_that_was_killed_with_its_runner_stops_no_later_one() {
    all_are_cleaned_up(HALF);
}

#[test]
fn a_shared_lock_of_a_git_that_was_killed_with_its_runner_stops_no_later_one() {
    all_are_cleaned_up(SHARED);
}

fn all_are_cleaned_up(cases: &[(&str, &str, &str)]) {
    let scene = scene();
    let mut problems = Vec::new();
    for (words, left, text) in cases {
        let point = format!("{words} left {left}");
        if *words == "worktree add" {
            scene.delete_slots();
        }
        half(&scene, text);
        let workflow = workflow(&scene, &plan("finished", "judge-pass"));
        fs::write(scene.sim().join("workflow"), &workflow).unwrap();
        fs::write(scene.sim().join("git"), format!("half {words}\n")).unwrap();
        let runner = Runner::start(&scene, "here", &[&workflow]);
        problems.extend(worked(&scene, &point, &workflow, runner, 1));
        if scene.sim().join("git").exists() {
            problems.push(format!("{point}: nobody was killed"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// An agent's uncommitted work is kept on the branch of its attempt (its claim of the task), even if a lock of a killed
/// git process first prevents the commit.
#[test]
fn work_in_a_worktree_with_a_lock_of_a_killed_git_is_kept() {
    let scene = scene();
    half(&scene, r#": >"$(git rev-parse --git-dir)/index.lock""#);
    fs::write(scene.sim().join("git"), "half add --all\n").unwrap();
    let workflow = workflow(&scene, &plan("writes", "judge-pass"));
    let ran = Runner::start(&scene, "here", &[&workflow]).end();
    assert!(ran.code < 0, "the runner was not killed: {:#?}", ran.events);
    // While no runner runs, a person releases the task that the killed runner held, and skips the task.
    let shown = scene.json(&["workflow", "show", &workflow, "--include-tasks"]);
    let task = shown["tasks"][0]["id"].as_str().unwrap().to_owned();
    scene.json(&["task", "release", &task]);
    scene.decide(&["task", "status", &task, "skipped", "--reason", "not needed"]);
    let ran = Runner::start(&scene, "here", &[&workflow]).end();
    assert_eq!(ran.code, 0, "{:#?}\n{}", ran.events, ran.stderr);
    assert_eq!(scene.leftovers(), Vec::<String>::new(), "{:#?}", ran.events);
    let kept = scene.git(&["show", &format!("handover/{task}-1:left-{task}.txt")]);
    assert_eq!(kept, format!("by hand, {task}\n"));
}

/// A slot (a worktree that one task after another uses) that the runner cannot give back at once is given back before
/// the run ends.
#[test]
fn a_slot_that_cannot_be_freed_is_freed_later() {
    let scene = scene();
    // The runner is not killed here. A wrapper of git makes one `checkout --detach` fail. That can happen while another
    // git process works in the repository.
    let failing = "echo \"fatal: something else\" >&2; exit 1";
    let git = scene.sim().join("bin/git");
    let text = fs::read_to_string(&git).unwrap();
    let fails = format!(
        "case \"$*\" in *\"checkout --quiet --force --detach\"*) if [ -e {0}/fails ]; then rm {0}/fails; {failing}; fi ;; esac\n",
        scene.sim().display()
    );
    script(&git, &text.replacen("#!/bin/sh\n", &format!("#!/bin/sh\n{fails}"), 1));
    fs::write(scene.sim().join("fails"), "").unwrap();
    let workflow = workflow(&scene, &plan("finished", "judge-pass"));
    let runner = Runner::start(&scene, "here", &[&workflow]);
    assert_eq!(worked(&scene, "a slot that cannot be freed", &workflow, runner, 0), Vec::<String>::new());
    assert!(!scene.sim().join("fails").exists(), "no checkout failed");
}
