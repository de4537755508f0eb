//! Compares this version of Handover with version 0.1.0. Each result is the ratio of the two versions' values.
//!
//! `scripts/bench` builds the old program from the repository's history and passes its path in `HANDOVER_BENCH_OLD`.
//! Each program makes its own store from the same plan and gets the same calls, over MCP on a pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::doors::PROGRAM;
use crate::rounds::{Bar, Report, median};

/// The environment variable that has the path of the old program (Handover 0.1.0), with which this version is compared.
const OLD: &str = "HANDOVER_BENCH_OLD";
/// The number of calls of a short run; `MANY` is the number of calls of a long run. The benchmark subtracts the cost of
/// the short run from the cost of the long run, so that the cost of the start does not count.
const FEW: usize = 40;
const MANY: usize = 190;
/// The number of tasks of one workflow. At most 200 tasks of a workflow can run at a time.
const WORKFLOW_TASKS: usize = 190;
/// The number of runs whose machine instructions are counted. One run is not enough: the counts differ, because the two
/// threads of a server do not always run in the same order.
const COUNTS: usize = 3;
/// The number of servers that run at the same time, each with one agent. An agent holds at most 200 tasks, so several
/// agents are needed.
const PROCESSES: usize = 8;
const IN_FLIGHT: usize = 8;
const CLAIMS: usize = 1_520;
const OPENING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

/// The kind of call whose machine instructions are counted. The benchmark repeats this call in one connection.
#[derive(Clone, Copy)]
enum CountedCall {
    Claim,
    ClaimAndComplete,
    Heartbeat,
}

/// A store that one of the two compared programs made, with tasks that no agent holds.
struct ReadyStore {
    path: PathBuf,
    tasks: Vec<String>,
}

impl ReadyStore {
    fn new(program: &Path, folder: &Path, name: &str, tasks: usize) -> Result<Self> {
        let place = folder.join(name);
        std::fs::create_dir_all(&place)?;
        let path = place.join("handover.db");
        let run = |arguments: &[&str]| -> Result<Value> {
            let mut command = Command::new(program);
            command.current_dir(&place).arg("--store").arg(&path).args(arguments).arg("--json").stdin(Stdio::null());
            let output = command.output()?;
            ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
            Ok(serde_json::from_slice(&output.stdout)?)
        };
        for first in (0..tasks).step_by(WORKFLOW_TASKS) {
            let workflow = run(&["workflow", "create", "bench"])?;
            let workflow = workflow["id"].as_str().context("the id of a workflow")?.to_owned();
            let numbers = first..tasks.min(first + WORKFLOW_TASKS);
            let named: Vec<Value> = numbers.map(|number| json!({"name": format!("task {number:05}")})).collect();
            let plan = place.join("plan.json");
            std::fs::write(&plan, json!({"summary": "bench", "tasks": named}).to_string())?;
            run(&["workflow", "plan", &workflow, &format!("@{}", plan.display())])?;
        }
        let connection = crate::bare::open(&path)?;
        let mut all = connection.prepare("SELECT id FROM task ORDER BY name")?;
        let found = all.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        ensure!(found.len() == tasks, "{} tasks of {tasks}", found.len());
        Ok(Self { path, tasks: found })
    }
}

/// One agent with its own `handover mcp` server, connected by a pipe.
struct PipedAgent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    sent: u32,
}

impl PipedAgent {
    fn start(mut command: Command, program: &Path, store: &Path, name: &str) -> Result<Self> {
        if command.get_program() != program.as_os_str() {
            command.arg(program);
        }
        command.arg("--store").arg(store).args(["mcp", "--tools", "full"]);
        command.current_dir(store.parent().context("a folder")?);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("a pipe")?);
        let mut connection = Self { child, input, output, sent: 0 };
        connection.write(OPENING)?;
        connection.line()?;
        connection.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        connection.call("agent_register", &json!({"name": name, "runtime": "bench"}))?;
        Ok(connection)
    }

    fn write(&mut self, line: &str) -> Result<()> {
        Ok(self.input.as_mut().context("a pipe")?.write_all(format!("{line}\n").as_bytes())?)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.output.read_line(&mut line)? > 0, "the server has gone");
        Ok(line)
    }

    fn send(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        self.sent += 1;
        let params = json!({"name": tool, "arguments": arguments});
        self.write(&json!({"jsonrpc": "2.0", "id": self.sent, "method": "tools/call", "params": params}).to_string())
    }

    fn answer(&mut self) -> Result<Value> {
        let answer: Value = serde_json::from_str(&self.line()?)?;
        ensure!(answer["result"]["isError"] != true && answer["error"].is_null(), "{answer}");
        Ok(answer)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        self.send(tool, arguments)?;
        self.answer()
    }

    /// Closes the pipe, as a client does, and waits until the server has ended.
    fn end(mut self) -> Result<()> {
        self.input = None;
        ensure!(self.child.wait()?.success(), "the server failed");
        Ok(())
    }
}

impl Drop for PipedAgent {
    fn drop(&mut self) {
        self.input = None;
        let _gone = self.child.wait();
    }
}

fn old_program() -> Result<PathBuf> {
    let path = std::env::var_os(OLD).context("the part `old` needs the old program: run scripts/bench old")?;
    Ok(PathBuf::from(path))
}

/// Counts the machine instructions of claims, completions and heartbeats with callgrind.
pub(crate) fn instructions(folder: &Path, report: &mut Report) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        anyhow::bail!("valgrind is not installed, and the part `old` counts instructions with it");
    }
    let programs = [("ours", PathBuf::from(PROGRAM)), ("old", old_program()?)];
    let mut found: Vec<[f64; 3]> = Vec::new();
    for (side, program) in &programs {
        let count = |call: CountedCall, name: &str| -> Result<f64> {
            let mut all = Vec::new();
            for turn in 0..COUNTS {
                let folder = folder.join(format!("old-{side}-{name}-{turn}"));
                let few = counted(program, &folder.join("few"), call, FEW)?;
                let many = counted(program, &folder.join("many"), call, MANY)?;
                #[expect(clippy::cast_precision_loss, reason = "a few hundred calls")]
                let calls = (MANY - FEW) as f64;
                all.push((many - few) / calls);
            }
            eprintln!("  instructions of {name}, {side}: {all:?}");
            Ok(median(&mut all))
        };
        let claim = count(CountedCall::Claim, "claim")?;
        let both = count(CountedCall::ClaimAndComplete, "claim and completion")?;
        found.push([claim, both - claim, count(CountedCall::Heartbeat, "heartbeat")?]);
    }
    for (place, what) in ["claim", "completion", "heartbeat"].into_iter().enumerate() {
        let what = format!("instructions of a {what} over stdio against version 0.1.0");
        report.ratio(&what, found[0][place], found[1][place], Bar::AtMost(1.05));
    }
    Ok(())
}

/// Returns the number of machine instructions of a server process that got `calls` calls, from its start to its end.
fn counted(program: &Path, folder: &Path, call: CountedCall, calls: usize) -> Result<f64> {
    let tasks = if matches!(call, CountedCall::Heartbeat) { 1 } else { calls };
    let store = ReadyStore::new(program, folder, "store", tasks)?;
    let out = folder.join("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", &format!("--callgrind-out-file={}", out.display())]);
    let mut connection = PipedAgent::start(valgrind, program, &store.path, "bench")?;
    for task in &store.tasks {
        connection.call("task_claim", &json!({"task_id": task}))?;
        if matches!(call, CountedCall::ClaimAndComplete) {
            let end = json!({"id": task, "status": "completed", "outcome": "it is there"});
            connection.call("task_update_status", &end)?;
        }
    }
    if matches!(call, CountedCall::Heartbeat) {
        for _ in 0..calls {
            connection.call("agent_heartbeat", &json!({"current_task_id": store.tasks[0], "status": "busy"}))?;
        }
    }
    connection.end()?;
    let text = std::fs::read_to_string(&out)?;
    let line = text.lines().find(|line| line.starts_with("summary:") || line.starts_with("totals:"));
    Ok(line.context("a total")?.split_whitespace().nth(1).context("a number")?.parse()?)
}

/// Measures the claims per second of several servers on one database file, for this program and the old program
/// alternately.
pub(crate) fn throughput(folder: &Path, report: &mut Report) -> Result<()> {
    let (ours, old) = (PathBuf::from(PROGRAM), old_program()?);
    let what = format!("claims/s of {PROCESSES} servers over stdio, {IN_FLIGHT} in flight each, against version 0.1.0");
    report.compare(&what, Bar::AtLeast(0.85), |round| {
        let at = |side: &str| format!("old-claims-{side}-{round}");
        // Alternate the order of the two programs, because the first one of a round may find the disk in another state
        // than the second one.
        if round % 2 == 0 {
            let first = claims(&ours, folder, &at("ours"))?;
            Ok((first, claims(&old, folder, &at("old"))?))
        } else {
            let first = claims(&old, folder, &at("old"))?;
            Ok((claims(&ours, folder, &at("ours"))?, first))
        }
    })?;
    Ok(())
}

fn claims(program: &Path, folder: &Path, name: &str) -> Result<f64> {
    let store = ReadyStore::new(program, folder, name, CLAIMS)?;
    let start =
        |number: usize| PipedAgent::start(Command::new(program), program, &store.path, &format!("bench {number}"));
    let connections = (0..PROCESSES).map(start).collect::<Result<Vec<_>>>()?;
    let began = Instant::now();
    let all = std::thread::scope(|scope| {
        let shares = store.tasks.chunks(CLAIMS.div_ceil(PROCESSES));
        let running: Vec<_> = connections
            .into_iter()
            .zip(shares)
            .map(|(connection, share)| scope.spawn(move || pipelined(connection, share)))
            .collect();
        let joined = running.into_iter().map(|one| one.join().map_err(|_| anyhow::anyhow!("a client panicked"))?);
        joined.collect::<Result<Vec<PipedAgent>>>()
    })?;
    let seconds = began.elapsed().as_secs_f64();
    all.into_iter().try_for_each(PipedAgent::end)?;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand claims")]
    let count = CLAIMS as f64;
    Ok(count / seconds)
}

fn pipelined(mut connection: PipedAgent, tasks: &[String]) -> Result<PipedAgent> {
    for (number, task) in tasks.iter().enumerate() {
        connection.send("task_claim", &json!({"task_id": task}))?;
        if number >= IN_FLIGHT {
            connection.answer()?;
        }
    }
    for _ in 0..tasks.len().min(IN_FLIGHT) {
        connection.answer()?;
    }
    Ok(connection)
}
