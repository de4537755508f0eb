//! Tests a machine that sleeps: its runner and agents are stopped for longer than a lease and then continue. An agent
//! on this machine that was not stopped does not take a claim of a stopped agent. Another machine may end a claim of
//! the sleeping machine. When the sleeping machine continues and no other agent has claimed the task, the agent's
//! program continues its work. When another agent has claimed it, the program is ended and its work is kept.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::StdioAgent;
use crate::machine::{Asleep, Machine, MachineClock};
use crate::postgres::schema_of;
use crate::process::{Runner, now, rest, strangers_after};
use crate::scene::Scene;

/// The shortest lease (time after which a claim expires) that leaves a slow machine enough time between two renewals.
const LEASE_SECONDS: u64 = 3;
const PATIENCE: Duration = Duration::from_secs(120);

const PLAN: &str = "
summary: asleep
tasks:
  - {name: turn, role: worker, description: waits}
  - {name: talk, role: talker}
";

fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.agent("worker", "max_parallel = 2");
    scene
}

fn on_a_server(name: &str) -> Scene {
    let mut scene = scene();
    scene.environment.push(("HANDOVER_STORE", schema_of(name)));
    scene.settle();
    scene
}

/// Creates a workflow whose claims expire after a short time, and returns its id and its tasks by name.
fn workflow(scene: &Scene, plan: &str) -> (String, Value) {
    let made = scene.json(&["workflow", "create", "asleep", "--lease-seconds", &LEASE_SECONDS.to_string()]);
    let id = made["id"].as_str().unwrap().to_owned();
    let path = scene.plan(plan);
    let planned = scene.json(&["workflow", "plan", &id, &format!("@{}", path.display())]);
    (id, planned["task_ids"].clone())
}

fn wait_for(what: &str, mut seen: impl FnMut() -> bool) {
    let until = now() + PATIENCE;
    while !seen() {
        assert!(now() < until, "{what} did not come");
        rest(Duration::from_millis(20));
    }
}

/// Returns the state of a task as a machine sees it: the number of its claims, whether an agent holds it, and every
/// claim that ended without a result.
fn facts(scene: &Scene, machine: &Machine, task: &str) -> (u64, bool, Vec<String>) {
    let mut command = machine.handover(scene, &["task", "show", task, "--include-checkpoints", "--json"]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"));
    let notes = found["checkpoints"].as_array().unwrap();
    let ends = notes.iter().filter(|note| note["checkpoint_type"] == "recovery");
    let ends = ends.map(|note| note["summary"].as_str().unwrap().to_owned()).collect();
    (found["attempt"].as_u64().unwrap(), !found["assigned_agent_id"].is_null(), ends)
}

/// Stops processes at a moment when none of them writes. A process that is stopped during a write blocks all other
/// writers, which is not the subject of these tests.
fn stop_between_writes(scene: &Scene, roots: &[u32]) -> Asleep {
    loop {
        let asleep = Asleep::stop(roots);
        if !is_written(scene) {
            return asleep;
        }
        asleep.wake();
    }
}

/// Tells whether a process is writing to the store: it holds the lock by which processes queue for the SQLite file, or
/// has an open transaction on the PostgreSQL server.
fn is_written(scene: &Scene) -> bool {
    match scene.environment.iter().find(|(name, _)| *name == "HANDOVER_STORE") {
        Some((_, server)) => {
            // Other tests write to the same server, but none of their transactions lasts 200 milliseconds.
            let before = writes_on_server(server);
            rest(Duration::from_millis(200));
            writes_on_server(server).iter().any(|write| before.contains(write))
        }
        None => {
            let queue = fs::File::open(scene.project().join(".handover/state/handover.db.lock")).unwrap();
            queue.try_lock().is_err()
        }
    }
}

/// Returns the transactions on the PostgreSQL server that hold the locks of a write.
fn writes_on_server(server: &str) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        #[expect(clippy::disallowed_methods, reason = "looks at the server past the store")]
        let (client, connection) = tokio_postgres::connect(server, tokio_postgres::NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        let locks = "SELECT virtualtransaction FROM pg_locks WHERE locktype = 'advisory'";
        let found = client.query(locks, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
        drop(client);
        driver.await.unwrap().unwrap();
        found
    })
}

/// Waits until every lease that is not renewed has expired.
fn sleep_past_the_lease() {
    rest(Duration::from_secs(2 * LEASE_SECONDS));
}

/// The behaviour of a second agent while the runner and the agent `sleeper` are stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    Nobody,
    /// The second agent is not stopped and tries to claim the task of `sleeper`.
    Awake,
    /// The second agent is stopped, too, and continues before the runner and `sleeper`.
    WakesFirst,
}

fn one_machine_sleeps(scene: &Scene, others: Others) {
    let (workflow, tasks) = workflow(scene, PLAN);
    let task = |name: &str| tasks[name].as_str().unwrap().to_owned();
    let runner = Runner::start(scene, "here", &[&workflow]);
    let start = |name| StdioAgent::start(scene, &Machine::here(), name, "talker");
    let mut sleeper = start("sleeper");
    let mut other = (others != Others::Nobody).then(|| start("thief"));
    assert_eq!(sleeper.claim(&task("talk")), Ok(1));
    let begun = scene.sim().join(format!("{}.begun", task("turn")));
    wait_for("the turn", || begun.exists());

    let mut roots = vec![runner.pid()];
    roots.extend(sleeper.processes());
    let early = (others == Others::WakesFirst).then(|| Asleep::stop(&other.as_ref().unwrap().processes()));
    let asleep = stop_between_writes(scene, &roots);
    // At least five processes are stopped: the runner, the host process of an agent's program, the agent's program, the
    // client of the agent `sleeper`, and the client's MCP server.
    assert!(asleep.len() >= 5, "{asleep:?}");
    sleep_past_the_lease();
    early.into_iter().for_each(Asleep::wake);
    if let Some(thief) = &mut other {
        takes_nothing(thief, &task("talk"), &sleeper.id);
        // A process that has just started has not checked yet which processes are alive, so it must not take the task.
        let mut newcomer = start("newcomer");
        takes_nothing(&mut newcomer, &task("talk"), &sleeper.id);
        newcomer.leave();
        let swept = scene.ask(&["status"]);
        assert!(swept.status.success(), "{}", String::from_utf8_lossy(&swept.stderr));
    }
    asleep.wake();
    fs::write(scene.sim().join("go"), "").unwrap();
    let completed = sleeper.complete(&task("talk"));
    assert!(completed["code"].is_null(), "{others:?}: {completed}");
    wait_for("the end of the turn", || runner.said().contains("\"completed\""));
    for name in ["turn", "talk"] {
        assert_eq!(
            facts(scene, &Machine::here(), &task(name)),
            (1, false, Vec::new()),
            "{others:?}: {name}: {}",
            runner.said()
        );
    }
    sleeper.leave();
    other.into_iter().for_each(StdioAgent::leave);
    let ran = runner.end();
    assert_eq!((ran.code, ran.story("turn").as_str()), (0, "first done verified merged completed"), "{}", ran.stderr);
}

/// Checks that an agent cannot take a task that another agent holds.
fn takes_nothing(thief: &mut StdioAgent, task: &str, holder: &str) {
    for _ in 0..3 {
        let claimed = thief.claim(task);
        let by = claimed.as_ref().err().map(|refused| refused["already_claimed_by"].clone());
        assert_eq!(by, Some(json!(holder)), "{claimed:?}");
    }
}

/// Repeats a test as often as `HANDOVER_SLEEP_ROUNDS` says, each time with a new project.
fn rounds(mut round: impl FnMut()) {
    (0..crate::setting("HANDOVER_SLEEP_ROUNDS").unwrap_or(1)).for_each(|_| round());
}

fn on_a_file(others: Others) {
    rounds(|| {
        let scene = scene();
        scene.settle();
        one_machine_sleeps(&scene, others);
    });
}

#[test]
fn a_machine_that_sleeps_alone_loses_nothing() {
    on_a_file(Others::Nobody);
}

#[test]
fn a_machine_that_sleeps_beside_an_agent_that_wants_its_tasks_loses_nothing() {
    on_a_file(Others::Awake);
}

#[test]
fn an_agent_that_wakes_first_takes_nothing_from_those_that_wake_later() {
    on_a_file(Others::WakesFirst);
}

#[test]
fn a_machine_that_sleeps_on_postgres_loses_nothing_to_itself() {
    rounds(|| {
        one_machine_sleeps(&on_a_server("sleep_alone"), Others::Nobody);
        one_machine_sleeps(&on_a_server("sleep_beside"), Others::WakesFirst);
    });
}

/// Tests a runner that is killed while its processes are stopped, so that they do not notice its death. The next runner
/// ends them and does the work.
#[test]
fn a_runner_that_is_killed_while_it_sleeps_is_followed_by_the_next() {
    let scene = scene();
    scene.settle();
    let (workflow, tasks) = workflow(&scene, ONE);
    let task = tasks["turn"].as_str().unwrap();
    let mut runner = Runner::start(&scene, "here", &[&workflow]);
    wait_for("the turn", || scene.sim().join(format!("{task}.begun")).exists());
    let asleep = stop_between_writes(&scene, &[runner.pid()]);
    assert!(asleep.len() >= 3, "{asleep:?}");
    runner.kill();
    fs::write(scene.sim().join("go"), "").unwrap();
    let ran = Runner::start(&scene, "here", &[&workflow]).end();
    assert_eq!(ran.code, 0, "{:#?}\n{}", ran.events, ran.stderr);
    asleep.wake();
    assert_eq!(strangers_after(&scene, &[], now()), Vec::<String>::new());
    assert_eq!(scene.leftovers(), Vec::<String>::new());
}

/// Returns a simulated machine, or `None` when the kernel cannot make one. Then the reason is printed and the test is
/// skipped.
fn other_machine() -> Option<Machine> {
    match Machine::named("other", MachineClock::Right) {
        Ok(machine) => Some(machine),
        Err(reason) => {
            eprintln!("not run: {reason}");
            None
        }
    }
}

const ONE: &str = "
summary: one
tasks:
  - {name: turn, role: worker, description: waits}
";

/// Tests another machine that ends the claim of the sleeping machine but has no agent that could take the task. When
/// the sleeping machine wakes, its turn (the run of the agent's program) continues.
#[test]
fn a_turn_goes_on_over_postgres_when_nobody_took_its_task() {
    let Some(other) = other_machine() else { return };
    let scene = on_a_server("sleep_kept");
    let (workflow, tasks) = workflow(&scene, ONE);
    let task = tasks["turn"].as_str().unwrap();
    let runner = Runner::start(&scene, "here", &[&workflow]);
    wait_for("the turn", || scene.sim().join(format!("{task}.begun")).exists());
    let asleep = stop_between_writes(&scene, &[runner.pid()]);
    // The sleeping runner still holds the lock of its session file, so its own machine knows that it is alive. The
    // other machine sees only the store, in which the lease has expired, and ends the claim.
    let watcher = StdioAgent::start(&scene, &other, "watcher", "talker");
    wait_for("the end of the claim", || !facts(&scene, &other, task).1);
    let (attempt, held, ends) = facts(&scene, &other, task);
    assert_eq!((attempt, held, ends.len()), (1, false, 1), "{ends:?}");
    asleep.wake();
    wait_for("the claim", || facts(&scene, &other, task).1);
    fs::write(scene.sim().join("go"), "").unwrap();
    let ran = runner.end();
    assert_eq!(ran.code, 0, "{:#?}\n{}", ran.events, ran.stderr);
    assert_eq!(ran.story("turn"), "first done verified merged completed");
    assert_eq!(facts(&scene, &other, task).0, 1, "the same attempt");
    watcher.leave();
}

/// Tests another machine that takes the task of the sleeping machine. When the sleeping machine wakes, its agent's
/// program is ended, and the unfinished work is kept on a branch that a warning names.
#[test]
fn a_turn_whose_task_was_taken_over_postgres_ends_with_its_work_kept() {
    let Some(other) = other_machine() else { return };
    let scene = on_a_server("sleep_taken");
    let (workflow, tasks) = workflow(&scene, ONE);
    let task = tasks["turn"].as_str().unwrap();
    let runner = Runner::start(&scene, "here", &[&workflow]);
    wait_for("the turn", || scene.sim().join(format!("{task}.begun")).exists());
    let asleep = stop_between_writes(&scene, &[runner.pid()]);
    let mut thief = StdioAgent::start(&scene, &other, "thief", "worker");
    wait_for("the task", || thief.claim(task) == Ok(2));
    asleep.wake();
    wait_for("the end of the turn", || runner.said().contains("turn_ended"));
    assert!(thief.complete(task)["code"].is_null());
    fs::write(scene.sim().join("go"), "").unwrap();
    let ran = runner.end();
    assert_eq!(ran.code, 0, "{:#?}\n{}", ran.events, ran.stderr);
    assert_eq!(ran.story("turn"), "first claim_lost");
    let warned = ran.events.iter().filter(|event| event["event"] == "warning");
    let words = warned.map(|event| event["text"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>();
    let branch = format!("handover/{task}-1");
    assert!(words.iter().any(|words| words.contains("the work that was done here is on the branch")), "{words:?}");
    let branches = scene.git(&["branch", "--list", "--format=%(refname:short)"]);
    let kept = branches.lines().find(|name| name.contains(task)).unwrap_or_else(|| panic!("{branch}: {branches}"));
    assert!(words.iter().any(|words| words.contains(kept)), "{kept}: {words:?}");
    assert_eq!(scene.git(&["show", &format!("{kept}:half.txt")]), "half done\n");
    assert_eq!(scene.leftovers(), Vec::<String>::new());
    thief.leave();
}
