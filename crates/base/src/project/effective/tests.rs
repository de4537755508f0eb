//! Tests a project without settings files: which values apply, and which values a person accepts.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::*;
use crate::project::settings::team::AgentWork;
use crate::project::settings::{SettingSource, Settings};
use crate::project::trust::{self, TrustView, Untrusted};

/// A temporary folder with a clone of a repository, a folder with installed programs, and the data folder of a user.
struct TestMachine {
    folder: tempfile::TempDir,
}

impl TestMachine {
    /// Makes a test machine whose clone has these files.
    fn new(files: &[(&str, &str)]) -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(machine.root()).unwrap();
        std::fs::create_dir_all(machine.folder.path().join("bin")).unwrap();
        for (name, text) in files {
            machine.write(name, text);
        }
        machine
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("clone")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn install(&self, program: &str) {
        let path = self.folder.path().join("bin").join(program);
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn found(&self) -> DetectedDefaults {
        let path = self.folder.path().join("bin").into_os_string();
        find(&self.root(), MachineFacts { path: Some(&path), cores: 8 })
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn view(&self) -> TrustView {
        trust::view_with(&self.root(), Some(&self.data()), &self.found()).unwrap()
    }

    fn accept(&self) {
        trust::accept(&self.data(), &self.view()).unwrap();
    }

    fn require(&self) -> Result<Settings, Untrusted> {
        trust::require_with(&self.root(), Some(&self.data()), &self.found()).map(|view| view.settings)
    }
}

const PACKAGE: &str = r#"{"scripts": {"test": "node --test"}}"#;

fn commands(settings: &Settings) -> Vec<String> {
    let agents = settings.team.agents.iter().map(|agent| format!("agent {}", agent.slug));
    let setup = settings.team.worktree.setup.iter().map(|setup| format!("setup {}", setup.command.join(" ")));
    let checks = settings.team.verify.checks.iter().map(|check| format!("check {}", check.command.join(" ")));
    agents.chain(setup).chain(checks).collect()
}

#[test]
fn a_project_without_files_has_the_installed_clients_and_the_detected_commands() {
    let machine = TestMachine::new(&[
        ("package.json", PACKAGE),
        ("package-lock.json", "{}"),
        (".worktreeinclude", "# c\n.env\n"),
    ]);
    machine.install("claude");
    machine.install("goose");
    assert!(matches!(machine.require(), Err(Untrusted::Never { .. })), "the defaults are asked for, too");
    let lines = machine.view().list.lines();
    for line in [
        "agent claude: claude (installed here)",
        "agent goose: goose acp (installed here)",
        "setup: npm ci --prefer-offline (found in the project)",
        "check: npm test (found in the project)",
        "copy: .env (from .worktreeinclude)",
    ] {
        assert!(lines.iter().any(|shown| shown == line), "{line}: {lines:#?}");
    }
    machine.accept();
    let settings = machine.require().unwrap();
    assert_eq!(commands(&settings), ["agent claude", "agent goose", "setup npm ci --prefer-offline", "check npm test"]);
    let team = &settings.team;
    assert_eq!(team.worktree.copy, [".env"]);
    let sources =
        [team.worktree.setup_source, team.verify.checks_source, team.worktree.copy_source, team.agents[0].source];
    assert_eq!(sources, [SettingSource::Detected; 4]);
    assert_eq!((team.agents[0].max_parallel, team.agents[0].work(false)), (3, AgentWork::AnyTask));
    // Commands that detect nothing themselves, such as hooks, use the values that a person accepted.
    let known = trust::require(&machine.root(), Some(&machine.data())).unwrap();
    assert_eq!(commands(&known.settings), commands(&settings));
}

#[test]
fn values_of_a_file_replace_detected_values_one_by_one() {
    let rows = [
        (
            "[verify]\nchecks = [{ command = [\"make\"] }]\n",
            vec!["agent claude", "setup npm ci --prefer-offline", "check make"],
        ),
        ("[verify]\nchecks = []\n[worktree]\nsetup = []\n", vec!["agent claude"]),
        ("[verify]\nretries = 0\n", vec!["agent claude", "setup npm ci --prefer-offline", "check npm test"]),
        (
            "[[agent]]\nslug = \"bot\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n",
            vec!["agent bot", "setup npm ci --prefer-offline", "check npm test"],
        ),
        ("[evaluator]\nagent = \"claude\"\n", vec!["agent claude", "setup npm ci --prefer-offline", "check npm test"]),
    ];
    for (text, expected) in rows {
        for file in [".handover/config.toml", ".handover/local.toml"] {
            let machine = TestMachine::new(&[("package.json", PACKAGE), ("package-lock.json", "{}"), (file, text)]);
            machine.install("claude");
            machine.accept();
            assert_eq!(commands(&machine.require().unwrap()), expected, "{file}: {text}");
        }
    }
}

#[test]
fn an_accepted_command_stays_in_force_when_another_one_is_detected() {
    let machine = TestMachine::new(&[("package.json", PACKAGE)]);
    machine.install("claude");
    machine.accept();
    machine.write("pnpm-lock.yaml", "");
    machine.install("codex");
    let view = machine.view();
    let waiting = view.waiting();
    for line in [
        "+ check: pnpm test (found in the project)",
        "- check: npm test (found in the project)",
        "+ agent codex: codex (installed here)",
    ] {
        assert!(waiting.iter().any(|shown| shown == line), "{line}: {waiting:#?}");
    }
    assert!(view.notice().is_some() && !view.is_trusted());
    assert_eq!(commands(&machine.require().unwrap()), ["agent claude", "setup npm install", "check npm test"]);
    machine.accept();
    assert_eq!(
        commands(&machine.require().unwrap()),
        ["agent claude", "agent codex", "setup pnpm install --frozen-lockfile --prefer-offline", "check pnpm test"]
    );
}

#[test]
fn a_new_command_of_a_file_stops_a_run_until_it_is_accepted() {
    let machine = TestMachine::new(&[("package.json", PACKAGE)]);
    machine.install("claude");
    machine.accept();
    machine.write(".handover/local.toml", "[verify]\nchecks = [{ command = [\"make\"] }]\n");
    let refused = machine.require().unwrap_err().to_string();
    assert!(refused.contains("+ check: make"), "{refused}");
    machine.write(".handover/local.toml", "[limits]\nusd = 1.0\n");
    assert_eq!(machine.require().unwrap().team.limits.usd, Some(1.0), "a lower limit is in force at once");
}

#[test]
fn the_first_client_that_is_installed_later_must_be_accepted_before_a_run() {
    let machine = TestMachine::new(&[("package.json", PACKAGE)]);
    machine.accept();
    machine.install("claude");
    let refused = machine.require().unwrap_err().to_string();
    assert!(refused.contains("+ agent claude: claude (installed here)"), "{refused}");
}

/// A person is not asked again when a detected value, which the person already accepted, is written into a settings
/// file.
#[test]
fn detected_values_that_move_into_a_file_are_not_asked_for_again() {
    let machine = TestMachine::new(&[("package.json", PACKAGE)]);
    machine.install("claude");
    machine.accept();
    machine.write(".handover/config.toml", "[verify]\nchecks = [{ command = [\"npm\", \"test\"] }]\n");
    machine.write(
        ".handover/local.toml",
        "[[agent]]\nslug = \"claude\"\nadapter = \"claude\"\ncommand = [\"claude\"]\nmax_parallel = 3\n",
    );
    assert_eq!(machine.view().changes, []);
}

#[test]
fn a_machine_with_few_cores_runs_one_turn_at_once() {
    let machine = TestMachine::new(&[]);
    machine.install("claude");
    let path = machine.folder.path().join("bin").into_os_string();
    for (cores, expected) in [(1, 1), (3, 1), (4, 3), (64, 3)] {
        let found = agents(MachineFacts { path: Some(&path), cores });
        assert_eq!(found[0].max_parallel, expected, "{cores} cores");
    }
    assert_eq!(agents(MachineFacts { path: Some(OsStr::new("")), cores: 4 }), []);
    assert_eq!(agents(MachineFacts { path: None, cores: 4 }), []);
}

#[test]
fn a_mistake_in_the_personal_file_is_told_with_its_file_and_line() {
    let agent = "[[agent]]\nslug = \"a\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n";
    let rows = [
        ("", "[limits]\nudd = 1\n", "local.toml: line 2: there is no key `udd`; did you mean `usd`?"),
        (
            agent,
            "[[agent]]\nslug = \"a\"\nmodle = \"x\"\n",
            "local.toml: line 3: there is no key `modle`; did you mean `model`?",
        ),
        (agent, "[[agent]]\nslug = \"b\"\n", "local.toml: missing field `adapter`"),
        (agent, "[[agent]]\nslug = \"a\"\nmax_parallel = 0\n", "local.toml: agent a: max_parallel is 0"),
        ("[verify]\nretries = 99\n", "[limits]\nusd = 1.0\n", "config.toml: verify.retries: must be 0 to 10"),
    ];
    for (config, local, told) in rows {
        let machine = TestMachine::new(&[(".handover/config.toml", config), (".handover/local.toml", local)]);
        let problem = trust::view(&machine.root(), Some(&machine.data())).unwrap_err().to_string();
        assert!(problem.contains(told), "{local}\n{problem}");
    }
}
