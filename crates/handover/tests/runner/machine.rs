//! A simulated machine with its own network, host name and clock. A test can stop and continue all processes of a
//! machine together, as happens when a laptop sleeps.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::scene::{Scene, program};

/// The paths at which Debian's package `faketime` installs its library.
const FAKETIME: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

/// The clock of a machine: right, or wrong in a way that the test chooses.
#[derive(Debug, Clone)]
pub(crate) enum MachineClock {
    Right,
    /// A fixed offset in the syntax of `faketime`, such as `+10m`.
    Off(&'static str),
    /// The file with the offset of the clock. It is read at each use of the clock, so that a test can change the time
    /// while processes run.
    Set(PathBuf),
}

/// A machine on which a test starts processes. Without a name it is the real machine of the test.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    name: Option<&'static str>,
    clock: MachineClock,
}

impl Machine {
    /// Returns the real machine with its real clock.
    pub(crate) fn here() -> Self {
        Self { name: None, clock: MachineClock::Right }
    }

    /// Returns a simulated machine. Returns an error with the reason when the kernel forbids namespaces or the clock
    /// library is missing.
    pub(crate) fn named(name: &'static str, clock: MachineClock) -> Result<Self, String> {
        let mut probe = program("unshare");
        probe.args(["--net", "--uts", "true"]).stderr(Stdio::piped());
        let probed = probe.output().map_err(|error| format!("unshare: {error}"))?;
        if !probed.status.success() {
            return Err(format!("this kernel forbids namespaces: {}", String::from_utf8_lossy(&probed.stderr).trim()));
        }
        library()?;
        Ok(Self { name: Some(name), clock })
    }

    /// Returns the command that runs `handover` on this machine, in the folder of the test project.
    pub(crate) fn handover(&self, scene: &Scene, arguments: &[&str]) -> Command {
        let plain = scene.handover(arguments);
        let Some(name) = self.name else { return plain };
        let mut command = program("unshare");
        command.args(["--net", "--uts", "sh", "-c", "hostname \"$0\" && exec \"$@\"", name]);
        command.arg(plain.get_program()).args(plain.get_args()).current_dir(scene.project()).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
        // Each simulated machine has its own user data folder, as real machines do.
        command.env("XDG_DATA_HOME", self.data(scene));
        self.set_clock(&mut command);
        command
    }

    /// Returns the folder of this machine in which Handover keeps a user's data.
    pub(crate) fn data(&self, scene: &Scene) -> PathBuf {
        let folder = scene.sim().join("..").join(self.name.map_or("data".to_owned(), |name| format!("data-{name}")));
        // Copy the record of the settings that a person accepted, so that they count as accepted on every machine.
        if !folder.exists() {
            copy(&scene.sim().join("../data"), &folder);
        }
        folder
    }

    fn set_clock(&self, command: &mut Command) {
        match &self.clock {
            MachineClock::Right => return,
            MachineClock::Off(offset) => command.env("FAKETIME", offset),
            MachineClock::Set(file) => command.env("FAKETIME_TIMESTAMP_FILE", file).env("FAKETIME_NO_CACHE", "1"),
        };
        // The monotonic clock stays real, because a change of a machine's time does not change its monotonic clock.
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
        command.env("LD_PRELOAD", library().unwrap());
    }
}

fn library() -> Result<&'static str, String> {
    let found = FAKETIME.into_iter().find(|path| Path::new(path).exists());
    found.ok_or_else(|| "the Debian package faketime is not installed".to_owned())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Processes that were stopped, in the order in which they were stopped.
#[derive(Debug)]
pub(crate) struct Asleep(Vec<u32>);

impl Asleep {
    /// Stops these processes and all their descendants. A parent is stopped before its children are listed, so that it
    /// starts no new ones.
    pub(crate) fn stop(roots: &[u32]) -> Self {
        let mut stopped = BTreeSet::new();
        let mut order = Vec::new();
        let mut next: Vec<u32> = roots.to_vec();
        while let Some(pid) = next.pop() {
            if stopped.insert(pid) && send(pid, Signal::STOP) {
                order.push(pid);
                next.extend(children(pid));
            }
        }
        Self(order)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Continues the processes in the order in which they were stopped.
    pub(crate) fn wake(self) {
        drop(self);
    }
}

impl Drop for Asleep {
    /// Continues the processes, so that a failed test leaves none of them stopped.
    fn drop(&mut self) {
        for pid in &self.0 {
            // A process may have ended since it was stopped, so ignore a failure.
            let _gone = send(*pid, Signal::CONT);
        }
    }
}

fn send(pid: u32, signal: Signal) -> bool {
    Pid::from_raw(i32::try_from(pid).unwrap()).is_some_and(|pid| kill_process(pid, signal).is_ok())
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids = lists.flat_map(|list| list.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>());
    pids.filter_map(|pid| pid.parse().ok()).collect()
}
