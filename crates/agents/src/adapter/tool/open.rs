//! Remembers the tool calls that have no result yet.

use std::collections::HashMap;

use super::super::stream::head;
use super::{NAME_BYTES_MAX, ToolCallKind};

/// The largest number of calls without a result that are remembered. A program runs far fewer tools at a time; only
/// calls that never get a result fill the list.
const OPEN_MAX: usize = 1024;

/// A tool call that has no result yet.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct OpenCall {
    pub(in super::super) kind: ToolCallKind,
    /// The time of the call in milliseconds since 1970, if the event stream has it.
    pub(in super::super) at: Option<i64>,
    /// True when the program said that the command runs in the background. Its result then comes with a later event.
    pub(in super::super) is_background: bool,
}

#[derive(Debug, Default)]
pub(in super::super) struct OpenCalls {
    calls: HashMap<String, OpenCall>,
}

impl OpenCalls {
    pub(in super::super) fn begin(&mut self, id: &str, call: OpenCall) {
        if self.calls.len() < OPEN_MAX {
            self.calls.insert(head(id, NAME_BYTES_MAX).to_owned(), call);
        }
    }

    pub(in super::super) fn get_mut(&mut self, id: &str) -> Option<&mut OpenCall> {
        self.calls.get_mut(head(id, NAME_BYTES_MAX))
    }

    pub(in super::super) fn end(&mut self, id: &str) -> Option<OpenCall> {
        self.calls.remove(head(id, NAME_BYTES_MAX))
    }

    /// Tells whether the list is full. The list then lacks the newest calls.
    pub(in super::super) fn is_full(&self) -> bool {
        self.calls.len() >= OPEN_MAX
    }
}

impl OpenCall {
    /// Returns the duration of the call until this time. Returns None when a time is unknown, or when the clock of the
    /// program was set back in between.
    pub(in super::super) fn ms(&self, until: Option<i64>) -> Option<u64> {
        u64::try_from(until?.checked_sub(self.at?)?).ok()
    }
}
