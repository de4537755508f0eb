//! Tests the setup and the checks of a project: work counts as "checked" only if a check really passed on it. Shell
//! scripts act as agents, setup commands and checks.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::scene::{Ran, Scene};

/// Creates a project with these settings, these committed files, and an agent `bot` that runs this script.
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

/// Returns the content of a file in the branch of the only workflow, or `None` when the branch does not have the file.
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
    // Allow only one attempt, because the task would wait for minutes before a second attempt.
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

/// Two folders have a script of the same name. Only the script of the check's own folder counts as part of the check.
#[test]
fn a_check_in_a_subfolder_is_compared_with_the_script_of_that_folder() {
    let settings = "[verify]\nchecks = [{ command = [\"sh\", \"test.sh\"], folder = \"web\", seconds = 20 }]\n";
    for (changed, end) in [("test.sh", "checked"), ("web/test.sh", "unchecked")] {
        let mut scene = Scene::new();
        scene.settings.push_str(settings);
        scene.plain("bot", &format!("cat >/dev/null; echo '# more' >>{changed}; echo changed it"), "");
        fs::create_dir(scene.project().join("web")).unwrap();
        for name in ["test.sh", "web/test.sh"] {
            fs::write(scene.project().join(name), "exit 0\n").unwrap();
        }
        scene.git(&["add", "test.sh", "web"]);
        scene.git(&["commit", "--quiet", "-m", "scripts"]);
        scene.settle();
        let ran = scene.run_plan(ONE);
        assert_eq!(event(&ran, end).len(), 1, "{changed}: {}\n{:#?}", ran.stderr, ran.events);
    }
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
    // The check ran twice on the baseline (the commit from which the task starts), because a failed check is repeated
    // before its failure counts.
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
    // The setup command must have run at least twice in the slot (the worktree) of the task: before the agent's program
    // and before the check. It may also have run in the worktree of the baseline, the commit from which the task
    // starts.
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
fn a_setup_that_fails_in_the_middle_leaves_nothing_to_the_next_one() {
    let settings = "[worktree]\nsetup = [{ command = [\"sh\", \"-c\", \"[ ! -e deps ] || { echo half; exit 5; }; mkdir deps; \
        [ -e SIM/network ] || exit 4\"] }]\n";
    let scene = scene(settings, "cat >/dev/null; echo x >new; echo made it", &[(".gitignore", "deps\n")]);
    let ran = scene.run_plan(ONE);
    assert_eq!((ran.code, &event(&ran, "setup_failed")[0]["how"]), (1, &"exited with 4".into()), "{}", ran.stderr);
    let workflow = scene.json(&["workflow", "list"])["workflows"][0]["id"].as_str().unwrap().to_owned();
    fs::write(scene.sim().join("network"), "").unwrap();
    let again = scene.run(&[&workflow]);
    assert_eq!((again.code, event(&again, "completed").len()), (0, 1), "{}\n{:#?}", again.stderr, again.events);
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
    // The agents of the two tasks wait for each other, so that both tasks start from the same commit.
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
fn files_that_worktreeinclude_names_are_copied_and_never_in_a_commit() {
    let bot = "cat >/dev/null; cp .env seen; git add -f .env; git commit -qm secret; git add -f .env; echo copied it";
    let files = [(".gitignore", ".env\n.token\n"), (".worktreeinclude", ".env\n")];
    let scene = scene("", bot, &files);
    fs::write(scene.project().join(".env"), "SECRET=1\n").unwrap();
    fs::write(scene.project().join(".token"), "not chosen\n").unwrap();
    scene.settle();
    let ran = scene.run_plan(ONE);
    assert_eq!(ran.code, 0, "{}\n{:#?}", ran.stderr, ran.events);
    assert_eq!(result(&scene, "seen").as_deref(), Some("SECRET=1\n"));
    let commits = scene.git(&["log", "--all", "--format=%H", "--", ".env", ".token"]);
    assert_eq!(commits, "", "no commit has the copied file");
    assert!(scene.worktrees().iter().all(|path| !path.join(".token").exists()));
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

/// Returns one line for each start of a check: the names of the new files in the worktree in which the check ran.
fn seen(scene: &Scene) -> Vec<String> {
    let text = fs::read_to_string(scene.sim().join("seen")).unwrap_or_default();
    text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

const TWO: &str =
    "name: two\ntasks:\n  - {name: one, description: one}\n  - {name: two, description: two, depends_on: [one]}\n";
const WRITES_ITS_GOAL: &str = "read -r goal; echo x >\"$goal\"; echo wrote it";

/// Returns settings with a check that first writes the names of the files in its worktree into the file `seen`, without
/// `README.md`. Then it runs `command`.
fn noting(command: &str, when: &str) -> String {
    let command = format!("ls | grep -v README.md | tr '\\n' ' ' >>SIM/seen; echo >>SIM/seen; {command}");
    let command = serde_json::to_string(&command).unwrap();
    format!(
        "[verify]\nretries = 0\nchecks = [{{ command = [\"sh\", \"-c\", {command}], seconds = 60, when = \"{when}\" }}]\n"
    )
}

#[test]
fn a_check_at_the_end_of_a_plan_runs_only_on_the_whole_result() {
    let scene = scene(&noting("true", "end"), WRITES_ITS_GOAL, &[]);
    let ran = scene.run_plan(TWO);
    assert_eq!(ran.code, 0, "{}\n{:#?}", ran.stderr, ran.events);
    assert_eq!(seen(&scene), ["one two"]);
    assert_eq!((event(&ran, "check_failed").len(), event(&ran, "tip_failed").len()), (0, 0));
}

#[test]
fn a_check_at_the_end_runs_once_after_the_last_turn_of_a_task_of_the_list() {
    // In its first turn the agent reports progress. Its second turn completes the task.
    let mut scene = Scene::new();
    scene.settings.push_str(&noting("true", "end").replace("SIM", scene.sim().to_str().unwrap()));
    scene.agent("worker", "");
    scene.settle();
    crate::listed::add(&scene, &["goes-on finished"]);
    let ran = scene.run(&["--once"]);
    assert_eq!(ran.code, 0, "{}\n{:#?}", ran.stderr, ran.events);
    assert_eq!(event(&ran, "turn_started").len(), 2, "{:#?}", ran.events);
    assert_eq!(event(&ran, "checked").len(), 1, "{:#?}", ran.events);
    assert_eq!(seen(&scene).iter().filter(|line| line.contains("out")).count(), 1, "{:?}", seen(&scene));
}

#[test]
fn a_checked_tip_is_not_checked_again_at_the_end_of_the_run() {
    let scene = scene(&noting("true", "task"), WRITES_ITS_GOAL, &[]);
    let ran = scene.run_plan(TWO);
    assert_eq!(ran.code, 0, "{}\n{:#?}", ran.stderr, ran.events);
    // The branch of the plan ends with the work of the second task, and the check of this task ran on the same files.
    // So the check does not run again at the end of the run.
    assert_eq!(seen(&scene).iter().filter(|line| *line == "one two").count(), 1, "{:?}", seen(&scene));
}

/// Each row: a title, the tasks that are added before each run, and, for each run, the tasks that the run names because
/// the check of the merged work fails.
type TipRow = (&'static str, &'static [&'static [&'static str]], &'static [&'static [&'static str]]);

const TIP_ROWS: &[TipRow] = &[
    ("two tasks that do not fit together", &[&["one", "two"]], &[&["2 one", "3 two"]]),
    ("a good tip before a bad one", &[&["one"], &["two"]], &[&[], &["3 two"]]),
    ("a bad tip stays bad", &[&["one", "two"], &["three"]], &[&["2 one", "3 two"], &["2 one", "3 two", "4 three"]]),
    ("a task that repairs the tip", &[&["one", "two"], &["repair"], &["four"]], &[&["2 one", "3 two"], &[], &[]]),
];

#[test]
fn a_tip_that_fails_names_the_tasks_merged_since_the_last_good_one() {
    let check = noting("[ -e repair ] || ! { [ -e one ] && [ -e two ]; }", "end");
    for (name, runs, expected) in TIP_ROWS {
        let scene = scene(&check, WRITES_ITS_GOAL, &[]);
        let made = scene.json(&["workflow", "create", "tips"]);
        let id = made["id"].as_str().unwrap();
        // No agent takes this task, which has the number 1. It keeps the workflow open between the runs.
        let path = scene.plan("summary: s\ntasks:\n  - {name: later, role: nobody}\n");
        scene.json(&["workflow", "plan", id, &format!("@{}", path.display())]);
        let mut after: Option<String> = None;
        for (tasks, wanted) in runs.iter().zip(*expected) {
            for task in *tasks {
                let depends: Vec<String> = after.iter().map(|task| format!("--depends-on={task}")).collect();
                let depends: Vec<&str> = depends.iter().map(String::as_str).collect();
                let add = [&["workflow", "add-task", id, task, "--description", task][..], &depends].concat();
                let added = scene.json(&add);
                assert!(added["task_id"].is_string(), "{name}: {added}");
                after = Some((*task).to_owned());
            }
            let ran = scene.run(&["--once"]);
            let found: Vec<Vec<&str>> = event(&ran, "tip_failed")
                .iter()
                .map(|event| event["tasks"].as_array().unwrap().iter().map(|task| task.as_str().unwrap()).collect())
                .collect();
            let wanted: Vec<Vec<&str>> = if wanted.is_empty() { Vec::new() } else { vec![wanted.to_vec()] };
            assert_eq!(found, wanted, "{name}: {tasks:?}\n{}\n{:#?}", ran.stderr, ran.events);
        }
    }
}

#[test]
fn a_plan_whose_tasks_are_done_waits_for_a_person_who_merges_it_as_a_whole() {
    let scene = scene(&noting("true", "end"), WRITES_ITS_GOAL, &[]);
    scene.git(&["config", "user.name", "t"]);
    scene.git(&["config", "user.email", "t@example.org"]);
    let ran = scene.run_plan(&TWO.replace("name: two\ntasks", "name: release\ntasks"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let merged = scene.ask(&["merge", "release", "--yes"]);
    assert!(merged.status.success(), "{}", String::from_utf8_lossy(&merged.stderr));
    let files = scene.git(&["ls-tree", "-r", "--name-only", "main"]);
    assert_eq!(files.lines().collect::<Vec<_>>(), ["README.md", "one", "two"]);
    assert_eq!(scene.git(&["log", "--format=%s", "main"]), "release\nstart\n");
}

#[test]
fn a_task_with_a_check_of_its_own_passes_it_and_the_checks_of_the_project() {
    let settings = format!("[verify]\nretries = 0\n{}", shell("echo project >>SIM/checks"));
    // The check of the task fails until the agent wrote the second file.
    let bot = "cat >\"$SIM/goal\"; if [ -e first ]; then echo x >second; else echo x >first; fi; echo said";
    let scene = scene(&settings, bot, &[]);
    let own = format!("test -e second && echo own >>{}/checks", scene.sim().display());
    let added = scene.ask(&["add", "greet", "--check", &own]);
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let ran = scene.run(&["--once"]);
    let story = "first done unverified verification done verified completed";
    assert_eq!((ran.code, ran.story("greet").as_str()), (0, story), "{}\n{:#?}", ran.stderr, ran.events);
    let checks = fs::read_to_string(scene.sim().join("checks")).unwrap();
    assert!(checks.contains("own") && checks.contains("project"), "{checks}");
    assert!(fs::read_to_string(scene.sim().join("goal")).unwrap().contains("test -e second"));
}
