//! Tests the output and the exit codes of the commands with which a person watches the work of agents.
#![expect(clippy::disallowed_methods, reason = "starts the program it tests")]
#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "operator/failures.rs"]
mod failures;
#[path = "operator/looks.rs"]
mod looks;
#[path = "operator/scene.rs"]
mod scene;

use std::path::Path;
use std::process::Command;

/// Runs `handover` with these arguments. Returns the exit code, standard output and standard error.
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
    std::fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a repository");
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
fn exit_code_and_message_tell_who_can_fix_the_problem() {
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

/// Runs git with fixed settings.
fn git(at: &Path, arguments: &[&str]) {
    let fixed = ["user.name=t", "user.email=t@t", "protocol.file.allow=always", "commit.gpgsign=false"];
    let fixed = fixed.iter().flat_map(|setting| ["-c", setting]);
    let status = Command::new("git").current_dir(at).args(fixed).args(arguments).output().expect("git");
    assert!(status.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&status.stderr));
}

/// Tests with real git that the program finds one and the same store from the main worktree, from a folder in it, from
/// a linked worktree and from a submodule.
#[test]
fn the_store_of_a_repository_is_found_from_everywhere_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a real path");
    let main = root.join("main");
    std::fs::create_dir_all(main.join("src/deep")).expect("folders");
    std::fs::create_dir(root.join("part")).expect("a folder");
    for repository in [&main, &root.join("part")] {
        git(repository, &["init", "-q"]);
        git(repository, &["commit", "-q", "--allow-empty", "-m", "x"]);
    }
    git(&main, &["worktree", "add", "-q", "../linked"]);
    git(&main, &["submodule", "add", "-q", "../part", "part"]);
    let found = |at: &str| base::project::place::root(&root.join(at));
    for at in ["main", "main/src/deep", "linked"] {
        assert_eq!(found(at), Some(main.clone()), "from {at}");
    }
    assert_eq!(found("main/part"), Some(main.join("part")), "a submodule is a repository of its own");
    assert_eq!(found("."), None);
    // A folder `.git` without HEAD is no repository for git, so it is none for Handover.
    std::fs::create_dir_all(root.join("sandbox/.git")).expect("folders");
    std::fs::create_dir_all(root.join("sandbox/project/.handover")).expect("folders");
    assert_eq!(found("sandbox/project"), Some(root.join("sandbox/project")));
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

/// Tests `handover init` in a new project: it writes the files once, keeps them the second time, and makes valid agent
/// cards.
#[test]
fn a_project_begins_with_valid_files_and_keeps_what_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    git(folder.path(), &["init", "-q"]);
    git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "start"]);
    let run = |arguments: &[&str]| handover(folder.path(), arguments);
    let (code, first, errors) = run(&["init", "--examples", "--json"]);
    assert_eq!(code, Some(0), "{errors}");
    let first: serde_json::Value = serde_json::from_str(&first).expect("JSON");
    assert!(first["written"].as_array().is_some_and(|files| files.len() >= 10), "{first}");
    assert_eq!(first["kept"], serde_json::json!([]));
    let config = folder.path().join(".handover/config.toml");
    std::fs::write(&config, "# mine\n").expect("a file");
    let (_, second, _) = run(&["init", "--examples", "--json"]);
    let second: serde_json::Value = serde_json::from_str(&second).expect("JSON");
    assert_eq!((&second["written"], &second["kept"]), (&serde_json::json!([]), &first["written"]));
    assert_eq!(std::fs::read_to_string(&config).ok().as_deref(), Some("# mine\n"));
    let (code, listed, errors) = run(&["card", "list"]);
    assert_eq!(code, Some(0), "{listed}{errors}");
    assert!(listed.contains("builder") && listed.contains("reviewer"), "{listed}");
    std::fs::write(folder.path().join(".handover/cards/odd.json"), "{}").expect("a file");
    let (code, listed, _) = run(&["card", "list"]);
    assert_eq!(code, Some(1));
    assert!(listed.contains("odd.json: not valid"), "{listed}");
}

/// The help must not show the store's URL: it may contain a password, and people paste help texts into chats.
#[test]
fn help_does_not_show_the_store_of_the_environment() {
    let program = Command::new(env!("CARGO_BIN_EXE_handover"))
        .env("HANDOVER_STORE", "postgres://me:secret@host/db")
        .arg("--help")
        .output()
        .expect("the program");
    let text = String::from_utf8_lossy(&program.stdout).into_owned();
    assert!(text.contains("HANDOVER_STORE") && !text.contains("secret"), "{text}");
}

#[test]
fn shells_and_man_get_their_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish"] {
        let (code, text, _) = handover(folder.path(), &["completions", shell]);
        assert_eq!(code, Some(0));
        assert!(text.contains("handover") && text.contains("check"), "{shell}");
    }
    let (code, page, _) = handover(folder.path(), &["man"]);
    assert_eq!(code, Some(0));
    assert!(page.contains(".TH handover"), "{page}");
    let (code, page, _) = handover(folder.path(), &["man", "task", "claim"]);
    assert_eq!(code, Some(0));
    assert!(page.contains(".TH handover-task-claim 1") && page.contains("handover task claim"), "{page}");
    let (code, _, errors) = handover(folder.path(), &["man", "task", "fly"]);
    assert!(code == Some(2) && errors.contains("there is no command `task fly`"), "{errors}");
    assert!(std::fs::read_dir(folder.path()).expect("the folder").next().is_none(), "nothing was written");
}

#[test]
fn man_all_writes_one_page_for_each_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, text, errors) = handover(folder.path(), &["man", "--all", "pages"]);
    assert_eq!(code, Some(0), "{errors}");
    let pages = std::fs::read_dir(folder.path().join("pages")).expect("the folder").count();
    assert_eq!(text, format!("wrote {pages} pages into pages\n"));
    for page in ["handover.1", "handover-run.1", "handover-task.1", "handover-task-claim.1", "handover-review-ask.1"] {
        assert!(folder.path().join("pages").join(page).exists(), "there is no {page}");
    }
}

#[test]
fn help_shows_everyday_commands_all_commands_or_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str]| handover(folder.path(), arguments);
    let (code, short, _) = run(&["--help"]);
    assert_eq!(code, Some(0));
    assert!(short.contains("Every day:\n  init ") && short.contains("All commands: handover help all"), "{short}");
    assert!(!short.contains("workspace"), "{short}");
    assert_eq!(run(&["help"]), (Some(0), short, String::new()));
    let (code, all, _) = run(&["help", "all"]);
    assert!(code == Some(0) && all.contains("\nTools for agents:\n") && all.contains("\n  task claim "), "{all}");
    let (code, one, _) = run(&["help", "task", "claim"]);
    assert!(code == Some(0) && one.contains("Usage: handover task claim"), "{one}");
    assert_eq!(run(&["task", "claim", "--help"]).1, one, "both ways show the same");
}
