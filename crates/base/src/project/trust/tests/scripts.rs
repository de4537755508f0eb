//! Tests which words of a command are scripts, and when a script counts as changed.

use std::collections::BTreeSet;

use super::Clone;
use crate::project::trust::script::{PlacedCommand, ScriptFolders, ScriptMarks};

/// A change that a task of an agent makes to a script file.
type ScriptChange = fn(&std::path::Path);

fn command(text: &str) -> Vec<String> {
    // The words of a test command are separated by one space; brackets join several words into one.
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (word, next) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']').unwrap(),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = next.trim_start();
    }
    words
}

fn placed(words: &[String]) -> PlacedCommand<'_> {
    PlacedCommand { words, folder: std::path::Path::new("") }
}

/// A script is identified by its path from the root of the repository, because two folders may have files of the same
/// name.
#[test]
fn a_check_in_a_folder_names_the_files_of_this_folder() {
    let clone = Clone::new("[verify]\nchecks = [{ command = [\"npm\", \"test\"], folder = \"web\" }]\n");
    clone.file("package.json", r#"{"scripts": {"test": "true"}}"#);
    clone.file("web/package.json", r#"{"scripts": {"test": "jest"}}"#);
    let lines = clone.view().list.lines();
    assert!(lines.iter().any(|line| line.starts_with("script web/package.json: sha256 ")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("script package.json")), "{lines:?}");
    clone.accept();
    let record = crate::project::trust::record_of(&clone.root(), &clone.data()).unwrap();
    let words = command("npm test");
    let changed = || {
        let folders = ScriptFolders { root: &clone.root(), runs_in: &clone.root() };
        let check = PlacedCommand { words: &words, folder: std::path::Path::new("web") };
        let found = crate::project::trust::changed_scripts_of(&record, folders, check).unwrap();
        found.into_iter().map(|script| script.name).collect::<Vec<_>>()
    };
    assert_eq!(changed(), Vec::<String>::new());
    clone.file("web/package.json", r#"{"scripts": {"test": "true"}}"#);
    assert_eq!(changed(), ["web/package.json"]);
}

#[test]
fn a_command_names_scripts_in_many_ways() {
    let clone = Clone::new("");
    for name in ["ci/check.sh", "ci/plain", "tools/x.py", "src/app.py", "README.md", "web/test.js", "x.mk", "run"] {
        clone.file(name, "text\n");
    }
    clone.file("ci/shebang", "#!/bin/sh\n");
    clone.file("my script.sh", "\n");
    clone.file("../outside.sh", "\n");
    let cases = [
        ("./ci/check.sh", "ci/check.sh"),
        ("ci/check.sh", "ci/check.sh"),
        ("ci/../ci/./check.sh --all", "ci/check.sh"),
        ("./ci/plain", "ci/plain"),
        ("./ci/not-there-yet", ""),
        ("../outside.sh", "../outside.sh"),
        ("bash ci/check.sh", "ci/check.sh"),
        ("bash -eu ci/plain", "ci/plain"),
        ("/bin/sh ci/plain", "ci/plain"),
        ("python3.12 tools/x.py --fast", "tools/x.py"),
        ("python -m pytest tools/x.py", "tools/x.py"),
        ("env A=1 timeout 60 bash ci/plain", "ci/plain"),
        ("unknown-wrapper ci/shebang", "ci/shebang"),
        ("unknown-wrapper --script=tools/x.py", "tools/x.py"),
        ("node web/test.js", "web/test.js"),
        ("make -f x.mk", "x.mk"),
        ("make -fx.mk", "x.mk"),
        ("sh -c [cd . && ./ci/plain; tools/x.py]", "ci/plain tools/x.py"),
        ("sh -c [. ci/plain]", "ci/plain"),
        ("sh -c [bash<ci/plain]", "ci/plain"),
        ("sh -c [\"$PWD/ci/check.sh\"]", "ci/check.sh"),
        ("sh -c [$(pwd)/ci/check.sh]", "ci/check.sh"),
        ("bash -c ci/check.sh", "ci/check.sh"),
        ("[my script.sh]", "my script.sh"),
        // Most of these commands name no file that they run; they only read files, or run programs such as `make`.
        // Another test checks the files that `make` and similar programs read by convention.
        ("npm test", ""),
        ("make test", ""),
        ("cargo test", ""),
        ("bun run check", "run"),
        ("test -e ci/check.sh", ""),
        ("grep -q x src/app.py", ""),
        ("sh -c [echo checked; test -e tools/x.py]", ""),
        ("sh -c [! test -e tools/x.py]", ""),
        ("sh -c [if test -e tools/x.py; then ./ci/plain; fi]", "ci/plain"),
        ("cat README.md", ""),
        ("unknown README.md", ""),
        ("/usr/bin/env true", ""),
        ("sh -c [exit 0]", ""),
    ];
    let root = clone.root();
    for (text, expected) in cases {
        let folders = ScriptFolders { root: &root, runs_in: &root };
        let found = ScriptMarks::default().changed(folders, placed(&command(text)));
        let names: BTreeSet<&str> = found.iter().map(|script| script.name.as_str()).collect();
        let expected: BTreeSet<&str> = match text {
            "[my script.sh]" => [expected].into(),
            _ => expected.split_whitespace().collect(),
        };
        assert_eq!(names, expected, "{text}");
    }
    let absolute = root.join("ci/plain").display().to_string();
    let folders = ScriptFolders { root: &root, runs_in: &root };
    let found = ScriptMarks::default().changed(folders, placed(std::slice::from_ref(&absolute)));
    assert_eq!(found.len(), 1, "{absolute}");
}

/// A program such as `make` reads certain files by convention. These files count as named by the command, in the folder
/// in which it runs.
#[test]
fn a_command_names_the_files_that_its_runner_reads() {
    let clone = Clone::new("");
    let files = ["Makefile", "sub/makefile", "rules/a.mk", "rules/b", "package.json", "web/package.json", ".npmrc"];
    let more = ["justfile", "ci/justfile", "Taskfile.yml", "tox.ini", "noxfile.py", ".cargo/config.toml", "plain"];
    for name in files.iter().chain(&more) {
        clone.file(name, "{}\n");
    }
    clone.file("Makefile", "include rules/a.mk # rules\n-include not-there $(OTHER) *.mk\ntest:\n\t./run\n");
    clone.file("rules/a.mk", "sinclude rules/b\n");
    let make = "Makefile rules/a.mk rules/b";
    let cases = [
        ("make test", make),
        ("make", make),
        ("/usr/bin/make -s test", make),
        ("env CI=1 timeout 60 make test", make),
        ("sh -c [set -e; make test]", make),
        ("make -C sub test", "sub/makefile"),
        ("make -Csub test", "sub/makefile"),
        ("make --directory=sub test", "sub/makefile"),
        ("sh -c [cd sub && make test]", "sub/makefile"),
        ("make -f plain test", "Makefile plain rules/a.mk rules/b"),
        ("make --file=plain test", "Makefile plain rules/a.mk rules/b"),
        ("npm test", ".npmrc package.json"),
        ("npm run check -- --fast", ".npmrc package.json"),
        ("npm --prefix web test", "web/package.json"),
        ("pnpm -C web test", "web/package.json"),
        ("yarn test", ".npmrc package.json"),
        ("yarn --cwd web test", "web/package.json"),
        ("bun test", "package.json"),
        ("just test", "justfile"),
        ("just --justfile ci/justfile test", "ci/justfile justfile"),
        ("task test", "Taskfile.yml"),
        ("tox -e py", "tox.ini"),
        ("nox", "noxfile.py"),
        ("cargo test", ".cargo/config.toml"),
        ("cargo nextest run", ".cargo/config.toml"),
        // These commands contain the name of `make` or of a similar program, or a file that it reads, but do not run
        // it.
        ("echo make", ""),
        ("cat package.json", ""),
        ("cmake --build .", ""),
    ];
    let root = clone.root();
    for (text, expected) in cases {
        let folders = ScriptFolders { root: &root, runs_in: &root };
        let found = ScriptMarks::default().changed(folders, placed(&command(text)));
        let names: BTreeSet<&str> = found.iter().map(|script| script.name.as_str()).collect();
        assert_eq!(names, expected.split_whitespace().collect(), "{text}");
    }
}

/// Each case has the command of a check, a file that a task changes, the new content of that file, and the files that a
/// person must look at after the change.
#[test]
fn a_runner_whose_file_the_task_changed_is_a_changed_check() {
    let package = r#"{"name": "x", "scripts": {"test": "jest", "lint": "eslint ."}, "dependencies": {"a": "1"}}"#;
    let cases: [(&str, &str, &str, &str); 16] = [
        ("npm test", "package.json", r#"{"scripts": {"test": "true", "lint": "eslint ."}}"#, "package.json"),
        (
            "npm test",
            "package.json",
            r#"{"scripts": {"test": "jest", "lint": "eslint .", "pretest": "x"}}"#,
            "package.json",
        ),
        ("npm test", "package.json", r#"{"name": "x"}"#, "package.json"),
        ("npm test", "package.json", "no JSON", "package.json"),
        // When dependencies, the version or the order of scripts change, no person must accept the file again.
        (
            "npm test",
            "package.json",
            r#"{"scripts": {"lint": "eslint .", "test": "jest"}, "dependencies": {"b": "2"}}"#,
            "",
        ),
        ("npm test", "package.json", r#"{"version": "2", "scripts": {"test":"jest","lint":"eslint ."}}"#, ""),
        ("npm test", "src/a.js", "1", ""),
        // The task creates a configuration file that did not exist when a person accepted the check.
        ("npm test", ".npmrc", "script-shell=/bin/true", ".npmrc"),
        ("make test", "Makefile", "test:\n\ttrue\n", "Makefile"),
        ("make test", "GNUmakefile", "test:\n\ttrue\n", "GNUmakefile"),
        ("make test", "rules.mk", "test:\n\ttrue\n", "rules.mk"),
        ("make test", "package.json", "{}", ""),
        ("just test", "justfile", "test:\n  true\n", "justfile"),
        ("task test", "Taskfile.yml", "tasks: {}\n", "Taskfile.yml"),
        ("tox", "tox.ini", "[tox]\n", "tox.ini"),
        ("cargo test", ".cargo/config.toml", "[alias]\ntest = \"version\"\n", ".cargo/config.toml"),
    ];
    for (check, file, content, expected) in cases {
        let clone = Clone::new(&format!("[contract.code]\nchecks = [{{ command = {:?} }}]\n", command(check)));
        let files = [
            ("package.json", package),
            ("Makefile", "include rules.mk\ntest:\n\t./run\n"),
            ("rules.mk", ""),
            ("justfile", "test:\n  ./run\n"),
            ("Taskfile.yml", "tasks: {test: ./run}\n"),
            ("tox.ini", "[testenv]\n"),
        ];
        let worktree = clone.folder.path().join("worktree");
        for (name, text) in files {
            clone.file(name, text);
            clone.file(&format!("../worktree/{name}"), text);
        }
        clone.accept();
        let record = crate::project::trust::record_of(&clone.root(), &clone.data()).unwrap();
        let changed = || {
            let folders = ScriptFolders { root: &clone.root(), runs_in: &worktree };
            let found = crate::project::trust::changed_scripts(&record, folders, &command(check)).unwrap();
            found.into_iter().map(|script| script.name).collect::<Vec<_>>()
        };
        assert_eq!(changed(), [""; 0], "{check}");
        clone.file(&format!("../worktree/{file}"), content);
        assert_eq!(changed().join(" "), expected, "{check}: {file} becomes {content}");
    }
}

/// For a manifest such as `package.json`, a person sees its scripts and not its dependencies.
#[test]
fn of_a_manifest_the_scripts_are_shown() {
    let clone = Clone::new("");
    clone.file("package.json", r#"{"scripts": {"test": "jest"}, "dependencies": {"a": "1"}}"#);
    let shown = crate::project::trust::beginning(&clone.root().join("package.json")).unwrap();
    assert_eq!(shown, "{\n  \"scripts\": {\n    \"test\": \"jest\"\n  }\n}\n");
}

/// Each case has a change that a task makes to a script in its worktree. The expected value says if the result of the
/// check that runs the script still counts.
#[test]
fn a_script_is_compared_where_it_runs() {
    let clone = Clone::new("[contract.code]\nchecks = [{ command = [\"bash\", \"ci/check\"] }]\n");
    clone.file("ci/check", "exit 1\n");
    clone.file("ci/lib", "exit 0\n");
    let view = clone.view();
    assert!(view.list.lines().iter().any(|line| line.starts_with("script ci/check: sha256 ")), "{:?}", view.list);
    clone.accept();
    let record = crate::project::trust::record_of(&clone.root(), &clone.data()).unwrap();
    let worktree = clone.folder.path().join("worktree");
    let at = |name: &str| worktree.join(name);
    let words = command("bash ci/check");
    let changed = || {
        let folders = ScriptFolders { root: &clone.root(), runs_in: &worktree };
        crate::project::trust::changed_scripts(&record, folders, &words).unwrap()
    };
    std::fs::create_dir_all(at("ci")).unwrap();
    std::fs::write(at("ci/check"), "exit 1\n").unwrap();
    std::fs::write(at("ci/lib"), "exit 0\n").unwrap();
    assert_eq!(changed(), []);
    let attacks: [(&str, ScriptChange); 5] = [
        ("another content", |path| std::fs::write(path, "exit 0\n").unwrap()),
        ("no script any more", |path| std::fs::write(path, "").unwrap()),
        ("it is gone", |path| std::fs::remove_file(path).unwrap()),
        ("a link to another one", |path| {
            std::fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("lib", path).unwrap();
        }),
        ("a folder", |path| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }),
    ];
    for (attack, make) in attacks {
        make(&at("ci/check"));
        assert_eq!(changed().len(), 1, "{attack}");
        if at("ci/check").is_dir() {
            std::fs::remove_dir(at("ci/check")).unwrap();
        } else {
            let _gone = std::fs::remove_file(at("ci/check"));
        }
        std::fs::write(at("ci/check"), "exit 1\n").unwrap();
        assert_eq!(changed(), [], "{attack}");
    }
    // A person has seen the script's new content. From then on the old and the new content are both accepted.
    std::fs::write(at("ci/check"), "exit 0\n").unwrap();
    let seen: Vec<_> = changed().into_iter().map(|script| (script.name, script.mark)).collect();
    crate::project::trust::remember(&record, &seen).unwrap();
    assert_eq!(changed(), []);
    std::fs::write(at("ci/check"), "exit 1\n").unwrap();
    assert_eq!(changed(), []);
    // Accepting the settings again keeps the script contents that the person saw earlier.
    clone.accept();
    std::fs::write(at("ci/check"), "exit 0\n").unwrap();
    assert_eq!(changed(), []);
}

/// When the script of a check changes in the main worktree, the change does not wait for a person. When the program
/// that starts an agent changes, a person must accept it again.
#[test]
fn a_program_that_starts_an_agent_is_asked_about_again() {
    let clone = Clone::new(
        "[contract.code]\nchecks = [{ command = [\"./check\"] }]\n\
         [[agent]]\nslug = \"quinn\"\nadapter = \"exec\"\ncommand = [\"python\", \"agents/run.py\"]\n",
    );
    clone.file("check", "1");
    clone.file("agents/run.py", "1");
    clone.accept();
    clone.file("check", "2");
    assert_eq!(clone.required(), Ok(()));
    assert_eq!(clone.view().changes.len(), 1);
    clone.file("agents/run.py", "2");
    let refused = clone.required().unwrap_err();
    assert!(refused.contains("~ script agents/run.py: sha256 "), "{refused}");
    clone.accept();
    assert_eq!(clone.required(), Ok(()));
    clone.file("agents/run.py", "1");
    assert!(clone.required().is_err(), "only the last accepted program starts");
}

/// The program of the check is in a virtual environment that exists only in the worktree of a task. It is a link, which
/// the setup made, to a program of the machine. So it is not a changed script, although no person accepted it.
#[test]
fn a_program_of_the_machine_behind_a_link_of_the_setup_is_no_changed_script() {
    let check = r#"checks = [{ command = [".venv/bin/python", "-m", "unittest"] }]"#;
    let clone = Clone::new(&format!("[verify]\n{check}\n"));
    clone.accept();
    let record = crate::project::trust::record_of(&clone.root(), &clone.data()).unwrap();
    let worktree = tempfile::tempdir().unwrap();
    let folders = ScriptFolders { root: &clone.root(), runs_in: worktree.path() };
    let changed = || {
        let found = crate::project::trust::changed_scripts(&record, folders, &command(".venv/bin/python -m unittest"));
        found.unwrap().into_iter().map(|script| script.name).collect::<Vec<_>>()
    };
    let program = worktree.path().join(".venv/bin/python");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    assert_eq!(changed(), Vec::<String>::new());
    // When the program is a regular file in the worktree and not a link, the task may have written it. So it counts as
    // a changed script.
    std::fs::remove_file(&program).unwrap();
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    assert_eq!(changed(), [".venv/bin/python"]);
}
