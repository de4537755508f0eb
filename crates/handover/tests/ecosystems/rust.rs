//! Tests a cargo project. Without any settings, Handover finds the command that checks the project. The compiled code
//! stays in the agent's worktree.

use crate::scene::EcosystemScene;

const FILES: &[(&str, &str)] = &[
    (".gitignore", "target/\n"),
    ("Cargo.toml", "[package]\nname = \"greet\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"greet\"\nversion = \"0.1.0\"\n"),
    ("src/lib.rs", "#[test]\nfn works() {}\n"),
];

#[test]
fn compiled_code_stays_in_the_worktree_for_the_next_task() {
    let scene = EcosystemScene::new(FILES);
    let bot = "ls -d target >>\"$NOTES/targets\" 2>/dev/null || echo none >>\"$NOTES/targets\"\n\
               echo \"// $goal\" >>src/lib.rs; echo said";
    scene.settle("", bot);
    for (number, task) in [(1, "First"), (2, "Second")] {
        let ran = scene.add(&[task]);
        assert_eq!(ran.labels(number)[..3], ["bot started", "bot finished", "checked"], "{}", ran.text);
        assert!(ran.text.contains("cargo test passed in"), "{}", ran.text);
        let merged = scene.handover(&["merge", &number.to_string(), "--yes"]);
        assert_eq!(merged.code, Some(0), "{merged:?}");
    }
    assert_eq!(scene.note("targets").unwrap(), "none\ntarget\n");
}

#[test]
fn work_that_does_not_compile_is_never_called_checked() {
    let scene = EcosystemScene::new(FILES);
    scene.settle("", "echo 'fn broken( {' >>src/lib.rs; echo done");
    let ran = scene.add(&["Break it"]);
    let labels = ran.labels(1);
    assert!(labels.contains(&"check failed") && !labels.contains(&"checked"), "{}", ran.text);
}
