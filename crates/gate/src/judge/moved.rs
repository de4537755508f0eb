//! Judges git commands that bring another state of the repository into the work tree. Git itself lists the files that
//! change.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use spawn::{StartEnvironment, StartFolder};

use super::Judge;
use crate::command::{Arg, CommandFolders, SeenCommand};
use crate::command::{GitQuestion, WorkTreeMove};
use crate::glob::PathFit;
use crate::programs::{git, options};
use crate::rule::Matter;
use crate::{GateDecision, guard, place};

/// The longest wait for git's list of files. After this time the files count as unknown. The wait is short because the
/// agent's client waits for the gate, and git usually lists the files of two commits in milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// The largest number of bytes in git's list of files. If the list is longer, the files count as unknown.
const ANSWER_BYTES_MAX: u64 = 32 << 20;
/// Commands of git that create or change a name for a commit, such as a branch or a tag.
const RENAMES: &[&str] = &["branch", "tag", "update-ref", "symbolic-ref", "replace", "worktree"];
/// Git commands after which `HEAD`, a branch or the id of a commit means another commit. They do not change the files
/// of the work tree.
const REPOINTS: &[&str] = &["update-ref", "symbolic-ref", "replace", "reset --soft", "reset --mixed"];

impl Judge<'_> {
    /// Judges a git command that changes files of the work tree without naming them. The command needs a person's
    /// approval if it changes a file that a gate rule asks about or denies, or a guarded file, that is, one that
    /// controls agents or git.
    pub(super) fn moved(&mut self, moved: &WorkTreeMove, commands: &[SeenCommand]) {
        let folders = match &moved.folders {
            Some(CommandFolders::Known(folders)) => folders.as_slice(),
            Some(CommandFolders::Unknown) | None => &[],
        };
        let repository = |folder: &PathBuf| {
            let root = folder.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok());
            root.map(Path::to_owned).filter(|_| folder.is_dir()).map(|root| (folder.clone(), root))
        };
        let answers: Vec<(PathBuf, Option<Vec<String>>)> = folders
            .iter()
            .filter_map(repository)
            .map(|(folder, root)| (root, files(&folder, &moved.questions)))
            .collect();
        let told =
            !answers.is_empty() && !moved.questions.is_empty() && answers.iter().all(|(_, files)| files.is_some());
        for (root, files) in &answers {
            for file in files.iter().flatten() {
                self.moved_file(&moved.what, root, file);
            }
        }
        let renames = |seen: &SeenCommand| {
            seen.levels.iter().any(|level| {
                let git = level.words.first().is_some_and(|program| options::base(program.as_text()) == "git");
                let command = level.words.get(git::preamble(&level.words).rest);
                git && command.is_some_and(|command| RENAMES.contains(&command.as_text()))
            })
        };
        // Git may not know the branch yet, because an earlier command in the same command text creates it.
        let made = !told && !moved.questions.is_empty() && commands.iter().any(renames);
        // An earlier command of the text, such as `git update-ref`, may make `HEAD` or a branch point to another
        // commit. Then the files that git lists now are not the files that this command changes.
        let repointed = commands.iter().any(repoints);
        if self.narrows_writes() && (!told && (moved.asks || made) || repointed) {
            let text = format!(
                "{} brings another state of the repository into the work tree, and a gate is for some of its files; \
                 name the paths",
                moved.what
            );
            self.decide(GateDecision::Ask, text);
        }
    }

    fn moved_file(&mut self, what: &str, root: &Path, file: &str) {
        let path = root.join(file);
        let roots = [root.to_owned()];
        for (number, rule) in self.rules.iter().enumerate() {
            let Matter::Write(glob) = &rule.matter else { continue };
            if rule.decision != GateDecision::Allow && place::fit(glob, &path, &roots, None) == PathFit::Yes {
                let text = format!("{what} changes {file:?}, which gate {} ({}) is for", number + 1, rule.shown());
                self.decide(GateDecision::Ask, text);
            }
        }
        if guard::paths().iter().any(|guarded| guarded.is_written(&path, &roots, false, None)) {
            self.decide(
                GateDecision::Ask,
                format!("ask: {what} changes {file:?}, which decides what agents and git do here"),
            );
        }
    }
}

/// Tells whether `HEAD`, a branch or the id of a commit means another commit after a git command, such as `git
/// update-ref`.
fn repoints(seen: &SeenCommand) -> bool {
    seen.levels.iter().any(|level| {
        let git = level.words.first().is_some_and(|program| options::base(program.as_text()) == "git");
        let rest = level.words.get(git::preamble(&level.words).rest..).unwrap_or_default();
        let words: Vec<&str> = rest.iter().map(Arg::as_text).collect();
        git && REPOINTS.iter().any(|command| {
            let mut wanted = command.split(' ');
            wanted.next() == words.first().copied() && wanted.all(|option| words.contains(&option)) && words.len() > 2
        })
    })
}

/// Returns the files that all these git calls list. Returns None when a call fails that is not `optional`, because then
/// the files are unknown.
fn files(folder: &Path, questions: &[GitQuestion]) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for question in questions {
        let other = || question.otherwise.as_ref().and_then(|arguments| answer(folder, arguments));
        match answer(folder, &question.arguments).or_else(other) {
            Some(files) => found.extend(files),
            None if question.optional => {}
            None => return None,
        }
    }
    Some(found)
}

/// Runs git and returns the file names that it prints. The call only reads the repository, and git runs no hook and no
/// monitor program that the repository's settings name.
fn answer(folder: &Path, arguments: &[String]) -> Option<Vec<String>> {
    use std::io::Read as _;
    let mut ceiling = PathBuf::from("/");
    let is_foreign = |name: &OsStr| name.to_string_lossy().starts_with("GIT_");
    let mut git = spawn::command("git", StartFolder::At(folder), StartEnvironment::Without(is_foreign));
    git.args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]).args(arguments);
    let root = folder.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok());
    // Git must not find another repository in a folder above this repository.
    if let Some(above) = root.and_then(Path::parent) {
        ceiling = above.to_owned();
    }
    git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    git.env("GIT_CEILING_DIRECTORIES", ceiling)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0");
    let mut child = git.spawn().ok()?;
    let output = child.stdout.take()?;
    let (tell, told) = mpsc::sync_channel(1);
    let reader = std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        // Read one byte more than the maximum. So the code below notices a list that is too long, and does not use the
        // cut list.
        let read = output.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut bytes);
        // After the timeout the receiver no longer exists, so a failed send is ignored.
        let _: Result<(), _> = tell.send(read.map(|_| bytes));
    });
    let bytes = reader.ok().and_then(|_| told.recv_timeout(PATIENCE).ok()).and_then(Result::ok);
    if bytes.is_none() {
        let _: Result<(), _> = child.kill();
    }
    let ended = child.wait().ok()?;
    let bytes = bytes.filter(|bytes| ended.success() && bytes.len() as u64 <= ANSWER_BYTES_MAX)?;
    let names = bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Some(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}
