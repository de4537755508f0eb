//! Tests `handover setup` on folders: each case in `tests/setup` shows a folder before and after a setup.
//!
//! A case names the client, and has the parts `== before` and `== after` (or `== problem`). In a part, a line `-- path`
//! starts a file, with `~/` for the home folder. The section that Handover writes into a file is shortened to one line.
//! Every case is also applied twice and undone: the second setup must change nothing, and the undo must restore
//! everything. With `== edited` a person changes files before the undo, and `== undone` is the result of the undo.
//! `UPDATE=1` writes the expected parts again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use handover::setup::{
    Action, ClientProgram, Edit, HttpEntry, SetupPlan, SetupReach, SetupSurroundings, URL_DEFAULT, apply, diff, plan,
    undo,
};

/// One test case of `handover setup`: its first lines, and its parts such as `before` and `after` by name.
struct Case {
    head: String,
    parts: BTreeMap<String, String>,
}

impl Case {
    fn read(text: &str) -> Self {
        let mut parts = BTreeMap::new();
        let mut pieces = text.split("\n== ");
        let head = pieces.next().unwrap().to_owned();
        for piece in pieces {
            let (name, body) = piece.split_once('\n').unwrap_or((piece, ""));
            let body = if body.is_empty() || body.ends_with('\n') { body.to_owned() } else { format!("{body}\n") };
            parts.insert(name.to_owned(), body);
        }
        Self { head, parts }
    }

    fn text(&self) -> String {
        let order = ["before", "after", "problem", "edited", "undone"];
        let parts = order.iter().filter_map(|name| self.parts.get(*name).map(|body| format!("\n== {name}\n{body}")));
        format!("{}{}", self.head, parts.map(|part| part.trim_end_matches('\n').to_owned()).collect::<String>()) + "\n"
    }

    fn wants_hooks(&self) -> bool {
        self.head.lines().any(|line| line.starts_with("run ") && line.contains(" --hooks"))
    }

    fn part(&self, name: &str) -> Option<&str> {
        self.parts.get(name).map(String::as_str)
    }

    fn wants_http(&self) -> Option<HttpEntry> {
        let asked = self.head.lines().any(|line| line.starts_with("run ") && line.contains(" --http"));
        asked.then(|| HttpEntry { url: URL_DEFAULT.to_owned(), secret: "hnd_new".to_owned() })
    }

    /// Parses the line `run client [--user] [--hooks] [--http] [NAME=VALUE]` of a test case.
    fn call(&self) -> (ClientProgram, SetupReach, BTreeMap<String, String>) {
        let line = self.head.lines().find_map(|line| line.strip_prefix("run ")).unwrap();
        let mut words = line.split(' ');
        let client = ClientProgram::from_str(words.next().unwrap(), false).unwrap();
        let mut reach = SetupReach::Project;
        let mut environment = BTreeMap::new();
        for word in words {
            if matches!(word, "--hooks" | "--http") {
                continue;
            }
            match word.split_once('=') {
                Some((name, value)) => drop(environment.insert(name.to_owned(), value.to_owned())),
                None => reach = if word == "--user" { SetupReach::User } else { panic!("{word}") },
            }
        }
        (client, reach, environment)
    }
}

/// A temporary project folder and a separate home folder.
struct Folder {
    _keep: tempfile::TempDir,
    base: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let base = keep.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("project")).unwrap();
        fs::create_dir_all(base.join("home")).unwrap();
        Self { _keep: keep, base }
    }

    fn around(&self, environment: &BTreeMap<String, String>) -> SetupSurroundings {
        let real = |value: &String| value.replace("HOME", &self.base.join("home").display().to_string());
        SetupSurroundings {
            root: self.base.join("project"),
            home: Some(self.base.join("home")),
            environment: environment.iter().map(|(name, value)| (name.clone(), real(value))).collect(),
            program: "handover".to_owned(),
            receipts: self.base.join("receipts"),
            hooks: false,
            http: None,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        match name.strip_prefix("~/") {
            Some(inside) => self.base.join("home").join(inside),
            None => self.base.join("project").join(name),
        }
    }

    /// Writes the files that a part of a test case describes.
    fn fill(&self, part: &str) {
        for file in format!("\n{part}").split("\n-- ").skip(1) {
            let (head, body) = file.split_once('\n').unwrap_or((file, ""));
            let (name, mark) =
                head.split_once(" (").map_or((head, ""), |(name, mark)| (name, mark.trim_end_matches(')')));
            if let Some((link, target)) = name.split_once(" -> ") {
                let link = self.path(link);
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(target, link).unwrap();
                continue;
            }
            let body = if body.is_empty() || body.ends_with('\n') { body.to_owned() } else { format!("{body}\n") };
            let body = body.replace("ROOT", &self.base.join("project").display().to_string());
            let body = match mark {
                "no newline at the end" => body.trim_end_matches('\n').to_owned(),
                "CRLF" => body.replace('\n', "\r\n"),
                _ => body,
            };
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let old = fs::read_to_string(&path).ok();
            fs::write(&path, unfold(&body, old.as_deref())).unwrap();
            if mark == "read-only" {
                let mut rights = fs::metadata(&path).unwrap().permissions();
                rights.set_readonly(true);
                fs::set_permissions(&path, rights).unwrap();
            }
        }
    }

    /// Returns all files of the project and the home folder in the format of a test case's part. Shows empty folders,
    /// too, because `handover setup` must not leave any behind.
    fn show(&self) -> String {
        let mut found = Vec::new();
        walk(&self.base.join("project"), "", &mut found);
        walk(&self.base.join("home"), "~/", &mut found);
        found.sort();
        let root = self.base.join("project").display().to_string();
        found.concat().replace(&root, "ROOT")
    }
}

fn walk(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    entries.sort();
    for path in entries {
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if let Ok(target) = fs::read_link(&path) {
            found.push(format!("-- {name} -> {}\n", target.display()));
        } else if path.is_dir() {
            if fs::read_dir(&path).unwrap().next().is_none() {
                found.push(format!("-- {name}/\n"));
            }
            walk(&path, &format!("{name}/"), found);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            let mark = match () {
                () if fs::metadata(&path).unwrap().permissions().readonly() => " (read-only)",
                () if text.contains("\r\n") => " (CRLF)",
                () if !text.is_empty() && !text.ends_with('\n') => " (no newline at the end)",
                () => "",
            };
            let text = fold(&text.replace("\r\n", "\n"));
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            found.push(format!("-- {name}{mark}\n{text}{end}"));
        }
    }
}

const FOLDED: &str = "(our section)";

/// Replaces the section that Handover writes into a file by one line, so that test cases stay short.
fn fold(text: &str) -> String {
    let Some((before, rest)) = text.split_once("handover:begin") else { return text.to_owned() };
    let Some((section, after)) = rest.split_once("handover:end") else { return text.to_owned() };
    if !section.contains("Working through Handover") {
        return text.to_owned();
    }
    let mark = if section.starts_with(" -->") { (" -->\n", "<!-- ") } else { ("\n", "# ") };
    format!("{before}handover:begin{}{FOLDED}\n{}handover:end{after}", mark.0, mark.1)
}

/// Replaces the one line that stands for Handover's section by the whole section, which is taken from the text `old`.
fn unfold(text: &str, old: Option<&str>) -> String {
    let section = old.and_then(|old| old.split_once("handover:begin")?.1.split_once("handover:end")).map(|it| it.0);
    let Some(section) = section.filter(|_| text.contains(FOLDED)) else { return text.to_owned() };
    let (before, rest) = text.split_once("handover:begin").unwrap();
    let after = rest.split_once("handover:end").unwrap().1;
    format!("{before}handover:begin{section}handover:end{after}")
}

fn changed(plan: &SetupPlan) -> Vec<&Edit> {
    plan.edits.iter().filter(|edit| edit.changes()).collect()
}

/// Does the steps of a test case of `handover setup`, and returns the case with its actual results.
fn exercise(name: &str, case: &Case) -> Case {
    let (client, reach, environment) = case.call();
    let mut out = Case { head: case.head.clone(), parts: BTreeMap::new() };
    let folder = Folder::new();
    folder.fill(case.part("before").unwrap_or_default());
    let around =
        SetupSurroundings { hooks: case.wants_hooks(), http: case.wants_http(), ..folder.around(&environment) };
    let before = folder.show();
    out.parts.insert("before".to_owned(), before.clone());
    let first = match plan(client, reach, &around) {
        Ok(first) => first,
        Err(problem) => {
            assert_eq!(folder.show(), before, "{name}: a refusal changes nothing");
            let base = folder.base.display().to_string();
            out.parts.insert("problem".to_owned(), problem.to_string().replace(&base, "") + "\n");
            return out;
        }
    };
    apply(&first, &around.receipts).unwrap();
    out.parts.insert("after".to_owned(), folder.show());
    let second = plan(client, reach, &around).unwrap();
    assert_eq!(changed(&second), Vec::<&Edit>::new(), "{name}: twice is as once");
    if let Some(edited) = case.part("edited") {
        folder.fill(edited);
        out.parts.insert("edited".to_owned(), edited.to_owned());
        apply(&undo(client, reach, &around).unwrap(), &around.receipts).unwrap();
        out.parts.insert("undone".to_owned(), folder.show());
    } else {
        apply(&undo(client, reach, &around).unwrap(), &around.receipts).unwrap();
        assert_eq!(folder.show(), before, "{name}: undone is as before");
        let left = fs::read_dir(&around.receipts).map(|left| left.count()).unwrap_or(0);
        assert_eq!(left, 0, "{name}: no receipt is left");
    }
    // Some cases start with an entry that is already named `handover`. The first undo restores that entry. After that
    // no record says that the entry is the person's own, so a second undo may change it. Such cases are not undone
    // twice.
    if !before.contains("handover") {
        let again = undo(client, reach, &around).unwrap();
        assert_eq!(changed(&again), Vec::<&Edit>::new(), "{name}: undoing twice is as once");
    }
    out
}

#[test]
fn cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/setup");
    let mut names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    names.sort();
    assert!(names.len() > 30, "the cases are there");
    for path in names {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let came_out = exercise(&name, &Case::read(&text)).text();
        if std::env::var_os("UPDATE").is_some_and(|update| update == "1") {
            fs::write(&path, came_out).unwrap();
        } else {
            assert_eq!(came_out, text, "{name}");
        }
    }
}

/// Returns a project folder in which `handover setup` was applied for a client.
fn set_up(client: ClientProgram, files: &str) -> (Folder, SetupSurroundings) {
    let folder = Folder::new();
    folder.fill(files);
    let around = folder.around(&BTreeMap::new());
    apply(&plan(client, SetupReach::Project, &around).unwrap(), &around.receipts).unwrap();
    (folder, around)
}

#[test]
fn instructions_stay_while_another_client_reads_them() {
    let (folder, around) = set_up(ClientProgram::Opencode, "");
    apply(&plan(ClientProgram::Codex, SetupReach::Project, &around).unwrap(), &around.receipts).unwrap();
    let first = undo(ClientProgram::Opencode, SetupReach::Project, &around).unwrap();
    apply(&first, &around.receipts).unwrap();
    let agents = folder.path("AGENTS.md");
    assert_eq!(
        first.notes,
        [format!("{} keeps Handover's section, because codex is set up and reads it, too", agents.display())]
    );
    assert!(agents.exists() && !folder.path("opencode.json").exists());
    apply(&undo(ClientProgram::Codex, SetupReach::Project, &around).unwrap(), &around.receipts).unwrap();
    assert_eq!(folder.show(), "");
}

/// Claude Code keeps the HTTP servers of all projects in one file, so the entries of other projects must stay.
#[test]
fn what_others_reach_over_http_stays() {
    let folder = Folder::new();
    let users = "-- ~/.claude.json\n{\n  \"numStartups\": 7\n}\n";
    folder.fill(users);
    let stdio = folder.around(&BTreeMap::new());
    let of = |project: &str| {
        let http = Some(HttpEntry { url: URL_DEFAULT.to_owned(), secret: format!("hnd_{project}") });
        fs::create_dir_all(folder.base.join(project)).unwrap();
        SetupSurroundings { root: folder.base.join(project), http, ..stdio.clone() }
    };
    let file = || fs::read_to_string(folder.path("~/.claude.json")).unwrap();
    let (one, two) = (of("one"), of("two"));
    for (reach, around) in [(SetupReach::User, &stdio), (SetupReach::Project, &one), (SetupReach::Project, &two)] {
        apply(&plan(ClientProgram::ClaudeCode, reach, around).unwrap(), &around.receipts).unwrap();
    }
    assert_eq!(file().matches("\"handover\": {").count(), 3, "{}", file());
    apply(&undo(ClientProgram::ClaudeCode, SetupReach::Project, &one).unwrap(), &one.receipts).unwrap();
    assert!(!file().contains("hnd_one") && file().contains("hnd_two") && file().contains("\"stdio\""), "{}", file());
    apply(&undo(ClientProgram::ClaudeCode, SetupReach::User, &stdio).unwrap(), &stdio.receipts).unwrap();
    assert!(file().contains("hnd_two") && !file().contains("\"stdio\""), "{}", file());
    apply(&undo(ClientProgram::ClaudeCode, SetupReach::Project, &two).unwrap(), &two.receipts).unwrap();
    assert_eq!(folder.show(), users);
    assert_eq!(fs::read_dir(&stdio.receipts).unwrap().count(), 0, "no receipt is left");
}

/// Undoing the setup of one project does not change the setup for all projects of the user (`--user`).
#[test]
fn what_the_user_has_in_all_projects_stays() {
    for client in [
        ClientProgram::Codex,
        ClientProgram::Opencode,
        ClientProgram::Gemini,
        ClientProgram::Copilot,
        ClientProgram::Qwen,
    ] {
        let folder = Folder::new();
        let around = folder.around(&BTreeMap::new());
        apply(&plan(client, SetupReach::User, &around).unwrap(), &around.receipts).unwrap();
        let before = folder.show();
        assert_eq!(changed(&undo(client, SetupReach::Project, &around).unwrap()), Vec::<&Edit>::new(), "{client:?}");
        fs::remove_dir_all(&around.receipts).unwrap();
        assert_eq!(changed(&undo(client, SetupReach::Project, &around).unwrap()), Vec::<&Edit>::new(), "{client:?}");
        assert_eq!(folder.show(), before);
    }
}

#[test]
fn a_program_that_moved_is_undone_to_the_time_before_us() {
    let files = "-- .mcp.json\n{\"mcpServers\": {}}\n";
    let (folder, mut around) = set_up(ClientProgram::ClaudeCode, files);
    around.program = "/opt/handover".to_owned();
    let second = plan(ClientProgram::ClaudeCode, SetupReach::Project, &around).unwrap();
    assert_eq!(changed(&second).iter().map(|edit| edit.path.clone()).collect::<Vec<_>>(), [folder.path(".mcp.json")]);
    apply(&second, &around.receipts).unwrap();
    assert!(fs::read_to_string(folder.path(".mcp.json")).unwrap().contains("/opt/handover"));
    apply(&undo(ClientProgram::ClaudeCode, SetupReach::Project, &around).unwrap(), &around.receipts).unwrap();
    assert_eq!(folder.show(), files);
}

#[test]
fn undo_works_without_receipts() {
    let files = "-- .gemini/settings.json\n{\n  \"ui\": {}\n}\n-- GEMINI.md\nUse tabs.\n";
    let (folder, around) = set_up(ClientProgram::Gemini, files);
    fs::remove_dir_all(&around.receipts).unwrap();
    apply(&undo(ClientProgram::Gemini, SetupReach::Project, &around).unwrap(), &around.receipts).unwrap();
    assert_eq!(folder.show(), files);
}

#[test]
fn a_file_that_changed_since_the_plan_stops_all_of_it() {
    let folder = Folder::new();
    folder.fill("-- CLAUDE.md\nUse tabs.\n");
    let around = folder.around(&BTreeMap::new());
    let old = plan(ClientProgram::ClaudeCode, SetupReach::Project, &around).unwrap();
    folder.fill("-- CLAUDE.md\nUse spaces.\n");
    let problem = apply(&old, &around.receipts).unwrap_err().to_string();
    assert_eq!(
        problem,
        format!("another program changed {} at the same time; try again", folder.path("CLAUDE.md").display())
    );
    assert_eq!(folder.show(), "-- CLAUDE.md\nUse spaces.\n");
}

#[test]
fn a_failure_in_the_middle_gives_everything_back() {
    let folder = Folder::new();
    let around = folder.around(&BTreeMap::new());
    let mut broken = plan(ClientProgram::ClaudeCode, SetupReach::Project, &around).unwrap();
    // The last edit repeats the first one. It creates a file that exists by then, so it fails after all other edits
    // succeeded. Then `apply` must undo these edits.
    broken.edits.push(broken.edits[0].clone());
    apply(&broken, &around.receipts).unwrap_err();
    assert_eq!(folder.show(), "");
}

#[test]
fn receipts_hold_no_secrets_and_are_their_owners() {
    use std::os::unix::fs::PermissionsExt as _;
    let secret = "-- .mcp.json\n{\"mcpServers\":{\"a\":{\"command\":\"a\",\"env\":{\"TOKEN\":\"hunter2\"}}}}\n";
    let (_folder, around) = set_up(ClientProgram::ClaudeCode, secret);
    assert_eq!(fs::metadata(&around.receipts).unwrap().permissions().mode() & 0o777, 0o700);
    for receipt in fs::read_dir(&around.receipts).unwrap() {
        let text = fs::read_to_string(receipt.unwrap().path()).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn a_difference_shows_no_secrets_and_no_control_characters() {
    let folder = Folder::new();
    folder.fill(
        "-- .mcp.json\n{\n  \"mcpServers\": {\n    \"a\u{1b}[2J\": { \"env\": { \"API_KEY\": \"hunter2\" } }\n  }\n}\n",
    );
    let around = folder.around(&BTreeMap::new());
    let plan = plan(ClientProgram::ClaudeCode, SetupReach::Project, &around).unwrap();
    let path = folder.path(".mcp.json").display().to_string();
    let shown = diff(&plan.edits[0]).replace(&path, ".mcp.json");
    let expected = "--- .mcp.json\n+++ .mcp.json\n@@ -1,5 +1,10 @@\n {\n   \"mcpServers\": {\n\
                    -    \"a\u{fffd}[2J\": { \"env\": { \"API_KEY\": \"[redacted]\" } }\n\
                    +    \"a\u{fffd}[2J\": { \"env\": { \"API_KEY\": \"[redacted]\" } },\n\
                    +    \"handover\": {\n+      \"type\": \"stdio\",\n+      \"command\": \"handover\",\n\
                    +      \"args\": [\"mcp\"]\n+    }\n   }\n }\n";
    assert_eq!(shown, expected);
    assert_eq!(
        plan.edits.iter().map(Action::of).collect::<Vec<_>>(),
        [Action::Changed, Action::Created, Action::Created]
    );
}
