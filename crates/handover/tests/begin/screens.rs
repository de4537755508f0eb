//! Tests the screens of `handover init`. Each expected screen is a text file.

use std::fs;
use std::path::Path;

use crate::scene::{BeginScene, PersonAct};

const PACKAGE: &str = r#"{"name": "shop", "scripts": {"test": "node --test"}}"#;
const CARGO: &str = "[package]\nname = \"greet\"\nversion = \"0.1.0\"\n";
/// The script of a program that answers the questions about version and login as Claude Code does.
pub(crate) const CLAUDE: &str =
    r#"case "$1" in --version) echo "2.1.325 (Claude Code)";; auth) echo '{"loggedIn": true}';; *) exit 3;; esac"#;
const CODEX_LOGGED_OUT: &str =
    r#"case "$1" in --version) echo "codex-cli 0.98.0";; login) echo "Not logged in" >&2; exit 1;; *) exit 3;; esac"#;
const YES: PersonAct<'_> = PersonAct::Types { after: "[Y/n] ", text: "y\n" };

/// Compares a screen with its file. With `UPDATE=1` the file is written.
fn assert_screen(scene: &BeginScene, name: &str, shown: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/begin/screens").join(format!("{name}.txt"));
    let shown = scene.redacted(shown);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &shown).unwrap();
    }
    assert_eq!(shown, fs::read_to_string(&path).unwrap_or_default(), "{name}; UPDATE=1 writes the file");
}

/// Asserts the limits of every screen: at most 20 lines, and at most 80 columns in a line. Only the line about a
/// missing test command may be longer.
fn assert_bounds(shown: &str) {
    assert!(shown.lines().count() <= 20, "{} lines: {shown}", shown.lines().count());
    for line in shown.lines().filter(|line| !line.starts_with("No test command found")) {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

fn javascript() -> BeginScene {
    let files = [("package.json", PACKAGE), ("package-lock.json", "{}"), (".worktreeinclude", ".env\n")];
    let scene = BeginScene::new("shop", &files);
    scene.install("npm", "touch npm-ran; echo ran");
    scene
}

#[test]
fn javascript_with_claude() {
    let scene = javascript();
    scene.install("claude", CLAUDE);
    let said = scene.person("", &["init"], &[YES]);
    assert_eq!(said.code, 0, "{}", said.text);
    assert_bounds(&said.text);
    assert_screen(&scene, "javascript-with-claude", &said.text);
    assert_eq!(scene.own_files(), [".gitignore", "config.toml", "local.toml"]);
    let config = scene.read(".handover/config.toml").unwrap();
    assert!(config.lines().count() <= 20 && config.contains("npm"), "{config}");
    assert_eq!(scene.git(&["status", "--porcelain", "-uall"]), "?? .handover/.gitignore\n?? .handover/config.toml");
    assert!(!scene.project().join("npm-ran").exists(), "the trial does not touch this folder");

    let again = scene.person("", &["init"], &[]);
    assert_eq!(again.code, 0, "{}", again.text);
    assert_bounds(&again.text);
    assert_screen(&scene, "again", &again.text);
    assert_eq!(scene.read(".handover/config.toml").as_deref(), Some(config.as_str()));
}

#[test]
fn rust_without_an_agent() {
    let scene = BeginScene::new("greet", &[("Cargo.toml", CARGO), ("src/lib.rs", "")]);
    scene.install("cargo", "echo ok");
    let said = scene.person("", &["init"], &[YES]);
    assert_bounds(&said.text);
    assert_screen(&scene, "rust-without-an-agent", &said.text);
    assert_eq!((said.code, scene.own_files()), (0, vec![".gitignore".to_owned(), "config.toml".to_owned()]));
}

#[test]
fn check_that_fails_before_any_change() {
    let scene = BeginScene::new("greet", &[("Cargo.toml", CARGO), ("src/lib.rs", "")]);
    scene.install("cargo", "echo 'test result: FAILED. 41 passed; 1 failed'; exit 101");
    let said = scene.person("", &["init"], &[YES]);
    assert_eq!(said.code, 0, "{}", said.text);
    assert_bounds(&said.text);
    assert_screen(&scene, "check-fails", &said.text);
}

#[test]
fn setup_that_fails() {
    let scene = javascript();
    scene.install("claude", CLAUDE);
    scene.install("npm", "echo 'npm error: no such package' >&2; exit 1");
    let said = scene.person("", &["init"], &[YES]);
    assert_eq!(said.code, 0, "{}", said.text);
    assert_bounds(&said.text);
    assert_screen(&scene, "setup-fails", &said.text);
    assert!(scene.read(".handover/config.toml").is_some(), "the files are written anyway");
}

#[test]
fn no_check_found() {
    let scene = BeginScene::new("notes", &[("README.md", "# Notes\n")]);
    scene.install("claude", CLAUDE);
    let said = scene.person("", &["init"], &[YES]);
    assert_eq!(said.code, 0, "{}", said.text);
    assert_bounds(&said.text);
    assert_screen(&scene, "no-check", &said.text);
}

#[test]
fn subfolder_of_a_monorepo() {
    let files = [
        ("Makefile", "test:\n\tcargo test\n.PHONY: test\n"),
        ("packages/shop/package.json", PACKAGE),
        ("packages/shop/package-lock.json", "{}"),
    ];
    let scene = BeginScene::new("monorepo", &files);
    scene.install("npm", "grep -q shop package.json");
    scene.install("make", "exit 9");
    scene.install("claude", CLAUDE);
    let said = scene.person("packages/shop", &["init"], &[YES]);
    assert_eq!(said.code, 0, "{}", said.text);
    assert_bounds(&said.text);
    assert_screen(&scene, "subfolder", &said.text);
    let config = scene.read(".handover/config.toml").unwrap();
    assert!(config.contains("folder = \"packages/shop\""), "{config}");
}

#[test]
fn several_agents_and_one_that_is_not_logged_in() {
    let scene = javascript();
    scene.install("claude", CLAUDE);
    scene.install("codex", CODEX_LOGGED_OUT);
    scene.install("goose", "echo 1.34.0");
    let said = scene.person("", &["init"], &[YES]);
    assert_eq!(said.code, 0, "{}", said.text);
    assert_bounds(&said.text);
    assert_screen(&scene, "several-agents", &said.text);
}

#[test]
fn all_known_agents_fit_the_screen() {
    let scene = javascript();
    for name in ["claude", "codex", "opencode", "gemini", "copilot", "goose", "qwen"] {
        scene.install(name, "echo 1.2.3");
    }
    let said = scene.person("", &["init"], &[YES]);
    assert_eq!(said.code, 0, "{}", said.text);
    assert_bounds(&said.text);
    assert_screen(&scene, "all-agents", &said.text);
}

#[test]
fn answer_no_writes_and_runs_nothing() {
    let scene = javascript();
    scene.install("claude", CLAUDE);
    let ran = scene.path("ran");
    scene.install("npm", &format!("touch {}", ran.display()));
    let said = scene.answers(&["init"], "n\n");
    assert_eq!(said.code, 1, "{}", said.text);
    assert_bounds(&said.text);
    assert_screen(&scene, "answer-no", &said.text);
    assert_eq!((scene.own_files(), ran.exists()), (Vec::new(), false));
    let trust = scene.script(&["trust", "--json"]).text;
    assert!(trust.contains("\"trusted\":false"), "{trust}");
}

#[test]
fn ctrl_c_skips_the_trial_and_not_the_files() {
    let scene = javascript();
    scene.install("claude", CLAUDE);
    scene.install("npm", "exec sleep 600");
    let interrupt = PersonAct::Interrupts { after: "npm ci --prefer-offline" };
    let said = scene.person("", &["init"], &[YES, interrupt]);
    assert_eq!(said.code, 0, "{}", said.text);
    assert_screen(&scene, "ctrl-c", &said.text);
    assert!(scene.read(".handover/config.toml").is_some() && scene.read(".handover/local.toml").is_some());
}

#[test]
fn without_a_terminal_nothing_is_asked_accepted_or_run() {
    let scene = javascript();
    scene.install("claude", CLAUDE);
    let ran = scene.path("ran");
    scene.install("npm", &format!("touch {}", ran.display()));
    let said = scene.script(&["init"]);
    assert_eq!((said.code, ran.exists()), (0, false), "{}", said.text);
    assert_screen(&scene, "no-terminal", &said.text);
    assert_eq!(scene.own_files(), [".gitignore", "config.toml", "local.toml"]);
    let trust = scene.script(&["trust", "--json"]).text;
    assert!(trust.contains("\"trusted\":false"), "{trust}");
}
