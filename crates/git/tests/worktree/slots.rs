//! Tests slots: worktrees outside of the repository, each of which is used for one task after another.

use std::fs;

use git::GitProblem;
use git::branch::{BranchTip, line};
use git::slot::{ExistingBranch, GivenUpSlot, SlotOrder, SlotPool, SlotReset, SlotUse, TakenSlot};

use crate::scene::{Scene, alone, commit, git, names};

fn pool(scene: &Scene) -> SlotPool {
    SlotPool::of_repository(&scene.beside("data"), &scene.home, |_| "ab12ff".to_owned())
}

async fn take(scene: &Scene, owner: &str, branch: &str, base: &BranchTip) -> TakenSlot {
    pool(scene).take(&scene.git, &scene.home, order(owner, branch, base)).await.unwrap()
}

fn order<'a>(owner: &'a str, branch: &'a str, base: &'a BranchTip) -> SlotOrder<'a> {
    SlotOrder { owner, branch, base, existing: ExistingBranch::Refuse, limit: None, now_ms: 1_000 }
}

/// Takes a slot (a reusable worktree) for an owner, when at most two slots are allowed.
async fn take_of_two(scene: &Scene, owner: &str, base: &BranchTip) -> Result<TakenSlot, GitProblem> {
    let branch = format!("handover/{owner}");
    let order = SlotOrder { existing: ExistingBranch::Continue, limit: Some(2), ..order(owner, &branch, base) };
    pool(scene).take(&scene.git, &scene.home, order).await
}

async fn base(scene: &Scene) -> BranchTip {
    line(&scene.git, &scene.home, "handover/wf_1", None).await.unwrap()
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
        // The branch is no longer checked out in the slot (worktree), so git can delete it.
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
        let wanted = order("two", "handover/tk_1-1", &base);
        let refused = pool(&scene).take(&scene.git, &scene.home, wanted).await.unwrap_err();
        assert_eq!(refused.code(), "BRANCH_EXISTS");
        assert_eq!(scene.git(&["rev-parse", "handover/tk_1-1"]), work);
        // With `Continue`, an owner gets its existing branch with the commits on it.
        let wanted = SlotOrder { existing: ExistingBranch::Continue, ..wanted };
        let continued = pool(&scene).take(&scene.git, &scene.home, wanted).await.unwrap();
        assert_eq!(git(&continued.path, &["rev-parse", "HEAD"]), work);
        assert_eq!(continued.base_commit, base.tip);
    }

    fn the_longest_kept_slot_is_given_up_at_the_limit(scene) {
        let base = base(&scene).await;
        for owner in ["one", "two"] {
            let taken = take_of_two(&scene, owner, &base).await.unwrap();
            assert_eq!(taken.gave_up, None);
            fs::write(taken.path.join("work.txt"), owner).unwrap();
        }
        let refused = take_of_two(&scene, "three", &base).await.unwrap_err();
        assert_eq!(refused, GitProblem::SlotsUsed { limit: 2, used: 2, reason: None });
        assert_eq!(refused.to_string(), "2 of at most 2 worktrees are used, and none can be given up");
        pool(&scene).keep("one", 30).unwrap();
        pool(&scene).keep("two", 20).unwrap();
        let third = take_of_two(&scene, "three", &base).await.unwrap();
        assert_eq!(third.number, 2);
        let gave_up = GivenUpSlot { number: 2, owner: "two".to_owned(), branch: "handover/two".to_owned(), saved: None };
        assert_eq!(third.gave_up, Some(gave_up));
        assert_eq!(scene.git(&["show", "handover/two:work.txt"]), "two");
        assert_eq!(names(&third.path), [".git", "a.txt"]);
        // The owner `two` has lost its slot (worktree). It continues in another slot, with its work.
        let again = take_of_two(&scene, "two", &base).await.unwrap();
        assert_eq!((again.number, again.gave_up.unwrap().owner), (1, "one".to_owned()));
        assert_eq!(fs::read_to_string(again.path.join("work.txt")).unwrap(), "two");
        assert_eq!(scene.git(&["show", "handover/one:work.txt"]), "one");
        let refused = take_of_two(&scene, "one", &base).await.unwrap_err();
        assert_eq!(refused.code(), "SLOTS_USED", "no running owner loses its slot");
    }

    fn a_slot_whose_work_no_commit_can_have_is_not_given_up(scene) {
        let base = base(&scene).await;
        for owner in ["one", "two"] {
            let taken = take_of_two(&scene, owner, &base).await.unwrap();
            git(&taken.path, &["init", "--quiet", "nested"]);
            commit(&taken.path.join("nested"), "n.txt", "nested");
            pool(&scene).keep(owner, 1).unwrap();
        }
        let refused = take_of_two(&scene, "three", &base).await.unwrap_err();
        assert!(refused.to_string().contains("nested"), "{refused}");
        fs::remove_dir_all(scene.beside("data/home-ab12/2/nested")).unwrap();
        assert_eq!(take_of_two(&scene, "three", &base).await.unwrap().number, 2);
    }

    fn taking_a_kept_slot_again_ends_the_wait(scene) {
        let base = base(&scene).await;
        take(&scene, "one", "handover/tk_1-1", &base).await;
        pool(&scene).keep("one", 5_000).unwrap();
        pool(&scene).keep("one", 6_000).unwrap();
        let listed = pool(&scene).list().unwrap();
        assert_eq!((listed[0].number, &listed[0].path), (1, &scene.beside("data/home-ab12/1")));
        assert_eq!((listed[0].record.kept, listed[0].record.since_ms), (true, Some(5_000)));
        assert_eq!(listed[0].record.used.owner(), Some("one"));
        take(&scene, "one", "handover/tk_1-1", &base).await;
        let record = &pool(&scene).records().unwrap()[0].1;
        assert_eq!((record.kept, record.since_ms), (false, Some(1_000)));
    }

    fn an_owner_that_waits_too_long_gives_its_slot_up(scene) {
        let base = base(&scene).await;
        for (owner, since) in [("one", 100), ("two", 200)] {
            let taken = take_of_two(&scene, owner, &base).await.unwrap();
            fs::write(taken.path.join("work.txt"), owner).unwrap();
            pool(&scene).keep(owner, since).unwrap();
        }
        let gave_up = pool(&scene).give_up_before(&scene.git, &scene.home, 200).await.unwrap();
        assert_eq!(gave_up.iter().map(|slot| slot.owner.as_str()).collect::<Vec<_>>(), ["one"]);
        assert_eq!(scene.git(&["show", "handover/one:work.txt"]), "one");
        scene.git(&["branch", "-D", "handover/one"]);
        let records = pool(&scene).records().unwrap();
        assert_eq!(records.iter().map(|(_, record)| record.used.owner()).collect::<Vec<_>>(), [None, Some("two")]);
    }

    fn a_record_of_version_0_1_is_read(scene) {
        let base = base(&scene).await;
        let taken = take(&scene, "one", "handover/tk_1-1", &base).await;
        let old = format!(
            r#"{{"used":{{"state":"used","owner":"one","branch":"handover/tk_1-1","base":"{}"}}}}"#, base.tip
        );
        fs::write(scene.beside("data/home-ab12/1.json"), old).unwrap();
        let again = take(&scene, "one", "handover/tk_1-1", &base).await;
        assert_eq!(again.path, taken.path);
        assert!(again.ports.is_some());
    }

    fn each_slot_keeps_its_own_ports_and_its_setup(scene) {
        let base = base(&scene).await;
        let first = take(&scene, "one", "handover/tk_1-1", &base).await;
        let second = take(&scene, "two", "handover/tk_2-1", &base).await;
        assert!(first.ports.unwrap().numbers().all(|port| second.ports.unwrap().numbers().all(|other| port != other)));
        assert_eq!(first.ports.unwrap().numbers().count(), 10);
        assert_eq!(first.setup, None);
        pool(&scene).record_setup(1, Some("lock file 7")).unwrap();
        pool(&scene).free(&scene.git, &scene.home, "one").await.unwrap();
        let third = take(&scene, "three", "handover/tk_3-1", &base).await;
        assert_eq!((third.number, third.ports, third.setup.as_deref()), (1, first.ports, Some("lock file 7")));
        // A worktree that was deleted and made again has no recorded setup.
        pool(&scene).free(&scene.git, &scene.home, "three").await.unwrap();
        fs::remove_dir_all(&third.path).unwrap();
        let fourth = take(&scene, "four", "handover/tk_4-1", &base).await;
        assert_eq!((fourth.number, fourth.ports, fourth.setup), (1, first.ports, None));
    }

    fn a_reset_slot_is_made_new(scene) {
        scene.commit(".gitignore", "cache\n");
        let base = base(&scene).await;
        let first = take(&scene, "one", "handover/tk_1-1", &base).await;
        take(&scene, "two", "handover/tk_2-1", &base).await;
        fs::write(first.path.join("cache"), "stale").unwrap();
        pool(&scene).record_setup(1, Some("old")).unwrap();
        let reset = async |which| pool(&scene).reset(&scene.git, &scene.home, which).await;
        let refused = reset(SlotReset::Number(1)).await.unwrap_err();
        assert_eq!((refused.code(), refused.to_string()), ("SLOT_IN_USE", "worktree 1 is used by one".to_owned()));
        assert_eq!(reset(SlotReset::AllFree).await.unwrap(), Vec::<u32>::new());
        assert_eq!(reset(SlotReset::Number(7)).await.unwrap_err().code(), "INVALID_INPUT");
        pool(&scene).free(&scene.git, &scene.home, "one").await.unwrap();
        assert_eq!(reset(SlotReset::AllFree).await.unwrap(), [1]);
        assert_eq!(names(&scene.beside("data/home-ab12")), ["1.json", "1.lock", "2", "2.json", "2.lock", "lock"]);
        assert!(!scene.git(&["worktree", "list"]).contains("data/home-ab12/1 "));
        let again = take(&scene, "three", "handover/tk_3-1", &base).await;
        assert_eq!((again.number, again.ports, again.setup), (1, first.ports, None));
        assert_eq!(names(&again.path), [".git", ".gitignore", "a.txt"]);
        pool(&scene).free(&scene.git, &scene.home, "three").await.unwrap();
        assert_eq!(reset(SlotReset::Number(1)).await.unwrap(), [1]);
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
        let records = pool(&scene).records().unwrap();
        let ports: std::collections::BTreeSet<_> = records.iter().map(|(_, record)| record.first_port).collect();
        assert_eq!(ports.len(), 6, "each slot has its own ports");
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
