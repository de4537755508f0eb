//! A project with real git and real runs, a server, and a person at a terminal, for one browser test.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::busy::patience;
use crate::terminal::Terminal;

/// The files of the project, which one commit has.
const FILES: &[(&str, &str)] = &[
    ("README.md", "# shop\n"),
    (
        "src/login.js",
        "export function login(req, res) {\n  const next = req.query.next;\n  if (!req.user) return res.render('login');\n  \
         res.redirect('/')\n}\n",
    ),
    ("test/sum.txt", "adds prices\n"),
    (
        "test.sh",
        "if grep -rqs 'total = 12.3;' src; then\n  echo 'totals > rounds to cents'\n  echo 'expected 12.30, got 12.3'\n  \
         exit 1\nfi\necho 'all tests passed'\n",
    ),
];

/// The settings of a project whose agents are the scripts of this folder.
const SETTINGS: &str = r#"
[verify]
checks = [{ command = ["sh", "test.sh"], seconds = 20 }]

[[agent]]
slug = "claude"
adapter = "claude"
output = "envelope"
persona = "You are claude."
command = ["HERE/agent.sh"]
env = { SIM = "SIM_FOLDER" }
max_parallel = 4
roles = ["coder"]

[[agent]]
slug = "codex"
adapter = "exec"
output = "handoff"
persona = "You are codex."
command = ["HERE/asker.sh"]
env = { SIM = "SIM_FOLDER" }
roles = ["publisher"]
"#;

/// The programs of the system that the project needs. The search path has no other programs, so that the page shows no
/// agent of the developer.
const SYSTEM: &[&str] = &[
    "git", "sh", "env", "cat", "sleep", "touch", "rm", "mkdir", "sed", "grep", "wc", "true", "false", "printf", "ssh",
];

/// The time after which a script of the browser must have ended, on an idle machine.
const SCRIPT_MAX: Duration = Duration::from_secs(60);

pub(crate) struct Scene {
    folder: TempDir,
    server: Option<Child>,
}

fn program(path: impl AsRef<Path>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a test starts our program, git and node")]
    Command::new(path.as_ref())
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser")
}

/// Returns the folder into which `scripts/tools` installs the packages of the tests.
fn tools() -> PathBuf {
    // The test binary is in DEBUG/deps below the target folder.
    let binary = std::env::current_exe().unwrap();
    let target = binary.ancestors().nth(3).unwrap().to_owned();
    let tools = target.join("browser-tools");
    let is_there = |name: &str| tools.join("node_modules").join(name).is_dir();
    assert!(
        ["axe-core", "playwright-core"].into_iter().all(is_there) && Path::new("/usr/bin/chromium").exists(),
        "The browser tests need chromium and the packages in {}. Install them: scripts/test --quick -p handover --test browser",
        tools.display()
    );
    tools
}

impl Scene {
    /// Makes a repository called `shop`, without settings.
    pub(crate) fn bare() -> Self {
        let scene = Self { folder: TempDir::new().unwrap(), server: None };
        for folder in ["shop", "sim", "data", "home", "bin"] {
            fs::create_dir(scene.path(folder)).unwrap();
        }
        let search = std::env::var_os("PATH").unwrap();
        for name in SYSTEM {
            let found = std::env::split_paths(&search).map(|folder| folder.join(name)).find(|path| path.is_file());
            if let Some(found) = found {
                std::os::unix::fs::symlink(found, scene.path("bin").join(name)).unwrap();
            }
        }
        for (name, text) in FILES {
            scene.write(name, text);
        }
        scene.git(&["init", "--quiet", "--initial-branch=main"]);
        scene.git(&["config", "user.name", "Ann"]);
        scene.git(&["config", "user.email", "ann@example.org"]);
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "-m", "start"]);
        scene
    }

    /// Makes a repository called `shop` with two agents and a check, which the person has accepted.
    pub(crate) fn new() -> Self {
        let scene = Self::bare();
        let (here, sim) = (here(), scene.path("sim"));
        let settings = SETTINGS.replace("HERE", here.to_str().unwrap()).replace("SIM_FOLDER", sim.to_str().unwrap());
        scene.write(".handover/config.toml", &settings);
        scene.write(".handover/state/.gitignore", "*\n");
        let offered: Value = serde_json::from_str(&scene.run(&["trust", "--json"]).0).unwrap();
        scene.run(&["trust", "--sha256", offered["sha256"].as_str().unwrap()]);
        scene
    }

    /// Makes a project with everything that the first page can show, except a running task: items of five kinds, work to
    /// merge, a task that waits, and a merged task.
    pub(crate) fn busy() -> Self {
        let scene = Self::new();
        scene.work(&["Dark mode"]);
        scene.must(&["merge", "1", "--yes"]);
        let tasks = ["Fix login", "Sign-up email", "Add health endpoint", "Cart totals", "Tidy imports"];
        scene.run(&[&["add", "--role", "coder"], &tasks[..]].concat());
        scene.run(&["add", "Publish the fix", "--role", "publisher"]);
        scene.run(&["add", "Port to v2", "--role", "coder", "--after", "4"]);
        // One after the other, so that the work is finished in the order of the tasks.
        scene.run(&["run", "--once", "--agents", "1"]);
        scene
    }

    /// Runs a command as a person at a terminal. The command must succeed.
    fn must(&self, arguments: &[&str]) {
        let said = self.person(arguments);
        assert_eq!(said["code"], 0, "{arguments:?}: {said}");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path("shop").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        let output = program("git").current_dir(self.path("shop")).args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Returns the command that runs `handover` in the project, without the environment of the developer.
    fn handover(&self, arguments: &[&str]) -> Command {
        let mut command = program(env!("CARGO_BIN_EXE_handover"));
        command.current_dir(self.path("shop")).args(arguments).env_clear();
        command.env("PATH", self.path("bin")).env("TZ", "UTC");
        command.env("HOME", self.path("home")).env("XDG_DATA_HOME", self.path("data"));
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command and returns its standard output and its exit code.
    fn run(&self, arguments: &[&str]) -> (String, i32) {
        let output = self.handover(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || output.status.code() == Some(1), "{arguments:?}: {errors}");
        (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap_or(-1))
    }

    /// Adds tasks and lets the agents work on everything that is ready.
    fn work(&self, tasks: &[&str]) {
        self.run(&[&["add"], tasks].concat());
        self.run(&["run", "--once"]);
    }

    /// Runs a command as a person at a terminal.
    fn person(&self, arguments: &[&str]) -> Value {
        let terminal = Terminal::new();
        let mut command = self.handover(arguments);
        terminal.seat(&mut command);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        json!({"code": output.status.code(), "out": text(&output.stdout), "err": text(&output.stderr)})
    }

    /// Starts `handover serve` or `handover up` and returns its port.
    fn serve(&mut self, verb: &str, port: u64) -> u64 {
        let mut command = self.handover(&[verb, "--port", &port.to_string()]);
        let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let is_found = |line: &String| line.contains("http://127.0.0.1:");
        let line = lines.by_ref().map(|line| line.unwrap()).find(is_found).unwrap_or_else(|| panic!("{verb} ended"));
        let rest = line.split_once("http://127.0.0.1:").unwrap().1;
        // The server must be able to write on, so that a thread reads its output until the server ends.
        std::thread::spawn(move || lines.for_each(drop));
        self.server = Some(server);
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
    }

    fn end(&mut self, signal: Signal) {
        let Some(mut server) = self.server.take() else { return };
        let _ended = kill_process(Pid::from_child(&server), signal);
        server.wait().unwrap();
    }

    /// Runs a script in the browser. The script asks for acts outside of the browser with one line of JSON each.
    pub(crate) fn play(&mut self, name: &str) {
        let factor = patience(SCRIPT_MAX).as_secs_f64() / SCRIPT_MAX.as_secs_f64();
        let mut node = program("node");
        node.arg(here().join("scripts").join(format!("{name}.mjs"))).current_dir(self.path("home"));
        node.env("BROWSER_TOOLS", tools()).env("SCENE", self.path("")).env("PATIENCE", factor.to_string());
        node.env("HOME", self.path("home")).env("TZ", "UTC").env("REPOSITORY", here().join("../../../.."));
        let mut node = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap_or_else(|error| {
            panic!("node: {error}; scripts/test installs it");
        });
        let mut answers = node.stdin.take().unwrap();
        for line in BufReader::new(node.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            match serde_json::from_str::<Value>(&line) {
                Ok(asked) if asked["ask"].is_string() => writeln!(answers, "{}", self.answer(&asked)).unwrap(),
                Ok(_) | Err(_) => eprintln!("{line}"),
            }
        }
        assert!(node.wait().unwrap().success(), "the script {name}.mjs failed");
    }

    /// Does one act that a script asks for.
    fn answer(&mut self, asked: &Value) -> Value {
        let words =
            || -> Vec<&str> { asked["words"].as_array().into_iter().flatten().filter_map(Value::as_str).collect() };
        match asked["ask"].as_str().unwrap() {
            "person" => self.person(&words()),
            "run" => json!(self.run(&words()).1),
            "serve" => json!(self.serve(asked["verb"].as_str().unwrap(), asked["port"].as_u64().unwrap())),
            "kill" => {
                self.end(Signal::KILL);
                Value::Null
            }
            other => panic!("{other} is no act"),
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // An agent that waits for this file ends by itself.
        let _written = fs::write(self.folder.path().join("sim/go"), "");
        self.end(Signal::INT);
    }
}
