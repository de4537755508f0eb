//! Runs git. All git calls go through this module: without a shell, hooks, prompts or a pager, and with bounds on time
//! and output.
//!
//! A filter program that the git configuration names (for example for large files) still runs at a checkout, because
//! git cannot skip it without changing the content of the files. Such a configuration never comes with a clone: a user
//! of this machine has set it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use spawn::{StartEnvironment, StartFolder};
use tokio::process::Command;

use super::child::{self, ChildEnd};
use super::problem::GitProblem;

/// The default time limit of one git call, enough to check out a large repository. A call that takes longer is ended.
pub const TIME_LIMIT_DEFAULT: Duration = Duration::from_secs(60);
/// The maximum number of tries of a git call that fails because another git process changes the worktrees, with `PAUSE`
/// between two tries. The other process usually needs a millisecond, and on a busy machine a second or two.
const TRIES_MAX: u32 = 200;
const PAUSE: Duration = Duration::from_millis(25);

/// Git settings that override the configuration of the user and of the repository.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    // Newer versions of git also run hooks that the configuration names. Switch off the hooks for all events that our
    // git calls cause.
    "hook.post-checkout.enabled=false",
    "hook.post-index-change.enabled=false",
    "hook.reference-transaction.enabled=false",
    "hook.pre-commit.enabled=false",
    "hook.prepare-commit-msg.enabled=false",
    "hook.commit-msg.enabled=false",
    "hook.post-commit.enabled=false",
    "hook.pre-merge-commit.enabled=false",
    "hook.post-merge.enabled=false",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    // When two git processes create the same branch, the second waits up to ten seconds for the lock of the first. Then
    // it learns that the branch exists.
    "core.filesRefLockTimeout=10000",
    // Untracked files are work. So git must list them even if the user's configuration hides them.
    "status.showUntrackedFiles=normal",
];

/// The environment variables of git that a git process inherits. They tell where git's configuration and programs are,
/// and how to reach a remote. All other `GIT_…` variables are removed, because they could direct git to another
/// repository, index or program.
const KEPT: &[&str] = &[
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
];

/// Returns true when an environment variable must be removed before git starts: it would change what git does, and it
/// is not in `KEPT`.
fn is_foreign(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("GIT_") && !KEPT.contains(&name))
}

/// The git program to run, and the limits of its calls.
#[derive(Debug, Clone)]
pub struct Git {
    pub program: PathBuf,
    pub time_limit: Duration,
    /// A file that every git process gets as its standard input but does not read. A lock on this file lasts until the
    /// last git process has ended, even when the Handover process that started it was killed.
    pub held: Option<Arc<File>>,
}

impl Default for Git {
    fn default() -> Self {
        Self { program: PathBuf::from("git"), time_limit: TIME_LIMIT_DEFAULT, held: None }
    }
}

/// One call of git: the folder in which it runs, and the list of its arguments.
#[derive(Debug)]
pub struct GitCall {
    folder: PathBuf,
    access: Access,
    reach: RepositoryReach,
    arguments: Vec<OsString>,
    /// Git settings for this call. They override every configuration file.
    settings: Vec<(String, String)>,
    environment: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// The git call only reads. It takes no optional locks, so it does not disturb other git processes.
    Read,
    Write,
}

/// The folders in which git looks for the repository of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RepositoryReach {
    Upwards,
    /// Git looks only in the folder of the call. If it also looked above, it would use the surrounding repository for a
    /// worktree that has lost its `.git` file.
    HereOnly,
}

/// The output and exit code of a git call. An exit code other than zero is not an error here; the caller decides what
/// the code means.
#[derive(Debug)]
pub struct GitOutput {
    command: String,
    code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
    /// True when the output was longer than the maximum, so that its end is missing.
    pub cut: bool,
}

impl GitCall {
    pub fn read(folder: &Path, arguments: &[&str]) -> Self {
        Self::new(folder, Access::Read, arguments)
    }

    pub fn write(folder: &Path, arguments: &[&str]) -> Self {
        Self::new(folder, Access::Write, arguments)
    }

    fn new(folder: &Path, access: Access, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(OsString::from).collect();
        let (settings, environment) = (Vec::new(), Vec::new());
        Self { folder: folder.to_owned(), access, reach: RepositoryReach::Upwards, arguments, settings, environment }
    }

    pub fn here_only(mut self) -> Self {
        self.reach = RepositoryReach::HereOnly;
        self
    }

    pub fn and(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub fn set(mut self, settings: &[(String, String)]) -> Self {
        self.settings.extend_from_slice(settings);
        self
    }

    pub fn env(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    /// Runs the git call, and retries it while it fails because of another git process.
    pub async fn run(self, git: &Git) -> Result<GitOutput, GitProblem> {
        let mut tries = 1;
        loop {
            let output = self.run_once(git).await?;
            if tries == TRIES_MAX || !output.is_disturbed() {
                return Ok(output);
            }
            tries += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn run_once(&self, git: &Git) -> Result<GitOutput, GitProblem> {
        // Check the folder first: starting a process gives the same error for a missing folder and for a missing
        // program.
        if !self.folder.is_dir() {
            return Err(GitProblem::NotARepository { path: self.folder.clone() });
        }
        let missing =
            |error: std::io::Error| GitProblem::GitMissing { program: git.program.clone(), problem: error.to_string() };
        let mut child = self.command(git).spawn().map_err(missing)?;
        let command = self.name();
        match child::attend(&mut child, git.time_limit).await {
            ChildEnd::Finished { code, out, err } => {
                let stderr = String::from_utf8_lossy(&err.bytes).into_owned();
                Ok(GitOutput { command, code, stdout: out.bytes, stderr, cut: out.cut })
            }
            ChildEnd::TimedOut => Err(GitProblem::GitTimeout { command, seconds: git.time_limit.as_secs() }),
            ChildEnd::Lost(error) => Err(GitProblem::failed(&command, &error.to_string())),
        }
    }

    fn command(&self, git: &Git) -> Command {
        let foreign = StartEnvironment::Without(is_foreign);
        let mut command: Command = spawn::command(&git.program, StartFolder::At(&self.folder), foreign).into();
        command.arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(&self.arguments);
        command
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("GCM_INTERACTIVE", "never");
        // Pass the settings in the environment instead of `-c` arguments, because the name of a merge driver may
        // contain any character, even `=`.
        command.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (number, (name, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), name).env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if self.access == Access::Read {
            command.env("GIT_OPTIONAL_LOCKS", "0");
        }
        if let (RepositoryReach::HereOnly, Some(parent)) = (self.reach, self.folder.parent()) {
            command.env("GIT_CEILING_DIRECTORIES", parent);
        }
        let held = git.held.as_ref().and_then(|file| file.try_clone().ok());
        command
            .stdin(held.map_or_else(Stdio::null, Stdio::from))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // Use a separate process group, so that a signal to the group also ends the processes that git started.
        command.process_group(0);
        command
    }

    /// Returns the first words of the git command, without options, for messages (`worktree add`).
    fn name(&self) -> String {
        let words = self.arguments.iter().map_while(|word| word.to_str().filter(|word| !word.starts_with('-')));
        words.take(2).collect::<Vec<_>>().join(" ")
    }
}

impl GitOutput {
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns true when the call failed only because of another git process, and changed nothing, so that it can be
    /// retried. Git reads the registrations of all worktrees first, and fails when another process is just writing or
    /// removing one. It also fails when another process has just removed the folder `.git/worktrees` with the last
    /// registration.
    fn is_disturbed(&self) -> bool {
        let is_about_entry = |line: &str| {
            let is_unread = line.contains("failed to read ") || line.contains("Invalid path ");
            let is_unmade =
                line.contains("could not create directory of ") && line.contains("No such file or directory");
            (is_unread || is_unmade) && line.contains("worktrees/")
        };
        !self.is_success() && self.stderr.lines().any(is_about_entry)
    }

    pub fn code(&self) -> Option<i32> {
        self.code
    }

    /// Returns the standard output as text, without the line break at its end.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches(['\r', '\n']).to_owned()
    }

    pub fn failure(&self) -> GitProblem {
        GitProblem::failed(&self.command, &self.stderr)
    }

    /// Returns the output if the git call succeeded and the output is complete. Otherwise returns git's error message
    /// as a problem.
    pub fn whole(self) -> Result<Self, GitProblem> {
        if !self.is_success() {
            return Err(self.failure());
        }
        if self.cut {
            return Err(GitProblem::failed(&self.command, "the output of git is too long"));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_call_that_another_git_disturbed_is_retried() {
        let failed = |stderr: &str| GitOutput {
            command: "worktree".to_owned(),
            code: Some(128),
            stdout: Vec::new(),
            stderr: stderr.to_owned(),
            cut: false,
        };
        for stderr in [
            "fatal: failed to read .git/worktrees/a/commondir: Success",
            "fatal: Invalid path '/x/.git/worktrees/a': No such file or directory",
            "fatal: could not create directory of '.git/worktrees/a': No such file or directory",
        ] {
            assert!(failed(stderr).is_disturbed(), "{stderr}");
        }
        for stderr in [
            "fatal: could not create directory of '.git/worktrees/a': Permission denied",
            "fatal: could not create directory of '/x/a': No such file or directory",
            "fatal: a branch named 'a' already exists",
        ] {
            assert!(!failed(stderr).is_disturbed(), "{stderr}");
        }
    }
}
