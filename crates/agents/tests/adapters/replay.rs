//! Plays back the recorded output of an agent's program, or a recorded conversation with it.

use std::path::PathBuf;
use std::time::Duration;

use agents::adapter::acp::{self, AcpHost, PermissionQuestion, Permit, Way};
use agents::adapter::{
    AdapterKind, Exit, HeardEvent, Listener, McpServerLaunch, Permissions, ProgramHome, TurnOrder, TurnSaid,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/adapters")
}

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.ndjson"))).unwrap()
}

pub(crate) fn stderr(name: &str) -> String {
    std::fs::read_to_string(folder().join(format!("{name}.stderr"))).unwrap_or_default()
}

pub(crate) fn kind(name: &str) -> AdapterKind {
    AdapterKind::named(name.split('-').next().unwrap()).unwrap()
}

/// Tells whether a recording holds both sides of a conversation. Each line of such a recording begins with `> `
/// (Handover wrote it) or `< ` (the agent wrote it).
pub(crate) fn is_two_sided(bytes: &[u8]) -> bool {
    bytes.starts_with(b"> ")
}

pub(crate) fn listen(name: &str, bytes: &[u8], exit: Exit) -> TurnSaid {
    let mut listener = Listener::new(kind(name));
    listener.feed(bytes);
    listener.end(exit, &stderr(name))
}

pub(crate) fn order(kind: AdapterKind) -> TurnOrder {
    TurnOrder {
        is_plain: false,
        kind,
        command: vec![kind.name().into()],
        args: vec![],
        model: None,
        system: "You are careful.".into(),
        message: "Do it.".into(),
        input: None,
        worktree: "/repo".into(),
        folder: "/run/turn".into(),
        server: McpServerLaunch {
            program: "/usr/bin/handover".into(),
            arguments: vec!["mcp".into()],
            environment: vec![("HANDOVER_TURN".into(), "tn_1".into())],
        },
        resume: None,
        permissions: Permissions::Edit,
        home: ProgramHome::User,
        usd_left: None,
    }
}

/// A stand-in for the runner in a conversation with an agent. It keeps everything that it hears, and permits the tool
/// calls that its permissions cover.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) permissions: Permissions,
    pub(crate) said: Vec<(Way, String)>,
    pub(crate) heard: Vec<HeardEvent>,
    pub(crate) asked: Vec<PermissionQuestion>,
}

impl Desk {
    pub(crate) fn new(permissions: Permissions) -> Self {
        Self { permissions, said: vec![], heard: vec![], asked: vec![] }
    }
}

impl AcpHost for Desk {
    fn line(&mut self, way: Way, line: &[u8]) {
        self.said.push((way, String::from_utf8_lossy(line).into_owned()));
    }

    fn heard(&mut self, heard: HeardEvent) {
        self.heard.push(heard);
    }

    async fn permit(&mut self, asked: PermissionQuestion) -> Permit {
        let covered = acp::covers(self.permissions, "/repo".as_ref(), &asked);
        self.asked.push(asked);
        if covered { Permit::AllowOnce } else { Permit::RejectOnce }
    }
}

/// Plays the agent of a recorded conversation: sends the agent's lines, and waits for a line from Handover at each
/// place where the recording has one.
pub(crate) async fn converse(order: &TurnOrder, recording: &[u8], desk: &mut Desk) -> acp::Talked {
    let text = String::from_utf8_lossy(recording).into_owned();
    let (ours, its) = tokio::io::duplex(64 << 10);
    let agent = tokio::spawn(async move {
        let (read, mut write) = tokio::io::split(its);
        let mut read = BufReader::new(read).lines();
        for line in text.lines() {
            if let Some(said) = line.strip_prefix("< ") {
                if write.write_all(format!("{said}\n").as_bytes()).await.is_err() {
                    return;
                }
            } else if !matches!(read.next_line().await, Ok(Some(_))) {
                return;
            }
        }
    });
    let (read, write) = tokio::io::split(ours);
    // If the agent waits for a line that never comes, this time limit ends the conversation, as the runner's time limit
    // would.
    let patience = tokio::time::sleep(Duration::from_secs(1800));
    let talked = acp::converse(order, (read, write), desk, patience).await;
    agent.abort();
    talked
}

/// Plays a recorded conversation. Returns the report about it, and the runner's stand-in with all heard lines.
pub(crate) fn talk(bytes: &[u8], exit: Exit, stderr: &str, permissions: Permissions) -> (TurnSaid, Desk) {
    let mut order = TurnOrder { permissions, ..order(AdapterKind::Acp) };
    order.resume = resumed(&String::from_utf8_lossy(bytes));
    let mut desk = Desk::new(order.permissions);
    let talked = runtime().block_on(converse(&order, bytes, &mut desk));
    (talked.end(exit, stderr), desk)
}

/// Returns an async runtime whose clock jumps ahead as soon as all its tasks wait, so that tests do not take real time.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

fn resumed(text: &str) -> Option<String> {
    let ours = text.lines().filter_map(|line| line.strip_prefix("> "));
    let requests = ours.filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut resuming =
        requests.filter(|request| request["method"] == "session/load" || request["method"] == "session/resume");
    resuming.next().and_then(|request| request["params"]["sessionId"].as_str().map(str::to_owned))
}
