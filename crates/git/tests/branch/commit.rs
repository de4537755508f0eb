//! Tests the commit that Handover makes of the files in an agent's worktree. Handover commits some files, ignores some,
//! and leaves some to the agent.

use std::fs;

use git::GitProblem;
use git::branch::{Author, CommitResult, TaskWorkspace, UncommittedPath, UncommittedReason, commit};

use crate::scene::{Scene, alone, author, git, save};

fn head(workspace: &TaskWorkspace) -> String {
    git(&workspace.path, &["rev-parse", "HEAD"])
}

fn committed(workspace: &TaskWorkspace, left: Vec<UncommittedPath>) -> Result<CommitResult, GitProblem> {
    Ok(CommitResult::Commit { head: head(workspace), left })
}

fn clean(workspace: &TaskWorkspace, left: Vec<UncommittedPath>) -> Result<CommitResult, GitProblem> {
    Ok(CommitResult::Clean { head: head(workspace), left })
}

fn left(path: &str, why: UncommittedReason) -> UncommittedPath {
    UncommittedPath { path: path.to_owned(), why }
}

async fn conflicted(scene: &Scene) -> TaskWorkspace {
    let (one, other) = (scene.workspace("tk_one").await, scene.workspace("tk_other").await);
    scene.merge(&save(&one.path, "a.txt", "ONE\ntwo\nthree\n")).await.unwrap();
    save(&other.path, "a.txt", "OTHER\ntwo\nthree\n");
    scene.bring(&other).await.unwrap();
    other
}

alone! {
    fn everything_but_the_ignored_is_committed(scene) {
        let workspace = scene.workspace("tk_1").await;
        assert_eq!(scene.commit(&workspace).await, clean(&workspace, vec![]));
        fs::write(workspace.path.join("a.txt"), "changed\n").unwrap();
        fs::create_dir_all(workspace.path.join("deep/er")).unwrap();
        fs::write(workspace.path.join("deep/er/new file \"ü\"\n.txt"), "new").unwrap();
        fs::write(workspace.path.join("noise.log"), "ignored").unwrap();
        fs::write(workspace.path.join("staged"), "staged").unwrap();
        git(&workspace.path, &["add", "staged"]);
        fs::remove_file(workspace.path.join(".gitignore")).unwrap();
        fs::write(workspace.path.join(".gitignore"), "*.log\n").unwrap();
        let before = head(&workspace);
        let done = scene.commit(&workspace).await;
        assert_eq!(done, committed(&workspace, vec![]));
        assert_eq!(git(&workspace.path, &["rev-parse", "HEAD^"]), before);
        assert_eq!(git(&workspace.path, &["status", "--porcelain"]), "");
        let names = git(&workspace.path, &["show", "--name-only", "--format=%an|%ae|%cn|%ce|%s", "HEAD"]);
        let person = "Quinn  the  Tester|quinn@handover";
        assert!(names.starts_with(&format!("{person}|{person}|what the agent left")), "{names}");
        assert!(!names.contains("noise"), "{names}");
        assert!(workspace.path.join("noise.log").exists());
        assert_eq!(scene.commit(&workspace).await, clean(&workspace, vec![]));
        assert_eq!(scene.git(&["status", "--porcelain"]), "");
    }

    fn a_removed_file_is_a_change(scene) {
        let workspace = scene.workspace("tk_1").await;
        fs::remove_file(workspace.path.join("a.txt")).unwrap();
        assert_eq!(scene.commit(&workspace).await, committed(&workspace, vec![]));
        assert_eq!(git(&workspace.path, &["ls-files"]), ".gitignore");
    }

    fn repositories_inside_are_left(scene) {
        let workspace = scene.workspace("tk_1").await;
        for name in ["nested", "empty"] {
            fs::create_dir(workspace.path.join(name)).unwrap();
            git(&workspace.path.join(name), &["init", "--quiet"]);
        }
        save(&workspace.path.join("nested"), "x", "x");
        fs::write(workspace.path.join("mine"), "mine").unwrap();
        let nested = || left("nested", UncommittedReason::Submodule);
        let Ok(CommitResult::Commit { left: found, .. }) = scene.commit(&workspace).await else { panic!() };
        assert!(found.contains(&nested()), "{found:?}");
        assert_eq!(git(&workspace.path, &["show", "--name-only", "--format="]), "mine");
        // Now the agent commits the submodule itself. A further commit inside the submodule is again left to the agent.
        git(&workspace.path, &["add", "nested"]);
        git(&workspace.path, &["commit", "--quiet", "-m", "as the agent wants"]);
        save(&workspace.path.join("nested"), "y", "y");
        let Ok(CommitResult::Clean { left: found, .. }) = scene.commit(&workspace).await else { panic!() };
        assert!(found.contains(&nested()), "{found:?}");
    }

    fn a_worktree_that_is_not_the_tasks_is_refused(scene) {
        let workspace = scene.workspace("tk_1").await;
        let code = async |workspace: &TaskWorkspace| scene.commit(workspace).await.unwrap_err().code();
        git(&workspace.path, &["checkout", "--quiet", "-b", "elsewhere"]);
        fs::write(workspace.path.join("new"), "").unwrap();
        assert_eq!(code(&workspace).await, "WORKSPACE_NOT_OURS");
        git(&workspace.path, &["checkout", "--quiet", "--detach"]);
        assert_eq!(code(&workspace).await, "WORKSPACE_NOT_OURS");
        let person = TaskWorkspace { path: scene.home.clone(), branch: "main".to_owned(), ..workspace.clone() };
        assert_eq!(code(&person).await, "WORKSPACE_NOT_OURS", "the person's own");
        // The test changes the worktree's `.git` file so that it leads to another repository. Then the commit must
        // fail.
        git(&workspace.path, &["checkout", "--quiet", &workspace.branch]);
        let other = Scene::new();
        git(&other.home, &["branch", &workspace.branch]);
        git(&other.home, &["checkout", "--quiet", &workspace.branch]);
        fs::write(workspace.path.join(".git"), format!("gitdir: {}\n", other.home.join(".git").display())).unwrap();
        let before = git(&other.home, &["rev-parse", "HEAD"]);
        assert_eq!(code(&workspace).await, "WORKSPACE_NOT_OURS");
        assert_eq!(git(&other.home, &["rev-parse", "HEAD"]), before);
        fs::remove_file(workspace.path.join(".git")).unwrap();
        assert!(scene.commit(&workspace).await.is_err());
        assert_eq!(scene.git(&["status", "--porcelain"]), "");
    }

    fn odd_authors_and_messages(scene) {
        let workspace = scene.workspace("tk_1").await;
        let names = ["", " ", "<>", "a\nb", "\u{0}", ".", "ünï", "-x", "$(touch x)", "a <b@c> d"];
        for (number, name) in names.into_iter().enumerate() {
            fs::write(workspace.path.join("file"), number.to_string()).unwrap();
            let author = Author { name: name.to_owned(), slug: "quinn".to_owned() };
            let message = "-m --amend\n\n# not a comment\n%s $(x)\n";
            let done = commit(&scene.git, &workspace, message, &author).await;
            assert_eq!(done, committed(&workspace, vec![]), "{name:?}");
            assert_eq!(git(&workspace.path, &["show", "-s", "--format=%B|%ae"]), format!("{message}|quinn@handover"));
        }
        fs::write(workspace.path.join("file"), "last").unwrap();
        let before = head(&workspace);
        for slug in ["", "a b", "a@b", "a>b", "-a", "a\n", "ü"] {
            let author = Author { name: "x".to_owned(), slug: slug.to_owned() };
            let problem = commit(&scene.git, &workspace, "x", &author).await.unwrap_err();
            assert_eq!(problem.code(), "INVALID_INPUT", "{slug:?}");
        }
        for message in ["", " \n", "a\0b", &"x".repeat(1 << 17)] {
            assert_eq!(commit(&scene.git, &workspace, message, &author()).await.unwrap_err().code(), "INVALID_INPUT");
        }
        assert_eq!(head(&workspace), before);
    }

    fn a_conflict_is_committed_when_it_is_mended(scene) {
        let workspace = conflicted(&scene).await;
        let unmended = Ok(CommitResult::Unmended { paths: vec!["a.txt".to_owned()] });
        let before = head(&workspace);
        assert!(fs::read_to_string(workspace.path.join("a.txt")).unwrap().contains("<<<<<<< "));
        assert_eq!(scene.commit(&workspace).await, unmended);
        // A conflict counts as not fixed when the file equals the version on the task's branch, because the agent may
        // never have looked at the file.
        fs::write(workspace.path.join("a.txt"), "OTHER\ntwo\nthree\n").unwrap();
        assert_eq!(scene.commit(&workspace).await, unmended);
        fs::remove_file(workspace.path.join("a.txt")).unwrap();
        assert_eq!(scene.commit(&workspace).await, unmended);
        assert_eq!(head(&workspace), before);
        fs::write(workspace.path.join("a.txt"), "ONE and OTHER\ntwo\nthree\n").unwrap();
        assert_eq!(scene.commit(&workspace).await, committed(&workspace, vec![]));
        assert_eq!(git(&workspace.path, &["show", "-s", "--format=%p"]).split(' ').count(), 2);
        assert_eq!(scene.commit(&workspace).await, clean(&workspace, vec![]));
        scene.merge(&head(&workspace)).await.unwrap();
        assert_eq!(scene.shown("a.txt"), "ONE and OTHER\ntwo\nthree");
    }

    fn a_conflict_that_the_agent_staged_is_mended(scene) {
        let workspace = conflicted(&scene).await;
        fs::write(workspace.path.join("a.txt"), "OTHER\ntwo\nthree\n").unwrap();
        git(&workspace.path, &["add", "a.txt"]);
        assert_eq!(scene.commit(&workspace).await, committed(&workspace, vec![]));
        assert_eq!(git(&workspace.path, &["show", "-s", "--format=%p"]).split(' ').count(), 2);
    }
}
