//! Tests of the repository's scripts: `scripts/outside` starts a command that is no descendant of the caller,
//! `scripts/test` runs every step even if one fails, and the documentation has the results of every long test that
//! `scripts/prove` runs.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The longest time that a test waits. Only a deadlock takes longer.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

/// A script that prints the environment, then the process id, the name and the program of every ancestor process.
const LOOK: &str = r#"
env
pid=$$
while [ "$pid" -gt 1 ]; do
    pid=$(sed 's/.*) //' "/proc/$pid/stat" | cut -d ' ' -f 2)
    printf 'ancestor %s %s %s\n' "$pid" "$(cat "/proc/$pid/comm")" "$(readlink "/proc/$pid/exe")"
done
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn program(path: impl AsRef<Path>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a test starts the scripts")]
    let mut command = Command::new(path.as_ref());
    command.current_dir(root()).stdin(Stdio::null()).env_remove("HANDOVER_OUTSIDE");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "bounds what a test waits for")]
    Instant::now()
}

/// Waits until a condition is true. The function checks the condition again and again, because no event tells the test
/// that it became true.
fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let until = now() + PATIENCE;
    while !is_true() {
        assert!(now() < until, "waited for: {what}");
        #[expect(clippy::disallowed_methods, reason = "a process that is not our child tells nobody how it goes")]
        std::thread::sleep(PAUSE);
    }
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn marks() -> Vec<String> {
    let text = fs::read_to_string(root().join("crates/handover/src/below/marks.txt")).unwrap();
    let names = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(names.len() > 5, "{names:?}");
    names
}

#[test]
fn a_command_outside_sees_neither_marks_nor_the_agent_above() {
    let folder = tempfile::tempdir().unwrap();
    // A copy of bash named `claude` stands in for an agent's client that runs a command in its shell tool.
    let client = folder.path().join("claude");
    fs::copy("/bin/bash", &client).unwrap();
    let look = folder.path().join("look.sh");
    script(&look, LOOK);
    let run = |line: &str| {
        let mut command = program(&client);
        command.args(["-c", line]).env("LOOK", &look).env("KEPT", "yes").env("HANDOVER_OUTSIDE", "1");
        let output = command.envs(marks().into_iter().map(|name| (name, ""))).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let is_above = |seen: &str| seen.lines().any(|line| line.starts_with("ancestor ") && line.contains("claude"));
    let has = |seen: &str, name: &str| seen.lines().any(|line| line.starts_with(&format!("{name}=")));
    // Without the second command, `true`, bash would replace itself by the first command and would no longer be its
    // ancestor.
    let inside = run("sh \"$LOOK\"; true");
    assert!(is_above(&inside) && marks().iter().all(|name| has(&inside, name)), "{inside}");
    let outside = run("scripts/outside sh \"$LOOK\"; true");
    assert!(!is_above(&outside), "{outside}");
    let seen: Vec<String> = marks().into_iter().filter(|name| has(&outside, name)).collect();
    assert_eq!(seen, Vec::<String>::new(), "{outside}");
    assert!(has(&outside, "KEPT"), "{outside}");
    // The ancestors of a command that `scripts/outside` started are a watcher process and then process 1 or a
    // subreaper. The test process is not among them.
    let own = format!("ancestor {} ", std::process::id());
    assert!(inside.contains(&own) && !outside.contains(&own), "{outside}");
}

#[test]
fn output_and_exit_code_of_a_command_outside_are_the_callers() {
    for (line, code, out, err) in
        [("echo a; echo b >&2; exit 7", 7, "a\n", "b\n"), ("exit 0", 0, "", ""), ("kill -KILL $$", 137, "", "")]
    {
        let output = program("scripts/outside").args(["sh", "-c", line]).output().unwrap();
        let found = (output.status.code(), text(&output.stdout), text(&output.stderr));
        assert_eq!(found, (Some(code), out.to_owned(), err.to_owned()), "{line}");
    }
    let missing = program("scripts/outside").arg("/there/is/no/such/program").output().unwrap();
    assert_eq!(missing.status.code(), Some(127), "{}", text(&missing.stderr));
}

/// A command that `scripts/outside` started, and its child, end when the caller is killed, at the latest after a grace
/// period.
#[test]
fn a_command_outside_ends_with_its_caller() {
    for signal in ["KILL", "TERM", "HUP"] {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let line = format!("sleep 1000 & echo $$ $! >{0}.new; mv {0}.new {0}; wait", pids.display());
        let mut front = program("scripts/outside").args(["sh", "-c", &line]).spawn().unwrap();
        wait_until("the command has begun", || pids.exists());
        let numbers = fs::read_to_string(&pids).unwrap();
        let pid = i32::try_from(front.id()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
        let signal_number = match signal {
            "KILL" => rustix::process::Signal::KILL,
            "TERM" => rustix::process::Signal::TERM,
            _ => rustix::process::Signal::HUP,
        };
        rustix::process::kill_process(pid, signal_number).unwrap();
        let status = front.wait().unwrap();
        assert!(!status.success(), "{signal}: {status}");
        for number in numbers.split_whitespace() {
            let is_gone = || {
                let stat = fs::read_to_string(format!("/proc/{number}/stat"));
                stat.map_or(true, |stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
            };
            wait_until(&format!("after {signal} process {number} has ended"), is_gone);
        }
    }
}

/// Runs `scripts/test` with a fake cargo that fails at the cargo commands in `failing` and records all calls.
fn tested(failing: &str) -> (Output, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (bin, notes) = (folder.path().join("bin"), folder.path().join("notes"));
    fs::create_dir(&bin).unwrap();
    let report = "<testcase name=\"one\" classname=\"store::file\" timestamp=\"x\" time=\"0.5\">\\n</testcase>\\n\
                  <testcase name=\"two\" classname=\"runner\" timestamp=\"x\" time=\"71.2\">\\n\
                  <failure type=\"test failure\">\\n</testcase>\\n";
    let cargo = format!(
        "#!/bin/sh\ncase $2 in --version) exit 0 ;; esac\necho \"$1\" >>{notes}\n\
         case \"$1 {failing}\" in nextest*nextest*) mkdir -p \"$CARGO_TARGET_DIR/nextest/default\"\n\
         printf '{report}' >\"$CARGO_TARGET_DIR/nextest/default/junit.xml\" ;; esac\n\
         case \" {failing} \" in *\" $1 \"*) exit 9 ;; esac\nexit 0\n",
        notes = notes.display(),
    );
    for name in ["cargo", "cargo-nextest", "cargo-deny"] {
        script(&bin.join(name), &cargo);
    }
    // These programs fail, as on a machine that has neither Node.js nor Python. So `scripts/test` skips the tests of
    // the TypeScript and Python clients.
    for name in ["node", "python3"] {
        script(&bin.join(name), "#!/bin/sh\nexit 1\n");
    }
    // This npm installs a TypeScript compiler that accepts everything, and nothing else.
    let npm = "#!/bin/sh\n[ \"$1\" = ci ] || exit 1\nmkdir -p \"$3/node_modules/.bin\"\n\
               printf '#!/bin/sh\\nexit 0\\n' >\"$3/node_modules/.bin/tsc\"\nchmod 755 \"$3/node_modules/.bin/tsc\"\n";
    script(&bin.join("npm"), npm);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = program("scripts/test");
    let output = command.env("PATH", path).env("CARGO_TARGET_DIR", folder.path().join("target")).output().unwrap();
    let notes = fs::read_to_string(notes).unwrap_or_default();
    (output, notes.lines().map(str::to_owned).collect())
}

/// The word `postgres` in the name puts this test into the group of tests that use a PostgreSQL server. It belongs
/// there because `scripts/test` starts such a server.
#[test]
fn the_test_command_with_postgres_runs_every_step_and_lists_the_failed_ones() {
    let (passed, all) = tested("");
    assert_eq!(passed.status.code(), Some(0), "{}{}", text(&passed.stdout), text(&passed.stderr));
    assert_eq!(all, ["fmt", "clippy", "nextest", "build", "test", "doc", "deny"]);
    let (failed, same) = tested("fmt nextest doc");
    let out = text(&failed.stdout);
    assert_eq!((failed.status.code(), &same), (Some(1), &all), "{out}{}", text(&failed.stderr));
    let end: Vec<&str> = out.lines().rev().take(4).collect();
    assert_eq!(
        [end[3], end[2], end[1], end[0]].map(str::trim),
        ["formatting", "tests", "test runner two", "documentation"],
        "{out}"
    );
    assert!(out.contains("71 s  runner two"), "{out}");
    for step in ["formatting: failed with exit code 9", "clippy: passed", "dependencies: passed"] {
        assert!(out.lines().any(|line| line.contains(" s  ") && line.ends_with(step)), "{step}: {out}");
    }
}

/// Checks that the documentation has the results of every long test that `scripts/prove` runs. Missing results mean
/// that the test was never run.
#[test]
fn every_proof_has_its_last_figures_in_the_documentation() {
    let list = program("scripts/prove").output().unwrap();
    let list = text(&list.stdout);
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"crash") && names.contains(&"steady"), "{list}");
    let page = fs::read_to_string(root().join("docs/proofs.md")).unwrap();
    let page = page.split("\n## ").find(|part| part.starts_with("Two sizes")).unwrap();
    for name in &names {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let cells = row.unwrap_or_default().split('|').count();
        assert_eq!(cells, 7, "docs/proofs.md lacks the row of {name}: name, figures, seconds, date, commit");
    }
    let rows = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, names.len(), "docs/proofs.md has a row of a proof that scripts/prove does not know");
}
