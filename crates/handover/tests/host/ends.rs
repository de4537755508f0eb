//! Tests every way in which an agent's program can end, the record that its host keeps of the end, and the environment
//! that the program gets.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use agents::host::{HostEnded, HostEvent, HostInput, Inherit, ProgramEnd, TurnHost, ended, settle};

use crate::scene::{BINARY, Scene, living, started, stat};

fn exited(code: i32) -> ProgramEnd {
    ProgramEnd::Exited { code }
}

#[tokio::test]
async fn what_a_program_writes_is_kept_and_told() {
    let scene = Scene::new();
    let launch = scene.launch(&["say", "hello"]);
    let mut host = scene.start(&launch);
    let mut events = Vec::new();
    while let Some(event) = host.event().await {
        events.push(event);
    }
    let end = host.wait().await.unwrap();
    assert_eq!((&end.how, end.leaked, end.killed), (&exited(0), false, 0));
    assert_eq!((end.stdout_bytes, end.stderr_bytes), (10, 10));
    assert!(end.started_at > 0 && end.ended_at >= end.started_at);
    assert!(matches!(events[0], HostEvent::Started { pid: 2.. }), "{events:?}");
    assert_eq!(events.last(), Some(&HostEvent::Ended(end.clone())));
    let folder = scene.turn(&launch);
    assert_eq!(scene.stdout(&launch), "out hello\n");
    assert_eq!(fs::read_to_string(folder.join("stderr")).unwrap(), "err hello\n");
    assert_eq!(ended(&folder).unwrap(), Some(end));
    for name in ["launch.json", "end.json", "stdout", "stderr"] {
        assert_eq!(fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn codes_and_signals_are_told_apart() {
    let scene = Scene::new();
    for (arguments, how) in [
        (["exit", "0"], exited(0)),
        (["exit", "3"], exited(3)),
        (["exit", "127"], exited(127)),
        (["die", "SEGV"], ProgramEnd::Signalled { signal: 11 }),
        (["die", "KILL"], ProgramEnd::Signalled { signal: 9 }),
        (["die", "TERM"], ProgramEnd::Signalled { signal: 15 }),
    ] {
        let end = scene.run(&scene.launch(&arguments)).await;
        assert_eq!((end.how, end.leaked), (how, false), "{arguments:?}");
    }
}

#[tokio::test]
async fn the_program_sees_what_it_was_given() {
    let scene = Scene::new();
    let mut launch = scene.launch(&["surroundings"]);
    let input = scene.path("input");
    fs::write(&input, "from the file").unwrap();
    launch.input = HostInput::File(input);
    launch.environment = [("ADDED".to_owned(), "1".to_owned()), ("HANDOVER_TURN".to_owned(), "no".to_owned())].into();
    assert_eq!(scene.run(&launch).await.how, exited(0));
    let said = scene.stdout(&launch);
    let names: Vec<&str> = said.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    assert_eq!(names, ["ADDED", "HANDOVER_TURN", "PATH", "PWD", "SHLVL", "_"]);
    assert!(said.contains(&format!("HANDOVER_TURN={}\n", launch.turn)), "{said}");
    assert!(said.ends_with(&format!("{}\nfrom the file", scene.path("").canonicalize().unwrap().display())), "{said}");

    let mut launch = scene.launch(&["surroundings"]);
    launch.inherit = Inherit::All;
    assert_eq!(scene.run(&launch).await.how, exited(0));
    assert!(scene.stdout(&launch).contains("CARGO_MANIFEST_DIR="));
}

#[tokio::test]
async fn what_cannot_be_started_is_said() {
    let scene = Scene::new();
    let script = scene.path("not-executable");
    fs::write(&script, "").unwrap();
    let mut missing = scene.launch(&[]);
    missing.program = PathBuf::from("no-such-program-anywhere");
    let mut forbidden = scene.launch(&[]);
    forbidden.program = script;
    let mut folder = scene.launch(&[]);
    folder.directory = scene.path("nowhere");
    let mut input = scene.launch(&[]);
    input.input = HostInput::File(scene.path("nothing"));
    let mut environment = scene.launch(&[]);
    environment.environment = [("A".to_owned(), "zero\0byte".to_owned())].into();
    for (launch, part) in [
        (missing, "no-such-program-anywhere cannot be started: No such file"),
        (forbidden, "Permission denied"),
        (folder, "nowhere is not a folder"),
        (input, "nothing cannot be read"),
        (environment, "nul byte"),
    ] {
        let HostEnded { how: ProgramEnd::SpawnFailed { why }, .. } = scene.run(&launch).await else { panic!("{part}") };
        assert!(why.contains(part), "{why}");
    }
}

#[tokio::test]
async fn a_program_is_found_by_its_own_path() {
    let scene = Scene::new();
    let mut launch = scene.launch(&["say", "found"]);
    launch.environment =
        [("PATH".to_owned(), launch.program.parent().unwrap().to_str().unwrap().to_owned() + ":/bin")].into();
    launch.program = PathBuf::from("misbehave.sh");
    assert_eq!(scene.run(&launch).await.how, exited(0));
}

#[tokio::test]
async fn time_is_bounded_also_for_the_stubborn() {
    let scene = Scene::new();
    for (name, killed) in [("work", 0), ("stubborn", 2)] {
        let mut launch = scene.launch(&[name]);
        launch.seconds_max = 1;
        let end = scene.run(&launch).await;
        assert_eq!((end.how, end.leaked), (ProgramEnd::TimedOut, false), "{name}");
        assert!(end.killed <= killed, "{name}: {}", end.killed);
        assert!((900..4_000).contains(&(end.ended_at - end.started_at)), "{name}");
    }
}

#[tokio::test]
async fn output_is_kept_to_the_byte() {
    let scene = Scene::new();
    let mut launch = scene.launch(&["flood"]);
    launch.output_bytes_max = 100_001;
    let end = scene.run(&launch).await;
    assert_eq!((end.how, end.stdout_bytes + end.stderr_bytes), (ProgramEnd::TooMuch, 100_001));
    assert_eq!(scene.stdout(&launch).len() as u64, end.stdout_bytes);

    let mut launch = scene.launch(&["say", "x"]);
    launch.output_bytes_max = 12;
    assert_eq!(scene.run(&launch).await.how, exited(0), "exactly so much is not too much");
    let mut launch = scene.launch(&["say", "x"]);
    launch.output_bytes_max = 11;
    let end = scene.run(&launch).await;
    assert_eq!((end.how, end.leaked), (ProgramEnd::TooMuch, false));
}

#[tokio::test]
async fn who_is_asked_to_end_may_say_goodbye() {
    let scene = Scene::new();
    let launch = scene.launch(&["polite"]);
    let end = scene.cut(&launch).await;
    assert_eq!(end.killed, 0);
    assert_eq!(scene.stdout(&launch), "ready\nbye\n");
}

#[tokio::test]
async fn the_host_is_out_of_reach_of_the_terminal() {
    let scene = Scene::new();
    let mut host = scene.start(&scene.launch(&["silent"]));
    let program = started(&mut host).await.to_string();
    let [parent, group, session] = &stat(&program).unwrap()[1..4] else { panic!() };
    let own = stat(&std::process::id().to_string()).unwrap();
    assert_eq!((group, session), (&program, parent), "a group of its own in the host's session");
    assert_eq!(stat(parent).unwrap()[2..4], [parent.clone(), parent.clone()]);
    assert_ne!(session, &own[3]);
    host.cut_off();
    assert_eq!(host.wait().await.unwrap().how, ProgramEnd::CutOff);
}

#[tokio::test]
async fn a_turn_is_started_once() {
    let scene = Scene::new();
    let launch = scene.launch(&["say", "once"]);
    scene.run(&launch).await;
    let folder = scene.turn(&launch);
    assert!(TurnHost::start(BINARY.as_ref(), &folder, &launch).is_err());
    // The host refuses to start the same turn (one run of an agent's program) twice, both while the turn runs and after
    // it has ended.
    let running = scene.launch(&["silent"]);
    let mut host = scene.start(&running);
    started(&mut host).await;
    for folder in [&folder, &scene.turn(&running)] {
        let again = tokio::process::Command::from(command(folder)).status().await.unwrap();
        assert_eq!(again.code(), Some(1));
    }
    assert_eq!(living(&running.turn).len(), 1);
    drop(host);
    let folder = scene.turn(&running);
    let end = tokio::task::spawn_blocking(move || settle(&folder)).await.unwrap().unwrap();
    assert_eq!(end.how, ProgramEnd::CutOff);
}

#[tokio::test]
async fn output_that_cannot_be_kept_ends_the_turn() {
    let scene = Scene::new();
    let launch = scene.launch(&["flood"]);
    let folder = scene.turn(&launch);
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.join("stdout")).unwrap();
    let end = scene.run(&launch).await;
    let ProgramEnd::Lost { why } = end.how else { panic!("{end:?}") };
    assert!(why.contains("No space left"), "{why}");
}

fn command(folder: &std::path::Path) -> std::process::Command {
    #[expect(clippy::disallowed_methods, reason = "a test starts the host by hand")]
    let mut command = std::process::Command::new(BINARY);
    command.args(["turn-host".as_ref(), folder.as_os_str()]).stderr(std::process::Stdio::null());
    command
}
