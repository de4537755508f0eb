//! Tests merges into the workflow's branch. Such a merge must not change any checked-out files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use git::GitProblem;
use git::branch::{BranchTip, MergeResult, is_merged, line, merge, task_branch, workflow_branch};

use crate::scene::{Scene, WORKFLOW, alone, git, save};

fn conflict(paths: &[&str]) -> Result<MergeResult, GitProblem> {
    Ok(MergeResult::Conflict { paths: paths.iter().map(|&path| path.to_owned()).collect(), more: false })
}

/// Returns the state of a worktree that a person would notice: its commit, its status and the content of a file.
fn checkout(path: &Path) -> (String, String, String) {
    let text = fs::read_to_string(path.join("a.txt")).unwrap();
    (git(path, &["rev-parse", "HEAD"]), git(path, &["status", "--porcelain", "--branch"]), text)
}

alone! {
    fn a_line_begins_at_its_base_and_stays(scene) {
        let first = scene.git(&["rev-parse", "HEAD"]);
        let made = scene.line().await;
        assert_eq!(made, BranchTip { branch: workflow_branch(WORKFLOW), tip: first.clone() });
        let second = save(&scene.home, "b.txt", "b");
        assert_eq!(scene.line().await.tip, first);
        let other = line(&scene.git, &scene.home, "handover/wf_other", Some("main")).await.unwrap();
        assert_eq!(other.tip, second);
        let old = line(&scene.git, &scene.home, "handover/wf_old", Some(&first)).await.unwrap();
        assert_eq!(old.tip, first);
        let lost = line(&scene.git, &scene.home, "handover/wf_lost", Some("nowhere")).await.unwrap_err();
        assert_eq!(lost.code(), "BASE_NOT_FOUND");
        for id in ["", "a/", "..", "-x", "a b", "a.lock", "a\n"] {
            assert_eq!(line(&scene.git, &scene.home, id, None).await.unwrap_err().code(), "INVALID_INPUT", "{id:?}");
        }
    }

    fn a_branch_in_the_way_is_named(scene) {
        scene.git(&["branch", "handover"]);
        let problem = line(&scene.git, &scene.home, &workflow_branch(WORKFLOW), None).await.unwrap_err();
        assert!(problem.to_string().contains("because the branch handover exists"), "{problem}");
    }

    fn a_workspace_is_found_again(scene) {
        let one = scene.workspace("tk_1").await;
        fs::write(one.path.join("work"), "work").unwrap();
        assert_eq!(scene.workspace("tk_1").await, one);
        assert!(one.path.join("work").exists());
        // This test creates only the task's branch and no worktree, like a runner that was stopped after it created the
        // branch.
        scene.git(&["branch", &task_branch("tk_2", 1)]);
        assert!(scene.workspace("tk_2").await.path.is_dir());
        // A task's branch that has work but no worktree is not replaced.
        save(&one.path, "work", "work");
        scene.git(&["worktree", "remove", one.path.to_str().unwrap()]);
        let problem = scene.slot("tk_1").await.unwrap_err();
        assert_eq!(problem, GitProblem::BranchExists { branch: one.branch, checked_out: None });
    }

    fn heads_come_in_one_after_the_other(scene) {
        fs::write(scene.home.join("a.txt"), "the person's own change\n").unwrap();
        let before = checkout(&scene.home);
        let (one, other) = (scene.workspace("tk_one").await, scene.workspace("tk_other").await);
        let base = scene.line().await.tip;
        assert_eq!(scene.merge(&base).await, Ok(MergeResult::Already { tip: base }));
        let first = save(&one.path, "one", "1");
        assert!(!is_merged(&scene.git, &scene.request(&first)).await.unwrap());
        assert_eq!(scene.merge(&first).await, Ok(MergeResult::FastForward { tip: first.clone() }));
        assert!(is_merged(&scene.git, &scene.request(&first)).await.unwrap());
        let second = save(&other.path, "other", "2");
        let watched = checkout(&other.path);
        let Ok(MergeResult::Merge { tip }) = scene.merge(&second).await else { panic!() };
        assert_eq!(scene.line().await.tip, tip);
        let shown = scene.git(&["show", "-s", "--format=%P|%an|%ae|%s", &tip]);
        assert_eq!(shown, format!("{first} {second}|Quinn  the  Tester|quinn@handover|merge the task"));
        assert_eq!((scene.shown("one"), scene.shown("other")), ("1".to_owned(), "2".to_owned()));
        assert_eq!(scene.merge(&second).await, Ok(MergeResult::Already { tip }));
        assert_eq!(checkout(&scene.home), before);
        assert_eq!(checkout(&other.path), watched);
    }

    fn a_conflict_changes_nothing_and_goes_back(scene) {
        let (one, other) = (scene.workspace("tk_one").await, scene.workspace("tk_other").await);
        save(&one.path, "b", "one's");
        let first = save(&one.path, "a.txt", "ONE\ntwo\nthree\n");
        scene.merge(&first).await.unwrap();
        save(&other.path, "b", "other's");
        let second = save(&other.path, "a.txt", "OTHER\ntwo\nthree\n");
        let before = (checkout(&scene.home), checkout(&other.path));
        assert_eq!(scene.merge(&second).await, conflict(&["a.txt", "b"]));
        assert_eq!(scene.line().await.tip, first);
        assert_eq!((checkout(&scene.home), checkout(&other.path)), before);
        assert_eq!(scene.bring(&other).await, conflict(&["a.txt", "b"]));
        assert_eq!(scene.bring(&other).await, conflict(&["a.txt", "b"]), "begun once");
        assert_eq!(scene.line().await.tip, first);
        assert_eq!(checkout(&scene.home), before.0);
    }

    fn what_does_not_conflict_is_brought(scene) {
        let (one, other) = (scene.workspace("tk_one").await, scene.workspace("tk_other").await);
        let first = save(&one.path, "one", "1");
        scene.merge(&first).await.unwrap();
        fs::write(other.path.join("a.txt"), "dirty").unwrap();
        assert_eq!(scene.bring(&other).await.unwrap_err().code(), "WORKSPACE_DIRTY");
        git(&other.path, &["checkout", "--quiet", "a.txt"]);
        assert_eq!(scene.bring(&other).await, Ok(MergeResult::FastForward { tip: first.clone() }));
        assert_eq!(scene.bring(&other).await, Ok(MergeResult::Already { tip: first }));
        let second = save(&other.path, "other", "2");
        scene.merge(&save(&one.path, "more", "3")).await.unwrap();
        let Ok(MergeResult::Merge { tip }) = scene.bring(&other).await else { panic!() };
        assert_eq!(git(&other.path, &["rev-parse", "HEAD", "HEAD^"]), format!("{tip}\n{second}"));
        assert_eq!(scene.merge(&tip).await, Ok(MergeResult::FastForward { tip }));
    }

    fn a_branch_that_somebody_looks_at_does_not_move(scene) {
        let one = scene.workspace("tk_one").await;
        let head = save(&one.path, "one", "1");
        let path = scene.beside("looking");
        scene.git(&["worktree", "add", "--quiet", path.to_str().unwrap(), &workflow_branch(WORKFLOW)]);
        assert_eq!(scene.merge(&head).await, Ok(MergeResult::CheckedOut { path: path.clone() }));
        assert_eq!(git(&path, &["status", "--porcelain"]), "");
    }

    fn a_head_that_is_none_is_refused(scene) {
        scene.line().await;
        for head in ["", "main", "HEAD", "--all", "0123456", &"0".repeat(40), &"f".repeat(40)] {
            assert_eq!(scene.merge(head).await.unwrap_err().code(), "INVALID_INPUT", "{head}");
        }
    }

    fn two_at_once_lose_nothing(scene) {
        let scene = Arc::new(scene);
        let base = scene.line().await.tip;
        for round in 0..50 {
            let mut mergers = tokio::task::JoinSet::new();
            let mut heads = Vec::new();
            for number in 0..2 {
                let tree = scene.git(&["write-tree"]);
                let blob = format!("{round}-{number}");
                // Each commit adds a different file. The commits are made without a worktree.
                let object = scene.beside(&blob);
                fs::write(&object, &blob).unwrap();
                let id = scene.git(&["hash-object", "-w", object.to_str().unwrap()]);
                let index = scene.beside("index");
                let mut command = crate::scene::program(Path::new("sh"));
                let script = "git read-tree $1 && git update-index --add --cacheinfo 100644,$2,$3 && git write-tree";
                command.args(["-c", script, "sh", &tree, &id, &blob]);
                command.env("GIT_INDEX_FILE", index).current_dir(&scene.home);
                let tree = String::from_utf8(command.output().unwrap().stdout).unwrap().trim().to_owned();
                let head = scene.git(&["commit-tree", "-p", &base, "-m", &blob, &tree]);
                heads.push(head.clone());
                let scene: Arc<Scene> = Arc::clone(&scene);
                mergers.spawn(async move { merge(&scene.git, &scene.request(&head)).await });
            }
            while let Some(merged) = mergers.join_next().await {
                let merged = merged.unwrap().unwrap();
                assert!(matches!(merged, MergeResult::Merge { .. } | MergeResult::FastForward { .. }), "{merged:?}");
            }
            for head in heads {
                assert!(is_merged(&scene.git, &scene.request(&head)).await.unwrap(), "{round}");
            }
        }
        assert_eq!(scene.git(&["ls-tree", "--name-only", &workflow_branch(WORKFLOW)]).lines().count(), 2 + 100);
        assert_eq!(scene.git(&["status", "--porcelain"]), "");
    }
}
