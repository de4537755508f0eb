//! A runner that a test can kill, and a search for processes that still run after the runner ended.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::busy::patience;
use crate::machine::Machine;
use crate::scene::{Ran, Scene, ran};

/// The longest time that a test waits for a runner. Only a deadlock takes longer.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(5);

pub(crate) fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "bounds what a test waits for, and measures it")]
    Instant::now()
}

pub(crate) fn rest(time: Duration) {
    #[expect(clippy::disallowed_methods, reason = "a process that is not our child tells nobody how it goes")]
    std::thread::sleep(time);
}

/// A running process `handover run`, whose output goes to files.
#[derive(Debug)]
pub(crate) struct Runner {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Runner {
    /// Starts a runner. `name` is the name of the runner and of its output files.
    pub(crate) fn start(scene: &Scene, name: &str, arguments: &[&str]) -> Self {
        Self::start_on(scene, &Machine::here(), name, arguments)
    }

    pub(crate) fn start_on(scene: &Scene, machine: &Machine, name: &str, arguments: &[&str]) -> Self {
        let (out, err) = (scene.sim().join(format!("{name}.out")), scene.sim().join(format!("{name}.err")));
        let mut command = machine.handover(scene, &[&["run", "--json"], arguments].concat());
        command.env("HANDOVER_HOST", name);
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let child = command.spawn().unwrap();
        fs::write(scene.sim().join("runner"), child.id().to_string()).unwrap();
        Self { child, out, err }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells whether the runner ended by itself within this time.
    pub(crate) fn ends_within(&mut self, time: Duration) -> bool {
        let until = now() + time;
        loop {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            let now = now();
            if now >= until {
                return false;
            }
            rest(PAUSE.min(until - now));
        }
    }

    /// Kills the runner with SIGKILL, so that it cannot clean up. Returns its standard error.
    pub(crate) fn kill(&mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        fs::read_to_string(&self.err).unwrap()
    }

    /// Returns the events that the runner has printed so far.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.out).unwrap()
    }

    pub(crate) fn end(mut self) -> Ran {
        assert!(self.ends_within(patience(PATIENCE)), "the runner hangs: {}", fs::read_to_string(&self.out).unwrap());
        let status = self.child.wait().unwrap();
        ran(std::process::Output { status, stdout: fs::read(&self.out).unwrap(), stderr: fs::read(&self.err).unwrap() })
    }
}

#[derive(Debug)]
struct Process {
    parent: u32,
    /// The command line of the process, or `None` when the process does not belong to the test project.
    of_scene: Option<String>,
}

/// Returns the processes of a test project that descend from none of these runners.
pub(crate) fn strangers(scene: &Scene, runners: &[u32]) -> Vec<String> {
    let all: BTreeMap<u32, Process> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, look(scene, pid)?))
        })
        .collect();
    let is_below = |mut pid: u32| loop {
        if runners.contains(&pid) {
            return true;
        }
        match all.get(&pid) {
            Some(process) if process.parent > 1 => pid = process.parent,
            Some(_) | None => return false,
        }
    };
    let strange = all.iter().filter(|(pid, _)| !is_below(**pid));
    strange.filter_map(|(pid, process)| Some(format!("{pid}: {}", process.of_scene.as_ref()?))).collect()
}

fn look(scene: &Scene, pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let parent = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let mark = format!("SIM={}", scene.sim().display());
    let has_mark = read("environ").split(|byte| *byte == 0).any(|item| item == mark.as_bytes());
    let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
    let folder = scene.project();
    let is_inside = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|path| path.starts_with(&folder));
    let is_told = line.contains(&*folder.to_string_lossy());
    Some(Process { parent, of_scene: (has_mark || is_inside || is_told).then_some(line) })
}

/// Returns the processes of a test project that still run 15 seconds after `killed`, without these runners and their
/// descendants.
pub(crate) fn strangers_after(scene: &Scene, runners: &[u32], killed: Instant) -> Vec<String> {
    const ENDED: Duration = Duration::from_secs(15);
    loop {
        let found = strangers(scene, runners);
        if found.is_empty() || killed.elapsed() > patience(ENDED) {
            return found;
        }
        rest(4 * PAUSE);
    }
}
