//! Tests the files that are copied from the person's checkout into a worktree. No commit may contain them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use git::branch::{
    COPIED_FILES_MAX, CommitResult, CopyMode, CopyReport, CopySkip, TaskWorkspace, UncommittedReason, copied_paths,
    copy_into, tree_of,
};

use crate::scene::{Scene, WORKFLOW, alone, git, save};

/// Makes a checkout with ignored files and a worktree for a task.
async fn checkout(scene: &Scene) -> TaskWorkspace {
    save(&scene.home, ".gitignore", ".env\nsettings/\n*.key\n*.log\n");
    fs::write(scene.home.join(".env"), "SECRET=1\n").unwrap();
    fs::create_dir_all(scene.home.join("settings/deep")).unwrap();
    fs::write(scene.home.join("settings/deep/run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(scene.home.join("settings/deep/run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    scene.workspace("tk_1").await
}

async fn copy(scene: &Scene, workspace: &TaskWorkspace, paths: &[&str], mode: CopyMode) -> CopyReport {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    copy_into(&scene.git, (&scene.home, &workspace.path), &paths, mode).await.unwrap()
}

alone! {
    fn ignored_files_are_copied_with_their_permissions(scene) {
        let workspace = checkout(&scene).await;
        let paths = [".env", "settings/deep/run.sh"];
        let report = copy(&scene, &workspace, &paths, CopyMode::Update).await;
        assert_eq!((report.copied, report.skipped), (paths.map(str::to_owned).to_vec(), vec![]));
        assert_eq!(fs::read_to_string(workspace.path.join(".env")).unwrap(), "SECRET=1\n");
        let mode = fs::metadata(workspace.path.join("settings/deep/run.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
        assert_eq!(copied_paths(&scene.git, &workspace.path).await.unwrap(), paths);
        // With `Update`, a copy that the agent changed stays until the file in the person's checkout changes.
        fs::write(workspace.path.join(".env"), "SECRET=of the agent\n").unwrap();
        assert_eq!(copy(&scene, &workspace, &paths, CopyMode::Update).await, CopyReport::default());
        fs::write(scene.home.join(".env"), "SECRET=2\n").unwrap();
        assert_eq!(copy(&scene, &workspace, &paths, CopyMode::Update).await.copied, [".env"]);
        assert_eq!(fs::read_to_string(workspace.path.join(".env")).unwrap(), "SECRET=2\n");
        for odd in ["a \"b\".key", "ü x.key", "-x.key", ":(top).key", "a\nb.key"] {
            fs::write(scene.home.join(odd), odd).unwrap();
            assert_eq!(copy(&scene, &workspace, &[odd], CopyMode::Update).await.copied, [odd]);
        }
        // With `Replace`, every file is copied again, because other work begins in the worktree.
        fs::write(workspace.path.join(".env"), "SECRET=of the agent\n").unwrap();
        assert_eq!(copy(&scene, &workspace, &paths, CopyMode::Replace).await.copied, paths);
        assert_eq!(fs::read_to_string(workspace.path.join(".env")).unwrap(), "SECRET=2\n");
    }

    fn other_files_are_not_copied(scene) {
        let workspace = checkout(&scene).await;
        fs::write(scene.beside("outside.key"), "outside").unwrap();
        fs::write(scene.home.join("plain.txt"), "not ignored").unwrap();
        symlink(scene.beside("outside.key"), scene.home.join("link.key")).unwrap();
        symlink(scene.home.join("settings"), scene.home.join("linked.key")).unwrap();
        fs::write(scene.home.join("planted.key"), "planted").unwrap();
        symlink(scene.beside("written"), workspace.path.join("planted.key")).unwrap();
        fs::create_dir_all(scene.home.join("settings/planted")).unwrap();
        fs::write(scene.home.join("settings/planted/a.key"), "planted").unwrap();
        fs::create_dir_all(scene.beside("elsewhere")).unwrap();
        fs::create_dir_all(workspace.path.join("settings")).unwrap();
        symlink(scene.beside("elsewhere"), workspace.path.join("settings/planted")).unwrap();
        for (path, expected) in [
            ("plain.txt", CopySkip::NotIgnored),
            ("a.txt", CopySkip::NotIgnored),
            ("../outside.key", CopySkip::Outside),
            (scene.beside("outside.key").to_str().unwrap(), CopySkip::Outside),
            ("settings/../.env", CopySkip::Outside),
            (".git/config", CopySkip::Outside),
            ("", CopySkip::Outside),
            ("link.key", CopySkip::Link),
            ("linked.key/deep/run.sh", CopySkip::Link),
            ("settings/planted/a.key", CopySkip::Link),
            ("settings", CopySkip::NoFile),
            ("missing.key", CopySkip::NoFile),
        ] {
            let report = copy(&scene, &workspace, &[path], CopyMode::Replace).await;
            assert_eq!((report.copied, report.skipped), (vec![], vec![(path.to_owned(), expected)]), "{path}");
        }
        // A link at the target of a copy is replaced, and the file to which it leads is not changed.
        assert_eq!(copy(&scene, &workspace, &["planted.key"], CopyMode::Replace).await.copied, ["planted.key"]);
        assert!(!scene.beside("written").exists() && fs::read_dir(scene.beside("elsewhere")).unwrap().next().is_none());
        let many: Vec<String> = (0..=COPIED_FILES_MAX).map(|number| format!("{number}.key")).collect();
        let places = (scene.home.as_path(), workspace.path.as_path());
        let problem = copy_into(&scene.git, places, &many, CopyMode::Update).await.unwrap_err();
        assert_eq!(problem.code(), "INVALID_INPUT");
        let large = fs::File::create(scene.home.join("large.key")).unwrap();
        large.set_len((64 << 20) + 1).unwrap();
        let problem = copy_into(&scene.git, places, &["large.key".to_owned()], CopyMode::Update).await.unwrap_err();
        assert!(problem.to_string().contains("more than 64 MiB"), "{problem}");
    }

    fn copies_are_never_committed(scene) {
        let workspace = checkout(&scene).await;
        copy(&scene, &workspace, &[".env", "settings/deep/run.sh"], CopyMode::Replace).await;
        // The agent removes `.env` from `.gitignore`, and adds the copied file `run.sh` to the index with `--force`.
        fs::write(workspace.path.join(".gitignore"), "settings/\n").unwrap();
        git(&workspace.path, &["add", "--force", "settings/deep/run.sh"]);
        fs::write(workspace.path.join("work.txt"), "work").unwrap();
        let left = |found: &[git::branch::UncommittedPath]| {
            let mut left: Vec<_> = found.iter().map(|left| (left.path.clone(), left.why)).collect();
            left.sort_by(|one, other| one.0.cmp(&other.0));
            left
        };
        let expected = [".env", "settings/deep/run.sh"].map(|path| (path.to_owned(), UncommittedReason::Copied));
        let tree = tree_of(&scene.git, &workspace.path).await.unwrap();
        assert_eq!(left(&tree.left), expected);
        assert_eq!(scene.git(&["ls-tree", "-r", "--name-only", &tree.tree]), ".gitignore\na.txt\nwork.txt");
        let Ok(CommitResult::Commit { left: found, .. }) = scene.commit(&workspace).await else { panic!() };
        assert_eq!(left(&found), expected);
        assert_eq!(git(&workspace.path, &["ls-files"]), ".gitignore\na.txt\nwork.txt");
        assert!(workspace.path.join(".env").exists() && workspace.path.join("settings/deep/run.sh").exists());
        // The agent itself commits a copied file. The next commit of Handover removes the file from the branch again.
        git(&workspace.path, &["add", "--force", ".env"]);
        git(&workspace.path, &["commit", "--quiet", "-m", "with a secret"]);
        let Ok(CommitResult::Commit { left: found, .. }) = scene.commit(&workspace).await else { panic!() };
        assert_eq!(left(&found), expected[..1]);
        assert_eq!(git(&workspace.path, &["ls-files"]), ".gitignore\na.txt\nwork.txt");
        assert_eq!(scene.git(&["log", "--all", "--format=%s", "--", ".env"]), "", "no commit has the secret");
        // When another task uses the same slot (worktree), the list of copied files is still known.
        scene.pool().free(&scene.git, &scene.home, "tk_1").await.unwrap();
        let next = scene.workspace("tk_2").await;
        assert_eq!(next.path, workspace.path);
        assert_eq!(copied_paths(&scene.git, &next.path).await.unwrap().len(), 2);
    }
    fn a_copied_file_that_the_agent_committed_leaves_the_history(scene) {
        let workspace = checkout(&scene).await;
        let (base, plan) = (git(&workspace.path, &["rev-parse", "HEAD"]), scene.workspace("tk_other").await);
        copy(&scene, &workspace, &[".env"], CopyMode::Replace).await;
        save(&workspace.path, "first.txt", "first");
        git(&workspace.path, &["add", "--force", ".env"]);
        git(&workspace.path, &["commit", "--quiet", "-m", "with a secret"]);
        git(&workspace.path, &["rm", "--quiet", "--cached", ".env"]);
        git(&workspace.path, &["commit", "--quiet", "-m", "without it"]);
        // The agent merges the work of another task. The commit of the other task must stay unchanged.
        let line = format!("handover/{WORKFLOW}");
        scene.merge(&save(&plan.path, "other.txt", "other")).await.unwrap();
        let tip = scene.git(&["rev-parse", &line]);
        git(&workspace.path, &["merge", "--quiet", "--no-edit", &line]);
        let files = git(&workspace.path, &["ls-files"]);
        let Ok(CommitResult::Clean { head, left }) = scene.commit(&workspace).await else { panic!() };
        assert_eq!((head.as_str(), left), (git(&workspace.path, &["rev-parse", "HEAD"]).as_str(), vec![]));
        assert_eq!(git(&workspace.path, &["log", "-1", "--format=%P"]), tip, "it stands on the merged work, {base}");
        assert_eq!(git(&workspace.path, &["ls-files"]), files);
        assert_eq!(git(&workspace.path, &["status", "--porcelain"]), "");
        assert_eq!(scene.git(&["log", "--all", "--format=%s", "--", ".env"]), "", "no commit has the secret");
        assert!(workspace.path.join(".env").exists());
    }
}
