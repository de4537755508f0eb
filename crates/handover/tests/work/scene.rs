//! Creates a repository with a store, tasks and finished work, in which the tests run the real program.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use base::people::task_choice::{TaskChoice, find_task};
use engine::command::{Register, Target};
use engine::delivery::{CheckOutcome, DeliveredWork, DeliveryReport, UncheckedReason};
use engine::id::{AgentId, TaskId};
use engine::task::{BlockKind, Task};
use engine::{Caller, Command as StoreCommand, Reply, Rights};
use handover::office::{self, Office};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

pub(crate) struct WorkScene {
    folder: TempDir,
    /// The URL of the store. `None` means the file in the project.
    store: Option<String>,
    runtime: tokio::runtime::Runtime,
}

/// The exit code and the output of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommandSaid {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

fn program(path: impl AsRef<Path>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a test starts our program and git")]
    Command::new(path.as_ref())
}

/// Returns the result of a check that passed.
pub(crate) fn passed() -> CheckOutcome {
    CheckOutcome::Checked { command: "npm test".to_owned(), ms: 6_500 }
}

pub(crate) fn unchecked() -> CheckOutcome {
    CheckOutcome::Unchecked { why: UncheckedReason::NoCheck }
}

impl WorkScene {
    pub(crate) fn new() -> Self {
        Self::on(None)
    }

    /// Creates a project whose store has this URL.
    pub(crate) fn on(store: Option<String>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let scene = Self { folder: TempDir::new().unwrap(), store, runtime };
        for folder in ["project", "data", "home", "bin"] {
            fs::create_dir(scene.folder.path().join(folder)).unwrap();
        }
        scene.git(&["init", "--quiet", "--initial-branch=main"]);
        scene.git(&["config", "user.name", "Ann"]);
        scene.git(&["config", "user.email", "ann@example.org"]);
        scene.write("README.md", "a project\n");
        scene.write("src/login.js", "one\ntwo\nthree\n");
        scene.commit("start");
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.project().join(name)).ok()
    }

    /// Commits all files of the project except those in `.handover`.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--", ".", ":!.handover"]);
        self.git(&["commit", "--quiet", "-m", message]);
        self.tip("main")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.project(), arguments)
    }

    pub(crate) fn git_in(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = program("git").current_dir(folder).args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    pub(crate) fn tip(&self, branch: &str) -> String {
        self.git(&["rev-parse", branch])
    }

    /// Writes the settings file, and accepts the settings as a person does.
    pub(crate) fn settings(&self, text: &str) {
        let folder = self.project().join(".handover");
        fs::create_dir_all(folder.join("state")).unwrap();
        fs::write(folder.join("state/.gitignore"), "*\n").unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
        let offered = self.ask(&["trust", "--json"]);
        let offered: serde_json::Value = serde_json::from_str(&offered.out).unwrap();
        let accepted = self.ask(&["trust", "--sha256", offered["sha256"].as_str().unwrap()]);
        assert_eq!(accepted.code, 0, "{accepted:?}");
    }

    /// Returns the command that runs `handover` in the project, without the environment of the user who runs the tests.
    pub(crate) fn handover(&self, arguments: &[&str]) -> Command {
        let mut command = program(env!("CARGO_BIN_EXE_handover"));
        command.current_dir(self.project()).args(arguments).env_clear();
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command.env("HOME", self.path("home")).env("XDG_DATA_HOME", self.path("data"));
        command.envs(self.store.as_ref().map(|store| ("HANDOVER_STORE", store)));
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn ask(&self, arguments: &[&str]) -> CommandSaid {
        command_said(self.handover(arguments).output().unwrap())
    }

    /// Runs a command that must succeed, and returns its standard output.
    pub(crate) fn out(&self, arguments: &[&str]) -> String {
        let said = self.ask(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
        said.out
    }

    /// Runs a command as a person at a terminal who types `typed`. Questions and typed letters appear on the terminal,
    /// so `err` has the text that the person sees there.
    pub(crate) fn at_terminal(&self, arguments: &[&str], typed: &str) -> CommandSaid {
        self.at_terminal_with(arguments, typed, &[])
    }

    /// Runs a command at a terminal, with further environment variables.
    pub(crate) fn at_terminal_with(
        &self,
        arguments: &[&str],
        typed: &str,
        environment: &[(&str, &str)],
    ) -> CommandSaid {
        let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&outer).unwrap();
        unlockpt(&outer).unwrap();
        let name = ptsname(&outer, Vec::new()).unwrap();
        let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
        let mut options = fs::File::options();
        let inner = options.read(true).write(true).custom_flags(flags).open(name.to_str().unwrap()).unwrap();
        let mut outer = fs::File::from(outer);
        outer.write_all(typed.as_bytes()).unwrap();
        let mut command = self.handover(arguments);
        command.envs(environment.iter().copied());
        command.stdin(inner.try_clone().unwrap()).stderr(inner.try_clone().unwrap());
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        drop((command, inner));
        let mut seen = Vec::new();
        // The read ends with an error when no program has the terminal open any more.
        let _end = outer.read_to_end(&mut seen);
        let err = String::from_utf8_lossy(&seen).replace("\r\n", "\n");
        CommandSaid { err, ..command_said(output) }
    }

    /// Puts a program into a folder that comes first in the search path of `handover`.
    pub(crate) fn install(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn office(&self) -> Office {
        // Open the store, which the first command of a test has created.
        self.runtime.block_on(office::open_from(self.store.as_deref(), Some(&self.project()))).unwrap()
    }

    pub(crate) fn task(&self, named: &str) -> Task {
        let office = self.office();
        match self.runtime.block_on(find_task(office.desk.service(), named)).unwrap() {
            TaskChoice::One(task) => task,
            other @ (TaskChoice::Several(_) | TaskChoice::Nothing) => panic!("{named}: {other:?}"),
        }
    }

    /// Records as a runner does that the work of a whole plan waits for a person.
    pub(crate) fn deliver_plan(&self, named: &str, base: &str, files: &[(&str, &str)]) -> (String, DeliveredWork) {
        let plan = self.task(named).workflow;
        let work = self.work(named, base, files);
        let deliver = StoreCommand::DeliverWorkflow { workflow: plan, check: passed(), work: Box::new(work.clone()) };
        self.execute(Caller::with_rights(Rights::Runner), deliver);
        (plan.to_string(), work)
    }

    fn execute(&self, caller: Caller, command: StoreCommand) -> Reply {
        let office = self.office();
        self.runtime.block_on(office.desk.service().execute(caller, command)).unwrap()
    }

    /// Registers an agent as a runner does, and lets the agent claim a task.
    pub(crate) fn claim(&self, named: &str) -> (AgentId, TaskId) {
        let task = self.task(named).id;
        let session = "se_0123456789ab".parse().ok();
        let runner = Caller { session, principal: Some("runner".to_owned()), ..Caller::with_rights(Rights::Runner) };
        let office = self.office();
        let known = self.runtime.block_on(office.desk.service().agent_by_slug("claude")).unwrap();
        let agent = known.unwrap_or_else(|| {
            let register = StoreCommand::Register(Register::named("claude", "handover-exec"));
            let Reply::Registered { agent, .. } = self.execute(runner, register) else { panic!("no agent") };
            agent
        });
        let caller = || Caller { session, rights: Rights::Runner, ..Caller::agent(agent) };
        self.execute(caller(), StoreCommand::Claim { task });
        let to = Target::InProgress { answer: None };
        self.execute(caller(), StoreCommand::Move { task, attempt: None, to });
        (agent, task)
    }

    pub(crate) fn as_agent(&self, agent: AgentId, command: StoreCommand) -> Reply {
        let session = "se_0123456789ab".parse().ok();
        self.execute(Caller { session, rights: Rights::Runner, ..Caller::agent(agent) }, command)
    }

    pub(crate) fn as_person(&self, command: StoreCommand) -> Reply {
        self.execute(Caller::with_rights(Rights::Person), command)
    }

    /// Completes a task as a runner does: makes a branch with the given files, and records in the store that this work
    /// waits for a person.
    pub(crate) fn deliver(
        &self,
        named: &str,
        base: &str,
        files: &[(&str, &str)],
        check: CheckOutcome,
    ) -> DeliveredWork {
        let (agent, task) = self.claim(named);
        let work = self.work(named, base, files);
        let report = DeliveryReport { check, work: work.clone(), in_plan: None };
        let outcome = Some("Keeps ?next= through the form.".to_owned());
        let to = Target::Completed { outcome, detail: None, delivery: Some(Box::new(report)) };
        self.as_agent(agent, StoreCommand::Move { task, attempt: None, to });
        work
    }

    /// Blocks a task as a runner does when the check of the task's work failed.
    pub(crate) fn block(&self, named: &str) {
        let (agent, task) = self.claim(named);
        let to = Target::Blocked {
            kind: BlockKind::VerificationFail,
            reason: "npm test failed twice".to_owned(),
            role: None,
        };
        self.as_agent(agent, StoreCommand::Move { task, attempt: None, to });
    }

    /// Makes a branch for a task, with one commit that adds these files.
    fn work(&self, named: &str, base: &str, files: &[(&str, &str)]) -> DeliveredWork {
        let number = self.task(named).number;
        let branch = format!("handover/{number}-work");
        let folder = self.path(&format!("work-{number}"));
        self.git(&["worktree", "add", "--quiet", "-b", &branch, folder.to_str().unwrap(), base]);
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.git_in(&folder, &["add", "--all"]);
        self.git_in(&folder, &["commit", "--quiet", "-m", "work of an agent"]);
        self.git(&["worktree", "remove", "--force", folder.to_str().unwrap()]);
        let (commit, base) = (self.tip(&branch), self.tip(base));
        let tree = self.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
        let base_branch = Some("main".to_owned());
        let files = u32::try_from(files.len()).unwrap();
        DeliveredWork { branch, base_branch, base, commit, tree, files, added: 5, removed: 1, tries: 2 }
    }
}

pub(crate) fn command_said(output: Output) -> CommandSaid {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandSaid { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}
