//! The proof that a claim ended because its lease ran out. Only such a claim can be regained.

use serde::{Deserialize, Serialize};

use crate::event::Cause;
use crate::id::AgentId;
use crate::json::Json;

/// The detail of the recovery checkpoint that the end of a lease writes.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LapseEvidence {
    cause: Cause,
    agent: AgentId,
}

/// Returns the detail to store for a claim that ended, `None` unless its lease ran out.
pub(crate) fn of(agent: AgentId, cause: Cause) -> Option<Json> {
    let value = (cause == Cause::Expired).then(|| serde_json::to_value(LapseEvidence { cause, agent }));
    value.and_then(Result::ok).as_ref().map(Json::from)
}

/// Tells whether a stored detail proves that the lease of this agent ran out.
pub(crate) fn names(detail: Option<&Json>, agent: AgentId) -> bool {
    let found = detail.and_then(|detail| serde_json::from_str::<LapseEvidence>(detail.as_str()).ok());
    found == Some(LapseEvidence { cause: Cause::Expired, agent })
}
