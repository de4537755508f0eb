//! The one way to start a program: the caller chooses folder and environment, and it gets a process group of its own.

use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, Command};

/// Of our own environment a program gets these: where it finds programs and files, and how it speaks.
const KEPT: &[&str] = &["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "TERM", "NO_COLOR"];

/// A program in a folder, with standard input and output as pipes. It ends when its handle is dropped.
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

/// Ends a program and all it has started, at once, as a crash would.
pub fn kill(child: &Child) {
    if let Some(group) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) {
        // It may have ended by itself meanwhile.
        let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}
