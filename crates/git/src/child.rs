//! Waits for a child process, with bounds on its time and output. After a timeout, ends the process and all processes
//! that it started.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::time::timeout;

/// The maximum number of bytes of a process's standard output that are kept; the rest is dropped. This is enough for
/// git to list 20,000 worktrees.
const STDOUT_BYTES_MAX: usize = 8 << 20;
const STDERR_BYTES_MAX: usize = 16 << 10;
/// The time that a process has to clean up after the signal that asks it to end. After this time, the process is
/// killed.
const FAREWELL: Duration = Duration::from_secs(2);
/// The time to read the rest of the output after a process ended. Processes that it started may keep the output open
/// for longer, and this module does not wait for them.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The way in which a child process ended.
#[derive(Debug)]
pub(super) enum ChildEnd {
    /// The process ended; `code` is `None` when a signal ended it.
    Finished {
        code: Option<i32>,
        out: KeptOutput,
        err: KeptOutput,
    },
    TimedOut,
    Lost(io::Error),
}

/// The first bytes of an output stream. Later bytes are read, so that the writer is not blocked, and then dropped.
#[derive(Debug)]
pub(super) struct KeptOutput {
    pub(super) bytes: Vec<u8>,
    pub(super) cut: bool,
    max: usize,
}

pub(super) async fn attend(child: &mut Child, limit: Duration) -> ChildEnd {
    let (mut out, mut err) = (KeptOutput::new(STDOUT_BYTES_MAX), KeptOutput::new(STDERR_BYTES_MAX));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let ended = {
        let reading = async { tokio::join!(out.fill(stdout), err.fill(stderr)) };
        tokio::pin!(reading);
        let mut closed = false;
        let ending = async {
            loop {
                tokio::select! {
                    status = child.wait() => break status,
                    _ = &mut reading, if !closed => closed = true,
                }
            }
        };
        let ended = timeout(limit, ending).await;
        if ended.is_err() {
            signal(child, Signal::Ask);
        }
        if closed && ended.is_err() {
            // The output is complete, but the process reached its time limit and got the signal to end. Wait until git
            // has deleted its lock files and has ended, but only for a bounded time.
            drop(timeout(FAREWELL, child.wait()).await);
        }
        if !closed {
            let patience = if ended.is_err() { FAREWELL } else { LAST_WORDS };
            // Read the output for a bounded time. After this time, either all writers have closed the stream, or the
            // rest of the output is ignored.
            drop(timeout(patience, &mut reading).await);
        }
        ended
    };
    match ended {
        Ok(Ok(status)) => ChildEnd::Finished { code: status.code(), out, err },
        Ok(Err(error)) => ChildEnd::Lost(error),
        Err(_) => {
            signal(child, Signal::Kill);
            drop(timeout(FAREWELL, child.wait()).await);
            ChildEnd::TimedOut
        }
    }
}

impl KeptOutput {
    fn new(max: usize) -> Self {
        Self { bytes: Vec::new(), cut: false, max }
    }

    async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0; 16 << 10];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            let room = self.max - self.bytes.len();
            self.cut |= count > room;
            self.bytes.extend_from_slice(&buffer[..count.min(room)]);
        }
    }
}

#[derive(Clone, Copy)]
enum Signal {
    /// Ask the process to end (SIGTERM). Git then deletes its unfinished files.
    Ask,
    Kill,
}

/// Sends a signal to the process group of a child process. The process id cannot belong to another process by now,
/// because no code has waited for the child yet.
fn signal(child: &mut Child, signal: Signal) {
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    let signal = match signal {
        Signal::Ask => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
    };
    if let Some(pid) = pid {
        // An error means that the process group has already ended. That is the wanted result, so ignore the error.
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}
