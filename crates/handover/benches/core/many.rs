//! Measures the claims of many processes in one database file. The processes claim tasks without pauses.

use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::rounds::{Bar, Report, median, percentile};
use crate::runtime;
use crate::seed;

const PROCESSES: usize = 32;
const EACH: usize = 150;
const ROUNDS: usize = 5;

/// Runs as a child process: claims the tasks that its file lists, one after the other, and prints the microseconds of
/// each claim.
pub(crate) async fn child(path: &str, tasks: &str) -> Result<()> {
    let text = std::fs::read_to_string(tasks)?;
    let mut lines = text.lines();
    let agent = lines.next().context("an agent")?.parse()?;
    let store = seed::open(Path::new(path)).await?;
    let mut out = String::new();
    // Wait until all child processes are ready, so that they start at the same time.
    let began = wait_for_start(tasks)?;
    for task in lines {
        let start = Instant::now();
        seed::claim(&store.service, agent, task.parse()?).await?;
        out.push_str(&format!("{:.0}\n", start.elapsed().as_secs_f64() * 1e6));
    }
    out.push_str(&format!("total {:.0}\n", began.elapsed().as_secs_f64() * 1e6));
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}

fn wait_for_start(tasks: &str) -> Result<Instant> {
    let path = Path::new(tasks);
    if path.file_name().is_some_and(|name| name == "instructions.txt") {
        return Ok(Instant::now());
    }
    std::fs::write(path.with_extension("ready"), "")?;
    let go = path.with_file_name("go");
    for _ in 0..60_000 {
        if go.exists() {
            return Ok(Instant::now());
        }
        std::thread::park_timeout(std::time::Duration::from_millis(1));
    }
    anyhow::bail!("the start was never given")
}

/// Writes a file for each child process: the id of its agent, then the ids of its tasks.
fn prepare(folder: &Path, path: &Path) -> Result<()> {
    runtime(2)?.block_on(async {
        let store = seed::open(path).await?;
        let (_, tasks) = seed::ready(&store.service, PROCESSES * EACH).await?;
        let agents = seed::agents(&store.service, PROCESSES).await?;
        for (number, (agent, tasks)) in agents.iter().zip(tasks.chunks(EACH)).enumerate() {
            let lines: Vec<String> =
                std::iter::once(agent.to_string()).chain(tasks.iter().map(ToString::to_string)).collect();
            std::fs::write(folder.join(format!("{number}.txt")), lines.join("\n"))?;
        }
        anyhow::Ok(())
    })
}

pub(crate) fn processes(folder: &Path, report: &mut Report) -> Result<()> {
    let (mut p99s, mut fairness, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let folder = folder.join(format!("many-{round}"));
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("many.db");
        prepare(&folder, &path)?;
        let program = std::env::current_exe()?;
        let mut children = Vec::new();
        for number in 0..PROCESSES {
            let child = std::process::Command::new(&program)
                .args([
                    "child-claims",
                    &path.display().to_string(),
                    &folder.join(format!("{number}.txt")).display().to_string(),
                ])
                .stdout(std::process::Stdio::piped())
                .spawn()?;
            children.push(child);
        }
        while (0..PROCESSES).any(|number| !folder.join(format!("{number}.ready")).exists()) {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        std::fs::write(folder.join("go"), "")?;
        let (mut times, mut speeds) = (Vec::new(), Vec::new());
        for child in children {
            let output = child.wait_with_output()?;
            anyhow::ensure!(output.status.success(), "a process failed");
            for line in String::from_utf8(output.stdout)?.lines() {
                match line.strip_prefix("total ") {
                    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
                    Some(total) => speeds.push(EACH as f64 / total.parse::<f64>()? * 1e6),
                    None => times.push(line.parse::<f64>()? / 1e3),
                }
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
        let mean = speeds.iter().sum::<f64>() / speeds.len() as f64;
        fairness.push(speeds.iter().copied().fold(f64::MAX, f64::min) / mean);
        rates.push(speeds.iter().sum());
        p99s.push(percentile(&mut times, 0.99));
        eprintln!(
            "  32 processes: p99 {:.1} ms, slowest/mean {:.2}, {:.0}/s",
            p99s[round], fairness[round], rates[round]
        );
        std::fs::remove_dir_all(&folder)?;
    }
    let worst = p99s.iter().copied().fold(0.0, f64::max);
    report.figure(
        &format!("32 processes on one file, p99 of a claim, median of {ROUNDS} (worst {worst:.0} ms)"),
        median(&mut p99s),
        "ms",
        Some(Bar::AtMost(150.0)),
    );
    report.figure(
        "32 processes: slowest process, part of the mean, worst round",
        fairness.iter().copied().fold(f64::MAX, f64::min),
        "",
        Some(Bar::AtLeast(0.5)),
    );
    report.figure("32 processes: claims per second in all, median", median(&mut rates), "/s", None);
    Ok(())
}
