//! Tests the removal of worktrees: only Handover's own worktrees are removed, and only when all work is saved.

use std::fs;
use std::os::unix::fs::symlink;

use git::{
    Branch, Dirt, GitProblem, KeptBranch, MadeWorktree, Removal, Removed, TreeState, WorktreeState, remove, state,
};

use crate::scene::{NOW, Scene, alone, commit, git};

fn kept(why: KeptBranch) -> Removed {
    Removed { worktree_removed: true, branch: Branch::Kept(why) }
}

fn deleted(branch: &str, tip: &str) -> Removed {
    let kept_as = removed_reference(NOW, branch, tip);
    Removed { worktree_removed: true, branch: Branch::Deleted { tip: tip.to_owned(), kept_as } }
}

fn removed_reference(time_ms: i64, branch: &str, tip: &str) -> String {
    format!("refs/handover/removed/{time_ms}-{}/{branch}", &tip[..12])
}

/// Returns the references that keep the commits of deleted branches.
fn removed_references(scene: &Scene) -> Vec<String> {
    let listed = scene.git(&["for-each-ref", "--format=%(refname)", "refs/handover/removed"]);
    listed.lines().map(str::to_owned).collect()
}

fn not_merged() -> Removed {
    kept(KeptBranch::NotMerged { base: "main".to_owned() })
}

fn dirty(made: &MadeWorktree, files: &[&str]) -> GitProblem {
    let files = files.iter().map(|&file| file.to_owned()).collect();
    GitProblem::WorkspaceDirty { path: made.path.clone(), dirt: Dirt::Changes { files, more: false } }
}

fn has_branch(scene: &Scene, branch: &str) -> bool {
    scene.git(&["for-each-ref", &format!("refs/heads/{branch}")]).contains(branch)
}

/// Squashes the branch into `main`, that is, commits all its changes as one commit. Returns the new commit.
fn squash(scene: &Scene, branch: &str) -> String {
    scene.git(&["merge", "--quiet", "--squash", branch]);
    scene.git(&["commit", "--quiet", "-m", "squashed"]);
    scene.git(&["rev-parse", "HEAD"])
}

alone! {
    fn what_came_into_the_base_goes_with_its_branch(scene) {
        let made = scene.create("done").await.unwrap();
        let tip = commit(&made.path, "b.txt", "work");
        scene.git(&["merge", "--quiet", "--no-ff", "-m", "merged", "done"]);
        assert_eq!(scene.remove(&made).await, Ok(deleted(&made.branch, &tip)));
        assert_eq!(scene.remains(), ("main".to_owned(), String::new(), Vec::new()));
        // A repeated removal succeeds, and the branch name can be used again.
        assert_eq!(scene.remove(&made).await, Ok(kept(KeptBranch::Gone)));
        scene.create("done").await.unwrap();
    }

    fn a_branch_without_work_goes_too(scene) {
        let made = scene.create("idle").await.unwrap();
        assert_eq!(scene.remove(&made).await, Ok(deleted(&made.branch, &made.base_commit)));
    }

    fn work_that_is_nowhere_else_keeps_its_branch(scene) {
        let made = scene.create("work").await.unwrap();
        let tip = commit(&made.path, "b.txt", "work");
        assert_eq!(scene.remove(&made).await, Ok(not_merged()));
        assert!(!made.path.exists());
        assert_eq!(scene.git(&["rev-parse", "work"]), tip);
        let mut removal = scene.removal(&made);
        removal.force = true;
        assert_eq!(remove(&scene.git, &removal).await, Ok(not_merged()), "force is not for commits");
    }

    fn a_squash_counts_by_its_commit_in_the_base(scene) {
        let made = scene.create("squash").await.unwrap();
        let tip = commit(&made.path, "b.txt", "work");
        scene.git(&["checkout", "--quiet", "-b", "aside"]);
        let aside = scene.commit("c.txt", "elsewhere");
        scene.git(&["checkout", "--quiet", "main"]);
        let merge = squash(&scene, "squash");
        let removal = |merge_commit: &str| {
            Removal { merge_commit: Some(merge_commit.to_owned()), ..scene.removal(&made) }
        };
        for nonsense in ["", "main", "--all", "abc", "HEAD~1", "zzzzzzzzzz", &"0".repeat(65)] {
            let problem = remove(&scene.git, &removal(nonsense)).await.unwrap_err();
            assert!(matches!(problem, GitProblem::InvalidInput { field: "merge_commit", .. }), "{problem:?}");
            assert!(made.path.is_dir());
        }
        let missing = kept(KeptBranch::MergeNotFound { base: "main".to_owned() });
        for other in [aside.as_str(), "0123456789"] {
            assert_eq!(remove(&scene.git, &removal(other)).await, Ok(missing.clone()));
        }
        assert_eq!(scene.remove(&made).await, Ok(not_merged()));
        assert_eq!(remove(&scene.git, &removal(&merge[..10])).await, Ok(deleted(&made.branch, &tip)));
        assert!(!has_branch(&scene, "squash"));
    }

    fn a_merge_commit_of_four_digits_is_enough(scene) {
        let made = scene.create("squash").await.unwrap();
        let tip = commit(&made.path, "b.txt", "work");
        let merge = squash(&scene, "squash");
        let removal = Removal { merge_commit: Some(merge[..4].to_owned()), ..scene.removal(&made) };
        assert_eq!(remove(&scene.git, &removal).await, Ok(deleted("squash", &tip)));
    }

    fn a_merge_commit_before_the_branch_proves_nothing(scene) {
        let made = scene.create("work").await.unwrap();
        let tip = commit(&made.path, "b.txt", "work");
        let main = scene.git(&["rev-parse", "main"]);
        let removal = Removal { merge_commit: Some(main.clone()), ..scene.removal(&made) };
        let expected = kept(KeptBranch::MergeBeforeBranch { merge: main });
        assert_eq!(remove(&scene.git, &removal).await, Ok(expected));
        assert_eq!(scene.git(&["rev-parse", "work"]), tip);
        assert_eq!(removed_references(&scene), [""; 0]);
    }

    fn a_commit_that_holds_nothing_of_the_branch_keeps_it(scene) {
        let made = scene.create("work").await.unwrap();
        commit(&made.path, "b.txt", "work");
        let other = scene.commit("c.txt", "another's work");
        let removal = Removal { merge_commit: Some(other.clone()), ..scene.removal(&made) };
        let expected = kept(KeptBranch::MergeLacks { merge: other, file: Some("b.txt".to_owned()) });
        assert_eq!(remove(&scene.git, &removal).await, Ok(expected));
        assert!(has_branch(&scene, "work"));
    }

    // Each case has the content of a file before the branch, on the branch, and in the commit that is given as the
    // squash commit. The last value is true when that commit contains the branch's change.
    fn a_squash_is_judged_by_what_its_files_hold(scene) {
        let many = |first: &str, last: &str| format!("{first}\n1\n2\n3\n4\n5\n6\n7\n{last}\n");
        let cases = [
            ("same", many("a", "z"), many("b", "z"), many("b", "z"), true),
            ("others_changed_elsewhere", many("a", "z"), many("b", "z"), many("b", "y"), true),
            ("only_others_changed", many("a", "z"), many("b", "z"), many("a", "y"), false),
            ("changed_otherwise", many("a", "z"), many("b", "z"), many("c", "z"), false),
            ("half_of_it", many("a", "z"), many("b", "y"), many("b", "z"), false),
            ("line_deleted", many("a", "z"), many("", "z"), many("a", "y"), false),
            ("binary_differs", "\0a".to_owned(), "\0b".to_owned(), "\0c".to_owned(), false),
        ];
        for (name, before, branch, squashed, holds) in cases {
            let file = format!("{name}.txt");
            // With these attributes and this merge driver, git would report that every merge succeeds. Handover must
            // look only at the content of the files.
            scene.commit(".gitattributes", &format!("{file} merge=union\n*.txt merge=yes # {name}\n"));
            scene.git(&["config", "merge.yes.driver", "true"]);
            scene.commit(&file, &before);
            let made = scene.create(name).await.unwrap();
            let tip = commit(&made.path, &file, &branch);
            let merge = scene.commit(&file, &squashed);
            let removal = Removal { merge_commit: Some(merge.clone()), ..scene.removal(&made) };
            let expected = match holds {
                true => deleted(name, &tip),
                false => kept(KeptBranch::MergeLacks { merge, file: Some(file) }),
            };
            assert_eq!(remove(&scene.git, &removal).await, Ok(expected), "{name}");
        }
    }

    fn a_squash_must_hold_deletions_and_modes(scene) {
        scene.commit("gone.txt", "old");
        scene.commit("tool.sh", "run");
        let made = scene.create("work").await.unwrap();
        git(&made.path, &["rm", "--quiet", "gone.txt"]);
        git(&made.path, &["update-index", "--chmod=+x", "tool.sh"]);
        git(&made.path, &["commit", "--quiet", "-m", "work"]);
        git(&made.path, &["checkout", "--quiet", "--", "."]);
        let partly = scene.commit("more.txt", "more");
        let removal = |merge: &str| Removal { merge_commit: Some(merge.to_owned()), ..scene.removal(&made) };
        let expected = kept(KeptBranch::MergeLacks { merge: partly.clone(), file: Some("gone.txt".to_owned()) });
        assert_eq!(remove(&scene.git, &removal(&partly)).await, Ok(expected));
        scene.git(&["rm", "--quiet", "gone.txt"]);
        let partly = scene.commit("more.txt", "still more");
        let expected = kept(KeptBranch::MergeLacks { merge: partly.clone(), file: Some("tool.sh".to_owned()) });
        assert_eq!(remove(&scene.git, &removal(&partly)).await, Ok(expected));
        let merge = squash(&scene, "work");
        let tip = scene.git(&["rev-parse", "work"]);
        assert_eq!(remove(&scene.git, &removal(&merge)).await, Ok(deleted("work", &tip)));
    }

    fn commits_that_change_no_file_are_not_proved_by_a_squash(scene) {
        let made = scene.create("notes").await.unwrap();
        git(&made.path, &["commit", "--quiet", "--allow-empty", "-m", "a thought"]);
        let merge = scene.commit("c.txt", "else");
        let removal = Removal { merge_commit: Some(merge.clone()), ..scene.removal(&made) };
        assert_eq!(remove(&scene.git, &removal).await, Ok(kept(KeptBranch::MergeLacks { merge, file: None })));
    }

    fn a_deleted_branch_can_be_restored_for_thirty_days(scene) {
        let day = 24 * 60 * 60 * 1_000;
        let made = scene.create("feature/one").await.unwrap();
        let tip = commit(&made.path, "b.txt", "work");
        let merge = squash(&scene, "feature/one");
        let removal = Removal { merge_commit: Some(merge), ..scene.removal(&made) };
        assert_eq!(remove(&scene.git, &removal).await, Ok(deleted("feature/one", &tip)));
        let kept_as = removed_reference(NOW, "feature/one", &tip);
        assert_eq!(removed_references(&scene), std::slice::from_ref(&kept_as));
        scene.git(&["reflog", "expire", "--expire=all", "--all"]);
        scene.git(&["gc", "--quiet", "--prune=now"]);
        scene.git(&["branch", "feature/one", &kept_as]);
        assert_eq!(scene.git(&["show", "feature/one:b.txt"]), "work");
        scene.git(&["branch", "-D", "feature/one"]);
        // The first removal after 30 days deletes the reference of the deleted branch. A reference with a name that
        // Handover did not make stays.
        scene.git(&["update-ref", "refs/handover/removed/notes", &tip]);
        for (time_ms, is_left) in [(NOW + 30 * day, true), (NOW + 30 * day + 1, false)] {
            let other = scene.create("other").await.unwrap();
            let removal = Removal { now_ms: time_ms, ..scene.removal(&other) };
            remove(&scene.git, &removal).await.unwrap();
            assert_eq!(removed_references(&scene).contains(&kept_as), is_left, "{time_ms}");
        }
        assert!(removed_references(&scene).contains(&"refs/handover/removed/notes".to_owned()));
    }

    fn a_base_that_says_nothing_keeps_the_branch(scene) {
        let made = scene.create("b").await.unwrap();
        for base in ["b", "gone"] {
            let removal = Removal { base: Some(base.to_owned()), ..scene.removal(&made) };
            assert_eq!(remove(&scene.git, &removal).await, Ok(kept(KeptBranch::BaseNotFound)), "{base}");
        }
        scene.git(&["checkout", "--quiet", "--detach"]);
        let removal = Removal { base: None, ..scene.removal(&made) };
        assert_eq!(remove(&scene.git, &removal).await, Ok(kept(KeptBranch::BaseNotFound)));
        scene.git(&["checkout", "--quiet", "main"]);
        assert_eq!(remove(&scene.git, &removal).await, Ok(deleted(&made.branch, &made.base_commit)));
    }

    fn uncommitted_work_is_not_removed(scene) {
        let made = scene.create("b").await.unwrap();
        commit(&made.path, "old name.txt", "a text that is long enough to be found again");
        fs::write(made.path.join("a.txt"), "changed").unwrap();
        assert_eq!(scene.remove(&made).await, Err(dirty(&made, &["a.txt"])));
        git(&made.path, &["add", "a.txt"]);
        assert_eq!(scene.remove(&made).await, Err(dirty(&made, &["a.txt"])));
        git(&made.path, &["mv", "old name.txt", "new name.txt"]);
        fs::write(made.path.join("un\ttracked"), "").unwrap();
        scene.git(&["config", "status.showUntrackedFiles", "no"]);
        let problem = scene.remove(&made).await.unwrap_err();
        assert_eq!(problem, dirty(&made, &["a.txt", "new name.txt", "un tracked"]));
        assert_eq!(problem.code(), "WORKSPACE_DIRTY");
        git(&made.path, &["reset", "--quiet", "--hard"]);
        assert_eq!(scene.remove(&made).await, Err(dirty(&made, &["un tracked"])));
        assert!(made.path.join("un\ttracked").is_file());
        let removal = Removal { force: true, ..scene.removal(&made) };
        assert_eq!(remove(&scene.git, &removal).await, Ok(not_merged()));
        assert!(!made.path.exists());
    }

    fn twenty_names_are_enough(scene) {
        let made = scene.create("b").await.unwrap();
        for number in 0..25 {
            fs::write(made.path.join(format!("f{number:02}")), "").unwrap();
        }
        let files: Vec<String> = (0..20).map(|number| format!("f{number:02}")).collect();
        let dirt = Dirt::Changes { files: files.clone(), more: true };
        assert_eq!(scene.remove(&made).await, Err(GitProblem::WorkspaceDirty { path: made.path.clone(), dirt }));
        assert_eq!(state(&scene.git, &made.path).await.unwrap().tree, TreeState::Dirty { files, more: true });
    }

    fn ignored_files_are_no_work(scene) {
        scene.commit(".gitignore", "target\n");
        let made = scene.create("b").await.unwrap();
        fs::create_dir(made.path.join("target")).unwrap();
        fs::write(made.path.join("target/built"), "").unwrap();
        assert_eq!(state(&scene.git, &made.path).await.unwrap().tree, TreeState::Clean);
        assert_eq!(scene.remove(&made).await, Ok(deleted(&made.branch, &made.base_commit)));
        assert!(!made.path.exists());
    }

    fn a_locked_one_is_left_alone(scene) {
        let made = scene.create("b").await.unwrap();
        let path = made.path.to_str().unwrap();
        scene.git(&["worktree", "lock", "--reason", "busy: 3 tests", path]);
        let dirt = Dirt::Locked { reason: "busy: 3 tests".to_owned() };
        let expected = GitProblem::WorkspaceDirty { path: made.path.clone(), dirt };
        assert_eq!(scene.remove(&made).await, Err(expected.clone()));
        // This test moves the worktree's folder away, as if the disk with the folder were not mounted.
        let hidden = scene.beside("hidden");
        fs::rename(&made.path, &hidden).unwrap();
        assert_eq!(scene.remove(&made).await, Err(expected));
        fs::rename(&hidden, &made.path).unwrap();
        let removal = Removal { force: true, ..scene.removal(&made) };
        assert_eq!(remove(&scene.git, &removal).await, Ok(deleted(&made.branch, &made.base_commit)));
        assert_eq!(scene.remains(), ("main".to_owned(), String::new(), Vec::new()));
    }

    fn what_was_deleted_by_hand_counts_as_removed(scene) {
        let [one, two, three] = ["one", "two", "three"];
        let (one, two) = (scene.create(one).await.unwrap(), scene.create(two).await.unwrap());
        let three = scene.create(three).await.unwrap();
        for made in [&one, &two] {
            fs::remove_dir_all(&made.path).unwrap();
        }
        assert_eq!(scene.remove(&one).await, Ok(deleted(&one.branch, &one.base_commit)));
        assert_eq!(scene.remains().1, "three two", "the other registrations stay");
        scene.git(&["worktree", "prune"]);
        assert_eq!(scene.remove(&two).await, Ok(deleted(&two.branch, &two.base_commit)));
        assert!(three.path.is_dir());
    }

    fn what_is_not_ours_stays(scene) {
        let made = scene.create("b").await.unwrap();
        let other = scene.init("other");
        commit(&other, "o.txt", "other");
        git(&other, &["worktree", "add", "--quiet", "-b", "b", "../other-b"]);
        fs::create_dir_all(made.path.join("sub")).unwrap();
        fs::create_dir(scene.worktrees().join("plain")).unwrap();
        let main = || "main".to_owned();
        let removal = scene.removal(&made);
        let table = [
            Removal { path: scene.home.clone(), branch: main(), ..removal.clone() },
            Removal { path: scene.home.clone(), ..removal.clone() },
            Removal { path: scene.home.join(".git"), ..removal.clone() },
            Removal { path: scene.home.parent().unwrap().to_owned(), ..removal.clone() },
            Removal { path: made.path.join("sub"), ..removal.clone() },
            Removal { path: made.path.join("a.txt"), ..removal.clone() },
            Removal { path: made.path.join("../b"), ..removal.clone() },
            Removal { path: "b".into(), ..removal.clone() },
            Removal { path: scene.worktrees(), ..removal.clone() },
            Removal { path: scene.worktrees().join("plain"), ..removal.clone() },
            Removal { path: scene.beside("other-b"), ..removal.clone() },
            Removal { path: other.clone(), branch: main(), ..removal.clone() },
            Removal { repository: other, ..removal.clone() },
            Removal { branch: main(), ..removal.clone() },
            Removal { branch: "c".to_owned(), ..removal.clone() },
        ];
        for removal in table {
            for force in [false, true] {
                let problem = remove(&scene.git, &Removal { force, ..removal.clone() }).await.unwrap_err();
                assert_eq!(problem.code(), "WORKSPACE_NOT_OURS", "{removal:?}: {problem}");
            }
        }
        assert!(scene.beside("other-b/o.txt").is_file() && made.path.join("a.txt").is_file());
        git(&made.path, &["checkout", "--quiet", "--detach"]);
        let problem = scene.remove(&made).await.unwrap_err();
        assert!(problem.to_string().ends_with("it has a commit without a branch checked out instead of b"), "{problem}");
    }

    fn a_link_in_place_of_the_worktree_is_not_followed(scene) {
        let made = scene.create("b").await.unwrap();
        let moved = scene.beside("moved");
        fs::rename(&made.path, &moved).unwrap();
        symlink(&moved, &made.path).unwrap();
        let removal = Removal { force: true, ..scene.removal(&made) };
        assert_eq!(remove(&scene.git, &removal).await.unwrap_err().code(), "WORKSPACE_NOT_OURS");
        assert!(moved.join("a.txt").is_file());
    }

    fn a_folder_that_lost_its_link_is_not_taken_for_the_main_one(scene) {
        let made = scene.create("b").await.unwrap();
        fs::remove_file(made.path.join(".git")).unwrap();
        fs::write(made.path.join("work"), "").unwrap();
        assert_eq!(scene.remove(&made).await.unwrap_err().code(), "WORKSPACE_NOT_OURS");
        let removal = Removal { force: true, ..scene.removal(&made) };
        assert_eq!(remove(&scene.git, &removal).await.unwrap_err().code(), "GIT_FAILED");
        assert!(made.path.join("work").is_file());
    }

    fn a_branch_in_use_elsewhere_stays(scene) {
        let made = scene.create("b").await.unwrap();
        let second = scene.beside("second");
        scene.git(&["worktree", "add", "--quiet", "--force", second.to_str().unwrap(), "b"]);
        assert_eq!(scene.remove(&made).await, Ok(kept(KeptBranch::CheckedOut { path: second.clone() })));
        assert!(second.join("a.txt").is_file() && has_branch(&scene, "b"));
    }

    fn submodules_may_hold_work(scene) {
        let inner = scene.init("inner");
        commit(&inner, "i.txt", "inner");
        scene.git(&["submodule", "--quiet", "add", inner.to_str().unwrap(), "sub"]);
        scene.git(&["commit", "--quiet", "-m", "sub"]);
        let made = scene.create("b").await.unwrap();
        git(&made.path, &["submodule", "--quiet", "update", "--init"]);
        let expected = GitProblem::WorkspaceDirty { path: made.path.clone(), dirt: Dirt::Submodules };
        assert_eq!(scene.remove(&made).await, Err(expected));
        fs::write(made.path.join("sub/i.txt"), "changed").unwrap();
        assert_eq!(scene.remove(&made).await, Err(dirty(&made, &["sub"])));
        let removal = Removal { force: true, ..scene.removal(&made) };
        assert_eq!(remove(&scene.git, &removal).await, Ok(deleted(&made.branch, &made.base_commit)));
    }

    fn from_the_worktree_itself_the_repository_is_found(scene) {
        let made = scene.create("b").await.unwrap();
        let removal = Removal { repository: made.path.clone(), ..scene.removal(&made) };
        assert_eq!(remove(&scene.git, &removal).await, Ok(deleted(&made.branch, &made.base_commit)));
    }

    fn the_state_of_a_worktree(scene) {
        let young = scene.init("young");
        let expected = WorktreeState { branch: Some("main".to_owned()), head: None, tree: TreeState::Clean };
        assert_eq!(state(&scene.git, &young).await, Ok(expected));
        let head = scene.git(&["rev-parse", "HEAD"]);
        scene.git(&["checkout", "--quiet", "--detach"]);
        let expected = WorktreeState { branch: None, head: Some(head), tree: TreeState::Clean };
        assert_eq!(state(&scene.git, &scene.home).await, Ok(expected));
        fs::create_dir(scene.home.join("sub")).unwrap();
        let inner = state(&scene.git, &scene.home.join("sub")).await.unwrap_err();
        assert_eq!(inner.code(), "NOT_A_REPOSITORY", "only the root of a worktree has a state");
    }
}
