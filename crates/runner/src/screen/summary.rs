//! The summary at the end of a run: the result of each task, what needs the person, and the exit code.

use base::ground::words::{count, duration, stopwatch, usd};
use engine::turn::Spent;
use wire::visible;

use super::event::with_cost;
use super::fit;
use super::line::LINE_WIDTH;
use super::need::PersonNeed;

/// The blanks between two columns of the table of tasks.
const GAP: &str = "  ";
/// The blanks that the table leaves free at the right edge of the screen.
const MARGIN: usize = 8;
/// The blanks between two commands in one line.
const BETWEEN_COMMANDS: &str = "       ";

/// The result of one task in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSummary {
    pub id: String,
    pub number: Option<u32>,
    pub name: String,
    pub end: TaskSummaryEnd,
    pub files: u32,
    pub added: u32,
    pub removed: u32,
    /// The cost of all turns of the task.
    pub spent: Spent,
    /// True when the work is on a branch of its own and waits for a person who merges it.
    pub waits_for_merge: bool,
}

/// The state in which a run left a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSummaryEnd {
    Checked,
    Unchecked,
    /// The task is done, and there was nothing to check.
    Done,
    /// The task waits for a person: a question, an approval, or a block.
    NeedsPerson,
    /// The task can be continued by a later run.
    Open,
}

impl TaskSummaryEnd {
    /// Returns the stable word of the state, for people and for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Checked => "checked",
            Self::Unchecked => "unchecked",
            Self::Done => "done",
            Self::NeedsPerson => "needs you",
            Self::Open => "open",
        }
    }
}

/// The way in which a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryEnd {
    /// The run is over, because nothing more can start.
    Over,
    /// A person stopped the run.
    Interrupted,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The tasks on which the run worked, in the order of their numbers.
    pub tasks: Vec<TaskSummary>,
    pub needs: Vec<PersonNeed>,
    /// The plans whose work is finished and waits for a person who merges it, as arguments of a command.
    pub plans: Vec<String>,
    pub end: SummaryEnd,
    pub ms: u64,
}

impl RunSummary {
    /// Returns the summary as lines for a person, for a terminal of this width.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let width = width.min(LINE_WIDTH);
        if self.tasks.is_empty() && self.needs.is_empty() && self.end == SummaryEnd::Over {
            return vec!["Nothing to do: no task is ready. Add one: handover add \"...\"".to_owned()];
        }
        let mut lines = vec![String::new(), self.headline()];
        for need in &self.needs {
            lines.extend(need.lines(width));
        }
        // The table leaves out the tasks that need the person, because the lines above list them. There is no table for
        // a single task, because the run already showed its result.
        let told = self.tasks.iter().filter(|task| task.end != TaskSummaryEnd::NeedsPerson);
        let told: Vec<&TaskSummary> = told.collect();
        if self.tasks.len() > 1 && !told.is_empty() {
            lines.push(String::new());
            lines.extend(table(&told, width));
        }
        lines.extend(self.advice());
        if self.end == SummaryEnd::Interrupted {
            lines.push("Continue:  handover run".to_owned());
        }
        lines
    }

    fn headline(&self) -> String {
        let time = duration(self.ms);
        if self.end == SummaryEnd::Interrupted {
            let tasks = if self.tasks.is_empty() { String::new() } else { format!(" {}.", self.counts()) };
            return format!("Stopped after {time}, as you asked.{tasks}");
        }
        if !self.needs.is_empty() {
            let word = if self.needs.len() == 1 { "needs" } else { "need" };
            let are_tasks = self.needs.iter().all(|need| need.number.is_some());
            let what = count(self.needs.len(), if are_tasks { "task" } else { "thing" });
            return format!("Stopped after {time}. {what} {word} you.");
        }
        let is_unmerged = !self.plans.is_empty() || self.tasks.iter().any(|task| task.waits_for_merge);
        let merged = if is_unmerged { " Nothing is merged yet." } else { "" };
        format!("Done in {time}. {}.{merged}", self.counts())
    }

    /// Returns the number of tasks and their results: `2 tasks, both checked`, `3 tasks, 2 checked, 1 open`.
    fn counts(&self) -> String {
        let all = self.tasks.len();
        let ends = [
            TaskSummaryEnd::Checked,
            TaskSummaryEnd::Unchecked,
            TaskSummaryEnd::Done,
            TaskSummaryEnd::NeedsPerson,
            TaskSummaryEnd::Open,
        ];
        let counted = ends.map(|end| (end, self.tasks.iter().filter(|task| task.end == end).count()));
        let counted: Vec<_> = counted.into_iter().filter(|(_, number)| *number > 0).collect();
        let how = match (counted.as_slice(), all) {
            ([(end, _)], 1) => end.as_str().to_owned(),
            ([(end, _)], 2) => format!("both {}", end.as_str()),
            ([(end, _)], _) => format!("all {}", end.as_str()),
            (several, _) => {
                let parts: Vec<String> =
                    several.iter().map(|(end, number)| format!("{number} {}", end.as_str())).collect();
                parts.join(", ")
            }
        };
        format!("{}, {how}", count(all, "task"))
    }

    /// Returns the commands with which a person looks at finished work and merges it.
    fn advice(&self) -> Vec<String> {
        let tasks = self.tasks.iter().filter(|task| task.waits_for_merge).filter_map(|task| task.number);
        let works: Vec<String> = tasks.map(|number| number.to_string()).chain(self.plans.iter().cloned()).collect();
        let Some(first) = works.first() else { return Vec::new() };
        let every = match works.len() {
            1 => String::new(),
            2 => format!("{BETWEEN_COMMANDS}Both:  merge --all"),
            _ => format!("{BETWEEN_COMMANDS}All:  merge --all"),
        };
        let advice = format!("Look:  handover diff {first}{BETWEEN_COMMANDS}Merge:  handover merge {first}{every}");
        let is_alone = self.needs.is_empty() && self.tasks.len() <= 1;
        if is_alone { vec![advice] } else { vec![String::new(), advice] }
    }

    /// Returns the exit code of a run that was not stopped: 0 when everything is done or nothing was to do, 1 when
    /// something needs the person.
    pub fn exit_code(&self) -> u8 {
        u8::from(!self.needs.is_empty())
    }

    /// Returns the summary as the members of a JSON event.
    pub fn event(&self) -> serde_json::Value {
        let task = |task: &TaskSummary| {
            let row = serde_json::json!({
                "task_id": task.id, "number": task.number, "task": task.name, "result": task.end.as_str(),
                "files": task.files, "added": task.added, "removed": task.removed,
                "waits_for_merge": task.waits_for_merge,
            });
            with_cost(row, task.spent)
        };
        let need = |need: &PersonNeed| serde_json::json!({"number": need.number, "text": visible::redacted(&need.text), "commands": need.commands});
        serde_json::json!({
            "ms": self.ms, "tasks": self.tasks.iter().map(task).collect::<Vec<_>>(),
            "needs": self.needs.iter().map(need).collect::<Vec<_>>(), "plans": self.plans,
        })
    }
}

/// Draws the table of tasks. The column `result` is left out when all tasks are checked.
fn table(tasks: &[&TaskSummary], width: usize) -> Vec<String> {
    let is_plain = tasks.iter().all(|task| task.end == TaskSummaryEnd::Checked);
    let result = |text: &str| if is_plain { None } else { Some(text.to_owned()) };
    let cells = |task: &&TaskSummary| -> Vec<String> {
        let lines = format!("+{} −{}", task.added, task.removed);
        let cost = task.spent.usd_micros.map_or_else(|| "–".to_owned(), usd);
        let amounts = [task.files.to_string(), lines, cost, stopwatch(task.spent.ms)];
        result(task.end.as_str()).into_iter().chain(amounts).collect()
    };
    let names = ["files", "lines", "cost", "time"].map(str::to_owned);
    let heading: Vec<String> = result("result").into_iter().chain(names).collect();
    let rows: Vec<Vec<String>> = tasks.iter().map(cells).collect();
    let widest = |column: usize| {
        let all = rows.iter().chain([&heading]).filter_map(|row| row.get(column));
        all.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heading.len()).map(widest).collect();
    let used: usize = widths.iter().map(|width| width + GAP.len()).sum();
    let room = width.saturating_sub(4 + used + MARGIN).max(10);
    let line = |before: String, name: &str, row: &[String]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{GAP}{cell:<width$}"));
        format!("{before}{:<room$} {}", fit(name, room), cells.collect::<String>()).trim_end().to_owned()
    };
    let number = |task: &&TaskSummary| task.number.map(|number| number.to_string()).unwrap_or_default();
    let mut lines = vec![line("    ".to_owned(), "task", &heading)];
    lines.extend(tasks.iter().zip(&rows).map(|(task, row)| line(format!("{:>2}  ", number(task)), &task.name, row)));
    lines
}
