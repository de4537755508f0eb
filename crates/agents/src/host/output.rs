//! Writes the program's output to files in the folder of the turn (one run of the program), up to the output limit. In
//! a relay turn, in which the runner and the program talk to each other, the output is also passed to the runner.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::events::PIPE_BYTES;
use super::{STDERR, STDOUT, kin, record};

const CHUNK_BYTES: usize = 16 << 10;
/// The longest wait, after the program has ended, for a slow runner to read the last bytes of output. Bytes that the
/// runner has not read by then are dropped.
const FLUSH: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct HostOutput {
    pub(super) stdout: Stream,
    pub(super) stderr: Stream,
    /// The number of bytes that may still be written to the files with the program's output.
    room: u64,
    pub(super) is_too_much: bool,
    /// The reason why output can no longer be written to the files. None while writing works.
    pub(super) lost: Option<String>,
    relay: Option<Relay>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Stream {
    /// The pipe from which the program's output is read. None after the program closed it.
    pub(super) pipe: Option<File>,
    file: File,
    pub(super) bytes: u64,
}

/// Bytes that wait to be written to a pipe, because the reader of the pipe may be slow.
#[derive(Debug)]
pub(super) struct Relay {
    pub(super) pipe: File,
    waiting: VecDeque<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Stdout,
    Stderr,
}

impl HostOutput {
    /// Creates the output files. They are created before the program is started, so that a program never runs without
    /// its output being kept.
    pub(super) fn new(folder: &Path, room: u64, relay: Option<File>) -> io::Result<Self> {
        let stream = |name| {
            let file = record::create(&folder.join(name))?;
            Ok::<_, io::Error>(Stream { pipe: None, file, bytes: 0 })
        };
        let (stdout, stderr) = (stream(STDOUT)?, stream(STDERR)?);
        let (relay, buffer) = (relay.map(Relay::new), vec![0; CHUNK_BYTES]);
        Ok(Self { stdout, stderr, room, is_too_much: false, lost: None, relay, buffer })
    }

    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.stdout.bytes, self.stderr.bytes)
    }

    /// Tells whether no more output is read, because both pipes are closed, the limit is reached, or a file cannot be
    /// written.
    pub(super) fn is_closed(&self) -> bool {
        self.is_full() || (self.stdout.pipe.is_none() && self.stderr.pipe.is_none())
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_too_much || self.lost.is_some()
    }

    /// Returns the relay (the pipe that passes output to the runner) if it still has bytes to write. The program's
    /// standard output is not read until these bytes are written.
    pub(super) fn busy_relay(&self) -> Option<&Relay> {
        self.relay.as_ref().filter(|relay| relay.is_busy())
    }

    pub(super) fn write_relay(&mut self) {
        if let Some(relay) = &mut self.relay
            && relay.write().is_err()
        {
            self.relay = None;
        }
    }

    /// Reads once from one of the program's pipes, as many bytes as are available.
    pub(super) fn read(&mut self, which: Which) {
        let stream = match which {
            Which::Stdout => &mut self.stdout,
            Which::Stderr => &mut self.stderr,
        };
        let Some(pipe) = &mut stream.pipe else { return };
        let count = match pipe.read(&mut self.buffer) {
            Ok(0) => {
                stream.pipe = None;
                return;
            }
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return,
            Err(error) => {
                stream.pipe = None;
                self.lost.get_or_insert_with(|| format!("the output cannot be read: {error}"));
                return;
            }
        };
        let fitting = count.min(usize::try_from(self.room).unwrap_or(usize::MAX));
        self.is_too_much |= fitting < count;
        self.room -= fitting as u64;
        let bytes = &self.buffer[..fitting];
        match stream.file.write_all(bytes) {
            Ok(()) => stream.bytes += fitting as u64,
            Err(error) => {
                self.room = 0;
                self.lost.get_or_insert_with(|| format!("the output cannot be saved: {error}"));
            }
        }
        if let (Which::Stdout, Some(relay)) = (which, &mut self.relay) {
            relay.waiting.extend(bytes);
        }
    }

    /// Reads all bytes that are in the pipes now, without waiting for more. Stops at the output limit, because a
    /// process that still holds a pipe may write without end.
    pub(super) fn drain(&mut self) {
        while !self.is_full() {
            let mut ready = Vec::new();
            for (which, stream) in [(Which::Stdout, &self.stdout), (Which::Stderr, &self.stderr)] {
                let Some(pipe) = &stream.pipe else { continue };
                let mut polled = [PollFd::new(pipe, PollFlags::IN)];
                if poll(&mut polled, Some(&kin::timespec(Duration::ZERO))).is_ok_and(|count| count > 0) {
                    ready.push(which);
                }
            }
            if ready.is_empty() {
                return;
            }
            ready.into_iter().for_each(|which| self.read(which));
        }
    }

    /// Writes the waiting bytes to the runner, if the runner still reads, and syncs the files to disk. The sync comes
    /// before the record of how the program ended, so that the sizes in the record are true.
    pub(super) fn finish(&mut self, is_cut: bool) {
        let until = kin::now() + FLUSH;
        while !is_cut && self.busy_relay().is_some() && self.wait_relay(until) {
            self.write_relay();
        }
        for file in [&self.stdout.file, &self.stderr.file] {
            if let Err(error) = file.sync_data() {
                self.lost.get_or_insert_with(|| format!("the output cannot be saved: {error}"));
            }
        }
    }

    fn wait_relay(&self, until: Instant) -> bool {
        let Some(relay) = &self.relay else { return false };
        let mut polled = [PollFd::new(&relay.pipe, PollFlags::OUT)];
        let time = until.saturating_duration_since(kin::now());
        poll(&mut polled, Some(&kin::timespec(time))).is_ok_and(|count| count > 0)
    }
}

impl Relay {
    pub(super) fn new(pipe: File) -> Self {
        Self { pipe, waiting: VecDeque::new() }
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Reads bytes from `from`, to write them to the pipe later. Call it only when no bytes wait to be written. So the
    /// waiting bytes cannot fill the memory of this process when the reader of the pipe is slow.
    pub(super) fn take(&mut self, from: &mut File) -> io::Result<usize> {
        let mut bytes = [0; PIPE_BYTES];
        let count = from.read(&mut bytes)?;
        self.waiting.extend(&bytes[..count]);
        Ok(count)
    }

    /// Writes waiting bytes to the pipe. Call it only after `poll` reported that the pipe is ready, because a ready
    /// pipe accepts `PIPE_BYTES` bytes without blocking.
    pub(super) fn write(&mut self) -> io::Result<()> {
        let (front, _) = self.waiting.as_slices();
        let count = front.len().min(PIPE_BYTES);
        match self.pipe.write(&front[..count]) {
            Ok(written) => {
                self.waiting.drain(..written);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }
}
