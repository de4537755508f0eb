//! The runner's side: starts a host, hears its events, cuts it off, and learns how it ended.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{COMMAND, Ended, Event, Input, Launch, record, sweep};

/// A running turn. Dropped, it is cut off; [`settle`](super::settle) then learns its end.
#[derive(Debug)]
pub struct Host {
    folder: PathBuf,
    child: Child,
    lifeline: Option<ChildStdin>,
    stdout: Stdout,
}

#[derive(Debug)]
enum Stdout {
    Events(Lines<BufReader<ChildStdout>>),
    /// The program's; none when it was taken.
    Relay(Option<ChildStdout>),
}

/// The binary that the runner itself is, also when its file was replaced meanwhile.
pub fn own_binary() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() }
}

impl Host {
    /// Records the launch in the folder of the turn, which is made if it is not there, and starts the host. A folder
    /// has one launch. When the host could not be started there is no end; `settle` gives it one.
    pub fn start(binary: &Path, folder: &Path, launch: &Launch) -> io::Result<Self> {
        fs::DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
        if folder.join(record::LAUNCH).try_exists()? {
            return Err(ErrorKind::AlreadyExists.into());
        }
        record::write(folder, record::LAUNCH, launch)?;
        #[expect(clippy::disallowed_methods, reason = "the one place that starts hosts; each sets what is below it")]
        let mut command = Command::new(binary);
        // Neither a group of its own, for then it could not make a session, nor killed when dropped: it has to end
        // its program first.
        command.arg(COMMAND).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let lifeline = child.stdin.take();
        let Some(stdout) = child.stdout.take() else { return Err(ErrorKind::BrokenPipe.into()) };
        let stdout = match launch.input {
            Input::Relay => Stdout::Relay(Some(stdout)),
            Input::Nothing | Input::File(_) => Stdout::Events(BufReader::new(stdout).lines()),
        };
        Ok(Self { folder: folder.to_owned(), child, lifeline, stdout })
    }

    /// The next event; none when the host is at its end, and always in relay, where the stream tells. Dropping the
    /// future loses nothing.
    pub async fn event(&mut self) -> Option<Event> {
        let Stdout::Events(lines) = &mut self.stdout else { return None };
        let line = lines.next_line().await.ok().flatten()?;
        serde_json::from_str(&line).ok()
    }

    /// In relay, once: what goes to the program and what comes from it. The writer is the lifeline: dropping it is
    /// `cut_off`.
    pub fn relay(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        match &mut self.stdout {
            Stdout::Events(_) => None,
            Stdout::Relay(stdout) => Some((self.lifeline.take()?, stdout.take()?)),
        }
    }

    /// Ends the program and all it started, within ten seconds. `wait` tells when.
    pub fn cut_off(&mut self) {
        self.lifeline = None;
    }

    /// How it ended. A host that was killed has left an end or `settle` makes one, after ending what is left.
    pub async fn wait(mut self) -> io::Result<Ended> {
        // The events are hints; unread ones hold nobody up. But the lifeline must outlast the program.
        let lifeline = self.lifeline.take();
        self.child.wait().await?;
        drop(lifeline);
        let folder = self.folder;
        tokio::task::spawn_blocking(move || sweep::settle(&folder)).await?
    }
}
