//! Interventions: skips, removals, overrides, changed limits and changed workflow states, by people or agents. They are
//! read from the log, so a run and `handover status` show the same interventions, each with its author, its time, and
//! the values before and after.

use std::collections::BTreeMap;

use engine::id::{AgentId, TaskId, WorkflowId};
use engine::{Actor, Need, Timestamp};
use serde_json::Value;
use store::{Cursor, Entry};

use crate::error::Error;
use crate::service::Service;

/// One change that a person or an agent made to a plan or to the task of another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intervention {
    pub at: Timestamp,
    /// The author of the change: the slug (short name) of an agent, `coordinator` or `human`.
    pub who: String,
    pub workflow: WorkflowId,
    /// The name of the task or the workflow that was changed.
    pub subject: String,
    /// The change in one or two words, for example `skipped` or `removed`.
    pub act: &'static str,
    pub before: String,
    pub after: String,
}

/// The maximum number of log entries that one read returns. The functions of this file read again until they have all
/// entries.
const PAGE: u32 = 200;
/// The maximum number of entries at the end of a workflow's log that [`recent`] reads.
const RECENT_ENTRIES: i64 = 500;
/// The maximum number of characters of a changed value that are shown. A longer value is cut.
const VALUE_CHARS_MAX: usize = 120;

/// The intervention that a log entry describes, before the ids of tasks and agents are replaced by names.
struct FoundIntervention {
    task: Option<TaskId>,
    subject: Option<String>,
    act: &'static str,
    before: String,
    after: String,
}

/// A reader that returns the new interventions of the log, starting at the moment at which the reader was made.
#[derive(Debug)]
pub struct InterventionFollower {
    service: Service,
    cursor: Cursor,
    /// The only workflow whose interventions are returned, or `None` for the interventions of all workflows.
    only: Option<WorkflowId>,
}

impl InterventionFollower {
    /// Makes a reader that starts after the newest entry of the log.
    pub async fn from_now(service: Service, only: Option<WorkflowId>) -> Result<Self, Error> {
        let cursor = service.end().await?;
        Ok(Self { service, cursor, only })
    }

    /// Returns the interventions that were added to the log since the last call.
    pub async fn next(&mut self) -> Result<Vec<Intervention>, Error> {
        let mut found = Vec::new();
        loop {
            let page = self.service.follow(self.cursor, PAGE).await?;
            self.cursor = page.next;
            for entry in &page.entries {
                found.extend(read(&self.service, entry, self.only).await?);
            }
            if page.entries.len() < usize::try_from(PAGE).unwrap_or(usize::MAX) {
                return Ok(found);
            }
        }
    }
}

/// Returns the newest interventions of a workflow, the last one first. Searches only the last `RECENT_ENTRIES`
/// entries of the workflow's log.
pub async fn recent(service: &Service, workflow: WorkflowId, limit: usize) -> Result<Vec<Intervention>, Error> {
    let topic = engine::Topic::Workflow(workflow).to_string();
    let end = service.topic_head(&topic).await?;
    let mut after = end.saturating_sub(RECENT_ENTRIES).max(0);
    let mut found = Vec::new();
    loop {
        let entries = service.topic(topic.clone(), after, PAGE).await?;
        let Some(last) = entries.last() else { break };
        after = last.seq;
        for entry in &entries {
            found.extend(read(service, entry, Some(workflow)).await?);
        }
    }
    found.reverse();
    found.truncate(limit);
    Ok(found)
}

async fn read(service: &Service, entry: &Entry, only: Option<WorkflowId>) -> Result<Option<Intervention>, Error> {
    let Some(workflow) = entry.topic.strip_prefix("workflows/").and_then(|id| id.parse::<WorkflowId>().ok()) else {
        return Ok(None);
    };
    if only.is_some_and(|only| only != workflow) {
        return Ok(None);
    }
    let Some(found) = judge(entry) else { return Ok(None) };
    let actor = entry.sender.parse::<Actor>().ok();
    let names = names(service, workflow, found.task, actor).await?;
    let subject = found.subject.or(names.task).unwrap_or(names.workflow);
    let who = names.who.unwrap_or_else(|| entry.sender.clone());
    let (act, before, after) = (found.act, found.before, found.after);
    Ok(Some(Intervention { at: entry.at, who, workflow, subject, act, before, after }))
}

/// The names of the task, the workflow and the author, which a person sees instead of the ids in a log entry.
struct InterventionNames {
    task: Option<String>,
    workflow: String,
    who: Option<String>,
}

async fn names(
    service: &Service,
    workflow: WorkflowId,
    task: Option<TaskId>,
    actor: Option<Actor>,
) -> Result<InterventionNames, Error> {
    let agent = match actor {
        Some(Actor::Agent(agent)) => Some(agent),
        Some(Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine) | None => None,
    };
    let found = service.view(move |world| {
        let needs = [task.map(Need::Task), agent.map(Need::Agent), Some(Need::Workflow(workflow))];
        world.want(needs.into_iter().flatten())?;
        let task_name = task.and_then(|id| world.task(id).ok()).map(|task| task.name.clone());
        let slug = agent.and_then(|id: AgentId| world.agent(id).ok()).map(|agent| agent.slug.clone());
        let name = world.workflow(workflow).map_or_else(|_| workflow.to_string(), |row| row.name.clone());
        Ok(InterventionNames { task: task_name, workflow: name, who: slug })
    });
    found.await
}

/// Returns the intervention that a log entry describes, or `None` when the entry describes no intervention.
fn judge(entry: &Entry) -> Option<FoundIntervention> {
    let body: Value = serde_json::from_str(&entry.body).ok()?;
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let task = body.get("task").and_then(Value::as_str).and_then(|id| id.parse().ok());
    let by_others = matches!(entry.sender.as_str(), "human" | "coordinator");
    match entry.kind.as_str() {
        "moved" => {
            let (from, to) = (text("/from"), text("/state/status"));
            if to == "skipped" {
                let after = with_reason("skipped", &text("/state/reason"));
                return Some(FoundIntervention { task, subject: None, act: "skipped", before: from, after });
            }
            // A person's answer lets a paused task continue. This is no intervention.
            let answered = from == "paused" && to == "in_progress";
            (by_others && !answered && from != to).then(|| FoundIntervention {
                task,
                subject: None,
                act: "overridden",
                before: from,
                after: with_reason(&to, &text("/state/error")),
            })
        }
        "lease_ended" if by_others => {
            let (before, after) = ("claimed".to_owned(), "open again".to_owned());
            Some(FoundIntervention { task, subject: None, act: "taken away from its agent", before, after })
        }
        "task_removed" => {
            let (before, after) = ("planned".to_owned(), "removed".to_owned());
            Some(FoundIntervention { task: None, subject: Some(text("/name")), act: "removed", before, after })
        }
        "replanned" => {
            let removed = body.get("removed").and_then(Value::as_array).map_or(0, Vec::len);
            let added = body.get("added").and_then(Value::as_u64).unwrap_or(0);
            let (before, after) = (format!("{removed} open tasks"), format!("{added} new tasks"));
            Some(FoundIntervention { task: None, subject: None, act: "replanned", before, after })
        }
        "configured" => {
            let (before, after) = (setting(body.get("before")), setting(body.get("config")));
            Some(FoundIntervention { task: None, subject: None, act: "settings changed", before, after })
        }
        "workflow_changed" => {
            let limit = |name: &str| match body.get(name).and_then(Value::as_u64) {
                Some(limit) => format!("{limit} at once"),
                None => "no limit".to_owned(),
            };
            let (before, after) = (limit("before"), limit("parallel_max"));
            (before != after).then_some(FoundIntervention {
                task: None,
                subject: None,
                act: "limit changed",
                before,
                after,
            })
        }
        "workflow_moved" => {
            let (from, to) = (text("/from"), text("/to"));
            let stops = matches!(to.as_str(), "paused" | "abandoned" | "failed");
            let resumes = matches!(from.as_str(), "paused" | "failed") && to == "in_progress";
            let after = with_reason(&to, &text("/reason"));
            (stops || resumes).then_some(FoundIntervention {
                task: None,
                subject: None,
                act: "course changed",
                before: from,
                after,
            })
        }
        _ => None,
    }
}

fn with_reason(word: &str, reason: &str) -> String {
    if reason.is_empty() { word.to_owned() } else { format!("{word}: {reason}") }
}

fn setting(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => return "none".to_owned(),
        Some(value) => value.to_string(),
    };
    if text.chars().count() <= VALUE_CHARS_MAX {
        return text;
    }
    text.chars().take(VALUE_CHARS_MAX).chain(['…']).collect()
}

impl Intervention {
    /// Returns the intervention as one line of text for people.
    pub fn line(&self) -> String {
        format!("{}: {} by {}: {} -> {}", self.subject, self.act, self.who, self.before, self.after)
    }

    /// Returns the time of the intervention as text for people.
    pub fn time(&self) -> String {
        let text = wire::time::DateTime::from_timestamp(self.at).map(|time| time.to_string()).unwrap_or_default();
        text.get(..19).map_or(text.clone(), |text| format!("{} UTC", text.replace('T', " ")))
    }

    /// Returns the intervention as a JSON event for programs.
    pub fn event(&self) -> Value {
        serde_json::json!({
            "event": "intervention", "at": self.at.0, "by": self.who, "workflow_id": self.workflow.to_string(),
            "subject": self.subject, "act": self.act, "before": self.before, "after": self.after,
        })
    }
}

/// The interventions of a run. All interventions are counted, but only the first `REPEATED_MAX` are kept in full, so
/// that a long run needs a bounded amount of memory.
#[derive(Debug, Default)]
pub struct InterventionSummary {
    kept: Vec<Intervention>,
    acts: BTreeMap<&'static str, usize>,
}

/// The maximum number of interventions that are shown in full at the end of a run. Further ones are only counted.
const REPEATED_MAX: usize = 50;

impl InterventionSummary {
    pub fn add(&mut self, found: Intervention) {
        *self.acts.entry(found.act).or_default() += 1;
        if self.kept.len() < REPEATED_MAX {
            self.kept.push(found);
        }
    }

    /// Returns the lines about interventions for the end of a run. The list is empty when there were no interventions.
    pub fn lines(&self) -> Vec<String> {
        if self.kept.is_empty() {
            return Vec::new();
        }
        let total: usize = self.acts.values().sum();
        let mut lines = vec![format!("Changes by people and agents during this run ({total}):")];
        lines.extend(self.kept.iter().map(|found| format!("  {} {}", found.time(), found.line())));
        if total > self.kept.len() {
            lines.push(format!("  … and {} more; `handover log tail` shows all of them", total - self.kept.len()));
        }
        lines
    }
}
