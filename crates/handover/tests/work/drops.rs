//! Tests `handover drop` with its undo, and `handover send-back` with remarks that a person writes in an editor.

use engine::task::Status;

use crate::scene::{WorkScene, passed};

fn one() -> WorkScene {
    let scene = WorkScene::new();
    scene.out(&["add", "Go back after login"]);
    scene.deliver("1", "main", &[("src/login.js", "one\nTWO\nthree\n")], passed());
    scene
}

#[test]
fn dropped_work_is_kept_and_comes_back() {
    let scene = one();
    let tip = scene.tip("handover/1-work");
    let said = scene.out(&["drop"]);
    assert_eq!(said, " 1  dropped; kept for 14 days. Bring it back: handover drop 1 --undo\n");
    assert_eq!(scene.git(&["branch", "--list", "handover/*"]), "");
    assert!(scene.git(&["for-each-ref", "--format=%(objectname)", "refs/handover/removed"]).contains(&tip));
    let refused = scene.ask(&["merge", "1", "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("handover drop 1 --undo"), "{refused:?}");
    let said = scene.out(&["drop", "--undo"]);
    assert_eq!(said, " 1  is back and waits: handover diff 1   handover merge 1\n");
    assert_eq!(scene.tip("handover/1-work"), tip);
    assert!(scene.out(&["merge", "1", "--yes"]).contains("main is now"));
}

#[test]
fn a_task_without_work_is_skipped() {
    let scene = WorkScene::new();
    scene.out(&["add", "Nobody needs this"]);
    let said = scene.out(&["drop", "1"]);
    assert_eq!(said, " 1  dropped; it had no finished work. Add it again: handover add \"...\"\n");
    assert_eq!(scene.task("1").status(), Status::Skipped);
}

#[test]
fn a_task_that_is_sent_back_waits_for_its_agent_and_is_not_merged() {
    let scene = one();
    let said = scene.out(&["send-back", "1", "Use the check in src/valid.js"]);
    assert_eq!(said, " 1  sent back to claude. Start it: handover run\n");
    let task = scene.task("1");
    assert_eq!((task.status(), task.attempt), (Status::Pending, 1));
    let shown = scene.out(&["task", "checkpoints", "1"]);
    assert!(shown.contains("Use the check in src/valid.js"), "{shown}");
    let refused = scene.ask(&["merge", "1", "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("has no finished work: it is pending"), "{refused:?}");
}

#[test]
fn remarks_in_the_editor_become_notes_with_file_and_line() {
    let scene = one();
    scene.install("write", "#!/bin/sh\nsed -i 's/^+TWO$/+TWO\\n>> no capitals/' \"$1\"\n");
    let mut nothing = scene.handover(&["send-back", "1", "-e"]);
    nothing.env("EDITOR", "true");
    assert_eq!(nothing.output().unwrap().status.code(), Some(2));
    let said = scene.at_terminal_with(&["send-back", "1", "-e"], "", &[("EDITOR", "true")]);
    assert_eq!((said.code, said.err.contains("Nothing was sent")), (1, true), "{said:?}");
    let said = scene.at_terminal_with(&["send-back", "1", "-e"], "", &[("EDITOR", "write")]);
    assert_eq!((said.code, said.out.as_str()), (0, " 1  sent back to claude. Start it: handover run\n"), "{said:?}");
    let shown = scene.out(&["task", "checkpoints", "1", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let text = shown.to_string();
    assert!(text.contains("no capitals") && text.contains("src/login.js"), "{text}");
}
