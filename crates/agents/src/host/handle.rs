//! Starts a host for the runner, receives its events, cuts it off, and learns how it ended.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{COMMAND, HostEnded, HostEvent, HostInput, HostLaunch, record, sweep};

/// A running turn. Dropping it cuts the turn off; [`settle`](super::settle) then returns its end.
#[derive(Debug)]
pub struct TurnHost {
    folder: PathBuf,
    child: Child,
    lifeline: Option<ChildStdin>,
    stdout: Stdout,
}

#[derive(Debug)]
enum Stdout {
    Events(Lines<BufReader<ChildStdout>>),
    /// The output of the program. None after the caller took it.
    Relay(Option<ChildStdout>),
}

/// Returns the binary that the runner itself runs, also when its file was replaced since then.
pub fn own_binary() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() }
}

impl TurnHost {
    /// Records the launch in the turn's folder, creates that folder if it is missing, and starts the host. A folder
    /// has one launch. When the host cannot be started, no end is recorded; `settle` records one.
    pub fn start(binary: &Path, folder: &Path, launch: &HostLaunch) -> io::Result<Self> {
        fs::DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
        if folder.join(record::LAUNCH).try_exists()? {
            return Err(ErrorKind::AlreadyExists.into());
        }
        record::write(folder, record::LAUNCH, launch)?;
        #[expect(clippy::disallowed_methods, reason = "the one place that starts hosts; each sets what is below it")]
        let mut command = Command::new(binary);
        // The host gets no separate process group, because then it could not create a session. It is not killed on
        // drop, because it has to end its program first.
        command.arg(COMMAND).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let lifeline = child.stdin.take();
        let Some(stdout) = child.stdout.take() else { return Err(ErrorKind::BrokenPipe.into()) };
        let stdout = match launch.input {
            HostInput::Relay => Stdout::Relay(Some(stdout)),
            HostInput::Nothing | HostInput::File(_) => Stdout::Events(BufReader::new(stdout).lines()),
        };
        Ok(Self { folder: folder.to_owned(), child, lifeline, stdout })
    }

    /// Returns the next event. Returns None at the end of the host, and always in relay, where the stream itself tells
    /// the end. Dropping the future loses nothing.
    pub async fn event(&mut self) -> Option<HostEvent> {
        let Stdout::Events(lines) = &mut self.stdout else { return None };
        let line = lines.next_line().await.ok().flatten()?;
        serde_json::from_str(&line).ok()
    }

    /// Returns the pipes to and from the program, in relay and only once. The writer is the lifeline: dropping it does
    /// the same as `cut_off`.
    pub fn relay(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        match &mut self.stdout {
            Stdout::Events(_) => None,
            Stdout::Relay(stdout) => Some((self.lifeline.take()?, stdout.take()?)),
        }
    }

    /// Ends the program and all processes that it started, within ten seconds. `wait` returns when that is done.
    pub fn cut_off(&mut self) {
        self.lifeline = None;
    }

    /// Waits for the end of the turn and returns it. If a killed host left no end, `settle` ends the remaining
    /// processes and records one.
    pub async fn wait(mut self) -> io::Result<HostEnded> {
        // The events are hints, so unread ones delay nothing. But the lifeline must outlive the program.
        let lifeline = self.lifeline.take();
        self.child.wait().await?;
        drop(lifeline);
        let folder = self.folder;
        tokio::task::spawn_blocking(move || sweep::settle(&folder)).await?
    }
}
