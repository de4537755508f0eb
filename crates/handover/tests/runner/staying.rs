//! Tests `handover up` alone and together with `handover run` on the same project. Also tests Ctrl-C at a terminal.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::busy::patience;
use crate::process::{now, rest};
use crate::scene::{Scene, program};

const WAIT_MAX: Duration = Duration::from_secs(60);

/// Calls `ask` again and again until it returns a value. Fails after a time limit.
fn wait<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let until = now() + patience(WAIT_MAX);
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(now() < until, "{what} did not come");
        rest(Duration::from_millis(20));
    }
}

/// A running process of `handover up`. Its output goes to a file.
struct Up {
    child: Child,
    out: PathBuf,
}

impl Up {
    fn start(scene: &Scene, port: u16) -> Self {
        let out = scene.sim().join("up.out");
        let mut command = scene.handover(&["up", "--port", &port.to_string()]);
        let child = command.stdout(fs::File::create(&out).unwrap()).stderr(Stdio::inherit()).spawn().unwrap();
        let up = Self { child, out };
        wait("the third line", || (up.said().lines().count() >= 3).then_some(()));
        up
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.out).unwrap()
    }

    fn interrupt(&mut self) -> (i32, String) {
        kill_process(Pid::from_raw(self.child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
        let status = wait("the end", || self.child.try_wait().unwrap());
        (status.code().unwrap_or(-1), self.said())
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _over = self.child.kill();
        let _over = self.child.wait();
    }
}

fn scene(bot: &str) -> Scene {
    let mut scene = Scene::new();
    scene.settings.push_str("[verify]\nchecks = [{ command = [\"true\"] }]\n");
    scene.plain("bot", bot, "");
    scene.settle();
    scene
}

#[test]
fn up_steps_over_a_taken_port_takes_new_tasks_and_a_run_beside_it_follows() {
    let scene = scene("read -r goal; echo x >\"$goal\"; echo wrote it");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut up = Up::start(&scene, port);
    let said = up.said();
    assert!(
        said.starts_with("project: agents, server and page are up. Ctrl-C stops them.\nhttp://127.0.0.1:"),
        "{said}"
    );
    assert!(!said.contains(&format!("127.0.0.1:{port}/")), "{said}");
    assert!(said.contains("Nothing needs you. Add work with `handover add` or in the page.\n"), "{said}");
    assert!(said.contains("/    connect your browser: handover open\n") && !said.contains("code="), "{said}");
    assert!(scene.ask(&["add", "one"]).status.success());
    let ran = scene.run(&[]);
    let last = ran.events.last().unwrap();
    assert_eq!((ran.code, &last["event"]), (0, &"run_ended".into()), "{}\n{:#?}", ran.stderr, ran.events);
    let status = scene.json(&["task", "show", "1"])["status"].clone();
    assert_eq!(status, "completed", "the run ended before the work did");
    let (code, out) = up.interrupt();
    assert!(code == 0 && out.contains(" 1  checked            true passed"), "{code} {out}");
    assert!(out.contains("Starting nothing new.") && out.contains("as you asked. 1 task, checked."), "{out}");
}

#[test]
fn ctrl_c_beside_up_leaves_the_work_alone() {
    let scene = scene(
        "cat >/dev/null; touch \"$SIM/begun\"; until [ -e \"$SIM/go\" ]; do sleep 0.05; done; echo x >new; echo made it",
    );
    let mut up = Up::start(&scene, 0);
    assert!(scene.ask(&["add", "one"]).status.success());
    wait("the agent", || scene.sim().join("begun").exists().then_some(()));
    let out = scene.sim().join("follow.out");
    let mut run = scene.handover(&["run"]).stdout(fs::File::create(&out).unwrap()).spawn().unwrap();
    wait("the follower", || fs::read_to_string(&out).unwrap().contains("follows it").then_some(()));
    kill_process(Pid::from_raw(run.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let status = wait("its end", || run.try_wait().unwrap());
    let text = fs::read_to_string(&out).unwrap();
    assert!(status.code() == Some(130) && text.contains("The other process continues the work"), "{text}");
    fs::write(scene.sim().join("go"), "").unwrap();
    wait("the work", || up.said().contains("checked            true passed").then_some(()));
    assert_eq!(up.interrupt().0, 0);
}

/// A tmux server for one test. Dropping the value ends the server.
struct Screen<'a> {
    scene: &'a Scene,
}

impl<'a> Screen<'a> {
    fn start(scene: &'a Scene) -> Self {
        let screen = Self { scene };
        let mut command = screen.tmux(&["new-session", "-d", "-x", "120", "-y", "40", "/bin/sh"]);
        let started = command.output().unwrap_or_else(|error| panic!("tmux: {error}; scripts/test installs it"));
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        screen
    }

    fn tmux(&self, words: &[&str]) -> Command {
        let template = self.scene.handover(&[]);
        let mut command = program("tmux");
        command.current_dir(self.scene.project()).env_clear();
        command.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.arg("-S").arg(self.scene.sim().join("tmux")).args(["-f", "/dev/null"]).args(words);
        command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
        command
    }

    fn must(&self, words: &[&str]) {
        assert!(self.tmux(words).status().unwrap().success(), "tmux {words:?}");
    }

    /// Types a `handover` command into the terminal.
    fn types(&self, words: &str) {
        self.enter(&format!("{} {words}", env!("CARGO_BIN_EXE_handover")));
    }

    fn enter(&self, line: &str) {
        self.must(&["send-keys", "-l", line]);
        self.must(&["send-keys", "Enter"]);
    }

    /// Returns the text on the screen of the terminal, with wrapped lines joined.
    fn text(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p", "-J"]).output().unwrap().stdout).unwrap()
    }

    fn shows(&self, text: &str) {
        wait(text, || self.text().contains(text).then_some(()));
    }

    /// Returns the exit code of the command that was typed last. The shell reads the typed `echo` only after that
    /// command has ended.
    fn code(&self) -> String {
        let path = self.scene.sim().join("code");
        self.enter(&format!("echo $? >{}", path.display()));
        wait("the exit code", || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'))).trim().to_owned()
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        let _over = self.tmux(&["kill-server"]).output();
    }
}

#[test]
fn ctrl_c_in_a_terminal_says_at_once_what_is_finished() {
    let scene = scene("cat >/dev/null; until [ -e \"$SIM/go\" ]; do sleep 0.05; done; echo x >new; echo made it");
    assert!(scene.ask(&["add", "one", "two"]).status.success());
    let screen = Screen::start(&scene);
    screen.types("run");
    screen.shows(" 1  bot started        one");
    screen.must(&["send-keys", "C-c"]);
    screen.shows(
        "Finishing 1 running task (up to 30 min); starting nothing new. Ctrl-C again stops it and gives the task back.",
    );
    fs::write(scene.sim().join("go"), "").unwrap();
    assert_eq!(screen.code(), "130");
    let text = screen.text();
    assert!(
        text.contains("checked            true passed") && text.contains("as you asked. 1 task, checked."),
        "{text}"
    );
    assert_eq!(scene.json(&["task", "show", "2"])["status"], "pending", "nothing new was started");
}

#[test]
fn ctrl_c_ends_a_watched_status() {
    let scene = scene("cat >/dev/null");
    let screen = Screen::start(&scene);
    screen.types("status --watch");
    screen.shows("Nothing needs you. Nothing is running.");
    assert!(scene.ask(&["add", "A new task"]).status.success());
    screen.shows("1 A new task");
    screen.must(&["send-keys", "C-c"]);
    assert_eq!(screen.code(), "130");
}

/// At a person's terminal `up` opens the page with a link that connects the browser. The screen shows the link only when
/// no program can open it.
#[test]
fn up_at_a_terminal_opens_the_page_and_shows_the_link_only_where_it_cannot() {
    use std::os::unix::fs::PermissionsExt as _;

    let scene = scene("cat >/dev/null");
    let (opener, seen) = (scene.sim().join("xdg-open"), scene.sim().join("opened"));
    fs::write(&opener, format!("#!/bin/sh\nprintf '%s' \"$1\" >{}\n", seen.display())).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let screen = Screen::start(&scene);
    screen.enter(&format!("unset SSH_CONNECTION SSH_TTY WAYLAND_DISPLAY; PATH={}:$PATH", scene.sim().display()));
    screen.enter("export DISPLAY=:7");
    screen.types("up --port 0");
    screen.shows("/    opened in your browser\nNothing needs you. Add work with `handover add` or in the page.");
    let link = fs::read_to_string(&seen).unwrap();
    assert!(link.starts_with("http://127.0.0.1:") && link.contains("/#code="), "{link}");
    assert!(!screen.text().contains("code="), "{}", screen.text());
    screen.must(&["send-keys", "C-c"]);
    assert_eq!(screen.code(), "0");
    screen.enter("clear; unset DISPLAY");
    screen.types("up --port 0");
    screen.shows("Open this link in your browser within a minute; it works once.");
    assert!(screen.text().contains("/#code="), "{}", screen.text());
    screen.must(&["send-keys", "C-c"]);
    assert_eq!(screen.code(), "0");
}

#[test]
fn a_task_that_is_sent_back_while_up_runs_continues_with_the_same_attempt_and_the_words_of_the_person() {
    let scene = scene("cat >\"$SIM/got-$$\"; echo x >>work; echo wrote it");
    let up = Up::start(&scene, 0);
    assert!(scene.ask(&["add", "one"]).status.success());
    let checked = || up.said().matches(" checked ").count();
    wait("the first check", || (checked() == 1).then_some(()));
    assert!(scene.ask(&["send-back", "1", "say it louder"]).status.success());
    wait("the second check", || (checked() == 2).then_some(()));
    assert_eq!(scene.json(&["task", "show", "1"])["attempt"], 1, "{}", up.said());
    let got = fs::read_dir(scene.sim()).unwrap().map(|entry| entry.unwrap().path());
    let got: Vec<String> = got
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("got-"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(got.len(), 2, "{got:?}");
    assert_eq!(got.iter().filter(|text| text.contains("say it louder")).count(), 1, "{got:?}");
}
