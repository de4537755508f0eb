//! A test folder with a worktree and a folder for the host processes of checks, in which outputs are verified against
//! contracts (the requirements for a task's output).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use base::project::settings::team::CheckSettings;
use runner::verify::{CheckPlace, TurnFacts, VerificationProgress, Verified, VerifiedContract, VerifyFault, verify};
use tempfile::TempDir;
use wire::message::OutputType;

static SCENES: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) turn: String,
    pub(crate) output_bytes_max: u64,
    environment: BTreeMap<String, String>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let number = SCENES.fetch_add(1, Ordering::SeqCst);
        let scene = Self {
            folder: TempDir::new().unwrap(),
            turn: format!("verify_{}_{number}", std::process::id()),
            output_bytes_max: 1 << 20,
            environment: BTreeMap::from([("GIVEN".to_owned(), "yes".to_owned())]),
        };
        fs::create_dir(scene.worktree()).unwrap();
        scene
    }

    pub(crate) fn worktree(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("worktree")
    }

    /// Returns the folder in which the host processes of checks keep their files.
    pub(crate) fn hosts(&self) -> PathBuf {
        self.folder.path().join("hosts")
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::write(self.worktree().join(path), content).unwrap();
    }

    /// Returns an async task that ends when a check has written to `bell` in the worktree.
    pub(crate) fn bell(&self) -> tokio::task::JoinHandle<()> {
        let path = self.worktree().join("bell");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        tokio::task::spawn_blocking(move || drop(fs::read(path).unwrap()))
    }

    pub(crate) async fn verify(&self, contract: &VerifiedContract, facts: &TurnFacts) -> Verified {
        self.try_verify(contract, facts, &mut |_| ()).await.unwrap()
    }

    pub(crate) async fn try_verify(
        &self,
        contract: &VerifiedContract,
        facts: &TurnFacts,
        progress: &mut (dyn FnMut(VerificationProgress<'_>) + Send),
    ) -> Result<Verified, VerifyFault> {
        let (worktree, hosts) = (self.worktree(), self.hosts());
        let place = CheckPlace {
            worktree: &worktree,
            subfolder: Path::new(""),
            binary: Path::new(env!("CARGO_BIN_EXE_handover")),
            folder: &hosts,
            turn: &self.turn,
            environment: &self.environment,
            inherit: &base::project::settings::EnvironmentSettings::default(),
            output_bytes_max: self.output_bytes_max,
            commit: Some("c0ffee"),
            kept_in: None,
        };
        verify(contract, facts, place, progress).await
    }

    /// Returns the live processes that belong to the checks of this test.
    pub(crate) fn living(&self) -> Vec<String> {
        let mark = format!("HANDOVER_TURN={}", self.turn);
        let names = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let has_mark = |pid: &String| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|item| item == mark.as_bytes())
        };
        names.filter(|name| name.parse::<u32>().is_ok()).filter(has_mark).collect()
    }
}

/// Returns a contract without requirements, for an output of this type.
pub(crate) fn contract(kind: OutputType) -> VerifiedContract {
    let (evaluate, schema, checks, scripts) = (None, None, Vec::new(), None);
    VerifiedContract { kind, output_ref_required: false, min_length: 0, evaluate, schema, checks, scripts }
}

pub(crate) fn check(command: &[&str]) -> CheckSettings {
    CheckSettings { command: command.iter().map(|&word| word.to_owned()).collect(), seconds: 60 }
}

/// Returns a check that runs a line of shell.
pub(crate) fn shell(script: &str) -> CheckSettings {
    check(&["sh", "-c", script])
}
