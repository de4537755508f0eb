//! A person at a terminal: a pseudo-terminal on standard input, and no environment variable that marks an agent.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

/// A pseudo-terminal. The value holds the end that a terminal window would hold, and the terminal exists as long as the
/// value.
#[derive(Debug)]
pub(crate) struct Terminal {
    _outer: std::os::fd::OwnedFd,
    /// The path under which a program can open the terminal.
    pub(crate) path: PathBuf,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        use std::os::unix::ffi::OsStrExt as _;

        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

        let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&outer).unwrap();
        unlockpt(&outer).unwrap();
        let name = ptsname(&outer, Vec::new()).unwrap();
        Self { _outer: outer, path: std::ffi::OsStr::from_bytes(name.as_bytes()).into() }
    }

    /// Connects the program's standard input to this terminal.
    pub(crate) fn seat(&self, program: &mut Command) {
        use std::os::unix::fs::OpenOptionsExt as _;

        // The terminal must not become the controlling terminal of the test.
        let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
        program.stdin(File::options().read(true).write(true).custom_flags(flags).open(&self.path).unwrap());
    }
}

/// Removes the environment variables that mark a program as run by an agent, or that let it decide as a person.
pub(crate) fn unmark(program: &mut Command) {
    for mark in handover::below::marks() {
        program.env_remove(mark);
    }
    program.env_remove("HANDOVER_TOKEN");
}
