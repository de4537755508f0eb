//! Tests Python projects. The checks of an agent's work must never use the person's virtual environment, because a
//! check in that environment would test the person's code and not the agent's code.

use std::fs;

use crate::scene::EcosystemScene;

const FILES: &[(&str, &str)] = &[
    (".gitignore", ".venv\n__pycache__/\n"),
    ("src/shop/__init__.py", "def total(prices):\n    return sum(prices)\n"),
    (
        "tests/test_total.py",
        "import unittest\nfrom shop import total\n\n\nclass Total(unittest.TestCase):\n    def test_adds(self):\n        \
         self.assertEqual(total([2, 3]), 5)\n",
    ),
    // The person's settings ask for a copy of the virtual environment in every worktree. Handover must not copy it.
    (".worktreeinclude", ".venv\n.venv/\n.venv/**\n"),
];

/// A command that makes a virtual environment in which `import shop` finds the code of the current folder, as an
/// editable installation does.
const INSTALL: &str =
    "python3 -m venv --without-pip .venv && echo $PWD/src >$(echo .venv/lib/python3*/site-packages)/shop.pth";

fn settings() -> String {
    format!(
        "[worktree]\nsetup = [{{ command = [\"sh\", \"-c\", {INSTALL:?}] }}]\ncopy = [\".venv\", \".venv/**\"]\n\
         [verify]\nchecks = [{{ command = [\".venv/bin/python\", \"-m\", \"unittest\", \"discover\", \"-s\", \"tests\"] }}]\n"
    )
}

/// The script of the agent. It records whether its `.venv` is a link or a folder, and breaks the code, each time in
/// another way.
const BREAK: &str = "[ -L .venv ] && echo link >>\"$NOTES/kinds\" || echo folder >>\"$NOTES/kinds\"\n\
                     cat .venv/lib/python3*/site-packages/shop.pth >>\"$NOTES/paths\"\n\
                     printf 'def total(prices):\\n    return -%s\\n' $(wc -l <\"$NOTES/kinds\") >src/shop/__init__.py\n\
                     echo done";

fn broken_work_is_not_checked(scene: &EcosystemScene) {
    scene.shell(".venv/bin/python -m unittest discover -s tests");
    scene.settle(&settings(), BREAK);
    let ran = scene.add(&["Make total faster"]);
    let told =
        ["bot started", "bot finished", "check failed", "bot retrying", "bot finished", "check failed", "needs you"];
    assert_eq!(ran.labels(1)[..7], told, "{}", ran.text);
    assert_eq!(scene.note("kinds").unwrap(), "folder\nfolder\n");
    let paths = scene.note("paths").unwrap();
    let project = scene.path("project");
    assert!(paths.lines().all(|path| !std::path::Path::new(path).starts_with(&project)), "{paths}");
    scene.shell(".venv/bin/python -m unittest discover -s tests");
}

#[test]
fn the_environment_of_the_person_is_not_copied_into_worktrees() {
    let scene = EcosystemScene::new(FILES);
    scene.shell(INSTALL);
    broken_work_is_not_checked(&scene);
}

#[test]
fn an_environment_that_is_a_link_in_the_persons_tree_is_no_link_in_worktrees() {
    let scene = EcosystemScene::new(FILES);
    scene.shell(INSTALL);
    let elsewhere = scene.path("home").join("environment");
    fs::rename(scene.path("project").join(".venv"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, scene.path("project").join(".venv")).unwrap();
    broken_work_is_not_checked(&scene);
}
