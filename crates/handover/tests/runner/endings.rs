//! Tests the lines that `handover run` prints for a person at its start and at its end, and its exit codes. The lines
//! say what the run did, what needs the person, and what is missing, such as a commit or an agent.

use std::fs;
use std::process::Command;

use crate::scene::Scene;

const CHECK: &str = "[verify]\nchecks = [{ command = [\"true\"] }]\n";

fn scene(bot: &str) -> Scene {
    let mut scene = Scene::new();
    scene.settings.push_str(CHECK);
    scene.plain("bot", bot, "max_parallel = 2");
    scene.settle();
    scene
}

/// Runs a command and returns its exit code, its standard output and its standard error.
fn said(mut command: Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

const WRITES: &str = "read -r goal; echo x >\"$goal\"; echo wrote it";

#[test]
fn a_run_begins_with_its_tasks_and_ends_with_what_to_do_next() {
    let scene = scene(WRITES);
    fs::write(scene.project().join("notes.md"), "not committed\n").unwrap();
    assert!(scene.ask(&["add", "one", "two"]).status.success());
    let (code, out, err) = said(scene.handover(&["run"]));
    let commit = scene.git(&["rev-parse", "--short=7", "main"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(code, 0, "{out}{err}");
    let first = format!("2 tasks, 1 agent, from main at {}", commit.trim());
    let second = "1 uncommitted file is not part of this run: notes.md";
    assert_eq!(lines[..3], [first.as_str(), second, ""], "{out}");
    for line in [" 1  bot started        one", " 2  bot finished       1 file, +1 −0: wrote it"] {
        assert!(lines.contains(&line), "{line}: {out}");
    }
    assert!(out.contains("Done in ") && out.contains(" s. 2 tasks, both checked. Nothing is merged yet.\n"), "{out}");
    let last = "Look:  handover diff 1       Merge:  handover merge 1       Both:  merge --all";
    assert_eq!(lines.last(), Some(&last), "{out}");
    let nothing = "Nothing to do: no task is ready. Add one: handover add \"...\"\n".to_owned();
    assert_eq!(said(scene.handover(&["run"])), (0, nothing, String::new()));
}

#[test]
fn one_task_a_plan_by_name_and_a_plan_file_are_run_alone() {
    let scene = scene(WRITES);
    assert!(scene.ask(&["add", "one", "two"]).status.success());
    let ran = scene.run(&["2"]);
    assert_eq!((ran.code, ran.story("one").as_str()), (0, ""), "{}", ran.stderr);
    assert_eq!(ran.story("two"), "first done verified completed");
    let (code, out, _) = said(scene.handover(&["run", "two"]));
    assert_eq!((code, out.as_str()), (0, "Nothing to do: the task is done already. Look at it: handover diff\n"));
    let path = scene.plan("name: Greeting\ntasks:\n  - {name: three}\n");
    assert!(scene.ask(&["plan", "--file", path.to_str().unwrap()]).status.success());
    let ran = scene.run(&["Greeting"]);
    assert_eq!((ran.code, ran.story("one").as_str()), (0, ""), "{}", ran.stderr);
    assert!(ran.story("three").ends_with("completed"), "{:#?}", ran.events);
    let ran = scene.run(&[path.to_str().unwrap()]);
    assert!(ran.code == 0 && ran.story("three").ends_with("completed"), "{}", ran.stderr);
    let names = scene.json(&["workflow", "list"])["workflows"].as_array().unwrap().len();
    assert_eq!(names, 3, "the file made a workflow of its own");
    let (code, _, err) = said(scene.handover(&["run", "nowhere"]));
    assert!(code == 2 && err.starts_with("There is no task or plan nowhere."), "{err}");
}

#[test]
fn a_question_ends_the_run_and_is_told_again_by_the_next_one() {
    let mut scene = Scene::new();
    scene.agent("worker", "");
    scene.settle();
    assert!(scene.ask(&["add", "asks finished"]).status.success());
    for round in ["first", "second"] {
        let (code, out, err) = said(scene.handover(&["run"]));
        assert_eq!(code, 1, "{round}: {out}{err}");
        assert!(out.contains(" s. 1 task needs you.\n"), "{round}: {out}");
        assert!(out.ends_with("    handover answer 1 \"...\"          then: handover run\n"), "{round}: {out}");
    }
    let ended = scene.run(&[]).events.pop().unwrap();
    assert_eq!((&ended["how"], &ended["exit_code"]), (&"stuck".into(), &1.into()), "{ended}");
    assert_eq!(ended["needs"][0]["commands"][0], "handover answer 1 \"...\"", "{ended}");
}

#[test]
fn a_run_that_lacks_git_a_commit_or_an_agent_says_what_to_type() {
    let scene = Scene::new();
    let folder = scene.sim().join("bare");
    fs::create_dir(&folder).unwrap();
    let run = || {
        let mut command = scene.handover(&["run"]);
        command.current_dir(&folder).env("PATH", "/usr/bin:/bin");
        let (code, out, err) = said(command);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        err
    };
    let git = |words: &[&str]| {
        let path = folder.to_str().unwrap();
        scene.git(&[&["-C", path], words].concat());
    };
    assert_eq!(
        run(),
        "This folder is not a git repository. Handover shows you a diff before anything changes, so it needs one: git \
         init && git add -A && git commit -m start\n"
    );
    git(&["init", "--quiet"]);
    assert_eq!(run(), "This repository has no commit. Agents start from a commit: git add -A && git commit -m start\n");
    git(&["commit", "--quiet", "--allow-empty", "-m", "start"]);
    assert_eq!(run(), "No agent here. Install Claude Code, Codex, … or: handover agent add NAME -- PROGRAM\n");
}

#[test]
fn an_agent_that_cannot_work_and_a_missing_check_are_told() {
    let mut scene = Scene::new();
    scene.plain("bot", "echo 'frob: command not found' >&2; exit 127", "");
    scene.settle();
    assert!(scene.ask(&["add", "one", "two"]).status.success());
    let (code, out, err) = said(scene.handover(&["run"]));
    assert_eq!(code, 1, "{out}{err}");
    for line in [
        "No test command found; tasks will end unchecked. Add one: handover check set \"make test\"",
        "    bot rests          its program is missing; it said \"frob: command not found\"",
        "                       2 tasks wait for it. Afterwards: handover run",
    ] {
        assert!(out.lines().any(|found| found == line), "{line}\n{out}");
    }
}

#[test]
fn outside_of_git_agents_work_on_the_files_themselves_only_when_asked() {
    let mut scene = Scene::new();
    scene.plain("bot", "read -r goal; echo x >\"$goal\"; echo wrote it", "max_parallel = 2");
    fs::remove_dir_all(scene.project().join(".git")).unwrap();
    scene.settle();
    assert!(scene.ask(&["add", "one", "two"]).status.success());
    let (code, _, err) = said(scene.handover(&["run"]));
    assert!(code == 2 && err.starts_with("This folder is not a git repository."), "{err}");
    let (code, out, err) = said(scene.handover(&["run", "--in-place"]));
    assert_eq!(code, 0, "{out}{err}");
    for name in ["one", "two"] {
        assert_eq!(fs::read_to_string(scene.project().join(name)).unwrap(), "x\n", "{out}");
    }
    assert!(out.contains("2 tasks, 1 agent\n") && !out.contains("handover merge"), "{out}");
}
