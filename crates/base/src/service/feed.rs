//! Notifies callers that watch one workflow, one task or one inbox when its log has a new entry.
//!
//! Each process has one async task that follows the log; it starts with the first watcher. A watcher receives a number
//! that grows with each change, and then reads the store to learn what changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::Event;

use tokio::sync::{OnceCell, watch};

use crate::service::{Cursor, Entry, Service, StoreWatch};

/// The maximum number of log entries that one read returns. The async task that follows the log reads again until it
/// has all entries.
const ENTRIES_MAX: u32 = 500;
/// The longest pause between two reads of the log. The store's wake-up after a change ends a pause early.
const LOOK: Duration = Duration::from_secs(30);
/// The maximum number of subjects (workflows, tasks and inboxes) that one process watches. A request to watch more is
/// refused.
const WATCHED_MAX: usize = 10_000;

/// A workflow, a task or an inbox that can be watched.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WatchedSubject {
    Workflow(String),
    Task(String),
    /// The inbox of an agent, by the agent's slug (short name).
    Inbox(String),
}

#[derive(Clone)]
pub struct Feed {
    service: Service,
    watched: Arc<Mutex<HashMap<WatchedSubject, watch::Sender<u64>>>>,
    begun: Arc<OnceCell<()>>,
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

/// The reason why a workflow, a task or an inbox cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum Unwatched {
    #[error("too many topics are watched")]
    TooMuch,
    #[error(transparent)]
    Service(#[from] crate::Error),
}

impl Feed {
    pub fn new(service: Service) -> Self {
        Self { service, watched: Arc::default(), begun: Arc::default() }
    }

    /// Watches a workflow, a task or an inbox. Returns a receiver of a number that grows with every change from now on.
    pub async fn watch(&self, subject: WatchedSubject) -> Result<watch::Receiver<u64>, Unwatched> {
        let receiver = self.receiver(subject).ok_or(Unwatched::TooMuch)?;
        // Before returning, determine the position at which the async task starts to follow the log. So a change right
        // after this call is not missed.
        self.begun.get_or_try_init(|| self.begin()).await?;
        Ok(receiver)
    }

    fn receiver(&self, subject: WatchedSubject) -> Option<watch::Receiver<u64>> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        // Make room: remove the workflows, tasks and inboxes that no caller watches any more.
        if watched.len() >= WATCHED_MAX {
            watched.retain(|_, sender| sender.receiver_count() > 0);
        }
        if watched.len() >= WATCHED_MAX {
            return None;
        }
        Some(watched.entry(subject).or_insert_with(|| watch::Sender::new(0)).subscribe())
    }

    async fn begin(&self) -> Result<(), crate::Error> {
        let bell = self.service.bell();
        let cursor = self.service.end().await?;
        tokio::spawn(follow(self.clone(), bell, cursor));
        Ok(())
    }

    fn tell(&self, entry: &Entry) {
        let mut subjects = Vec::new();
        if let Some(id) = entry.topic.strip_prefix("workflows/") {
            subjects.push(WatchedSubject::Workflow(id.to_owned()));
            let task = serde_json::from_str::<Event>(&entry.body).ok().and_then(|event| event.task());
            subjects.extend(task.map(|task| WatchedSubject::Task(task.to_string())));
        } else if let Some(slug) = entry.topic.strip_prefix("agents/") {
            subjects.push(WatchedSubject::Inbox(slug.to_owned()));
        }
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        for subject in subjects {
            if let Some(sender) = watched.get(&subject) {
                sender.send_modify(|number| *number += 1);
            }
        }
    }
}

async fn follow(feed: Feed, mut bell: StoreWatch, mut cursor: Cursor) {
    loop {
        bell.changed(LOOK).await;
        // When a read of the log fails, the loop ends with the old cursor, so the next read starts at the same entry.
        while let Ok(page) = feed.service.follow(cursor, ENTRIES_MAX).await {
            page.entries.iter().for_each(|entry| feed.tell(entry));
            cursor = page.next;
            if page.entries.len() < usize::try_from(ENTRIES_MAX).unwrap_or(usize::MAX) {
                break;
            }
        }
    }
}
