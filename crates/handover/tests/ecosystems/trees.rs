//! Tests that test programs such as pytest, started in the person's work tree, do not find the tests that agents write
//! in their own worktrees.

use std::fs;

use crate::scene::{EcosystemScene, read};

/// The end of the agent's script: waits until the test creates the file `go`, so that the worktrees of all agents exist
/// at the same time.
const WAIT: &str = "while [ ! -e \"$NOTES/go\" ]; do sleep 0.05; done; echo done";

/// Runs three tasks at the same time, and checks that the number of tests in the person's work tree is the same before,
/// during and after them. `count` is a command line that prints this number.
fn counts_stay(scene: &EcosystemScene, bot: &str, count: &str) {
    let number = || scene.shell(count).trim().parse::<u32>().unwrap();
    scene.settle(
        "[verify]\nchecks = []\n",
        &format!("{bot}\ntouch \"$NOTES/begun-$(echo \"$goal\" | cut -c1)\"\n{WAIT}"),
    );
    assert_eq!(number(), 2);
    let mut child = scene.begin(&["1 One", "2 Two", "3 Three"]);
    let during = number();
    fs::write(scene.path("notes").join("go"), "").unwrap();
    let ran = read(&mut child);
    assert_eq!((during, number()), (2, 2), "{}", ran.text);
    // Check that the agents really wrote tests: each task's branch has one.
    for task in 1..=3 {
        assert_eq!(ran.labels(task)[..2], ["bot started", "bot finished"], "{}", ran.text);
        assert!(scene.files_of(task).lines().any(|file| file.contains("test_agent")), "{}", scene.files_of(task));
    }
}

#[test]
fn node_finds_as_many_tests_while_three_tasks_run() {
    let test = "const test = require('node:test');\ntest('one', () => {});\ntest('two', () => {});\n";
    let scene = EcosystemScene::new(&[("package.json", r#"{"name": "shop"}"#), ("test/one.test.js", test)]);
    counts_stay(
        &scene,
        "cp test/one.test.js test/test_agent.test.js",
        "node --test --test-reporter=tap | sed -n 's/^# tests //p'",
    );
}

#[test]
fn pytest_finds_as_many_tests_while_three_tasks_run() {
    let test = "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n";
    let scene = EcosystemScene::new(&[(".gitignore", "__pycache__/\n.pytest_cache/\n"), ("test_shop.py", test)]);
    counts_stay(&scene, "cp test_shop.py test_agent.py", "python3 -m pytest -v | grep -c PASSED");
}

#[test]
fn go_finds_as_many_tests_while_three_tasks_run() {
    let test = "package shop\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {}\n\nfunc TestTwo(t *testing.T) {}\n";
    let scene = EcosystemScene::new(&[("go.mod", "module example.org/shop\n\ngo 1.19\n"), ("shop_test.go", test)]);
    let bot = "mkdir agent; sed 's/package shop/package agent/' shop_test.go >agent/test_agent_test.go";
    counts_stay(&scene, bot, "go test -v ./... | grep -c -- '--- PASS'");
}
