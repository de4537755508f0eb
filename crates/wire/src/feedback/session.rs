//! Refuses every field of a review message that names a session. The tool that carries the message already keeps track
//! of the session.

use crate::json::{JsonKind, JsonNode};
use crate::report::{At, Report, is_session};

/// Refuses every key of a review message that names a session, at any depth. Such keys are allowed only inside the
/// content of the reviewed artifact.
pub(super) fn refuse(node: &JsonNode<'_>, report: &mut Report<'_>) {
    look(node, &At::top(), 0, report);
}

/// Checks a value of a review message and all values inside it for keys that name a session. Such keys are allowed only
/// in `/artifact/content`. `content` encodes the place of the value: 0 for the top of the message, 1 for `/artifact`,
/// another number for any other place.
fn look(node: &JsonNode<'_>, at: &At<'_>, content: u8, report: &mut Report<'_>) {
    match &node.kind {
        JsonKind::Null | JsonKind::Bool(_) | JsonKind::Number(_) | JsonKind::Text(_) => {}
        JsonKind::List(items) => {
            items.iter().enumerate().for_each(|(index, item)| look(item, &at.item(index), u8::MAX, report));
        }
        JsonKind::Object(members) => {
            for member in members {
                let here = at.key(&member.name);
                if is_session(&member.name) {
                    let hint = "sessions are kept by the tool that carries the message; remove this field";
                    report.error("SESSION_FIELD", &here, member.at, hint);
                }
                let next = match (content, &*member.name) {
                    (0, "artifact") => 1,
                    (1, "content") => continue,
                    _ => u8::MAX,
                };
                look(&member.node, &here, next, report);
            }
        }
    }
}
