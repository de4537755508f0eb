//! Tests tasks of the standing list (the workflow for single tasks, which never ends). Each task has a branch of its
//! own, which waits for a person. The task keeps its worktree, and a person can send the task back to its agent.

use std::fs;

use engine::delivery::{CheckOutcome, Delivery, DeliveryState};
use engine::id::TaskId;
use engine::plan::PlanTask;
use engine::{Caller, Command, Reply, Rights};

use crate::people::service;
use crate::scene::{Ran, Scene};

/// Adds tasks to the standing list, and returns their ids.
pub(crate) fn add(scene: &Scene, tasks: &[&str]) -> Vec<TaskId> {
    let person = || Caller::with_rights(Rights::Person);
    service(scene, async |service| {
        let opened = service.execute(person(), Command::OpenList).await.unwrap();
        let Reply::ListOpened { workflow, .. } = opened else { panic!("{opened:?}") };
        let mut added = Vec::new();
        for name in tasks {
            let add = Command::AddTask { workflow, task: Box::new(PlanTask::named(*name)), after: None };
            let reply = service.execute(person(), add).await.unwrap();
            let Reply::TaskAdded { task, .. } = reply else { panic!("{reply:?}") };
            added.push(task);
        }
        added
    })
}

fn delivery(scene: &Scene, task: TaskId) -> Delivery {
    service(scene, async |service| {
        service.view(move |world| Ok(world.delivery(task)?.cloned())).await.unwrap().unwrap()
    })
}

fn send_back(scene: &Scene, task: TaskId, text: &str) {
    let sent = Command::SendTaskBack { task, text: text.to_owned(), notes: Vec::new() };
    let person = Caller::with_rights(Rights::Person);
    service(scene, async |service| service.execute(person, sent).await.unwrap());
}

fn scene(settings: &str, bot: &str) -> Scene {
    let mut scene = Scene::new();
    scene.settings.push_str(settings);
    scene.plain("bot", bot, "max_parallel = 2");
    scene.settle();
    scene
}

fn run(scene: &Scene) -> Ran {
    scene.run(&["--once"])
}

#[test]
fn two_tasks_of_the_list_start_from_one_base_and_wait_on_branches_of_their_own() {
    let check = "[verify]\nchecks = [{ command = [\"sh\", \"-c\", \"[ ! -e one ] || [ ! -e two ]\"] }]\n";
    let scene = scene(check, "read -r goal; echo \"$goal\" >\"$goal\"; echo wrote \"$goal\"");
    let tasks = add(&scene, &["one", "two"]);
    let base = scene.git(&["rev-parse", "main"]).trim().to_owned();
    let ran = run(&scene);
    for name in ["one", "two"] {
        assert_eq!(ran.story(name), "first done verified completed", "{}\n{:#?}", ran.stderr, ran.events);
    }
    for (task, name) in tasks.iter().zip(["one", "two"]) {
        let found = delivery(&scene, *task);
        assert_eq!((found.state.clone(), found.work.base.as_str()), (DeliveryState::Waiting, base.as_str()));
        assert_eq!(found.work.base_branch.as_deref(), Some("main"));
        assert!(found.work.branch.starts_with("handover/") && found.work.branch.ends_with(&format!("-{name}")));
        assert!(matches!(found.check, CheckOutcome::Checked { .. }), "{:?}", found.check);
        assert_eq!((found.work.files, found.work.added, found.work.removed), (1, 1, 0));
        let tip = scene.git(&["rev-parse", &found.work.branch]);
        assert_eq!(tip.trim(), found.work.commit, "the checked commit is the tip of the branch");
        let tree = scene.git(&["rev-parse", &format!("{}^{{tree}}", found.work.commit)]);
        assert_eq!(tree.trim(), found.work.tree);
    }
    assert_eq!(scene.git(&["rev-parse", "main"]).trim(), base, "the person's branch is not touched");
}

#[test]
fn a_task_that_is_sent_back_continues_in_its_worktree_with_the_same_attempt() {
    let bot = "cat >\"$SIM/goal\"; pwd >>\"$SIM/folders\"; if [ -e first ]; then echo 2 >second; else echo 1 >first; fi; echo said";
    let scene = scene("", bot);
    let task = add(&scene, &["greet"])[0];
    let ran = run(&scene);
    assert_eq!(ran.story("greet"), "first done verified completed", "{}", ran.stderr);
    let before = delivery(&scene, task);
    send_back(&scene, task, "Use the check we have");
    let again = run(&scene);
    assert_eq!(again.story("greet"), "sent_back done verified completed", "{}\n{:#?}", again.stderr, again.events);
    assert!(fs::read_to_string(scene.sim().join("goal")).unwrap().contains("Use the check we have"));
    let folders = fs::read_to_string(scene.sim().join("folders")).unwrap();
    let folders: Vec<&str> = folders.lines().collect();
    assert_eq!((folders.len(), folders[0]), (2, folders[1]), "both turns work in the same folder");
    let after = delivery(&scene, task);
    assert_eq!((after.attempt, &after.work.branch), (before.attempt, &before.work.branch));
    assert_eq!((after.work.files, after.state), (2, DeliveryState::Waiting));
}

#[test]
fn a_program_that_is_missing_rests_its_agent_and_uses_up_no_attempt() {
    let scene = scene("", "echo 'frob: command not found' >&2; exit 127");
    let task = add(&scene, &["greet"])[0];
    let ran = run(&scene);
    let rests: Vec<_> = ran.events.iter().filter(|event| event["event"] == "agent_rests").collect();
    assert_eq!(rests.len(), 1, "{}\n{:#?}", ran.stderr, ran.events);
    let row = service(&scene, async |service| service.view(move |world| world.task(task).cloned()).await.unwrap());
    assert_eq!(row.crashes, 0, "{row:?}");
}
