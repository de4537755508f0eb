//! Builds the checkpoints (notes about a task's progress) that outputs and verifications leave in the store.

use engine::Json;
use engine::checkpoint::Kind;
use engine::command::Note;
use wire::json::Value;

use super::cut;

/// Returns a checkpoint (a note about a task's progress), with its summary cut to the allowed length.
pub fn note(kind: Kind, summary: &str, detail: Option<&Value>) -> Note {
    let detail = detail.map(|detail| Json::from_stored(detail.to_string()));
    Note { kind, summary: cut(summary), detail, files: Vec::new() }
}
