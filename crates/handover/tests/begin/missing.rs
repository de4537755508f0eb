//! Tests the output of `handover init` in a folder that lacks something, such as a commit, and the output as JSON.

use crate::scene::BeginScene;

#[test]
fn outside_of_git_the_line_says_how_to_begin() {
    let scene = BeginScene::empty("notes");
    let said = scene.script(&["init"]);
    assert_eq!(
        (said.code, said.text.as_str()),
        (
            2,
            "This folder is not a git repository. Handover shows you a diff before anything changes, so it needs one: \
             git init && git add -A && git commit -m start\n"
        )
    );
    let json = scene.script(&["init", "--json"]);
    assert!(json.code == 2 && json.text.starts_with("{\"error\":"), "{json:?}");
    assert_eq!(scene.own_files(), Vec::<String>::new());
}

#[test]
fn without_a_commit_the_line_says_how_to_make_one() {
    let scene = BeginScene::empty("notes");
    scene.git(&["init", "--quiet"]);
    let said = scene.script(&["init"]);
    let line = "This repository has no commit. Agents start from a commit: git add -A && git commit -m start\n";
    assert_eq!((said.code, said.text.as_str()), (2, line));
    assert_eq!(scene.own_files(), Vec::<String>::new());
}

#[test]
fn json_has_what_was_found_and_written() {
    let scene = BeginScene::new("notes", &[("Makefile", "test:\n\tgrep -q a Makefile\n.PHONY: test\n")]);
    scene.install("make", "exit 0");
    scene.install("claude", crate::screens::CLAUDE);
    let said = scene.script(&["init", "--json"]);
    let printed: serde_json::Value = serde_json::from_str(&said.text).unwrap();
    assert_eq!(said.code, 0);
    assert_eq!(
        printed["written"],
        serde_json::json!([".handover/config.toml", ".handover/local.toml", ".handover/.gitignore"])
    );
    assert_eq!(printed["checks"], serde_json::json!([{"command": ["make", "test"], "folder": ""}]));
    let claude = &printed["agents"][0];
    assert_eq!(
        (&claude["name"], &claude["version"], &claude["login"]),
        (&"claude".into(), &"2.1.325".into(), &"logged_in".into())
    );
    assert_eq!(printed["trusted"], false);
    let again: serde_json::Value = serde_json::from_str(&scene.script(&["init", "--json"]).text).unwrap();
    assert_eq!((&again["written"], again["kept"].as_array().map(Vec::len)), (&serde_json::json!([]), Some(3)));
}

#[test]
fn examples_are_written_on_request_and_never_replaced() {
    let scene = BeginScene::new("notes", &[("README.md", "# Notes\n")]);
    scene.write(".handover/cards/builder.json", "mine");
    let said = scene.script(&["init", "--examples"]);
    assert!(
        said.code == 0 && said.text.contains("Wrote examples into .handover: cards, skills, contracts, templates."),
        "{}",
        said.text
    );
    assert_eq!(scene.read(".handover/cards/builder.json").as_deref(), Some("mine"));
    let files = scene.own_files();
    for name in ["cards/reviewer.json", "contracts/report.json", "templates/bugfix.yaml", "skills/platform-env.md"] {
        assert!(files.iter().any(|file| file == name), "{name}: {files:?}");
    }
    let again = scene.script(&["init", "--examples"]);
    assert!(again.text.contains("Nothing changed") && !again.text.contains("Wrote"), "{}", again.text);
}
