//! Tests of processes that an agent's program leaves behind, or tries to keep alive after the program's end.

use agents::host::{ProgramEnd, settle};
use rustix::process::{Pid, Signal, kill_process};

use crate::scene::{Scene, living, processes, started, stat};

fn pid(text: &str) -> Pid {
    Pid::from_raw(text.parse().unwrap()).unwrap()
}

/// Finds the process that removed `HANDOVER_TURN` from its environment, by the time for which it sleeps. This time is
/// different in each turn (one run of an agent's program).
fn hidden(turn: &str) -> Vec<String> {
    let line = format!("sleep\x001000.{}\0", turn.rsplit_once('_').unwrap().1);
    let is_it = |pid: &String| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|it| it == line.as_bytes());
    processes().into_iter().filter(is_it).collect()
}

#[tokio::test]
async fn what_is_left_behind_is_a_leak() {
    let scene = Scene::new();
    for name in ["leave", "daemon", "anonymous"] {
        let launch = scene.launch(&[name]);
        let end = scene.run(&launch).await;
        assert_eq!((end.how, end.leaked, end.killed), (ProgramEnd::Exited { code: 0 }, true, 1), "{name}");
        assert_eq!(scene.stdout(&launch), "left\n");
        assert_eq!(hidden(&launch.turn), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_last_line_on_its_way_is_no_leak() {
    let scene = Scene::new();
    let launch = scene.launch(&["linger"]);
    let end = scene.run(&launch).await;
    assert_eq!((end.how, end.leaked), (ProgramEnd::Exited { code: 0 }, false));
    assert_eq!(scene.stdout(&launch), "left\nlate\n");
}

#[tokio::test]
async fn a_whole_family_ends() {
    let scene = Scene::new();
    let launch = scene.launch(&["family"]);
    let end = scene.cut(&launch).await;
    assert!(end.killed >= 5, "{}", end.killed);
    assert_eq!(end.survivors, []);
    assert_eq!(hidden(&launch.turn), Vec::<String>::new());
}

#[tokio::test]
async fn the_stubborn_end_after_their_grace() {
    let scene = Scene::new();
    let end = scene.cut(&scene.launch(&["stubborn"])).await;
    assert!(end.killed >= 1);
}

#[tokio::test]
async fn who_runs_away_is_caught() {
    let scene = Scene::new();
    for _ in 0..5 {
        scene.cut(&scene.launch(&["comet"])).await;
    }
    scene.cut(&scene.launch(&["chain", "60"])).await;
}

#[tokio::test]
async fn a_crowd_of_children_ends() {
    let scene = Scene::new();
    let launch = scene.launch(&["spread", "6"]);
    let mut host = scene.start(&launch);
    started(&mut host).await;
    while living(&launch.turn).len() < 100 {
        tokio::task::yield_now().await;
    }
    host.cut_off();
    assert_eq!(host.wait().await.unwrap().how, ProgramEnd::CutOff);
    assert_eq!(living(&launch.turn), Vec::<String>::new());
}

#[tokio::test]
async fn a_killed_host_takes_its_program_along_and_the_rest_is_swept() {
    let scene = Scene::new();
    let launch = scene.launch(&["family"]);
    let mut host = scene.start(&launch);
    let program = started(&mut host).await.to_string();
    while !scene.stdout(&launch).contains("ready") {
        host.event().await.unwrap();
    }
    // When the host is killed, the process without `HANDOVER_TURN` in its environment survives, as the documentation
    // says. So the test ends it.
    while hidden(&launch.turn).is_empty() {
        tokio::task::yield_now().await;
    }
    let hidden = hidden(&launch.turn);
    kill_process(pid(&stat(&program).unwrap()[1]), Signal::KILL).unwrap();
    let end = host.wait().await.unwrap();
    assert!(matches!(end.how, ProgramEnd::Lost { .. }), "{end:?}");
    assert_eq!((end.survivors, end.stdout_bytes), (Vec::new(), 6));
    assert_eq!(living(&launch.turn), Vec::<String>::new());
    assert_eq!(hidden.len(), 1);
    for process in hidden {
        kill_process(pid(&process), Signal::KILL).unwrap();
    }
    let folder = scene.turn(&launch);
    let again = tokio::task::spawn_blocking(move || settle(&folder)).await.unwrap().unwrap();
    assert!(matches!(again.how, ProgramEnd::Lost { .. }));
}
