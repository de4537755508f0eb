//! Runs the main loop of the turn host (the process that starts and ends one program). It waits for the program, its
//! output, the deadline and the end of the lifeline (the pipe that the runner keeps open), and then ends all processes
//! that the program started.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitStatus, kill_process_group};

use super::events::{HostEvents, PIPE_BYTES};
use super::kin::{self, Kin, SignalReach, now};
use super::output::{HostOutput, Relay, Which};
use super::program::{self, Program};
use super::{HostEnded, HostLaunch, ProgramEnd};

/// The time within which the program and all processes that it started are ended. Processes that still run after it are
/// reported as survivors.
const ENDING_MAX: Duration = Duration::from_secs(10);
const GRACE_MAX: Duration = Duration::from_secs(5);
/// The time after the program's end in which its last output may still arrive. A process that runs after this time
/// counts as leaked.
const LINGER: Duration = Duration::from_millis(500);
/// The longest time between two collections of the exit statuses of ended child processes. The turn host (this process)
/// must check for ended children regularly, because it does not handle SIGCHLD.
const REAP_INTERVAL: Duration = Duration::from_secs(5);
/// The pause between two checks whether processes have ended. It is used while the processes of the turn are being
/// ended, and also when the kernel offers no handle on which to wait for the program's end.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct HostTurn<'a> {
    program: Pid,
    handle: Option<OwnedFd>,
    /// The lifeline: a pipe that the runner keeps open as long as the program may run. None after the runner closed it.
    lifeline: Option<File>,
    input: Option<Relay>,
    output: HostOutput,
    events: &'a mut HostEvents,
    phase: TurnPhase,
    deadline: Instant,
    grace: Duration,
    status: Option<WaitStatus>,
}

#[derive(Debug)]
enum TurnPhase {
    Working,
    /// The turn host (this process) sent SIGTERM to the program. The program must end before the time `until`.
    Asked {
        how: ProgramEnd,
        since: Instant,
        until: Instant,
    },
    /// The agent's program ended by itself, but its last output may still arrive.
    Lingering {
        until: Instant,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputSource {
    Handle,
    Lifeline,
    Input,
    Output(Which),
    Relay,
}

impl<'a> HostTurn<'a> {
    pub(super) fn new(
        launch: &HostLaunch,
        program: Program,
        lifeline: File,
        output: HostOutput,
        events: &'a mut HostEvents,
    ) -> Self {
        let mut turn = Self {
            program: program.pid,
            handle: program.handle,
            lifeline: Some(lifeline),
            input: program.stdin.map(|pipe| Relay::new(File::from(OwnedFd::from(pipe)))),
            output,
            events,
            phase: TurnPhase::Working,
            deadline: now() + Duration::from_secs(u64::from(launch.seconds_max)),
            grace: Duration::from_millis(u64::from(launch.grace_ms)).min(GRACE_MAX),
            status: None,
        };
        turn.output.stdout.pipe = Some(program.stdout);
        turn.output.stderr.pipe = Some(program.stderr);
        turn
    }

    /// Runs the loop until the program and its descendants have ended, or until the time has come to kill the processes
    /// that still run.
    pub(super) fn work(&mut self) {
        loop {
            let (program, status) = (self.program, &mut self.status);
            let kin = kin::reap(|pid, end| {
                if pid == program {
                    *status = Some(end);
                }
            });
            let now = now();
            if self.is_over(kin, now) {
                return;
            }
            let told = self.events.grew(self.output.bytes(), now);
            let wake = [Some(self.next(now)), told].into_iter().flatten().min();
            for source in self.wait(wake.unwrap_or(now).saturating_duration_since(now)) {
                self.handle(source);
            }
        }
    }

    fn is_over(&mut self, kin: Kin, now: Instant) -> bool {
        match &mut self.phase {
            TurnPhase::Working if self.status.is_some() => {
                self.phase = TurnPhase::Lingering { until: now + LINGER };
                kin == Kin::Gone && self.output.is_closed()
            }
            TurnPhase::Working => {
                if let Some(how) = self.reason(now) {
                    // The turn host (this process) has not collected the program's exit status yet, so the process
                    // number cannot belong to another process.
                    let _ = kill_process_group(self.program, Signal::TERM);
                    self.input = None;
                    self.phase = TurnPhase::Asked { how, since: now, until: now + self.grace };
                }
                false
            }
            TurnPhase::Asked { until, .. } => {
                if self.status.is_some() {
                    *until = (*until).min(now + LINGER);
                }
                kin == Kin::Gone || now >= *until
            }
            TurnPhase::Lingering { until } => {
                let is_quiet = kin == Kin::Gone && self.output.is_closed();
                is_quiet || now >= *until || self.lifeline.is_none()
            }
        }
    }

    /// Returns the reason why the turn host (this process) must end the program now. Returns None when the program may
    /// continue.
    fn reason(&self, now: Instant) -> Option<ProgramEnd> {
        if let Some(why) = &self.output.lost {
            return Some(ProgramEnd::Lost { why: why.clone() });
        }
        if self.output.is_too_much {
            return Some(ProgramEnd::TooMuch);
        }
        if self.lifeline.is_none() {
            return Some(ProgramEnd::CutOff);
        }
        if now >= self.deadline { Some(ProgramEnd::TimedOut) } else { None }
    }

    fn next(&self, now: Instant) -> Instant {
        let timer = match &self.phase {
            TurnPhase::Working => self.deadline,
            TurnPhase::Asked { until, .. } | TurnPhase::Lingering { until } => *until,
        };
        // No event reports the end of an orphaned process. While the turn (the run of the program) is ending, the turn
        // host waits for the end of all its processes, so it looks for ended processes more often.
        let look = match &self.phase {
            TurnPhase::Working if self.handle.is_some() => REAP_INTERVAL,
            TurnPhase::Working | TurnPhase::Asked { .. } | TurnPhase::Lingering { .. } => LOOK_INTERVAL,
        };
        timer.min(now + look)
    }

    fn wait(&self, time: Duration) -> Vec<InputSource> {
        let mut sources = Vec::with_capacity(6);
        let mut polled = Vec::with_capacity(6);
        let mut add = |source, fd, flags| {
            sources.push(source);
            polled.push(PollFd::from_borrowed_fd(fd, flags));
        };
        // After the exit status was collected, the handle of the program's process stays readable but reports nothing
        // new. So the handle is polled only before that.
        if let (Some(handle), None) = (&self.handle, self.status) {
            add(InputSource::Handle, handle.as_fd(), PollFlags::IN);
        }
        let is_input_busy = self.input.as_ref().is_some_and(Relay::is_busy);
        if let Some(lifeline) = &self.lifeline {
            // The lifeline (the pipe from the runner) also carries the program's input. While bytes of the input still
            // wait to be written, nothing more is read from the lifeline. `poll` still reports when the runner closes
            // it.
            let flags = if is_input_busy { PollFlags::empty() } else { PollFlags::IN };
            add(InputSource::Lifeline, lifeline.as_fd(), flags);
        }
        if let Some(input) = self.input.as_ref().filter(|input| input.is_busy()) {
            add(InputSource::Input, input.pipe.as_fd(), PollFlags::OUT);
        }
        let relay = self.output.busy_relay();
        if let Some(relay) = relay {
            add(InputSource::Relay, relay.pipe.as_fd(), PollFlags::OUT);
        }
        // After the output limit is reached, nothing more is read. The program may then block in a write until this
        // process ends it.
        if !self.output.is_full() {
            if let (Some(pipe), None) = (&self.output.stdout.pipe, relay) {
                add(InputSource::Output(Which::Stdout), pipe.as_fd(), PollFlags::IN);
            }
            if let Some(pipe) = &self.output.stderr.pipe {
                add(InputSource::Output(Which::Stderr), pipe.as_fd(), PollFlags::IN);
            }
        }
        // Ignore that a signal interrupted `poll`: the caller's loop polls again.
        let count = poll(&mut polled, Some(&kin::timespec(time))).unwrap_or(0);
        let ready = sources.into_iter().zip(&polled).filter(|(_, fd)| count > 0 && !fd.revents().is_empty());
        ready.map(|(source, _)| source).collect()
    }

    fn handle(&mut self, source: InputSource) {
        match source {
            // This event means that the program has ended. The next round of the loop collects its exit status.
            InputSource::Handle => {}
            InputSource::Output(which) => self.output.read(which),
            InputSource::Relay => self.output.write_relay(),
            InputSource::Input => {
                if self.input.as_mut().is_some_and(|input| input.write().is_err()) {
                    self.input = None;
                }
            }
            InputSource::Lifeline => self.read_lifeline(),
        }
    }

    /// Reads the lifeline, the pipe that the runner keeps open. It counts as closed as soon as no process can write to
    /// it, even if it still holds unread bytes.
    fn read_lifeline(&mut self) {
        let Some(lifeline) = &mut self.lifeline else { return };
        let mut polled = [PollFd::new(lifeline, PollFlags::IN)];
        let _ = poll(&mut polled, Some(&kin::timespec(Duration::ZERO)));
        let is_held = !polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR);
        let read = match &mut self.input {
            Some(input) if !input.is_busy() => input.take(lifeline),
            Some(_) => Ok(1),
            None => lifeline.read(&mut [0; PIPE_BYTES]),
        };
        let is_read = match read {
            Ok(count) => count > 0,
            Err(error) => error.kind() == ErrorKind::Interrupted,
        };
        if !is_held || !is_read {
            self.lifeline = None;
        }
    }

    /// Ends the processes of the turn (the run of the program) that still run, and returns the record of the turn's
    /// end.
    pub(super) fn end(&mut self, folder: &Path, session: SignalReach) -> HostEnded {
        self.output.drain();
        let is_open = !self.output.is_closed();
        let since = match &self.phase {
            TurnPhase::Asked { since, .. } => *since,
            TurnPhase::Working | TurnPhase::Lingering { .. } => now(),
        };
        let mut killed = 0;
        #[cfg(not(target_os = "linux"))]
        let _ = kill_process_group(self.program, Signal::KILL);
        let (program, status) = (self.program, &mut self.status);
        let survivors = kin::end_all(session, since + ENDING_MAX, |pid, end| {
            killed += u32::from(end.terminating_signal() == Some(Signal::KILL.as_raw()));
            if pid == program {
                *status = Some(end);
            }
        });
        self.output.drain();
        self.output.finish(self.lifeline.is_none());
        let (leaked, how) = match &self.phase {
            TurnPhase::Asked { how, .. } => (false, how.clone()),
            TurnPhase::Working | TurnPhase::Lingering { .. } => (killed > 0 || is_open, self.own_end(folder)),
        };
        let (stdout_bytes, stderr_bytes) = self.output.bytes();
        HostEnded { leaked, killed, survivors, stdout_bytes, stderr_bytes, ..HostEnded::without_output(how) }
    }

    /// Returns how the program ended, for a turn in which the program ended by itself.
    fn own_end(&self, folder: &Path) -> ProgramEnd {
        if let Some(why) = &self.output.lost {
            return ProgramEnd::Lost { why: why.clone() };
        }
        if self.output.is_too_much {
            return ProgramEnd::TooMuch;
        }
        let (code, signal) = self.status.map_or((None, None), |end| (end.exit_status(), end.terminating_signal()));
        match (code, signal) {
            (Some(code), _) => match program::refusal(folder, code) {
                Some(why) => ProgramEnd::SpawnFailed { why },
                None => ProgramEnd::Exited { code },
            },
            (None, Some(signal)) => ProgramEnd::Signalled { signal },
            (None, None) => ProgramEnd::Lost { why: "the exit of the program was not observed".to_owned() },
        }
    }
}
