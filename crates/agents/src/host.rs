//! The turn host: our own binary between the runner and a program, so that nothing of a turn outlives it.
//!
//! ```text
//! runner ── standard input, the lifeline ──> host ──> program, a group of its own ──> whatever it starts
//!        <── events, or in relay its output ──    <── pipes, kept in the turn's folder ──
//!
//! working ──> lingering (ended by itself) ──────────────> what is left is a leak and is killed ──> end.json
//!     └─────> asked (lifeline, time, output: SIGTERM) ──> SIGKILL to all that is left ──────────> end.json
//! ```
//!
//! The host has no runtime and one thread, for there is one per running program. On Linux it is child subreaper: a
//! process whose parent ended becomes its child, whatever group or session it went to, so "no child left" means that
//! nothing is left. Elsewhere only the program's process group is ended.
//!
//! A host that is killed itself takes the program with it (its death signal). What the program had started is then
//! found by `HANDOVER_TURN` in its environment and ended by [`sweep`] or [`settle`]; a process that also hid that is
//! not found.

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

pub use handle::{Host, own_binary};
pub use record::ended;
pub use sweep::{settle, sweep};

/// The hidden command: `handover turn-host FOLDER`.
pub const COMMAND: &str = "turn-host";
/// In the environment of everything that a turn starts.
pub const TURN: &str = "HANDOVER_TURN";
/// What the program wrote.
pub const STDOUT: &str = "stdout";
pub const STDERR: &str = "stderr";
/// Where the events go when standard output is the program's.
pub const EVENTS: &str = "events";

/// What to start and within which bounds: `launch.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Told to everything below as `HANDOVER_TURN`.
    pub turn: String,
    /// A path, or a name that is looked up in the program's own `PATH`.
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub directory: PathBuf,
    pub inherit: Inherit,
    /// Added to what is inherited, and stronger.
    pub environment: BTreeMap<String, String>,
    pub input: Input,
    /// Standard output and error together; more of it ends the turn.
    pub output_bytes_max: u64,
    pub seconds_max: u32,
    /// Between SIGTERM and SIGKILL; five seconds at most, so that all is over within ten.
    pub grace_ms: u32,
}

/// What the program sees of the runner's environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inherit {
    All,
    Only(Vec<String>),
}

/// The program's standard input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    Nothing,
    File(PathBuf),
    /// What the runner writes; the host's standard output is then the program's.
    Relay,
}

/// One line of the host's standard output, or of the file `events`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// There is a process; whether it became the program is told by the end.
    Started {
        pid: u32,
    },
    /// So many bytes are in the files. A hint, at most every 100 ms.
    Grew {
        stdout: u64,
        stderr: u64,
    },
    Ended(Ended),
}

/// How a turn's processes ended: `end.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub how: End,
    /// The program ended by itself and left processes or open pipes behind.
    pub leaked: bool,
    /// How many processes had to be killed.
    pub killed: u32,
    /// What could not be ended in time: stuck in the kernel, or another user's.
    pub survivors: Vec<Survivor>,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    /// Unix milliseconds.
    pub started_at: i64,
    pub ended_at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Exited {
        code: i32,
    },
    Signalled {
        signal: i32,
    },
    TimedOut,
    /// More output than allowed; what fits is kept.
    TooMuch,
    /// The lifeline ended: the runner is gone, or wanted it.
    CutOff,
    SpawnFailed {
        why: String,
    },
    /// The host was killed, or could not keep what the program wrote.
    Lost {
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    pub pid: u32,
    pub name: String,
}

impl Ended {
    fn without_output(how: End) -> Self {
        let (leaked, killed, survivors) = (false, 0, Vec::new());
        Self { how, leaked, killed, survivors, stdout_bytes: 0, stderr_bytes: 0, started_at: 0, ended_at: 0 }
    }
}

/// For `main`, before anything else is set up: none when the arguments are not ours.
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
