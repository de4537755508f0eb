//! Tests how agent programs are asked for their login state. Small shell scripts take the place of these programs.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::project::detect::clients::{installed_clients, known_clients};

/// A temporary folder with a home folder and the scripts that take the place of agent programs.
struct ClientScene {
    folder: tempfile::TempDir,
}

impl ClientScene {
    fn new() -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(scene.home()).unwrap();
        std::fs::create_dir_all(scene.folder.path().join("bin")).unwrap();
        scene
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.home().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Installs a shell script that takes the place of an agent program.
    fn install(&self, name: &str, script: &str) {
        let path = self.folder.path().join("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    async fn ask(&self, variables: &[(&str, &str)]) -> Vec<String> {
        let path = self.folder.path().join("bin").into_os_string();
        let clients = installed_clients(&path, known_clients());
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect();
        let states = ask_clients(&clients, LoginPlace { home: &self.home(), variables: &variables }).await;
        let line = |(installed, state): (&InstalledClient, &ClientState)| {
            let login = match &state.login {
                LoginState::LoggedIn => "logged in".to_owned(),
                LoginState::NotLoggedIn { hint } => format!("not logged in ({hint})"),
                LoginState::Unknown => "unknown".to_owned(),
            };
            format!("{} {}: {login}", installed.client.name, state.version.as_deref().unwrap_or("-"))
        };
        clients.iter().zip(&states).map(line).collect()
    }
}

#[tokio::test]
async fn each_client_is_asked_in_its_own_way() {
    let rows = [
        (
            "claude",
            "case $1 in --version) echo '2.1.325 (Claude Code)';; auth) echo '{\"loggedIn\": true}';; esac",
            "2.1.325: logged in",
        ),
        (
            "claude",
            "case $1 in --version) echo '2.1.325 (Claude Code)';; auth) echo '{\"loggedIn\": false}'; exit 1;; esac",
            "2.1.325: not logged in (claude auth login)",
        ),
        (
            "claude",
            "case $1 in --version) echo '2.1.325 (Claude Code)';; *) echo 'unknown command' >&2; exit 1;; esac",
            "2.1.325: unknown",
        ),
        (
            "codex",
            "case $1 in --version) echo codex-cli 0.166.0;; login) echo 'Logged in using ChatGPT' >&2;; esac",
            "0.166.0: logged in",
        ),
        (
            "codex",
            "case $1 in --version) echo codex-cli 0.166.0;; login) echo 'Not logged in' >&2; exit 1;; esac",
            "0.166.0: not logged in (codex login)",
        ),
        (
            "codex",
            "case $1 in --version) echo codex-cli 0.166.0;; login) echo 'error: auth store' >&2; exit 1;; esac",
            "0.166.0: unknown",
        ),
        ("gemini", "echo 0.61.0", "0.61.0: unknown"),
        ("goose", "echo ' 1.34.0'", "1.34.0: unknown"),
        ("goose", "echo broken; exit 1", "-: unknown"),
    ];
    for (name, script, expected) in rows {
        let scene = ClientScene::new();
        scene.install(name, script);
        assert_eq!(scene.ask(&[]).await, [format!("{name} {expected}")], "{script}");
    }
}

/// A program that does not know the arguments with which Handover asks for its login state could take them for a
/// prompt, which costs money.
#[tokio::test]
async fn a_version_that_may_not_know_the_question_is_not_asked() {
    let scene = ClientScene::new();
    let said = scene.folder.path().join("asked");
    let script = format!("case $1 in --version) echo '1.0.5 (Claude Code)';; *) echo $@ >> {};; esac", said.display());
    scene.install("claude", &script);
    assert_eq!(scene.ask(&[]).await, ["claude 1.0.5: unknown"]);
    assert!(!said.exists(), "only the version was asked");
}

#[tokio::test]
async fn variables_and_files_show_a_login() {
    let scene = ClientScene::new();
    for name in ["claude", "opencode", "gemini", "copilot", "qwen"] {
        scene.install(name, "echo 0.1.2");
    }
    let all = |state: [&str; 5]| {
        let names = ["claude", "opencode", "gemini", "copilot", "qwen"];
        names.iter().zip(state).map(|(name, state)| format!("{name} 0.1.2: {state}")).collect::<Vec<_>>()
    };
    assert_eq!(scene.ask(&[]).await, all(["unknown"; 5]));
    let keys = [("ANTHROPIC_API_KEY", "x"), ("GEMINI_API_KEY", "x"), ("GH_TOKEN", "x"), ("OPENAI_API_KEY", "x")];
    assert_eq!(scene.ask(&keys).await, all(["logged in", "unknown", "logged in", "logged in", "logged in"]));
    scene.write(".claude/.credentials.json", "{\"claudeAiOauth\": {}}");
    scene.write(".local/share/opencode/auth.json", "{}");
    scene.write(".gemini/oauth_creds.json", "{\"a\": 1}");
    assert_eq!(scene.ask(&[]).await, all(["logged in", "unknown", "logged in", "unknown", "unknown"]));
    scene.write(".local/share/opencode/auth.json", "{\"anthropic\": {}}");
    let moved = [("CLAUDE_CONFIG_DIR", "/no/such/folder")];
    assert_eq!(scene.ask(&moved).await, all(["unknown", "logged in", "logged in", "unknown", "unknown"]));
}

/// All agent programs together take no longer than the slowest one needs for its two answers. A program that never ends
/// is killed with everything that it started.
#[tokio::test]
async fn clients_that_do_not_answer_are_ended() {
    let scene = ClientScene::new();
    for name in ["claude", "codex", "goose"] {
        scene.install(name, "sleep 1000 & echo $! >> \"$HOME/started\"; wait");
    }
    let answers = tokio::time::timeout(PATIENCE * 3, scene.ask(&[])).await.unwrap();
    assert_eq!(answers, ["claude -: unknown", "codex -: unknown", "goose -: unknown"]);
    let started = std::fs::read_to_string(scene.home().join("started")).unwrap();
    assert_eq!(started.lines().count(), 3);
    let lives = |id: &str| {
        let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    };
    // Wait until the killed processes have ended, which takes a moment.
    let all_ended = async {
        while started.lines().any(lives) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, all_ended).await.unwrap();
}

#[test]
fn every_question_of_the_table_has_a_hint() {
    for client in known_clients() {
        let rule = &client.login;
        assert!(*rule == LoginRule::default() || !rule.hint.is_empty(), "{}", client.name);
        assert!(rule.ask.is_empty() || rule.since != [0; 3], "{}", client.name);
    }
}
