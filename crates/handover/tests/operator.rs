//! The operator's commands as a person calls them: what they print and how they exit.
#![expect(clippy::disallowed_methods, reason = "starts the program it tests")]

use std::path::Path;
use std::process::Command;

/// Exit code, standard output, standard error.
fn handover(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let program = Command::new(env!("CARGO_BIN_EXE_handover"))
        .current_dir(folder)
        .env_remove("HANDOVER_STORE")
        .env("XDG_DATA_HOME", folder.join("data"))
        .args(arguments)
        .output();
    let Ok(output) = program else { return (None, String::new(), "the program did not start".to_owned()) };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_store_is_made_exported_imported_and_verified() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join(".git")).expect("a repository");
    let say = |text: &str| (Some(0), text.to_owned(), String::new());
    let tell = |text: &str| (Some(0), String::new(), text.to_owned());
    let run = |arguments: &[&str]| handover(folder.path(), arguments);
    assert_eq!(run(&["log", "verify"]), say("verified 0 entries of 0 topics\n"));
    assert!(folder.path().join(".handover/state/handover.db").exists());
    assert_eq!(std::fs::read_to_string(folder.path().join(".handover/state/.gitignore")).ok().as_deref(), Some("*\n"));
    assert_eq!(run(&["export", "-o", "all.jsonl"]), tell("exported 0 rows\n"));
    assert_eq!(run(&["--store", "copy.db", "import", "all.jsonl"]), tell("imported\n"));
    assert_eq!(run(&["--store", "copy.db", "log", "head"]), say(""));
}

#[test]
fn what_goes_wrong_says_whose_it_is_to_mend() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("bad.jsonl"), "not an export\n").expect("a file");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["import", "bad.jsonl"], 1, "line 1 is not the beginning of an export"),
        (&["import", "missing.jsonl"], 2, "open missing.jsonl"),
        (&["frobnicate"], 2, "unrecognized subcommand"),
        (&["--store", "postgres://me:secret@[", "log", "head"], 2, "not a store"),
        (&["--store", "bad.jsonl", "log", "head"], 3, "file is not a database"),
    ];
    for (arguments, code, words) in cases {
        let (found, _, errors) = handover(folder.path(), arguments);
        assert_eq!(found, Some(*code), "{arguments:?}: {errors}");
        assert!(errors.contains(words), "{arguments:?}: {errors}");
        assert!(!errors.contains("secret"), "{arguments:?} shows a password: {errors}");
    }
}

/// From the main worktree, a folder in it, a linked worktree and a submodule: with real git.
#[test]
fn the_store_of_a_repository_is_found_from_everywhere_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a real path");
    let git = |at: &Path, arguments: &[&str]| {
        let fixed = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-c",
            "protocol.file.allow=always",
            "-c",
            "commit.gpgsign=false",
        ];
        let status = Command::new("git").current_dir(at).args(fixed).args(arguments).output().expect("git");
        assert!(status.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&status.stderr));
    };
    let main = root.join("main");
    std::fs::create_dir_all(main.join("src/deep")).expect("folders");
    std::fs::create_dir(root.join("part")).expect("a folder");
    for repository in [&main, &root.join("part")] {
        git(repository, &["init", "-q"]);
        git(repository, &["commit", "-q", "--allow-empty", "-m", "x"]);
    }
    git(&main, &["worktree", "add", "-q", "../linked"]);
    git(&main, &["submodule", "add", "-q", "../part", "part"]);
    let found = |at: &str| handover::place::root(&root.join(at));
    for at in ["main", "main/src/deep", "linked"] {
        assert_eq!(found(at), Some(main.clone()), "from {at}");
    }
    assert_eq!(found("main/part"), Some(main.join("part")), "a submodule is a repository of its own");
    assert_eq!(found("."), None);
    let (code, _, errors) = handover(&root.join("linked"), &["log", "verify"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(main.join(".handover/state/handover.db").exists() && !root.join("linked/.handover").exists());
    git(&main, &["add", "-A"]);
    let (code, _, errors) = handover(&root, &["log", "verify"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(root.join("data/handover/handover.db").exists(), "outside of repositories it is the user's own");

    std::fs::write(main.join(".handover/config.toml"), "store = \"elsewhere/team.db\"\n").expect("a file");
    let (code, _, errors) = handover(&root.join("linked"), &["log", "verify"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(main.join("elsewhere/team.db").exists(), "the configuration's path is relative to the root");
    std::fs::write(main.join(".handover/config.toml"), "store = 7\n").expect("a file");
    let (code, _, errors) = handover(&main, &["log", "verify"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("config.toml cannot be read: `store` must be a string"), "{errors}");
}
