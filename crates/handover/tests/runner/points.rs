//! Tests that kill the runner, an agent's program or the host process of such a program at an exactly chosen point of
//! its work. The next runner completes the task.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use crate::books;
use crate::busy::patience;
use crate::kills::workflow;
use crate::process::{Runner, now, strangers_after};
use crate::scene::Scene;

/// Each row: words of a git call at which a wrapper of git kills the runner, and the order of the kill and the call.
/// `late`: the wrapper kills the runner first and runs git half a second later. `after`: it runs git first and then
/// kills the runner. `half`: it runs the script `half` instead of git and then kills the runner.
const GIT: &[(&str, &str)] = &[
    ("worktree add", "late"),
    ("worktree add", "after"),
    ("handover: started", "after"),
    ("reset --quiet", "late"),
    ("reset --quiet", "after"),
    ("clean --quiet", "late"),
    ("clean --quiet", "after"),
    ("checkout --quiet --force --no-track", "late"),
    ("checkout --quiet --force --no-track", "after"),
    ("commit --quiet", "late"),
    ("commit --quiet", "after"),
    ("handover: merged", "late"),
    ("handover: merged", "after"),
    ("checkout --quiet --force --detach", "late"),
    ("checkout --quiet --force --detach", "after"),
    ("update-ref -d", "late"),
    ("update-ref -d", "after"),
];

/// Each row: the point at which a process is killed, the behaviour of the task's agent, the behaviour of its evaluator
/// (the agent that judges the output), and true if the task's check does the kill.
const WORDS: &[(&str, &str, &str, bool)] = &[
    ("the runner, while a program runs", "kills-runner finished", "judge-pass", false),
    ("the runner, while an evaluator runs", "finished", "kills-runner judge-pass", false),
    ("the runner, while a check runs", "finished", "judge-pass", true),
    ("the host of a program", "dies-with-host finished", "judge-pass", false),
    ("the host of an evaluator", "finished", "dies-with-host judge-pass", false),
    ("the host and the runner, with a child that hides", "hides finished", "judge-pass", false),
    ("a program", "dies finished", "judge-pass", false),
    ("an evaluator", "finished", "dies judge-pass", false),
];

pub(crate) fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn scene() -> Scene {
    let mut scene = Scene::new();
    let sim = scene.sim();
    let kill = format!("kill -KILL \"$(cat {}/runner)\"", sim.display());
    let check = sim.join("check.sh");
    let once = format!("[ -e {0}/check ] && rm {0}/check && {kill} && sleep 1000", sim.display());
    script(&check, &format!("#!/bin/sh\n{once}\ntrue\n"));
    let path = std::env::var("PATH").unwrap();
    let git = path.split(':').map(|folder| Path::new(folder).join("git")).find(|path| path.is_file()).unwrap();
    fs::create_dir(sim.join("bin")).unwrap();
    let wrapped = format!(
        "#!/bin/sh\nwhen=\nif [ -e {0}/git ] && read -r when words <{0}/git; then\n\
         case \"$*\" in *\"$words\"*) rm {0}/git ;; *) when= ;; esac\nfi\n\
         if [ \"$when\" = late ]; then {kill}; sleep 0.5; fi\n\
         if [ \"$when\" = after ]; then {1} \"$@\"; {kill}; exit; fi\n\
         if [ \"$when\" = half ]; then sh {0}/half \"$@\"; {kill}; exit 1; fi\nexec {1} \"$@\"\n",
        sim.display(),
        git.display()
    );
    script(&sim.join("bin/git"), &wrapped);
    scene.environment.push(("PATH", format!("{}:{path}", sim.join("bin").display())));
    scene.settings.push_str(&format!(
        "[contract.checked]\nchecks = [{{ command = [\"{}\"], seconds = 20 }}]\n[evaluator]\nagent = \"judge\"\n",
        check.display()
    ));
    scene.agent("worker", "");
    scene.agent("judge", "roles = [\"judge\"]");
    scene.settle();
    scene
}

pub(crate) fn plan(words: &str, judge: &str) -> String {
    format!(
        "summary: one\ntasks:\n  - name: one\n    role: worker\n    brief:\n      goal: {words}\n      acceptance_criteria: [It is done.]\n      \
         output_contract: {{type: file, schema_ref: checked, output_ref_required: true, evaluate: {judge}}}\n"
    )
}

/// Starts runners until the workflow is completed. Returns the problems that the checks of the completed workflow find.
pub(crate) fn worked(scene: &Scene, point: &str, workflow: &str, mut runner: Runner, killed_max: u32) -> Vec<String> {
    let mut told = String::new();
    for _ in 0..=killed_max {
        let ran = runner.end();
        told.push_str(&format!("{:#?}\n{}", ran.events, ran.stderr));
        if ran.code == 0 {
            let found = books::problems(scene, workflow);
            return found.into_iter().map(|problem| format!("{point}: {problem}\n{told}")).collect();
        }
        if ran.code > 0 {
            return vec![format!("{point}: ended with {}\n{told}", ran.code)];
        }
        let killed = now();
        runner = Runner::start(scene, "here", &[workflow]);
        let strange = strangers_after(scene, &[runner.pid()], killed);
        if !strange.is_empty() {
            return vec![format!("{point}: {strange:?} run on")];
        }
    }
    vec![format!("{point}: killed too often\n{told}")]
}

#[test]
fn whoever_is_killed_while_something_runs_the_task_is_completed_once() {
    let scene = scene();
    let mut problems = Vec::new();
    for (point, words, judge, check) in WORDS {
        if *check {
            fs::write(scene.sim().join("check"), "").unwrap();
        }
        let workflow = workflow(&scene, &plan(words, judge));
        let runner = Runner::start(&scene, "here", &[&workflow]);
        problems.extend(worked(&scene, point, &workflow, runner, 1));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_runner_killed_around_a_git_of_its_own_completes_the_task_once() {
    let scene = scene();
    let mut problems = Vec::new();
    for (words, when) in GIT {
        if *words == "worktree add" {
            scene.delete_slots();
        }
        fs::write(scene.sim().join("git"), format!("{when} {words}\n")).unwrap();
        let workflow = workflow(&scene, &plan("finished", "judge-pass"));
        let runner = Runner::start(&scene, "here", &[&workflow]);
        problems.extend(worked(&scene, &format!("{when} {words}"), &workflow, runner, 1));
        if scene.sim().join("git").exists() {
            problems.push(format!("{when} {words}: nobody was killed"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Tests a runner that is killed as soon as it has written a file that the agent's output contains. At that moment the
/// turn (one run of the agent's program) has just ended or is about to end.
#[test]
fn a_runner_killed_when_artifacts_are_applied_applies_them_once() {
    let scene = scene();
    for round in 0..3 {
        let workflow = workflow(&scene, &plan("finished", "judge-pass"));
        let mut runner = Runner::start(&scene, "here", &[&workflow]);
        let until = now() + patience(Duration::from_secs(60));
        let applied = || {
            let places = scene.slot_folders().into_iter();
            let mut files = places.flat_map(|place| fs::read_dir(place.join("out"))).flatten().flatten();
            files.any(|file| file.path().extension().is_some_and(|end| end == "txt"))
        };
        while !applied() {
            assert!(now() < until, "no artifact was applied");
        }
        runner.kill();
        let runner = Runner::start(&scene, "here", &[&workflow]);
        assert_eq!(worked(&scene, &format!("round {round}"), &workflow, runner, 0), Vec::<String>::new());
    }
}

/// Returns the text of a script that kills the runner once, when the test has made the file `what`.
fn kill_once(scene: &Scene, what: &str) -> String {
    let sim = scene.sim();
    let sim = sim.display();
    format!("if [ -e {sim}/{what} ]; then rm {sim}/{what}; kill -KILL \"$(cat {sim}/runner)\"; sleep 1000; fi\n")
}

/// Tests a runner that is killed while the setup command runs in a worktree, or while a check of the project runs. The
/// check runs on the commit from which a task starts, on the work of the task, or on the merged work of two tasks. Each
/// check leaves a file behind, which must be in no commit.
#[test]
fn a_runner_killed_in_setup_or_check_of_the_project_completes_the_task_once() {
    let mut scene = Scene::new();
    let sim = scene.sim();
    let [setup, baseline, task, tip] = ["setup", "baseline", "task", "tip"].map(|what| kill_once(&scene, what));
    script(&sim.join("setup.sh"), &format!("#!/bin/sh\n{setup}true\n"));
    let count = "count=$(ls out 2>/dev/null | wc -l)";
    let check = format!(
        "#!/bin/sh\necho x >leftover.txt\n{count}\nif [ $count -eq 0 ]; then\n{baseline}fi\n\
         if [ $count -eq 1 ]; then\n{task}fi\nif [ $count -eq 2 ]; then\n{tip}fi\ntrue\n"
    );
    script(&sim.join("check.sh"), &check);
    scene.settings.push_str(&format!(
        "[worktree]\nsetup = [{{ command = [\"{0}/setup.sh\"], inputs = [\"README.md\"] }}]\n\
         [verify]\nchecks = [{{ command = [\"{0}/check.sh\"], seconds = 20 }}]\n",
        sim.display()
    ));
    scene.agent("worker", "max_parallel = 2");
    scene.settle();
    let plan = "summary: two\ntasks:\n  - {name: one, role: worker, description: soon}\n  - {name: two, role: worker, description: soon}\n";
    let mut problems = Vec::new();
    for (round, point) in ["setup", "baseline", "task", "tip"].into_iter().enumerate() {
        // Make a new commit in each round. Otherwise the runner would use the results of checks that earlier rounds
        // stored.
        fs::write(scene.project().join("README.md"), format!("round {round}\n")).unwrap();
        scene.git(&["commit", "--quiet", "--all", "-m", "round"]);
        fs::write(sim.join(point), "").unwrap();
        let workflow = workflow(&scene, plan);
        let runner = Runner::start(&scene, "here", &[&workflow]);
        problems.extend(worked(&scene, point, &workflow, runner, 1));
        if sim.join(point).exists() {
            problems.push(format!("{point}: nobody was killed"));
        }
        let branches = scene.git(&["for-each-ref", "--format=%(refname)", "refs/heads/handover/"]);
        for branch in branches.lines() {
            let files = scene.git(&["ls-tree", "-r", "--name-only", branch]);
            if files.contains("leftover") {
                problems.push(format!("{point}: {branch} has a file that a check left"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
