//! Measures the memory of a store with a million tasks, and the number of machine instructions of a claim.

use std::path::Path;

use anyhow::{Context, Result};

use crate::bare;
use crate::rounds::{Bar, Report};
use crate::runtime;
use crate::seed;

const MILLION: usize = 1_000_000;
const CLAIMS: usize = 1_000;

/// Runs as a child process: opens a store with a million tasks, claims some of them, and prints its resident memory in
/// KiB.
pub(crate) async fn child(path: &str) -> Result<()> {
    let store = seed::open(Path::new(path)).await?;
    let agents = seed::agents(&store.service, CLAIMS / 100).await?;
    let file = Path::new(path).with_extension("txt");
    for (number, task) in std::fs::read_to_string(file)?.lines().enumerate() {
        seed::claim(&store.service, agents[number % agents.len()], task.parse()?).await?;
    }
    println!("{}", resident_kib()?);
    Ok(())
}

fn resident_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("VmRSS")?;
    Ok(line.split_whitespace().nth(1).context("a number")?.parse()?)
}

pub(crate) fn million(folder: &Path, report: &mut Report) -> Result<()> {
    let path = folder.join("million.db");
    let workflow = runtime(2)?.block_on(async {
        let store = seed::open(&path).await?;
        let (workflow, _) = seed::ready(&store.service, 1).await?;
        anyhow::Ok(workflow)
    })?;
    let connection = bare::open(&path)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    {
        let mut task = connection.prepare(
            "INSERT INTO task (id, workflow, name, sequence, priority, verify, attempts_max, attempt, crashes, unmet, checkpoints, status, created, updated) \
             VALUES (?1, ?2, ?3, ?4, 2, 0, 5, 0, 0, 0, 0, 'pending', 0, 0)",
        )?;
        let mut seeded = engine::id::Ids::new(1);
        let mut wanted = Vec::new();
        for number in 0..MILLION {
            let id = engine::id::TaskId::next(&mut seeded).to_string();
            task.execute(rusqlite::params![
                id,
                workflow.to_string(),
                format!("million {number}"),
                i64::try_from(number)? + 2
            ])?;
            if number % (MILLION / CLAIMS) == 0 {
                wanted.push(id);
            }
        }
        connection.execute(
            "UPDATE workflow SET tasks = tasks + ?1, open = open + ?1, sequence = sequence + ?1 WHERE id = ?2",
            rusqlite::params![i64::try_from(MILLION)?, workflow.to_string()],
        )?;
        std::fs::write(path.with_extension("txt"), wanted.join("\n"))?;
    }
    connection.execute_batch("COMMIT")?;
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    drop(connection);
    let output = std::process::Command::new(std::env::current_exe()?)
        .args(["child-memory", &path.display().to_string()])
        .output()?;
    anyhow::ensure!(output.status.success(), "the child failed: {}", String::from_utf8_lossy(&output.stderr));
    let kib: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    report.figure(
        "resident memory with a million tasks (16 MiB page cache, no mmap), after opening and 1,000 claims",
        kib / 1024.0,
        "MB",
        Some(Bar::AtMost(50.0)),
    );
    Ok(())
}

/// Counts the machine instructions of one claim with callgrind. Subtracts the count of a short run from the count of a
/// long run, so that the start of the process does not count.
pub(crate) fn instructions(folder: &Path, report: &mut Report) -> Result<()> {
    if std::process::Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("  valgrind is not installed: instructions are not counted");
        return Ok(());
    }
    let mut found = Vec::new();
    for side in ["child-claims", "child-bare"] {
        let few = count(folder, side, 40)?;
        let many = count(folder, side, 190)?;
        found.push((many - few) / 150.0);
    }
    report.figure("instructions of one claim with its commit, ours", found[0], "", None);
    report.figure("instructions of one claim with its commit, bare loop", found[1], "", None);
    Ok(())
}

fn count(folder: &Path, side: &str, claims: usize) -> Result<f64> {
    let folder = folder.join(format!("{side}-{claims}"));
    std::fs::create_dir_all(&folder)?;
    let (path, list) = (folder.join("i.db"), folder.join("instructions.txt"));
    runtime(2)?.block_on(async {
        let store = seed::open(&path).await?;
        let (_, tasks) = seed::ready(&store.service, claims).await?;
        let agents = seed::agents(&store.service, 1).await?;
        let lines: Vec<String> =
            agents.iter().map(ToString::to_string).chain(tasks.iter().map(ToString::to_string)).collect();
        std::fs::write(&list, lines.join("\n"))?;
        anyhow::Ok(())
    })?;
    let out = folder.join("callgrind.out");
    let output = std::process::Command::new("valgrind")
        .args(["--tool=callgrind", &format!("--callgrind-out-file={}", out.display())])
        .arg(std::env::current_exe()?)
        .args([side, &path.display().to_string(), &list.display().to_string()])
        .output()?;
    anyhow::ensure!(output.status.success(), "callgrind failed: {}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&out)?;
    let line =
        text.lines().find(|line| line.starts_with("summary:") || line.starts_with("totals:")).context("a total")?;
    Ok(line.split_whitespace().nth(1).context("a number")?.parse()?)
}
