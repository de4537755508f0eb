//! A child process that writes to a store: the parent starts the same test again, with instructions in an environment
//! variable, and reads the child's messages from a pipe.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ack::Ack;

const ORDER: &str = "HANDOVER_PROOF_ORDER";
const MARK: &str = "@handover ";

/// One message of a child process to its parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Word {
    Ack(Ack),
    /// The store failed. The fields are the request, the fault in words, and whether the request may have taken effect.
    Fault {
        asked: String,
        text: String,
        unknown: bool,
    },
    /// The child process ends normally. The text is its last message.
    Done(String),
}

/// Returns the parent's instructions when this process is a child, else `None`.
pub(crate) fn order<T: DeserializeOwned>() -> Option<T> {
    let text = std::env::var(ORDER).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// Sends a message to the parent, in one write. Ends the child when the parent is gone.
pub(crate) fn say(word: &Word) {
    let line = format!("{MARK}{}\n", serde_json::to_string(word).unwrap());
    if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
        std::process::exit(1);
    }
}

/// A child process, and the thread that reads its messages.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    reader: JoinHandle<()>,
}

/// Starts this test program again as a child process. The words in `before`, such as `strace` and its options, come in
/// front of the command.
pub(crate) fn start(test: &str, before: &[&str], order: &impl Serialize, words: &Sender<Word>) -> Running {
    let program = std::env::current_exe().unwrap();
    let line: Vec<&std::ffi::OsStr> = before.iter().map(|word| word.as_ref()).chain([program.as_os_str()]).collect();
    #[expect(clippy::disallowed_methods, reason = "a test starts itself, to be killed")]
    let mut command = Command::new(line[0]);
    command.args(&line[1..]).args([test, "--exact", "--nocapture"]);
    command.env(ORDER, serde_json::to_string(order).unwrap()).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let pipe = BufReader::new(child.stdout.take().unwrap());
    let words = words.clone();
    let reader = std::thread::spawn(move || {
        for line in pipe.split(b'\n').map_while(Result::ok) {
            // If the child was killed in the middle of a line, the incomplete line counts as not sent.
            let word = str::from_utf8(&line).ok().and_then(|line| line.split_once(MARK));
            if let Some(word) = word.and_then(|(_, word)| serde_json::from_str(word).ok()) {
                let _ = words.send(word);
            }
        }
    });
    Running { child, reader }
}

impl Running {
    /// Ends the child with `SIGKILL`, unless it has already ended. Messages that it sent before are still read. Returns
    /// whether it had ended successfully.
    pub(crate) fn end(mut self) -> bool {
        let ended = self.child.try_wait().unwrap();
        if ended.is_none() {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
        self.reader.join().unwrap();
        ended.is_some_and(|status| status.success())
    }
}
