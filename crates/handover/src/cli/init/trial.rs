//! Tries the setup and the checks, shows an animated line while a command runs, and gives advice about the results.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use base::Service;
use base::ground::clock::SystemClock;
use base::ground::{random, words};
use base::project::settings::VerifyCheck;
use base::project::trust::TrustView;
use handover::office;
use runner::claim::open::RunSite;
use runner::claim::trial::{ProjectTrial, TrialStep, TriedCommand, TriedEnd, TriedKind, try_project};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::super::say;
use super::super::show::plain;
use super::super::table::{cut, display_width};
use super::layout::WIDTH;

/// The maximum time of a check that runs after each task, in milliseconds. A slower check runs only once, on the merged
/// result of all tasks.
const SLOW_MS: u64 = 120_000;
/// The interval at which the line of the running command is drawn again, in milliseconds.
const TICK_MS: u64 = 120;
const FRAMES: &[char] = &['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// The maximum width of the column with the commands, in characters.
const COMMAND_MAX: usize = 40;
/// Programs that build the whole project in their first run, so that later runs are faster.
const BUILDERS: &[&str] = &["cargo", "go", "./gradlew", "mvn"];

/// Tries the accepted commands: runs each command on the files of a commit, and prints a line for it. Ctrl-C stops the
/// trial.
pub(super) async fn run(named: Option<&str>, commit: &str, view: &TrustView) -> anyhow::Result<ProjectTrial> {
    let team = &view.written.team;
    let setup = team.worktree.setup.iter().map(|setup| setup.command.join(" "));
    let commands: Vec<String> = setup.chain(team.verify.checks.iter().map(|check| check.command.join(" "))).collect();
    let column = commands.iter().map(|command| display_width(&plain(command))).max().unwrap_or(0).min(COMMAND_MAX);
    let what = match (team.worktree.setup.is_empty(), team.verify.checks.is_empty()) {
        (false, false) => "setup and check",
        (true, _) => "the check",
        (false, true) => "the setup",
    };
    // Listen for Ctrl-C before the next line tells the person to press it.
    let mut interrupt = signal(SignalKind::interrupt())?;
    say(&format!("Trying {what} on a fresh worktree (Ctrl-C skips)"))?;
    // The trial needs no task, so it uses a temporary store and does not create the store of the project.
    let (place, files) = (office::find(named)?, tempfile::tempdir()?);
    let own = files.path().join("trial.db").display().to_string();
    let service = Service::new(store::open(&own, random::store_seed()?).await?, Arc::new(SystemClock));
    let site = RunSite { service: &service, place: &place, state: files.path(), live: files.path() };
    let (steps, mut news) = mpsc::unbounded_channel();
    let mut tell = |step: TrialStep| {
        let _nobody_listens = steps.send(step);
    };
    let stop = async {
        let _pressed = interrupt.recv().await;
    };
    let mut trial = std::pin::pin!(try_project(site, commit, &mut tell, stop));
    let (mut tick, mut running) = (tokio::time::interval(Duration::from_millis(TICK_MS)), None);
    let ended = loop {
        tokio::select! {
            ended = &mut trial => break ended,
            Some(step) = news.recv() => show(step, column, &mut running)?,
            _ = tick.tick() => draw(&mut running, column)?,
        }
    };
    while let Ok(step) = news.try_recv() {
        show(step, column, &mut running)?;
    }
    clear()?;
    let ended = ended?;
    if ended == ProjectTrial::Stopped {
        let command = running.as_ref().map(|running: &RunningCommand| plain(&running.command)).unwrap_or_default();
        say(format!("  {}   skipped", padded(&command, column)).trim_end())?;
    }
    Ok(ended)
}

/// The command that runs now, and the number of times that its line was drawn.
struct RunningCommand {
    command: String,
    ticks: u64,
}

fn show(step: TrialStep, column: usize, running: &mut Option<RunningCommand>) -> anyhow::Result<()> {
    clear()?;
    match step {
        TrialStep::Begins { command } => *running = Some(RunningCommand { command, ticks: 0 }),
        TrialStep::Ended(tried) => {
            *running = None;
            result_lines(&tried, column).iter().try_for_each(|line| say(line))?;
        }
    }
    Ok(())
}

/// Draws the line of the command that runs.
fn draw(running: &mut Option<RunningCommand>, column: usize) -> anyhow::Result<()> {
    let Some(RunningCommand { command, ticks }) = running else { return Ok(()) };
    let ms = *ticks * TICK_MS;
    let frame = usize::try_from(*ticks).unwrap_or(0) % FRAMES.len();
    *ticks += 1;
    let seconds = words::duration(ms / 1_000 * 1_000);
    let line = format!("{} {}   {seconds}", FRAMES[frame], padded(&plain(command), column));
    let mut out = std::io::stdout().lock();
    write!(out, "\r\x1b[2K{}", cut(&line, WIDTH - 1))?;
    Ok(out.flush()?)
}

/// Removes the line of the command that runs.
fn clear() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    write!(out, "\r\x1b[2K")?;
    Ok(out.flush()?)
}

fn padded(command: &str, column: usize) -> String {
    format!("{command}{}", " ".repeat(column.saturating_sub(display_width(command))))
}

/// Returns the lines about one command that ended.
fn result_lines(tried: &TriedCommand, column: usize) -> Vec<String> {
    let word = match tried.end {
        TriedEnd::Passed => "ok",
        TriedEnd::Failed { .. } => "fails",
        TriedEnd::TimedOut => "timed out",
        TriedEnd::NoTests => "no tests",
        TriedEnd::NotStarted => "not started",
    };
    let command = padded(&plain(&tried.command.join(" ")), column);
    let line = format!("  {command}   {word:<6} {:>6}", words::duration(tried.ms));
    let before = if tried.kind == TriedKind::Check { ", before any change" } else { "" };
    let is_built =
        tried.kind == TriedKind::Check && tried.command.first().is_some_and(|it| BUILDERS.contains(&it.as_str()));
    let note = match tried.end {
        TriedEnd::Passed if is_built => "(first build; later ones are faster)".to_owned(),
        TriedEnd::Passed | TriedEnd::NoTests | TriedEnd::TimedOut | TriedEnd::NotStarted => String::new(),
        TriedEnd::Failed { exit_code: Some(code) } => format!("exit code {code}{before}"),
        TriedEnd::Failed { exit_code: None } => format!("ended by a signal{before}"),
    };
    let indent = " ".repeat(column + 5);
    let mut lines = match note.is_empty() {
        true => vec![line],
        false if display_width(&line) + 3 + display_width(&note) <= WIDTH => vec![format!("{line}   {note}")],
        false => vec![line, format!("{indent}{note}")],
    };
    if tried.end != TriedEnd::Passed && !tried.last_line.is_empty() {
        lines.push(cut(&format!("{indent}last line: {}", plain(&tried.last_line)), WIDTH));
    }
    lines
}

/// Tells whether a check took so long in the trial that it must not run after each task.
pub(super) fn is_slow(tried: &[TriedCommand], check: &VerifyCheck) -> bool {
    let is_it = |tried: &&TriedCommand| {
        tried.kind == TriedKind::Check && (&tried.command, &tried.folder) == (&check.command, &check.folder)
    };
    tried.iter().find(is_it).is_some_and(|tried| tried.ms > SLOW_MS)
}

/// Returns the advice for a person about the results of the trial. `is_written` tells whether this call writes
/// `config.toml`.
pub(super) fn advice(tried: &[TriedCommand], branch: Option<&str>, is_written: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for one in tried {
        let command = plain(&one.command.join(" "));
        if one.kind == TriedKind::Setup && one.end != TriedEnd::Passed {
            lines.push("Until it works in a fresh worktree, no agent starts. Fix it, or change `setup`".to_owned());
            lines.push(format!("in {}.", super::settings_file("config.toml")));
            continue;
        }
        let place = branch.map_or_else(|| "this commit".to_owned(), plain);
        match one.end {
            TriedEnd::Passed => {}
            TriedEnd::Failed { .. } => {
                let text =
                    format!("Until it passes on {place}, tasks end \"unchecked\". Fix it first, or let an agent:");
                lines.extend(super::layout::wrapped(&text, ""));
                lines.push(format!("  handover add \"Make {command} pass\""));
            }
            TriedEnd::TimedOut => lines.push("Until it ends in time, tasks end \"unchecked\".".to_owned()),
            TriedEnd::NoTests => lines.push("It found no tests. Until it does, tasks end \"unchecked\".".to_owned()),
            TriedEnd::NotStarted => lines.push("It cannot be started here, so tasks end \"unchecked\".".to_owned()),
        }
        if one.kind == TriedKind::Check && one.ms > SLOW_MS {
            let time = words::duration(SLOW_MS);
            lines.push(match is_written {
                true => format!("It takes over {time}, so it runs only on the whole result (when = \"end\")."),
                false => format!("It takes over {time}. To run it only on the whole result, set when = \"end\"."),
            });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::project::settings::CheckMoment;

    fn tried(command: &str, end: TriedEnd, ms: u64) -> TriedCommand {
        let command = command.split(' ').map(str::to_owned).collect();
        let last_line = "test result: FAILED. 41 passed; 1 failed".to_owned();
        TriedCommand { kind: TriedKind::Check, command, folder: String::new(), end, last_line, ms }
    }

    #[test]
    fn results_stand_in_columns() {
        let failed = tried("cargo test", TriedEnd::Failed { exit_code: Some(101) }, 9_800);
        let cases = [
            (tried("npm ci", TriedEnd::Passed, 11_800), 8, vec!["  npm ci     ok     11.8 s"]),
            (tried("npm test", TriedEnd::Passed, 6_200), 8, vec!["  npm test   ok      6.2 s"]),
            (
                tried("cargo test", TriedEnd::Passed, 14_100),
                10,
                vec!["  cargo test   ok     14.1 s   (first build; later ones are faster)"],
            ),
            (
                failed,
                10,
                vec![
                    "  cargo test   fails   9.8 s   exit code 101, before any change",
                    "               last line: test result: FAILED. 41 passed; 1 failed",
                ],
            ),
        ];
        for (tried, column, expected) in cases {
            assert_eq!(result_lines(&tried, column), expected);
        }
    }

    #[test]
    fn a_check_over_two_minutes_runs_only_at_the_end() {
        let check = |command: &str| VerifyCheck {
            command: command.split(' ').map(str::to_owned).collect(),
            seconds: 600,
            when: CheckMoment::Task,
            folder: String::new(),
        };
        let all = [tried("npm test", TriedEnd::Passed, 120_001), tried("make lint", TriedEnd::Passed, 120_000)];
        assert!(is_slow(&all, &check("npm test")) && !is_slow(&all, &check("make lint")));
        assert_eq!(
            advice(&all, Some("main"), true),
            ["It takes over 2 min, so it runs only on the whole result (when = \"end\")."]
        );
    }

    #[test]
    fn a_check_that_fails_is_followed_by_advice() {
        let failed = [tried("cargo test", TriedEnd::Failed { exit_code: Some(101) }, 9_800)];
        assert_eq!(
            advice(&failed, Some("main"), true),
            [
                "Until it passes on main, tasks end \"unchecked\". Fix it first, or let an agent:",
                "  handover add \"Make cargo test pass\""
            ]
        );
    }
}
