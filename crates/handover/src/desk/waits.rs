//! Waits for a change: a claimable task, a change of a task, or mail. A waiting call reports progress, and returns when
//! its time is over.

use std::time::Duration;

use base::service::{Cursor, Entry, StoreWatch};
use engine::Event;
use engine::id::TaskId;
use engine::inbox::MailboxOwner;
use engine::{Refusal, view};
use tokio_util::sync::CancellationToken;
use wire::lifecycle::{ChangeAnswer, ReplyPart, TaskWait, Waited, Within};

use super::idle::IdleReason;
use super::{CallProgress, Desk, Stopped, ToolAnswer, ToolRequest};

/// The time that a call waits when it names no time, in seconds. It is below a minute, because clients give up a call
/// that is silent for a minute.
const WAIT_SECONDS_DEFAULT: u32 = 50;
/// The interval between two progress reports of a waiting call.
const PROGRESS: Duration = Duration::from_secs(5);
/// The maximum number of log entries that one read returns.
const ENTRIES_MAX: u32 = 500;
/// The largest number of changes in one reply to a waiting call. The caller's next call continues after the last of
/// them.
const CHANGES_MAX: usize = 50;

/// The kind of log entries that wake a waiting call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WantedChange {
    /// Any log entry of a workflow wakes the waiting call, because the entry may make a task claimable.
    Work,
    /// Every log entry wakes the waiting call.
    Anything,
}

/// A call that waits: its position in the log, and the time until it must return.
pub(super) struct WaitingCall {
    watch: StoreWatch,
    cursor: Cursor,
    left: Duration,
    told: u32,
    progress: Option<CallProgress>,
    leaving: CancellationToken,
}

impl Desk {
    pub(super) async fn waiting(&self, request: &ToolRequest<'_>, seconds: u32) -> Result<WaitingCall, Stopped> {
        // Start to watch the store before the end of its log is read. Otherwise a change between the two steps would
        // not wake this call.
        let watch = self.service.bell();
        let cursor = self.service.end().await?;
        let left = Duration::from_secs(u64::from(seconds));
        let (progress, leaving) = (request.progress.clone(), request.visitor.leaving.clone());
        Ok(WaitingCall { watch, cursor, left, told: 0, progress, leaving })
    }

    pub(super) async fn task_wait(&self, request: &ToolRequest<'_>, asked: &TaskWait) -> ToolAnswer {
        let seconds = asked.wait_seconds.map_or(WAIT_SECONDS_DEFAULT, |Within(seconds)| seconds);
        let mut waiting = self.waiting(request, seconds).await?;
        let agent = self.acting(request).await?;
        let topics = self.topics(asked, agent).await?;
        let from = asked.after.as_ref().map(|cursor| cursor.as_str().parse::<Cursor>());
        let known = from.is_some();
        if let Some(cursor) = from {
            let problem = "is not a cursor; use `cursor` of an earlier reply".to_owned();
            waiting.cursor = cursor.map_err(|_| Refusal::InvalidInput { field: "after".to_owned(), problem })?;
        }
        let mut first = true;
        loop {
            let (seen, moved) = waiting.read(self, &topics).await?;
            let work = topics.work && (moved || (first && !known));
            let claimable = if work { self.claimable(asked.workflow_id, agent).await? } else { 0 };
            let unread = match agent {
                Some(agent) if first && !known => self.unread(MailboxOwner::Agent(agent)).await?,
                Some(_) | None => 0,
            };
            first = false;
            if !seen.is_empty() || claimable > 0 || unread > 0 {
                return self.happened(&topics, seen, agent, &waiting).await;
            }
            if self.is_over(topics.workflow).await? || !waiting.more(self, WantedChange::Anything).await? {
                return self.nothing_happened(&topics, agent, waiting.cursor()).await;
            }
        }
    }

    /// Answers a call that saw no change. A call that waited for work gets the reason why there is none.
    async fn nothing_happened(
        &self,
        topics: &Topics,
        agent: Option<engine::id::AgentId>,
        cursor: String,
    ) -> ToolAnswer {
        // Count the claimable tasks again. A call that continues after a cursor can see no change although tasks are
        // claimable: they became claimable before the cursor. Then the reply must not say that there is no work.
        let is_idle = topics.work && self.claimable(topics.workflow, agent).await? == 0;
        let idle = if is_idle { Some(self.idle(topics.workflow, agent).await?) } else { None };
        let reply = Waited {
            happened: false,
            claimable: None,
            unread: None,
            waiting: idle.as_ref().and_then(IdleReason::rows),
            reason: idle.map(|idle| idle.words),
            changes: Vec::new(),
            cursor,
        };
        Ok(reply.render())
    }

    async fn happened(
        &self,
        topics: &Topics,
        changes: Vec<ChangeAnswer>,
        agent: Option<engine::id::AgentId>,
        waiting: &WaitingCall,
    ) -> ToolAnswer {
        let claimable = if topics.work { Some(self.claimable(topics.workflow, agent).await?) } else { None };
        let unread = match agent {
            Some(agent) => Some(self.unread(MailboxOwner::Agent(agent)).await?),
            None => None,
        };
        let cursor = waiting.cursor();
        Ok(Waited { happened: true, claimable, unread, reason: None, waiting: None, changes, cursor }.render())
    }

    /// Returns the topics (the parts of the log) that a call of `task_wait` waits for.
    async fn topics(&self, asked: &TaskWait, agent: Option<engine::id::AgentId>) -> Result<Topics, Stopped> {
        let (task, workflow) = (asked.task_id, asked.workflow_id);
        let topics = self.service.view(move |world| {
            let of_task = task.map(|task| view::task(world, task)).transpose()?;
            if let Some(workflow) = workflow {
                world.workflow(workflow)?;
            }
            let slug = agent.map(|agent| world.agent(agent)).transpose()?.map(|agent| agent.slug.clone());
            let followed = of_task.map(|found| found.task.workflow);
            Ok(Topics {
                task,
                tasks: followed.map(|workflow| format!("workflows/{workflow}")),
                inbox: slug.map(|slug| format!("agents/{slug}")),
                work: task.is_none(),
                workflow,
            })
        });
        Ok(topics.await?)
    }
}

struct Topics {
    task: Option<TaskId>,
    /// The topic (the part of the log) with the changes of the workflow to which the awaited task belongs.
    tasks: Option<String>,
    inbox: Option<String>,
    /// `true` if the call also ends when a task becomes claimable.
    work: bool,
    workflow: Option<engine::id::WorkflowId>,
}

impl Topics {
    /// Returns the change that a log entry describes, if the waiting call waits for this change.
    fn change(&self, entry: &Entry) -> Option<ChangeAnswer> {
        let event = || serde_json::from_str::<Event>(&entry.body).ok();
        let mail = Some(&entry.topic) == self.inbox.as_ref() && entry.kind == "sent";
        let task = if Some(&entry.topic) == self.tasks.as_ref() { event()?.task() } else { None };
        let own = task.is_some() && task == self.task;
        (mail || own).then(|| ChangeAnswer {
            topic: entry.topic.clone(),
            what: entry.kind.clone(),
            task_id: task,
            by: entry.sender.clone(),
            at: entry.at,
        })
    }
}

impl WaitingCall {
    /// Returns the position in the log from which the caller's next waiting call continues.
    pub(super) fn cursor(&self) -> String {
        self.cursor.to_string()
    }

    /// Returns the new changes that the call waits for, that is, changes after its position in the log. The second
    /// value tells whether any workflow has a new log entry.
    async fn read(&mut self, desk: &Desk, topics: &Topics) -> Result<(Vec<ChangeAnswer>, bool), Stopped> {
        let (mut changes, mut moved) = (Vec::new(), false);
        loop {
            let page = desk.service.follow(self.cursor, ENTRIES_MAX).await?;
            let last = page.entries.len() < usize::try_from(ENTRIES_MAX).unwrap_or(usize::MAX);
            for (entry, place) in page.entries.iter().zip(&page.places) {
                self.cursor = *place;
                moved |= entry.topic.starts_with("workflows/");
                changes.extend(topics.change(entry));
                if changes.len() >= CHANGES_MAX {
                    return Ok((changes, moved));
                }
            }
            self.cursor = page.next;
            if last {
                return Ok((changes, moved));
            }
        }
    }

    /// Waits for the next change of the wanted kind. Returns `false` when the time of the call is over or the caller is
    /// about to leave.
    pub(super) async fn more(&mut self, desk: &Desk, wanted: WantedChange) -> Result<bool, Stopped> {
        while !self.left.is_zero() {
            let step = self.left.min(PROGRESS);
            let changed = tokio::select! {
                () = self.leaving.cancelled() => return Ok(false),
                changed = self.watch.changed(step) => changed,
            };
            if changed && wanted == WantedChange::Anything {
                return Ok(true);
            }
            if changed && self.has_moved(desk).await? {
                return Ok(true);
            }
            if !changed {
                self.left -= step;
                self.told += 1;
                if let Some(tell) = self.progress.as_ref().filter(|_| !self.left.is_zero()) {
                    tell(self.told, "waiting").await;
                }
            }
        }
        Ok(false)
    }

    /// Reads the new log entries, and tells whether one of them belongs to a workflow. Such an entry may make a task
    /// claimable.
    async fn has_moved(&mut self, desk: &Desk) -> Result<bool, Stopped> {
        let page = desk.service.follow(self.cursor, ENTRIES_MAX).await?;
        self.cursor = page.next;
        Ok(page.entries.iter().any(|entry| entry.topic.starts_with("workflows/")))
    }
}
