//! Trust: settings of a repository that run programs or widen access take effect only after a person has accepted them
//! on this machine.
//!
//! ```text
//! config.toml, local.toml, contracts/, detected values ── read once ──> settings ──> list ──┐
//!                                                              ├──> changes: in force immediately | wait for a person
//! the accepted copy, in the user's data folder ──────> list ───┘
//!                                                   settings ──> in force: of two values the stricter one
//! ```
//!
//! An item is one setting or one script that a person must accept. The table in `keys` says for every setting whether a
//! person must accept it. Trust keeps a repository, a pull or a merge from running something that no person looked at.
//! It does not protect programs of one user from each other: an agent that writes into the user's data folder could
//! accept settings in the user's name.

mod change;
mod edit;
mod force;
pub mod keys;
mod list;
mod record;
mod runners;
mod script;
mod store;
mod words;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

pub use change::TrustChange;
pub use edit::accept_edit;
pub use list::{TrustItem, TrustList};
pub use record::folder;
pub use script::{BEGINNING_BYTES, beginning};
pub use script::{ChangedScript, PlacedCommand, ScriptFolders, ScriptMarks, ScriptRecord};
pub use store::{StoreProblem, accepted_store};

use crate::project::settings::team::{AgentSettings, ScriptSource};
use crate::project::settings::{DetectedDefaults, SettingSource, Settings, SettingsFiles, Unreadable};
use gate::Gates;

/// The key of an item that holds the content of a script. All other items in the list that a person accepts hold a
/// setting.
const SCRIPT: &str = "script";
/// The maximum number of changed settings that an error message names; `handover trust` shows all of them.
const CHANGES_TOLD: usize = 5;

/// The reason why Handover starts none of the programs that a repository's settings name.
#[derive(Debug, thiserror::Error)]
pub enum Untrusted {
    #[error(
        "NOT_TRUSTED no person has accepted the commands of {path} on this machine; read and accept them with \
        `handover trust`"
    )]
    Never { path: String },
    #[error(
        "NOT_TRUSTED the settings of {path} ask for more than a person accepted: {}; read and accept them with \
         `handover trust`",
        told(.changes)
    )]
    Changed { path: String, changes: Vec<String> },
    #[error("NOT_TRUSTED there is no folder for this user's data, where accepted settings are saved; set HOME")]
    Nowhere,
    #[error(transparent)]
    Settings(#[from] Unreadable),
    #[error("read the accepted settings")]
    Unreadable(#[from] io::Error),
}

fn told(changes: &[String]) -> String {
    let more = changes.len().saturating_sub(CHANGES_TOLD);
    let shown = changes.iter().take(CHANGES_TOLD).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// The settings of a clone of the repository: as they are written in its files, and as they take effect.
#[derive(Debug, Clone)]
pub struct TrustView {
    /// The path of the clone of the repository.
    pub path: String,
    /// The settings that take effect: for each key the stricter of the file's value and the accepted value.
    pub settings: Settings,
    /// The settings as they are written in the files. Use them only for keys that neither run programs nor widen
    /// access.
    pub written: Settings,
    /// The items (settings and scripts) that a person must accept, made from the files.
    pub list: TrustList,
    /// The differences between the files and the settings that a person accepted. If nothing was accepted, the files
    /// are compared with the default settings.
    pub changes: Vec<TrustChange>,
    /// True when a person accepted settings of this clone before, even if the files changed since then.
    pub is_accepted: bool,
    files: SettingsFiles,
    scripts: ScriptMarks,
}

impl TrustView {
    /// Returns one line for each change of the settings that a person must still accept.
    pub fn waiting(&self) -> Vec<String> {
        self.changes.iter().filter(|change| change.waits).map(|change| change.text.clone()).collect()
    }

    /// Returns true when no change of the settings or scripts waits for a person to accept it.
    pub fn is_trusted(&self) -> bool {
        self.is_accepted && self.changes.iter().all(|change| !change.waits)
    }

    /// Returns one line for a person about changes of the settings that wait for the person to accept them, or `None`
    /// when no change waits.
    pub fn notice(&self) -> Option<String> {
        let waiting = self.waiting();
        if waiting.is_empty() {
            return None;
        }
        Some(format!(
            "these settings of this project are not in force, because you have not accepted them: {}; read and \
             accept them with `handover trust`",
            told(&waiting)
        ))
    }
}

/// Reads the settings of a project and finds which of them take effect. `data` is the user's data folder, which has the
/// accepted settings.
///
/// If no file has a value (agents, setup, check), the detected value that a person accepted before is used. Use
/// `view_with` to include values that were detected now.
pub fn view(root: &Path, data: Option<&Path>) -> Result<TrustView, Untrusted> {
    look(root, data, None)
}

/// Reads the settings of a project like `view`, but with the values that were detected now. A detected value that no
/// person has accepted becomes a change that waits for a person.
pub fn view_with(root: &Path, data: Option<&Path>, detected: &DetectedDefaults) -> Result<TrustView, Untrusted> {
    look(root, data, Some(detected))
}

fn look(root: &Path, data: Option<&Path>, detected: Option<&DetectedDefaults>) -> Result<TrustView, Untrusted> {
    let copy = copy_of(root, data)?;
    let known = copy.as_ref().map(|copy| &copy.detected);
    let detected = detected.or(known).cloned().unwrap_or_default();
    let files = SettingsFiles { detected, ..SettingsFiles::read(root)? };
    compared(root, data, (files, copy))
}

/// Reads the settings like `view`, but from the given texts, which need not be written to the settings files yet.
/// `accept` then accepts exactly these texts.
pub fn view_of(root: &Path, data: Option<&Path>, files: SettingsFiles) -> Result<TrustView, Untrusted> {
    let copy = copy_of(root, data)?;
    compared(root, data, (files, copy))
}

fn copy_of(root: &Path, data: Option<&Path>) -> Result<Option<record::AcceptedCopy>, Untrusted> {
    match data {
        Some(data) => Ok(record::read(&record::file(data, &key(root)?))?),
        None => Ok(None),
    }
}

/// Compares the settings in these files with the accepted ones.
fn compared(
    root: &Path,
    data: Option<&Path>,
    (files, copy): (SettingsFiles, Option<record::AcceptedCopy>),
) -> Result<TrustView, Untrusted> {
    let path = key(root)?;
    let file = data.map(|data| record::file(data, &path));
    let found = files.settings(root)?;
    let scripts = ScriptMarks::look(root, &found);
    let list = TrustList::of(&found, store::asks(root, &found).as_deref(), &scripts);
    // The copy of the accepted settings may have been written by another version of Handover. If this version cannot
    // read it, the copy does not count.
    let known = copy.as_ref().and_then(|copy| Some((copy, copy.files().settings(root).ok()?)));
    let is_accepted = known.is_some();
    let (accepted, marks) = match known {
        Some((copy, settings)) => (settings, copy.scripts.clone()),
        None => (Settings::default(), ScriptMarks::default()),
    };
    let before = TrustList::of(&accepted, store::asks(root, &accepted).as_deref(), &marks);
    let mut settings = force::in_force(&found, &accepted);
    settings.team.scripts = file.map(|record| ScriptSource { record, root: root.to_owned() });
    let changes = change::changes(&before, &list);
    Ok(TrustView { path, settings, written: found, changes, list, is_accepted, files, scripts })
}

/// Returns the names of the MCP clients that a person accepted as coordinators. All code that needs these names calls
/// this function, so that a client that no person accepted never counts.
pub fn accepted_coordinators(root: Option<&Path>, data: Option<&Path>) -> Result<Vec<String>, Untrusted> {
    let Some(root) = root else { return Ok(Vec::new()) };
    Ok(basics(root, data)?.mcp.coordinators)
}

/// Returns the settings that take effect, without reading schemas and scripts. Every command and every hook calls this,
/// so it must be fast.
pub fn basics(root: &Path, data: Option<&Path>) -> Result<Settings, Untrusted> {
    let copy = match data {
        Some(data) => record::read(&record::file(data, &key(root)?))?,
        None => None,
    };
    let detected = copy.as_ref().map(|copy| copy.detected.clone()).unwrap_or_default();
    let files = SettingsFiles { detected, ..SettingsFiles::without_contracts(root)? };
    let found = files.settings(root)?;
    let accepted = match copy {
        Some(copy) if copy.has_texts_of(&files) => found.clone(),
        Some(copy) => copy.files().settings(root).unwrap_or_default(),
        None => Settings::default(),
    };
    Ok(force::in_force(&found, &accepted))
}

/// Returns the settings that take effect, or an error when no person has accepted settings of this clone. Later changes
/// of the settings files that no person has accepted do not take effect.
pub fn accepted(root: &Path, data: Option<&Path>) -> Result<TrustView, Untrusted> {
    if data.is_none() {
        return Err(Untrusted::Nowhere);
    }
    let view = view(root, data)?;
    if view.is_accepted { Ok(view) } else { Err(Untrusted::Never { path: view.path }) }
}

/// Returns the settings that take effect, or an error when a change of the settings files still waits for a person to
/// accept it. Call this before starting agents.
///
/// A detected value that waits for a person is no error: the accepted value stays in force, and `notice` mentions the
/// new value.
pub fn require(root: &Path, data: Option<&Path>) -> Result<TrustView, Untrusted> {
    required(accepted(root, data)?)
}

/// Returns the settings that take effect like `require`, but with the values that were detected now.
pub fn require_with(root: &Path, data: Option<&Path>, detected: &DetectedDefaults) -> Result<TrustView, Untrusted> {
    if data.is_none() {
        return Err(Untrusted::Nowhere);
    }
    let view = view_with(root, data, detected)?;
    if view.is_accepted { required(view) } else { Err(Untrusted::Never { path: view.path }) }
}

fn required(view: TrustView) -> Result<TrustView, Untrusted> {
    // While accepted agents can work, a detected value may wait for its acceptance. Without an accepted agent, every
    // change must be accepted first.
    let has_agents = !view.settings.team.agents.is_empty();
    let is_asked = |change: &&TrustChange| change.waits && !(has_agents && change.source == SettingSource::Detected);
    let of_files = view.changes.iter().filter(is_asked);
    let changes: Vec<String> = of_files.map(|change| change.text.clone()).collect();
    if changes.is_empty() { Ok(view) } else { Err(Untrusted::Changed { path: view.path, changes }) }
}

/// Returns the sets of gate rules that a hook applies: the rules of the settings file, and also the accepted rules when
/// they differ. A tool call must pass every set. So a rule that is removed from the file still applies until a person
/// accepts the removal.
pub fn gates(root: &Path, data: Option<&Path>) -> Result<Vec<Gates>, Untrusted> {
    let files = SettingsFiles::without_contracts(root)?;
    let mut gates = vec![files.settings(root)?.gates];
    let Some(data) = data else { return Ok(gates) };
    let copy = record::read(&record::file(data, &key(root)?))?;
    if let Some(copy) = copy.filter(|copy| !copy.has_texts_of(&files))
        && let Ok(accepted) = copy.files().settings(root)
        && accepted.gates != gates[0]
    {
        gates.push(accepted.gates);
    }
    Ok(gates)
}

/// Records that a person accepted exactly the settings files from which the view was made.
pub fn accept(data: &Path, view: &TrustView) -> io::Result<()> {
    let file = record::file(data, &view.path);
    record::change(&file, |known| {
        let mut scripts = view.scripts.clone();
        // Contents of a check's script that a person accepted in the past stay accepted, in addition to the current
        // content.
        for (name, before) in known.map(|known| known.scripts.0).unwrap_or_default() {
            if let Some(script) = scripts.0.get_mut(&name).filter(|script| !script.starts_something) {
                script.marks.extend(before.marks);
            }
        }
        let readable = |(name, text): (&String, &Result<String, String>)| Some((name.clone(), text.clone().ok()?));
        record::AcceptedCopy {
            path: view.path.clone(),
            sha256: view.list.sha256(),
            config: view.files.config.clone(),
            local: view.files.local.clone(),
            detected: view.files.detected.clone(),
            contracts: view.files.contracts.iter().filter_map(readable).collect(),
            scripts,
        }
    })
}

/// Returns the scripts that a command runs and whose current content no person accepted. `record` is the file with the
/// accepted settings and script contents of the clone.
pub fn changed_scripts(
    record: &Path,
    folders: ScriptFolders<'_>,
    command: &[String],
) -> io::Result<Vec<ChangedScript>> {
    changed_scripts_of(record, folders, PlacedCommand { words: command, folder: Path::new("") })
}

/// Returns the scripts whose current content no person accepted, for a command that runs in a subfolder of the
/// worktree.
pub fn changed_scripts_of(
    record: &Path,
    folders: ScriptFolders<'_>,
    command: PlacedCommand<'_>,
) -> io::Result<Vec<ChangedScript>> {
    let scripts = record::read(record)?.map(|copy| copy.scripts).unwrap_or_default();
    Ok(scripts.changed(folders, command))
}

/// Returns the agent's settings with absolute paths for scripts of the repository. The agent starts in its own
/// worktree, but its command must use the scripts of the main worktree, which a person accepted.
pub fn from_main_worktree(root: &Path, agent: &AgentSettings) -> AgentSettings {
    let words: Vec<String> = agent.command.iter().chain(&agent.args).cloned().collect();
    let whole = script::with_whole_paths(root, &words);
    let (command, args) = whole.split_at(agent.command.len());
    AgentSettings { command: command.to_vec(), args: args.to_vec(), ..agent.clone() }
}

/// Returns the beginning of the script content that a person accepted last, or `None` when no content was accepted.
pub fn accepted_content(record: &Path, name: &str) -> Option<String> {
    record::read(record).ok()??.scripts.0.remove(name)?.content
}

/// Records that a person has seen these contents of scripts and so accepted them. `seen` has the name and the hash of
/// each script.
pub fn remember(record: &Path, seen: &[(String, String)]) -> io::Result<()> {
    record::change(record, |known| {
        let mut copy = known.unwrap_or_default();
        for (name, mark) in seen {
            copy.scripts.0.entry(name.clone()).or_default().marks.insert(mark.clone());
        }
        copy
    })
}

/// Returns the absolute path of a clone, which is the key under which its accepted settings are stored.
fn key(root: &Path) -> io::Result<String> {
    Ok(std::fs::canonicalize(root)?.display().to_string())
}

/// Returns the path of the file with the clone's accepted settings and script contents.
pub fn record_of(root: &Path, data: &Path) -> io::Result<PathBuf> {
    Ok(record::file(data, &key(root)?))
}
