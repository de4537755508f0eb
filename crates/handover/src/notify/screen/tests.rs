//! Tests of the notices on a desktop and in a terminal.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::*;

fn text(body: &str) -> NoticeText {
    NoticeText { title: "Handover · shop".to_owned(), body: body.to_owned() }
}

/// Returns a folder for `PATH` that has programs with these names.
fn folder_with(programs: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in programs {
        let path = folder.path().join(name);
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// One case of a test: `true` for macOS, the environment variables, the installed programs, and the program that is
/// expected to be chosen.
type DesktopRow = (bool, &'static [(&'static str, &'static str)], &'static [&'static str], Option<DesktopProgram>);

#[test]
fn a_desktop_needs_a_display_and_a_program() {
    use DesktopProgram::{Busctl, Gdbus, NotifySend, Osascript};
    const ALL: &[&str] = &["notify-send", "gdbus", "busctl", "osascript"];
    let rows: [DesktopRow; 10] = [
        (false, &[("DISPLAY", ":0")], ALL, Some(NotifySend)),
        (false, &[("WAYLAND_DISPLAY", "wayland-0")], &["gdbus", "busctl"], Some(Busctl)),
        (false, &[("DISPLAY", ":0")], &["gdbus"], Some(Gdbus)),
        (false, &[("DISPLAY", ":0")], &["busctl"], Some(Busctl)),
        (false, &[("DISPLAY", ":0")], &["osascript"], None),
        (false, &[("DISPLAY", "")], ALL, None),
        (false, &[], ALL, None),
        (true, &[], ALL, Some(Osascript)),
        (true, &[], &["notify-send"], None),
        (true, &[("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")], ALL, None),
    ];
    for (is_mac, variables, programs, expected) in rows {
        let folder = folder_with(programs);
        let variable = |name: &str| {
            let set = variables.iter().find(|(set, _)| *set == name).map(|(_, value)| OsString::from(value));
            if name == "PATH" { Some(folder.path().as_os_str().to_owned()) } else { set }
        };
        assert_eq!(desktop_program(is_mac, &variable), expected, "{is_mac} {variables:?} {programs:?}");
    }
}

#[test]
fn the_texts_of_a_notice_are_arguments_and_no_markup() {
    let said = text("-x <b>bold</b> & \"quoted\"");
    assert_eq!(
        DesktopProgram::NotifySend.words(&said),
        ["notify-send", "--app-name=Handover", "--", "Handover · shop", "-x &lt;b&gt;bold&lt;/b&gt; &amp; \"quoted\""]
    );
    let mac = DesktopProgram::Osascript.words(&said);
    assert_eq!(mac.last().unwrap(), "-x <b>bold</b> & \"quoted\"");
    let bus = DesktopProgram::Busctl.words(&said);
    assert_eq!(
        bus[bus.len() - 9..],
        ["susssasa{sv}i", "Handover", "0", "", "Handover · shop", marked_body(&said).as_str(), "0", "0", "-1"]
    );
    let glib = DesktopProgram::Gdbus.words(&text("it's <b>"));
    assert_eq!(
        glib[glib.len() - 9..],
        [
            "--",
            "'Handover'",
            "uint32 0",
            "''",
            "'Handover · shop'",
            "'it\\'s &lt;b&gt;'",
            "@as []",
            "@a{sv} {}",
            "int32 -1"
        ]
    );
}

/// Returns the body as the desktops of Linux get it.
fn marked_body(text: &NoticeText) -> String {
    DesktopProgram::NotifySend.words(text).pop().unwrap()
}

#[test]
fn a_terminal_gets_the_message_that_it_knows() {
    use TerminalMessage::{Both, Osc9, Osc777};
    let rows: [(&[(&str, &str)], TerminalMessage); 7] = [
        (&[("TERM_PROGRAM", "iTerm.app"), ("TERM", "xterm-256color")], Osc9),
        (&[("TERM", "xterm-kitty")], Osc9),
        (&[("TERM_PROGRAM", "WezTerm"), ("VTE_VERSION", "7600")], Osc9),
        (&[("TERM", "xterm-256color"), ("VTE_VERSION", "7600")], Osc777),
        (&[("TERM", "foot-extra")], Osc777),
        (&[("TERM", "tmux-256color")], Both),
        (&[], Both),
    ];
    for (variables, expected) in rows {
        let variable = |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.into());
        assert_eq!(terminal_message(&variable), expected, "{variables:?}");
    }
}

#[test]
fn a_text_cannot_end_the_sequence_of_a_terminal() {
    let said = text("a\x07b\x1b]9;c\nd;e");
    let sequence = TerminalMessage::Both.sequence(&said);
    let inner = sequence.strip_prefix("\x07\x1b]9;").unwrap();
    let (first, rest) = inner.split_once("\x1b\\").unwrap();
    assert!(first.starts_with("Handover · shop: a") && first.ends_with("d;e"), "{first:?}");
    assert!(!first.contains(['\x07', '\x1b', '\n']), "{first:?}");
    let second = rest.strip_prefix("\x1b]777;notify;Handover · shop;").unwrap().strip_suffix("\x1b\\").unwrap();
    assert!(!second.contains(['\x07', '\x1b', '\n']), "{second:?}");
}

/// A session bus of this test, with a program that answers every call to the notification service, and a monitor that
/// prints the calls.
struct TestBus {
    address: String,
    programs: Vec<Child>,
    heard: BufReader<ChildStdout>,
}

impl Drop for TestBus {
    fn drop(&mut self) {
        for program in &mut self.programs {
            let _gone = program.kill();
            let _gone = program.wait();
        }
    }
}

fn program(words: &[&str], bus: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a test starts the programs of a real bus")]
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("DBUS_SESSION_BUS_ADDRESS", bus).stdin(Stdio::null());
    command
}

impl TestBus {
    fn start() -> Self {
        let mut daemon = program(&["dbus-daemon", "--session", "--nofork", "--print-address=1"], "");
        let mut daemon = daemon.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        let service = "org.freedesktop.Notifications";
        let echo = program(&["dbus-test-tool", "echo", &format!("--name={service}")], &address).spawn().unwrap();
        let rule = format!("interface='{service}'");
        let mut monitor = program(&["dbus-monitor", "--session", &rule], &address);
        let mut monitor = monitor.stdout(Stdio::piped()).spawn().unwrap();
        let mut heard = BufReader::new(monitor.stdout.take().unwrap());
        // The first line reports that the bus gave the monitor its name. From now on, the monitor sees every call.
        heard.read_line(&mut String::new()).unwrap();
        let name = format!("string:{service}");
        let words = ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/"];
        let words = [&words[..], &["org.freedesktop.DBus.NameHasOwner", &name]].concat();
        let has_owner = || program(&words, &address).output().unwrap().stdout;
        while !String::from_utf8_lossy(&has_owner()).contains("boolean true") {}
        Self { address, programs: vec![monitor, echo, daemon], heard }
    }

    /// Returns the values of the next call of `Notify`, as the monitor prints them.
    fn notified(&mut self) -> Vec<String> {
        let mut values = Vec::new();
        let mut line = String::new();
        while !line.contains("member=Notify") {
            line.clear();
            assert!(self.heard.read_line(&mut line).unwrap() > 0, "the monitor ended");
        }
        while values.last().is_none_or(|value: &String| !value.starts_with("int32")) {
            line.clear();
            assert!(self.heard.read_line(&mut line).unwrap() > 0, "the monitor ended");
            values.push(line.trim().to_owned());
        }
        values
    }
}

#[test]
fn the_service_of_a_real_session_bus_gets_the_texts() {
    let mut bus = TestBus::start();
    let said = text("-x it's <b> & \"q\" \\ [1]");
    for desktop in [DesktopProgram::Busctl, DesktopProgram::Gdbus] {
        let words = desktop.words(&said);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = program(&words, &bus.address).output().unwrap();
        assert!(output.status.success(), "{desktop:?}: {}", String::from_utf8_lossy(&output.stderr));
        let body = "string \"-x it's &lt;b&gt; &amp; \"q\" \\ [1]\"";
        let empty = ["array [", "]"];
        let head = ["string \"Handover\"", "uint32 0", "string \"\"", "string \"Handover · shop\"", body];
        let expected: Vec<&str> = head.into_iter().chain(empty).chain(empty).chain(["int32 -1"]).collect();
        assert_eq!(bus.notified(), expected, "{desktop:?}");
    }
}
