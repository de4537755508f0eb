//! Controls a turn host (the process that starts and ends an agent's program) from the runner: starts the host,
//! receives its events, makes it end the program, and returns how the turn (the run of the program) ended.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use spawn::{StartEnvironment, StartFolder};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{COMMAND, HostEnded, HostEvent, HostInput, HostLaunch, record, sweep};

/// The runner's handle of a running turn (one run of an agent's program). When the handle is dropped, the turn host
/// (the process that started the program) ends the program. After that, [`settle`](super::settle) can return how the
/// turn ended.
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
    /// The program's output in a relay turn, in which the runner and the program talk through pipes. None after the
    /// caller took it.
    Relay(Option<ChildStdout>),
}

/// Returns the path of the binary that this process runs. On Linux the path works even if the file was replaced after
/// the start of this process.
pub fn own_binary() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() }
}

impl TurnHost {
    /// Writes the launch (the program to start and its limits) into the turn's folder, and starts the turn host, the
    /// process that starts and ends the program. The folder is created if it is missing. A folder that already has a
    /// launch is refused. If the host cannot be started, this function does not record an end of the turn; `settle`
    /// does it later.
    pub fn start(binary: &Path, folder: &Path, launch: &HostLaunch) -> io::Result<Self> {
        fs::DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
        if folder.join(record::LAUNCH).try_exists()? {
            return Err(ErrorKind::AlreadyExists.into());
        }
        record::write(folder, record::LAUNCH, launch)?;
        // The turn host (the process that starts and ends the program) inherits the folder and the environment of the
        // runner. Later it gives the program the folder and the environment that the launch names.
        let mut command: Command = spawn::command(binary, StartFolder::Own, StartEnvironment::Whole).into();
        // The turn host (the process that starts and ends the program) is started in its own process group. A Ctrl-C in
        // the runner's terminal signals the runner's group, and must not reach the host, not even before the host has
        // created its session. The host is not killed on drop, because it must end its program first.
        command.process_group(0);
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

    /// Returns the next event of the turn host (the process that started the program). Returns None after the host has
    /// ended. In a relay turn (the runner and the program talk through pipes) it always returns None, and the end of
    /// the program's output shows that the turn ends. Dropping the future loses nothing.
    pub async fn event(&mut self) -> Option<HostEvent> {
        let Stdout::Events(lines) = &mut self.stdout else { return None };
        let line = lines.next_line().await.ok().flatten()?;
        serde_json::from_str(&line).ok()
    }

    /// Returns the pipes to and from the program, if the runner and the program talk to each other (a relay turn). They
    /// can be taken only once. Dropping the writing pipe makes the turn host (the process that started the program) end
    /// the program, as `cut_off` does.
    pub fn relay(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        match &mut self.stdout {
            Stdout::Events(_) => None,
            Stdout::Relay(stdout) => Some((self.lifeline.take()?, stdout.take()?)),
        }
    }

    /// Makes the turn host (the process that started the program) end the program and all processes that the program
    /// started, within ten seconds. `wait` returns when they have ended.
    pub fn cut_off(&mut self) {
        self.lifeline = None;
    }

    /// Waits for the end of the turn (one run of an agent's program) and returns how it ended. If the turn host was
    /// killed before it recorded the end, `settle` ends the remaining processes and records the end.
    pub async fn wait(mut self) -> io::Result<HostEnded> {
        // The events of the turn host (the process that started the program) are not read here. They are only hints,
        // and unread events do not block the host. The lifeline (the pipe to the host) stays open until the host ends,
        // because closing it would make the host end the program.
        let lifeline = self.lifeline.take();
        self.child.wait().await?;
        drop(lifeline);
        let folder = self.folder;
        tokio::task::spawn_blocking(move || sweep::settle(&folder)).await?
    }
}
