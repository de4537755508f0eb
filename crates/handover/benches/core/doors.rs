//! Measures the speed of the interfaces (MCP over pipes and HTTP): the start time of a server, the cost of a call and
//! of a connection, and the claims per second over HTTP compared with direct calls of the store.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use engine::id::{AgentId, TaskId};

use crate::rounds::{Bar, Report, median};
use crate::runtime;
use crate::seed;
use crate::sqlite;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_handover");
const CALLS: u32 = 10_000;
const IN_FLIGHT: u32 = 16;
const SESSIONS: usize = 1_000;
const CLAIMS: usize = 1_600;
const OPENING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

/// A `handover mcp` server that is connected to the benchmark by a pipe.
struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    fn start(store: &Path) -> Result<Self> {
        let mut child = Command::new(PROGRAM)
            .args(["--store", &store.display().to_string(), "mcp", "--tools", "full"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("a pipe")?);
        Ok(Self { child, input, output })
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        anyhow::ensure!(self.output.read_line(&mut line)? > 0, "the server has gone");
        Ok(line)
    }

    fn ask(&mut self, message: &str) -> Result<String> {
        self.write(message.as_bytes())?;
        self.write(b"\n")?;
        self.line()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.input.as_mut().context("a pipe")?.write_all(bytes)?)
    }

    fn call(&mut self, tool: &str, arguments: &str) -> Result<serde_json::Value> {
        let answer = self.ask(&request(1, tool, arguments))?;
        let answer: serde_json::Value = serde_json::from_str(&answer)?;
        anyhow::ensure!(answer["result"]["isError"] != true, "{tool}: {answer}");
        Ok(answer["result"]["structuredContent"].clone())
    }
}

impl Drop for Pipe {
    /// Ends the server by closing its input, as a client does. A killed server would leave its session open, and the
    /// next server would have to end this session.
    fn drop(&mut self) {
        self.input = None;
        let _gone = self.child.wait();
    }
}

fn request(id: u32, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

/// Creates a store with a workflow before a measurement, so that the measured server does not have to create them.
pub(crate) fn prepared(folder: &Path, name: &str, tasks: usize) -> Result<(PathBuf, Vec<TaskId>)> {
    let place = folder.join(name);
    std::fs::create_dir_all(&place)?;
    let path = place.join("handover.db");
    let tasks = runtime(2)?.block_on(async {
        let store = seed::open(&path).await?;
        anyhow::Ok(seed::ready(&store.service, tasks).await?.1)
    })?;
    Ok((path, tasks))
}

/// Compiles a program that does nothing. The benchmark compares Handover's start time with the start time of this
/// program.
pub(crate) fn empty(folder: &Path) -> Result<PathBuf> {
    let (source, empty) = (folder.join("nothing.rs"), folder.join("nothing"));
    std::fs::write(&source, "fn main() {}")?;
    let built = Command::new("rustc").arg("-O").arg("-o").arg(&empty).arg(&source).status()?;
    anyhow::ensure!(built.success(), "rustc could not build the empty program");
    Ok(empty)
}

/// Measures the time from the start of a `handover mcp` process to the answer of its first request, compared with a
/// program that does nothing.
pub(crate) fn starts(folder: &Path, report: &mut Report) -> Result<()> {
    let empty = empty(folder)?;
    let (store, _) = prepared(folder, "starts", 100)?;
    let (mut nothing, mut serving) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let began = Instant::now();
        anyhow::ensure!(Command::new(&empty).status()?.success(), "the empty program failed");
        nothing.push(began.elapsed().as_secs_f64() * 1e3);
        let began = Instant::now();
        let mut pipe = Pipe::start(&store)?;
        pipe.ask(OPENING)?;
        serving.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let (nothing, serving) = (median(&mut nothing), median(&mut serving));
    let what = format!(
        "`handover mcp` to its first answer ({serving:.2} ms) beyond an empty program ({nothing:.2} ms), 100 starts"
    );
    report.figure(&what, serving - nothing, "ms", Some(Bar::AtMost(10.0)));
    Ok(())
}

/// Returns the processor time of a process with all its threads, in microseconds.
fn cpu_us(pid: u32) -> Result<f64> {
    let mut sum = 0.0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        sum += text.split_whitespace().next().context("a number")?.parse::<f64>()? / 1e3;
    }
    Ok(sum)
}

fn memory_kib(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("VmRSS")?;
    Ok(line.split_whitespace().nth(1).context("a number")?.parse()?)
}

/// Measures the server's processor time per call while many calls run at the same time, and the processor time of a
/// server without calls.
pub(crate) fn calls(folder: &Path, report: &mut Report) -> Result<()> {
    let (store, tasks) = prepared(folder, "calls", 10)?;
    let mut pipe = Pipe::start(&store)?;
    pipe.ask(OPENING)?;
    pipe.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
    pipe.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)?;
    let agent = pipe.call("agent_register", r#"{"name":"bench","runtime":"bench"}"#)?["id"].clone();
    let task = tasks.first().context("a task")?;
    pipe.call("task_claim", &format!(r#"{{"task_id":"{task}"}}"#))?;
    report.figure(
        "idle memory of `handover mcp` after its first calls",
        memory_kib(pipe.child.id())? / 1024.0,
        "MB",
        Some(Bar::AtMost(20.0)),
    );
    let heartbeat = format!(r#"{{"agent_id":{agent},"current_task_id":"{task}","status":"busy"}}"#);
    let checkpoint = format!(
        r#"{{"task_id":"{task}","type":"progress","summary":"Installed dependencies and created the configuration","files_changed":["package.json","src/auth.ts"]}}"#
    );
    for (tool, arguments, bar) in [("agent_heartbeat", heartbeat, 60.0), ("checkpoint_add", checkpoint, 120.0)] {
        let mut found = Vec::new();
        for _ in 0..3 {
            let before = cpu_us(pipe.child.id())?;
            pipelined(&mut pipe, tool, &arguments)?;
            found.push((cpu_us(pipe.child.id())? - before) / f64::from(CALLS));
        }
        let what =
            format!("server CPU of a call of {tool} over stdio, {CALLS} calls, {IN_FLIGHT} in flight, median of 3");
        report.figure(&what, median(&mut found), "us", Some(Bar::AtMost(bar)));
    }
    Ok(())
}

fn pipelined(pipe: &mut Pipe, tool: &str, arguments: &str) -> Result<()> {
    let mut sent = 0;
    let mut message = String::new();
    for answered in 0..CALLS {
        message.clear();
        while sent < CALLS && sent < answered + IN_FLIGHT {
            message.push_str(&request(sent, tool, arguments));
            message.push('\n');
            sent += 1;
        }
        pipe.write(message.as_bytes())?;
        let line = pipe.line()?;
        anyhow::ensure!(line.contains("structuredContent"), "{tool}: {line}");
    }
    Ok(())
}

/// A running HTTP server (`handover serve`), and the token with which the benchmark calls it.
struct Site {
    child: Child,
    address: String,
    token: String,
}

impl Site {
    fn start(store: &Path) -> Result<Self> {
        let mut child = Command::new(PROGRAM)
            .args(["--store", &store.display().to_string(), "serve", "--port", "0", "--tools", "full"])
            .current_dir(store.parent().context("a folder")?)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("a pipe")?).lines();
        let first = lines.next().context("a line")??;
        let address = first.rsplit("//").next().context("an address")?.to_owned();
        let token = std::fs::read_to_string(store.with_file_name("token"))?.trim().to_owned();
        Ok(Self { child, address, token })
    }

    fn connect(&self) -> Result<Connection> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Connection {
            reader: BufReader::new(stream.try_clone()?),
            stream,
            head: format!("Host: {}\r\nAuthorization: Bearer {}\r\n", self.address, self.token),
        })
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// One HTTP connection that stays open. `head` has the headers that every request sends. The function `answer` returns
/// the headers in lower case, and the body.
struct Connection {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    head: String,
}

impl Connection {
    fn send(&mut self, method: &str, path: &str, extra: &str, body: &str) -> Result<()> {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{}{extra}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n{body}",
            self.head
        );
        Ok(self.stream.write_all(request.as_bytes())?)
    }

    fn answer(&mut self) -> Result<(String, String)> {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            anyhow::ensure!(self.reader.read_line(&mut line)? > 0, "the server has closed the connection");
            if line == "\r\n" {
                break;
            }
            head.push_str(&line.to_ascii_lowercase());
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let mut body = Vec::new();
        match length {
            Some(length) => {
                body.resize(length, 0);
                self.reader.read_exact(&mut body)?;
            }
            None if head.contains("transfer-encoding: chunked") => self.chunks(&mut body)?,
            None => {}
        }
        Ok((head, String::from_utf8(body)?))
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> Result<()> {
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).context("a length")?;
            let start = body.len();
            body.resize(start + length + 2, 0);
            self.reader.read_exact(&mut body[start..])?;
            body.truncate(start + length);
            if length == 0 {
                return Ok(());
            }
        }
    }
}

fn session(connection: &mut Connection) -> Result<String> {
    connection.send("POST", "/mcp", "", OPENING)?;
    let (head, _) = connection.answer()?;
    let id =
        head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).context("a session")?.trim().to_owned();
    let extra = format!("Mcp-Session-Id: {id}\r\n");
    connection.send("POST", "/mcp", &extra, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
    connection.answer()?;
    Ok(extra)
}

/// Measures the memory of one open session with its event stream, in the MCP version of 2025-11-25.
pub(crate) fn sessions(folder: &Path, report: &mut Report) -> Result<()> {
    let (store, _) = prepared(folder, "sessions", 10)?;
    let site = Site::start(&store)?;
    session(&mut site.connect()?)?;
    let before = memory_kib(site.child.id())?;
    let mut open = Vec::new();
    for _ in 0..SESSIONS {
        let extra = session(&mut site.connect()?)?;
        let mut stream = site.connect()?;
        stream.send("GET", "/mcp", &extra, "")?;
        let mut line = String::new();
        stream.reader.read_line(&mut line)?;
        anyhow::ensure!(line.contains("200"), "the stream is refused: {line}");
        open.push(stream);
    }
    #[expect(clippy::cast_precision_loss, reason = "a thousand")]
    let each = (memory_kib(site.child.id())? - before) / SESSIONS as f64;
    report.figure("memory of an open old-era session with its stream, of 1,000", each, "KB", Some(Bar::AtMost(100.0)));
    Ok(())
}

/// Measures the claims per second of sixteen clients over the HTTP API and over MCP, compared with the store without an
/// interface.
pub(crate) fn claims(folder: &Path, report: &mut Report) -> Result<()> {
    const ROUNDS: usize = 21;
    for (door, bar) in [("/api/v1", 0.6), ("/mcp", 0.35)] {
        let name = door.trim_start_matches('/').replace('/', "-");
        let (alone, tasks) = prepared(folder, &format!("alone-{name}"), CLAIMS * ROUNDS)?;
        let (store, behind) = prepared(folder, &format!("behind-{name}"), CLAIMS * ROUNDS)?;
        let runtime = runtime(2)?;
        let seeded = runtime.block_on(seed::open(&alone))?;
        let own = runtime.block_on(seed::agents(&seeded.service, CLAIMS * ROUNDS / 100))?;
        let other = runtime
            .block_on(async { seed::agents(&seed::open(&store).await?.service, CLAIMS * ROUNDS / 100).await })?;
        let site = Site::start(&store)?;
        let (mut tasks, mut behind) = (tasks.into_iter(), behind.into_iter());
        report.compare(
            &format!("claims/s over {door}, 16 clients, against the store alone"),
            Bar::AtLeast(bar),
            |round| {
                let through =
                    http_claims(&site, door, &team(&other, round), &behind.by_ref().take(CLAIMS).collect::<Vec<_>>())?;
                let direct = runtime.block_on(sqlite::concurrent(
                    &seeded.service,
                    &team(&own, round),
                    tasks.by_ref().take(CLAIMS).collect(),
                ))?;
                Ok((through, direct))
            },
        )?;
    }
    Ok(())
}

/// Returns the agents that claim tasks in one round of the benchmark. There are as many as needed so that no agent
/// claims more than a hundred tasks.
fn team(agents: &[AgentId], round: usize) -> Vec<AgentId> {
    let need = CLAIMS / 100;
    agents.iter().cycle().skip(round * need).take(need).copied().collect()
}

fn http_claims(site: &Site, door: &str, team: &[AgentId], tasks: &[TaskId]) -> Result<f64> {
    let share = tasks.len().div_ceil(16);
    let mut clients = Vec::new();
    for share in tasks.chunks(share) {
        let mut connection = site.connect()?;
        let extra = if door == "/mcp" { session(&mut connection)? } else { String::new() };
        clients.push((connection, extra, share.to_vec()));
    }
    let began = Instant::now();
    std::thread::scope(|scope| {
        let running: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(number, (mut connection, extra, share))| {
                scope.spawn(move || {
                    for (turn, task) in share.into_iter().enumerate() {
                        let agent = team[(number + turn) % team.len()];
                        let arguments = format!(r#"{{"task_id":"{task}","agent_id":"{agent}"}}"#);
                        if door == "/mcp" {
                            connection.send("POST", "/mcp", &extra, &request(1, "task_claim", &arguments))?;
                        } else {
                            connection.send("POST", "/api/v1/tools/task_claim", "", &arguments)?;
                        }
                        let (_, body) = connection.answer()?;
                        anyhow::ensure!(body.contains("attempt"), "a claim failed: {body}");
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        running.into_iter().try_for_each(|client| client.join().map_err(|_| anyhow::anyhow!("a client panicked"))?)
    })?;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let count = tasks.len() as f64;
    Ok(count / began.elapsed().as_secs_f64())
}

/// Measures the time to read the context of a task (the texts that its agent gets) when the task has a long history,
/// compared with a task with a short history.
pub(crate) fn context(folder: &Path, report: &mut Report) -> Result<()> {
    let (store, tasks) = prepared(folder, "context", 2)?;
    let [short, long] = tasks.as_slice() else { anyhow::bail!("two tasks") };
    let connection = crate::bare::open(&store)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    for (task, count) in [(short, 100), (long, 100_000)] {
        let mut add = connection.prepare(
            "INSERT INTO checkpoint (task, sequence, id, attempt, actor, kind, summary, detail, files, at) \
             VALUES (?1, ?2, ?3, 1, 'system', 'progress', ?4, ?5, '[\"src/a.rs\"]', 1)",
        )?;
        let mut ids = engine::id::Ids::new(u128::from(task == long));
        for number in 1..=count {
            let id = engine::id::CheckpointId::next(&mut ids).to_string();
            let summary = format!("step {number}: the parser reads what the writer writes, checked by a round trip");
            add.execute(rusqlite::params![task.to_string(), number, id, summary, "{\"why\":\"it was asked for\"}"])?;
        }
        connection
            .execute("UPDATE task SET checkpoints = ?1 WHERE id = ?2", rusqlite::params![count, task.to_string()])?;
    }
    connection.execute_batch("COMMIT")?;
    drop(connection);
    let mut pipe = Pipe::start(&store)?;
    pipe.ask(OPENING)?;
    let mut time = |task: &TaskId| -> Result<f64> {
        let began = Instant::now();
        pipe.call("task_load_context", &format!(r#"{{"task_id":"{task}"}}"#))?;
        Ok(began.elapsed().as_secs_f64() * 1e6)
    };
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        few.push(time(short)?);
        many.push(time(long)?);
    }
    let (few, many) = (median(&mut few), median(&mut many));
    let what = format!("context of a task with 100,000 checkpoints ({many:.0} us) against 100 ({few:.0} us)");
    report.figure(&what, many / few, "times", Some(Bar::AtMost(2.0)));
    Ok(())
}
