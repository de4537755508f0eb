//! Tests `handover retry`, `take`, `stop` and `answer`: the state of the task after each command, and the printed line.

use engine::Command;
use engine::command::Target;
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::task::Status;

use crate::scene::WorkScene;

fn one() -> WorkScene {
    let scene = WorkScene::new();
    scene.out(&["add", "Go back after login"]);
    scene
}

#[test]
fn a_blocked_task_is_open_again_after_retry() {
    let scene = one();
    let refused = scene.ask(&["retry", "1"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("is pending; only a blocked or failed task is retried"), "{refused:?}");
    scene.block("1");
    assert_eq!(scene.out(&["retry"]), " 1  open again. Start it: handover run\n");
    assert_eq!(scene.task("1").status(), Status::Pending);
}

#[test]
fn a_person_takes_a_blocked_task_as_it_is() {
    let scene = one();
    scene.block("1");
    let script = scene.ask(&["take", "1", "the test is wrong"]);
    assert_eq!(script.code, 1, "{script:?}");
    assert!(script.err.contains("NOT_A_PERSON"), "{script:?}");
    let said = scene.at_terminal(&["take", "the test is wrong"], "");
    let told = " 1  taken as it is; there is nothing to merge\n";
    assert_eq!((said.code, said.out.as_str()), (0, told), "{said:?}");
    assert_eq!(scene.task("1").status(), Status::Completed);
}

#[test]
fn the_work_of_a_taken_task_waits_to_be_merged() {
    let scene = one();
    scene.block("1");
    let branch = git::branch::task_branch(&scene.task("1").id.to_string(), 1);
    let folder = scene.path("attempt");
    scene.git(&["worktree", "add", "--quiet", "-b", &branch, folder.to_str().unwrap(), "main"]);
    std::fs::write(folder.join("new.txt"), "new\n").unwrap();
    scene.git_in(&folder, &["add", "--all"]);
    scene.git_in(&folder, &["commit", "--quiet", "-m", "work"]);
    scene.git(&["worktree", "remove", folder.to_str().unwrap()]);
    let said = scene.at_terminal(&["take", "1", "the test is wrong"], "");
    let told = " 1  taken as it is, unchecked. Merge it: handover merge 1\n";
    assert_eq!((said.code, said.out.as_str()), (0, told), "{said:?}");
    assert!(scene.out(&["diff", "1", "--stat"]).contains("unchecked: taken as it is: the test is wrong"));
    scene.out(&["merge", "1", "--yes"]);
    assert_eq!(scene.read("new.txt").as_deref(), Some("new\n"));
}

#[test]
fn a_stopped_task_is_given_back() {
    let scene = one();
    let nothing = scene.ask(&["stop"]);
    assert_eq!((nothing.code, nothing.err.as_str()), (2, "No task is being worked on.\n"));
    scene.claim("1");
    assert_eq!(scene.out(&["stop"]), " 1  stopped; the task is open again\n");
    let task = scene.task("1");
    assert_eq!((task.status(), task.holder()), (Status::Pending, None));
}

#[test]
fn an_answer_lets_the_task_continue() {
    let scene = one();
    let (agent, task) = scene.claim("1");
    let question = MessageDraft {
        task: Some(task),
        ..MessageDraft::text(
            MessageKind::Question,
            engine::task::Priority::DEFAULT,
            "Which port should the service use?",
        )
    };
    let to = Recipients::One(MailboxOwner::Human);
    scene.as_agent(agent, Command::Send { to, draft: question });
    let paused = Target::Paused { reason: Some("asks".to_owned()) };
    scene.as_agent(agent, Command::Move { task, attempt: None, to: paused });
    let script = scene.ask(&["answer", "1", "8080"]);
    assert_eq!(script.code, 1, "{script:?}");
    let said = scene.at_terminal(&["answer", "1", "8080"], "");
    let told = " 1  answered; claude continues with the next run\n";
    assert_eq!((said.code, said.out.as_str()), (0, told), "{said:?}");
    assert_eq!(scene.task("1").status(), Status::InProgress);
    let again = scene.at_terminal(&["answer", "1", "8081"], "");
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.err.contains("asks nothing"), "{again:?}");
}

#[test]
fn logs_of_a_task_without_turns_say_how_to_start_it() {
    let scene = one();
    let said = scene.ask(&["logs", "1"]);
    let told = "No agent has worked on 1  Go back after login yet. Start it: handover run\n";
    assert_eq!((said.code, said.err.as_str()), (1, told), "{said:?}");
}
