//! The turn host: a process of Handover's own binary between the runner and an agent's program. It makes sure that no
//! process of a turn (one run of the program) outlives the turn.
//!
//! ```text
//! runner ── standard input, the lifeline ───────────────> host ──> program, in its own group ──> its children
//!        <── events, or in a relay turn the output ──────      <── pipes, kept in the turn's folder ──
//!
//! working ──> lingering (program ended) ────────────────> leaked processes are killed ──> end.json
//!     └─────> asked (host sent SIGTERM) ────────────────> SIGKILL to all remaining ─────> end.json
//! ```
//!
//! The lifeline is a pipe that the runner keeps open. When it closes, the host ends the program. The host also ends the
//! program when its time is over, or when its output is too large or cannot be stored. In a relay turn, the runner and
//! the program talk to each other through the host's pipes.
//!
//! The host has no async runtime and one thread, because each running program has its own host. On Linux the host is a
//! child subreaper: a process whose parent ended becomes a child of the host, even if it has another process group or
//! session. So "no child left" means that no process is left. On other systems only the program's process group is
//! ended.
//!
//! If the host itself is killed, the kernel kills the program too (its death signal). The processes that the program
//! started are then found by `HANDOVER_TURN` in their environment, and [`sweep`] or [`settle`] ends them. A process
//! that removed that variable from its environment is not found.

mod clock;
mod events;
mod handle;
mod kin;
mod output;
mod program;
mod record;
mod serve;
mod sweep;
mod turn;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

pub use handle::{TurnHost, own_binary};
pub use record::ended;
pub use sweep::{settle, sweep};

/// The name of the hidden command that runs the turn host, the process that starts and ends one program: `handover
/// turn-host FOLDER`.
pub const COMMAND: &str = "turn-host";
/// The environment variable that every process of a turn (one run of an agent's program) has. Its value is the id of
/// the turn.
pub const TURN: &str = "HANDOVER_TURN";
/// The name of the file with the program's standard output. The file is in the folder of the turn (one run of the
/// program).
pub const STDOUT: &str = "stdout";
pub const STDERR: &str = "stderr";
/// The name of the file for the events of the turn host (the process that starts and ends the program). The file is
/// used only when the host's standard output carries the program's output. Otherwise the host writes its events to its
/// standard output.
pub const EVENTS: &str = "events";

/// The program that a turn host (the process that starts and ends one program) starts, and the program's limits. It is
/// stored as `launch.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostLaunch {
    /// The id of the turn (one run of the program). Every process of the turn has it in the variable `HANDOVER_TURN`.
    pub turn: String,
    /// The path of the program, or a name. A name is looked up in the `PATH` that the program gets.
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub directory: PathBuf,
    pub inherit: Inherit,
    /// Environment variables that are added to the inherited ones. They override inherited variables of the same name.
    pub environment: BTreeMap<String, String>,
    pub input: HostInput,
    /// The largest number of bytes that standard output and standard error may have together. If the program writes
    /// more, it is ended.
    pub output_bytes_max: u64,
    pub seconds_max: u32,
    /// The milliseconds between SIGTERM and SIGKILL. More than five seconds count as five, so that the program and all
    /// processes that it started end within ten seconds.
    pub grace_ms: u32,
}

/// The part of the runner's environment that an agent's program inherits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inherit {
    All,
    Only(Vec<String>),
}

/// The source of the standard input of an agent's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostInput {
    Nothing,
    File(PathBuf),
    /// The input is relayed: the program reads the bytes that the runner writes to the standard input of the turn host
    /// (the process that starts the program). The host's standard output then carries the program's output.
    Relay,
}

/// One event of a turn (one run of an agent's program). The turn host, the process that starts and ends the program,
/// writes it as a line of its standard output or of the file `events`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostEvent {
    /// The turn host (the process that starts and ends the program) started a process that is to become the agent's
    /// program. Only the record of the turn's end tells whether the process became the program.
    Started {
        pid: u32,
    },
    /// The output files grew. The fields are the new sizes in bytes. This event is only a hint and comes at most every
    /// 100 ms.
    Grew {
        stdout: u64,
        stderr: u64,
    },
    Ended(HostEnded),
}

/// The record of how a turn (one run of an agent's program) ended. It is stored as `end.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostEnded {
    pub how: ProgramEnd,
    /// True if the program ended by itself and left processes or open pipes behind.
    pub leaked: bool,
    /// The number of processes that the turn host (the process that starts the program) had to kill.
    pub killed: u32,
    /// The processes that the turn host (the process that starts the program) could not end in time, because they are
    /// stuck in the kernel or belong to another user.
    pub survivors: Vec<Survivor>,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    /// The time of the start, in milliseconds since 1970. `ended_at` has the same unit.
    pub started_at: i64,
    pub ended_at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramEnd {
    Exited {
        code: i32,
    },
    Signalled {
        signal: i32,
    },
    TimedOut,
    /// The program wrote more output than allowed. The part within the limit is kept.
    TooMuch,
    /// The lifeline (the pipe that the runner keeps open) was closed: the runner has ended, or it wants the program to
    /// end.
    CutOff,
    SpawnFailed {
        why: String,
    },
    /// The turn host (the process that starts the program) was killed, or it could not store the program's output.
    Lost {
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    pub pid: u32,
    pub name: String,
}

impl HostEnded {
    fn without_output(how: ProgramEnd) -> Self {
        let (leaked, killed, survivors) = (false, 0, Vec::new());
        Self { how, leaked, killed, survivors, stdout_bytes: 0, stderr_bytes: 0, started_at: 0, ended_at: 0 }
    }
}

/// Runs the turn host (the process that starts and ends one program), if the arguments of this process ask for it.
/// Returns None when they do not. `main` calls this function before it sets up anything else.
pub fn command(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != COMMAND {
        return None;
    }
    Some(run(&arguments.collect::<Vec<_>>()))
}

fn run(arguments: &[OsString]) -> ExitCode {
    match arguments {
        [flag, folder, parent] if flag == program::CHILD => program::become_it(folder.as_ref(), parent),
        [folder] => serve::serve(folder.as_ref()),
        _ => ExitCode::from(2),
    }
}
