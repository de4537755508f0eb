//! A person at a terminal: a pseudo-terminal on standard input, and nothing of an agent in the environment.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

/// The other side of a terminal. The terminal is there as long as this is.
#[derive(Debug)]
pub(crate) struct Terminal {
    _outer: std::os::fd::OwnedFd,
    /// Where a program finds it.
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

    /// Seats whoever runs the program at this terminal.
    pub(crate) fn seat(&self, program: &mut Command) {
        use std::os::unix::fs::OpenOptionsExt as _;

        // It must not become the terminal of the test.
        let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
        program.stdin(File::options().read(true).write(true).custom_flags(flags).open(&self.path).unwrap());
    }
}

/// Takes everything out of a program's environment that says it runs below an agent, or that decides for a person.
pub(crate) fn unmark(program: &mut Command) {
    for mark in handover::below::marks() {
        program.env_remove(mark);
    }
    program.env_remove("HANDOVER_TOKEN");
}
