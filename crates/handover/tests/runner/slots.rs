//! Tests the slots of a run: worktrees outside of the repository that one task after another uses.

use std::fs;
use std::path::Path;

use crate::kills::workflow;
use crate::listed::add;
use crate::process::Runner;
use crate::scene::Scene;

fn scene(more: &str) -> Scene {
    let mut scene = Scene::new();
    scene.settings.push_str(more);
    scene.agent("worker", "");
    scene.settle();
    scene
}

const TWO: &str =
    "summary: two\ntasks:\n  - {name: one, description: warm}\n  - {name: two, description: warm, depends_on: [one]}\n";

/// Returns the texts that the agents' programs wrote about the folder in which they ran, in the order of their runs.
fn found(scene: &Scene) -> Vec<String> {
    let files = fs::read_dir(scene.sim()).unwrap().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "found")).collect();
    files.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    files.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn the_second_task_works_in_the_slot_of_the_first_and_finds_its_ignored_files() {
    let scene = scene("");
    fs::write(scene.project().join(".gitignore"), "cache/\n").unwrap();
    scene.git(&["add", ".gitignore"]);
    scene.git(&["commit", "--quiet", "-m", "ignore"]);
    let workflow = workflow(&scene, TWO);
    let ran = Runner::start(&scene, "here", &[&workflow]).end();
    assert_eq!(ran.code, 0, "{:#?}\n{}", ran.events, ran.stderr);
    let found = found(&scene);
    let slot = found[0].trim_end().to_owned();
    assert!(!Path::new(&slot).starts_with(scene.project()), "{slot} is inside of the repository");
    assert_eq!(found[1], format!("{slot}\nwarm\n"));
    assert_eq!(scene.leftovers(), Vec::<String>::new());
}

#[test]
fn a_folder_for_worktrees_inside_of_the_repository_is_refused() {
    let scene = scene("worktrees = \".handover/trees\"\n");
    let workflow = workflow(&scene, TWO);
    let output = scene.ask(&["run", &workflow]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("outside of the repository"), "{stderr}");
    assert_eq!(scene.worktrees(), Vec::<std::path::PathBuf>::new());
}

/// Runs a command and returns its exit code and everything that it printed.
fn said(scene: &Scene, arguments: &[&str]) -> (Option<i32>, String) {
    let output = scene.ask(arguments);
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn a_free_worktree_is_listed_and_emptied_and_a_task_keeps_its_own() {
    let mut scene = Scene::new();
    scene.plain("bot", "read -r goal; mkdir -p cache; echo x >cache/x; echo x >\"$goal\"; echo wrote it", "");
    scene.settle();
    fs::write(scene.project().join(".gitignore"), "cache/\n").unwrap();
    scene.git(&["add", ".gitignore"]);
    scene.git(&["commit", "--quiet", "-m", "ignore"]);
    scene.git(&["config", "user.name", "t"]);
    scene.git(&["config", "user.email", "t@example.org"]);
    assert_eq!(said(&scene, &["worktree", "reset"]).0, Some(2), "nothing is there yet");
    add(&scene, &["greet"]);
    let ran = scene.run(&["--once"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let listed = || scene.json(&["worktree", "list"])["worktrees"].as_array().unwrap().clone();
    let kept = listed().into_iter().find(|row| row["status"] == "waiting").unwrap();
    assert_eq!((&kept["task"], &kept["task_number"]), (&"1 greet".into(), &1.into()));
    let (number, path) = (kept["worktree"].to_string(), kept["path"].as_str().unwrap().to_owned());
    let (code, text) = said(&scene, &["worktree", "reset", &number]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("1 greet, which waits for you") && text.contains("handover diff 1"), "{text}");
    let (code, text) = said(&scene, &["worktree", "reset", "--all"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(Path::new(&path).join("cache/x").exists(), "the worktree of the task is as it was");
    assert_eq!(said(&scene, &["worktree", "reset", "99"]).0, Some(2));
    let (code, text) = said(&scene, &["merge", "1", "--yes"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = said(&scene, &["worktree", "reset", &number]);
    assert_eq!((code, text.contains("is empty")), (Some(0), true), "{text}");
    assert!(!Path::new(&path).exists());
    // When the next task needs a worktree, the runner makes the deleted worktree again.
    add(&scene, &["part"]);
    assert_eq!(scene.run(&["--once"]).code, 0);
}
