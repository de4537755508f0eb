//! Attends a process until it ends: bounded in time and output, and nothing it started outlives a timeout.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::time::timeout;

/// A repository with 20,000 worktrees can still be listed.
const STDOUT_BYTES_MAX: usize = 8 << 20;
const STDERR_BYTES_MAX: usize = 16 << 10;
/// How long a process that was asked to end may clean up after itself.
const FAREWELL: Duration = Duration::from_secs(2);
/// What a process started may outlive it and keep its output open; that is not waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How it ended.
#[derive(Debug)]
pub(super) enum End {
    /// There is no code when a signal ended it.
    Finished {
        code: Option<i32>,
        out: Kept,
        err: Kept,
    },
    TimedOut,
    Lost(io::Error),
}

/// The beginning of a stream; the rest is read, so that its writer can go on, and dropped.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) bytes: Vec<u8>,
    pub(super) cut: bool,
    max: usize,
}

pub(super) async fn attend(child: &mut Child, limit: Duration) -> End {
    let (mut out, mut err) = (Kept::new(STDOUT_BYTES_MAX), Kept::new(STDERR_BYTES_MAX));
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
        if !closed {
            if ended.is_err() {
                signal(child, Signal::Ask);
            }
            let patience = if ended.is_err() { FAREWELL } else { LAST_WORDS };
            // Either all have closed their end, or we do not listen any longer.
            drop(timeout(patience, &mut reading).await);
        }
        ended
    };
    match ended {
        Ok(Ok(status)) => End::Finished { code: status.code(), out, err },
        Ok(Err(error)) => End::Lost(error),
        Err(_) => {
            signal(child, Signal::Kill);
            drop(timeout(FAREWELL, child.wait()).await);
            End::TimedOut
        }
    }
}

impl Kept {
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
    /// Git removes what it has half made.
    Ask,
    Kill,
}

/// To the whole group. The child was not waited for yet, so its number is still its own.
fn signal(child: &mut Child, signal: Signal) {
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    let signal = match signal {
        Signal::Ask => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
    };
    if let Some(pid) = pid {
        // A group that is gone is what we want.
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}
