//! A test project in JavaScript, Python, Go or Rust, with a shell script as its agent. The real `handover` program
//! works on it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The longest time that the test waits until the agents have started. It is long enough for a machine with many busy
/// programs.
const BEGIN_MAX: Duration = Duration::from_secs(200);

/// A git repository with a project. Next to it are folders for the agent's notes, the person's home folder and the
/// person's data.
pub(crate) struct EcosystemScene {
    folder: TempDir,
}

/// The exit code of a `handover` command, and the lines that it printed.
#[derive(Debug)]
pub(crate) struct RunText {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

impl RunText {
    /// Returns the labels of the output lines about one task, such as `bot started` and `checked`, in the order of the
    /// lines.
    pub(crate) fn labels(&self, number: u32) -> Vec<&str> {
        let mark = format!("{number:>2}  ");
        let of_task = self.text.lines().filter_map(|line| line.strip_prefix(&mark));
        // A label is followed by at least two spaces; a line without them is the title of a task.
        of_task.filter_map(|line| line.split_once("  ")).map(|(label, _)| label).collect()
    }
}

fn program(path: impl AsRef<Path>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a test starts our program and the tools of languages")]
    Command::new(path.as_ref())
}

/// Returns the value of `PATH` for the test. The first folder in it has a Python with pytest.
fn search_path() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let has_pytest = |folder: &&str| {
        let mut python = program(Path::new(folder).join("python3"));
        python.args(["-c", "import pytest, venv, ensurepip"]).stderr(Stdio::null());
        python.status().is_ok_and(|status| status.success())
    };
    let folder = path.split(':').find(has_pytest);
    format!("{}:{path}", folder.unwrap_or_else(|| panic!("no Python with pytest and venv: scripts/test installs it")))
}

impl EcosystemScene {
    /// Makes a repository with one commit that has these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let scene = Self { folder: TempDir::new().unwrap() };
        for folder in ["project", "notes", "data", "home"] {
            fs::create_dir(scene.path(folder)).unwrap();
        }
        scene.shell("git init --quiet --initial-branch=main");
        scene.shell("git config user.name Ann && git config user.email ann@example.org");
        for (name, text) in files {
            scene.write(name, text);
        }
        scene.shell("git add --all && git commit --quiet --message start");
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path("project").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns the content of a file that the agent wrote into the folder `$NOTES`; `None` when there is no such file.
    pub(crate) fn note(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path("notes").join(name)).ok()
    }

    fn command(&self, path: impl AsRef<Path>) -> Command {
        let mut command = program(path);
        command.current_dir(self.path("project")).env_clear().stdin(Stdio::null());
        command.env("PATH", search_path()).env("HOME", self.path("home")).env("XDG_DATA_HOME", self.path("data"));
        // The tools of Rust are in the developer's home folder, but the tested program gets another home folder.
        let home = std::env::var("HOME").unwrap_or_default();
        for (name, folder) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
            command.env(name, std::env::var_os(name).unwrap_or_else(|| Path::new(&home).join(folder).into()));
        }
        // All tests share one cache of compiled packages. Otherwise go would compile its standard library again in each
        // test.
        command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("ecosystem-cache"));
        command
    }

    /// Runs a command line in the person's work tree, and returns everything that it printed. The command must succeed.
    pub(crate) fn shell(&self, line: &str) -> String {
        let output = self.command("sh").args(["-c", &format!("exec 2>&1; {line}")]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{line}: {text}");
        text
    }

    pub(crate) fn handover(&self, arguments: &[&str]) -> RunText {
        let mut command = self.command(env!("CARGO_BIN_EXE_handover"));
        read(&mut command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Writes settings with an agent named `bot`, whose program is this shell script, and accepts them as a person
    /// does. The agent may work on three tasks at the same time.
    pub(crate) fn settle(&self, settings: &str, bot: &str) {
        let script = self.path("notes").join("bot.sh");
        fs::write(&script, format!("#!/bin/sh\nset -e\ngoal=$(cat)\n{bot}\n")).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let agent = format!(
            "[[agent]]\nslug = \"bot\"\nadapter = \"exec\"\noutput = \"plain\"\npersona = \"You are bot.\"\n\
             max_parallel = 3\ncommand = [{:?}]\nenv = {{ NOTES = {:?} }}\n",
            script.display().to_string(),
            self.path("notes").display().to_string()
        );
        self.write(".handover/config.toml", &format!("{settings}\n{agent}"));
        self.write(".handover/state/.gitignore", "*\n");
        let offered = self.handover(&["trust", "--json"]);
        let offered: serde_json::Value = serde_json::from_str(&offered.text).unwrap();
        let accepted = self.handover(&["trust", "--sha256", offered["sha256"].as_str().unwrap()]);
        assert_eq!(accepted.code, Some(0), "{accepted:?}");
    }

    /// Adds tasks to the standing list (the workflow for single tasks), and lets the agent work on them until it is
    /// done.
    pub(crate) fn add(&self, tasks: &[&str]) -> RunText {
        self.handover(&[&["add"], tasks, &["--run"]].concat())
    }

    /// Starts the work on tasks, and returns when the agent works on all of them at the same time. The agent shows this
    /// by one file for each task, whose name begins with `begun`, in the folder `$NOTES`.
    pub(crate) fn begin(&self, tasks: &[&str]) -> Child {
        let mut command = self.command(env!("CARGO_BIN_EXE_handover"));
        command.arg("add").args(tasks).arg("--run").stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        #[expect(clippy::disallowed_methods, reason = "bounds the time that a test waits")]
        let since = Instant::now();
        let begun = || {
            let files = fs::read_dir(self.path("notes")).unwrap().flatten();
            files.filter(|file| file.file_name().to_string_lossy().starts_with("begun")).count()
        };
        while begun() < tasks.len() {
            assert!(since.elapsed() < BEGIN_MAX, "{} of {} tasks began", begun(), tasks.len());
            #[expect(
                clippy::disallowed_methods,
                reason = "the agent is not our child, so no event tells that it began"
            )]
            std::thread::sleep(Duration::from_millis(20));
        }
        child
    }

    /// Returns the paths of all files in the branch of the task with this number.
    pub(crate) fn files_of(&self, number: u32) -> String {
        self.shell(&format!(
            "git ls-tree -r --name-only $(git branch --list 'handover/{number}-*' --format='%(refname)')"
        ))
    }
}

/// Waits until a `handover` command ends, and returns its exit code and everything that it printed.
pub(crate) fn read(child: &mut Child) -> RunText {
    use std::io::Read as _;

    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        err.read_to_string(&mut text).unwrap();
        text
    });
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    text.push_str(&errors.join().unwrap());
    RunText { code: child.wait().unwrap().code(), text }
}
