//! Tests npm projects: npm workspaces, a lock file that the agent changes, and installed dependencies that stay in an
//! agent's worktree.

use crate::scene::EcosystemScene;

const IGNORED: &str = "node_modules/\n";

/// The files of a project with two packages. Only `b` has a test, and the test uses `a` through `node_modules`.
const WORKSPACES: &[(&str, &str)] = &[
    (".gitignore", IGNORED),
    (
        "package.json",
        r#"{"name": "shop", "private": true, "workspaces": ["packages/*"],
            "scripts": {"test": "npm test --workspaces --if-present"}}"#,
    ),
    ("packages/a/package.json", r#"{"name": "a", "version": "1.0.0"}"#),
    ("packages/a/index.js", "exports.sum = (x, y) => x + y;\n"),
    (
        "packages/b/package.json",
        r#"{"name": "b", "version": "1.0.0", "dependencies": {"a": "1.0.0"}, "scripts": {"test": "node --test"}}"#,
    ),
    (
        "packages/b/b.test.js",
        "require('node:test')('adds', () => require('node:assert').equal(require('a').sum(2, 3), 5));\n",
    ),
];

/// The files of a package that depends on another package in a folder of the same repository.
const ONE_DEPENDENCY: &[(&str, &str)] = &[
    (".gitignore", IGNORED),
    (
        "package.json",
        r#"{"name": "shop", "dependencies": {"left": "file:vendor/left"}, "scripts": {"test": "node --test"}}"#,
    ),
    ("vendor/left/package.json", r#"{"name": "left", "version": "1.0.0"}"#),
    ("vendor/left/index.js", "module.exports = 'left';\n"),
    ("vendor/right/package.json", r#"{"name": "right", "version": "1.0.0"}"#),
    ("vendor/right/index.js", "module.exports = 'right';\n"),
    (
        "test/left.test.js",
        "require('node:test')('left', () => require('node:assert').equal(require('left'), 'left'));\n",
    ),
];

/// Creates a project from these files, installs its dependencies in the person's work tree, and commits the lock file.
fn installed(files: &[(&str, &str)]) -> EcosystemScene {
    let scene = EcosystemScene::new(files);
    scene.shell("npm install --offline --no-audit --no-fund && npm test");
    scene.shell("git add package-lock.json && git commit --quiet --message lock");
    scene
}

#[test]
fn work_that_breaks_the_package_of_another_packages_test_is_never_called_checked() {
    let scene = installed(WORKSPACES);
    scene.settle("", "echo \"exports.sum = () => $(wc -l <packages/a/index.js);\" >>packages/a/index.js; echo done");
    let ran = scene.add(&["Make sum faster"]);
    let told =
        ["bot started", "bot finished", "check failed", "bot retrying", "bot finished", "check failed", "needs you"];
    assert_eq!(ran.labels(1)[..7], told, "{}", ran.text);
    let merged = scene.handover(&["merge", "1", "--yes"]);
    assert_eq!(merged.code, Some(1), "{merged:?}");
    assert_eq!(scene.shell("git log --format=%s main"), "lock\nstart\n");
}

#[test]
fn work_that_keeps_both_packages_working_is_checked_and_merged() {
    let scene = installed(WORKSPACES);
    scene.settle("", "echo 'exports.half = (x) => x / 2;' >>packages/a/index.js; echo added half");
    let ran = scene.add(&["Add half"]);
    assert_eq!(ran.labels(1)[..3], ["bot started", "bot finished", "checked"], "{}", ran.text);
    let merged = scene.handover(&["merge", "1", "--yes"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    assert!(scene.shell("git show main:packages/a/index.js").contains("half"));
}

#[test]
fn a_lock_file_that_the_agent_changed_is_installed_before_the_check() {
    let scene = installed(ONE_DEPENDENCY);
    // The agent changes only the manifest and the lock file, and adds a test. This test passes only if Handover
    // installs the dependencies again before the check.
    let bot = "npm install --package-lock-only --offline --no-audit --no-fund ./vendor/right >&2\n\
               [ ! -e node_modules/right ]\n\
               sed s/left/right/g test/left.test.js >test/right.test.js\n\
               echo uses right";
    scene.settle("", bot);
    let ran = scene.add(&["Use right"]);
    assert_eq!(ran.labels(1)[..3], ["bot started", "bot finished", "checked"], "{}", ran.text);
    let files = scene.files_of(1);
    assert!(files.contains("test/right.test.js") && !files.contains("node_modules"), "{files}");
    assert!(
        scene
            .shell("git diff main..$(git branch --list 'handover/1-*' --format='%(refname)')")
            .contains("vendor/right")
    );
}

#[test]
fn installed_packages_stay_in_the_worktree_for_the_next_task() {
    let scene = installed(ONE_DEPENDENCY);
    // The agent puts the file `mark` into `node_modules`. `npm ci` deletes this folder first, so the next task finds
    // the file only if `npm ci` did not run again.
    let bot = "pwd >>\"$NOTES/folders\"; ls node_modules/mark >>\"$NOTES/marks\" 2>&1 || true; touch node_modules/mark\n\
               echo \"// $goal\" >>vendor/left/index.js; echo said";
    scene.settle("", bot);
    for (number, task) in [(1, "First"), (2, "Second")] {
        let ran = scene.add(&[task]);
        assert_eq!(ran.labels(number)[..3], ["bot started", "bot finished", "checked"], "{}", ran.text);
        let merged = scene.handover(&["merge", &number.to_string(), "--yes"]);
        assert_eq!(merged.code, Some(0), "{merged:?}");
    }
    let folders = scene.note("folders").unwrap();
    let folders: Vec<&str> = folders.lines().collect();
    assert_eq!((folders.len(), folders[0]), (2, folders[1]), "both tasks use one worktree");
    assert!(!std::path::Path::new(folders[0]).starts_with(scene.path("project")), "{folders:?}");
    let marks = scene.note("marks").unwrap();
    let found: Vec<bool> = marks.lines().map(|line| line == "node_modules/mark").collect();
    assert_eq!(found, [false, true], "{marks}");
}
