//! Tests that a program can read why a command failed: with `--json`, one JSON object on standard error.

use std::path::Path;

use serde_json::Value;

use crate::handover;

/// The file with one example of each command of the program.
const EXAMPLES: &str = include_str!("../../src/cli/examples.txt");
/// The commands that do not open the store. The broken store of this test does not make them fail.
const WITHOUT_STORE: [&str; 7] = ["init", "card list", "check", "demo", "doctor", "setup", "trust"];

/// Splits an example into the words that a shell would give the program, without `handover` and without redirections.
fn words(example: &str) -> Vec<String> {
    let command = example.split(" > ").next().and_then(|command| command.split(" < ").next()).unwrap_or(example);
    let split = |(number, part): (usize, &str)| match number % 2 {
        1 => vec![part.to_owned()],
        _ => part.split_whitespace().map(str::to_owned).collect(),
    };
    command.split('\'').enumerate().flat_map(split).skip(1).collect()
}

/// Returns the words of the command in an example, without its arguments.
fn command(words: &[String], listed: &[&str]) -> String {
    let (one, two) = (words[0].clone(), words.iter().take(2).cloned().collect::<Vec<_>>().join(" "));
    if listed.contains(&two.as_str()) { two } else { one }
}

/// Runs a command that fails. Checks that it prints only one complete object `{"error": …}`, and returns its exit code
/// and the inner object.
fn error(folder: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let (code, out, err) = handover(folder, arguments);
    assert_eq!(out, "", "{arguments:?}: standard output is empty after a failure");
    assert_eq!(err.lines().count(), 1, "{arguments:?}: one line on standard error: {err}");
    let printed: Value = serde_json::from_str(&err).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {err}"));
    let error = printed["error"].clone();
    for member in ["code", "message", "suggestion"] {
        assert!(error[member].as_str().is_some_and(|text| !text.is_empty()), "{arguments:?}: {member}: {err}");
    }
    assert!(error["retry"].is_boolean(), "{arguments:?}: {err}");
    (code, error)
}

#[test]
fn failures_are_one_json_object_for_every_command_with_json() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("broken.db"), "not a database, but long enough to be read as one")
        .expect("a file");
    let commands: Vec<String> = include_str!("../../src/cli/commands.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            line.split_whitespace().skip(1).filter(|word| !word.starts_with("--")).collect::<Vec<_>>().join(" ")
        })
        .collect();
    let listed: Vec<&str> = commands.iter().map(String::as_str).collect();
    let mut tried = 0;
    for example in EXAMPLES.lines().filter(|line| line.starts_with("handover ")) {
        let words = words(example);
        let command = command(&words, &listed);
        let path: Vec<&str> = command.split(' ').collect();
        let (_, help, _) = handover(folder.path(), &[&["help"], &path[..]].concat());
        if !help.contains("--json") {
            continue;
        }
        tried += 1;
        let wrong = [&path[..], &["--json", "--no-such-option"]].concat();
        let (code, usage) = error(folder.path(), &wrong);
        assert_eq!((code, &usage["code"]), (Some(2), &Value::from("USAGE")), "{wrong:?}: {usage}");
        if WITHOUT_STORE.contains(&command.as_str()) {
            continue;
        }
        let words: Vec<&str> =
            words.iter().map(String::as_str).filter(|word| !["--watch", "--follow"].contains(word)).collect();
        let broken = [&["--store", "broken.db"], &words[..]].concat();
        let (plain, _, _) = handover(folder.path(), &broken);
        let (code, error) = error(folder.path(), &[&broken[..], &["--json"]].concat());
        assert_eq!(code, plain, "{example}: the exit code is the same without --json: {error}");
        assert_ne!(code, Some(0), "{example}: {error}");
    }
    assert!(tried > 60, "only {tried} commands have --json");
}

#[test]
fn failures_have_the_code_of_their_kind() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("broken.db"), "not a database, but long enough to be read as one")
        .expect("a file");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["task", "show", "tk_000000000000", "--json"], 1, "TASK_NOT_FOUND"),
        (&["turn", "show", "tn_000000000000", "--json"], 1, "TURN_NOT_FOUND"),
        (&["review", "show", "--json"], 1, "REVIEW_NOT_FOUND"),
        (&["card", "show", "nobody", "--json"], 1, "CARD_NOT_FOUND"),
        (&["approval", "approve", "ap_000000000000", "--json"], 1, "NOT_A_PERSON"),
        (&["workflow", "plan", "wf_000000000000", "@missing.yaml", "--json"], 2, "INVALID_INPUT"),
        (&["status", "--json", "--watch"], 2, "USAGE"),
        (&["status", "--json", "--store", "broken.db"], 3, "INTERNAL_ERROR"),
    ];
    for (arguments, code, name) in cases {
        let (found, error) = error(folder.path(), arguments);
        assert_eq!((found, error["code"].as_str()), (Some(*code), Some(*name)), "{arguments:?}: {error}");
    }
}

/// `--json` after `--` is an argument and no option, so the failure is printed as text.
#[test]
fn json_after_two_dashes_is_an_argument() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, out, err) = handover(folder.path(), &["task", "show", "--", "--json"]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.starts_with("TASK_NOT_FOUND"), "{err}");
}
