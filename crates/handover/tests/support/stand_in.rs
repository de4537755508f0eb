//! A stand-in for an agent's client: a small program that starts `handover mcp`. The server records the process that
//! started it, and all descendants of that process count as run by an agent. So the test does not start the server
//! itself: all its other commands would then count as run by an agent.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};

/// The longest time to wait for the server's process id. The id usually comes at once, but a busy machine may need
/// longer.
const START_MAX: std::time::Duration = std::time::Duration::from_secs(60);

/// The script of the stand-in, a small program that plays an agent's client. The first argument is a file, and the
/// other arguments are a command. The script starts the command, which inherits the script's pipes, and writes the
/// command's process id into the file. The shell's messages about a killed server are discarded.
const SCRIPT: &str = r#"
file=$1; shift; exec 3<&0 4>&2 2> /dev/null
"$@" <&3 2>&4 3<&- 4>&- &
echo $! > "$file.half"; mv "$file.half" "$file"; wait $!
"#;

/// A stand-in for an agent's client, and the server that it started.
#[derive(Debug)]
pub(crate) struct StandIn {
    pub(crate) child: Child,
    /// The process id of the `handover mcp` server.
    pub(crate) server: u32,
    _folder: tempfile::TempDir,
}

impl StandIn {
    /// Starts a server as a child of a stand-in, a small program that plays an agent's client. `pipes` sets the pipes
    /// of the stand-in, and the server inherits them.
    pub(crate) fn start(server: &Command, pipes: impl FnOnce(&mut Command)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server");
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "stand-in"]).arg(&file).arg(server.get_program()).args(server.get_args());
        for (name, value) in server.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = server.get_current_dir() {
            command.current_dir(folder);
        }
        pipes(&mut command);
        let child = command.spawn().unwrap();
        let server = number(&file);
        Self { child, server, _folder: folder }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // A server that has ended needs no signal, so ignore a failure.
        let _ended = kill_process(Pid::from_raw(self.server.cast_signed()).unwrap(), signal);
    }

    /// Waits until the server has ended. The stand-in exits with the server's exit code, or with 128 plus the number of
    /// the signal that ended the server.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

/// Ends the server, so that a failed test leaves no process behind. When the stand-in has ended, its server has ended,
/// too.
impl Drop for StandIn {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::KILL);
            self.wait();
        }
    }
}

fn number(file: &PathBuf) -> u32 {
    let begun = std::time::Instant::now();
    loop {
        if let Ok(text) = std::fs::read_to_string(file) {
            return text.trim().parse().unwrap();
        }
        assert!(begun.elapsed() < START_MAX, "no server was started");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}
