//! The operator's commands as a person calls them: what they print and how they exit.
#![expect(clippy::disallowed_methods, reason = "starts the program it tests")]

use std::path::Path;
use std::process::Command;

/// Exit code, standard output, standard error.
fn handover(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let program = Command::new(env!("CARGO_BIN_EXE_handover"))
        .current_dir(folder)
        .env_remove("HANDOVER_STORE")
        .args(arguments)
        .output();
    let Ok(output) = program else { return (None, String::new(), "the program did not start".to_owned()) };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_store_is_made_exported_imported_and_verified() {
    let folder = tempfile::tempdir().expect("a folder");
    let say = |text: &str| (Some(0), text.to_owned(), String::new());
    let tell = |text: &str| (Some(0), String::new(), text.to_owned());
    let run = |arguments: &[&str]| handover(folder.path(), arguments);
    assert_eq!(run(&["log", "verify"]), say("verified 0 entries of 0 topics\n"));
    assert!(folder.path().join(".handover/state/handover.db").exists());
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
