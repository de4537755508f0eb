//! Ends the remaining processes of a turn (one run of an agent's program) whose host, the process that started the
//! program, was killed. Records an end for the turn.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid};

use super::clock::now_ms;
use super::kin::{self, Process};
use super::{COMMAND, HostEnded, ProgramEnd, STDERR, STDOUT, Survivor, TURN, record};

const SWEEP_MAX: Duration = Duration::from_secs(10);
/// The longest wait for a turn host (the process that started the program) that is still running. A host ends its
/// processes within ten seconds, and then writes its files to disk.
const HOST_MAX: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);
/// The number of checks in a row that must find no process of the turn (the run of the program). A single check can
/// miss a process that forks and then exits immediately.
const LOOKS: u32 = 3;

/// Ends all processes that have the id of this folder's turn in their environment, and their descendants. Blocks for
/// ten seconds at most. Returns the processes that still run then.
///
/// On a system without /proc no process is found.
pub fn sweep(folder: &Path) -> io::Result<Vec<Survivor>> {
    let mark = format!("{TURN}={}", record::launch(folder)?.turn).into_bytes();
    let until = kin::now() + SWEEP_MAX;
    let mut empty = 0;
    loop {
        let found = find(&mark);
        empty = if found.is_empty() { empty + 1 } else { 0 };
        if empty == LOOKS || kin::now() >= until {
            let named = |it: Process| Survivor { pid: it.pid.as_raw_pid().unsigned_abs(), name: it.name };
            return Ok(found.into_iter().map(named).collect());
        }
        for process in &found {
            kin::kill_checked(process.pid, |again| again.name == process.name && again.parent == process.parent);
        }
        kin::rest(PAUSE);
    }
}

/// Returns how a turn (one run of an agent's program) ended, even if its runner was killed. Waits while the turn's host
/// (the process that started the program) is still running. A host that was stopped by a signal is continued, so that
/// it sees that its runner is gone and ends its program. A host that does not end in time is killed. If the host was
/// killed, ends the remaining processes and records the end of the turn. Blocks for forty seconds at most.
pub fn settle(folder: &Path) -> io::Result<HostEnded> {
    let held = File::open(folder.join(record::LAUNCH))?;
    let until = kin::now() + HOST_MAX;
    loop {
        match held.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if kin::now() < until => {
                let stopped = hosts(folder).into_iter().filter(|host| host.is_stopped);
                stopped.for_each(|host| signal(&host, Signal::CONT));
                kin::rest(PAUSE);
            }
            Err(TryLockError::WouldBlock) if kin::now() < until + SWEEP_MAX => {
                hosts(folder).iter().for_each(|host| signal(host, Signal::KILL));
                kin::rest(PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    }
    // This process holds the lock of the turn (one run of an agent's program). So the turn's host is no longer alive,
    // and no new host of the turn can start.
    if let Some(ended) = record::ended(folder)? {
        return Ok(ended);
    }
    let survivors = sweep(folder)?;
    let length = |name| folder.join(name).metadata().map_or(0, |file| file.len());
    let ended = HostEnded {
        survivors,
        stdout_bytes: length(STDOUT),
        stderr_bytes: length(STDERR),
        ended_at: now_ms(),
        ..HostEnded::without_output(ProgramEnd::Lost { why: "the host of the turn was killed".to_owned() })
    };
    record::write(folder, record::END, &ended)?;
    Ok(ended)
}

/// Returns the processes that run as the turn host (the process that starts and ends a program) for this folder, found
/// by their command lines.
fn hosts(folder: &Path) -> Vec<Process> {
    let is_host = |process: &Process| {
        let line = std::fs::read(format!("/proc/{}/cmdline", process.pid.as_raw_pid())).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).skip(1).take(2).collect();
        words == [COMMAND.as_bytes(), folder.as_os_str().as_bytes()]
    };
    kin::all().into_iter().filter(|process| process.pid != getpid() && is_host(process)).collect()
}

fn signal(host: &Process, signal: Signal) {
    kin::signal_checked(host.pid, signal, |again| again.name == host.name && again.parent == host.parent);
}

/// Returns the living processes whose environment contains `mark` (the variable `HANDOVER_TURN` with the id of one run
/// of an agent's program), and their descendants. Our own process is never among them.
fn find(mark: &[u8]) -> Vec<Process> {
    let all: Vec<Process> = kin::all().into_iter().filter(|it| !it.is_zombie && it.pid != getpid()).collect();
    let mut found: Vec<Process> = Vec::new();
    for process in all.iter().filter(|process| has_mark(process.pid, mark)) {
        for process in kin::below(process.pid, &all).into_iter().chain([process.clone()]) {
            if !found.contains(&process) {
                found.push(process);
            }
        }
    }
    found
}

fn has_mark(pid: Pid, mark: &[u8]) -> bool {
    let environment = std::fs::read(format!("/proc/{}/environ", pid.as_raw_pid())).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|item| item == mark)
}
