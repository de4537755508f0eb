//! The proof that a claim ended because its lease expired. An agent can regain a claim only with this proof.

use serde::{Deserialize, Serialize};

use crate::event::Cause;
use crate::id::AgentId;
use crate::json::Json;

/// The JSON in the checkpoint that is written when a claim ends because its lease expired. It proves how the claim
/// ended.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LapseEvidence {
    cause: Cause,
    agent: AgentId,
}

/// Returns the JSON to store in the checkpoint of a claim that ended. Returns `None` unless the claim's lease expired.
pub(crate) fn of(agent: AgentId, cause: Cause) -> Option<Json> {
    let value = (cause == Cause::Expired).then(|| serde_json::to_value(LapseEvidence { cause, agent }));
    value.and_then(Result::ok).as_ref().map(Json::from)
}

/// Returns true when the stored JSON proves that the last claim was this agent's and that its lease expired.
pub(crate) fn names(detail: Option<&Json>, agent: AgentId) -> bool {
    let found = detail.and_then(|detail| serde_json::from_str::<LapseEvidence>(detail.as_str()).ok());
    found == Some(LapseEvidence { cause: Cause::Expired, agent })
}
