//! The demo does what it says, every time: the main job, with a crash in the middle.
#![expect(clippy::disallowed_methods, reason = "it starts the program as a person would")]

use std::process::Command;

use serde_json::Value;

/// What a newcomer is promised.
const MS_MAX: u64 = 20_000;

#[test]
fn the_demo_finishes_what_a_crash_interrupted() {
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
    assert_eq!(summary["completed"], 6, "{text}");
    assert_eq!(summary["claims_doubled"], 0, "{text}");
    assert_eq!(summary["log_verified"], true, "{text}");
    assert!(summary["recovered"].as_u64().unwrap() >= 1, "nobody's task was taken back\n{text}");
    assert!(summary["messages"].as_u64().unwrap() >= 1 && summary["checkpoints"].as_u64().unwrap() >= 12, "{text}");
    assert!(summary["ms"].as_u64().unwrap() < MS_MAX, "{text}");
    let said = |words: &str| lines.iter().any(|line| line["what"].as_str().is_some_and(|what| what.contains(words)));
    for words in
        ["registers", "claims schema (attempt 1)", "crashes", "its process was killed", "(attempt 2)", "half of"]
    {
        assert!(said(words), "nothing says {words:?}\n{text}");
    }
}
