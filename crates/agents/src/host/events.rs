//! Tells the runner what happens, one JSON line each, and never waits for it.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{EVENTS, Event, record};

const GREW_INTERVAL: Duration = Duration::from_millis(100);
/// A pipe that is ready for writing takes as many bytes at once.
pub(super) const PIPE_BYTES: usize = 4096;

#[derive(Debug)]
pub(super) struct Events {
    file: File,
    told: (u64, u64),
    next: Option<Instant>,
}

impl Events {
    pub(super) fn to_runner(file: File) -> Self {
        Self { file, told: (0, 0), next: None }
    }

    pub(super) fn to_folder(folder: &Path) -> io::Result<Self> {
        Ok(Self::to_runner(record::create(&folder.join(EVENTS))?))
    }

    /// A line that nobody takes is dropped: the files say the same, and the end of the pipe is seen by itself.
    pub(super) fn tell(&mut self, event: &Event) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        if line.len() <= PIPE_BYTES && is_ready(&self.file) {
            drop(self.file.write_all(&line));
        }
    }

    /// Says when there is more to tell, and it is too early for it.
    pub(super) fn grew(&mut self, bytes: (u64, u64), now: Instant) -> Option<Instant> {
        if bytes == self.told {
            return None;
        }
        match self.next {
            Some(next) if now < next => Some(next),
            Some(_) | None => {
                self.told = bytes;
                self.next = Some(now + GREW_INTERVAL);
                self.tell(&Event::Grew { stdout: bytes.0, stderr: bytes.1 });
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
