//! Items (things that need a person) that a person put off until a time. A put-off item is still shown, below all other
//! items, and no notice is sent about it before that time.

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::time::Timestamp;

/// An item that a person put off, with the time until which it is put off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutOffItem {
    /// The name of the item, which stays the same as long as the same thing needs a person.
    pub item: String,
    pub until: Timestamp,
    pub by: Actor,
}

impl PutOffItem {
    /// Returns true when the time is over until which the item was put off. The item then needs the person again.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until <= now
    }
}

/// The request of a person to put off an item. When `until` is `None`, the item is shown among the others again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ItemDelay {
    pub item: String,
    pub until: Option<Timestamp>,
}
