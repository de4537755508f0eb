//! Runs the process of a turn host: locks the turn (one run of an agent's program), so that no other process ends it,
//! starts the program, and records how the turn ended.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use rustix::process::{getpgid, getpgrp, getpid, getppid, setpgid, setsid};
use signal_hook::consts::{SIGINT, SIGQUIT, SIGTSTP};

use super::clock::now_ms;
use super::events::HostEvents;
use super::kin::SignalReach;
use super::output::HostOutput;
use super::turn::HostTurn;
use super::{HostEnded, HostEvent, HostInput, ProgramEnd, program, record};

/// Runs the turn host (the process that starts and ends one program) for the turn in this folder. The exit code is zero
/// if the end of the turn was recorded.
pub(super) fn serve(folder: &Path) -> ExitCode {
    let session = if leave_session().is_ok() { SignalReach::Own } else { SignalReach::Shared };
    match host(folder, session) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("handover {}: {error}", super::COMMAND);
            ExitCode::FAILURE
        }
    }
}

/// Moves the turn host (this process) into a session of its own. The host then has no terminal, and all processes in
/// the process groups of its session are its descendants.
///
/// The runner starts the host as the leader of a process group, and a leader cannot create a session. So the host joins
/// the runner's group first. In that moment a signal of the terminal can reach the host, so the host handles such
/// signals without an effect. A program that the host starts does not inherit the handlers.
fn leave_session() -> io::Result<()> {
    for signal in [SIGINT, SIGQUIT, SIGTSTP] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    if getpgrp() == getpid() {
        setpgid(None, Some(getpgid(getppid())?))?;
    }
    setsid()?;
    Ok(())
}

fn host(folder: &Path, session: SignalReach) -> io::Result<()> {
    let folder = &folder.canonicalize()?;
    let held = File::open(folder.join(record::LAUNCH))?;
    // `try_lock` fails if another process holds the lock while it runs `settle` for this turn (this run of the agent's
    // program). That process ends the turn, and records the end before it releases the lock.
    held.try_lock()?;
    if record::ended(folder)?.is_some() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "this turn has ended"));
    }
    let launch = record::launch(folder)?;
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let mine = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().map(File::from);
    let (lifeline, stdout) = (mine(io::stdin().as_fd())?, mine(io::stdout().as_fd())?);
    let (mut events, relay) = match launch.input {
        HostInput::Relay => (HostEvents::to_folder(folder)?, Some(stdout)),
        HostInput::Nothing | HostInput::File(_) => (HostEvents::to_runner(stdout), None),
    };
    let output = HostOutput::new(folder, launch.output_bytes_max, relay)?;
    let started_at = now_ms();
    let mut ended = match program::start(folder, &launch) {
        Ok(program) => {
            events.tell(&HostEvent::Started { pid: program.pid.as_raw_pid().unsigned_abs() });
            let mut turn = HostTurn::new(&launch, program, lifeline, output, &mut events);
            turn.work();
            turn.end(folder, session)
        }
        Err(why) => HostEnded::without_output(ProgramEnd::SpawnFailed { why }),
    };
    (ended.started_at, ended.ended_at) = (started_at, now_ms());
    record::write(folder, record::END, &ended)?;
    events.tell(&HostEvent::Ended(ended));
    Ok(())
}
