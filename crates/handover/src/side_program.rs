//! Starts the programs that are no agents, such as git and notification commands. Each program gets its own process
//! group and only a few environment variables.

use std::path::Path;
use std::process::Stdio;

use spawn::{StartEnvironment, StartFolder};
use tokio::process::{Child, Command};

/// The environment variables that a started program inherits: the paths of programs and files, the user, the language,
/// and the terminal. All others are removed.
const KEPT: &[&str] = &["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "TERM", "NO_COLOR"];

/// Returns the command that starts a program in a folder, with pipes for standard input and output. The program is
/// killed when the handle of the started process is dropped.
pub fn command(program: &Path, folder: &Path) -> Command {
    let mut command: Command = spawn::command(program, StartFolder::At(folder), StartEnvironment::Only(KEPT)).into();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.process_group(0).kill_on_drop(true);
    command
}

/// Kills a program and its process group at once, as a crash would.
pub fn kill(child: &Child) {
    if let Some(group) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) {
        // Ignore the error: the process may have ended already.
        let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}
