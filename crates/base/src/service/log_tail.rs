//! Reads the new events of the log, for a process that follows the work of another one.

use engine::Event;
use store::Cursor;

use super::Service;
use crate::error::Error;

/// The maximum number of log entries that one read returns. [`LogTail::next`] reads again until it has all entries.
const PAGE: u32 = 200;

/// A reader of the events that were logged since the reader was made.
#[derive(Debug)]
pub struct LogTail {
    service: Service,
    cursor: Cursor,
}

impl LogTail {
    /// Makes a reader that starts after the newest entry of the log.
    pub async fn from_now(service: Service) -> Result<Self, Error> {
        let cursor = service.end().await?;
        Ok(Self { service, cursor })
    }

    /// Returns the events that were logged since the last call. An event that a newer version of Handover wrote, and
    /// that this version cannot read, is left out.
    pub async fn next(&mut self) -> Result<Vec<Event>, Error> {
        let mut found = Vec::new();
        loop {
            let page = self.service.follow(self.cursor, PAGE).await?;
            self.cursor = page.next;
            found.extend(page.entries.iter().filter_map(|entry| serde_json::from_str(&entry.body).ok()));
            if page.entries.len() < usize::try_from(PAGE).unwrap_or(usize::MAX) {
                return Ok(found);
            }
        }
    }
}
