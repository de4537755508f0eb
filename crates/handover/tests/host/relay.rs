//! Tests that the turn host, the process that starts and ends an agent's program, passes standard input and output
//! between the runner and the program.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use agents::host::{HostEvent, HostInput, HostLaunch, ProgramEnd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::scene::{Scene, living};

fn relay(scene: &Scene, program: &str, arguments: &[&str]) -> HostLaunch {
    let mut launch = scene.launch(arguments);
    launch.program = PathBuf::from(program);
    launch.input = HostInput::Relay;
    launch.output_bytes_max = 64 << 20;
    launch
}

#[tokio::test]
async fn bytes_go_through_and_are_kept() {
    let scene = Scene::new();
    let launch = relay(&scene, "cat", &[]);
    let mut host = scene.start(&launch);
    assert_eq!(host.event().await, None);
    let (mut input, mut output) = host.relay().unwrap();
    assert!(host.relay().is_none());
    let sent: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut got = vec![0; sent.len()];
    let (written, read) = tokio::join!(input.write_all(&sent), output.read_exact(&mut got));
    written.unwrap();
    read.unwrap();
    assert!(got == sent);
    drop(input);
    let end = host.wait().await.unwrap();
    assert_eq!((&end.how, end.stdout_bytes), (&ProgramEnd::CutOff, sent.len() as u64));
    assert!(fs::read(scene.turn(&launch).join("stdout")).unwrap() == sent);
    let events = fs::read_to_string(scene.turn(&launch).join("events")).unwrap();
    let events: Vec<HostEvent> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(matches!(events[0], HostEvent::Started { .. }));
    assert_eq!(events.last(), Some(&HostEvent::Ended(end)));
}

#[tokio::test]
async fn a_program_that_ends_closes_the_stream_and_loses_nothing() {
    let scene = Scene::new();
    let launch = relay(&scene, "head", &["-c", "200000", "/dev/zero"]);
    let mut host = scene.start(&launch);
    let (input, mut output) = host.relay().unwrap();
    let mut got = Vec::new();
    output.read_to_end(&mut got).await.unwrap();
    assert_eq!(got.len(), 200_000);
    let end = host.wait().await.unwrap();
    assert_eq!((end.how, end.leaked), (ProgramEnd::Exited { code: 0 }, false));
    drop(input);
}

#[tokio::test]
async fn the_lifeline_is_seen_behind_bytes_that_nobody_reads() {
    let scene = Scene::new();
    let launch = relay(&scene, "sleep", &["1000"]);
    let mut host = scene.start(&launch);
    let (mut input, _output) = host.relay().unwrap();
    // The runner writes more than all pipes can hold, and the program reads nothing. So the write does not end.
    let stuck = timeout(Duration::from_millis(300), input.write_all(&vec![0; 1 << 20])).await;
    assert!(stuck.is_err());
    drop(input);
    assert_eq!(host.wait().await.unwrap().how, ProgramEnd::CutOff);
    assert_eq!(living(&launch.turn), Vec::<String>::new());
}

#[tokio::test]
async fn a_runner_that_does_not_read_holds_the_program_up_and_nothing_else() {
    let scene = Scene::new();
    let launch = relay(&scene, "cat", &["/dev/zero"]);
    let mut host = scene.start(&launch);
    let (input, output) = host.relay().unwrap();
    let folder = scene.turn(&launch);
    let length = || fs::metadata(folder.join("stdout")).map_or(0, |file| file.len());
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if length() > 0 && length() == before {
            break;
        }
        before = length();
    }
    assert!(before < 1 << 20, "{before}");
    drop(input);
    assert_eq!(host.wait().await.unwrap().how, ProgramEnd::CutOff);
    drop(output);
}
