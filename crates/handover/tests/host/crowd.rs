//! Tests many turn hosts (the processes that start and end agents' programs) that lose their runner or are killed at
//! random moments, and the memory and time that one host costs.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::path::PathBuf;
use std::time::Duration;

use agents::host::{ProgramEnd, settle};
use rustix::process::{Pid, Signal, kill_process};
use tokio::task::JoinSet;

use crate::busy::patience;
use crate::scene::{BINARY, Scene, living, now, processes, started, stat};

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn files(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_at_once_leave_nothing() {
    let scene = Scene::new();
    let launches: Vec<_> = (0..50).map(|number| scene.launch(&[["leave", "family", "say"][number % 3], "x"])).collect();
    let mut turns = JoinSet::new();
    for launch in &launches {
        let (mut host, is_long) = (scene.start(launch), launch.arguments[0] == "family");
        turns.spawn(async move {
            started(&mut host).await;
            if is_long {
                host.cut_off();
            }
            host.wait().await.unwrap()
        });
    }
    while let Some(end) = turns.join_next().await {
        let end = end.unwrap();
        assert!(matches!(end.how, ProgramEnd::Exited { code: 0 } | ProgramEnd::CutOff), "{end:?}");
        assert_eq!(end.survivors, []);
    }
    for launch in &launches {
        assert_eq!(living(&launch.turn), Vec::<String>::new());
        assert_eq!(files(&scene.turn(launch)), ["end.json", "launch.json", "stderr", "stdout"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_moment_nothing_lives_on() {
    let scene = Scene::new();
    let chance = RandomState::new();
    for round in 0..25_u32 {
        let mut turns = JoinSet::new();
        for number in 0..8_u32 {
            let launch = scene.launch(&[["family", "spread", "work", "stubborn"][number as usize % 4], "3"]);
            let (host, folder) = (scene.start(&launch), scene.turn(&launch));
            let moment = Duration::from_micros(chance.hash_one((round, number)) % 60_000);
            turns.spawn(async move {
                tokio::time::sleep(moment).await;
                let begun = now();
                // Drop the runner's handle of the turn host (the process that starts and ends the program) without
                // waiting for the host's end, as happens when the runner is killed.
                drop(host);
                let end = tokio::task::spawn_blocking(move || settle(&folder)).await.unwrap().unwrap();
                assert!(begun.elapsed() < patience(Duration::from_secs(10)), "{:?}", begun.elapsed());
                assert_eq!(living(&launch.turn), Vec::<String>::new(), "{end:?}");
                assert!(matches!(end.how, ProgramEnd::CutOff | ProgramEnd::Lost { .. }), "{end:?}");
            });
        }
        while let Some(end) = turns.join_next().await {
            end.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_killed_at_any_moment_is_settled() {
    let scene = Scene::new();
    let chance = RandomState::new();
    for round in 0..25_u32 {
        let mut turns = JoinSet::new();
        for number in 0..4_u32 {
            let launch = scene.launch(&[["spread", "work", "stubborn", "chain"][number as usize], "3"]);
            let (host, folder) = (scene.start(&launch), scene.turn(&launch));
            let moment = Duration::from_micros(chance.hash_one((round, number)) % 60_000);
            turns.spawn(async move {
                tokio::time::sleep(moment).await;
                // On a busy machine the host process may not have started yet, so the test waits for it.
                let mut found = hosts(&folder);
                for _ in 0..5_000 {
                    if !found.is_empty() {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    found = hosts(&folder);
                }
                for pid in found {
                    let _gone = kill_process(pid, Signal::KILL);
                }
                let end = host.wait().await.unwrap();
                assert_eq!(living(&launch.turn), Vec::<String>::new(), "{end:?}");
                assert!(matches!(end.how, ProgramEnd::Lost { .. }), "{end:?}");
            });
        }
        while let Some(end) = turns.join_next().await {
            end.unwrap();
        }
    }
}

/// Finds the host process that uses the folder of a turn (one run of an agent's program), by the command line of the
/// process.
fn hosts(folder: &std::path::Path) -> Vec<Pid> {
    let line = format!("{BINARY}\0turn-host\0{}\0", folder.display());
    let is_it = |pid: &String| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|it| it == line.as_bytes());
    let found = processes().into_iter().filter(is_it);
    found.map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap()).collect()
}

/// Measures one turn host (the process that starts and ends an agent's program) in a separate process. There, other
/// tests do not change the measured times and numbers of file descriptors.
#[test]
fn one_costs_little() {
    const INSIDE: &str = "HANDOVER_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        #[expect(clippy::disallowed_methods, reason = "a test starts itself")]
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "crowd::one_costs_little", "--nocapture"]).env(INSIDE, "1");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let scene = Scene::new();
    let is_true = || {
        let mut launch = scene.launch(&[]);
        launch.program = PathBuf::from("true");
        launch
    };
    scene.run(&is_true()).await;
    let before = descriptors();
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let begun = now();
        let end = scene.start(&is_true()).wait().await.unwrap();
        times.0.push(begun.elapsed());
        assert_eq!(end.how, ProgramEnd::Exited { code: 0 });
        let begun = now();
        #[expect(clippy::disallowed_methods, reason = "what is compared with")]
        let mut command = tokio::process::Command::new("true");
        command.status().await.unwrap();
        times.1.push(begun.elapsed());
    }
    assert_eq!(descriptors(), before);
    times.0.sort();
    times.1.sort();
    let (hosted, bare) = (times.0[50], times.1[50]);
    eprintln!("true: {hosted:?} with a host, {bare:?} without");
    assert!(hosted - bare < patience(Duration::from_millis(50)));

    let launch = scene.launch(&["silent"]);
    let mut host = scene.start(&launch);
    let program = started(&mut host).await.to_string();
    let parent = &stat(&program).unwrap()[1];
    assert!(processes().contains(parent));
    let memory = fs::read_to_string(format!("/proc/{parent}/smaps_rollup")).unwrap();
    // The kernel may count memory pages of a newly built binary as private memory of the turn host (the process that
    // starts and ends the program), too. The line `Anonymous` leaves these pages out.
    let line = memory.lines().find(|line| line.starts_with("Anonymous:")).unwrap();
    let private: u64 = line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap();
    eprintln!("a host: {private} kB of its own");
    // The runner may use 15 MB for each agent. This test allows 4 MB of it for the turn host (the process that starts
    // and ends the agent's program). Half of that is memory that the loader writes for a debug build of the whole
    // program.
    assert!(private < 4 << 10);
    host.cut_off();
    host.wait().await.unwrap();
}
