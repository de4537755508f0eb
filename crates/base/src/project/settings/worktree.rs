//! The `[worktree]` section of the settings: the commands that prepare a worktree, and the files that are copied into
//! the worktree.

use serde::{Deserialize, Serialize};

use super::SettingSource;
use super::team::COMMAND_SECONDS_DEFAULT;

/// The `[worktree]` section of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "WorktreeText")]
pub struct WorktreeSettings {
    /// The commands that prepare a worktree before the first turn, in this order.
    pub setup: Vec<SetupCommand>,
    pub setup_source: SettingSource,
    /// Patterns, in the syntax of `.gitignore`, of ignored files that are copied from the main worktree into each
    /// worktree.
    pub copy: Vec<String>,
    pub copy_source: SettingSource,
    /// The number of worktrees that may exist for each turn that can run in parallel. It is multiplied by the number of
    /// parallel turns. More than one is needed, because a task that waits for a person keeps its worktree.
    pub slots_per_turn: u32,
}

/// A command that prepares a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupCommand {
    pub command: Vec<String>,
    #[serde(default = "ten_minutes")]
    pub seconds: u32,
    /// The files whose content decides whether the command runs again, relative to the root of the repository.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// The folder in which the command runs, relative to the root of the repository. Empty for the root.
    #[serde(default)]
    pub folder: String,
}

/// The text of the section `[worktree]`. A missing key means that the detected value applies; an empty list means no
/// value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorktreeText {
    setup: Option<Vec<SetupCommand>>,
    copy: Option<Vec<String>>,
    slots_per_turn: Option<u32>,
}

/// The number of slots (reusable worktrees) for each turn when the settings name no other number. One slot is for the
/// running turn, and three are for tasks that wait for a person.
const SLOTS_PER_TURN_DEFAULT: u32 = 4;
/// The largest `slots_per_turn`; a larger value is an error, because each slot is a worktree with all files of the
/// repository.
const SLOTS_PER_TURN_MAX: u32 = 100;
/// The longest time limit of a setup command or a check, in seconds: one day.
const SECONDS_MAX: u32 = 24 * 60 * 60;

pub(super) fn ten_minutes() -> u32 {
    COMMAND_SECONDS_DEFAULT
}

impl From<WorktreeText> for WorktreeSettings {
    fn from(text: WorktreeText) -> Self {
        let WorktreeText { setup, copy, slots_per_turn } = text;
        Self {
            setup_source: source(setup.as_ref()),
            setup: setup.unwrap_or_default(),
            copy_source: source(copy.as_ref()),
            copy: copy.unwrap_or_default(),
            slots_per_turn: slots_per_turn.unwrap_or(SLOTS_PER_TURN_DEFAULT),
        }
    }
}

impl Default for WorktreeSettings {
    fn default() -> Self {
        WorktreeText { setup: None, copy: None, slots_per_turn: None }.into()
    }
}

/// Returns `File` when a settings file has the value, and `Default` when it does not.
pub(super) fn source<T>(written: Option<&T>) -> SettingSource {
    written.map_or(SettingSource::Default, |_| SettingSource::File)
}

impl WorktreeSettings {
    pub(super) fn problem(&self) -> Option<String> {
        for setup in &self.setup {
            let SetupCommand { command, seconds, inputs, folder } = setup;
            if let Some(problem) = command_problem(command, *seconds, folder) {
                return Some(format!("worktree.setup: {problem}"));
            }
            if let Some(input) = inputs.iter().find(|input| input.is_empty() || !is_inside(input)) {
                return Some(format!(
                    "worktree.setup: `{input}` in `inputs` is not a file of the repository; write its path relative \
                     to the root"
                ));
            }
        }
        if self.copy.iter().any(|pattern| pattern.trim().is_empty()) {
            return Some("worktree.copy: a pattern is blank; write a path such as \".env\"".to_owned());
        }
        let is_known = (1..=SLOTS_PER_TURN_MAX).contains(&self.slots_per_turn);
        (!is_known).then(|| format!("worktree.slots_per_turn: must be 1 to {SLOTS_PER_TURN_MAX}"))
    }
}

/// Returns the problem in the settings of a setup command or a check, or `None` when they are valid.
pub(super) fn command_problem(command: &[String], seconds: u32, folder: &str) -> Option<String> {
    if command.first().is_none_or(|program| program.trim().is_empty()) {
        return Some("a command names no program".to_owned());
    }
    let shown = command.join(" ");
    if !(1..=SECONDS_MAX).contains(&seconds) {
        return Some(format!("`{shown}`: seconds must be 1 to {SECONDS_MAX}"));
    }
    let advice = "write its path relative to the root";
    (!is_inside(folder)).then(|| format!("`{shown}`: `{folder}` is not a folder of the repository; {advice}"))
}

/// Returns true when a path stays in the folder to which it is relative.
fn is_inside(path: &str) -> bool {
    use std::path::Component;
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    std::path::Path::new(path).components().all(inside)
}
