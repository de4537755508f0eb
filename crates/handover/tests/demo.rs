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
    // Each turn (one run of an agent's program) of the demo writes two checkpoints, except the turn that crashes
    // between them.
    assert!(summary["checkpoints"].as_u64().unwrap() >= 17, "{text}");
    assert!(summary["ms"].as_u64().unwrap() < MS_MAX, "{text}");
}
