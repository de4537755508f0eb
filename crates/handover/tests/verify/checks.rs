//! Tests every way in which a check can end. A check is a program that judges the output of a task.

use std::fs;

use agents::host::{self, ProgramEnd};
use base::ground::digest::sha256;
use base::project::environment;
use base::project::settings::team::CheckSettings;
use runner::verify::{CheckEnded, CheckResult, TurnFacts, VerificationProgress, VerifiedContract, VerifyFault};
use wire::message::OutputType;

use super::scene::{Scene, check, contract, shell};

fn held_to(checks: Vec<CheckSettings>) -> VerifiedContract {
    VerifiedContract { checks, ..contract(OutputType::File) }
}

/// Runs one check of an output, and asserts that no process of the check is alive afterwards.
async fn run(scene: &Scene, check: CheckSettings) -> CheckResult {
    let verified = scene.verify(&held_to(vec![check]), &TurnFacts::default()).await;
    assert_eq!(scene.living(), Vec::<String>::new());
    assert_eq!(verified.evidence.has_passed(), verified.evidence.checks[0].has_passed());
    verified.evidence.checks.into_iter().next().unwrap()
}

#[tokio::test]
async fn how_a_check_ends_is_kept() {
    let quiet = 1 << 30;
    let cases = [
        (shell("exit 0"), CheckEnded::Exited, Some(0), quiet),
        (shell("exit 1"), CheckEnded::Exited, Some(1), quiet),
        (shell("exit 127"), CheckEnded::Exited, Some(127), quiet),
        (shell("kill -9 $$"), CheckEnded::Signalled { signal: 9 }, None, quiet),
        (CheckSettings { seconds: 1, ..shell("sleep 1000") }, CheckEnded::TimedOut, None, quiet),
        (
            CheckSettings { seconds: 1, ..shell("trap '' TERM; while :; do sleep 1; done") },
            CheckEnded::TimedOut,
            None,
            quiet,
        ),
        (shell("while :; do echo 0123456789; done"), CheckEnded::TooMuchOutput, None, 10_000),
        // A check that writes too much output fails, regardless of its exit code.
        (shell("head -c 20000 /dev/zero"), CheckEnded::TooMuchOutput, None, 10_000),
    ];
    for (check, ended, exit_code, output_bytes_max) in cases {
        let mut scene = Scene::new();
        scene.output_bytes_max = output_bytes_max;
        let found = run(&scene, check.clone()).await;
        assert_eq!((found.ended.clone(), found.exit_code), (ended, exit_code), "{check:?}");
        assert_eq!(found.has_passed(), exit_code == Some(0), "{check:?}");
        assert_eq!((found.command, found.leaked), (check.command, false));
        assert!(found.seconds < 30.0);
    }
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let scene = Scene::new();
    scene.write("no-program", "text");
    for name in ["no-such-program", "./no-such-program", "./no-program"] {
        let found = run(&scene, check(&[name, "x"])).await;
        assert!(matches!(&found.ended, CheckEnded::NotStarted { why } if why.contains(name)), "{found:?}");
        assert!(found.told().contains("could not be started"), "{}", found.told());
    }
}

#[tokio::test]
async fn what_it_wrote_is_hashed_and_its_end_is_kept() {
    let scene = Scene::new();
    let found = run(&scene, shell("echo out; printf '\\033[31mred\\033[0m \\377\\n' >&2; exit 3")).await;
    assert_eq!(found.output_sha256, sha256(b"out\n\x1b[31mred\x1b[0m \xff\n"));
    assert_eq!(found.tail, "out\nred \u{fffd}");
    let found = run(&scene, shell("head -c 300000 /dev/zero | tr '\\0' x; printf '%s' end")).await;
    assert_eq!(found.output_sha256, sha256(format!("{}end", "x".repeat(300_000)).as_bytes()));
    assert!(found.tail.len() <= 8 << 10 && found.tail.ends_with("xend"));
    let found = run(&scene, shell("for i in $(seq 20000); do printf 'ü'; done; exit 1")).await;
    assert!(found.tail.chars().all(|letter| letter == 'ü'), "no letter is cut");
    assert_eq!(run(&scene, shell("true")).await.tail, "");
}

#[tokio::test]
async fn it_runs_in_the_worktree_with_a_small_environment() {
    let scene = Scene::new();
    let found = run(&scene, shell("pwd; env | cut -d= -f1 | sort | tr '\\n' ' '; cat")).await;
    let (folder, names) = found.tail.split_once('\n').unwrap();
    assert_eq!(folder, scene.worktree().display().to_string());
    let none = base::project::settings::EnvironmentSettings::default();
    let kept = environment::inherited_here(environment::ProgramKind::Check, &none);
    let ours = ["GIVEN", "HANDOVER_TURN", "PWD", "_", "SHLVL", "OLDPWD"];
    for name in names.split_whitespace() {
        assert!(kept.iter().any(|kept| kept == name) || ours.contains(&name), "{name}");
    }
    assert!(names.contains("GIVEN") && names.contains("HANDOVER_TURN") && names.contains("PATH"));
}

#[tokio::test]
async fn nothing_of_a_check_outlives_it() {
    for script in [
        "sleep 1000 & echo left",
        "(setsid sleep 1000 </dev/null >/dev/null 2>&1 &)",
        "(setsid sh -c 'trap \"\" TERM HUP; sleep 1000; sleep 1000' </dev/null >/dev/null 2>&1 &)",
    ] {
        let scene = Scene::new();
        let found = run(&scene, shell(script)).await;
        // The check passed, but its result says that it left a process behind.
        assert_eq!((found.exit_code, found.leaked), (Some(0), true), "{script}");
    }
}

#[tokio::test]
async fn all_checks_run_in_their_order_and_are_shown() {
    let scene = Scene::new();
    let contract = held_to(vec![shell("echo 1 >> order; exit 1"), shell("echo 2 >> order"), check(&["false"])]);
    let mut seen = Vec::new();
    let verified = scene
        .try_verify(&contract, &TurnFacts::default(), &mut |progress| {
            seen.push(match progress {
                VerificationProgress::Output => "output".to_owned(),
                VerificationProgress::Check { number, of, command } => format!("{number}/{of} {}", command[0]),
                VerificationProgress::Checked { number, check, .. } => format!("{number} {:?}", check.exit_code),
            });
        })
        .await
        .unwrap();
    assert_eq!(fs::read_to_string(scene.worktree().join("order")).unwrap(), "1\n2\n");
    let expected = ["output", "1/3 sh", "1 Some(1)", "2/3 sh", "2 Some(0)", "3/3 false", "3 Some(1)"];
    assert_eq!(seen, expected);
    let codes: Vec<String> = verified.evidence.complaints(None).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["CHECK_FAILED", "CHECK_FAILED"]);
    assert_eq!(verified.evidence.commit.as_deref(), Some("c0ffee"));
}

/// Tests a verification that is dropped in the middle: its processes end, and another verification in the same folder
/// waits until they have ended.
#[tokio::test]
async fn a_verification_that_is_dropped_cuts_its_check_off() {
    let scene = Scene::new();
    let begun = scene.bell();
    let contract = held_to(vec![shell("(setsid sleep 1000 >/dev/null 2>&1 &); echo begun > bell; sleep 1000")]);
    let facts = TurnFacts::default();
    tokio::select! {
        _ = scene.verify(&contract, &facts) => panic!("it does not end by itself"),
        rung = begun => rung.unwrap(),
    }
    // The processes of the dropped check may still be ending here. The next verification must wait for them.
    let again = scene.verify(&held_to(vec![shell("echo again")]), &TurnFacts::default()).await;
    assert_eq!(again.evidence.checks[0].tail, "again");
    assert_eq!(scene.living(), Vec::<String>::new());
}

#[tokio::test]
async fn a_check_whose_host_was_killed_is_no_verdict() {
    let scene = Scene::new();
    let begun = scene.bell();
    let contract = held_to(vec![shell("echo begun > bell; sleep 1000")]);
    let (facts, mut silent) = (TurnFacts::default(), |_: VerificationProgress<'_>| ());
    let verifying = scene.try_verify(&contract, &facts, &mut silent);
    let killing = async {
        begun.await.unwrap();
        let host = parent(&scene.living());
        rustix::process::kill_process(host, rustix::process::Signal::KILL).unwrap();
    };
    let (verified, ()) = tokio::join!(verifying, killing);
    assert!(matches!(verified, Err(VerifyFault::Lost { .. })), "{verified:?}");
    assert_eq!(scene.living(), Vec::<String>::new());
    assert!(matches!(host::ended(&scene.hosts().join("check-1")).unwrap().unwrap().how, ProgramEnd::Lost { .. }));
}

/// Returns the host of a check: the process that is the parent of these processes and not one of them.
fn parent(living: &[String]) -> rustix::process::Pid {
    let parent = |pid: &String| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit_once(')')?.1.split_ascii_whitespace().nth(1).map(str::to_owned)
    };
    let parents = living.iter().filter_map(parent);
    let host = parents.into_iter().find(|parent| !living.contains(parent)).unwrap();
    let name = fs::read_to_string(format!("/proc/{host}/cmdline")).unwrap();
    assert!(name.contains("turn-host"), "{name}");
    rustix::process::Pid::from_raw(host.parse().unwrap()).unwrap()
}
