//! Tests the verdict of a project check for the ends of its runs and for its result on the commit where the task
//! started.

use super::*;

/// Each row has the ends of the runs in their order, the result on the commit where the task started, the number of
/// retries, and the expected verdict. In the runs, `p` is passed, `f` failed, `t` timed out, `n` no tests, and `x` not
/// started. `again` means that the check runs again.
const ROWS: &str = "
# the first run passes
p        passes    1   checked
p        unknown   1   checked
p        no-tests  1   checked
# a failing baseline that the task makes pass is checked
p        fails     1   checked
p        times-out 1   checked
# a failure is repeated on the same tree before the agent is blamed
f        passes    1   again
ff       passes    1   failed
f        passes    0   failed
fff      passes    2   failed
ff       passes    2   again
ff       no-tests  1   failed
ff       unknown   1   failed
# failed, then passed: flaky, and the agent is not told
fp       passes    1   flaky 2 of 2
ffp      passes    3   flaky 3 of 4
tp       passes    1   flaky 2 of 2
# time that runs out is no failure
t        passes    1   again
tt       passes    1   unchecked timed-out
tf       passes    1   unchecked timed-out
ft       passes    1   unchecked timed-out
t        passes    0   unchecked timed-out
t        fails     1   again
tt       fails     1   unchecked timed-out
# a check that fails on the baseline cannot judge, and no time is spent on a second run
f        fails     1   unchecked baseline
tf       fails     1   unchecked baseline
f        times-out 1   unchecked timed-out
t        times-out 1   unchecked timed-out
# a program that finds no tests did not fail
n        passes    1   unchecked no-tests
n        no-tests  1   unchecked no-tests
# a program that is missing says nothing about the work
x        passes    1   unchecked not-started
x        unknown   1   unchecked not-started
";

fn end(letter: char) -> ProjectRunEnd {
    match letter {
        'p' => ProjectRunEnd::Passed,
        'f' => ProjectRunEnd::Failed,
        't' => ProjectRunEnd::TimedOut,
        'n' => ProjectRunEnd::NoTests,
        'x' => ProjectRunEnd::NotStarted,
        other => panic!("{other}"),
    }
}

fn baseline(word: &str) -> BaselineEnd {
    match word {
        "passes" => BaselineEnd::Passes,
        "fails" => BaselineEnd::Fails,
        "times-out" => BaselineEnd::TimesOut,
        "no-tests" => BaselineEnd::NoTests,
        "unknown" => BaselineEnd::Unknown,
        other => panic!("{other}"),
    }
}

fn words(verdict: Option<ProjectVerdict>) -> String {
    match verdict {
        None => "again".to_owned(),
        Some(ProjectVerdict::Checked) => "checked".to_owned(),
        Some(ProjectVerdict::CheckedFlaky { run, of }) => format!("flaky {run} of {of}"),
        Some(ProjectVerdict::Failed) => "failed".to_owned(),
        Some(ProjectVerdict::Unchecked(cause)) => match cause {
            UncheckedCause::Baseline => "unchecked baseline".to_owned(),
            UncheckedCause::TimedOut => "unchecked timed-out".to_owned(),
            UncheckedCause::CheckChanged { script } => format!("unchecked changed {script}"),
            UncheckedCause::NoTests => "unchecked no-tests".to_owned(),
            UncheckedCause::NotStarted => "unchecked not-started".to_owned(),
        },
    }
}

#[test]
fn the_verdict_follows_from_runs_baseline_and_retries() {
    for row in ROWS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut fields = row.split_whitespace();
        let runs: Vec<ProjectRunEnd> = fields.next().unwrap().chars().map(end).collect();
        let baseline = baseline(fields.next().unwrap());
        let retries = fields.next().unwrap().parse().unwrap();
        let wanted = fields.collect::<Vec<_>>().join(" ");
        let found = verdict(CheckFacts { runs: &runs, baseline, retries, changed_script: None });
        assert_eq!(words(found), wanted, "{row}");
    }
}

#[test]
fn a_changed_script_is_unchecked_whatever_its_result_is() {
    for letters in ["p", "f", "t", "n", "x", "fp"] {
        let runs: Vec<ProjectRunEnd> = letters.chars().map(end).collect();
        for baseline in [BaselineEnd::Passes, BaselineEnd::Fails] {
            let facts = CheckFacts { runs: &runs, baseline, retries: 1, changed_script: Some("ci/check.sh") };
            assert_eq!(words(verdict(facts)), "unchecked changed ci/check.sh", "{letters}");
        }
    }
}

#[test]
fn the_baseline_passes_when_one_of_its_runs_does() {
    for (letters, wanted) in [
        ("p", BaselineEnd::Passes),
        ("fp", BaselineEnd::Passes),
        ("ff", BaselineEnd::Fails),
        ("tt", BaselineEnd::TimesOut),
        ("ft", BaselineEnd::TimesOut),
        ("n", BaselineEnd::NoTests),
        ("x", BaselineEnd::Unknown),
        ("", BaselineEnd::Unknown),
    ] {
        let runs: Vec<ProjectRunEnd> = letters.chars().map(end).collect();
        assert_eq!(BaselineEnd::of(&runs), wanted, "{letters}");
    }
}

#[test]
fn the_end_of_a_run_is_read_from_its_result() {
    let result = |ended: CheckEnded, exit_code: Option<i32>| CheckResult {
        command: vec!["pytest".to_owned()],
        ended,
        exit_code,
        seconds: 1.0,
        output_sha256: String::new(),
        tail: String::new(),
        leaked: false,
        changed: Vec::new(),
    };
    for (ended, code, wanted) in [
        (CheckEnded::Exited, Some(0), ProjectRunEnd::Passed),
        (CheckEnded::Exited, Some(1), ProjectRunEnd::Failed),
        (CheckEnded::Exited, Some(5), ProjectRunEnd::NoTests),
        (CheckEnded::Signalled { signal: 11 }, None, ProjectRunEnd::Failed),
        (CheckEnded::TooMuchOutput, None, ProjectRunEnd::Failed),
        (CheckEnded::TimedOut, None, ProjectRunEnd::TimedOut),
        (CheckEnded::NotStarted { why: "no such file".to_owned() }, None, ProjectRunEnd::NotStarted),
    ] {
        let found = result(ended, code);
        assert_eq!(ProjectRunEnd::of(&found, Some(5)), wanted, "{found:?}");
    }
    assert_eq!(ProjectRunEnd::of(&result(CheckEnded::Exited, Some(5)), None), ProjectRunEnd::Failed);
}
