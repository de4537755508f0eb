//! Tests the creation of worktrees: their place, the commit from which they start, and many callers at the same time.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use git::{Git, GitProblem, MadeWorktree, MissingBase, Occupant, TreeState, WorktreeState, create, state};

use crate::scene::{Scene, alone, commit, git, names};

alone! {
    fn a_branch_gets_a_folder_beneath_the_state(scene) {
        let head = scene.git(&["rev-parse", "HEAD"]);
        let made = scene.create("feat/login-page").await.unwrap();
        let path = scene.home.join(".handover/state/worktrees/feat--login-page");
        let branch = "feat/login-page".to_owned();
        let base_branch = "main".to_owned();
        let expected = MadeWorktree { path: path.clone(), branch: branch.clone(), base_branch, base_commit: head.clone() };
        assert_eq!(made, expected);
        assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "one");
        let seen = state(&scene.git, &path).await.unwrap();
        assert_eq!(seen, WorktreeState { branch: Some(branch), head: Some(head), tree: TreeState::Clean });
        assert_eq!(fs::read_to_string(scene.home.join(".handover/state/.gitignore")).unwrap(), "*\n");
        assert_eq!(scene.git(&["status", "--porcelain"]), "", "state is nobody's to commit");
        assert_eq!(scene.git(&["config", "--local", "--list", "--name-only"]).matches("branch.").count(), 0);
    }

    fn a_branch_that_exists_is_refused_with_its_place(scene) {
        scene.git(&["branch", "lonely"]);
        let made = scene.create("taken").await.unwrap();
        let expected = GitProblem::BranchExists { branch: "taken".to_owned(), checked_out: Some(made.path) };
        assert_eq!(scene.create("taken").await, Err(expected));
        let expected = GitProblem::BranchExists { branch: "lonely".to_owned(), checked_out: None };
        assert_eq!(scene.create("lonely").await, Err(expected.clone()));
        assert_eq!(expected.code(), "BRANCH_EXISTS");
        scene.git(&["pack-refs", "--all"]);
        assert_eq!(scene.create("lonely").await, Err(expected));
    }

    fn branches_that_differ_in_hyphens_have_their_own_folders(scene) {
        let mut paths = BTreeSet::new();
        for branch in ["a/b", "a-b", "a--b", "a---b", "a-/b", "a/-b"] {
            paths.insert(scene.create(branch).await.unwrap().path);
        }
        assert_eq!(paths.len(), 6);
        assert!(paths.contains(&scene.worktrees().join("a--b")));
    }

    fn a_branch_cannot_be_a_folder_of_another(scene) {
        scene.create("a").await.unwrap();
        scene.create("x/y/z").await.unwrap();
        for (branch, other) in [("a/b", "branch a exists"), ("x/y", "branch x/y/z exists"), ("x", "branch x/y/z exists")] {
            let problem = scene.create(branch).await.unwrap_err();
            assert_eq!(problem.code(), "INVALID_INPUT", "{problem}");
            assert!(problem.to_string().contains(other), "{problem}");
        }
    }

    fn the_base_is_what_was_named(scene) {
        let first = scene.git(&["rev-parse", "HEAD"]);
        scene.git(&["tag", "v1"]);
        // When a tag and a branch have the same name, the name means the branch.
        scene.git(&["tag", "dev"]);
        scene.git(&["branch", "dev"]);
        scene.git(&["update-ref", "refs/remotes/origin/dev", "HEAD"]);
        let second = scene.commit("a.txt", "two");
        scene.git(&["branch", "--force", "dev"]);
        let table = [
            (None, "main", &second),
            (Some("HEAD"), "main", &second),
            (Some("main"), "main", &second),
            (Some("dev"), "dev", &second),
            (Some("origin/dev"), "origin/dev", &first),
            (Some("v1"), "v1", &first),
            (Some(&first[..10]), first.as_str(), &first),
            (Some(&first), first.as_str(), &first),
        ];
        for (number, (base, name, commit)) in table.into_iter().enumerate() {
            let mut request = scene.request(&format!("b{number}"));
            request.base = base.map(str::to_owned);
            let made = create(&scene.git, &request).await.unwrap();
            assert_eq!((made.base_branch.as_str(), &made.base_commit), (name, commit), "{base:?}");
            assert_eq!(&git(&made.path, &["rev-parse", "HEAD"]), commit, "{base:?}");
        }
        scene.git(&["checkout", "--quiet", "--detach", &first]);
        let made = scene.create("from-commit").await.unwrap();
        assert_eq!((&made.base_branch, &made.base_commit), (&first, &first));
    }

    fn a_base_that_is_not_there_is_named(scene) {
        let mut request = scene.request("b");
        request.base = Some("nowhere".to_owned());
        let problem = create(&scene.git, &request).await.unwrap_err();
        assert_eq!(problem, GitProblem::BaseNotFound(MissingBase::Unknown { base: "nowhere".to_owned() }));
        for base in ["main~1", "--all", "", "main..dev", "@{u}", ":/one", "main^{tree}", "a b"] {
            request.base = Some(base.to_owned());
            let problem = create(&scene.git, &request).await.unwrap_err();
            assert!(matches!(problem, GitProblem::InvalidInput { field: "base_branch", .. }), "{base}: {problem:?}");
        }
        assert_eq!(scene.remains(), ("main".to_owned(), String::new(), Vec::new()));
    }

    fn a_repository_without_commits_says_what_to_do(scene) {
        let mut request = scene.request("b");
        request.repository = scene.init("young");
        for base in [None, Some("main".to_owned())] {
            request.base = base;
            let problem = create(&scene.git, &request).await.unwrap_err();
            assert_eq!(problem, GitProblem::BaseNotFound(MissingBase::NoCommits));
            assert!(problem.suggestion().contains("first commit"));
        }
    }

    fn any_folder_of_the_repository_will_do(scene) {
        let first = scene.create("first").await.unwrap();
        let deep = first.path.join("x/y");
        fs::create_dir_all(&deep).unwrap();
        for (number, repository) in [first.path.clone(), deep, scene.home.join(".git")].into_iter().enumerate() {
            let branch = format!("other{number}");
            let mut request = scene.request(&branch);
            request.repository = repository;
            let made = create(&scene.git, &request).await.unwrap();
            assert_eq!(made.path, scene.worktrees().join(branch));
            assert_eq!(made.base_branch, "main", "of the main worktree");
        }
        let link = scene.beside("link");
        symlink(&scene.home, &link).unwrap();
        let mut request = scene.request("by-link");
        request.repository = link;
        assert_eq!(create(&scene.git, &request).await.unwrap().path, scene.worktrees().join("by-link"));
    }

    fn what_is_no_repository_is_named(scene) {
        let empty = scene.beside("empty");
        fs::create_dir(&empty).unwrap();
        for path in [empty, scene.beside("missing"), scene.home.join("a.txt")] {
            let mut request = scene.request("b");
            request.repository = path.clone();
            assert_eq!(create(&scene.git, &request).await, Err(GitProblem::NotARepository { path: path.clone() }));
            assert_eq!(state(&scene.git, &path).await, Err(GitProblem::NotARepository { path }));
        }
    }

    fn a_bare_repository_has_its_worktrees_inside_or_where_told(scene) {
        let bare = scene.beside("bare.git");
        scene.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
        let mut request = scene.request("inside");
        request.repository = bare.clone();
        let inside = create(&scene.git, &request).await.unwrap();
        assert_eq!(inside.path, bare.join(".handover/state/worktrees/inside"));
        let mut request = scene.request("outside");
        (request.repository, request.root) = (inside.path.clone(), Some(scene.beside("trees")));
        let outside = create(&scene.git, &request).await.unwrap();
        assert_eq!(outside.path, scene.beside("trees").join("outside"));
        for made in [inside, outside] {
            let mut removal = scene.removal(&made);
            removal.repository = bare.clone();
            git::remove(&scene.git, &removal).await.unwrap();
            assert!(!made.path.exists());
        }
    }

    fn longer_hashes_work(scene) {
        let longer = scene.beside("longer");
        scene.git(&["init", "--quiet", "--object-format=sha256", longer.to_str().unwrap()]);
        let head = commit(&longer, "a.txt", "one");
        assert_eq!(head.len(), 64);
        let mut request = scene.request("b");
        request.repository = longer.clone();
        let made = create(&scene.git, &request).await.unwrap();
        assert_eq!(made.base_commit, head);
        assert_eq!(create(&scene.git, &request).await.unwrap_err().code(), "BRANCH_EXISTS");
        let mut removal = scene.removal(&made);
        (removal.repository, removal.merge_commit) = (longer, Some(head));
        git::remove(&scene.git, &removal).await.unwrap();
        assert!(!made.path.exists());
    }

    fn a_submodule_is_a_repository_of_its_own(scene) {
        let inner = scene.init("inner");
        commit(&inner, "i.txt", "inner");
        scene.git(&["submodule", "--quiet", "add", inner.to_str().unwrap(), "sub"]);
        scene.git(&["commit", "--quiet", "-m", "sub"]);
        let outer = scene.create("outer").await.unwrap();
        assert_eq!(names(&outer.path.join("sub")), Vec::<String>::new(), "submodules are not checked out");
        let mut request = scene.request("in-sub");
        request.repository = scene.home.join("sub");
        let made = create(&scene.git, &request).await.unwrap();
        assert_eq!(made.path, scene.home.join("sub/.handover/state/worktrees/in-sub"));
        assert!(made.path.join("i.txt").is_file());
    }

    fn of_eight_at_once_one_wins(scene) {
        let scene = Arc::new(scene);
        for round in 0..4 {
            let racers: Vec<_> = (0..8)
                .map(|_| {
                    let scene = scene.clone();
                    tokio::spawn(async move { scene.create(&format!("race/{round}")).await })
                })
                .collect();
            let mut winners = 0;
            for racer in racers {
                match racer.await.unwrap() {
                    Ok(_) => winners += 1,
                    Err(problem) => assert_eq!(problem.code(), "BRANCH_EXISTS", "{problem}"),
                }
            }
            assert_eq!(winners, 1);
        }
        assert_eq!(names(&scene.worktrees()), ["race--0", "race--1", "race--2", "race--3"]);
    }

    fn eight_branches_at_once_all_come_to_be(scene) {
        let scene = Arc::new(scene);
        let makers: Vec<_> = (0..8)
            .map(|number| {
                let scene = scene.clone();
                tokio::spawn(async move { scene.create(&format!("many/{number}")).await })
            })
            .collect();
        for maker in makers {
            let made = maker.await.unwrap().unwrap();
            assert_eq!(state(&scene.git, &made.path).await.unwrap().branch, Some(made.branch));
        }
    }

    fn a_place_that_is_taken_stays_as_it_is(scene) {
        fs::create_dir_all(scene.worktrees().join("folder")).unwrap();
        fs::write(scene.worktrees().join("file"), "mine").unwrap();
        let stale = scene.create("stale").await.unwrap();
        fs::remove_dir_all(&stale.path).unwrap();
        scene.git(&["update-ref", "-d", "refs/heads/stale"]);
        let before = scene.remains();
        for (name, target) in [("link", scene.home.clone()), ("dangling", PathBuf::from("nowhere"))] {
            symlink(target, scene.worktrees().join(name)).unwrap();
        }
        let table = [
            ("folder", Occupant::Folder),
            ("file", Occupant::File),
            ("stale", Occupant::Registration),
            ("link", Occupant::Link),
            ("dangling", Occupant::Link),
        ];
        for (branch, by) in table {
            let path = scene.worktrees().join(branch);
            assert_eq!(scene.create(branch).await, Err(GitProblem::PathTaken { path, by }));
        }
        assert_eq!(scene.remains().0, before.0, "no branch is left");
        assert_eq!(scene.remains().1, before.1, "no registration is left or lost");
        assert_eq!(fs::read_to_string(scene.worktrees().join("file")).unwrap(), "mine");
        assert!(!scene.worktrees().join("nowhere").exists());
    }

    fn git_that_is_not_there_is_named(scene) {
        let git = Git { program: PathBuf::from("no-such-git"), ..Git::default() };
        let problem = create(&git, &scene.request("b")).await.unwrap_err();
        assert_eq!((problem.code(), problem.suggestion().contains("install")), ("GIT_MISSING", true));
    }

    fn a_caller_that_goes_away_leaves_nothing_half_made(scene) {
        let request = scene.request("left");
        {
            let mut work = std::pin::pin!(create(&scene.git, &request));
            let once = std::future::poll_fn(|context| std::task::Poll::Ready(work.as_mut().poll(context).is_pending()));
            assert!(once.await);
        }
        let whole = || Scene::remains(&scene).2 == ["left"] && scene.worktrees().join("left/a.txt").is_file();
        while !whole() {
            tokio::task::yield_now().await;
        }
    }
}
