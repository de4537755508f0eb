//! Tests the facts about a repository that messages show, such as its branch and its uncommitted files. Also tests the
//! names of new branches.

use std::collections::BTreeSet;
use std::fs;

use git::branch::{BranchStart, BranchSubject, BranchTip, start_branch};
use git::facts::{CheckoutFacts, RepositoryFacts, commits_behind, facts};

use crate::scene::{Scene, alone, git, save};

async fn ready(scene: &Scene) -> CheckoutFacts {
    let found = facts(&scene.git, &scene.home).await.unwrap();
    let RepositoryFacts::Ready(facts) = found else { panic!("{found:?}") };
    facts
}

fn plan_start<'a>(name: &'a str, commit: &'a str) -> BranchStart<'a> {
    static NONE: BTreeSet<String> = BTreeSet::new();
    BranchStart { subject: BranchSubject::Plan { name }, commit, owner: "plan", taken: &NONE }
}

alone! {
    fn a_checkout_is_described(scene) {
        let commit = scene.git(&["rev-parse", "HEAD"]);
        let clean = ready(&scene).await;
        let short_commit = commit[..7].to_owned();
        let branch = Some("main".to_owned());
        assert_eq!(clean, CheckoutFacts { branch, commit, short_commit, uncommitted: 0, uncommitted_names: vec![] });
        fs::write(scene.home.join("a.txt"), "changed").unwrap();
        fs::write(scene.home.join("noise.log"), "ignored").unwrap();
        fs::create_dir(scene.home.join("folder")).unwrap();
        for number in 1..=9 {
            fs::write(scene.home.join(format!("{number}.txt")), "").unwrap();
            fs::write(scene.home.join(format!("folder/{number}.txt")), "").unwrap();
        }
        scene.git(&["add", "1.txt"]);
        let dirty = ready(&scene).await;
        assert_eq!((dirty.uncommitted, dirty.uncommitted_names.len()), (11, 5));
        assert!(dirty.uncommitted_names.contains(&"a.txt".to_owned()), "{:?}", dirty.uncommitted_names);
        scene.git(&["checkout", "--quiet", "--detach"]);
        assert_eq!(ready(&scene).await.branch, None);
    }

    fn a_folder_without_a_commit_is_named(scene) {
        let empty = scene.beside("empty");
        fs::create_dir(&empty).unwrap();
        assert_eq!(facts(&scene.git, &empty).await.unwrap(), RepositoryFacts::NotARepository);
        git(&empty, &["init", "--quiet"]);
        assert_eq!(facts(&scene.git, &empty).await.unwrap(), RepositoryFacts::NoCommit);
    }

    fn work_that_lacks_commits_is_behind(scene) {
        scene.git(&["branch", "work"]);
        let behind = async || commits_behind(&scene.git, &scene.home, "work", "main").await.unwrap();
        assert_eq!(behind().await, 0);
        save(&scene.home, "b.txt", "b");
        save(&scene.home, "c.txt", "c");
        assert_eq!(behind().await, 2);
        let problem = commits_behind(&scene.git, &scene.home, "nowhere", "main").await.unwrap_err();
        assert_eq!(problem.code(), "INVALID_INPUT");
    }

    fn a_branch_of_other_work_gives_the_name_a_number(scene) {
        let tip = scene.git(&["rev-parse", "HEAD"]);
        let subject = BranchSubject::Task { number: 7, name: "Fix login" };
        let start = async |owner: &str| {
            let taken = BTreeSet::from(["handover/7-fix-login-3".to_owned()]);
            let request = BranchStart { subject, commit: &tip, owner, taken: &taken };
            start_branch(&scene.git, &scene.home, request).await
        };
        let named = |branch: &str| Ok(BranchTip { branch: branch.to_owned(), tip: tip.clone() });
        assert_eq!(start("one").await, named("handover/7-fix-login"));
        // A process that was killed before it recorded its branch gets the same branch again.
        assert_eq!(start("one").await, named("handover/7-fix-login"));
        assert_eq!(start("two").await, named("handover/7-fix-login-2"));
        assert_eq!(start("two").await, named("handover/7-fix-login-2"));
        scene.git(&["branch", "handover/7-fix-login-4"]);
        assert_eq!(start("three").await, named("handover/7-fix-login-5"));
        // Git cannot keep a branch `handover/plan` beside `handover/plan/x`.
        scene.git(&["branch", "handover/plan/x"]);
        let plan = start_branch(&scene.git, &scene.home, plan_start("", &tip)).await;
        assert_eq!(plan, named("handover/plan-2"));
        for number in 6..=100 {
            scene.git(&["branch", &format!("handover/7-fix-login-{number}")]);
        }
        assert_eq!(start("four").await.unwrap_err().code(), "BRANCH_EXISTS");
    }

    fn a_branch_named_handover_is_in_the_way(scene) {
        let tip = scene.git(&["rev-parse", "HEAD"]);
        scene.git(&["branch", "handover"]);
        let problem = start_branch(&scene.git, &scene.home, plan_start("x", &tip)).await.unwrap_err();
        assert!(problem.to_string().contains("the branch handover exists"), "{problem}");
    }
}
