//! A folder of its own for each test: a git repository with a store in it, and the program run there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::terminal::{Terminal, unmark};

/// Removed at the end, with everything in it.
#[derive(Debug)]
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// How a command ended and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    /// A repository with one commit.
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(place.root()).unwrap();
        place.git(&["init", "-q", "-b", "main"]);
        place.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        place
    }

    /// The repository.
    pub(crate) fn root(&self) -> PathBuf {
        self.outside().join("project")
    }

    /// The folder around the repository: nothing of ours may ever be written there.
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

    /// The program, in the repository, with nothing of this machine in its surroundings.
    pub(crate) fn program(&self) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_handover"));
        self.surround(&mut program);
        program
    }

    /// Another program in the same surroundings.
    pub(crate) fn program_of(&self, path: &Path) -> Command {
        let mut program = Command::new(path);
        self.surround(&mut program);
        program
    }

    /// The same after a command of the shell, such as a limit.
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

    /// Runs it as a person at a terminal.
    pub(crate) fn decide(&self, arguments: &[&str]) -> Ran {
        let terminal = Terminal::new();
        let mut program = self.program();
        terminal.seat(&mut program);
        let output = program.args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Makes a token as a person at a terminal: its id and its secret.
    pub(crate) fn token(&self, words: &[&str]) -> (String, String) {
        let ran = self.decide(&[&["token", "create", "--json"], words].concat());
        assert_eq!(ran.code, Some(0), "{words:?}: {}{}", ran.out, ran.err);
        let made: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let word = |name: &str| made[name].as_str().unwrap().to_owned();
        (word("id"), word("token"))
    }

    /// Names clients that call themselves `siege` as coordinators. Nobody has accepted it yet.
    pub(crate) fn name_coordinator(&self) {
        std::fs::create_dir_all(self.root().join(".handover")).unwrap();
        std::fs::write(self.root().join(".handover/config.toml"), "[mcp]\ncoordinators = [\"siege\"]\n").unwrap();
    }

    /// Lets clients that call themselves `siege` be coordinators.
    pub(crate) fn allow_coordinator(&self) {
        self.name_coordinator();
        let hash = self.json(&["trust", "--json"])["sha256"].as_str().unwrap().to_owned();
        let ran = self.run(&["trust", "--sha256", &hash]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    }

    /// Runs what must succeed; its JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}{}", ran.out, ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Everything in the store, except when agents were last seen: asking is a sign of life and changes nothing else.
    pub(crate) fn export(&self) -> Vec<serde_json::Value> {
        let ran = self.run(&["export"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let rows = ran.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        rows.filter(|row| row.get("t").is_some()).map(without_signs_of_life).collect()
    }

    /// Names of all files in a folder and below.
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

/// The columns of an agent that a sign of life moves: its connection, when it was seen, when the row was changed.
fn without_signs_of_life(mut row: serde_json::Value) -> serde_json::Value {
    if row["t"] == "agent" {
        for column in [9, 10, 13] {
            row["v"][column] = serde_json::Value::Null;
        }
    }
    row
}
