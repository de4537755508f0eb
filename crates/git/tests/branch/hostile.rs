//! Tests git configuration and attributes that would make git run programs: no program may run.

use std::fs;

use git::branch::{CommitResult, MergeResult, UncommittedPath, UncommittedReason, workflow_branch};

use crate::scene::{WORKFLOW, alone, git, save, script};

alone! {
    fn nothing_that_a_configuration_names_runs(scene) {
        let mark = scene.beside("mark");
        let touch = format!("echo \"$0 $*\" >> '{}'; cat", mark.display());
        let hooks = scene.beside("hooks");
        fs::create_dir(&hooks).unwrap();
        let events = [
            "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-merge-commit", "post-merge",
            "post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "post-rewrite",
        ];
        for event in events {
            script(&hooks.join(event), &touch);
            script(&scene.home.join(".git/hooks").join(event), &touch);
        }
        let evil = scene.beside("evil");
        script(&evil, &touch);
        let (one, other) = (scene.workspace("tk_one").await, scene.workspace("tk_other").await);
        let third = scene.workspace("tk_third").await;
        let evil = evil.to_str().unwrap();
        for (key, value) in [
            ("core.hooksPath", hooks.to_str().unwrap()),
            ("core.fsmonitor", evil),
            ("core.editor", evil),
            ("core.pager", evil),
            ("commit.gpgSign", "true"),
            ("gpg.program", evil),
            ("commit.template", evil),
            ("filter.f=a.clean", evil),
            ("filter.f=a.smudge", evil),
            ("filter.f=a.required", "true"),
            ("filter.f=b.process", evil),
            ("filter.c.clean", evil),
            ("filter.c.smudge", evil),
            ("merge.m=a.driver", evil),
            ("merge.default", "m=a"),
            ("merge.verifySignatures", "true"),
            ("merge.renormalize", "true"),
            ("diff.external", evil),
            ("diff.d.textconv", evil),
            ("diff.d.command", evil),
            ("gc.auto", "1"),
            ("rerere.enabled", "true"),
            ("hook.mine.event", "post-commit"),
            ("hook.mine.command", evil),
            (&format!("branch.{}.mergeOptions", other.branch), "--strategy=evil -S"),
        ] {
            scene.git(&["config", "--add", key, value]);
        }
        let attributes = "*.fa filter=f=a\n*.fb filter=f=b\n*.fc filter=c\n*.m merge=m=a\n* diff=d\n";
        let quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "filter.c.clean="];
        let saved = |path: &std::path::Path, text: &str| {
            fs::write(path.join(".gitattributes"), attributes).unwrap();
            fs::write(path.join("x.m"), text).unwrap();
            fs::write(path.join("a.txt"), text).unwrap();
            fs::write(path.join("z.fc"), "behind a filter").unwrap();
            git(path, &[&quiet[..], &["add", "x.m", "a.txt", "z.fc", ".gitattributes"]].concat());
        };
        saved(&one.path, "one");
        drop(fs::remove_file(&mark));
        fs::write(one.path.join("plain"), "plain").unwrap();
        for name in ["y.fa", "y.fb"] {
            fs::write(one.path.join(name), "filtered").unwrap();
        }
        let Ok(CommitResult::Commit { head, left }) = scene.commit(&one).await else { panic!() };
        let behind = |path: &str| UncommittedPath { path: path.to_owned(), why: UncommittedReason::Filter };
        assert_eq!(left, [behind("y.fa"), behind("y.fb")]);
        assert!(!git(&one.path, &["ls-tree", "--name-only", &head]).contains("y.f"));
        scene.merge(&head).await.unwrap();
        saved(&other.path, "other");
        let Ok(CommitResult::Commit { head, .. }) = scene.commit(&other).await else { panic!() };
        let expected = Ok(MergeResult::Conflict { paths: vec!["a.txt".to_owned(), "x.m".to_owned()], more: false });
        assert_eq!(scene.merge(&head).await, expected);
        assert_eq!(scene.bring(&other).await, expected);
        fs::write(other.path.join("a.txt"), "both").unwrap();
        // The file `x.m` has a conflict without markers, because its merge driver did not run. The file is unchanged,
        // so the conflict counts as not fixed.
        let unmended = CommitResult::Unmended { paths: vec!["x.m".to_owned()] };
        assert_eq!(scene.commit(&other).await, Ok(unmended));
        fs::write(other.path.join("x.m"), "both").unwrap();
        let Ok(CommitResult::Commit { head, .. }) = scene.commit(&other).await else { panic!() };
        assert_eq!(scene.merge(&head).await, Ok(MergeResult::FastForward { tip: head.clone() }));
        // Now merge without conflicts. No program may run in this case either.
        fs::write(third.path.join("third"), "3").unwrap();
        let Ok(CommitResult::Commit { head, .. }) = scene.commit(&third).await else { panic!() };
        scene.merge(&head).await.unwrap();
        fs::write(one.path.join("plain"), "more").unwrap();
        fs::write(one.path.join("z.fc"), "changed behind a filter").unwrap();
        let Ok(CommitResult::Commit { head, left }) = scene.commit(&one).await else { panic!() };
        assert_eq!(left, [behind("z.fc"), behind("y.fa"), behind("y.fb")]);
        assert!(matches!(scene.merge(&head).await, Ok(MergeResult::Merge { .. })));
        assert!(matches!(scene.bring(&third).await, Ok(MergeResult::FastForward { .. })));
        assert_eq!(fs::read_to_string(&mark).unwrap_or_default(), "");
        // Call git without Handover's settings, to show that the filter program would run.
        fs::write(one.path.join("y.fa"), "more").unwrap();
        git(&one.path, &["add", "y.fa"]);
        assert!(fs::read_to_string(&mark).unwrap().contains("evil"));
        let signed = scene.git(&["log", "--format=%H %G?", &workflow_branch(WORKFLOW), "--not", "main"]);
        assert!(signed.lines().all(|line| line.ends_with(" N")), "{signed}");
    }

    fn an_environment_that_leads_elsewhere_is_not_followed(
        scene,
        "GIT_DIR" = "/nowhere",
        "GIT_INDEX_FILE" = "/nowhere",
        "GIT_AUTHOR_NAME" = "Mallory",
        "GIT_COMMITTER_DATE" = "nonsense",
        "GIT_EDITOR" = "/nowhere"
    ) {
        let workspace = scene.workspace("tk_1").await;
        fs::write(workspace.path.join("new"), "new").unwrap();
        let Ok(CommitResult::Commit { head, .. }) = scene.commit(&workspace).await else { panic!() };
        assert_eq!(git(&workspace.path, &["show", "-s", "--format=%an"]), "Quinn  the  Tester");
        assert_eq!(scene.merge(&head).await, Ok(MergeResult::FastForward { tip: head.clone() }));
    }

    fn files_that_look_like_options_or_patterns(scene) {
        let workspace = scene.workspace("tk_1").await;
        let names = ["--all", "-n", ":(top)x", ":/", "*", "a b", "\"q\"", "[a]", "~", "#"];
        for name in names.iter().filter(|name| !name.contains('/')) {
            fs::write(workspace.path.join(name), "x").unwrap();
        }
        let Ok(CommitResult::Commit { .. }) = scene.commit(&workspace).await else { panic!() };
        assert_eq!(git(&workspace.path, &["status", "--porcelain"]), "");
        // This test creates a repository inside the worktree. The name of the inner repository looks like an option and
        // like a pattern of git. The commit must leave out this repository and nothing else.
        fs::create_dir(workspace.path.join("-r*")).unwrap();
        git(&workspace.path.join("-r*"), &["init", "--quiet"]);
        save(&workspace.path.join("-r*"), "x", "x");
        fs::write(workspace.path.join("-rest"), "x").unwrap();
        let Ok(CommitResult::Commit { left, .. }) = scene.commit(&workspace).await else { panic!() };
        assert_eq!(left, [UncommittedPath { path: "-r*".to_owned(), why: UncommittedReason::Submodule }]);
        assert_eq!(git(&workspace.path, &["show", "--name-only", "--format="]), "-rest");
    }
}
