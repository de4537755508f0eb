//! `/api/v1/events`: the log as server-sent events. The id of each event is a cursor, a position in the log. A client
//! that reconnects continues from there.

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use engine::token::Scope;
use futures_util::Stream;
use http::HeaderMap;

use super::HttpState;
use super::api::{Sight, entry};
use super::problem::{HttpProblem, invalid};
use crate::desk::Visitor;
use base::service::{Cursor, Entry, StoreWatch};

/// The number of log entries that a single read returns. The number is small, because one entry can have a mebibyte,
/// and the entries that a slow client has not received yet stay in memory.
const PAGE: u32 = 32;
/// The interval at which an idle event stream gets a comment. Without these comments, proxies and clients would close
/// the stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The longest time between two reads of the log when no change of the store is reported.
const LOOK: Duration = Duration::from_secs(10);

/// The conditions that say which events a client of the event stream gets.
#[derive(Debug)]
struct EventFilter {
    topics: Vec<String>,
    types: Vec<String>,
    sight: Sight,
}

impl EventFilter {
    /// Tells whether the client asked for a log entry. Each entry belongs to a topic (a part of the log). A topic in
    /// the client's list that ends with `/*` matches all topics below it.
    fn takes(&self, entry: &Entry) -> bool {
        let within = |topic: &String| match topic.strip_suffix('*') {
            Some(start) => entry.topic.starts_with(start),
            None => entry.topic == *topic,
        };
        self.sight.takes(&entry.topic)
            && (self.topics.is_empty() || self.topics.iter().any(within))
            && (self.types.is_empty() || self.types.contains(&entry.kind))
    }
}

pub(super) async fn events(
    State(shared): State<HttpState>,
    Extension(visitor): Extension<Visitor>,
    Extension(scope): Extension<Scope>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, HttpProblem> {
    let sight = Sight::of(&shared, &visitor, scope).await?;
    let mut filter = EventFilter { topics: Vec::new(), types: Vec::new(), sight };
    let mut after = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match name.as_ref() {
            "after" => after = Some(after.unwrap_or_else(|| value.into_owned())),
            "topic" => filter.topics.push(value.into_owned()),
            "type" => filter.types.push(value.into_owned()),
            other => {
                return Err(invalid(format!(
                    "`{other}` is not a filter of events; the filters are after, topic \
                and type"
                )));
            }
        }
    }
    let cursor = match after.as_deref() {
        // `?after=0` asks for the log from its beginning.
        Some("0") => Cursor::default(),
        Some(text) => text.parse().map_err(|_| {
            invalid(
                "`after` is not a cursor of events; use the id of an event, \
            or 0 for the first event",
            )
        })?,
        None => shared.desk.service().end().await.map_err(|error| HttpProblem::fault(&error))?,
    };
    let stream = follow(shared, cursor, filter);
    let keep = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(stream).keep_alive(keep).into_response())
}

/// One client that follows the log, with the events that are read and not sent yet.
struct Follower {
    shared: HttpState,
    bell: StoreWatch,
    cursor: Cursor,
    filter: EventFilter,
    ready: std::collections::VecDeque<Event>,
    ended: bool,
}

fn follow(shared: HttpState, cursor: Cursor, filter: EventFilter) -> impl Stream<Item = Result<Event, Infallible>> {
    let bell = shared.desk.service().bell();
    let follower = Follower { shared, bell, cursor, filter, ready: std::collections::VecDeque::new(), ended: false };
    futures_util::stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    })
}

impl Follower {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            if self.shared.stopping.is_cancelled() {
                self.ended = true;
                // The last event tells the client its position in the log. A client that reconnects with this id misses
                // no event.
                let goodbye = Event::default().event("goodbye").id(self.cursor.to_string());
                return Some(goodbye.data("{\"reason\":\"the server stops\"}"));
            }
            let full = self.read().await;
            if !self.ready.is_empty() || full {
                continue;
            }
            tokio::select! {
                _ = self.bell.changed(LOOK) => {}
                () = self.shared.stopping.cancelled() => {}
            }
        }
    }

    /// Reads the next page of the log. Returns `true` when the log may have more entries.
    async fn read(&mut self) -> bool {
        let page = self.shared.desk.service().follow(self.cursor, PAGE).await;
        // Ignore a fault of the store: the function `next` reads again later.
        let Ok(page) = page else { return false };
        self.cursor = page.next;
        for (found, place) in page.entries.iter().zip(&page.places).filter(|(found, _)| self.filter.takes(found)) {
            let event = Event::default().id(place.to_string()).event(&found.kind).data(entry(found).to_string());
            self.ready.push_back(event);
        }
        page.entries.len() >= usize::try_from(PAGE).unwrap_or(usize::MAX)
    }
}
