//! Tests the files that `.worktreeinclude` lists. Handover copies them into the worktrees of agents: agents and checks
//! find them there, and no commit has them.

use crate::scene::EcosystemScene;

const FILES: &[(&str, &str)] =
    &[(".gitignore", ".env\nlocal/\n"), (".worktreeinclude", ".env\nlocal/*.json\n"), ("main.txt", "one\n")];

/// Settings with a check that passes only if the copied files are in the worktree.
const CHECK: &str =
    "[verify]\nchecks = [{ command = [\"sh\", \"-c\", \"grep -q sesame .env && test -e local/a.json\"] }]\n";

fn scene(bot: &str) -> EcosystemScene {
    let scene = EcosystemScene::new(FILES);
    scene.write(".env", "KEY=sesame\n");
    scene.write("local/a.json", "{}\n");
    scene.settle(CHECK, bot);
    scene
}

/// Asserts that no commit of any branch has one of the files that Handover copied into the agent's worktree.
fn in_no_commit(scene: &EcosystemScene) {
    assert_eq!(scene.shell("git log --all --format=%h --name-only -- .env local"), "");
    assert_eq!(scene.shell("cat .env local/a.json"), "KEY=sesame\n{}\n");
}

#[test]
fn copied_files_are_there_for_the_check_and_in_no_commit() {
    let scene = scene("cat .env >/dev/null; echo two >>main.txt; echo done");
    let ran = scene.add(&["Write two"]);
    assert_eq!(ran.labels(1)[..3], ["bot started", "bot finished", "checked"], "{}", ran.text);
    let merged = scene.handover(&["merge", "1", "--yes"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    in_no_commit(&scene);
}

#[test]
fn copied_files_that_an_agent_commits_by_force_are_in_no_merged_commit() {
    let bot = "echo two >>main.txt; git add --force .env local\n\
               git -c user.name=b -c user.email=b@example.org commit --quiet --all --message mine; echo done";
    let scene = scene(bot);
    let ran = scene.add(&["Write two"]);
    assert_eq!(ran.labels(1)[..3], ["bot started", "warning", "warning"], "{}", ran.text);
    assert_eq!(ran.labels(1)[3..], ["bot finished", "checked"], "{}", ran.text);
    let merged = scene.handover(&["merge", "1", "--yes"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    assert_eq!(scene.shell("git log --format=%h main -- .env local"), "");
}

#[test]
fn an_agent_that_stops_ignoring_copied_files_has_them_in_no_commit() {
    let scene = scene("echo two >>main.txt; : >.gitignore; echo done");
    let ran = scene.add(&["Write two"]);
    // The warning tells the person which files Handover left out of the commit.
    assert_eq!(ran.labels(1)[..2], ["bot started", "warning"], "{}", ran.text);
    let merged = scene.handover(&["merge", "1", "--yes"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    in_no_commit(&scene);
}
