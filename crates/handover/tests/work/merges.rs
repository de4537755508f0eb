//! Tests `handover diff`, and `handover merge` with its undo. After a merge the person's branch must have exactly the
//! merged work and nothing else.

use crate::scene::{WorkScene, passed, unchecked};

const LOGIN: &[(&str, &str)] = &[("src/login.js", "one\nTWO\nthree\n"), ("test/login.js", "ok\n")];
const EMAIL: &[(&str, &str)] = &[("src/email.js", "valid\n")];

/// Creates a project with two finished tasks whose work starts from the same commit.
fn two() -> WorkScene {
    let scene = WorkScene::new();
    scene.out(&["add", "Go back after login", "Validate the email"]);
    scene.deliver("1", "main", LOGIN, passed());
    scene.deliver("2", "main", EMAIL, passed());
    scene
}

fn short(commit: &str) -> &str {
    &commit[..7]
}

#[test]
fn diff_says_who_did_what_and_shows_files_and_lines() {
    let scene = two();
    let base = scene.tip("main");
    let shown = scene.out(&["diff", "1"]);
    let head = format!(
        " 1  Go back after login\n    claude, 2 tries, cost unknown; from main at {}\n    checked: npm test passed in 6.5 s\n    \
         \"Keeps ?next= through the form.\"\n\n src/login.js  | 2 +-\n test/login.js | 1 +\ndiff --git a/src/login.js b/src/login.js\n",
        short(&base)
    );
    assert!(shown.starts_with(&head), "{shown}");
    assert!(shown.contains("\n-two\n+TWO\n"), "{shown}");
    assert_eq!(scene.out(&["diff", "go back", "--name-only"]), "src/login.js\ntest/login.js\n");
    assert!(!scene.out(&["diff", "1", "--stat"]).contains("diff --git"));
    let json: serde_json::Value = serde_json::from_str(&scene.out(&["diff", "1", "--json"])).unwrap();
    assert_eq!((json["number"].as_u64(), json["checked"].as_bool()), (Some(1), Some(true)), "{json}");
}

#[test]
fn the_second_task_merged_alone_brings_exactly_its_files() {
    let scene = two();
    let before = scene.tip("main");
    let said = scene.out(&["merge", "2", "--yes"]);
    let tip = scene.tip("main");
    assert_eq!(said, format!("main is now {}. Undo: handover merge --undo\n", short(&tip)));
    assert_eq!(scene.git(&["diff", "--name-only", &before, "main"]), "src/email.js");
    assert_eq!(scene.git(&["rev-list", "--count", &format!("{before}..main")]), "1");
    assert_eq!(scene.read("src/email.js").as_deref(), Some("valid\n"));
    assert_eq!(scene.read("src/login.js").as_deref(), Some("one\ntwo\nthree\n"));
    let message = scene.git(&["log", "-1", "--format=%an <%ae>%n%B"]);
    let expected = "Ann <ann@example.org>\nValidate the email\n\nKeeps ?next= through the form.\n\nCo-authored-by: claude \
                    <claude@handover>";
    assert_eq!(message, expected);
    let again = scene.ask(&["merge", "2", "--yes"]);
    let told = format!("2 Validate the email is already merged into main as {}.\n", short(&tip));
    assert_eq!((again.code, again.err), (0, told));
}

#[test]
fn all_merges_checked_work_one_commit_each_and_leaves_the_unchecked() {
    let scene = two();
    scene.out(&["add", "Docs"]);
    scene.deliver("3", "main", &[("docs.md", "docs\n")], unchecked());
    let before = scene.tip("main");
    let said = scene.ask(&["merge", "--all", "--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("1 unchecked task not merged"), "{said:?}");
    let subjects = scene.git(&["log", "--reverse", "--format=%s", &format!("{before}..main")]);
    assert_eq!(subjects, "Go back after login\nValidate the email");
    assert_eq!(scene.read("docs.md"), None);
    assert!(scene.out(&["merge", "3", "--yes"]).contains("main is now"));
    assert_eq!(scene.read("docs.md").as_deref(), Some("docs\n"));
}

#[test]
fn uncommitted_files_stop_a_merge_only_when_it_would_change_them() {
    let scene = two();
    let before = scene.tip("main");
    scene.write("README.md", "my own words\n");
    scene.write("src/login.js", "my own line\n");
    let refused = scene.ask(&["merge", "1", "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("src/login.js") && !refused.err.contains("README.md"), "{refused:?}");
    assert_eq!(scene.tip("main"), before);
    scene.out(&["merge", "2", "--yes"]);
    assert_eq!(scene.read("README.md").as_deref(), Some("my own words\n"));
    assert_eq!(scene.read("src/login.js").as_deref(), Some("my own line\n"));
    assert_eq!(scene.read("src/email.js").as_deref(), Some("valid\n"));
}

#[test]
fn undo_sets_the_branch_back_while_nothing_came_after() {
    let scene = two();
    let before = scene.tip("main");
    scene.write("README.md", "my own words\n");
    scene.out(&["merge", "1", "--yes"]);
    let said = scene.out(&["merge", "--undo"]);
    assert_eq!(
        said,
        format!("main is back at {}. 1 Go back after login waits again: handover merge 1\n", short(&before))
    );
    assert_eq!(scene.tip("main"), before);
    assert_eq!(scene.read("src/login.js").as_deref(), Some("one\ntwo\nthree\n"));
    assert_eq!(scene.read("README.md").as_deref(), Some("my own words\n"));
    let nothing = scene.ask(&["merge", "--undo"]);
    assert_eq!((nothing.code, nothing.err.as_str()), (1, "There is no merge to undo.\n"));
    scene.out(&["merge", "1", "--yes"]);
    let landed = scene.commit("my own commit");
    let late = scene.ask(&["merge", "--undo"]);
    assert_eq!(late.code, 1, "{late:?}");
    assert!(late.err.contains("git revert"), "{late:?}");
    assert_eq!(scene.tip("main"), landed);
}

#[test]
fn a_conflict_names_the_files_and_changes_nothing() {
    let scene = two();
    scene.write("src/login.js", "one\n2\nthree\n");
    let before = scene.commit("my own change");
    let said = scene.ask(&["merge", "1", "--yes"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("changed the same places in src/login.js"), "{said:?}");
    assert!(said.err.contains("handover send-back 1"), "{said:?}");
    assert_eq!((scene.tip("main"), scene.git(&["status", "--porcelain", "src"])), (before, String::new()));
}

#[test]
fn a_branch_that_moved_is_checked_with_the_work_before_it_moves_again() {
    let scene = two();
    // The check fails when the project has three scripts. The work of each task alone passes it, but the merged work of
    // both tasks fails.
    let check = "[ $(find . -name '*.js' | wc -l) -lt 3 ]";
    scene.settings(&format!("[verify]\nchecks = [{{ command = [\"sh\", \"-c\", \"{check}\"] }}]\n"));
    scene.write("notes.md", "notes\n");
    scene.commit("notes");
    let said = scene.out(&["merge", "1", "--yes"]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "main moved since the check (1 commit); checking the merged result", "{said}");
    assert!(lines[1].starts_with("  sh -c ") && lines[1].contains("   ok      "), "{said}");
    assert!(lines[2].starts_with("main is now "), "{said}");
    let before = scene.tip("main");
    let failed = scene.ask(&["merge", "2", "--yes"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.out.contains("main moved since the check (2 commits)"), "{failed:?}");
    assert!(failed.err.contains("fails on the merged result"), "{failed:?}");
    assert_eq!((scene.tip("main"), scene.read("src/email.js")), (before, None));
}

#[test]
fn without_a_terminal_the_merge_says_what_it_would_do() {
    let scene = two();
    let before = scene.tip("main");
    let said = scene.ask(&["merge", "1"]);
    let line = " 2 files, +2 −1 onto main; checked: npm test passed on exactly this tree\n";
    assert_eq!((said.code, said.out.as_str()), (1, line), "{said:?}");
    assert!(said.err.contains("--yes"), "{said:?}");
    assert_eq!(scene.tip("main"), before);
}

#[test]
fn a_person_at_a_terminal_is_asked_once() {
    let scene = two();
    let before = scene.tip("main");
    let no = scene.at_terminal(&["merge", "1"], "n\n");
    assert_eq!((no.code, scene.tip("main")), (1, before), "{no:?}");
    let yes = scene.at_terminal(&["merge", "1"], "y\n");
    assert_eq!(yes.code, 0, "{yes:?}");
    assert_eq!(yes.err.matches("Merge into main as one commit? [Y/n]").count(), 1, "{yes:?}");
    assert!(yes.out.ends_with("Undo: handover merge --undo\n"), "{yes:?}");
}

#[test]
fn merge_for_a_pull_request_pushes_the_branch_and_leaves_main() {
    let scene = two();
    let before = scene.tip("main");
    let remote = scene.path("remote.git");
    scene.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    scene.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    let said = scene.out(&["merge", "1", "--pr"]);
    assert!(said.starts_with("pushed handover/1-work to origin\n"), "{said}");
    assert_eq!(scene.git_in(&remote, &["rev-parse", "handover/1-work"]), scene.tip("handover/1-work"));
    assert_eq!(scene.tip("main"), before);
}
