//! Trust: what a repository's settings run or widen counts only after a person accepted it on this machine.
//!
//! ```text
//! config.toml, contracts/ ── read once ──> settings ──> list ──┐
//!                                                              ├──> changes: in force at once | wait for a person
//! the accepted copy, in the user's data folder ──────> list ───┘
//!                                                   settings ──> in force: of two values the stricter one
//! ```
//!
//! `keys` says of every setting whether it asks. Programs of one user are not walled off from each other: an agent that writes
//! into the user's data folder could accept in their name. This keeps a repository, a pull or a merge from running something
//! that nobody looked at.

mod change;
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
pub use list::{TrustItem, TrustList};
pub use record::folder;
pub(crate) use script::{BEGINNING_BYTES, beginning};
pub use script::{ChangedScript, Folders, ScriptMarks, ScriptRecord};
pub use store::{StoreProblem, accepted_store};

use crate::settings::team::{Agent, ScriptSource};
use crate::settings::{Settings, SettingsFiles, Unreadable};
use gate::Gates;

/// The key of an item that is the content of a script.
const SCRIPT: &str = "script";
/// Changes that a refusal names; `handover trust` shows all.
const CHANGES_TOLD: usize = 5;

/// Why nothing of a repository is started.
#[derive(Debug, thiserror::Error)]
pub enum Untrusted {
    #[error("NOT_TRUSTED the commands of {path} were not accepted on this machine; look at them with `handover trust`")]
    Never { path: String },
    #[error(
        "NOT_TRUSTED the configuration of {path} asks for more than was accepted: {}; look at it with `handover trust`",
        told(.changes)
    )]
    Changed { path: String, changes: Vec<String> },
    #[error("NOT_TRUSTED there is no folder for this user's data, so nothing can have been accepted; set HOME")]
    Nowhere,
    #[error(transparent)]
    Settings(#[from] Unreadable),
    #[error("read what is trusted")]
    Unreadable(#[from] io::Error),
}

fn told(changes: &[String]) -> String {
    let more = changes.len().saturating_sub(CHANGES_TOLD);
    let shown = changes.iter().take(CHANGES_TOLD).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// The settings of a clone, as they were read and as they count.
#[derive(Debug, Clone)]
pub struct TrustView {
    /// The clone.
    pub path: String,
    /// The settings that count: of the file and the accepted copy the stricter one.
    pub settings: Settings,
    /// The settings as the files say them: for what neither runs anything nor widens access.
    pub written: Settings,
    /// What the files ask for.
    pub list: TrustList,
    /// The differences from what was accepted. Without a copy: from the settings that nobody wrote.
    pub changes: Vec<TrustChange>,
    /// A person accepted something here before.
    pub is_accepted: bool,
    files: SettingsFiles,
    scripts: ScriptMarks,
}

impl TrustView {
    /// Returns the differences that wait for a person.
    pub fn waiting(&self) -> Vec<String> {
        self.changes.iter().filter(|change| change.waits).map(|change| change.text.clone()).collect()
    }

    /// Whether everything that the files ask for was accepted.
    pub fn is_trusted(&self) -> bool {
        self.is_accepted && self.changes.iter().all(|change| !change.waits)
    }

    /// Returns one line for a person, when something waits for them.
    pub fn notice(&self) -> Option<String> {
        let waiting = self.waiting();
        if waiting.is_empty() {
            return None;
        }
        Some(format!(
            "the settings of this project ask for more than you accepted, and until then do without: {}; look at it with \
             `handover trust`",
            told(&waiting)
        ))
    }
}

/// Reads the settings of a project and says which of them count.
pub fn view(root: &Path, data: Option<&Path>) -> Result<TrustView, Untrusted> {
    let path = key(root)?;
    let file = data.map(|data| record::file(data, &path));
    let files = SettingsFiles::read(root)?;
    let found = files.settings(root)?;
    let scripts = ScriptMarks::look(root, &found);
    let list = TrustList::of(&found, store::asks(root, &found).as_deref(), &scripts);
    let copy = match &file {
        Some(file) => record::read(file)?,
        None => None,
    };
    // A copy of another version that cannot be read any more was accepted for another program.
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

/// Returns the clients that a person lets act as coordinators. This is the one place that is asked, so what was accepted
/// decides here.
pub fn accepted_coordinators(root: Option<&Path>, data: Option<&Path>) -> Result<Vec<String>, Untrusted> {
    let Some(root) = root else { return Ok(Vec::new()) };
    Ok(basics(root, data)?.mcp.coordinators)
}

/// Returns the settings that count, without looking at schemas and scripts: the store is opened by every command and hook.
pub fn basics(root: &Path, data: Option<&Path>) -> Result<Settings, Untrusted> {
    let files = SettingsFiles { config: SettingsFiles::config(root)?, ..SettingsFiles::default() };
    let found = files.settings(root)?;
    let copy = match data {
        Some(data) => record::read(&record::file(data, &key(root)?))?,
        None => None,
    };
    let accepted = match copy {
        Some(copy) if copy.config == files.config => found.clone(),
        Some(copy) => crate::settings::parse(&copy.config).unwrap_or_default(),
        None => Settings::default(),
    };
    Ok(force::in_force(&found, &accepted))
}

/// Returns the settings that count, once a person accepted something here. Changes that wait are left out of them.
pub fn accepted(root: &Path, data: Option<&Path>) -> Result<TrustView, Untrusted> {
    if data.is_none() {
        return Err(Untrusted::Nowhere);
    }
    let view = view(root, data)?;
    if view.is_accepted { Ok(view) } else { Err(Untrusted::Never { path: view.path }) }
}

/// Returns the settings that count when nothing of them waits for a person: before agents are started.
pub fn require(root: &Path, data: Option<&Path>) -> Result<TrustView, Untrusted> {
    let view = accepted(root, data)?;
    let changes = view.waiting();
    if changes.is_empty() { Ok(view) } else { Err(Untrusted::Changed { path: view.path, changes }) }
}

/// Returns the rules that a hook holds a call to: those of the file, and those that were accepted where they differ. A call
/// must pass both, so a rule that is taken out of the file holds until a person accepted that.
pub fn gates(root: &Path, data: Option<&Path>) -> Result<Vec<Gates>, Untrusted> {
    let text = SettingsFiles::config(root)?;
    let files = SettingsFiles { config: text, ..SettingsFiles::default() };
    let mut gates = vec![files.settings(root)?.gates];
    let Some(data) = data else { return Ok(gates) };
    let copy = record::read(&record::file(data, &key(root)?))?;
    if let Some(copy) = copy.filter(|copy| copy.config != files.config)
        && let Ok(accepted) = crate::settings::parse(&copy.config)
        && accepted.gates != gates[0]
    {
        gates.push(accepted.gates);
    }
    Ok(gates)
}

/// Keeps that a person accepted exactly what the view was made of.
pub fn accept(data: &Path, view: &TrustView) -> io::Result<()> {
    let file = record::file(data, &view.path);
    record::change(&file, |known| {
        let mut scripts = view.scripts.clone();
        // Contents that a person has seen before stay seen.
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
            contracts: view.files.contracts.iter().filter_map(readable).collect(),
            scripts,
        }
    })
}

/// Returns the scripts of a command that differ from all that was accepted. `record` is the accepted copy of the clone.
pub fn changed_scripts(record: &Path, folders: Folders<'_>, command: &[String]) -> io::Result<Vec<ChangedScript>> {
    let scripts = record::read(record)?.map(|copy| copy.scripts).unwrap_or_default();
    Ok(scripts.changed(folders, command))
}

/// Returns the agent with its scripts of the repository as whole paths: it is started in a worktree of its own, and what starts
/// it is what a person accepted in the main one.
pub fn from_main_worktree(root: &Path, agent: &Agent) -> Agent {
    let words: Vec<String> = agent.command.iter().chain(&agent.args).cloned().collect();
    let whole = script::with_whole_paths(root, &words);
    let (command, args) = whole.split_at(agent.command.len());
    Agent { command: command.to_vec(), args: args.to_vec(), ..agent.clone() }
}

/// Returns the beginning of a script as it was accepted last.
pub(crate) fn accepted_content(record: &Path, name: &str) -> Option<String> {
    record::read(record).ok()??.scripts.0.remove(name)?.content
}

/// Keeps that a person has seen these contents.
pub fn remember(record: &Path, seen: &[(String, String)]) -> io::Result<()> {
    record::change(record, |known| {
        let mut copy = known.unwrap_or_default();
        for (name, mark) in seen {
            copy.scripts.0.entry(name.clone()).or_default().marks.insert(mark.clone());
        }
        copy
    })
}

/// Returns the name that a clone is remembered by.
fn key(root: &Path) -> io::Result<String> {
    Ok(std::fs::canonicalize(root)?.display().to_string())
}

/// Returns the accepted copy's file of a clone, for whoever compares scripts with it.
pub fn record_of(root: &Path, data: &Path) -> io::Result<PathBuf> {
    Ok(record::file(data, &key(root)?))
}
