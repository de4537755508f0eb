//! Tests how a run notifies a person: with `notify-send` on a desktop, which a script replaces here, and with the bell
//! of a terminal.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};

use base::people::answers;
use engine::Rights;

use crate::people::{service, workflow};
use crate::scene::Scene;

/// The plan of a task whose agent asks a question and finishes after the answer.
const ASKS: &str = "name: q\ntasks:\n  - {name: port, description: asks finished, role: worker}\n";

fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.agent("worker", "");
    scene.settle();
    scene
}

/// Makes `handover` believe that it runs on a desktop. The script `notify-send` appends its arguments to a file.
fn with_desktop(scene: &mut Scene) {
    let folder = scene.sim().join("bin");
    std::fs::create_dir(&folder).unwrap();
    let program = folder.join("notify-send");
    let text = format!("#!/bin/sh\nprintf '%s|%s|%s|%s\\n' \"$@\" >> '{}'\n", scene.sim().join("shown").display());
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    scene.environment.extend([("PATH", path), ("DISPLAY", ":9".to_owned())]);
}

fn shown(scene: &Scene) -> Vec<String> {
    let text = std::fs::read_to_string(scene.sim().join("shown")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_run_that_stops_for_a_person_tells_them_before_it_ends() {
    let mut scene = scene();
    with_desktop(&mut scene);
    let ran = scene.run_plan(ASKS);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let told = shown(&scene);
    let [question] = told.as_slice() else { panic!("{told:?}") };
    assert!(question.starts_with("--app-name=Handover|--|Handover · project|worker asks: "), "{question}");
    let message = scene.json(&["inbox", "read"])["messages"][0]["id"].as_str().unwrap().parse().unwrap();
    service(&scene, async |service| {
        answers::answer(service, Rights::Person, message, "8080".to_owned()).await.unwrap()
    });
    let again = scene.run(&[&workflow(&ran, &scene)]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let told = shown(&scene);
    let [_, end] = told.as_slice() else { panic!("{told:?}") };
    assert!(end.contains("|Handover · project|The run is done after "), "{end}");
}

#[test]
fn settings_can_turn_the_desktop_off() {
    let mut scene = Scene::new();
    scene.settings.push_str("[notify]\ndesktop = false\n");
    scene.agent("worker", "");
    scene.settle();
    with_desktop(&mut scene);
    assert_eq!(scene.run_plan(ASKS).code, 1);
    assert_eq!(shown(&scene), [""; 0]);
}

#[test]
fn a_run_without_a_desktop_rings_the_bell_of_its_terminal() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let scene = scene();
    let path = scene.plan(ASKS);
    let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&outer).unwrap();
    unlockpt(&outer).unwrap();
    let name = ptsname(&outer, Vec::new()).unwrap().into_string().unwrap();
    // The terminal must not become the controlling terminal of the test.
    let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
    let inner = File::options().read(true).write(true).custom_flags(flags).open(name).unwrap();
    let mut command = scene.handover(&["run", "--json", "--plan", path.to_str().unwrap()]);
    let mut child = command.stdout(std::process::Stdio::null()).stderr(inner).spawn().unwrap();
    // Drop `command`, because it also holds the terminal open, and the read below ends only when no process has the
    // terminal open.
    drop(command);
    let mut seen = Vec::new();
    // When no process has the terminal open any more, the read ends with an error, which is fine.
    let _closed = File::from(outer).read_to_end(&mut seen);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let seen = String::from_utf8_lossy(&seen);
    let osc_9 = "\x07\x1b]9;Handover · project: worker asks: ";
    assert_eq!(seen.matches(osc_9).count(), 1, "{seen:?}");
    assert!(seen.contains("\x1b]777;notify;Handover · project;worker asks: "), "{seen:?}");
}
