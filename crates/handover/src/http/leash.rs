//! Ends long requests when their token is revoked. This module watches the store, so a revocation by another process
//! ends the requests, too.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use engine::id::TokenId;
use http_body::{Frame, SizeHint};
use tokio::task::AbortHandle;
use tokio::time::Sleep;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::intake::HeldMemory;
use base::service::Service;

/// A request that ends within this time is answered without another check of its token. During a longer request, the
/// server watches whether the token is revoked.
pub(super) const QUICK: Duration = Duration::from_millis(200);
/// The shortest time between two reads of a token from the store, even when the log changes all the time.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest time between two reads of a token from the store, when no change of the store is reported.
const LOOK: Duration = Duration::from_secs(10);

/// The tokens of all long requests that are running. Requests with the same token share one `Leash`, which tells when
/// the token is revoked.
#[derive(Debug)]
pub(super) struct Leashes {
    service: Service,
    held: Mutex<HashMap<TokenId, Weak<Leash>>>,
}

#[derive(Debug)]
pub(super) struct Leash {
    revoked: CancellationToken,
    watch: AbortHandle,
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

impl Leash {
    pub(super) async fn revoked(&self) {
        self.revoked.cancelled().await;
    }
}

impl Leashes {
    pub(super) fn new(service: Service) -> Self {
        Self { service, held: Mutex::default() }
    }

    /// Watches whether a token is revoked, until the returned `Leash` is dropped.
    pub(super) fn hold(&self, token: TokenId) -> Arc<Leash> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = held.get(&token).and_then(Weak::upgrade) {
            return known;
        }
        held.retain(|_, leash| leash.strong_count() > 0);
        let revoked = CancellationToken::new();
        let watch = tokio::spawn(watch(self.service.clone(), token, revoked.clone())).abort_handle();
        let leash = Arc::new(Leash { revoked, watch });
        held.insert(token, Arc::downgrade(&leash));
        leash
    }
}

async fn watch(service: Service, token: TokenId, revoked: CancellationToken) {
    let mut bell = service.bell();
    loop {
        match service.view(move |world| world.token(token).map(|token| token.revoked)).await {
            // Continue if the token is valid. Also continue if the store failed: the next read decides.
            Ok(None) | Err(base::Error::Fault(_) | base::Error::Random(_)) => {}
            Ok(Some(_)) | Err(base::Error::Refused(_)) => return revoked.cancel(),
        }
        bell.changed(LOOK).await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// The body of a long response. The body ends when the token of its request is revoked. Until the response is sent,
/// this value keeps the memory that the request reserved.
pub(super) struct Leashed {
    body: Body,
    leashes: Arc<Leashes>,
    token: TokenId,
    hold: Hold,
    _held: Arc<HeldMemory>,
}

enum Hold {
    NotYet(Pin<Box<Sleep>>),
    On { _leash: Arc<Leash>, revoked: Pin<Box<WaitForCancellationFutureOwned>> },
}

impl Leashed {
    pub(super) fn new(body: Body, leashes: Arc<Leashes>, token: TokenId, held: Arc<HeldMemory>) -> Self {
        Self { body, leashes, token, hold: Hold::NotYet(Box::pin(tokio::time::sleep(QUICK))), _held: held }
    }

    /// Returns `Ready` when the token is revoked. The watch begins only after `QUICK`, so that short responses are not
    /// watched.
    fn poll_revoked(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.hold {
                Hold::NotYet(quick) => {
                    std::task::ready!(quick.as_mut().poll(cx));
                    let leash = self.leashes.hold(self.token);
                    let revoked = Box::pin(leash.revoked.clone().cancelled_owned());
                    self.hold = Hold::On { _leash: leash, revoked };
                }
                Hold::On { revoked, .. } => return revoked.as_mut().poll(cx),
            }
        }
    }
}

impl http_body::Body for Leashed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if self.poll_revoked(cx).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
