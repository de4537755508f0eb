//! Finds and ends the descendants of a turn host (the process that starts and ends an agent's program): its children
//! and their children, in all process groups and sessions.
//!
//! A process keeps its number until its parent collects its exit status. The parent of the host's direct children is
//! the host itself, so their numbers cannot be reused unexpectedly, and the host can signal them by number. When a
//! direct child dies, the processes that it started become direct children of the host. When a direct child cannot be
//! killed, its descendants are signalled through process handles (pidfd). After opening a handle, the host checks that
//! the handle belongs to the expected process.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpgrp, getpid, kill_process, kill_process_group, wait};

use super::Survivor;

/// The time within which a killed process normally dies. A process that takes longer is probably stuck in the kernel.
const DEATH: Duration = Duration::from_millis(500);
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(50);
const SURVIVORS_MAX: usize = 20;

/// The state of the descendants of the turn host (the process that starts and ends the program): all processes that the
/// program started, and the program itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kin {
    Alive,
    Gone,
}

/// A process of this machine, as the kernel shows it in /proc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: Pid,
    pub(super) parent: i32,
    pub(super) group: Option<Pid>,
    pub(super) name: String,
    pub(super) is_zombie: bool,
    /// True if a signal such as SIGSTOP stopped the process. It does nothing until another signal continues it.
    pub(super) is_stopped: bool,
}

/// The kind of session that the turn host (the process that starts and ends the program) runs in. It decides which
/// processes a signal to a process group may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalReach {
    /// The turn host (the process that starts and ends the program) has its own session, so only its descendants can be
    /// in a group of the session.
    Own,
    Shared,
}

/// Collects the exit statuses of all children of this process that have ended.
pub(super) fn reap(mut each: impl FnMut(Pid, WaitStatus)) -> Kin {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => each(pid, status),
            Ok(None) => return Kin::Alive,
            Err(Errno::INTR) => {}
            Err(_) => return Kin::Gone,
        }
    }
}

/// Kills the descendants of the turn host (this process) until none is left, including processes that start during the
/// loop. Returns the processes that still run at the time `until`.
pub(super) fn end_all(session: SignalReach, until: Instant, mut each: impl FnMut(Pid, WaitStatus)) -> Vec<Survivor> {
    let begun = now();
    let mut pause = PAUSE_MIN;
    let mut seen = BTreeSet::new();
    while reap(&mut each) == Kin::Alive {
        let children = children();
        let known = seen.len();
        for child in &children {
            kill(child, session);
            seen.insert(child.pid.as_raw_pid());
        }
        let now = now();
        if now >= until {
            return survivors();
        }
        // If new processes appeared since the last check, the loop checks again without a pause. During a pause, a
        // process that forks again and again could always start a child before it is killed.
        if seen.len() > known {
            pause = PAUSE_MIN;
            continue;
        }
        if now - begun > DEATH {
            kill_below(&children);
        }
        rest(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
    Vec::new()
}

pub(super) fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "bounds the waits of the host")]
    Instant::now()
}

pub(super) fn rest(time: Duration) {
    // An error of `poll` is ignored: it only means that the wait ends too early and the caller checks once more.
    let _ = poll(&mut [], Some(&timespec(time)));
}

pub(super) fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: i64::from(time.subsec_nanos()) }
}

/// Kills a child and all members of its process group. One signal reaches the whole group at the same time, so no
/// member can fork while the others are killed.
fn kill(child: &Process, session: SignalReach) {
    match (session, child.group) {
        // A child may have moved into the process group of the turn host (this process). That group is not killed,
        // because the host is in it.
        (SignalReach::Own, Some(group)) if group != getpgrp() => {
            let _ = kill_process_group(group, Signal::KILL);
        }
        (SignalReach::Own | SignalReach::Shared, _) => {}
    }
    // The error is ignored, because a process that cannot be killed is reported among the survivors.
    let _ = kill_process(child.pid, Signal::KILL);
}

fn kill_below(children: &[Process]) {
    let direct = |process: &Process| children.iter().any(|child| child.pid == process.pid);
    for process in below(getpid(), &all()).into_iter().filter(|process| !direct(process)) {
        kill_checked(process.pid, |again| again.parent == process.parent);
    }
}

/// Kills the process with the number `pid`, after checking by `is_same` that the number still belongs to the expected
/// process. A process that cannot be killed is reported among the survivors.
pub(super) fn kill_checked(pid: Pid, is_same: impl FnOnce(&Process) -> bool) {
    signal_checked(pid, Signal::KILL, is_same);
}

/// Signals the process with the number `pid`, after checking by `is_same` that the number still belongs to the expected
/// process. The number can be reused at any time. So a process handle (pidfd) is opened first, because a handle always
/// refers to the same process.
#[cfg(target_os = "linux")]
pub(super) fn signal_checked(pid: Pid, signal: Signal, is_same: impl FnOnce(&Process) -> bool) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if process(pid).is_some_and(|process| is_same(&process)) {
        let _ = pidfd_send_signal(handle, signal);
    }
}

/// Does nothing on this system, because it has no /proc in which processes could be found.
#[cfg(not(target_os = "linux"))]
pub(super) fn signal_checked(_pid: Pid, _signal: Signal, _is_same: impl FnOnce(&Process) -> bool) {}

fn survivors() -> Vec<Survivor> {
    let living = below(getpid(), &all()).into_iter().filter(|process| !process.is_zombie);
    let named = living.map(|it| Survivor { pid: it.pid.as_raw_pid().unsigned_abs(), name: it.name });
    named.take(SURVIVORS_MAX).collect()
}

/// Returns all descendants of the process `root`. `all` is a snapshot of all processes of the machine.
pub(super) fn below(root: Pid, all: &[Process]) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![root.as_raw_pid()];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            parents.push(process.pid.as_raw_pid());
            found.push(process.clone());
        }
    }
    found
}

fn children() -> Vec<Process> {
    let own = getpid();
    let path = format!("/proc/self/task/{}/children", own.as_raw_pid());
    // Some kernels have no file that lists the children. In that case the children are searched for among all
    // processes.
    let Ok(text) = std::fs::read_to_string(path) else {
        return all().into_iter().filter(|process| process.parent == own.as_raw_pid()).collect();
    };
    text.split_ascii_whitespace().filter_map(|word| process(Pid::from_raw(word.parse().ok()?)?)).collect()
}

/// Returns all processes of the machine. The result is empty when there is no /proc.
pub(super) fn all() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| process(Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?)).collect()
}

pub(super) fn process(pid: Pid) -> Option<Process> {
    let text = std::fs::read(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The name of the process is in parentheses, and may contain parentheses itself. So the last `)` of the text ends
    // the name.
    let (head, tail) = text.rsplit_once(')')?;
    let mut words = tail.split_ascii_whitespace();
    let state = words.next()?;
    let (is_zombie, is_stopped) = (matches!(state, "Z" | "X"), matches!(state, "T" | "t"));
    let parent = words.next()?.parse().ok()?;
    // A process that is about to end has no group. The kernel shows the group as -1.
    let group = words.next()?.parse().ok().filter(|group| *group > 0).and_then(Pid::from_raw);
    let name = head.split_once('(')?.1.to_owned();
    Some(Process { pid, parent, group, name, is_zombie, is_stopped })
}
