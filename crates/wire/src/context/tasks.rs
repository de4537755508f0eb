//! The lists of other tasks in the reply of `task_load_context`. This module decides how many tasks a list shows, and
//! how much of each task's outcome.

use engine::Json;
use engine::task::{Task, TaskState};

use super::cuts::{Cuts, Fetch};
use super::piece::{LEAST, PieceContent, PieceField, level};
use crate::json::Value;
use crate::tokens::{UNIT, weight};

/// One task in a list of tasks, with the weights (estimated token costs) of its fields.
struct TaskEntry<'f> {
    /// The fields that every shown task has: the id, the name and the status.
    bare: Vec<PieceField<'f>>,
    /// The texts of a task that may be cut: its outcome, and the outcome's detail when the caller wants it.
    texts: Vec<PieceField<'f>>,
}

impl TaskEntry<'_> {
    fn least(&self) -> u64 {
        BRACES + self.bare.iter().map(|field| field.least).sum::<u64>()
    }

    fn want(&self) -> u64 {
        BRACES + self.bare.iter().chain(&self.texts).map(|field| field.want).sum::<u64>()
    }
}

/// The weight (token cost) of the braces around a JSON object and the comma after it.
const BRACES: u64 = 2 * UNIT;

/// One of the lists of tasks in the reply of `task_load_context`, such as `prior_tasks`.
pub(super) struct Tasks<'f> {
    name: &'static str,
    entries: Vec<TaskEntry<'f>>,
    /// The number of tasks that belong to this list but were not loaded from the store.
    more: u32,
    pub(super) least: u64,
    /// The weight (token cost) of all tasks of the list with all their texts, in addition to `least`, the weight of the
    /// empty list.
    pub(super) want: u64,
}

impl<'f> Tasks<'f> {
    pub(super) fn new(
        name: &'static str,
        tasks: impl Iterator<Item = (&'f Task, Option<&'f Json>)>,
        more: u32,
    ) -> Self {
        let entries: Vec<_> = tasks.map(|(task, detail)| entry(task, detail)).collect();
        let want = entries.iter().map(TaskEntry::want).sum();
        Self { name, entries, more, least: weight(&format!("\"{name}\":[],")), want }
    }

    /// Renders the list of tasks. `grant` is the weight (token cost) that the tasks may use in addition to the weight
    /// of the empty list.
    pub(super) fn render(&self, grant: u64, cuts: &mut Cuts) -> Value {
        let (shown, left) = self.fitting(grant);
        let entries = &self.entries[..shown];
        let wants = |entry: &TaskEntry<'_>| entry.want() - entry.least();
        let all: Vec<u64> = entries.iter().map(wants).collect();
        let level = level(&all, left);
        let mut shortened = 0;
        let list = entries.iter().map(|entry| {
            let (value, whole) = show(entry, wants(entry).min(level));
            shortened += u64::from(!whole);
            value
        });
        let list = Value::List(list.collect());
        let missing = u64::try_from(self.entries.len() - shown).unwrap_or(u64::MAX);
        cuts.add(self.name, missing + u64::from(self.more), Fetch::Tasks);
        cuts.add(format!("{}.outcome", self.name), shortened, Fetch::Each);
        list
    }

    /// Returns the number of tasks that are shown, and the weight (token cost) that is left for their texts (the
    /// outcomes). At first the names of the tasks get only half of `grant`, so that texts fit, too. The names may use
    /// all of `grant` when it covers all names and texts, or when it is too small for even one text.
    fn fitting(&self, grant: u64) -> (usize, u64) {
        let names: u64 = self.entries.iter().map(TaskEntry::least).sum();
        let room = if grant >= self.want || grant < LEAST { grant } else { grant / 2 };
        if names <= room {
            return (self.entries.len(), grant - names);
        }
        let mut left = room;
        let fits = |entry: &&TaskEntry<'_>| match left.checked_sub(entry.least()) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let shown = self.entries.iter().take_while(fits).count();
        let texts: u64 = self.entries[..shown].iter().map(|entry| entry.want() - entry.least()).sum();
        let spent: u64 = self.entries[..shown].iter().map(TaskEntry::least).sum();
        let left = grant.saturating_sub(spent);
        self.more_names(shown, texts, left)
    }

    /// Shows further tasks, by name only, as long as the remaining weight (token cost) still covers the texts of the
    /// tasks that are already shown. Returns the new number of shown tasks and the weight that is left.
    fn more_names(&self, mut shown: usize, mut texts: u64, mut left: u64) -> (usize, u64) {
        while let Some(entry) = self.entries.get(shown) {
            let Some(rest) = left.checked_sub(entry.least()).filter(|rest| *rest >= texts) else { break };
            left = rest;
            texts += entry.want() - entry.least();
            shown += 1;
        }
        (shown, left)
    }
}

/// Renders one task of a list. `grant` is the weight (token cost) for the task's texts, in addition to the weight of
/// its id, name and status. The returned `bool` is true when nothing was cut.
fn show(entry: &TaskEntry<'_>, grant: u64) -> (Value, bool) {
    let mut left = grant;
    let mut whole = true;
    let mut members = Vec::with_capacity(entry.bare.len() + entry.texts.len());
    for field in entry.bare.iter().chain(&entry.texts) {
        let given = left.min(field.want - field.least);
        left -= given;
        let rendered = field.render(field.least + given);
        whole &= rendered.left_out == 0;
        members.extend(rendered.value.map(|value| (field.name.to_owned(), value)));
    }
    (Value::Object(members), whole)
}

fn entry<'f>(task: &'f Task, detail: Option<&'f Json>) -> TaskEntry<'f> {
    let bare = vec![
        PieceField::new("id", PieceContent::Whole(task.id.to_string().into())),
        PieceField::new("name", PieceContent::Name(&task.name)),
        PieceField::new("status", PieceContent::Whole(task.status().as_str().into())),
    ];
    let mut texts = vec![PieceField::text("outcome", outcome(&task.state))];
    texts.extend(detail.map(|detail| PieceField::json("outcome_detail", Some(detail))));
    TaskEntry { bare, texts }
}

/// Returns the outcome of a completed task, or the reason why a task failed, was skipped, is blocked or is paused.
fn outcome(state: &TaskState) -> Option<&str> {
    match state {
        TaskState::Completed { outcome, .. } => Some(outcome),
        TaskState::Failed { error, .. } => Some(error),
        TaskState::Skipped { reason, .. } => Some(reason),
        TaskState::Blocked(block) => Some(&block.reason),
        TaskState::Paused { reason, .. } => reason.as_deref(),
        TaskState::Pending { .. } | TaskState::Planning { .. } | TaskState::InProgress { .. } => None,
    }
}
