//! Runs the process of a turn host: locks the turn, so that no other process ends it, starts the agent's program, and
//! records how the turn ended.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::ExitCode;

use rustix::process::setsid;

use super::clock::now_ms;
use super::events::HostEvents;
use super::kin::SignalReach;
use super::output::HostOutput;
use super::turn::HostTurn;
use super::{HostEnded, HostEvent, HostInput, ProgramEnd, program, record};

/// Runs the turn host for the turn in this folder. The exit code is zero if the end of the turn was recorded.
pub(super) fn serve(folder: &Path) -> ExitCode {
    // The turn host creates its own session. Otherwise a signal that a terminal sends to the runner's group would end
    // the host before the host has ended its program.
    let session = if setsid().is_ok() { SignalReach::Own } else { SignalReach::Shared };
    match host(folder, session) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("handover {}: {error}", super::COMMAND);
            ExitCode::FAILURE
        }
    }
}

fn host(folder: &Path, session: SignalReach) -> io::Result<()> {
    let folder = &folder.canonicalize()?;
    let held = File::open(folder.join(record::LAUNCH))?;
    // `try_lock` fails if another process holds the lock while it runs `settle` for this turn. That process ends the
    // turn, and records the end before it releases the lock.
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
