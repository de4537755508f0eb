//! A test project with a repository, a team of agents and a plan, on which the real program works.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::terminal::Terminal;

pub(crate) struct Scene {
    folder: TempDir,
    /// The text of the settings file. Each added agent appends to it.
    pub(crate) settings: String,
    /// Environment variables for `handover` in addition to `PATH`, `HOME` and `XDG_DATA_HOME`.
    pub(crate) environment: Vec<(&'static str, String)>,
}

/// The exit code, the events and the standard error of a run of `handover run`.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) events: Vec<Value>,
    pub(crate) stderr: String,
}

/// The maximum number of tries of a git call that fails because the registration of a worktree is half written. Each
/// try takes some milliseconds.
const HALF_WRITTEN_TRIES_MAX: usize = 200;

pub(crate) fn program(path: impl AsRef<Path>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a test starts our program and git")]
    Command::new(path.as_ref())
}

impl Scene {
    pub(crate) fn new() -> Self {
        let scene = Self { folder: TempDir::new().unwrap(), settings: String::new(), environment: Vec::new() };
        for folder in ["project", "sim", "data", "home"] {
            fs::create_dir(scene.folder.path().join(folder)).unwrap();
        }
        scene.git(&["init", "--quiet", "--initial-branch=main"]);
        fs::write(scene.project().join("README.md"), "a project\n").unwrap();
        scene.git(&["add", "README.md"]);
        scene.git(&["commit", "--quiet", "-m", "start"]);
        scene
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    /// Returns the folder in which the scripts that act as agents count their runs and save their prompts.
    pub(crate) fn sim(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("sim")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let run = || {
            let mut command = program("git");
            command.current_dir(self.project()).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
            command.args(arguments).output().unwrap()
        };
        // Git fails when it meets the registration of a worktree that a git process of the runner is writing at that
        // moment. The registration is complete a moment later.
        let is_half_written = |output: &std::process::Output| {
            String::from_utf8_lossy(&output.stderr).contains("failed to read .git/worktrees")
        };
        let tries = std::iter::repeat_with(run).take(HALF_WRITTEN_TRIES_MAX);
        let output = tries.into_iter().find(|output| !is_half_written(output)).unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Adds an agent to the settings. Its program is the script `agent.sh`.
    pub(crate) fn agent(&mut self, slug: &str, more: &str) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runner/agent.sh");
        self.settings.push_str(&format!(
            "\n[[agent]]\nslug = \"{slug}\"\nadapter = \"exec\"\npersona = \"You are {slug}.\"\ncommand = [\"{}\"]\n\
             env = {{ SIM = \"{}\", HANDOVER = \"{}\" }}\n{more}\n",
            script.display(),
            self.sim().display(),
            env!("CARGO_BIN_EXE_handover"),
        ));
    }

    /// Adds an agent whose program is a shell script with this text. The script gets the goal of its task as plain
    /// text, and answers in plain text.
    pub(crate) fn plain(&mut self, slug: &str, text: &str, more: &str) {
        let script = self.sim().join(format!("{slug}.sh"));
        fs::write(&script, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        self.settings.push_str(&format!(
            "\n[[agent]]\nslug = \"{slug}\"\nadapter = \"exec\"\noutput = \"plain\"\npersona = \"You are {slug}.\"\n\
             command = [\"{}\"]\nenv = {{ SIM = \"{}\" }}\n{more}\n",
            script.display(),
            self.sim().display(),
        ));
    }

    /// Adds a reviewer that runs the script `reviewer.sh`. At each start the script behaves as the next word in `words`
    /// says.
    pub(crate) fn reviewer(&mut self, slug: &str, words: &str, more: &str) {
        self.program("reviewer.sh", slug, words, more);
    }

    /// Adds an agent that both works on tasks and reviews the work of others.
    pub(crate) fn both(&mut self, slug: &str, words: &str, more: &str) {
        self.program("both.sh", slug, words, more);
    }

    fn program(&mut self, script: &str, slug: &str, words: &str, more: &str) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runner").join(script);
        self.settings.push_str(&format!(
            "\n[[agent]]\nslug = \"{slug}\"\nadapter = \"exec\"\npersona = \"You are {slug}.\"\ncommand = [\"{}\"]\n\
             env = {{ SIM = \"{}\", HANDOVER = \"{}\", NAME = \"{slug}\", WORDS = \"{words}\" }}\n{more}\n",
            script.display(),
            self.sim().display(),
            env!("CARGO_BIN_EXE_handover"),
        ));
    }

    /// Returns the command that runs `handover` in the project, without the environment of the user who runs the tests.
    pub(crate) fn handover(&self, arguments: &[&str]) -> Command {
        let mut command = program(env!("CARGO_BIN_EXE_handover"));
        command.current_dir(self.project()).args(arguments).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.folder.path().join("home")).env("XDG_DATA_HOME", self.folder.path().join("data"));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn ask(&self, arguments: &[&str]) -> Output {
        self.handover(arguments).output().unwrap()
    }

    /// Runs a command of `handover` and returns its reply or its refusal as JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        Self::reply(arguments, self.ask(&[arguments, &["--json"]].concat()))
    }

    /// Runs a command of `handover` as a person at a terminal, and returns its reply as JSON.
    pub(crate) fn decide(&self, arguments: &[&str]) -> Value {
        let terminal = Terminal::new();
        let mut command = self.handover(&[arguments, &["--json"]].concat());
        terminal.seat(&mut command);
        Self::reply(arguments, command.output().unwrap())
    }

    fn reply(arguments: &[&str], output: Output) -> Value {
        let is_refused = output.status.code() == Some(1) && output.stdout.is_empty();
        let text = String::from_utf8(if is_refused { output.stderr } else { output.stdout }).unwrap();
        let said: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"));
        if is_refused { said["error"].clone() } else { said }
    }

    /// Writes the settings file and accepts it as a person does.
    pub(crate) fn settle(&self) {
        let folder = self.project().join(".handover");
        fs::create_dir_all(folder.join("state")).unwrap();
        fs::write(folder.join("state/.gitignore"), "*\n").unwrap();
        fs::write(folder.join("config.toml"), &self.settings).unwrap();
        let offered = self.json(&["trust"]);
        let hash = offered["sha256"].as_str().unwrap();
        let accepted = self.ask(&["trust", "--sha256", hash]);
        assert!(accepted.status.success(), "{}", String::from_utf8_lossy(&accepted.stderr));
    }

    pub(crate) fn plan(&self, text: &str) -> PathBuf {
        let path = self.sim().join("plan.yaml");
        fs::write(&path, text).unwrap();
        path
    }

    /// Runs `handover run` until it ends.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.ask(&[&["run", "--json"], arguments].concat());
        ran(output)
    }

    pub(crate) fn run_plan(&self, text: &str) -> Ran {
        let path = self.plan(text);
        self.run(&["--plan", path.to_str().unwrap()])
    }

    /// Returns the branch into which the work of a workflow is merged.
    pub(crate) fn plan_branch(&self, workflow: &str) -> String {
        let found = self.json(&["workflow", "check-merge", workflow]);
        found["workflow_branch"].as_str().unwrap_or_else(|| panic!("{workflow} has no branch: {found}")).to_owned()
    }

    /// Returns the paths of all worktrees of the project's repository but the main one.
    pub(crate) fn worktrees(&self) -> Vec<PathBuf> {
        let listed = self.git(&["worktree", "list", "--porcelain"]);
        listed.lines().filter_map(|line| line.strip_prefix("worktree ")).skip(1).map(PathBuf::from).collect()
    }

    /// Returns the folders of all slots (worktrees that one task after another uses). Reads the folders without git,
    /// because git fails while a runner makes a worktree.
    pub(crate) fn slot_folders(&self) -> Vec<PathBuf> {
        let inside = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let pools = inside(self.folder.path().join("data/handover/worktrees"));
        pools.flat_map(inside).filter(|path| path.is_dir()).collect()
    }

    /// Deletes all slots (worktrees that one task after another uses), so that the next run has to make a slot.
    pub(crate) fn delete_slots(&self) {
        for path in self.worktrees() {
            self.git(&["worktree", "remove", "--force", path.to_str().unwrap()]);
            fs::remove_file(path.with_extension("json")).unwrap();
        }
    }

    /// Returns the worktrees, processes and folders of turns (runs of agents' programs) that `handover run` should have
    /// removed but left behind. A slot (a worktree that one task after another uses) may stay when it is free.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let mut found = Vec::new();
        found.extend(self.worktrees().iter().filter_map(|path| used_slot(path)));
        let turns = fs::read_dir(self.project().join(".handover/state/turns"));
        found.extend(turns.into_iter().flatten().map(|entry| entry.unwrap().path().display().to_string()));
        let mark = format!("SIM={}", self.sim().display());
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|item| item == mark.as_bytes()) {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found.push(format!("process {:?}: {}", entry.file_name(), String::from_utf8_lossy(&line)));
            }
        }
        found
    }
}

/// Returns a text that describes a worktree that is no free slot, or `None` for a free slot. A slot is a worktree that
/// one task after another uses. A free slot belongs to no task and has no branch checked out.
fn used_slot(path: &Path) -> Option<String> {
    let is_slot = path.parent().and_then(Path::parent).is_some_and(|above| above.ends_with("handover/worktrees"));
    if !is_slot {
        return Some(format!("worktree {} is no slot", path.display()));
    }
    let record = fs::read_to_string(path.with_extension("json")).unwrap_or_default();
    if !record.contains(r#""state":"free""#) {
        return Some(format!("slot {}: {record}", path.display()));
    }
    let head = fs::read_to_string(path.join(".git")).unwrap_or_default();
    let folder = head.trim_end().strip_prefix("gitdir: ").map(Path::new);
    let head = folder.and_then(|folder| fs::read_to_string(folder.join("HEAD")).ok()).unwrap_or_default();
    (head.is_empty() || head.starts_with("ref:")).then(|| format!("slot {} has {head:?} checked out", path.display()))
}

pub(crate) fn ran(output: Output) -> Ran {
    let text = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let event = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}\n{stderr}"));
    Ran { code: output.status.code().unwrap_or(-1), events: text.lines().map(event).collect(), stderr }
}

impl Ran {
    /// Returns the events of a task as words in one text. Some words have a detail, such as `claimed(2)` for the second
    /// claim.
    pub(crate) fn story(&self, task: &str) -> String {
        let of_task = self.events.iter().filter(|event| event["task"] == task);
        let word = |event: &Value| {
            let name = event["event"].as_str().unwrap_or_default();
            Some(match name {
                "turn_started" => event["purpose"].as_str()?.to_owned(),
                "turn_ended" if event["end"] == "finished" => match event["verdict"]["says"].as_str() {
                    Some(says) => says.to_owned(),
                    None if event["verdict"].is_null() => "heard".to_owned(),
                    None => format!("bad({})", event["verdict"]["codes"][0].as_str().unwrap_or_default()),
                },
                "turn_ended" => event["end"].as_str()?.to_owned(),
                // Both events mean that the output was accepted: a check passed, or no check could judge it.
                "checked" | "unchecked" => "verified".to_owned(),
                "check_failed" | "rejected" => "unverified".to_owned(),
                "blocked" => format!("blocked({})", event["blocker_type"].as_str().unwrap_or_default()),
                "claimed" if event["attempt"] == 1 => return None,
                "claimed" => format!("claimed({})", event["attempt"]),
                "tool_call" | "checking" | "warning" | "finished" | "setup" => return None,
                other => other.to_owned(),
            })
        };
        of_task.filter_map(word).collect::<Vec<_>>().join(" ")
    }
}
