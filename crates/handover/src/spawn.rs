//! The only code that starts programs. The caller chooses the folder and the environment, and each program gets its own
//! process group.

use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, Command};

/// The environment variables that a program inherits: the paths of programs and files, the user, the language, and the
/// terminal. All others are removed.
const KEPT: &[&str] = &["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "TERM", "NO_COLOR"];

/// Returns the command that starts a program in a folder, with pipes for standard input and output. The program is
/// killed when the handle of the started process is dropped.
pub fn program(program: &Path, folder: &Path) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that starts programs; folder and environment are chosen"
    )]
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear().kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.process_group(0);
    command
}

/// Kills a program and its process group at once, as a crash would.
pub fn kill(child: &Child) {
    if let Some(group) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) {
        // The process may have ended already.
        let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}
