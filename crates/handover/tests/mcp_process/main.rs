//! Tests `handover mcp` as a client starts it: a process with pipes and real signals.

#![expect(clippy::unwrap_used, reason = "a test says best what went wrong by stopping there")]

#[path = "../../../mcp/tests/door/transcript.rs"]
mod transcript;

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use transcript::{PATIENCE, Server, play};

#[test]
fn endings_of_the_process() {
    play::<Process>(include_str!("endings.txt"));
}

struct Process {
    child: Child,
    errors: BufReader<ChildStderr>,
    /// The temporary folder of the store. It is deleted when this value is dropped.
    _folder: TempDir,
    _watch: mpsc::Sender<()>,
}

impl Server for Process {
    type Input = ChildStdin;
    type Output = ChildStdout;

    fn start() -> (Self, ChildStdin, ChildStdout) {
        let folder = TempDir::new().unwrap();
        #[expect(clippy::disallowed_methods, reason = "starts the program it tests")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_handover"));
        command.args(["mcp", "--store", "store.db"]).current_dir(folder.path()).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let errors = BufReader::new(child.stderr.take().unwrap());
        let (watch, over) = mpsc::channel();
        let id = Pid::from_child(&child);
        // Kill a hung process after a time limit, so that a test that waits for it fails instead of hanging.
        std::thread::spawn(move || {
            if over.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ended = kill_process(id, Signal::KILL);
            }
        });
        (Self { child, errors, _folder: folder, _watch: watch }, input, output)
    }

    fn signal(&self, name: &str) {
        let signal = match name {
            "TERM" => Signal::TERM,
            "INT" => Signal::INT,
            other => panic!("what is {other}?"),
        };
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn told(&mut self) -> Option<String> {
        let mut line = String::new();
        let length = self.errors.read_line(&mut line).unwrap();
        (length > 0).then(|| line.trim_end().to_owned())
    }

    fn ended_well(mut self) -> bool {
        let status = self.child.wait().unwrap();
        while let Some(line) = self.told() {
            eprintln!("it told: {line}");
        }
        status.code() == Some(0)
    }
}

/// Ends the `handover mcp` process, so that a failed test leaves none running.
impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
