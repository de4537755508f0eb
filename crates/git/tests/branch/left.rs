//! Tests the work that an agent left in its slot (worktree) outside of its own branch: on a commit without a branch, on
//! another branch, or in the middle of a rebase. All of it must be on a branch before the slot is freed.

use std::fs;

use git::branch::TaskWorkspace;
use git::remnant::clean_shared;
use git::slot::{SavedWork, SlotUse};

use crate::scene::{Scene, alone, git, program, runtime, save, script};
use crate::stops::{at_each_call, is_stopped, stopped_scene};

const TASK: &str = "tk_left";

fn show(scene: &Scene, branch: &str, file: &str) -> String {
    scene.git(&["show", &format!("{branch}:{file}")])
}

/// Returns a slot (worktree) in the middle of a rebase with a conflict. The branch of the slot has one commit.
async fn in_a_rebase(scene: &Scene) -> TaskWorkspace {
    let workspace = scene.workspace(TASK).await;
    save(&workspace.path, "a.txt", "AGENT\ntwo\nthree\n");
    save(&scene.home, "a.txt", "PERSON\ntwo\nthree\n");
    let mut rebase = program(std::path::Path::new("git"));
    rebase.current_dir(&workspace.path).args(["-c", "user.name=T", "-c", "user.email=t@x", "rebase", "main"]);
    assert!(!rebase.output().unwrap().status.success(), "the rebase must stop at a conflict");
    fs::write(workspace.path.join("a.txt"), "BOTH\ntwo\nthree\n").unwrap();
    fs::write(workspace.path.join("new"), "half").unwrap();
    workspace
}

async fn free(scene: &Scene) -> Option<SavedWork> {
    let saved = scene.pool().free(&scene.git, &scene.home, TASK).await.unwrap();
    assert_eq!(scene.pool().records().unwrap()[0].1.used, SlotUse::Free);
    saved
}

alone! {
    fn commits_and_files_on_a_detached_head_come_to_the_branch(scene) {
        for is_restart in [true, false] {
            let workspace = scene.workspace(TASK).await;
            git(&workspace.path, &["checkout", "--quiet", "--detach"]);
            let commit = save(&workspace.path, "committed", "c");
            fs::write(workspace.path.join("uncommitted"), "u").unwrap();
            fs::write(workspace.path.join("noise.log"), "ignored").unwrap();
            if is_restart {
                assert_eq!(scene.slot(TASK).await.unwrap(), workspace);
                assert_eq!(git(&workspace.path, &["status", "--porcelain", "--branch"]), format!("## {}", workspace.branch));
                assert_eq!(fs::read_to_string(workspace.path.join("uncommitted")).unwrap(), "u");
                assert!(workspace.path.join("noise.log").exists());
            } else {
                assert_eq!(free(&scene).await.unwrap().branch, workspace.branch);
            }
            assert_eq!(show(&scene, &workspace.branch, "committed"), "c");
            assert_eq!(show(&scene, &workspace.branch, "uncommitted"), "u");
            assert_eq!(scene.git(&["rev-parse", &format!("{}^", workspace.branch)]), commit);
            free(&scene).await;
            scene.git(&["branch", "-D", &workspace.branch]);
        }
    }

    fn a_rebase_in_progress_comes_to_a_second_branch(scene) {
        let workspace = in_a_rebase(&scene).await;
        let before = scene.git(&["rev-parse", &workspace.branch]);
        let second = format!("{}-left", workspace.branch);
        let saved = free(&scene).await.unwrap();
        assert_eq!(saved.branch, second);
        assert_eq!(scene.git(&["rev-parse", &second]), saved.commit);
        assert_eq!(scene.git(&["rev-parse", &workspace.branch]), before, "the branch keeps its own commit");
        assert_eq!(show(&scene, &second, "a.txt"), "BOTH\ntwo\nthree");
        assert_eq!(show(&scene, &second, "new"), "half");
        let next = scene.workspace("tk_next").await;
        assert_eq!(next.path, workspace.path);
        let status = git(&next.path, &["status"]);
        assert!(!status.contains("rebas") && status.contains("nothing to commit"), "{status}");
    }

    fn work_on_another_branch_is_named(scene) {
        let workspace = scene.workspace(TASK).await;
        git(&workspace.path, &["checkout", "--quiet", "-b", "fix-login"]);
        let commit = save(&workspace.path, "committed", "c");
        let saved = scene.pool().save(&scene.git, &scene.home, TASK).await.unwrap();
        assert_eq!(saved, Some(SavedWork { branch: "fix-login".to_owned(), commit: commit.clone() }));
        assert_eq!(git(&workspace.path, &["branch", "--show-current"]), workspace.branch);
        // Now the agent also leaves a file that it did not commit.
        git(&workspace.path, &["checkout", "--quiet", "fix-login"]);
        fs::write(workspace.path.join("uncommitted"), "u").unwrap();
        let saved = free(&scene).await.unwrap();
        assert_eq!(saved.branch, format!("{}-left", workspace.branch));
        assert_eq!(show(&scene, &saved.branch, "uncommitted"), "u");
        assert_eq!(scene.git(&["rev-parse", "fix-login"]), commit, "the agent's own branch does not move");
    }

    fn commits_of_others_do_not_come_to_the_branch(scene) {
        let workspace = scene.workspace(TASK).await;
        scene.git(&["checkout", "--quiet", "-b", "develop"]);
        save(&scene.home, "of-a-person", "p");
        git(&workspace.path, &["checkout", "--quiet", "--detach", "develop"]);
        let before = scene.git(&["rev-parse", &workspace.branch]);
        assert!(scene.pool().save(&scene.git, &scene.home, TASK).await.unwrap().is_some_and(|saved| saved.branch == "develop"));
        git(&workspace.path, &["checkout", "--quiet", "--detach", "develop"]);
        fs::write(workspace.path.join("a.txt"), "changed").unwrap();
        assert_eq!(free(&scene).await.unwrap().branch, format!("{}-left", workspace.branch));
        assert_eq!(scene.git(&["rev-parse", &workspace.branch]), before);
    }

    fn a_slot_without_its_link_to_git_is_saved(scene) {
        for is_unregistered in [false, true] {
            let workspace = scene.workspace(TASK).await;
            fs::write(workspace.path.join("new"), "work").unwrap();
            fs::remove_file(workspace.path.join(".git")).unwrap();
            if is_unregistered {
                fs::remove_dir_all(scene.home.join(".git/worktrees")).unwrap();
            }
            git(&workspace.path.join(".."), &["init", "--quiet", "elsewhere"]);
            free(&scene).await;
            assert_eq!(show(&scene, &workspace.branch, "new"), "work", "unregistered: {is_unregistered}");
            scene.git(&["branch", "-D", &workspace.branch]);
        }
    }

    fn a_slot_with_a_file_that_no_commit_can_have_stays(scene) {
        let workspace = scene.workspace(TASK).await;
        git(&workspace.path, &["checkout", "--quiet", "--detach"]);
        fs::write(workspace.path.join("new"), "work").unwrap();
        fs::create_dir(workspace.path.join("nested")).unwrap();
        git(&workspace.path.join("nested"), &["init", "--quiet"]);
        save(&workspace.path.join("nested"), "x", "x");
        let problem = scene.pool().free(&scene.git, &scene.home, TASK).await.unwrap_err();
        assert_eq!(problem.code(), "WORKSPACE_DIRTY");
        assert!(problem.to_string().contains("nested"), "{problem}");
        assert!(workspace.path.join("new").exists() && workspace.path.join("nested/x").exists());
    }

    fn a_lock_of_a_git_that_works_in_a_slot_stays(scene) {
        let workspace = scene.workspace(TASK).await;
        let lock = scene.home.join(".git/refs/heads/handover/tk_other-1.lock");
        fs::write(&lock, "").unwrap();
        // This git process keeps running during the test, because it waits for standard input.
        let mut waiting = program(std::path::Path::new("git"));
        waiting.current_dir(&workspace.path).args(["hash-object", "--stdin"]);
        let mut waiting = waiting.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
        assert_eq!(clean_shared(&scene.git, &scene.home, "handover").await.unwrap(), Vec::<std::path::PathBuf>::new());
        assert!(lock.exists());
        drop(waiting.stdin.take());
        waiting.wait().unwrap();
        assert_eq!(clean_shared(&scene.git, &scene.home, "handover").await.unwrap(), [lock]);
    }

    fn saving_can_be_stopped_at_any_call(_scene) {
        at_each_call(10, is_saved);
    }
}

#[test]
fn saved_in_a_process_of_its_own() {
    let Some(scene) = stopped_scene() else { return };
    runtime().block_on(async { scene.pool().free(&scene.git, &scene.home, TASK).await.unwrap() });
}

/// Frees a slot (worktree) in a process that is killed at git call number `stop`, and then frees the slot again. Checks
/// that the agent's work is on one additional branch. Returns false when there was no such git call.
fn is_saved(stop: u32) -> bool {
    const SAVE: &str = "left::saved_in_a_process_of_its_own";
    let scene = Scene::new();
    let workspace = runtime().block_on(in_a_rebase(&scene));
    script(&scene.home.with_file_name("counting-git"), "exec git \"$@\"");
    let is_stopped_once = is_stopped(SAVE, &scene.home, stop);
    assert!(!is_stopped(SAVE, &scene.home, 0), "{stop}");
    let second = format!("{}-left", workspace.branch);
    assert_eq!(show(&scene, &second, "a.txt"), "BOTH\ntwo\nthree", "{stop}");
    assert_eq!(show(&scene, &workspace.branch, "a.txt"), "AGENT\ntwo\nthree", "{stop}");
    let branches = scene.git(&["branch", "--list", "--format=%(refname:short)", &format!("{}*", workspace.branch)]);
    assert_eq!(branches, format!("{}\n{second}", workspace.branch), "{stop}");
    is_stopped_once
}
