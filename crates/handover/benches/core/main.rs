//! The benchmark: measures Handover and a reference program in turn, and prints a table.
//!
//! `scripts/bench` runs it. The program also starts itself as a child process, to measure many processes on one file,
//! memory, and instruction counts.
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock, starts processes and opens files itself")]
#![expect(clippy::print_stdout, reason = "the table is the result")]

mod bare;
mod bare_postgres;
mod documents;
mod doors;
mod graph;
mod hooks;
mod many;
mod memory;
mod old;
mod postgres;
mod rounds;
mod seed;
mod sqlite;
mod turns;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use rounds::Report;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["child-claims", path, tasks] => runtime(1)?.block_on(many::child(path, tasks)),
        ["child-bare", path, tasks] => bare::child(path, tasks),
        ["child-handoff", times] => documents::child(times),
        ["child-memory", path] => runtime(1)?.block_on(memory::child(path)),
        [] => run(&[]),
        names => run(names),
    }
}

pub(crate) fn runtime(threads: usize) -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?)
}

/// Returns the folder for the databases of the benchmark. It is on the project's disk, because on a file system in
/// memory every commit would cost nothing.
pub(crate) fn folder() -> Result<PathBuf> {
    let base = std::env::var_os("HANDOVER_BENCH_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let folder = base.join(format!("bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).context("make the folder for the databases")?;
    Ok(folder)
}

const PARTS: &[&str] =
    &["sqlite", "many", "graph", "postgres", "memory", "instructions", "wire", "doors", "turns", "hooks", "old"];

fn run(names: &[&str]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| !PARTS.contains(name)) {
        bail!("there is no part {unknown}; parts are {}", PARTS.join(", "));
    }
    let wanted = |name: &str| names.is_empty() || names.contains(&name);
    let folder = folder()?;
    let mut report = Report::new(&folder)?;
    if wanted("sqlite") {
        sqlite::claims(&folder, &mut report)?;
        sqlite::single(&folder, &mut report)?;
    }
    if wanted("many") {
        many::processes(&folder, &mut report)?;
    }
    if wanted("graph") {
        graph::next_tasks(&folder, &mut report)?;
        graph::plan(&folder, &mut report)?;
        graph::waiting(&folder, &mut report)?;
        graph::checkpoints(&folder, &mut report)?;
    }
    if wanted("postgres") {
        postgres::claims(&mut report)?;
    }
    if wanted("memory") {
        memory::million(&folder, &mut report)?;
    }
    if wanted("instructions") {
        memory::instructions(&folder, &mut report)?;
    }
    if wanted("wire") {
        documents::handoff(&mut report)?;
        documents::instructions(&folder, &mut report)?;
        documents::hostile(&mut report)?;
        documents::starts(&folder, &mut report)?;
    }
    if wanted("doors") {
        doors::starts(&folder, &mut report)?;
        doors::calls(&folder, &mut report)?;
        doors::sessions(&folder, &mut report)?;
        doors::context(&folder, &mut report)?;
        doors::claims(&folder, &mut report)?;
    }
    if wanted("turns") {
        turns::overhead(&folder, &mut report)?;
        turns::crowd(&folder, &mut report)?;
    }
    if wanted("hooks") {
        hooks::answers(&folder, &mut report)?;
    }
    if wanted("old") {
        old::instructions(&folder, &mut report)?;
        old::throughput(&folder, &mut report)?;
    }
    std::fs::remove_dir_all(&folder)?;
    report.print();
    if report.missed() { bail!("a bar was missed") } else { Ok(()) }
}
