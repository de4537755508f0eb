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
    notice_command(program, folder, &EnvironmentSettings::default())
}

/// Returns the command that starts a program which sends a notice, with the same pipes as `command`. `settings` is the
/// section `[env]` that a person accepted.
pub fn notice_command(program: &Path, folder: &Path, settings: &EnvironmentSettings) -> Command {
    let inherited = environment::inherited_here(ProgramKind::Notify, settings);
    let names: Vec<&str> = inherited.iter().map(String::as_str).collect();
    let mut command: Command = spawn::command(program, StartFolder::At(folder), StartEnvironment::Only(&names)).into();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.process_group(0).kill_on_drop(true);
    command
}

/// Kills a program and its process group immediately, as a crash would.
pub fn kill(child: &Child) {
    if let Some(group) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) {
        // Ignore a failure to kill: the process may have ended already.
        let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}
