//! Tests slots, which are worktrees outside of the repository. A slot is used for one piece of work after another.

use std::fs;

use git::branch::{BranchTip, line};
use git::slot::{SlotOrder, SlotPool, SlotUse, TakenSlot};

use crate::scene::{Scene, alone, commit, git, names};

fn pool(scene: &Scene) -> SlotPool {
    SlotPool::of_repository(&scene.beside("data"), &scene.home, |_| "ab12ff".to_owned())
}

async fn take(scene: &Scene, owner: &str, branch: &str, base: &BranchTip) -> TakenSlot {
    pool(scene).take(&scene.git, &scene.home, SlotOrder { owner, branch, base }).await.unwrap()
}

async fn base(scene: &Scene) -> BranchTip {
    line(&scene.git, &scene.home, "wf_1", None).await.unwrap()
}

alone! {
    fn an_owner_finds_its_slot_with_its_files(scene) {
        let base = base(&scene).await;
        let first = take(&scene, "one", "handover/tk_1-1", &base).await;
        assert_eq!(first.path, scene.beside("data/home-ab12/1"));
        assert_eq!(git(&first.path, &["branch", "--show-current"]), "handover/tk_1-1");
        assert_eq!(first.base_commit, base.tip);
        fs::write(first.path.join("work.txt"), "half").unwrap();
        let other = take(&scene, "two", "handover/tk_2-1", &base).await;
        assert_eq!((first.number, other.number), (1, 2));
        assert_eq!(take(&scene, "one", "handover/tk_1-1", &base).await, first);
        assert_eq!(fs::read_to_string(first.path.join("work.txt")).unwrap(), "half");
        assert_eq!(pool(&scene).find(&scene.git, &scene.home, "one").await.unwrap(), Some(first));
        assert_eq!(pool(&scene).find(&scene.git, &scene.home, "three").await.unwrap(), None);
    }

    fn ignored_files_stay_for_the_next_owner_and_others_go(scene) {
        scene.commit(".gitignore", "cache/\n");
        let base = base(&scene).await;
        let first = take(&scene, "one", "handover/tk_1-1", &base).await;
        commit(&first.path, "a.txt", "changed");
        fs::create_dir_all(first.path.join("cache")).unwrap();
        fs::write(first.path.join("cache/warm"), "w").unwrap();
        fs::write(first.path.join("left.txt"), "l").unwrap();
        fs::write(first.path.join("a.txt"), "changed again").unwrap();
        git(&first.path, &["init", "--quiet", "nested"]);
        pool(&scene).free(&scene.git, &scene.home, "one").await.unwrap();
        assert_eq!(pool(&scene).records().unwrap()[0].1.used, SlotUse::Free);
        // The branch is no longer checked out, so git lets it be deleted.
        scene.git(&["branch", "-D", "handover/tk_1-1"]);
        let second = take(&scene, "two", "handover/tk_2-1", &base).await;
        assert_eq!(second.number, 1);
        assert_eq!(fs::read_to_string(second.path.join("a.txt")).unwrap(), "one");
        assert_eq!(names(&second.path), [".git", ".gitignore", "a.txt", "cache"]);
        assert!(second.path.join("cache/warm").exists());
    }

    fn a_worktree_that_was_not_finished_is_made_again(scene) {
        let base = base(&scene).await;
        let taken = take(&scene, "one", "handover/tk_1-1", &base).await;
        let record = scene.beside("data/home-ab12/1.json");
        let text = fs::read_to_string(&record).unwrap();
        fs::write(&record, text.replace("\"used\",\"owner\"", "\"making\",\"owner\"")).unwrap();
        assert!(matches!(pool(&scene).records().unwrap()[0].1.used, SlotUse::Making { .. }));
        fs::write(scene.home.join(".git/worktrees/1/index.lock"), "").unwrap();
        fs::write(taken.path.join("half.txt"), "").unwrap();
        assert_eq!(pool(&scene).find(&scene.git, &scene.home, "one").await.unwrap(), None);
        let again = take(&scene, "one", "handover/tk_1-1", &base).await;
        assert_eq!(again, taken);
        assert_eq!(names(&again.path), [".git", "a.txt"]);
    }

    fn a_worktree_that_a_person_deleted_is_made_again(scene) {
        let base = base(&scene).await;
        let taken = take(&scene, "one", "handover/tk_1-1", &base).await;
        fs::remove_dir_all(&taken.path).unwrap();
        assert_eq!(take(&scene, "one", "handover/tk_1-1", &base).await, taken);
        fs::remove_dir_all(scene.beside("data")).unwrap();
        assert_eq!(take(&scene, "one", "handover/tk_1-1", &base).await, taken);
    }

    fn a_branch_with_work_is_not_overwritten(scene) {
        let base = base(&scene).await;
        let taken = take(&scene, "one", "handover/tk_1-1", &base).await;
        let work = commit(&taken.path, "b.txt", "work");
        pool(&scene).free(&scene.git, &scene.home, "one").await.unwrap();
        let order = SlotOrder { owner: "two", branch: "handover/tk_1-1", base: &base };
        let refused = pool(&scene).take(&scene.git, &scene.home, order).await.unwrap_err();
        assert_eq!(refused.code(), "BRANCH_EXISTS");
        assert_eq!(scene.git(&["rev-parse", "handover/tk_1-1"]), work);
    }

    fn owners_that_come_at_once_get_different_slots(scene) {
        let base = base(&scene).await;
        let names: Vec<(String, String)> = (0..6).map(|n| (format!("o{n}"), format!("handover/tk_{n}-1"))).collect();
        let takes = names.iter().map(|(owner, branch)| take(&scene, owner, branch, &base));
        let mut numbers = Vec::new();
        for taken in futures(takes).await {
            numbers.push(taken.number);
        }
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    }
}

/// Runs futures at the same time and returns their results in order.
async fn futures<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut all: Vec<_> = all.map(Box::pin).collect();
    let mut done: Vec<Option<T>> = all.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, done) in all.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *done = Some(value);
            }
        }
        if done.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}
