//! Tests worktrees with hostile branch names, links, hooks, filters and environments.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use git::{Git, GitProblem, Occupant, create, state};

use crate::scene::{alone, git, names, script};

/// Hostile branch names. Git refuses most of them and would misread the others.
const NAMES: &[&str] = &[
    "",
    "-",
    "-b",
    "--force",
    "--upload-pack=touch x",
    "..",
    "../x",
    "a/../../x",
    "a..b",
    "/etc/passwd",
    "/",
    "a/",
    "a//b",
    ".",
    ".git",
    ".git/hooks",
    "a/.git",
    "a/.hidden",
    "a.lock",
    "a.lock/b",
    "a.",
    "@",
    "@{-1}",
    "a@{1}",
    "HEAD",
    "head",
    "refs/heads/a",
    "a b",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a*",
    "a[1]",
    "a\\b",
    "a\nb",
    "a\0b",
    "a\u{7f}",
    "a\u{1b}[2J",
    "a\u{85}b",
    "a\u{202e}b",
    "a\u{200b}b",
    "0123456789abcdef0123456789abcdef01234567",
];

alone! {
    fn names_that_are_none_are_refused_and_change_nothing(scene) {
        let long = "x".repeat(201);
        let slashes = "a/".repeat(99) + "a";
        for name in NAMES.iter().copied().chain([long.as_str(), slashes.as_str()]) {
            let problem = scene.create(name).await.unwrap_err();
            assert!(matches!(problem, GitProblem::InvalidInput { field: "branch", .. }), "{name:?}: {problem:?}");
        }
        assert_eq!(scene.remains(), ("main".to_owned(), String::new(), Vec::new()));
        assert_eq!(names(&scene.home), [".git", "a.txt"]);
    }

    fn odd_names_that_git_allows_work(scene) {
        let odd = ["$(touch_x)", "a;b", "a'b", "a\"b", "a&&b", "ünï/ß", "a@b", "a-", "%00", "!", "main-worktree/HEAD"];
        for name in odd {
            let made = scene.create(name).await.unwrap();
            assert_eq!(made.path.parent(), Some(scene.worktrees().as_path()));
            assert_eq!(state(&scene.git, &made.path).await.unwrap().branch.as_deref(), Some(name));
            scene.remove(&made).await.unwrap();
        }
        assert_eq!(scene.remains(), ("main".to_owned(), String::new(), Vec::new()));
    }

    fn a_state_folder_that_is_a_link_is_refused(scene) {
        let elsewhere = scene.beside("elsewhere");
        for link in [".handover", ".handover/state", ".handover/state/worktrees"] {
            let link = scene.home.join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            fs::create_dir_all(&elsewhere).unwrap();
            symlink(&elsewhere, &link).unwrap();
            let expected = GitProblem::PathTaken { path: link.clone(), by: Occupant::Link };
            assert_eq!(scene.create("b").await, Err(expected));
            assert_eq!(names(&elsewhere), Vec::<String>::new());
            fs::remove_file(&link).unwrap();
        }
        assert_eq!(scene.remains().0, "main");
        fs::write(scene.home.join(".handover/state/worktrees"), "").unwrap();
        assert_eq!(scene.create("b").await.unwrap_err().code(), "PATH_TAKEN");
    }

    fn a_gitignore_that_is_a_link_is_not_written_through(scene) {
        let state = scene.home.join(".handover/state");
        fs::create_dir_all(&state).unwrap();
        symlink(scene.beside("victim"), state.join(".gitignore")).unwrap();
        scene.create("b").await.unwrap();
        assert!(!scene.beside("victim").exists());
    }

    fn the_links_of_a_configured_root_are_resolved_once(scene) {
        fs::create_dir(scene.beside("disk")).unwrap();
        symlink(scene.beside("disk"), scene.beside("link")).unwrap();
        let mut request = scene.request("b");
        request.root = Some(scene.beside("link").join("trees"));
        let made = create(&scene.git, &request).await.unwrap();
        assert_eq!(made.path, scene.beside("disk/trees/b"));
        // The recorded path of the worktree has no links. If a folder in it is later replaced by a link, Handover must
        // not remove the worktree.
        fs::rename(scene.beside("disk"), scene.beside("moved")).unwrap();
        symlink(scene.beside("moved"), scene.beside("disk")).unwrap();
        let problem = scene.remove(&made).await.unwrap_err();
        assert_eq!(problem.code(), "WORKSPACE_NOT_OURS", "{problem}");
        assert!(scene.beside("moved/trees/b/a.txt").is_file());
    }

    fn a_root_that_cannot_be_made_is_named(scene) {
        let mut request = scene.request("b");
        request.root = Some(scene.home.join("a.txt/trees"));
        let problem = create(&scene.git, &request).await.unwrap_err();
        assert_eq!(problem.code(), "PATH_UNUSABLE", "{problem}");
        assert_eq!(scene.remains().0, "main");
    }

    fn no_hook_and_no_monitor_runs(scene) {
        let mark = scene.beside("mark");
        let touch = format!("echo \"$0\" >> '{}'", mark.display());
        let own = scene.home.join(".git/hooks");
        let configured = scene.beside("hooks");
        fs::create_dir(&configured).unwrap();
        for folder in [&own, &configured] {
            for hook in ["post-checkout", "reference-transaction", "post-index-change", "pre-commit"] {
                script(&folder.join(hook), &touch);
            }
        }
        let monitor = scene.beside("monitor");
        script(&monitor, &touch);
        scene.git(&["config", "core.fsmonitor", monitor.to_str().unwrap()]);
        for path in [None, Some(&configured)] {
            if let Some(path) = path {
                scene.git(&["config", "core.hooksPath", path.to_str().unwrap()]);
            }
            drop(fs::remove_file(&mark));
            let made = scene.create("hooked").await.unwrap();
            state(&scene.git, &made.path).await.unwrap();
            scene.remove(&made).await.unwrap();
            assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap());
        }
        // Call git without Handover's settings, to show that the hooks would run.
        scene.git(&["worktree", "add", "--quiet", scene.beside("w").to_str().unwrap()]);
        assert!(fs::read_to_string(&mark).unwrap().contains("post-checkout"));
    }

    fn an_environment_for_another_repository_is_not_seen(
        scene,
        "GIT_DIR" = "/nowhere/.git",
        "GIT_WORK_TREE" = "/nowhere",
        "GIT_INDEX_FILE" = "/nowhere/index",
        "GIT_COMMON_DIR" = "/nowhere/common",
        "GIT_OBJECT_DIRECTORY" = "/nowhere/objects",
        "GIT_NAMESPACE" = "other",
        "GIT_CONFIG_COUNT" = "1",
        "GIT_CONFIG_KEY_0" = "core.bare",
        "GIT_CONFIG_VALUE_0" = "nonsense",
        "GIT_TRACE" = "1",
        "LC_ALL" = "de_DE.UTF-8"
    ) {
        let made = scene.create("b").await.unwrap();
        assert_eq!(state(&scene.git, &made.path).await.unwrap().branch.as_deref(), Some("b"));
        scene.remove(&made).await.unwrap();
        let missing = state(&scene.git, &scene.beside("")).await.unwrap_err();
        assert_eq!(missing.code(), "NOT_A_REPOSITORY");
    }

    fn a_checkout_that_fails_half_way_leaves_nothing(scene) {
        fs::write(scene.home.join(".gitattributes"), "*.txt filter=bad\n").unwrap();
        scene.git(&["add", ".gitattributes"]);
        scene.git(&["commit", "--quiet", "-m", "attributes"]);
        scene.git(&["config", "filter.bad.smudge", "false"]);
        scene.git(&["config", "filter.bad.required", "true"]);
        let problem = scene.create("b").await.unwrap_err();
        assert_eq!(problem.code(), "GIT_FAILED", "{problem}");
        assert!(problem.to_string().contains("smudge"), "{problem}");
        assert_eq!(scene.remains(), ("main".to_owned(), String::new(), Vec::new()));
    }

    fn a_git_that_fails_after_all_was_made_leaves_nothing(scene) {
        let program = scene.beside("late");
        script(&program, "git \"$@\" || exit\ncase \"$*\" in *'worktree add'*) echo no >&2; exit 1;; esac");
        let late = Git { program, ..Git::default() };
        let other = scene.create("other").await.unwrap();
        let problem = create(&late, &scene.request("b")).await.unwrap_err();
        let expected = GitProblem::GitFailed { command: "worktree add".to_owned(), stderr: "no".to_owned() };
        assert_eq!(problem, expected);
        assert_eq!(scene.remains(), ("main\nother".to_owned(), "other".to_owned(), vec!["other".to_owned()]));
        assert!(other.path.join("a.txt").is_file());
    }

    fn a_checkout_that_hangs_is_ended_with_all_it_started(scene) {
        let pid = scene.beside("pid");
        let sleeper = scene.beside("sleeper");
        // The filter program ignores SIGTERM, the signal that asks it to end.
        let text = format!("trap '' TERM\necho $$ > '{}'\nwhile :; do sleep 600 & wait $!; done", pid.display());
        script(&sleeper, &text);
        fs::write(scene.home.join(".gitattributes"), "*.txt filter=slow\n").unwrap();
        scene.git(&["add", ".gitattributes"]);
        scene.git(&["commit", "--quiet", "-m", "attributes"]);
        scene.git(&["config", "filter.slow.smudge", sleeper.to_str().unwrap()]);
        let quick = Git { time_limit: Duration::from_secs(1), ..Git::default() };
        let problem = create(&quick, &scene.request("b")).await.unwrap_err();
        let expected = GitProblem::GitTimeout { command: "worktree add".to_owned(), seconds: 1 };
        assert_eq!(problem, expected);
        assert_eq!(scene.remains(), ("main".to_owned(), String::new(), Vec::new()));
        let pid: i32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        // The process is already killed. Wait until its new parent process removes it from the process table.
        while rustix::process::test_kill_process(pid).is_ok() && !is_zombie(pid) {
            tokio::task::yield_now().await;
        }
    }

    fn what_git_says_is_bounded_and_plain(scene) {
        let program = scene.beside("loud");
        script(&program, "yes \"$(printf 'x\\033[2Jy')\" | head -c 20000000; yes bad | head -c 20000000 >&2; exit 3");
        let loud = Git { program, ..Git::default() };
        let problem = create(&loud, &scene.request("b")).await.unwrap_err();
        assert_eq!(problem.code(), "GIT_FAILED");
        assert!(problem.to_string().chars().count() < 2_100);
        assert!(!problem.to_string().contains('\u{1b}'));
    }

    fn an_older_git_lists_its_worktrees_too(scene) {
        let program = scene.beside("older");
        let text = "case \"$*\" in *'worktree list'*-z*) exit 129;; esac\nexec git \"$@\"";
        script(&program, text);
        let older = Git { program, ..Git::default() };
        let made = create(&older, &scene.request("b")).await.unwrap();
        git(&scene.home, &["worktree", "lock", "--reason", "on a stick", made.path.to_str().unwrap()]);
        let problem = git::remove(&older, &scene.removal(&made)).await.unwrap_err();
        assert!(problem.to_string().ends_with("is locked: on a stick"), "{problem}");
        git(&scene.home, &["worktree", "unlock", made.path.to_str().unwrap()]);
        git::remove(&older, &scene.removal(&made)).await.unwrap();
        assert_eq!(scene.remains(), ("main".to_owned(), String::new(), Vec::new()));
    }
}

fn is_zombie(pid: rustix::process::Pid) -> bool {
    let status = Path::new("/proc").join(pid.as_raw_nonzero().to_string()).join("stat");
    fs::read_to_string(status).is_ok_and(|text| text.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}
