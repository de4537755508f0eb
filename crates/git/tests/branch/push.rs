//! Tests pushing a branch for a pull request, to a bare repository on disk, and dropping a branch.

use std::fs;

use git::land::push_branch;
use git::removed::{DROPPED_DAYS, KeptTime, drop_branch};

use crate::scene::{Scene, alone, git, save, script};

const WORK: &str = "handover/1-work";

/// Makes a bare repository as a remote with the given name, and a branch with work.
fn remote(scene: &Scene, name: &str) -> std::path::PathBuf {
    let path = scene.beside(&format!("{name}.git"));
    scene.git(&["init", "--quiet", "--bare", path.to_str().unwrap()]);
    scene.git(&["remote", "add", name, path.to_str().unwrap()]);
    scene.git(&["branch", "--force", WORK]);
    path
}

alone! {
    fn a_branch_is_pushed_and_replaced_with_a_lease(scene) {
        let path = remote(&scene, "origin");
        script(&path.join("hooks/post-receive"), "echo 'Create a pull request: https://example.com/new'");
        script(&scene.home.join(".git/hooks/pre-push"), "exit 1");
        let pushed = push_branch(&scene.git, &scene.home, WORK, (None, None)).await.unwrap();
        assert_eq!((pushed.remote.as_str(), pushed.url.as_str()), ("origin", path.to_str().unwrap()));
        assert_eq!(pushed.said.as_deref(), Some("Create a pull request: https://example.com/new"));
        assert_eq!(pushed.compare_url, None);
        assert_eq!(git(&path, &["rev-parse", WORK]), scene.git(&["rev-parse", WORK]));
        // The local branch gets other commits, as after work that was sent back. The remote still has the commit of the
        // last push, so a new push may replace the branch on the remote.
        scene.git(&["checkout", "--quiet", WORK]);
        scene.git(&["commit", "--quiet", "--amend", "-m", "other"]);
        push_branch(&scene.git, &scene.home, WORK, (None, None)).await.unwrap();
        assert_eq!(git(&path, &["rev-parse", WORK]), scene.git(&["rev-parse", WORK]));
        // A person pushed a commit to the branch on the remote. It must not be lost, so the next push fails.
        let tree = git(&path, &["rev-parse", &format!("{WORK}^{{tree}}")]);
        let theirs = git(&path, &["commit-tree", "-m", "theirs", "-p", WORK, &tree]);
        git(&path, &["update-ref", &format!("refs/heads/{WORK}"), &theirs]);
        save(&scene.home, "more.txt", "more");
        let problem = push_branch(&scene.git, &scene.home, WORK, (None, None)).await.unwrap_err();
        assert!(problem.to_string().contains("stale info"), "{problem}");
        assert_eq!(git(&path, &["rev-parse", WORK]), theirs);
    }

    fn the_remote_of_the_current_branch_is_used(scene) {
        let (origin, fork) = (remote(&scene, "origin"), remote(&scene, "fork"));
        scene.git(&["config", "branch.main.remote", "fork"]);
        let pushed = push_branch(&scene.git, &scene.home, WORK, (None, None)).await.unwrap();
        assert_eq!(pushed.remote, "fork");
        assert!(git(&origin, &["branch", "--list"]).is_empty() && git(&fork, &["branch", "--list"]).contains(WORK));
        let pushed = push_branch(&scene.git, &scene.home, WORK, (Some("origin"), None)).await.unwrap();
        assert_eq!(pushed.remote, "origin");
        for (name, branch) in [("nowhere", WORK), ("--mirror", WORK), ("", WORK), ("origin", "-x")] {
            let problem = push_branch(&scene.git, &scene.home, branch, (Some(name), None)).await.unwrap_err();
            assert_eq!(problem.code(), "INVALID_INPUT", "{name} {branch}");
        }
    }

    fn a_dropped_branch_can_be_brought_back_for_its_days(scene) {
        scene.git(&["branch", WORK]);
        let tip = scene.git(&["rev-parse", WORK]);
        let time = |days: i64| KeptTime { now_ms: 1_000 + days * 86_400_000, days: DROPPED_DAYS };
        let drop = async |branch: &str, days| drop_branch(&scene.git, &scene.home, branch, time(days)).await;
        let dropped = drop(WORK, 0).await.unwrap().unwrap();
        assert_eq!(dropped.tip, tip);
        assert_eq!(drop(WORK, 0).await.unwrap(), None, "a second call finds it dropped");
        let words: Vec<&str> = dropped.restore.strip_prefix("git ").unwrap().split(' ').collect();
        scene.git(&words);
        assert_eq!(scene.git(&["rev-parse", WORK]), tip);
        scene.git(&["branch", "other"]);
        drop("other", 14).await.unwrap();
        assert_eq!(scene.git(&["rev-parse", &dropped.kept_as]), tip, "after exactly 14 days it is still there");
        scene.git(&["branch", "third"]);
        drop("third", 15).await.unwrap();
        let kept = scene.git(&["for-each-ref", "--format=%(refname)", "refs/handover/removed"]);
        assert!(!kept.contains(WORK) && kept.contains("other") && kept.contains("third"), "{kept}");
        assert_eq!(drop("main", 15).await.unwrap_err().code(), "BRANCH_EXISTS");
        assert!(fs::exists(scene.home.join("a.txt")).unwrap());
    }
}
