//! Idempotency: a repeated call with the same idempotency key gets the answer of the first call.

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::time::Timestamp;

/// The id of an answer that is stored under an idempotency key: the owner of the key, the command, and the key itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeyId {
    pub owner: String,
    pub act: String,
    pub key: String,
}

/// The ids of one call's idempotency key: the id under which its answer is stored, and the ids under which the answer
/// to an earlier, equal call may be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallKey {
    pub(crate) id: KeyId,
    /// The ids under which an earlier answer may be stored: the same idempotency key, but owned by the connection or by
    /// another agent of the connection.
    pub(crate) others: Vec<KeyId>,
}

/// The answer to the first call with an idempotency key, kept for a day. An internal error is not stored as an answer,
/// because a command that ended with an internal error changed nothing and can be repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredKey {
    pub id: KeyId,
    pub fingerprint: String,
    pub answer: Result<Reply, Refusal>,
    pub until: Timestamp,
}
