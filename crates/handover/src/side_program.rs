//! Starts the programs that are no agents, such as git and notification commands. Each program gets its own process
//! group and only a few environment variables.

use std::path::Path;
use std::process::Stdio;

use base::project::environment::{self, ProgramKind};
use base::project::settings::EnvironmentSettings;
use spawn::{StartEnvironment, StartFolder};
use tokio::process::{Child, Command};

/// Returns the command that starts a program in a folder, with pipes for standard input and output. The program is
/// killed when the handle of the started process is dropped.
pub fn command(program: &Path, folder: &Path) -> Command {
    let inherited = environment::inherited_here(ProgramKind::Notify, &EnvironmentSettings::default());
    let names: Vec<&str> = inherited.iter().map(String::as_str).collect();
    let mut command: Command = spawn::command(program, StartFolder::At(folder), StartEnvironment::Only(&names)).into();
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
