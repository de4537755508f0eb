//! Tests ways around access control: requests under a foreign host name, paths that lead out of the repository, and
//! files that other users could read or create.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::busy::patience;
use crate::http::Connection;
use crate::place::Place;
use crate::serve::Server;

/// A web page cannot reach this server under another host name (DNS rebinding) or from another origin.
#[test]
fn other_names_and_other_pages_are_turned_away() {
    let place = Place::new();
    let server = Server::start(&place);
    let (port, token) = (server.port, server.token.clone());
    let own = format!("http://127.0.0.1:{port}");
    // The columns are the target, the `Host` headers, the origin, and the expected status.
    let table: Vec<(&str, &[&str], Option<String>, u16)> = vec![
        ("/", &["127.0.0.1"], None, 200),
        ("/", &["localhost:1"], None, 200),
        ("/", &["LOCALHOST"], None, 200),
        ("/", &["[::1]"], None, 200),
        ("/", &["[::1]:4747"], None, 200),
        ("/", &[], None, 403),
        ("/", &[""], None, 403),
        ("/", &["evil.example"], None, 403),
        ("/", &["evil.example:4747"], None, 403),
        ("/", &["127.0.0.1.evil.example"], None, 403),
        ("/", &["localhost.evil.example"], None, 403),
        ("/", &["evil.example/127.0.0.1"], None, 403),
        ("/", &["localhost."], None, 403),
        ("/", &["localhost:"], None, 403),
        ("/", &["localhost:x"], None, 403),
        ("/", &["localhost:80:80"], None, 403),
        ("/", &["user@localhost"], None, 403),
        ("/", &["localhost@evil.example"], None, 403),
        ("/", &["::1"], None, 403),
        ("/", &["[::ffff:1.2.3.4]"], None, 403),
        ("/", &["0.0.0.0"], None, 403),
        ("/", &["2130706433"], None, 403),
        ("/", &["127.1"], None, 403),
        ("/", &["localhost", "evil.example"], None, 403),
        ("/", &["evil.example", "localhost"], None, 403),
        ("http://localhost/", &["localhost"], None, 200),
        ("http://evil.example/", &["localhost"], None, 403),
        ("http://evil.example/", &[], None, 403),
        ("http://localhost/", &["evil.example"], None, 403),
        ("http://user@localhost/", &["localhost"], None, 403),
        ("/", &["localhost"], Some(own.clone()), 200),
        ("/", &["localhost"], Some(format!("http://localhost:{port}")), 200),
        ("/", &["localhost"], Some("null".to_owned()), 403),
        ("/", &["localhost"], Some(String::new()), 403),
        ("/", &["localhost"], Some("http://127.0.0.1".to_owned()), 403),
        ("/", &["localhost"], Some(format!("http://127.0.0.1:{}", port.wrapping_add(1))), 403),
        ("/", &["localhost"], Some(format!("https://127.0.0.1:{port}")), 403),
        ("/", &["localhost"], Some(format!("{own}.evil.example")), 403),
        ("/", &["localhost"], Some(format!("http://sub.localhost:{port}")), 403),
        ("/", &["localhost"], Some(format!("{own}/")), 403),
        ("/", &["localhost"], Some("http://evil.example".to_owned()), 403),
        ("/", &["localhost"], Some("file://".to_owned()), 403),
        ("/", &["localhost"], Some("chrome-extension://abc".to_owned()), 403),
    ];
    for (base, hosts, origin, expected) in &table {
        for path in ["api/v1/workflows", "healthz", "mcp"] {
            let mut head = format!("GET {base}{path} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n");
            hosts.iter().for_each(|host| head.push_str(&format!("Host: {host}\r\n")));
            origin.iter().for_each(|origin| head.push_str(&format!("Origin: {origin}\r\n")));
            let mut connection = Connection::open(port);
            assert!(connection.send(format!("{head}\r\n").as_bytes()));
            let answer = connection.answer().unwrap();
            // For MCP, 406 means that the request passed the host check and lacks only an `Accept` header.
            let status = if path == "mcp" && answer.status == 406 { 200 } else { answer.status };
            let bad_request = *expected == 403 && status == 400;
            assert!(
                status == *expected || bad_request,
                "{base}{path} {hosts:?} {origin:?}: {} {}",
                answer.status,
                answer.text()
            );
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    server.stop();
}

/// Returns values that would lead outside the repository, or run a command, if the program trusted them.
fn hostile(outside: &Path) -> Vec<String> {
    let canary = outside.join("canary");
    let words = [
        "../canary",
        "../../../../canary",
        "a/../../../canary",
        "..",
        ".",
        "/",
        "~",
        "~root",
        "\\..\\canary",
        "-x",
        "--help",
        "-b/x",
        "--upload-pack=touch canary",
        "--exec=touch canary",
        "$(touch canary)",
        "`touch canary`",
        "a;touch canary",
        "a|touch canary",
        "a&&touch canary",
        "%2e%2e%2fcanary",
        "..%00",
        "file:///etc/passwd",
        "ext::sh -c touch% canary",
        "refs/heads/../../canary",
        "HEAD",
        "@{-1}",
        "main.lock",
        ".git/config",
        ".git",
        "../.git/hooks/post-checkout",
        "\u{202e}yranac",
        "con",
        "a\u{0}b",
        "a\nb",
    ];
    let mut all: Vec<String> = words.iter().map(ToString::to_string).collect();
    all.extend([
        canary.display().to_string(),
        outside.display().to_string(),
        format!("{}/../canary", outside.display()),
    ]);
    all
}

/// Returns all paths in the test's folder outside of the repository, and the content of the file that hostile values
/// (see `hostile`) try to reach.
fn surroundings(place: &Place) -> (Vec<PathBuf>, String) {
    let root = place.root();
    let files = Place::files(&place.outside()).into_iter().filter(|path| !path.starts_with(&root)).collect();
    (files, std::fs::read_to_string(place.outside().join("canary/file")).unwrap())
}

/// Sends hostile values, such as paths out of the repository, for every path and name that a tool takes. The calls go
/// over the API with a person's rights.
#[test]
fn no_path_and_no_name_leads_out_of_the_repository() {
    let place = Place::new();
    std::fs::create_dir(place.outside().join("canary")).unwrap();
    std::fs::write(place.outside().join("canary/file"), "sings").unwrap();
    let server = Server::start(&place);
    let before = surroundings(&place);
    let git = Place::files(&place.root().join(".git"));
    let workflow = server.must("workflow_create", &json!({"name": "paths"}))["id"].clone();
    let plan = json!({"id": workflow, "plan": {"summary": "one", "tasks": [{"name": "task"}]}});
    let task = server.must("workflow_set_plan", &plan)["task_ids"]["task"].clone();
    let worktree = |branch: &str| json!({"workflow_id": workflow, "branch": branch, "create_worktree": true});
    // The columns are the tool, valid arguments, the field that gets hostile values, and whether the tool writes to the
    // disk.
    let table: Vec<(&str, Value, &str, bool)> = vec![
        ("workspace_create", worktree("unused"), "branch", true),
        ("workspace_create", worktree("from"), "base_branch", true),
        ("workspace_create", json!({"workflow_id": workflow, "branch": "b"}), "path", false),
        ("agent_register", json!({"name": "amy", "runtime": "r"}), "workspace_path", false),
        ("repository_register", json!({"path": "p"}), "path", false),
        ("workflow_add_repository", json!({"workflow_id": workflow}), "repository_path", false),
        ("workflow_create", json!({"name": "n"}), "repository_path", false),
        ("workflow_add_task", json!({"workflow_id": workflow, "name": "n"}), "repository_path", false),
        ("template_apply", json!({"template_id": "tmpl_000000000000"}), "workflow_name", false),
        ("template_create", json!({"template": {"tasks": [{"name": "t"}]}}), "name", false),
    ];
    for (tool, arguments, field, touches) in &table {
        for value in hostile(&place.outside()) {
            let mut arguments = arguments.clone();
            arguments[field] = json!(value);
            let answer = server.call(&server.token, tool, &arguments);
            let refused = [404, 409, 422].contains(&answer.status);
            // If git accepts a hostile name, the new worktree must still be in the folder that Handover uses for
            // worktrees.
            let made = answer.json()["path"].as_str().map(PathBuf::from);
            let kept = made.is_none_or(|path| path.parent() == Some(place.state().join("worktrees").as_path()));
            let case = format!("{tool} {field} {value:?}: {} {}", answer.status, answer.text());
            assert!(refused || answer.status == 200, "{case}");
            assert!(refused || !touches || kept, "{case}");
        }
    }
    for value in hostile(&place.outside()) {
        let note = json!({"task_id": task, "type": "progress", "summary": "s", "files_changed": [value]});
        let status = server.call(&server.token, "checkpoint_add", &note).status;
        assert!([200, 422].contains(&status), "files_changed {value:?}");
    }
    no_worktree_elsewhere(&place, &server, &workflow);
    no_cleaning_elsewhere(&place, &server, &workflow);
    assert_eq!(surroundings(&place), before, "something outside was touched");
    let hooks = |files: &[PathBuf]| files.iter().filter(|path| path.to_string_lossy().contains("hooks")).count();
    assert_eq!(hooks(&Place::files(&place.root().join(".git"))), hooks(&git), "a hook was made");
    server.stop();
}

/// Checks that `workspace_create` makes no worktree in a path that is not a repository.
fn no_worktree_elsewhere(place: &Place, server: &Server, workflow: &Value) {
    for value in
        hostile(&place.outside()).into_iter().filter(|value| ![".", ".git", ".git/config"].contains(&value.as_str()))
    {
        let arguments =
            json!({"workflow_id": workflow, "branch": "elsewhere", "create_worktree": true, "repo_path": value});
        let answer = server.call(&server.token, "workspace_create", &arguments);
        assert!([404, 409, 422].contains(&answer.status), "repo_path {value:?}: {} {}", answer.status, answer.text());
    }
}

/// Checks that a folder that was only recorded as a workspace, and not made by Handover, is never deleted, not even
/// with `force`.
fn no_cleaning_elsewhere(place: &Place, server: &Server, workflow: &Value) {
    for path in [place.outside().join("canary"), place.root(), place.root().join("../canary")] {
        let arguments = json!({"workflow_id": workflow, "branch": "b", "path": path.display().to_string()});
        let id = server.must("workspace_create", &arguments)["id"].clone();
        let clean = json!({"id": id, "status": "abandoned", "cleanup_worktree": true, "force": true});
        assert_eq!(server.call(&server.token, "workspace_update", &clean).code(), "WORKSPACE_NOT_OURS", "{path:?}");
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().mode() & 0o777
}

/// The umask 000, which some containers have, does not make stored files readable for other users.
#[test]
fn what_is_stored_is_readable_by_its_owner_only() {
    let place = Place::new();
    let server = Server::start_as(&place, place.program_after("umask 000"));
    server.must("workflow_create", &json!({"name": "open"}));
    let state = place.state();
    assert_eq!((mode(&state), mode(&state.join("token"))), (0o700, 0o600));
    for file in Place::files(&state) {
        let open = std::fs::symlink_metadata(&file).unwrap().is_file() && mode(&file) & 0o077 != 0;
        assert!(!open || file.ends_with(".gitignore"), "{}: {:o}", file.display(), mode(&file));
    }
    server.stop();
    let named =
        place.program_after("umask 000").args(["--store", "elsewhere/own.db", "log", "verify"]).output().unwrap();
    assert!(named.status.success());
    let folder = place.root().join("elsewhere");
    assert_eq!((mode(&folder), mode(&folder.join("own.db"))), (0o700, 0o600), "a store that was named");
}

/// The author of a repository can add a token file to it whose secret the author knows, or a symbolic link in place of
/// the token file. The server refuses both.
#[test]
fn a_token_file_that_others_could_have_made_is_not_taken() {
    let secret = "hnd_known-to-the-author";
    let refused = |place: &Place| {
        let ran = place.run(&["serve", "--port", "0"]);
        assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("delete it, and Handover makes a new one"), "{}", ran.err);
        assert!(!ran.err.contains(secret) && !ran.out.contains(secret), "the answer shows it");
    };
    let place = Place::new();
    assert_eq!(place.run(&["log", "head"]).code, Some(0));
    let path = place.state().join("token");
    std::fs::write(&path, secret).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    refused(&place);
    std::fs::remove_file(&path).unwrap();
    let elsewhere = place.outside().join("elsewhere");
    std::fs::write(&elsewhere, secret).unwrap();
    std::fs::set_permissions(&elsewhere, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&elsewhere, &path).unwrap();
    refused(&place);
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), secret, "what the link leads to is as it was");
    std::fs::remove_file(&path).unwrap();
    let server = Server::start(&place);
    assert_eq!(server.call(secret, "workflow_list", &json!({})).status, 401, "it was never let in");
    server.stop();
}

/// When the admin token of this machine is revoked, the next start of the server makes a new admin token. That is safe,
/// because the owner of the machine controls the server anyway.
#[test]
fn a_revoked_token_of_the_owner_is_replaced() {
    let place = Place::new();
    let server = Server::start(&place);
    let first = server.admin.clone();
    let listed = place.json(&["token", "list", "--json"]);
    let own = listed["tokens"].as_array().unwrap().iter().find(|token| token["scope"] == "admin").unwrap();
    let id = own["id"].as_str().unwrap().to_owned();
    assert_eq!(place.decide(&["token", "revoke", &id]).code, Some(0));
    server.stop();
    let server = Server::start(&place);
    assert_ne!(server.admin, first);
    assert_eq!(server.call(&server.admin, "workflow_list", &json!({})).status, 200);
    assert_eq!(server.call(&first, "workflow_list", &json!({})).status, 401);
    server.stop();
}

/// Checks that no output of the program, and no file except the token file, contains a token.
#[test]
fn no_secret_is_shown() {
    let place = Place::new();
    let server = Server::start(&place);
    let (_, other) = server.token(&json!({"name": "other", "scope": "agent"}));
    let secrets = [server.token.clone(), server.admin.clone(), other];
    let mut said: Vec<(String, String)> = Vec::new();
    let commands: &[&[&str]] = &[
        &["--help"],
        &["serve", "--help"],
        &["token", "--help"],
        &["token", "list"],
        &["token", "list", "--json"],
        &["status"],
        &["status", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["log", "tail", "-n", "100"],
        &["log", "tail", "-n", "100", "--json"],
        &["log", "head"],
        &["log", "verify"],
        &["export"],
        &["man"],
        &["completions", "bash"],
    ];
    for command in commands {
        let ran = place.run(command);
        said.push((command.join(" "), format!("{}{}", ran.out, ran.err)));
    }
    for target in [
        "/api/v1/openapi.json",
        "/metrics",
        "/api/v1/tokens",
        "/api/v1/log/registry",
        "/healthz",
        "/readyz",
        "/no/such",
    ] {
        let answer = server.get(&server.token, target);
        said.push((target.to_owned(), format!("{}{}", answer.head, answer.text())));
    }
    for (what, text) in &said {
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "{what} shows a token");
        }
    }
    for file in Place::files(&place.root()) {
        let found = std::fs::read(&file).unwrap_or_default();
        let holds = |secret: &String| found.windows(secret.len()).any(|bytes| bytes == secret.as_bytes());
        assert!(file.ends_with("token") || !secrets.iter().any(holds), "{} holds a token", file.display());
    }
    // An error message shows no path of this machine.
    let root = place.root().display().to_string();
    for (tool, arguments) in
        [("workflow_get", json!({"id": "wf_000000000000"})), ("repository_get", json!({"path": "x"}))]
    {
        let answer = server.call(&server.token, tool, &arguments);
        assert!(!answer.text().contains(&root), "{tool} shows a path of the machine: {}", answer.text());
    }
    server.terminate();
    let (status, errors) = server.ended_within(patience(std::time::Duration::from_secs(15)));
    assert!(status.success() && errors.is_empty(), "{errors}");
}
