//! Tests the ways in which a person can name a task, and the messages when several tasks or no task have the name.

use crate::scene::{WorkScene, passed};

#[test]
fn add_prints_numbers_and_how_many_tasks_are_ready() {
    let scene = WorkScene::new();
    assert_eq!(scene.out(&["add", "Go back after login"]), " 1  Go back after login\n");
    let said = scene.out(&["add", "Validate the email", "--after", "1"]);
    assert_eq!(said, " 2  Validate the email\n");
    let said = scene.out(&["add", "Docs", "Docs"]);
    assert_eq!(said, " 3  Docs\n 4  Docs (2)\n3 tasks are ready. Start them: handover run\n");
    let json: serde_json::Value =
        serde_json::from_str(&scene.out(&["add", "More", "--touches", "docs/**", "--json"])).unwrap();
    assert_eq!((json["tasks"][0]["number"].as_u64(), json["ready"].as_u64()), (Some(5), Some(4)), "{json}");
    let unknown = scene.ask(&["add", "Later", "--after", "77"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
    assert!(unknown.err.contains("There is no task 77."), "{unknown:?}");
}

#[test]
fn a_text_of_several_lines_comes_from_standard_input() {
    let scene = WorkScene::new();
    let mut command = scene.handover(&["add", "-"]);
    let file = scene.path("text");
    std::fs::write(&file, "Fix the login\n\nIt forgets the page.\n").unwrap();
    command.stdin(std::fs::File::open(&file).unwrap());
    let said = crate::scene::command_said(command.output().unwrap());
    assert_eq!((said.code, said.out.as_str()), (0, " 1  Fix the login\n"), "{said:?}");
    assert!(scene.out(&["task", "show", "1"]).contains("It forgets the page."));
}

#[test]
fn an_unclear_name_lists_the_tasks_and_asks_at_a_terminal() {
    let scene = WorkScene::new();
    scene.out(&["add", "Fix the login", "Fix the logout"]);
    scene.deliver("1", "main", &[("a.txt", "a\n")], passed());
    scene.deliver("2", "main", &[("b.txt", "b\n")], passed());
    let said = scene.ask(&["diff", "fix"]);
    let listed = "\"fix\" can mean:\n 1  Fix the login\n 2  Fix the logout\nName one of them: handover diff NUMBER\n";
    assert_eq!((said.code, said.err.as_str()), (2, listed), "{said:?}");
    let said = scene.ask(&["diff"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.starts_with("2 tasks wait for `handover diff`:\n 1  Fix the login\n"), "{said:?}");
    let said = scene.at_terminal(&["diff", "--name-only"], "2\n");
    assert_eq!((said.code, said.out.as_str()), (0, "b.txt\n"), "{said:?}");
    let said = scene.ask(&["diff", "nothing"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert_eq!(said.err, "There is no task or plan nothing. The tasks: handover task list\n");
}

#[test]
fn the_only_task_that_waits_needs_no_name() {
    let scene = WorkScene::new();
    scene.out(&["add", "Fix the login", "Fix the logout"]);
    let said = scene.ask(&["diff"]);
    let told = "No finished work waits for you. Start your agents: handover run\n";
    assert_eq!((said.code, said.err.as_str()), (2, told));
    scene.deliver("2", "main", &[("b.txt", "b\n")], passed());
    assert_eq!(scene.out(&["diff", "--name-only"]), "b.txt\n");
}

#[test]
fn tool_commands_take_numbers_and_names_too() {
    let scene = WorkScene::new();
    scene.out(&["add", "Fix the login", "Fix the logout"]);
    assert!(scene.out(&["task", "show", "2"]).contains("Fix the logout"));
    assert!(scene.out(&["task", "show", "Fix the login"]).contains("Fix the login"));
    assert!(scene.out(&["workflow", "show", "Tasks"]).contains("Fix the logout"));
    let said = scene.ask(&["task", "show", "fix"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("can mean:\n 1  Fix the login\n 2  Fix the logout\n"), "{said:?}");
}
