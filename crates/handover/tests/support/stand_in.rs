//! A stand-in for an agent's client: a small program that starts `handover mcp`. The server records the process that started
//! it, and everything below that process is below an agent; so it is never the test itself.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};

/// A server's number is there as soon as it is started; a machine that is busy may take this long.
const START_MAX: std::time::Duration = std::time::Duration::from_secs(60);

/// Starts what comes after the name of a file, on the pipes it was given, and writes its number into the file. What the shell
/// itself says of a server that was killed is nobody's to read.
const SCRIPT: &str = r#"
file=$1; shift; exec 3<&0 4>&2 2> /dev/null
"$@" <&3 2>&4 3<&- 4>&- &
echo $! > "$file.half"; mv "$file.half" "$file"; wait $!
"#;

/// A stand-in and the server below it.
#[derive(Debug)]
pub(crate) struct StandIn {
    pub(crate) child: Child,
    /// The server's number.
    pub(crate) server: u32,
    _folder: tempfile::TempDir,
}

impl StandIn {
    /// Starts a server below a stand-in. The pipes are set by `pipes`, on the stand-in: the server has the same ones.
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
        // A server that has ended needs no signal.
        let _ended = kill_process(Pid::from_raw(self.server.cast_signed()).unwrap(), signal);
    }

    /// Waits until the server has ended. The stand-in ends with its code, or with 128 and the number of its signal.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

/// A test that fails leaves no process behind. A stand-in that has ended has seen the end of its server.
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
