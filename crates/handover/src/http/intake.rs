//! Limits request bodies: each must arrive within a bounded time, and all together use bounded memory.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::StatusCode;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

use super::limits::HttpLimits;
use super::problem::HttpProblem;

/// The size of the steps, in bytes, in which memory is reserved while request bodies arrive.
const UNIT_BYTES: usize = 1 << 10;
/// The number of bytes at the start of each request body for which no memory is reserved. This lets small requests pass
/// while a few large ones use up the memory.
const FREE_BYTES: usize = 64 << 10;
/// The largest number of bytes for which one request body reserves memory. Request handlers do not keep a longer body,
/// so its further bytes need no memory.
const KEPT_BYTES_MAX: usize = wire::lifecycle::PLAN_BYTES_MAX;

#[derive(Debug)]
pub(super) struct Intake {
    room: Arc<Semaphore>,
    time_max: Duration,
}

/// The memory that one request reserves for its body, and the reason why the body was refused.
#[derive(Debug, Default)]
pub(super) struct HeldMemory {
    state: Mutex<IntakeState>,
}

#[derive(Debug, Default)]
struct IntakeState {
    room: Option<OwnedSemaphorePermit>,
    given_up: Option<GivenUp>,
}

#[derive(Debug, Clone, Copy)]
enum GivenUp {
    TooSlow,
    NoRoom,
}

impl Intake {
    pub(super) fn new(limits: &HttpLimits) -> Self {
        Self { room: Arc::new(Semaphore::new(limits.bodies_bytes_max / UNIT_BYTES)), time_max: limits.body_max }
    }

    /// Wraps the body of a request, so that its bytes reserve memory while they arrive. Dropping the returned
    /// `HeldMemory` releases this memory.
    pub(super) fn measure(&self, request: Request) -> (Request, Arc<HeldMemory>) {
        let held = Arc::<HeldMemory>::default();
        let (room, time_max) = (Arc::clone(&self.room), self.time_max);
        let measure = |body| Measured { body, room, time_max, end: None, seen: 0, held: Arc::clone(&held) };
        (request.map(|body| Body::new(measure(body))), held)
    }
}

impl HeldMemory {
    /// Returns the reason why the body was refused; `None` if it was accepted. A caller must send this reason instead
    /// of the handler's response, because the handler saw only a part of the body.
    pub(super) fn problem(&self) -> Option<HttpProblem> {
        let given_up = self.state.lock().unwrap_or_else(PoisonError::into_inner).given_up?;
        Some(match given_up {
            GivenUp::TooSlow => HttpProblem::new(
                StatusCode::REQUEST_TIMEOUT,
                "TOO_SLOW",
                "the body of the request did not arrive in time",
                "send the request again, with its whole body at once",
            ),
            GivenUp::NoRoom => HttpProblem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "TOO_BUSY",
                "the server is reading too many large requests at once",
                "try again in a second",
            ),
        })
    }

    fn take(&self, room: OwnedSemaphorePermit) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut state.room {
            Some(known) => known.merge(room),
            None => state.room = Some(room),
        }
    }

    fn give_up(&self, why: GivenUp) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).given_up = Some(why);
        Poll::Ready(Some(Err(axum::Error::new(std::io::Error::from(std::io::ErrorKind::TimedOut)))))
    }
}

struct Measured {
    body: Body,
    room: Arc<Semaphore>,
    time_max: Duration,
    /// The timer after which the body is too slow. It starts when the server first waits for the client.
    end: Option<Pin<Box<Sleep>>>,
    seen: usize,
    held: Arc<HeldMemory>,
}

impl Measured {
    /// Reserves memory for bytes that arrived. Returns `false` when all bodies together use too much memory.
    fn has_room(&mut self, bytes: usize) -> bool {
        let units = |seen: usize| seen.min(KEPT_BYTES_MAX).saturating_sub(FREE_BYTES).div_ceil(UNIT_BYTES);
        let before = units(self.seen);
        self.seen = self.seen.saturating_add(bytes);
        let more = u32::try_from(units(self.seen) - before).unwrap_or(u32::MAX);
        if more == 0 {
            return true;
        }
        let room = Arc::clone(&self.room).try_acquire_many_owned(more);
        room.map(|room| self.held.take(room)).is_ok()
    }
}

impl http_body::Body for Measured {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let came = Pin::new(&mut self.body).poll_frame(cx);
        if came.is_pending() {
            let time_max = self.time_max;
            let end = self.end.get_or_insert_with(|| Box::pin(tokio::time::sleep(time_max)));
            ready!(end.as_mut().poll(cx));
            return self.held.give_up(GivenUp::TooSlow);
        }
        if let Poll::Ready(Some(Ok(frame))) = &came
            && let Some(data) = frame.data_ref()
            && !self.has_room(data.len())
        {
            return self.held.give_up(GivenUp::NoRoom);
        }
        came
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Returns the full body if it has at most `bytes_max` bytes, otherwise a refusal. Before it refuses, it reads and
/// drops more of the body, because many clients read the response only after they have sent everything.
pub(super) async fn whole(mut body: Body, bytes_max: usize) -> Result<Vec<u8>, HttpProblem> {
    let mut text = Vec::new();
    let mut seen = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| broken())?;
        let Ok(data) = frame.into_data() else { continue };
        seen = seen.saturating_add(data.len());
        if seen <= bytes_max {
            text.extend_from_slice(&data);
            continue;
        }
        text = Vec::new();
        if seen > bytes_max.saturating_add(KEPT_BYTES_MAX) {
            break;
        }
    }
    if seen <= bytes_max { Ok(text) } else { Err(too_large(bytes_max)) }
}

fn too_large(bytes_max: usize) -> HttpProblem {
    let message = format!("the body is longer than {bytes_max} bytes");
    HttpProblem::new(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", message, "send less in one request")
}

fn broken() -> HttpProblem {
    let message = "the body of the request ended too early";
    HttpProblem::new(StatusCode::BAD_REQUEST, "INVALID_BODY", message, "send the arguments as a JSON object")
}
