//! Follows the log for those who watch single things: a workflow, a task, an inbox.
//!
//! One follower a process, begun with the first watcher. A watcher gets a number that grows; what happened it asks for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::Event;

use tokio::sync::{OnceCell, watch};

use crate::service::{Cursor, Entry, Service, Watch};

/// Entries read in one go.
const ENTRIES_MAX: u32 = 500;
/// Without a wake-up the log is looked at this often.
const LOOK: Duration = Duration::from_secs(30);
/// Things that are watched by one process.
const WATCHED_MAX: usize = 10_000;

/// Something that can be watched.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    Workflow(String),
    Task(String),
    /// By its slug.
    Inbox(String),
}

#[derive(Clone)]
pub struct Feed {
    service: Service,
    watched: Arc<Mutex<HashMap<Subject, watch::Sender<u64>>>>,
    begun: Arc<OnceCell<()>>,
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

/// Why something cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum Unwatched {
    #[error("too much is watched")]
    TooMuch,
    #[error(transparent)]
    Service(#[from] crate::Error),
}

impl Feed {
    pub fn new(service: Service) -> Self {
        Self { service, watched: Arc::default(), begun: Arc::default() }
    }

    /// A number that grows with every change from here on.
    pub async fn watch(&self, subject: Subject) -> Result<watch::Receiver<u64>, Unwatched> {
        let receiver = self.receiver(subject).ok_or(Unwatched::TooMuch)?;
        // Where the follower begins is known before anybody relies on it: a change right after this is not missed.
        self.begun.get_or_try_init(|| self.begin()).await?;
        Ok(receiver)
    }

    fn receiver(&self, subject: Subject) -> Option<watch::Receiver<u64>> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody may listen any more to what was watched before.
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
            subjects.push(Subject::Workflow(id.to_owned()));
            let task = serde_json::from_str::<Event>(&entry.body).ok().and_then(|event| event.task());
            subjects.extend(task.map(|task| Subject::Task(task.to_string())));
        } else if let Some(slug) = entry.topic.strip_prefix("agents/") {
            subjects.push(Subject::Inbox(slug.to_owned()));
        }
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        for subject in subjects {
            if let Some(sender) = watched.get(&subject) {
                sender.send_modify(|number| *number += 1);
            }
        }
    }
}

async fn follow(feed: Feed, mut bell: Watch, mut cursor: Cursor) {
    loop {
        bell.changed(LOOK).await;
        // A fault now is no reason to stop: the place is kept.
        while let Ok(page) = feed.service.follow(cursor, ENTRIES_MAX).await {
            page.entries.iter().for_each(|entry| feed.tell(entry));
            cursor = page.next;
            if page.entries.len() < usize::try_from(ENTRIES_MAX).unwrap_or(usize::MAX) {
                break;
            }
        }
    }
}
