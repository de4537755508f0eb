//! Tests that "checked" is true: setup and checks of the project, with shell scripts as agents, checks and setup.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::scene::{Ran, Scene};

/// A project with a settings text, an agent `bot` with this script, and files that are committed before the run.
fn scene(settings: &str, bot: &str, files: &[(&str, &str)]) -> Scene {
    let mut scene = Scene::new();
    scene.settings.push_str(&settings.replace("SIM", scene.sim().to_str().unwrap()));
    scene.plain("bot", bot, "");
    for (name, text) in files {
        fs::write(scene.project().join(name), text).unwrap();
        scene.git(&["add", name]);
    }
    if !files.is_empty() {
        scene.git(&["commit", "--quiet", "-m", "files"]);
    }
    scene.settle();
    scene
}

fn shell(command: &str) -> String {
    format!("checks = [{{ command = [\"sh\", \"-c\", {}], seconds = 20 }}]\n", serde_json::to_string(command).unwrap())
}

const ONE: &str = "name: one\ntasks:\n  - {name: greet, description: Add a greeting}\n";

fn event<'r>(ran: &'r Ran, name: &str) -> Vec<&'r Value> {
    ran.events.iter().filter(|event| event["event"] == name).collect()
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

/// Returns a file of the result of the only workflow.
fn result(scene: &Scene, path: &str) -> Option<String> {
    let branch = scene.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/handover/"]);
    let listed = scene.git(&["ls-tree", "-r", "--name-only", branch.trim()]);
    listed.lines().any(|name| name == path).then(|| scene.git(&["show", &format!("{}:{path}", branch.trim())]))
}

#[test]
fn a_plain_program_gets_its_goal_as_text_and_its_files_are_the_result() {
    let bot = "cat >\"$SIM/stdin\"; cp \"$HANDOVER_GOAL_FILE\" \"$SIM/goal\"; echo hello >greeting.txt; echo working; echo added it";
    let scene = scene("", bot, &[]);
    let ran = scene.run_plan(ONE);
    assert_eq!((ran.code, ran.story("greet").as_str()), (0, "first done verified merged completed"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(scene.sim().join("stdin")).unwrap(), "Add a greeting\n");
    assert_eq!(fs::read_to_string(scene.sim().join("goal")).unwrap(), "Add a greeting\n");
    let finished = event(&ran, "finished")[0];
    let counts = (&finished["files"], &finished["added"], &finished["removed"], &finished["summary"]);
    assert_eq!(counts, (&1.into(), &1.into(), &0.into(), &"added it".into()));
    assert_eq!(event(&ran, "unchecked")[0]["why"], "no check");
    assert_eq!(result(&scene, "greeting.txt").as_deref(), Some("hello\n"));
    assert_eq!(scene.leftovers(), Vec::<String>::new());
}

#[test]
fn a_failed_plain_program_is_a_crash_with_its_last_words() {
    let scene = scene("", "echo first >&2; echo 'out of paper' >&2; exit 3", &[]);
    // With one attempt the task does not rest, which would take minutes.
    let ran = scene.run_plan("name: one\ntasks:\n  - {name: greet, description: Add a greeting, max_attempts: 1}\n");
    let ends = event(&ran, "turn_ended");
    assert_eq!((&ends[0]["end"], &ends[0]["reason"]), (&"failed".into(), &"out of paper".into()), "{}", ran.stderr);
}

#[test]
fn a_check_that_fails_twice_sends_its_output_back_once() {
    let settings =
        format!("[verify]\n{}", shell("echo run >>SIM/runs; [ ! -e bad ] || { echo 'bad is there'; exit 1; }"));
    let bot = "cat >\"$SIM/goal\"; if [ -e bad ]; then rm bad; echo hi >good; else echo x >bad; fi; echo said";
    let scene = scene(&settings, bot, &[]);
    let ran = scene.run_plan(ONE);
    let story = "first done unverified verification done verified merged completed";
    assert_eq!((ran.code, ran.story("greet").as_str()), (0, story), "{}\n{:#?}", ran.stderr, ran.events);
    let failed = event(&ran, "check_failed")[0];
    let told = (&failed["exit_code"], &failed["runs"], &failed["last_line"]);
    assert_eq!(told, (&1.into(), &2.into(), &"bad is there".into()));
    let retry = &event(&ran, "turn_started")[1]["retry"];
    assert_eq!((&retry["number"], &retry["of"]), (&2.into(), &2.into()));
    assert!(fs::read_to_string(scene.sim().join("goal")).unwrap().contains("bad is there"));
    assert!(event(&ran, "checked")[0]["command"].as_str().unwrap().starts_with("sh -c"));
    assert_eq!((result(&scene, "bad"), result(&scene, "good").as_deref()), (None, Some("hi\n")));
}

#[test]
fn a_check_that_fails_before_any_change_spends_no_turn_and_runs_once_on_the_baseline() {
    let settings = format!(
        "[verify]\n{}",
        shell("[ -e new-1 ] || [ -e new-2 ] || echo base >>SIM/base; echo '1 failing'; exit 7")
    );
    let bot = "cat >/dev/null; [ -e new-1 ] && touch new-2 || touch new-1; echo did it";
    let scene = scene(&settings, bot, &[]);
    let plan = "name: two\ntasks:\n  - {name: greet}\n  - {name: part, depends_on: [greet]}\n";
    let ran = scene.run_plan(plan);
    let story = "first done verified merged completed";
    assert_eq!((ran.code, ran.story("greet").as_str()), (0, story), "{}\n{:#?}", ran.stderr, ran.events);
    assert_eq!(ran.story("part"), story);
    let why = event(&ran, "unchecked").iter().map(|event| event["why"].as_str().unwrap()).collect::<Vec<_>>();
    assert!(why.iter().all(|why| why.contains("already fails on")), "{why:?}");
    let baseline = event(&ran, "baseline_fails")[0];
    assert_eq!((&baseline["exit_code"], &baseline["last_line"]), (&7.into(), &"1 failing".into()));
    // The baseline has two runs, because a failure counts only when it is repeated.
    assert_eq!(lines(&scene.sim().join("base")), 2);
    let again = scene.run_plan("name: three\ntasks:\n  - {name: again}\n");
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(lines(&scene.sim().join("base")), 2, "a kept result is used by the next run");
    assert_eq!(scene.leftovers(), Vec::<String>::new());
}

#[test]
fn a_task_that_makes_a_failing_baseline_pass_is_checked() {
    let settings = format!("[verify]\n{}", shell("[ -e fixed ]"));
    let scene = scene(&settings, "cat >/dev/null; echo x >fixed; echo fixed it", &[]);
    let ran = scene.run_plan(ONE);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!((event(&ran, "checked").len(), event(&ran, "unchecked").len()), (1, 0), "{:#?}", ran.events);
}

#[test]
fn a_flaky_check_is_told_to_the_person_and_not_to_the_agent() {
    let once = "[ ! -e new ] || [ -e SIM/seen ] || { touch SIM/seen; exit 1; }";
    let scene = scene(&format!("[verify]\n{}", shell(once)), "cat >/dev/null; echo x >new; echo made it", &[]);
    let ran = scene.run_plan(ONE);
    assert_eq!((ran.code, ran.story("greet").as_str()), (0, "first done verified merged completed"), "{}", ran.stderr);
    let flaky = &event(&ran, "checked")[0]["flaky"];
    assert_eq!((&flaky["run"], &flaky["of"]), (&2.into(), &2.into()));
}

#[test]
fn a_check_that_times_out_blames_nobody() {
    let settings = "[verify]\nchecks = [{ command = [\"sh\", \"-c\", \"[ ! -e new ] || sleep 1000\"], seconds = 1 }]\n";
    let scene = scene(settings, "cat >/dev/null; echo x >new; echo made it", &[]);
    let ran = scene.run_plan(ONE);
    assert_eq!((ran.code, ran.story("greet").as_str()), (0, "first done verified merged completed"), "{}", ran.stderr);
    assert!(event(&ran, "unchecked")[0]["why"].as_str().unwrap().ends_with("timed out"), "{:#?}", ran.events);
    assert_eq!(scene.leftovers(), Vec::<String>::new());
}

#[test]
fn a_changed_lock_file_runs_the_setup_again_before_the_check() {
    let settings = format!(
        "[worktree]\nsetup = [{{ command = [\"sh\", \"-c\", \"echo $CI-$HANDOVER_SLOT >>SIM/setups; cp lock installed\"], \
         inputs = [\"lock\"] }}]\n[verify]\n{}",
        shell("cmp lock installed")
    );
    let bot = "cat >/dev/null; cmp lock installed && echo two >lock; echo changed the lock";
    let scene = scene(&settings, bot, &[("lock", "one\n"), (".gitignore", "installed\n")]);
    let ran = scene.run_plan(ONE);
    assert_eq!((ran.code, ran.story("greet").as_str()), (0, "first done verified merged completed"), "{}", ran.stderr);
    assert_eq!(event(&ran, "checked").len(), 1, "{:#?}", ran.events);
    let setups = fs::read_to_string(scene.sim().join("setups")).unwrap();
    // The slot of the task is set up before its turn and before its check. The baseline may have been set up, too.
    assert!(setups.lines().filter(|line| *line == "1-1").count() >= 2, "{setups}");
    assert_eq!((result(&scene, "lock").as_deref(), result(&scene, "installed")), (Some("two\n"), None));
}

#[test]
fn a_setup_that_fails_gives_the_task_back_untouched_and_ends_the_run() {
    let settings = "[worktree]\nsetup = [{ command = [\"sh\", \"-c\", \"[ -e SIM/network ] || { echo no network; exit 4; }\"] }]\n";
    let scene = scene(settings, "cat >/dev/null; echo x >new; echo made it", &[]);
    let ran = scene.run_plan(ONE);
    assert_eq!(ran.code, 1, "{:#?}", ran.events);
    let failed = event(&ran, "setup_failed")[0];
    assert_eq!((&failed["how"], &failed["last_lines"]), (&"exited with 4".into(), &"no network".into()));
    assert_eq!(event(&ran, "turn_started").len(), 0);
    let workflow = scene.json(&["workflow", "list"])["workflows"][0]["id"].as_str().unwrap().to_owned();
    fs::write(scene.sim().join("network"), "").unwrap();
    let again = scene.run(&[&workflow]);
    assert_eq!((again.code, event(&again, "completed").len()), (0, 1), "{}\n{:#?}", again.stderr, again.events);
    assert_eq!(scene.leftovers(), Vec::<String>::new());
}

#[test]
fn leftovers_of_checks_are_never_in_the_result() {
    let check =
        "echo report >report.txt; mkdir -p cache; echo x >cache/x; echo changed >README.md; rm -f greeting.bak; true";
    let bot = "cat >/dev/null; echo hello >greeting.txt; echo old >greeting.bak; echo made it";
    let scene = scene(&format!("[verify]\n{}", shell(check)), bot, &[]);
    let ran = scene.run_plan(ONE);
    assert_eq!((ran.code, event(&ran, "checked").len()), (0, 1), "{}", ran.stderr);
    let found = ["greeting.txt", "greeting.bak", "README.md", "report.txt", "cache/x"].map(|path| result(&scene, path));
    let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
    assert_eq!(found, [Some("hello\n"), Some("old\n"), Some("a project\n"), None, None]);
    assert_eq!(scene.leftovers(), Vec::<String>::new());
}

#[test]
fn a_worktree_finds_nothing_of_the_main_checkout() {
    let check = "here=$PWD; while [ \"$here\" != / ]; do [ ! -e \"$here/node_modules/dep\" ] || exec cat \"$here/node_modules/dep\"; here=$(dirname \"$here\"); done; exit 9";
    let settings = format!(
        "[worktree]\nsetup = [{{ command = [\"sh\", \"-c\", \"mkdir -p node_modules; echo own >node_modules/dep\"] }}]\n\
         [verify]\n{}",
        shell(&format!("[ \"$({check})\" = own ]"))
    );
    let scene = scene(&settings, "cat >/dev/null; echo x >new; echo made it", &[(".gitignore", "node_modules\n")]);
    fs::create_dir(scene.project().join("node_modules")).unwrap();
    fs::write(scene.project().join("node_modules/dep"), "main\n").unwrap();
    let ran = scene.run_plan(ONE);
    assert_eq!((ran.code, event(&ran, "checked").len()), (0, 1), "{}\n{:#?}", ran.stderr, ran.events);
}

#[test]
fn work_that_fails_together_with_other_work_goes_back_before_the_branch_moves() {
    let settings = format!("[verify]\n{}", shell("! { [ -e left ] && [ -e right ]; }"));
    // Both tasks start from the same commit: each waits until both have begun.
    let bot = "read -r name; if [ -e left ] && [ -e right ]; then git mv \"$name\" other; else echo x >\"$name\"; touch \"$SIM/$name\"; \
        until [ -e \"$SIM/left\" ] && [ -e \"$SIM/right\" ]; do sleep 0.05; done; fi; echo did it";
    let mut scene = Scene::new();
    scene.settings.push_str(&settings);
    scene.plain("bot", bot, "max_parallel = 2");
    scene.settle();
    let plan = "name: two\ntasks:\n  - {name: one, description: left}\n  - {name: two, description: right}\n";
    let ran = scene.run_plan(plan);
    assert_eq!(ran.code, 0, "{}\n{:#?}", ran.stderr, ran.events);
    let stories = [ran.story("one"), ran.story("two")];
    let plain = "first done verified merged completed";
    let sent_back = "first done verified unverified conflict done verified merged completed";
    assert!(stories.contains(&plain.to_owned()) && stories.contains(&sent_back.to_owned()), "{stories:?}");
    assert_eq!(result(&scene, "other").as_deref(), Some("x\n"));
    assert_eq!(scene.leftovers(), Vec::<String>::new());
}

#[test]
fn a_task_that_was_to_change_files_and_changed_none_needs_a_person() {
    let scene = scene("", "cat >/dev/null; echo All done, everything works.", &[]);
    let ran = scene.run_plan(ONE);
    assert_eq!((ran.code, ran.story("greet").as_str()), (1, "first done no_changes blocked(verification_fail)"));
    assert_eq!(event(&ran, "no_changes")[0]["summary"], "All done, everything works.");
}

#[test]
fn chosen_ignored_files_are_in_the_worktree_and_never_in_the_result() {
    let bot = "cat >/dev/null; cp .env seen; git add -f .env; echo copied it";
    let scene = scene("[worktree]\ncopy = [\".env\"]\n", bot, &[(".gitignore", ".env\n.token\n")]);
    fs::write(scene.project().join(".env"), "SECRET=1\n").unwrap();
    fs::write(scene.project().join(".token"), "not chosen\n").unwrap();
    let ran = scene.run_plan(ONE);
    assert_eq!(ran.code, 0, "{}\n{:#?}", ran.stderr, ran.events);
    assert_eq!((result(&scene, "seen").as_deref(), result(&scene, ".env")), (Some("SECRET=1\n"), None));
    assert!(scene.worktrees().iter().all(|path| !path.join(".token").exists()));
}
