//! Collects the events of a run for its summary.

use std::collections::{BTreeMap, BTreeSet};

use engine::id::TaskId;
use engine::turn::Spent;

use super::need::PersonNeed;
use super::summary::{RunSummary, SummaryEnd, TaskSummary, TaskSummaryEnd};
use crate::attempt::shared::{RunEvent, RunNews};

/// The tasks and the problems of a run so far.
#[derive(Debug, Default)]
pub(super) struct RunCollector {
    tasks: BTreeMap<TaskId, TaskSummary>,
    /// The things that a person has to do and that belong to no task. The same problem always has the same key.
    needs: BTreeMap<String, PersonNeed>,
    /// The tasks that an agent of this run works on now.
    running: BTreeSet<TaskId>,
}

impl RunCollector {
    /// Updates the collected tasks and problems with an event of the run.
    pub(super) fn add(&mut self, news: &RunNews) {
        match &news.what {
            RunEvent::Claimed { .. } => drop(self.running.insert(news.task)),
            RunEvent::Started { .. } if news.number.is_some() => {
                self.running.insert(news.task);
                self.end(news, TaskSummaryEnd::Open);
            }
            RunEvent::Asks { .. }
            | RunEvent::WantsApproval { .. }
            | RunEvent::Blocked { .. }
            | RunEvent::Failed { .. } => {
                self.running.remove(&news.task);
                self.end(news, TaskSummaryEnd::NeedsPerson);
            }
            RunEvent::Returned { .. } | RunEvent::Crashed { .. } => {
                self.running.remove(&news.task);
                self.end(news, TaskSummaryEnd::Open);
            }
            RunEvent::Finished { files, added, removed, .. } => {
                let task = self.task(news);
                (task.files, task.added, task.removed) = (*files, *added, *removed);
            }
            RunEvent::Checked { .. } => self.end(news, TaskSummaryEnd::Checked),
            RunEvent::Unchecked { .. } => self.end(news, TaskSummaryEnd::Unchecked),
            RunEvent::CheckFailed { .. } | RunEvent::Rejected { .. } => self.end(news, TaskSummaryEnd::Open),
            RunEvent::Completed { spent, waits_for_merge, .. } => {
                self.running.remove(&news.task);
                let task = self.task(news);
                (task.spent, task.waits_for_merge) = (*spent, *waits_for_merge);
                if !matches!(task.end, TaskSummaryEnd::Checked | TaskSummaryEnd::Unchecked) {
                    task.end = TaskSummaryEnd::Done;
                }
            }
            RunEvent::SetupFailed { problem } => {
                let text = format!("the setup failed: {} {}", problem.command, problem.how);
                self.need("setup".to_owned(), text, "handover run           when it is fixed".to_owned());
            }
            RunEvent::TipFailed { branch, command, .. } => {
                let text = format!("{command} fails on {branch}");
                self.need(format!("tip {branch} {command}"), text, "handover status".to_owned());
            }
            RunEvent::AgentRests { reason, advice, .. } => {
                let text = format!("{} rests: {reason}", news.agent);
                self.need(format!("rests {}", news.agent), text, format!("{advice}          then: handover run"));
            }
            RunEvent::Started { .. }
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
            | RunEvent::Warning { .. } => {}
        }
    }

    /// Adds something that a person has to do about a problem that belongs to no task.
    fn need(&mut self, key: String, text: String, command: String) {
        self.needs.insert(key, PersonNeed { number: None, text, commands: vec![command], runs_again: false });
    }

    fn task(&mut self, news: &RunNews) -> &mut TaskSummary {
        self.tasks.entry(news.task).or_insert_with(|| TaskSummary {
            id: news.task.to_string(),
            number: news.number,
            name: news.name.clone(),
            end: TaskSummaryEnd::Open,
            files: 0,
            added: 0,
            removed: 0,
            spent: Spent::default(),
            waits_for_merge: false,
        })
    }

    fn end(&mut self, news: &RunNews, end: TaskSummaryEnd) {
        self.task(news).end = end;
    }

    /// Returns the number of tasks that agents of this run work on now.
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    /// Returns the summary of the run so far. `needs` are the things that its tasks need from a person.
    pub(super) fn summary(&self, ms: u64, needs: Vec<PersonNeed>, end: SummaryEnd) -> RunSummary {
        let mut tasks: Vec<TaskSummary> = self.tasks.values().cloned().collect();
        tasks.sort_by_key(|task| task.number);
        let needs = needs.into_iter().chain(self.needs.values().cloned()).collect();
        RunSummary { tasks, needs, plans: Vec::new(), end, ms }
    }
}
