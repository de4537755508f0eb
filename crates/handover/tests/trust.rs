//! Tests that the program uses settings from a repository only after a person accepted them, and that it refuses stores
//! that came with the repository.
#![expect(clippy::disallowed_methods, reason = "starts the program it tests, and git")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const AGENT: &str = "[[agent]]\nslug = \"quinn\"\nadapter = \"exec\"\npersona = \"You work.\"\ncommand = [\"true\"]\n";

struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    fn new(config: &str) -> Self {
        let site = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(site.root().join(".handover")).unwrap();
        site.config(config);
        site.git(&["init", "--quiet", "--initial-branch=main"]);
        site
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("clone")
    }

    fn config(&self, text: &str) {
        fs::write(self.root().join(".handover/config.toml"), text).unwrap();
    }

    fn git(&self, words: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(self.root()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let done = git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(words).output().unwrap();
        assert!(done.status.success(), "{words:?} {done:?}");
    }

    fn commit(&self, words: &[&str]) {
        self.git(&[&["add", "--force"], words].concat());
        self.git(&["commit", "--quiet", "-m", "x"]);
    }

    /// Returns a command without the environment of the user who runs the tests.
    fn clean(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.root()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.folder.path()).env("XDG_DATA_HOME", self.folder.path().join("data"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        said(self.clean(env!("CARGO_BIN_EXE_handover")).args(words).output().unwrap())
    }

    /// Runs `handover` as a person at a terminal who types this text.
    fn at_a_terminal(&self, words: &str, typed: &str) -> (i32, String) {
        let line = format!("{} {words}", env!("CARGO_BIN_EXE_handover"));
        let mut child = self.clean("script").args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        let (code, out, _) = said(child.wait_with_output().unwrap());
        (code, out)
    }

    fn trust(&self) {
        let offered = self.json(&["trust", "--json"]);
        assert_eq!(self.run(&["trust", "--sha256", offered["sha256"].as_str().unwrap()]).0, 0);
    }

    fn json(&self, words: &[&str]) -> Value {
        let (_, out, errors) = self.run(words);
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{words:?}: {out}{errors}"))
    }
}

fn said(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

#[test]
fn a_hash_accepts_only_the_list_it_is_of() {
    let site = Site::new(&format!("{AGENT}env = {{ API_KEY = \"sk-0123456789abcdef\", MODE = \"fast\" }}\n"));
    let offered = site.json(&["trust", "--json"]);
    let lines = offered["accepts"].to_string();
    assert!(
        lines.contains("env MODE=fast") && lines.contains("env API_KEY=") && !lines.contains("0123456789"),
        "{lines}"
    );
    assert_eq!((&offered["trusted"], &offered["commands"]), (&json!(false), &json!(["agent quinn: true"])));
    let (code, _, errors) = site.run(&["trust", "--sha256", &"0".repeat(64)]);
    assert!(code == 1 && errors.contains("NOT_TRUSTED") && errors.contains("handover trust"), "{errors}");
    let hash = offered["sha256"].as_str().unwrap();
    site.config(&format!("{AGENT}permissions = \"all\"\n"));
    assert_eq!(site.run(&["trust", "--sha256", hash]).0, 1, "the file changed since the hash was taken");
    site.trust();
    assert_eq!(site.json(&["trust", "--json"])["trusted"], json!(true));
    site.config(&format!(
        "{AGENT}permissions = \"all\"\n[contract.code]\nchecks = [{{ command = [\"make\", \"lint\"] }}]\n"
    ));
    let later = site.json(&["trust", "--json"]);
    let change = json!({"change": "+ check of code: make lint", "waits_for_a_person": true});
    assert_eq!((&later["trusted"], &later["changes"][0]), (&json!(false), &change));
}

/// Tests `handover run` with settings that no person has accepted. At a terminal the program asks the person to accept
/// them; elsewhere it refuses to run.
#[test]
fn run_asks_at_a_terminal_and_refuses_elsewhere() {
    let site = Site::new(AGENT);
    site.commit(&["."]);
    let (code, out, errors) = site.run(&["run", "--once"]);
    assert!(code == 1 && errors.contains("NOT_TRUSTED") && errors.contains("`handover trust`"), "{out}{errors}");
    let (code, out) = site.at_a_terminal("run --once", "n\n");
    assert!(code == 1 && out.contains("agent quinn: true") && out.contains("Nothing was accepted"), "{out}");
    let (code, out) = site.at_a_terminal("run --once", "y\n");
    assert!(code == 0 && out.contains("Accepted."), "{code} {out}");
    assert_eq!(site.run(&["run", "--once"]).0, 0, "it is accepted from now on");
    site.config(&format!("{AGENT}[notify]\ncommand = [\"true\"]\n"));
    let (code, _, errors) = site.run(&["run", "--once"]);
    assert!(code == 1 && errors.contains("+ notify: true"), "{errors}");
    let status = site.json(&["status", "--json"]);
    assert_eq!(status["settings"], json!(["+ notify: true"]), "{status}");
    assert!(site.run(&["status"]).1.contains("Settings changed: 1 new command to accept"));
    let (code, out) = site.at_a_terminal("trust", "y\n");
    assert!(
        code == 0 && out.contains("+ notify: true") && !out.contains("agent quinn: true"),
        "only the difference: {out}"
    );
    assert_eq!(site.json(&["status", "--json"])["settings"], json!([]));
}

/// At its start an agent's session gets the list of changed settings that no person has accepted yet. The agent's model
/// can then tell the person.
#[test]
fn a_session_is_told_what_waits() {
    let site = Site::new("");
    site.run(&["status"]);
    site.config("[limits]\nusd = 500.0\n");
    let payload =
        json!({"hook_event_name": "SessionStart", "session_id": "s", "cwd": site.root(), "source": "startup"});
    let mut hook = site.clean(env!("CARGO_BIN_EXE_handover"));
    let mut hook = hook.args(["hook", "SessionStart"]).stdin(Stdio::piped()).spawn().unwrap();
    hook.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    let (_, out, errors) = said(hook.wait_with_output().unwrap());
    assert!(out.contains("limit usd: 5 -> 500") && out.contains("handover trust"), "{out}{errors}");
}

/// Tests that an accepted gate rule still applies after it was removed from the settings file, and that a new gate rule
/// applies at once.
#[test]
fn gates_are_the_stricter_of_two_copies() {
    let rule =
        |write: &str| format!("[gates]\ndefault = \"allow\"\n[[gate]]\nwrite = \"{write}\"\ndecision = \"deny\"\n");
    let site = Site::new(&rule("infra/**"));
    let is_denied = |path: &str| {
        let payload = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": site.root(), "tool_name": "Write",
            "tool_input": {"file_path": path, "content": "x"},
        });
        let mut hook = site.clean(env!("CARGO_BIN_EXE_handover"));
        let mut hook = hook.args(["hook", "PreToolUse"]).stdin(Stdio::piped()).spawn().unwrap();
        hook.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
        said(hook.wait_with_output().unwrap()).1.contains("a gate of this project denies this call")
    };
    assert!(is_denied("infra/a"), "the file's rules count before anything was accepted");
    site.trust();
    let cases: [(&str, &str, &[&str], &[&str]); 4] = [
        ("accepted", &rule("infra/**"), &["infra/a"], &["src/a"]),
        (
            "one more",
            &(rule("infra/**") + "[[gate]]\nwrite = \"src/**\"\ndecision = \"deny\"\n"),
            &["infra/a", "src/a"],
            &[],
        ),
        ("another one", &rule("src/**"), &["infra/a", "src/a"], &["docs/a"]),
        ("none", "", &["infra/a"], &["src/a"]),
    ];
    for (case, file, denied, allowed) in cases {
        site.config(file);
        assert!(denied.iter().all(|path| is_denied(path)), "{case}");
        assert!(!allowed.iter().any(|path| is_denied(path)), "{case}");
    }
}

/// Tests stores that come with a repository: which of them are refused, and with which message.
#[test]
fn a_store_that_came_with_the_repository_is_refused() {
    let other = Site::new("");
    assert_eq!(other.run(&["status"]).0, 0);
    let tracked = Site::new("");
    fs::create_dir_all(tracked.root().join(".handover/state")).unwrap();
    fs::copy(other.root().join(".handover/state/handover.db"), tracked.root().join(".handover/state/handover.db"))
        .unwrap();
    tracked.commit(&["."]);
    let (code, out, errors) = tracked.run(&["status"]);
    assert_eq!(code, 1, "{out}{errors}");
    for words in ["STORE_FOREIGN", "git tracks", "git rm -r", "--store"] {
        assert!(errors.contains(words), "{words}: {errors}");
    }
    let clone = Site { folder: tempfile::tempdir().unwrap() };
    let (from, to) = (tracked.root().display().to_string(), clone.folder.path().join("clone").display().to_string());
    tracked.git(&["clone", "--quiet", &from, &to]);
    assert_eq!(clone.run(&["status"]).0, 1, "a clone of it");
    for (case, version) in [("a compressed index", "4"), ("a plain index", "2")] {
        tracked.git(&["update-index", "--index-version", version]);
        assert_eq!(tracked.run(&["status"]).0, 1, "{case}");
    }
    tracked.git(&["update-index", "--split-index"]);
    assert_eq!(tracked.run(&["status"]).0, 1, "a split index");
    tracked.git(&["update-index", "--no-split-index"]);
    // A store that the caller names with `--store` counts as the caller's own.
    assert_eq!(tracked.run(&["--store", "../mine.db", "status"]).0, 0);
    // The person removes the store from git, as the refusal advises, and then the store is accepted.
    tracked.git(&["rm", "-r", "--quiet", ".handover/state"]);
    let (code, _, errors) = tracked.run(&["status"]);
    assert_eq!(code, 0, "{errors}");
    // A symbolic link in place of the state folder is refused like a store that git tracks.
    let linked = Site::new("");
    symlink("../../elsewhere", linked.root().join(".handover/state")).unwrap();
    linked.commit(&["."]);
    assert_eq!(linked.run(&["status"]).0, 1);
    assert!(!linked.folder.path().join("elsewhere").exists(), "nothing was made outside");
    // A store file that git tracks is refused even when the settings name it.
    let named = Site::new("store = \"data/work.db\"\n");
    fs::create_dir(named.root().join("data")).unwrap();
    fs::copy(other.root().join(".handover/state/handover.db"), named.root().join("data/work.db")).unwrap();
    named.commit(&["."]);
    let (code, _, errors) = named.run(&["status"]);
    assert!(code == 1 && errors.contains("git tracks data/work.db"), "{errors}");
}

#[test]
fn a_store_of_the_settings_is_accepted_first() {
    for (config, words) in [
        ("store = \"postgres://me:hunter2@127.0.0.1:1/x\"\n", "is a database server"),
        ("store = \"../outside.db\"\n", "names a file outside of this repository"),
        ("store = \"/tmp/../tmp/outside-of-all.db\"\n", "names a file outside of this repository"),
        ("store = \"link/x.db\"\n", "names a file outside of this repository"),
    ] {
        let site = Site::new(config);
        symlink("..", site.root().join("link")).unwrap();
        let (code, out, errors) = site.run(&["status"]);
        assert_eq!(code, 1, "{config}: {out}{errors}");
        assert!(
            errors.contains("NOT_TRUSTED") && errors.contains(words) && errors.contains("handover trust"),
            "{errors}"
        );
        assert!(!errors.contains("hunter2"), "{errors}");
        site.trust();
        assert!(!site.run(&["status"]).2.contains("NOT_TRUSTED"), "{config}");
    }
    let site = Site::new("store = \"inside/x.db\"\n");
    assert_eq!(site.run(&["status"]).0, 0);
}

#[test]
fn a_store_of_ours_is_narrowed_and_that_is_said() {
    let site = Site::new("");
    let (code, _, errors) = site.run(&["status"]);
    assert_eq!((code, errors.as_str()), (0, ""), "a new one has the right rights");
    let state = site.root().join(".handover/state");
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&state), mode(&state.join("handover.db"))), (0o700, 0o600));
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(state.join("handover.db"), fs::Permissions::from_mode(0o664)).unwrap();
    let (code, _, errors) = site.run(&["status"]);
    assert_eq!((code, mode(&state), mode(&state.join("handover.db"))), (0, 0o700, 0o600));
    assert!(
        errors.contains("(mode 755)") && errors.contains("(mode 664)") && errors.contains("now only you can"),
        "{errors}"
    );
    assert_eq!(site.run(&["status"]).2, "");
    // Store files of another user are refused. Only root can make such a file for the test.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(state.join("handover.db"), Some(4_321), None).unwrap();
        let (code, _, errors) = site.run(&["status"]);
        assert!(code == 1 && errors.contains("STORE_FOREIGN") && errors.contains("another user"), "{errors}");
    }
}
