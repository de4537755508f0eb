//! Tests which callers may run which command. An agent may run only `add` and commands that show something. A person's
//! script without a terminal may run more commands, but no command that decides for the person, such as `approve`.

use crate::scene::{WorkScene, passed};

/// Each row: a command, whether an agent may run it, and whether a person's script may run it.
const ROWS: &[(&[&str], bool, bool)] = &[
    (&["diff", "1"], true, true),
    (&["logs", "1"], true, true),
    (&["add", "More", "--run"], false, true),
    (&["merge", "1", "--yes"], false, true),
    (&["merge", "--undo"], false, true),
    (&["send-back", "1", "again"], false, true),
    (&["drop", "1"], false, true),
    (&["retry", "1"], false, true),
    (&["stop", "1"], false, true),
    (&["answer", "1", "yes"], false, false),
    (&["approve", "1"], false, false),
    (&["reject", "1", "no"], false, false),
    (&["take", "1", "fine"], false, false),
];

#[test]
fn commands_are_refused_below_an_agent_and_decisions_without_a_person() {
    let scene = WorkScene::new();
    scene.out(&["add", "Go back after login"]);
    scene.deliver("1", "main", &[("a.txt", "a\n")], passed());
    let before = scene.tip("main");
    for (arguments, agent, script) in ROWS {
        for (is_allowed, mark) in [(agent, Some("CLAUDECODE")), (script, None)] {
            let mut command = scene.handover(arguments);
            if let Some(mark) = mark {
                command.env(mark, "1");
            } else if *is_allowed {
                // Skip a command that a script may run: other tests show that it works.
                continue;
            }
            let said = crate::scene::command_said(command.output().unwrap());
            let is_refused = said.code == 1 && said.err.contains("NOT_A_PERSON");
            assert_eq!(is_refused, !is_allowed, "{arguments:?} below {mark:?}: {said:?}");
        }
    }
    assert_eq!(scene.tip("main"), before);
}

#[test]
fn add_below_an_agent_needs_a_registered_agent() {
    let scene = WorkScene::new();
    let mut command = scene.handover(&["add", "More"]);
    command.env("CLAUDECODE", "1");
    let said = crate::scene::command_said(command.output().unwrap());
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("AGENT_REQUIRED"), "{said:?}");
}
