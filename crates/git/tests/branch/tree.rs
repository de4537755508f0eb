//! Tests how the state of a worktree is stored as a git tree. Checks may leave files, but only the state from before
//! the checks is committed.

use std::fs;

use git::branch::{CommitResult, TaskWorkspace, UncommittedReason, WorktreeTree, commit_tree, restore_tree, tree_of};

use crate::scene::{Scene, alone, author, git, runtime, save};
use crate::stops::{at_each_call, is_stopped, stopped_scene};

/// Returns a worktree with the changes of an agent: changed, new, staged, removed and ignored files.
async fn changed(scene: &Scene) -> TaskWorkspace {
    save(&scene.home, "gone.txt", "gone\n");
    let workspace = scene.workspace("tk_1").await;
    fs::write(workspace.path.join("a.txt"), "changed\n").unwrap();
    fs::write(workspace.path.join("new.txt"), "new\n").unwrap();
    fs::write(workspace.path.join("staged.txt"), "staged\n").unwrap();
    git(&workspace.path, &["add", "staged.txt"]);
    fs::write(workspace.path.join("staged.txt"), "staged, then changed\n").unwrap();
    fs::remove_file(workspace.path.join("gone.txt")).unwrap();
    fs::write(workspace.path.join("noise.log"), "ignored").unwrap();
    workspace
}

/// Writes the files that a check typically leaves in a worktree.
fn check_runs(workspace: &TaskWorkspace) {
    fs::create_dir_all(workspace.path.join("reports/deep")).unwrap();
    fs::write(workspace.path.join("reports/deep/junit.xml"), "<x/>").unwrap();
    fs::write(workspace.path.join("a.txt"), "written by the check\n").unwrap();
    fs::write(workspace.path.join("gone.txt"), "again").unwrap();
    fs::remove_file(workspace.path.join("new.txt")).unwrap();
    fs::write(workspace.path.join("check.log"), "ignored").unwrap();
}

async fn tree(scene: &Scene, workspace: &TaskWorkspace) -> WorktreeTree {
    tree_of(&scene.git, &workspace.path).await.unwrap()
}

alone! {
    fn the_tree_before_the_checks_is_committed_and_restored(scene) {
        let workspace = changed(&scene).await;
        let status = git(&workspace.path, &["status", "--porcelain"]);
        let index = fs::read(scene.home.join(".git/worktrees/1/index")).unwrap();
        let before = tree(&scene, &workspace).await;
        assert_eq!((before.left.len(), before.unmended.len()), (0, 0));
        assert_eq!(fs::read(scene.home.join(".git/worktrees/1/index")).unwrap(), index, "the index is untouched");
        assert_eq!(git(&workspace.path, &["status", "--porcelain"]), status);
        let names = scene.git(&["ls-tree", "-r", "--name-only", &before.tree]);
        assert_eq!(names, ".gitignore\na.txt\nnew.txt\nstaged.txt");
        check_runs(&workspace);
        let done = commit_tree(&scene.git, &workspace, &before.tree, "the work", &author()).await.unwrap();
        let CommitResult::Commit { head, .. } = &done else { panic!("{done:?}") };
        assert_eq!(scene.git(&["rev-parse", &format!("{head}^{{tree}}")]), before.tree);
        assert_eq!(scene.git(&["rev-parse", &workspace.branch]), *head);
        assert_eq!(fs::read_to_string(workspace.path.join("a.txt")).unwrap(), "written by the check\n");
        let again = commit_tree(&scene.git, &workspace, &before.tree, "the work", &author()).await.unwrap();
        assert_eq!(again, CommitResult::Clean { head: head.clone(), left: vec![] });
        assert_eq!(restore_tree(&scene.git, &workspace.path, &before.tree).await.unwrap(), vec![]);
        assert_eq!(git(&workspace.path, &["status", "--porcelain"]), "");
        assert!(!workspace.path.join("reports").exists() && !workspace.path.join("gone.txt").exists());
        assert_eq!(fs::read_to_string(workspace.path.join("staged.txt")).unwrap(), "staged, then changed\n");
        for ignored in ["noise.log", "check.log"] {
            assert!(workspace.path.join(ignored).exists(), "{ignored}");
        }
        assert_eq!(tree(&scene, &workspace).await, before);
    }

    fn a_file_that_the_index_hides_is_in_the_tree(scene) {
        let workspace = scene.workspace("tk_1").await;
        for flag in ["--assume-unchanged", "--skip-worktree"] {
            git(&workspace.path, &["update-index", flag, "a.txt"]);
            fs::write(workspace.path.join("a.txt"), flag).unwrap();
            assert_eq!(git(&workspace.path, &["status", "--porcelain"]), "");
            let found = tree(&scene, &workspace).await.tree;
            assert_eq!(scene.git(&["show", &format!("{found}:a.txt")]), flag);
            git(&workspace.path, &["update-index", &flag.replace("--", "--no-"), "a.txt"]);
        }
    }

    fn the_tree_of_a_merge_has_both_parents_when_it_is_committed(scene) {
        let (one, other) = (scene.workspace("tk_one").await, scene.workspace("tk_other").await);
        scene.merge(&save(&one.path, "a.txt", "ONE\ntwo\nthree\n")).await.unwrap();
        save(&other.path, "a.txt", "OTHER\ntwo\nthree\n");
        scene.bring(&other).await.unwrap();
        assert_eq!(tree(&scene, &other).await.unmended, ["a.txt"]);
        fs::write(other.path.join("a.txt"), "ONE and OTHER\ntwo\nthree\n").unwrap();
        let found = tree(&scene, &other).await;
        assert_eq!(found.unmended, Vec::<String>::new());
        check_runs_in_a_merge(&other);
        let done = commit_tree(&scene.git, &other, &found.tree, "fixed", &author()).await.unwrap();
        let CommitResult::Commit { head, .. } = done else { panic!() };
        assert_eq!(scene.git(&["show", "-s", "--format=%p", &head]).split(' ').count(), 2);
        restore_tree(&scene.git, &other.path, &found.tree).await.unwrap();
        let status = git(&other.path, &["status"]);
        assert!(status.contains("nothing to commit") && !status.contains("merg"), "{status}");
    }

    fn repositories_inside_and_state_are_in_no_tree(scene) {
        let workspace = scene.workspace("tk_1").await;
        fs::create_dir_all(workspace.path.join(".handover/state")).unwrap();
        fs::write(workspace.path.join(".handover/state/token"), "secret").unwrap();
        fs::write(workspace.path.join(".handover/config.toml"), "").unwrap();
        fs::create_dir(workspace.path.join("nested")).unwrap();
        git(&workspace.path.join("nested"), &["init", "--quiet"]);
        save(&workspace.path.join("nested"), "x", "x");
        let before = tree(&scene, &workspace).await;
        assert_eq!(before.left.iter().map(|left| (left.path.as_str(), left.why)).collect::<Vec<_>>(),
            [("nested", UncommittedReason::Submodule)]);
        let names = scene.git(&["ls-tree", "-r", "--name-only", &before.tree]);
        assert_eq!(names, ".gitignore\n.handover/config.toml\na.txt");
        fs::write(workspace.path.join("left"), "").unwrap();
        restore_tree(&scene.git, &workspace.path, &before.tree).await.unwrap();
        assert!(workspace.path.join("nested/x").exists() && workspace.path.join(".handover/state/token").exists());
        assert!(!workspace.path.join("left").exists());
    }

    fn committing_a_tree_can_be_stopped_at_any_call(_scene) {
        at_each_call(4, is_committed);
    }
}

fn check_runs_in_a_merge(workspace: &TaskWorkspace) {
    fs::write(workspace.path.join("report"), "left by the check").unwrap();
}

#[test]
fn committed_in_a_process_of_its_own() {
    let Some(scene) = stopped_scene() else { return };
    runtime().block_on(async {
        let workspace = scene.workspace("tk_1").await;
        let tree = fs::read_to_string(scene.home.with_file_name("tree")).unwrap();
        commit_tree(&scene.git, &workspace, &tree, "the work", &author()).await.unwrap();
        restore_tree(&scene.git, &workspace.path, &tree).await.unwrap();
    });
}

fn is_committed(stop: u32) -> bool {
    const COMMIT: &str = "tree::committed_in_a_process_of_its_own";
    let scene = Scene::new();
    let (workspace, before) = runtime().block_on(async {
        let workspace = changed(&scene).await;
        let before = tree(&scene, &workspace).await;
        (workspace, before)
    });
    fs::write(scene.home.with_file_name("tree"), &before.tree).unwrap();
    check_runs(&workspace);
    let is_stopped_once = is_stopped(COMMIT, &scene.home, stop);
    assert!(!is_stopped(COMMIT, &scene.home, 0), "{stop}");
    assert_eq!(git(&workspace.path, &["status", "--porcelain"]), "", "{stop}");
    assert_eq!(git(&workspace.path, &["log", "--format=%s", "-2"]), "the work\ngone.txt", "{stop}");
    assert_eq!(git(&workspace.path, &["rev-parse", "HEAD^{tree}"]), before.tree, "{stop}");
    is_stopped_once
}
