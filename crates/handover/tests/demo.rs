//! Tests that `handover demo` does what it promises: a team of agents completes its work, although an output is wrong,
//! an agent crashes, and a question needs an answer.
#![expect(clippy::disallowed_methods, reason = "it starts the program as a person would")]

use std::process::Command;

use serde_json::Value;

/// The longest time, in milliseconds, that the demo may take. The documentation promises this limit to new users.
const MS_MAX: u64 = 30_000;

#[test]
fn the_demo_is_a_team_that_comes_to_a_verified_end() {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_handover"))
        .args(["demo", "--json"])
        .current_dir(home.path())
        .env("HOME", home.path())
        .env_remove("HANDOVER_STORE")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let summary = lines.last().unwrap();
    let promised = [
        ("completed", 6),
        ("repaired", 1),
        ("recovered", 1),
        ("answered", 1),
        ("verifications_failed", 1),
        ("questions", 1),
    ];
    for (name, number) in promised {
        assert_eq!(summary[name], number, "{name}\n{text}");
    }
    assert_eq!(summary["log_verified"], true, "{text}");
    // Each turn (one run of an agent's program) of the demo writes two checkpoints (notes about its progress), except
    // the turn that crashes between them.
    assert!(summary["checkpoints"].as_u64().unwrap() >= 17, "{text}");
    assert!(summary["ms"].as_u64().unwrap() < MS_MAX, "{text}");
}

/// Replaces the parts of the demo's output that differ from run to run: durations, commits and the number of log
/// entries.
fn masked(story: &str) -> String {
    let is_number = |word: &str| word.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    let mut lines = Vec::new();
    for line in story.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let mut masked: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1).copied().unwrap_or_default();
            let is_duration = !word.is_empty() && is_number(word) && next.trim_end_matches([':', ';', '.']) == "s";
            let is_count = is_number(word) && next.trim_end_matches(',') == "entries";
            let is_commit = at > 0 && words[at - 1] == "as" && word.trim_end_matches(',').len() == 7;
            if is_duration || is_count {
                masked[at] = "N".to_owned();
            } else if is_commit {
                masked[at] = "COMMIT,".to_owned();
            }
        }
        lines.push(masked.join(" "));
    }
    // The agents in the first chapter of the demo work at the same time, so sort the lines by task. The lines of one
    // task keep their order.
    let first = lines.iter().position(|line| line.starts_with("1. ")).map_or(0, |at| at + 2);
    let last = first + lines[first..].iter().position(String::is_empty).unwrap_or_default();
    lines[first..last].sort_by_key(|line| line.chars().take(2).collect::<String>());
    lines.join("\n") + "\n"
}

#[test]
fn the_demo_tells_the_whole_story_without_touching_the_home_folder() {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_handover"))
        .arg("demo")
        .current_dir(home.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home.path())
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    let (text, problems) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && problems.is_empty(), "{text}\n{problems}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "the demo left {left:?} in the home folder");
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/demo-story.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, masked(&text)).unwrap();
    }
    assert_eq!(masked(&text), std::fs::read_to_string(file).unwrap());
}

#[test]
fn a_kept_demo_can_be_looked_at() {
    let home = tempfile::tempdir().unwrap();
    let handover = |folder: &std::path::Path, words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_handover"));
        command.args(words).current_dir(folder).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home.path()).env("TMPDIR", home.path());
        command.output().unwrap()
    };
    let output = handover(home.path(), &["demo", "--keep"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let folder = text.lines().find_map(|line| line.strip_prefix("  cd ")).unwrap();
    let status = handover(folder.as_ref(), &["status"]);
    let text = String::from_utf8(status.stdout).unwrap();
    assert!(status.status.success() && text.contains("ready to merge: Sign-in page, checked"), "{text}");
    assert!(!text.contains("amy asks"), "the question is answered: {text}");
}
