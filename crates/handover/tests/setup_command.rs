//! Tests `handover setup` as people and programs call it: its messages, whether they go to standard output or standard
//! error, and its exit code.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "starts the program itself")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Place {
    _keep: tempfile::TempDir,
    base: PathBuf,
}

impl Place {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let base = keep.path().canonicalize().unwrap();
        // Make a `.handover` folder, because `handover setup` needs a project: a repository or such a folder.
        fs::create_dir_all(base.join("project/.handover")).unwrap();
        fs::create_dir_all(base.join("home")).unwrap();
        Self { _keep: keep, base }
    }

    fn project(&self) -> PathBuf {
        self.base.join("project")
    }

    fn run(&self, arguments: &[&str], path: &Path) -> Output {
        self.handover(&[&["setup"], arguments].concat(), path)
    }

    fn handover(&self, arguments: &[&str], path: &Path) -> Output {
        Command::new(env!("CARGO_BIN_EXE_handover"))
            .args(arguments)
            .env_clear()
            .env("HOME", self.base.join("home"))
            .env("PATH", path)
            .current_dir(self.project())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn without_a_terminal_it_shows_and_writes_only_when_told() {
    let place = Place::new();
    let nowhere = Path::new("/nowhere");
    let shown = place.run(&["codex", "--program", "handover"], nowhere);
    assert_eq!(shown.status.code(), Some(1));
    assert!(said(&shown.stdout).starts_with(
        "created   .codex/config.toml (the server and its permissions)\n\
         created   AGENTS.md (instructions for the model)\n\n--- /dev/null\n"
    ));
    assert!(said(&shown.stderr).ends_with("nothing was written; use --yes to write without a question\n"));
    assert!(!place.project().join("AGENTS.md").exists());

    let printed = place.run(&["codex", "--program", "handover", "--print"], nowhere);
    assert_eq!((printed.status.code(), said(&printed.stdout)), (Some(0), said(&shown.stdout)));
    assert!(!place.project().join("AGENTS.md").exists());

    let written = place.run(&["codex", "--program", "handover", "--yes"], nowhere);
    assert_eq!((written.status.code(), said(&written.stdout)), (Some(0), said(&shown.stdout)));
    assert!(place.project().join("AGENTS.md").exists());

    let again = place.run(&["codex", "--program", "handover"], nowhere);
    assert_eq!(again.status.code(), Some(0));
    assert!(said(&again.stderr).ends_with("nothing to change\n"));

    let undone = place.run(&["codex", "--undo", "--yes"], nowhere);
    assert_eq!(undone.status.code(), Some(0));
    assert_eq!(said(&undone.stderr), "written; all changes are undone\n");
    assert!(!place.project().join("AGENTS.md").exists() && !place.project().join(".codex").exists());
}

#[test]
fn a_program_gets_one_object() {
    let place = Place::new();
    fs::write(place.project().join("QWEN.md"), "Use tabs.\n").unwrap();
    let output = place.run(&["qwen", "--json", "--program", "handover"], Path::new("/nowhere"));
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output.stdout);
    assert_eq!(text.lines().count(), 1);
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let diff = found["changes"][0]["diff"].as_str().unwrap();
    assert!(diff.contains("+    \"handover\": {\n"), "{diff}");
    let path = |name: &str| place.project().join(name).display().to_string();
    let expected = serde_json::json!({
        "client": "qwen",
        "reach": "project",
        "changes": [
            {"path": path(".qwen/settings.json"), "action": "created", "diff": found["changes"][0]["diff"]},
            {"path": path("QWEN.md"), "action": "changed", "diff": found["changes"][1]["diff"]},
        ],
        "applied": false,
    });
    assert_eq!(found, expected);
    let output = place.run(&["qwen", "--json", "--yes", "--program", "handover"], Path::new("/nowhere"));
    assert_eq!(output.status.code(), Some(0));
    assert!(said(&output.stdout).ends_with(",\"applied\":true}\n"));
}

#[test]
fn the_program_is_named_only_where_its_name_starts_it() {
    let place = Place::new();
    let this = Path::new(env!("CARGO_BIN_EXE_handover"));
    let command = |output: &Output| {
        let line = said(&output.stdout).lines().find(|line| line.contains("\"command\"")).unwrap().to_owned();
        line.split('"').nth(3).unwrap().to_owned()
    };
    let found = place.run(&["gemini", "--print"], this.parent().unwrap());
    assert_eq!(command(&found), "handover");
    let other = place.base.join("bin");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("handover"), "#!/bin/sh\n").unwrap();
    let other = place.run(&["gemini", "--print"], &other);
    assert_eq!(command(&other), this.canonicalize().unwrap().display().to_string());
    assert!(said(&other.stderr).contains("put `handover` into the PATH"), "{}", said(&other.stderr));
    let named = place.run(&["gemini", "--print", "--program", "./here"], Path::new("/nowhere"));
    assert_eq!(command(&named), place.project().join("here").display().to_string());
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_its_line() {
    let place = Place::new();
    let path = place.project().join("opencode.json");
    fs::write(&path, "{\n  \"mcp\": [\n").unwrap();
    let output = place.run(&["opencode", "--yes"], Path::new("/nowhere"));
    assert_eq!(output.status.code(), Some(2));
    let expected = format!("handover: {}:2: not valid JSON: unterminated array\n", path.display());
    assert_eq!((said(&output.stdout), said(&output.stderr)), (String::new(), expected));
}

/// Returns the tokens in the store of a test's folder, each as its name and whether it is revoked: `codex true`.
fn tokens(place: &Place) -> Vec<String> {
    let output = place.handover(&["token", "list", "--json"], Path::new("/nowhere"));
    let found: serde_json::Value = serde_json::from_str(&said(&output.stdout)).unwrap();
    let row = |token: &serde_json::Value| {
        assert_eq!((&token["scope"], token["agent"].is_string()), (&"agent".into(), true), "bound, of scope agent");
        format!("{} {}", token["name"].as_str().unwrap(), token["revoked"])
    };
    found["tokens"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn over_http_each_client_has_one_token_until_it_is_undone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let path = std::env::var_os("PATH").unwrap();
    let run = |arguments: &[&str]| place.run(arguments, Path::new(&path));
    let config = place.base.join("home/.codex/config.toml");
    let shown = run(&["codex", "--http", "--print"]);
    assert_eq!(shown.status.code(), Some(0), "{}", said(&shown.stderr));
    assert!(said(&shown.stdout).contains("Authorization = \"[redacted]\""), "{}", said(&shown.stdout));
    assert!(!config.exists() && !place.project().join(".handover/state").exists(), "--print makes nothing");

    let written = run(&["codex", "--http", "--yes"]);
    assert_eq!(written.status.code(), Some(0), "{}", said(&written.stderr));
    assert_eq!(tokens(&place), ["codex false"]);
    let text = fs::read_to_string(&config).unwrap();
    let secret = text.split("Bearer ").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert!(secret.starts_with("hnd_") && secret.len() == 68, "{text}");
    assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o600);
    for output in [&shown, &written] {
        assert!(!said(&output.stdout).contains(&secret) && !said(&output.stderr).contains(&secret));
    }

    let again = run(&["codex", "--http", "--yes"]);
    assert!(said(&again.stderr).ends_with("nothing to change\n"), "{}", said(&again.stderr));
    let moved = run(&["codex", "--http=http://127.0.0.1:4800/mcp", "--yes"]);
    assert_eq!(moved.status.code(), Some(0), "{}", said(&moved.stderr));
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains(":4800/mcp") && text.contains(&secret), "the address is another, the token is not: {text}");
    run(&["gemini", "--http", "--yes"]);
    assert_eq!(tokens(&place), ["codex false", "gemini false"]);

    let undone = run(&["codex", "--undo", "--yes"]);
    assert!(said(&undone.stderr).contains("note: revoked the token tok_"), "{}", said(&undone.stderr));
    assert!(!config.exists());
    assert_eq!(tokens(&place), ["codex true", "gemini false"]);
    // `handover setup` replaces a revoked token by a new one.
    run(&["codex", "--http", "--yes"]);
    assert_eq!(tokens(&place), ["codex true", "gemini false", "codex false"]);
}

#[test]
fn a_token_is_never_written_where_git_would_take_it() {
    let place = Place::new();
    let path = std::env::var_os("PATH").unwrap();
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(place.base.join("home")).output().unwrap();
        assert!(done.status.success(), "{}", said(&done.stderr));
    };
    git(&["init", "-q"]);
    let refused = place.run(&["codex", "--http", "--yes"], Path::new(&path));
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        said(&refused.stderr).contains("git does not ignore it and a token must not be committed"),
        "{}",
        said(&refused.stderr)
    );
    assert!(!place.base.join("home/.codex").exists() && !place.project().join(".handover/state").exists());
    fs::write(place.base.join("home/.git/info/exclude"), ".codex/\n").unwrap();
    let written = place.run(&["codex", "--http", "--yes"], Path::new(&path));
    assert_eq!(written.status.code(), Some(0), "{}", said(&written.stderr));
    // A file that git tracks does not count as ignored, even if a pattern in `.gitignore` matches it.
    fs::write(place.base.join("home/.codex/config.toml"), "").unwrap();
    git(&["add", "-f", ".codex/config.toml"]);
    let refused = place.run(&["codex", "--http", "--yes"], Path::new(&path));
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused.stderr));
    assert_eq!(tokens(&place), ["codex false"]);
}

#[test]
fn an_address_that_no_server_has_is_refused() {
    let place = Place::new();
    for url in ["127.0.0.1:4747", "ftp://h/mcp", "http://h", "http://user:x@h/mcp", "http:///mcp", "http://h/m cp"] {
        let output = place.run(&["codex", "--print", &format!("--http={url}")], Path::new("/nowhere"));
        assert_eq!(output.status.code(), Some(2), "{url}: {}", said(&output.stderr));
    }
}
