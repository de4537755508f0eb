//! Tests two stores in one folder or in one clone of a repository. The lock of a session file, which shows that a
//! process is alive, counts only for the store that the process uses.

use std::time::Duration;

use serde_json::Value;

use crate::busy::patience;
use crate::client::StdioAgent;
use crate::machine::Machine;
use crate::postgres::schema_of;
use crate::process::{now, rest};
use crate::scene::Scene;

/// The longest time until the task of a killed process is offered to other agents again.
const RECOVERY_MAX: Duration = Duration::from_secs(30);

/// Sets the store that the commands of the test project use.
fn with_store(scene: &mut Scene, store: &str) {
    scene.environment.retain(|(name, _)| *name != "HANDOVER_STORE");
    scene.environment.push(("HANDOVER_STORE", store.to_owned()));
}

fn one_task(scene: &Scene) -> String {
    let made = scene.json(&["workflow", "create", "one"]);
    let path = scene.plan("summary: one\ntasks:\n  - {name: task}\n");
    let plan = format!("@{}", path.display());
    let planned = scene.json(&["workflow", "plan", made["id"].as_str().unwrap(), &plan]);
    planned["task_ids"]["task"].as_str().unwrap().to_owned()
}

/// Kills an agent of the first store. Processes of the second store check several times which agents are alive before a
/// process of the first store does. The first store must still record the death.
fn dead_are_recorded_in_their_own_store(first: &str, second: &str) {
    let mut scene = Scene::new();
    with_store(&mut scene, first);
    let task = one_task(&scene);
    let mut victim = StdioAgent::start(&scene, &Machine::here(), "victim", "worker");
    assert_eq!(victim.claim(&task), Ok(1));
    with_store(&mut scene, second);
    let stranger = StdioAgent::start(&scene, &Machine::here(), "stranger", "worker");
    drop(victim);
    let killed = now();
    // Each command on the second store checks which processes of that store are alive.
    for _ in 0..3 {
        assert!(scene.ask(&["status"]).status.success());
    }
    with_store(&mut scene, first);
    let mut heir = StdioAgent::start(&scene, &Machine::here(), "heir", "worker");
    while heir.claim(&task) != Ok(2) {
        assert!(killed.elapsed() < patience(RECOVERY_MAX), "the task of a killed agent is not offered");
        rest(Duration::from_millis(100));
    }
    let found: Value = scene.json(&["task", "show", &task, "--include-checkpoints"]);
    assert_eq!(found["checkpoints"][0]["summary"].as_str().map(|text| text.contains("killed")), Some(true), "{found}");
    heir.leave();
    stranger.leave();
}

#[test]
fn two_files_in_one_folder_do_not_share_what_is_known_of_life() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    dead_are_recorded_in_their_own_store(&file("one.db"), &file("two.db"));
}

#[test]
fn two_addresses_of_postgres_in_one_clone_do_not_share_what_is_known_of_life() {
    dead_are_recorded_in_their_own_store(&schema_of("live_one"), &schema_of("live_two"));
}

/// Checks that a process that holds a task counts as alive for processes that open the same store under another name,
/// such as another path.
fn seen_by_another_name(name: &str, other: &str) {
    let mut scene = Scene::new();
    with_store(&mut scene, name);
    let made = scene.json(&["workflow", "create", "one", "--lease-seconds", "1"]);
    let path = scene.plan("summary: one\ntasks:\n  - {name: task}\n");
    let plan = format!("@{}", path.display());
    let planned = scene.json(&["workflow", "plan", made["id"].as_str().unwrap(), &plan]);
    let task = planned["task_ids"]["task"].as_str().unwrap();
    let mut holder = StdioAgent::start(&scene, &Machine::here(), "holder", "worker");
    assert_eq!(holder.claim(task), Ok(1));
    let asleep = crate::machine::Asleep::stop(&holder.processes());
    // Wait until the claim must have expired: longer than the lease and the extra time that a PostgreSQL store adds to
    // it.
    rest(Duration::from_secs(6));
    with_store(&mut scene, other);
    let mut thief = StdioAgent::start(&scene, &Machine::here(), "thief", "worker");
    let claimed = thief.claim(task);
    assert_eq!(claimed.map_err(|refused| refused["already_claimed_by"] == holder.id), Err(true));
    asleep.wake();
    assert!(holder.complete(task)["code"].is_null());
    holder.leave();
    thief.leave();
}

#[test]
fn a_link_to_a_store_is_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("real/store.db"), folder.path().join("link.db"));
    std::fs::create_dir(folder.path().join("real")).unwrap();
    std::fs::write(&file, "").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    seen_by_another_name(file.to_str().unwrap(), link.to_str().unwrap());
}

#[test]
fn two_spellings_of_an_address_of_postgres_are_one_store() {
    let name = schema_of("live_spelled");
    let other = format!("{name}&application_name=another");
    seen_by_another_name(&name, &other);
}
