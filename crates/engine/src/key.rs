//! Idempotency: a repeated request gets the answer of the first one.

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::time::Timestamp;

/// The identity of a stored answer: one caller, one act, one key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeyId {
    pub owner: String,
    pub act: String,
    pub key: String,
}

/// The key of one call: the place where its answer is kept, and the places where a first answer may already be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallKey {
    pub(crate) id: KeyId,
    /// The same key under the connection and its other agents.
    pub(crate) others: Vec<KeyId>,
}

/// The first answer to a key, kept for a day. Faults are not kept, because the act did not happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredKey {
    pub id: KeyId,
    pub fingerprint: String,
    pub answer: Result<Reply, Refusal>,
    pub until: Timestamp,
}
