//! A folder for turns (runs of an agent's program), and functions that look for the processes of a turn.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use agents::host::{HostEnded, HostEvent, HostInput, HostLaunch, Inherit, ProgramEnd, TurnHost};
use tempfile::TempDir;

use crate::busy::patience;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_handover");
static TURNS: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Scene {
    folder: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Returns the settings of a turn (one run of an agent's program) that runs the script `misbehave.sh`, with
    /// generous limits and a unique turn id.
    pub(crate) fn launch(&self, arguments: &[&str]) -> HostLaunch {
        let number = TURNS.fetch_add(1, Ordering::SeqCst);
        HostLaunch {
            turn: format!("turn_{}_{number}", std::process::id()),
            program: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host/misbehave.sh"),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            directory: self.path(""),
            inherit: Inherit::Only(vec!["PATH".to_owned()]),
            environment: BTreeMap::new(),
            input: HostInput::Nothing,
            output_bytes_max: 1 << 20,
            seconds_max: 60,
            grace_ms: 300,
        }
    }

    pub(crate) fn turn(&self, launch: &HostLaunch) -> PathBuf {
        self.path(&launch.turn)
    }

    pub(crate) fn start(&self, launch: &HostLaunch) -> TurnHost {
        TurnHost::start(Path::new(BINARY), &self.turn(launch), launch).unwrap()
    }

    /// Runs an agent's program until its end, and checks that no process of this run is left.
    pub(crate) async fn run(&self, launch: &HostLaunch) -> HostEnded {
        let ended = self.start(launch).wait().await.unwrap();
        assert_eq!(living(&launch.turn), Vec::<String>::new());
        ended
    }

    /// Tells the host to end an agent's program when the program is ready, and checks that all processes of the program
    /// end within ten seconds.
    pub(crate) async fn cut(&self, launch: &HostLaunch) -> HostEnded {
        let mut host = self.start(launch);
        while !self.stdout(launch).contains("ready") {
            host.event().await.unwrap();
        }
        let begun = now();
        host.cut_off();
        let ended = host.wait().await.unwrap();
        assert!(begun.elapsed() < patience(Duration::from_secs(10)), "{:?}", begun.elapsed());
        assert_eq!(living(&launch.turn), Vec::<String>::new());
        assert_eq!((&ended.how, ended.leaked), (&ProgramEnd::CutOff, false));
        ended
    }

    pub(crate) fn stdout(&self, launch: &HostLaunch) -> String {
        String::from_utf8(fs::read(self.turn(launch).join("stdout")).unwrap_or_default()).unwrap()
    }
}

pub(crate) fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "bounds what a test waits for")]
    Instant::now()
}

/// Waits until the agent's program has started, and returns its process id.
pub(crate) async fn started(host: &mut TurnHost) -> u32 {
    match host.event().await {
        Some(HostEvent::Started { pid }) => pid,
        other => panic!("{other:?}"),
    }
}

/// Returns all living processes whose environment names this turn (one run of an agent's program).
pub(crate) fn living(turn: &str) -> Vec<String> {
    let mark = format!("HANDOVER_TURN={turn}");
    let has_mark = |pid: &String| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|item| item == mark.as_bytes())
    };
    processes().into_iter().filter(has_mark).collect()
}

pub(crate) fn processes() -> Vec<String> {
    let names = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.parse::<u32>().is_ok()).collect()
}

/// Returns the fields of `/proc/PID/stat` after the process's name: state, parent, group, session, and so on.
pub(crate) fn stat(pid: &str) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_ascii_whitespace().map(str::to_owned).collect())
}
