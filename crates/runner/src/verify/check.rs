//! Runs one check, which is a command of the settings that judges an output. The check runs in the worktree, below a
//! separate host process, which ends all processes of the check.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::VerifyFault;
use super::evidence::{CheckEnded, CheckResult, TAIL_MAX, plain_tail, shortened};
use agents::host::{self, HostInput, HostLaunch, Inherit, ProgramEnd, TurnHost};
use base::ground::digest::hexadecimal;
use base::ground::objects;
use base::project::environment::{self, ProgramKind};
use base::project::settings::EnvironmentSettings;
use base::project::settings::team::{CheckSettings, ScriptSource};
use base::project::trust;

/// The time between SIGTERM and SIGKILL for a check that reached its time limit, in milliseconds. It is short, because
/// such a check has nothing more to report.
const GRACE_MS: u32 = 1_000;
/// The largest output of a check that is kept as a whole, in bytes. Of a larger output only the end is kept, which the
/// evidence has.
const KEPT_BYTES_MAX: u64 = 1 << 20;

/// The place in which checks (commands that judge an output) run, and their limits.
#[derive(Debug, Clone, Copy)]
pub struct CheckPlace<'a> {
    pub worktree: &'a Path,
    /// The folder in which a check runs, as a path from the root of the worktree. It is empty for the root.
    pub subfolder: &'a Path,
    /// The path of the `handover` program. It runs as the host process, which starts and ends a check.
    pub binary: &'a Path,
    /// The folder for the files of the host processes (which start and end the checks), with a subfolder for each
    /// check. It must be outside of the worktree.
    pub folder: &'a Path,
    /// The value of `HANDOVER_TURN` for all processes of a check, by which Handover finds and ends them.
    pub turn: &'a str,
    /// Environment variables that a check gets in addition to the inherited ones.
    pub environment: &'a BTreeMap<String, String>,
    /// The settings for the environment, which can let a check inherit more variables than the documented ones.
    pub inherit: &'a EnvironmentSettings,
    /// The largest output of one check, in bytes. The host process ends a check that writes more.
    pub output_bytes_max: u64,
    /// The commit that is checked out in the worktree. It is only recorded. `None` outside of git.
    pub commit: Option<&'a str>,
    /// Handover's state folder on this machine, in which the whole output of a check is kept as an object. Its name is
    /// the hash in the evidence. `None` when the output need not be kept.
    pub kept_in: Option<&'a Path>,
}

impl CheckPlace<'_> {
    /// Returns the folder in which a check runs.
    fn directory(&self) -> PathBuf {
        // Joining an empty path would add a slash at the end.
        if self.subfolder.as_os_str().is_empty() {
            self.worktree.to_owned()
        } else {
            self.worktree.join(self.subfolder)
        }
    }
}

/// Runs a check to its end. Dropping the future ends the check and all processes that it started.
pub(super) async fn run(
    place: CheckPlace<'_>,
    number: usize,
    check: &CheckSettings,
    scripts: Option<&ScriptSource>,
) -> Result<CheckResult, VerifyFault> {
    let shown = || shortened(&check.command).join(" ");
    let failed = |cause: io::Error| VerifyFault::Check { command: shown(), cause };
    let folder = place.folder.join(format!("check-{number}"));
    clear(folder.clone()).await.map_err(failed)?;
    let launch = launch(place, check).map_err(failed)?;
    let changed = scripts.map_or_else(|| Ok(Vec::new()), |scripts| changed(scripts, place, check)).map_err(failed)?;
    let host = TurnHost::start(place.binary, &folder, &launch).map_err(failed)?;
    let end = host.wait().await.map_err(failed)?;
    let (ended, exit_code) = match end.how {
        ProgramEnd::Exited { code } => (CheckEnded::Exited, Some(code)),
        ProgramEnd::Signalled { signal } => (CheckEnded::Signalled { signal }, None),
        ProgramEnd::TimedOut => (CheckEnded::TimedOut, None),
        ProgramEnd::TooMuch => (CheckEnded::TooMuchOutput, None),
        ProgramEnd::SpawnFailed { why } => (CheckEnded::NotStarted { why }, None),
        ProgramEnd::CutOff => {
            return Err(VerifyFault::Lost {
                command: shown(),
                why: "the runner ended before the \
            check did"
                    .to_owned(),
            });
        }
        ProgramEnd::Lost { why } => return Err(VerifyFault::Lost { command: shown(), why }),
    };
    let (output_sha256, tail) = written(folder, place.kept_in.map(Path::to_owned)).await.map_err(failed)?;
    #[expect(clippy::cast_precision_loss, reason = "a check runs for less than a million years")]
    let seconds = end.ended_at.saturating_sub(end.started_at).max(0) as f64 / 1_000.0;
    let command = shortened(&check.command);
    Ok(CheckResult { command, ended, exit_code, seconds, output_sha256, tail, leaked: end.leaked, changed })
}

/// Returns the scripts that a check is about to run and whose current content no person accepted. Call this function
/// when no other process works in the worktree, so that the scripts cannot change before they run.
fn changed(scripts: &ScriptSource, place: CheckPlace<'_>, check: &CheckSettings) -> io::Result<Vec<(String, String)>> {
    let folders = trust::ScriptFolders { root: &scripts.root, runs_in: place.worktree };
    let command = trust::PlacedCommand { words: &check.command, folder: place.subfolder };
    let found = trust::changed_scripts_of(&scripts.record, folders, command)?;
    Ok(found.into_iter().map(|script| (script.name, script.mark)).collect())
}

fn launch(place: CheckPlace<'_>, check: &CheckSettings) -> io::Result<HostLaunch> {
    let (program, arguments) = check.command.split_first().ok_or_else(|| io::Error::other("names no program"))?;
    let mut variables = place.environment.clone();
    let directory = place.directory();
    // Some programs take the working directory from `PWD` and do not ask the system, so `PWD` must be correct.
    variables.insert("PWD".to_owned(), directory.display().to_string());
    Ok(HostLaunch {
        turn: place.turn.to_owned(),
        program: PathBuf::from(program),
        arguments: arguments.to_vec(),
        directory,
        inherit: Inherit::Only(environment::inherited_here(ProgramKind::Check, place.inherit)),
        environment: variables,
        input: HostInput::Nothing,
        output_bytes_max: place.output_bytes_max,
        seconds_max: check.seconds,
        grace_ms: GRACE_MS,
    })
}

/// Ends the process that a stopped verification left in a check's folder, and removes the folder, because each start of
/// a check needs a new folder.
async fn clear(folder: PathBuf) -> io::Result<()> {
    blocking(move || {
        if !folder.try_exists()? {
            return Ok(());
        }
        match host::settle(&folder) {
            Ok(_) => {}
            // `NotFound` means that no process was ever started in the folder of the check, so there is none to end.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::remove_dir_all(&folder)
    })
    .await
}

/// Returns the hash of the check's whole output, and the end of the output as text. Keeps the whole output as an object
/// in the state folder, if one is given.
async fn written(folder: PathBuf, kept_in: Option<PathBuf>) -> io::Result<(String, String)> {
    blocking(move || {
        let mut hash = Sha256::new();
        let mut ends = Vec::new();
        if let Some(state) = kept_in {
            // Ignore a failure, such as a full disk: the verdict of the check does not need its output.
            let _without = keep(&folder, &state);
        }
        for name in [host::STDOUT, host::STDERR] {
            match File::open(folder.join(name)) {
                Ok(mut file) => {
                    feed(&mut file, &mut hash)?;
                    ends.push(end(&mut file)?);
                }
                // The file with the output does not exist when the program of the check could not be started.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok((hexadecimal(&hash.finalize()), joined(&ends)))
    })
    .await
}

/// Keeps standard output followed by standard error as one object. Its name is the hash of these bytes, which the
/// evidence has, too.
fn keep(folder: &Path, state: &Path) -> io::Result<()> {
    let open = |name: &str| File::open(folder.join(name));
    let (stdout, stderr) = (open(host::STDOUT)?, open(host::STDERR)?);
    let bytes = stdout.metadata()?.len().saturating_add(stderr.metadata()?.len());
    if (1..=KEPT_BYTES_MAX).contains(&bytes) {
        objects::put(state, stdout.chain(stderr))?;
    }
    Ok(())
}

fn feed(file: &mut File, hash: &mut Sha256) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn end(file: &mut File) -> io::Result<String> {
    // Read more than `TAIL_MAX` bytes of the output, because removing the control sequences makes the text shorter.
    const READ: u64 = 4 * TAIL_MAX as u64;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(READ)))?;
    let mut bytes = Vec::new();
    file.take(READ).read_to_end(&mut bytes)?;
    // Skip the first bytes, which may be the rest of a character that was cut.
    let begin = if length > READ { bytes.iter().position(|byte| byte & 0xc0 != 0x80).unwrap_or(0) } else { 0 };
    Ok(plain_tail(&bytes[begin..], TAIL_MAX))
}

/// Joins the end of standard output and the end of standard error. Each of the two texts gets half of the space. A text
/// gets more when the other text needs less than half.
fn joined(ends: &[String]) -> String {
    const HALF: usize = TAIL_MAX / 2;
    let parts: Vec<&str> = ends.iter().map(String::as_str).filter(|end| !end.is_empty()).collect();
    match parts[..] {
        [stdout, stderr] => {
            let room = TAIL_MAX - 1;
            let first = room.saturating_sub(stderr.len()).max(HALF).min(stdout.len());
            format!("{}\n{}", last(stdout, first), last(stderr, room - first))
        }
        _ => parts.concat(),
    }
}

fn last(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_have_a_part_of_the_tail() {
        let long = |letter: &str| letter.repeat(TAIL_MAX);
        let tail = joined(&[long("o"), long("e")]);
        assert_eq!((tail.len(), tail.matches('o').count()), (TAIL_MAX, TAIL_MAX / 2));
        let tail = joined(&[long("o"), "short".to_owned()]);
        assert!(tail.len() == TAIL_MAX && tail.ends_with("o\nshort"));
        let tail = joined(&["short".to_owned(), long("e")]);
        assert!(tail.len() == TAIL_MAX && tail.starts_with("short\ne"));
        assert_eq!(joined(&[String::new(), long("e")]), long("e"));
        assert_eq!(joined(&[]), "");
    }
}
