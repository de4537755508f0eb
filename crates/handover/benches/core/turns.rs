//! Measures the speed of the runner: its own time per turn (one run of an agent's program), its memory per running
//! agent (without the agent's program), and a run in which two hundred agents work at the same time.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::rounds::{Bar, Report, median};

const PROGRAM: &str = env!("CARGO_BIN_EXE_handover");
const TURNS: u32 = 40;
const ROUNDS: u32 = 5;
const CROWD: u32 = 200;
/// Each of the two hundred agents works for this many seconds, so that all of them run at the same time.
const CROWD_SECONDS: u32 = 30;

/// Creates a project with one agent, whose program reads a line, waits `rest` seconds, and reports that it is done.
fn project(folder: &Path, tasks: u32, at_once: u32, rest: u32) -> Result<()> {
    let own = folder.join(".handover");
    std::fs::create_dir_all(own.join("state"))?;
    std::fs::write(own.join("state/.gitignore"), "*\n")?;
    std::fs::write(
        own.join("config.toml"),
        format!(
            "[[agent]]\nslug = \"worker\"\nadapter = \"exec\"\npersona = \"You work.\"\nmax_parallel = {at_once}\n\
             command = [\"sh\", \"{}\", \"{rest}\"]\n",
            folder.join("agent.sh").display()
        ),
    )?;
    std::fs::write(folder.join("agent.sh"), AGENT)?;
    let names: String = (0..tasks).map(|task| format!("  - {{name: t{task}}}\n")).collect();
    // The plan has a short lease (the time after which a claim expires), so that the run fails when the runner does not
    // renew a lease in time.
    std::fs::write(folder.join("plan.yaml"), format!("name: bench\nlease_seconds: 5\ntasks:\n{names}"))?;
    let offered = handover(folder).args(["trust", "--json"]).stdout(Stdio::piped()).output()?;
    let offered: serde_json::Value = serde_json::from_slice(&offered.stdout)?;
    let hash = offered["sha256"].as_str().context("a hash")?.to_owned();
    anyhow::ensure!(handover(folder).args(["trust", "--sha256", &hash]).status()?.success(), "it is not trusted");
    Ok(())
}

const AGENT: &str = r#"read -r line
[ "$1" = 0 ] || sleep "$1"
echo '{"success": true, "summary": "done", "artifacts": [], "recommendation": "proceed"}'
"#;

fn handover(folder: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.current_dir(folder).env("XDG_DATA_HOME", folder.join("data")).env_remove("HANDOVER_STORE");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn run(folder: &Path) -> Result<Duration> {
    let began = Instant::now();
    let status = handover(folder).args(["run", "--plan", "plan.yaml"]).status()?;
    anyhow::ensure!(status.success(), "the run ended with {status}");
    Ok(began.elapsed())
}

/// Measures the runner's own time per turn (one run of an agent's program): runs turns one after the other, without
/// git. Compares a run of many turns with a run of one turn, and subtracts the time of the agent's program.
pub(crate) fn overhead(folder: &Path, report: &mut Report) -> Result<()> {
    let mut added = Vec::new();
    for round in 0..ROUNDS {
        let (one, many) = (folder.join(format!("one-{round}")), folder.join(format!("many-{round}")));
        project(&one, 1, 1, 0)?;
        project(&many, TURNS + 1, 1, 0)?;
        let turns = run(&many)?.saturating_sub(run(&one)?);
        let began = Instant::now();
        for _ in 0..TURNS {
            let mut child = Command::new("sh")
                .arg(many.join("agent.sh"))
                .arg("0")
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()?;
            drop(child.stdin.take());
            child.wait()?;
        }
        let bare = began.elapsed();
        added.push(turns.saturating_sub(bare).as_secs_f64() * 1_000.0 / f64::from(TURNS));
    }
    let ms = median(&mut added);
    report.figure("what the runner adds to a turn, git aside", ms, "ms", Some(Bar::AtMost(50.0)));
    Ok(())
}

/// Measures a run in which many agents work at the same time, each in its own worktree. Their leases (claims on tasks)
/// expire after five seconds, unless the runner renews them.
pub(crate) fn crowd(folder: &Path, report: &mut Report) -> Result<()> {
    let folder = folder.join("crowd");
    project(&folder, CROWD, CROWD, CROWD_SECONDS)?;
    for words in [&["init", "--quiet"][..], &["commit", "--quiet", "--allow-empty", "-m", "start"]] {
        let identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"];
        let status = Command::new("git").current_dir(&folder).args(identity).args(words).status()?;
        anyhow::ensure!(status.success(), "git {words:?}");
    }
    let events = folder.join("events");
    let out = std::fs::File::create(&events)?;
    let mut child = handover(&folder).args(["run", "--plan", "plan.yaml", "--json"]).stdout(out).spawn()?;
    let mut most = 0.0_f64;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        most = most.max(cost(&child));
        std::thread::sleep(Duration::from_secs(1));
    };
    let text = std::fs::read_to_string(&events)?;
    let count = |word: &str| text.lines().filter(|line| line.contains(word)).count();
    let claims = count(r#""event":"claimed""#);
    anyhow::ensure!(status.success(), "the run of {CROWD} agents ended with {status}");
    report.figure("memory of runner and host for each of 200 agents", most, "MB", Some(Bar::AtMost(15.0)));
    let lost = f64::from(u32::try_from(claims).unwrap_or(u32::MAX)) - f64::from(CROWD);
    report.figure("leases of 5 s lost by 200 agents at once", lost, "", Some(Bar::AtMost(0.0)));
    Ok(())
}

/// Returns the memory of the runner and of its turn hosts (the processes that start and end agents' programs) in
/// megabytes per agent. Memory that processes share is divided among them (proportional set size).
fn cost(runner: &Child) -> f64 {
    let own = |pid: u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("Pss:"));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or(0.0)
    };
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", runner.id())).unwrap_or_default();
    let entries = std::fs::read_dir(format!("/proc/{}/task", runner.id())).into_iter().flatten().flatten();
    let of_threads = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("children")).ok());
    let all: String = of_threads.chain([children]).collect::<Vec<_>>().join(" ");
    let pids: std::collections::BTreeSet<u32> = all.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    (own(runner.id()) + pids.into_iter().map(own).sum::<f64>()) / 1_024.0 / f64::from(CROWD)
}
