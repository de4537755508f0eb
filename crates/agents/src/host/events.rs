//! Reports the events of a turn (one run of an agent's program) to the runner, as one JSON line each. The turn host,
//! the process that starts and ends the program, never waits for the runner to read them.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{EVENTS, HostEvent, record};

const GREW_INTERVAL: Duration = Duration::from_millis(100);
/// The number of bytes that can be written to a pipe without blocking, when the pipe is ready for writing.
pub(super) const PIPE_BYTES: usize = 4096;

#[derive(Debug)]
pub(super) struct HostEvents {
    file: File,
    told: (u64, u64),
    next: Option<Instant>,
}

impl HostEvents {
    pub(super) fn to_runner(file: File) -> Self {
        Self { file, told: (0, 0), next: None }
    }

    pub(super) fn to_folder(folder: &Path) -> io::Result<Self> {
        Ok(Self::to_runner(record::create(&folder.join(EVENTS))?))
    }

    /// Writes an event to the runner. If the runner does not read, the event is dropped, because files in the turn's
    /// folder hold the same facts. A write error is ignored: it means that the runner is gone, and this process (the
    /// turn host) notices that by the lifeline, the pipe that the runner keeps open.
    pub(super) fn tell(&mut self, event: &HostEvent) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        if line.len() <= PIPE_BYTES && is_ready(&self.file) {
            drop(self.file.write_all(&line));
        }
    }

    /// Reports the new sizes of the output files to the runner. If the last report was too recent, reports nothing and
    /// returns the time at which the next report is due.
    pub(super) fn grew(&mut self, bytes: (u64, u64), now: Instant) -> Option<Instant> {
        if bytes == self.told {
            return None;
        }
        match self.next {
            Some(next) if now < next => Some(next),
            Some(_) | None => {
                self.told = bytes;
                self.next = Some(now + GREW_INTERVAL);
                self.tell(&HostEvent::Grew { stdout: bytes.0, stderr: bytes.1 });
                None
            }
        }
    }
}

fn is_ready(file: &File) -> bool {
    let mut polled = [PollFd::new(file, PollFlags::OUT)];
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&zero)).is_ok() && polled[0].revents().contains(PollFlags::OUT)
}
