//! A temporary folder for each test, with a git repository and a store in it, in which the program runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::terminal::{Terminal, unmark};

/// A temporary folder with a repository. Dropping the value deletes the folder with its content.
#[derive(Debug)]
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// The exit code and the output of a `handover` command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    /// Creates a repository with one commit.
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(place.root()).unwrap();
        place.git(&["init", "-q", "-b", "main"]);
        place.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        place
    }

    /// Returns the path of the repository.
    pub(crate) fn root(&self) -> PathBuf {
        self.outside().join("project")
    }

    /// Returns the folder around the repository. The program must never write its own files there.
    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.root().join(".handover/state")
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let fixed = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"];
        let ran = Command::new("git").current_dir(self.root()).args(fixed).args(arguments).output().unwrap();
        assert!(ran.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    /// Returns the command that runs `handover` in the repository, without the environment of the user who runs the
    /// tests.
    pub(crate) fn program(&self) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_handover"));
        self.surround(&mut program);
        program
    }

    /// Returns the command that runs another program in the repository, with the environment that `handover` gets.
    pub(crate) fn program_of(&self, path: &Path) -> Command {
        let mut program = Command::new(path);
        self.surround(&mut program);
        program
    }

    /// Returns the command that runs `handover` after a shell command such as `ulimit`.
    pub(crate) fn program_after(&self, command: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{command}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_handover")]);
        self.surround(&mut shell);
        shell
    }

    fn surround(&self, program: &mut Command) {
        program.current_dir(self.root()).env_remove("HANDOVER_STORE");
        program.env("HOME", self.outside()).env("XDG_DATA_HOME", self.outside().join("data"));
        program.stdin(Stdio::null());
        unmark(program);
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.program().args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs `handover` as a person at a terminal.
    pub(crate) fn decide(&self, arguments: &[&str]) -> Ran {
        let terminal = Terminal::new();
        let mut program = self.program();
        terminal.seat(&mut program);
        let output = program.args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Creates a token as a person at a terminal, and returns its id and its secret.
    pub(crate) fn token(&self, words: &[&str]) -> (String, String) {
        let ran = self.decide(&[&["token", "create", "--json"], words].concat());
        assert_eq!(ran.code, Some(0), "{words:?}: {}{}", ran.out, ran.err);
        let made: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let word = |name: &str| made[name].as_str().unwrap().to_owned();
        (word("id"), word("token"))
    }

    /// Writes a setting that makes clients named `siege` coordinators, which may act on tasks of other agents. The
    /// setting has no effect until a person accepts it.
    pub(crate) fn name_coordinator(&self) {
        std::fs::create_dir_all(self.root().join(".handover")).unwrap();
        std::fs::write(self.root().join(".handover/config.toml"), "[mcp]\ncoordinators = [\"siege\"]\n").unwrap();
    }

    /// Lets clients named `siege` be coordinators, which may act on tasks of other agents: writes the setting and
    /// accepts it.
    pub(crate) fn allow_coordinator(&self) {
        self.name_coordinator();
        let hash = self.json(&["trust", "--json"])["sha256"].as_str().unwrap().to_owned();
        let ran = self.run(&["trust", "--sha256", &hash]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    }

    /// Runs a command that must succeed, and returns its output as JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}{}", ran.out, ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Returns all rows of the store without the times at which agents were last seen, because every call of an agent
    /// updates these times.
    pub(crate) fn export(&self) -> Vec<serde_json::Value> {
        let ran = self.run(&["export"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let rows = ran.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        rows.filter(|row| row.get("t").is_some()).map(without_signs_of_life).collect()
    }

    /// Returns the paths of all files and folders below a folder, sorted.
    pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                found.push(entry.path());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        found.sort();
        found
    }
}

/// Clears the columns of an agent's row that every call of the agent changes: its connection, when it was last seen,
/// and when the row was changed.
fn without_signs_of_life(mut row: serde_json::Value) -> serde_json::Value {
    if row["t"] == "agent" {
        for column in [9, 10, 13] {
            row["v"][column] = serde_json::Value::Null;
        }
    }
    row
}
