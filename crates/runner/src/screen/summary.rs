//! The summary at the end of a run: the result of each task, what needs the person, and the exit code.

use std::collections::BTreeMap;

use engine::id::TaskId;

use super::fit;
use super::line::{LINE_WIDTH, seconds};
use crate::attempt::shared::{RunEvent, RunNews};

/// The result of one task in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSummary {
    pub number: Option<u32>,
    pub name: String,
    pub end: TaskSummaryEnd,
    pub files: u32,
    pub added: u32,
    pub removed: u32,
    /// The cost in millionths of a US dollar. `None` when the program does not say it.
    pub usd_micros: Option<u64>,
    pub ms: u64,
}

/// The state in which a run left a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSummaryEnd {
    Checked,
    Unchecked,
    /// The task waits for a person: a question, an approval, or a block.
    NeedsPerson,
    /// The task can be continued by a later run.
    Open,
}

/// One thing that a person has to do, with the command that does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonNeed {
    pub number: Option<u32>,
    pub text: String,
    pub command: String,
}

/// Collects the news of a run for its summary.
#[derive(Debug, Default)]
pub struct RunCollector {
    tasks: BTreeMap<TaskId, TaskSummary>,
    needs: BTreeMap<(Option<TaskId>, String), PersonNeed>,
    waits_for_merge: bool,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The tasks on which the run worked, by number.
    pub tasks: Vec<TaskSummary>,
    pub needs: Vec<PersonNeed>,
    /// True when the work of a task is on a branch of its own and waits for a person who merges it.
    pub waits_for_merge: bool,
    pub ms: u64,
}

impl RunCollector {
    /// Takes an event of the run into account.
    pub fn add(&mut self, news: &RunNews) {
        let is_of_task = news.number.is_some();
        let need = |text: &str, command: String| PersonNeed { number: news.number, text: text.to_owned(), command };
        let key = |what: &str| (is_of_task.then_some(news.task), what.to_owned());
        let number = news.number.map_or_else(|| news.task.to_string(), |number| number.to_string());
        match &news.what {
            RunEvent::Asks { question } => {
                let command = format!("handover answer {number} \"...\"          then: handover run");
                self.needs.insert(key("asks"), need(question, command));
                self.end(news, TaskSummaryEnd::NeedsPerson);
            }
            RunEvent::WantsApproval { approval, operation } => {
                self.needs.insert(key("asks"), need(operation, format!("handover approval show {approval}")));
                self.end(news, TaskSummaryEnd::NeedsPerson);
            }
            RunEvent::Blocked { reason, .. } | RunEvent::Failed { reason } => {
                self.needs.insert(key("blocked"), need(reason, format!("handover logs {number}")));
                self.end(news, TaskSummaryEnd::NeedsPerson);
            }
            RunEvent::SetupFailed { problem } => {
                let text = format!("the setup failed: {} {}", problem.command, problem.how);
                self.needs.insert(
                    (None, "setup".to_owned()),
                    PersonNeed { number: None, text, command: "handover run           when it is fixed".to_owned() },
                );
            }
            RunEvent::TipFailed { branch, command, .. } => {
                let text = format!("{command} fails on {branch}");
                let need = PersonNeed { number: None, text, command: "handover status".to_owned() };
                self.needs.insert((None, format!("tip {branch} {command}")), need);
            }
            RunEvent::AgentRests { reason, advice } => {
                let key = (None, format!("rests {}", news.agent));
                let text = format!("{} rests: {reason}", news.agent);
                self.needs.insert(key, PersonNeed { number: None, text, command: advice.clone() });
            }
            RunEvent::Started { .. } if is_of_task => {
                self.needs.retain(|(task, _), _| *task != Some(news.task));
                self.end(news, TaskSummaryEnd::Open);
            }
            RunEvent::Finished { files, added, removed, .. } => {
                let task = self.task(news);
                (task.files, task.added, task.removed) = (*files, *added, *removed);
            }
            RunEvent::Checked { .. } => self.end(news, TaskSummaryEnd::Checked),
            RunEvent::Unchecked { .. } => self.end(news, TaskSummaryEnd::Unchecked),
            RunEvent::Completed { usd_micros, ms, waits_for_merge, .. } => {
                self.waits_for_merge |= waits_for_merge;
                let task = self.task(news);
                (task.usd_micros, task.ms) = (*usd_micros, *ms);
            }
            RunEvent::CheckFailed { .. } | RunEvent::Rejected { .. } => self.end(news, TaskSummaryEnd::Open),
            RunEvent::Claimed { .. }
            | RunEvent::Started { .. }
            | RunEvent::Tool { .. }
            | RunEvent::Text { .. }
            | RunEvent::Spent { .. }
            | RunEvent::Ended { .. }
            | RunEvent::Setup { .. }
            | RunEvent::NoChanges { .. }
            | RunEvent::Checking { .. }
            | RunEvent::BaselineFails { .. }
            | RunEvent::BaselinePasses { .. }
            | RunEvent::Reviewed { .. }
            | RunEvent::Merged { .. }
            | RunEvent::Conflict { .. }
            | RunEvent::Returned { .. }
            | RunEvent::Crashed { .. }
            | RunEvent::Warning { .. } => {}
        }
    }

    fn task(&mut self, news: &RunNews) -> &mut TaskSummary {
        self.tasks.entry(news.task).or_insert_with(|| TaskSummary {
            number: news.number,
            name: news.name.clone(),
            end: TaskSummaryEnd::Open,
            files: 0,
            added: 0,
            removed: 0,
            usd_micros: None,
            ms: 0,
        })
    }

    fn end(&mut self, news: &RunNews, end: TaskSummaryEnd) {
        self.task(news).end = end;
    }

    /// Returns the summary of the run so far.
    pub fn summary(&self, ms: u64) -> RunSummary {
        let mut tasks: Vec<TaskSummary> = self.tasks.values().cloned().collect();
        tasks.sort_by_key(|task| task.number);
        let mut needs: Vec<PersonNeed> = self.needs.values().cloned().collect();
        needs.sort_by_key(|need| need.number);
        RunSummary { tasks, needs, waits_for_merge: self.waits_for_merge, ms }
    }
}

impl RunSummary {
    /// Returns the summary as lines for a person.
    pub fn lines(&self) -> Vec<String> {
        if self.tasks.is_empty() && self.needs.is_empty() {
            return vec!["Nothing to do: no task is ready. Add one: handover add \"...\"".to_owned()];
        }
        let mut lines = vec![String::new(), self.headline()];
        if !self.needs.is_empty() {
            for need in &self.needs {
                let number = need.number.map(|number| number.to_string()).unwrap_or_default();
                let text = need.text.split_whitespace().collect::<Vec<_>>().join(" ");
                lines.push(format!("{number:>2}  {}", fit(&text, LINE_WIDTH - 4)));
                lines.push(format!("    {}", need.command));
            }
            return lines;
        }
        if self.tasks.len() > 1 {
            lines.push(String::new());
            lines.push(format!("    {:<42}{:<5}  {:<7}  {:<5}  {}", "task", "files", "lines", "cost", "time"));
            lines.extend(self.tasks.iter().map(TaskSummary::row));
        }
        if self.waits_for_merge {
            lines.extend(self.merge_advice());
        }
        lines
    }

    fn headline(&self) -> String {
        let time = duration(self.ms);
        let count = |end: TaskSummaryEnd| self.tasks.iter().filter(|task| task.end == end).count();
        let tasks = |count: usize| if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") };
        if !self.needs.is_empty() {
            let word = if self.needs.len() == 1 { "needs" } else { "need" };
            let things = self.needs.iter().all(|need| need.number.is_some());
            let what = match (things, self.needs.len()) {
                (true, number) => tasks(number),
                (false, 1) => "1 thing".to_owned(),
                (false, number) => format!("{number} things"),
            };
            return format!("Stopped after {time}. {what} {word} you.");
        }
        let (checked, unchecked) = (count(TaskSummaryEnd::Checked), count(TaskSummaryEnd::Unchecked));
        let all = self.tasks.len();
        let how = match (all, checked, unchecked) {
            (1, 1, _) => "checked".to_owned(),
            (1, _, 1) => "unchecked".to_owned(),
            (2, 2, _) => "both checked".to_owned(),
            (all, checked, _) if all == checked => "all checked".to_owned(),
            (all, _, unchecked) if all == unchecked => "all unchecked".to_owned(),
            (all, checked, unchecked) => {
                let open = all.saturating_sub(checked + unchecked);
                let parts = [(checked, "checked"), (unchecked, "unchecked"), (open, "open")];
                let parts: Vec<String> =
                    parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
                parts.join(", ")
            }
        };
        let merged = if self.waits_for_merge { " Nothing is merged yet." } else { "" };
        format!("Done in {time}. {}, {how}.{merged}", tasks(all))
    }

    fn merge_advice(&self) -> Vec<String> {
        let numbers: Vec<u32> = self.tasks.iter().filter_map(|task| task.number).collect();
        let Some(first) = numbers.first() else { return Vec::new() };
        let both = match numbers.len() {
            1 => "",
            2 => "       Both:  merge --all",
            _ => "       All:  merge --all",
        };
        let table = if numbers.len() > 1 { vec![String::new()] } else { Vec::new() };
        let advice = format!("Look:  handover diff {first}       Merge:  handover merge {first}{both}");
        table.into_iter().chain([advice]).collect()
    }

    /// Returns the exit code of a run that was not stopped: 0 when everything is done or nothing was to do, 1 when
    /// something needs the person.
    pub fn exit_code(&self) -> u8 {
        u8::from(!self.needs.is_empty())
    }
}

impl TaskSummary {
    fn row(&self) -> String {
        let number = self.number.map(|number| number.to_string()).unwrap_or_default();
        let lines = format!("+{} −{}", self.added, self.removed);
        let cost = self.usd_micros.map_or_else(
            || "–".to_owned(),
            |micros| format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
        );
        let time = format!("{}:{:02}", self.ms / 60_000, self.ms % 60_000 / 1_000);
        format!("{number:>2}  {:<42}{:<5}  {lines:<7}  {cost:<5}  {time}", fit(&self.name, 39), self.files)
    }
}

/// Returns a duration as `12.4 s`, `38 s` or `4 min 12 s`.
fn duration(ms: u64) -> String {
    match ms {
        0..=19_999 => seconds(ms),
        20_000..=59_999 => format!("{} s", ms / 1_000),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}
