//! Finds the scripts of the repository that a command runs, and compares their content with the content that a person
//! accepted.
//!
//! A command names a script when it does one of these: it runs the script as a program (`./ci/check.sh`); it gives the
//! script to an interpreter (`bash ci/check`, `python tools/x.py`); it passes an executable file, or one with the name
//! of a script, to a program that may run it; it starts a program that reads the file by convention (`make test`, `npm
//! test`: [`super::runners`]). Scripts that a script calls in turn are not found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::runners;
use super::words::{self, Atom, CommandWords};
use crate::project::settings::Settings;

/// The largest script, in bytes, that is compared with its accepted content. A larger script always counts as changed,
/// because reading it at every check would take too long.
const BYTES_MAX: u64 = 64 << 20;
const MISSING: &str = "missing";
const NO_FILE: &str = "no file";
const TOO_LARGE: &str = "too large";

/// The scripts that commands name, with the hashes of their contents. The key is the path of the script relative to the
/// root of the worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptMarks(pub BTreeMap<String, ScriptRecord>);

/// The accepted contents of one script. A person may have accepted several versions of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptRecord {
    /// The SHA-256 of each accepted content of the script, or a word such as `missing` when there was no content to
    /// hash.
    pub marks: BTreeSet<String>,
    /// True when the script starts an agent or sends a notice. Such a script runs from the main worktree.
    pub starts_something: bool,
    /// The beginning of the content that was accepted last, or `None` without such content. With it a person can see
    /// how a task changed the script.
    #[serde(default)]
    pub content: Option<String>,
}

/// A script that a command names, with its path and the hash of its current content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedScript {
    pub name: String,
    pub path: PathBuf,
    pub mark: String,
}

impl ScriptRecord {
    /// Returns a short text for a person: the beginning of the hash of the script's content, or the reason why there is
    /// no hash.
    pub(super) fn shown(&self) -> String {
        let mark = self.marks.iter().next_back().map_or(MISSING, String::as_str);
        if is_hash(mark) { format!("sha256 {}", &mark[..16]) } else { mark.to_owned() }
    }
}

fn is_hash(mark: &str) -> bool {
    mark.len() == 64
}

impl ScriptMarks {
    /// Finds every script that a command of the settings names, and hashes its content in the main worktree.
    pub(super) fn look(root: &Path, settings: &Settings) -> Self {
        let mut found = Self::default();
        let mut add = |words: &[String], folder: &str, starts_something: bool| {
            let command = PlacedCommand { words, folder: Path::new(folder) };
            for script in named(ScriptFolders { root, runs_in: root }, command, &BTreeSet::new()) {
                let known = found.0.entry(script.name).or_default();
                known.marks.insert(script.mark);
                known.content = beginning(&script.path);
                known.starts_something |= starts_something;
            }
        };
        for agent in &settings.team.agents {
            let words: Vec<String> = agent.command.iter().chain(&agent.args).cloned().collect();
            add(&words, "", true);
        }
        if let Some(words) = &settings.notify.command {
            add(words, "", true);
        }
        for check in settings.team.contracts.values().flat_map(|contract| &contract.checks) {
            add(&check.command, "", false);
        }
        for check in &settings.team.verify.checks {
            add(&check.command, &check.folder, false);
        }
        for setup in &settings.team.worktree.setup {
            add(&setup.command, &setup.folder, false);
        }
        found
    }

    /// Returns the scripts that a command runs and whose current content no person accepted.
    pub(super) fn changed(&self, folders: ScriptFolders<'_>, command: PlacedCommand<'_>) -> Vec<ChangedScript> {
        let known: BTreeSet<&str> = self.0.keys().map(String::as_str).collect();
        let is_accepted = |script: &ChangedScript| {
            is_content(&script.mark) && self.0.get(&script.name).is_some_and(|known| known.marks.contains(&script.mark))
        };
        named(folders, command, &known).into_iter().filter(|script| !is_accepted(script)).collect()
    }
}

/// The two folders that matter for a command: the main worktree with the settings, and the folder in which the command
/// runs.
#[derive(Debug, Clone, Copy)]
pub struct ScriptFolders<'a> {
    /// The main worktree, which has the settings.
    pub root: &'a Path,
    /// The root of the worktree in which the command runs: the worktree of a task, or the main worktree.
    pub runs_in: &'a Path,
}

/// A command, and the folder in which it runs, relative to the root of the worktree. The folder is empty for the root.
#[derive(Debug, Clone, Copy)]
pub struct PlacedCommand<'a> {
    pub words: &'a [String],
    pub folder: &'a Path,
}

/// Returns every script that a command names, and the files that its programs read by convention. `known` has the names
/// that were scripts when a person accepted them. They count even if their files are missing now.
fn named(folders: ScriptFolders<'_>, command: PlacedCommand<'_>, known: &BTreeSet<&str>) -> Vec<ChangedScript> {
    let words = words::take_apart(command.words);
    let mut found = scripts(folders, command.folder, &words, known);
    for file in words.runs.iter().flat_map(|call| call.files(&folders.runs_in.join(command.folder))) {
        let Some((name, path)) = file.to_str().and_then(|file| spot(folders, command.folder, file)) else { continue };
        let is_read = known.contains(name.as_str()) || path.exists();
        if is_read && !found.iter().any(|script| script.name == name) {
            let mark = mark(&path);
            found.push(ChangedScript { name, path, mark });
        }
    }
    found
}

/// Returns the files among the words of a command that are scripts of the repository. The command runs in `folder`,
/// relative to the root of the worktree.
fn scripts(
    folders: ScriptFolders<'_>,
    folder: &Path,
    words: &CommandWords,
    known: &BTreeSet<&str>,
) -> Vec<ChangedScript> {
    let mut found: Vec<ChangedScript> = Vec::new();
    for Atom { text, place } in &words.atoms {
        let Some((name, path)) = spot(folders, folder, text) else { continue };
        let is_named = known.contains(name.as_str())
            // A file that does not exist now is no script. If it is created later, it counts as changed.
            || path.exists() && match place {
                words::WordSpot::Program => text.contains('/') && !leads_out(folders, &path),
                words::WordSpot::Script => path.is_file(),
                words::WordSpot::Whole => path.is_file() && (words::has_script_name(&path) || can_run(&path)),
                words::WordSpot::Argument => words::has_script_name(&path) || can_run(&path),
                words::WordSpot::Data => false,
            };
        if is_named && !found.iter().any(|script| script.name == name) {
            let mark = mark(&path);
            found.push(ChangedScript { name, path, mark });
        }
    }
    found
}

/// Returns true when a file of the worktree is a link to a program outside of the repository. Such a program belongs to
/// the machine. The setup of a worktree makes such links: `.venv/bin/python` leads to the Python of the machine.
fn leads_out(folders: ScriptFolders<'_>, path: &Path) -> bool {
    if !path.is_symlink() {
        return false;
    }
    let Ok(target) = path.canonicalize() else { return false };
    let is_inside = |folder: &Path| folder.canonicalize().is_ok_and(|folder| target.starts_with(folder));
    !is_inside(folders.runs_in) && !is_inside(folders.root)
}

/// Returns the words of a command, with each script replaced by its absolute path in the main worktree. Leaves the
/// program, which is the first word, unchanged.
pub(super) fn with_whole_paths(root: &Path, command: &[String]) -> Vec<String> {
    let folders = ScriptFolders { root, runs_in: root };
    let scripts = scripts(folders, Path::new(""), &words::take_apart(command), &BTreeSet::new());
    let whole = |word: &str| {
        let is_named = |script: &&ChangedScript| Path::new(&script.name) == plain(Path::new(word));
        scripts.iter().find(is_named).map(|script| script.path.display().to_string())
    };
    let words = command.iter().enumerate().map(|(number, word)| match word.split_once('=') {
        _ if number == 0 => word.clone(),
        Some((option, value)) if option.starts_with('-') => {
            whole(value).map_or_else(|| word.clone(), |path| format!("{option}={path}"))
        }
        Some(_) | None => whole(word).unwrap_or_else(|| word.clone()),
    });
    words.collect()
}

/// Returns the script name and the path of the file that a word of a command names. Returns `None` for an absolute path
/// outside of the repository, because that file belongs to the person and not to the repository.
fn spot(folders: ScriptFolders<'_>, folder: &Path, text: &str) -> Option<(String, PathBuf)> {
    let path = Path::new(text);
    if path.is_absolute() {
        let path = plain(path);
        let name = path.strip_prefix(folders.runs_in).or_else(|_| path.strip_prefix(folders.root)).ok()?;
        return Some((name.display().to_string(), path.clone()));
    }
    let name = plain(&folder.join(path));
    let is_something = name.components().any(|part| matches!(part, Component::Normal(_)));
    is_something.then(|| (name.display().to_string(), folders.runs_in.join(&name)))
}

/// Returns the path without `.` parts, and with `..` resolved where possible.
fn plain(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(parts.components().next_back(), Some(Component::Normal(_))) => {
                parts.pop();
            }
            Component::ParentDir | Component::Normal(_) | Component::RootDir | Component::Prefix(_) => parts.push(part),
        }
    }
    parts
}

/// Returns true when the system can run the file: it is executable or starts with `#!`.
fn can_run(path: &Path) -> bool {
    let Ok(found) = std::fs::metadata(path) else { return false };
    if !found.is_file() {
        return false;
    }
    if std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 != 0 {
        return true;
    }
    let mut start = [0; 2];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!"
}

/// Returns the hash of a file's content. Of a manifest (such as `package.json`) only the part that lists commands
/// counts. Follows symbolic links, because the target is the file that runs.
pub(super) fn mark(path: &Path) -> String {
    let read = || -> io::Result<String> {
        let found = std::fs::metadata(path)?;
        if !found.is_file() {
            return Ok(NO_FILE.to_owned());
        }
        if found.len() > BYTES_MAX {
            return Ok(TOO_LARGE.to_owned());
        }
        if runners::is_manifest(path) {
            let content = std::fs::read(path)?;
            let counts = runners::part(path, &content).map_or(content, String::into_bytes);
            return Ok(crate::ground::digest::hexadecimal(&Sha256::digest(&counts)));
        }
        let mut whole = Sha256::new();
        let mut file = File::open(path)?.take(BYTES_MAX + 1);
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(crate::ground::digest::hexadecimal(&whole.finalize())),
                Ok(count) => whole.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    };
    read().unwrap_or_else(|error| {
        if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            return MISSING.to_owned();
        }
        format!("unreadable: {}", error.kind())
    })
}

/// The maximum number of bytes from the beginning of a script that are stored or shown. The hash of a script covers its
/// whole content.
pub const BEGINNING_BYTES: u64 = 64 << 10;

/// Returns the beginning of a file as text; of a manifest (such as `package.json`) the part that lists commands to run.
/// Returns `None` when the path is not a regular file.
pub fn beginning(path: &Path) -> Option<String> {
    let bytes = first_bytes(path, if runners::is_manifest(path) { BYTES_MAX } else { BEGINNING_BYTES })?;
    let mut text = runners::part(path, &bytes).unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
    text.truncate(text.floor_char_boundary(usize::try_from(BEGINNING_BYTES).unwrap_or(usize::MAX)));
    Some(text)
}

/// Returns the text of a file, at most its first `BYTES_MAX` bytes. Returns `None` when the path is not a regular file
/// or cannot be read.
pub(super) fn whole(path: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&first_bytes(path, BYTES_MAX)?).into_owned())
}

fn first_bytes(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns true when two equal marks (hashes or words such as `missing`) mean equal contents. Two files with the mark
/// `too large` may differ, so this mark never counts as accepted.
fn is_content(mark: &str) -> bool {
    is_hash(mark) || mark == MISSING
}
