//! Delivers the answers of the writer thread to the callers. The writer wakes an async runtime only once for all
//! answers of one transaction.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use engine::Change;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::fault::Fault;

/// A flag that either the writer thread sets to start a command, or the caller sets to withdraw it. Only the first of
/// them succeeds.
#[derive(Debug, Default)]
pub(super) struct ReplyTicket(AtomicBool);

impl ReplyTicket {
    /// Sets the flag that starts or withdraws a command. Returns true when this call was the first to set it.
    pub(super) fn take(&self) -> bool {
        !self.0.swap(true, Ordering::SeqCst)
    }
}

/// The answer of the writer thread to one caller.
pub(super) struct ToldReply<T> {
    pub(super) result: Result<T, Fault>,
    /// The answers to the other callers of the same transaction. They are sent when this field is dropped, even if no
    /// caller receives this reply. `None` when this reply is not the first one of a transaction.
    _others: Option<Others>,
}

/// The sending end for the answer to one caller.
pub(super) struct ReplySender<T> {
    pub(super) answer: oneshot::Sender<ToldReply<T>>,
    pub(super) ticket: Arc<ReplyTicket>,
    /// The command's place in the writer's queue, which has a bounded number of places. The place becomes free when the
    /// answer is sent.
    pub(super) _place: OwnedSemaphorePermit,
}

impl<T> ReplySender<T> {
    /// Marks the command as started by the writer thread. Returns false when the caller is gone or has withdrawn the
    /// command. Otherwise returns true, and the caller can no longer withdraw the command.
    pub(super) fn begin(&self) -> bool {
        !self.answer.is_closed() && self.ticket.take()
    }

    pub(super) fn send(self, result: Result<T, Fault>) {
        self.send_with(result, None);
    }

    fn send_with(self, result: Result<T, Fault>, others: Option<Others>) {
        // Ignore a failure: the caller is gone and needs no answer.
        let _ = self.answer.send(ToldReply { result, _others: others });
    }
}

type DueReply = (ReplySender<Change>, Change);

/// The answers of one transaction that are not delivered yet. Waking a runtime from another thread takes a system call,
/// so the writer wakes only the first caller. That caller wakes the others inside the runtime at almost no cost. The
/// first caller and the writer both hold this list, and the answers are delivered when one of them drops it. So the
/// other callers get their answers even when the runtime does not run the first caller.
#[derive(Default)]
pub(super) struct Others(Arc<Mutex<Vec<DueReply>>>);

impl Others {
    /// Answers the first caller of a transaction. The returned value answers the other callers when it is dropped.
    pub(super) fn after_first(due: impl Iterator<Item = DueReply>) -> Self {
        let mut due = due;
        let Some((first, change)) = due.next() else { return Self::default() };
        let others = Arc::new(Mutex::new(due.collect()));
        first.send_with(Ok(change), Some(Self(Arc::clone(&others))));
        Self(others)
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        // Release the lock on the list before sending, because sending wakes tasks, and a waker may run any code.
        let due = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        due.into_iter().for_each(|(reply, change)| reply.send(Ok(change)));
    }
}

#[cfg(test)]
mod tests {
    use engine::{Actor, Reply as Said};
    use tokio::sync::Semaphore;
    use tokio::sync::oneshot::Receiver;

    use super::*;

    fn callers() -> (Vec<DueReply>, Vec<Receiver<ToldReply<Change>>>) {
        let change = || Change { events: Vec::new(), reply: Ok(Said::TaskPlanned), sender: Actor::Engine };
        let places = Arc::new(Semaphore::new(3));
        let place = || Arc::clone(&places).try_acquire_owned().unwrap();
        let pairs = (0..3).map(|_| oneshot::channel());
        pairs
            .map(|(answer, caller)| {
                ((ReplySender { answer, ticket: Arc::default(), _place: place() }, change()), caller)
            })
            .unzip()
    }

    fn told(callers: &mut [Receiver<ToldReply<Change>>]) -> usize {
        callers.iter_mut().filter_map(|caller| caller.try_recv().ok()).count()
    }

    #[test]
    fn the_first_caller_tells_the_others() {
        let (due, mut callers) = callers();
        let _kept = Others::after_first(due.into_iter());
        assert_eq!(told(&mut callers[1..]), 0);
        assert_eq!(told(&mut callers[..1]), 1);
        assert_eq!(told(&mut callers[1..]), 2);
    }

    #[test]
    fn a_caller_that_is_not_polled_keeps_nobody_waiting() {
        let (due, mut callers) = callers();
        drop(Others::after_first(due.into_iter()));
        assert_eq!(told(&mut callers[1..]), 2);
        assert_eq!(told(&mut callers[..1]), 1);
    }

    #[test]
    fn a_caller_that_has_gone_keeps_nobody_waiting() {
        for late in [false, true] {
            let (due, mut callers) = callers();
            let mut first = Some(callers.remove(0));
            let gone = if late { None } else { first.take() };
            drop(gone);
            let _kept = Others::after_first(due.into_iter());
            drop(first);
            assert_eq!(told(&mut callers), 2, "late: {late}");
        }
    }
}
