//! Checks four kinds of small documents that belong to handoff contracts (reports of agents at the end of their turns):
//! an update of stored facts about the project, the URL of a git remote, a reference to a resource in another
//! repository, and a sequence of status events.

use super::{CheckFinding, CheckNote, DocumentKind, Severity, refused};
use crate::handoff::{Machine, NoIdentity, Reference, identity, merge_all};
use crate::json::Value;

/// Checks a document of one of four kinds: an update to merge (`{stored, payload}`), the URL of a git remote, a
/// reference to another repository, or a list of status events. The returned finding has the problems of the document
/// and its result, such as the stored value after the merge.
pub(super) fn judge(kind: DocumentKind, value: &Value) -> CheckFinding {
    match kind {
        DocumentKind::Merge => match payloads(value) {
            Some(payloads) => {
                let merged = merge_all(value.get("stored").unwrap_or(&Value::Null), payloads);
                let notes = merged.warnings.iter().map(|code| CheckNote {
                    code: code.clone(),
                    message: "the value has another JSON type than the stored one, and replaces it".to_owned(),
                    severity: Severity::Warning,
                    place: None,
                });
                CheckFinding { valid: true, verdict: merged.to_value(), notes: notes.collect(), rendered: None }
            }
            None => refused(
                "INVALID_INPUT",
                "an object with `stored` and `payload` (or a list `payloads`) is expected".to_owned(),
            ),
        },
        DocumentKind::Remote => {
            let found = identity(value.as_text().unwrap_or_default());
            let problem = found.as_ref().err().map(ToString::to_string);
            told("NO_IDENTITY", NoIdentity::to_value(&found), problem)
        }
        DocumentKind::Reference => {
            let found = Reference::parse(value.as_text().unwrap_or_default());
            let problem = found.as_ref().err().map(ToString::to_string);
            told("NO_REFERENCE", Reference::to_value(&found), problem)
        }
        DocumentKind::Transitions => match Machine::run(value.get("events").unwrap_or(value)) {
            Ok(steps) => {
                let is_refused = |step: &Value| step.get("accepted") == Some(&Value::Bool(false));
                let all = steps.get("steps").and_then(Value::as_list).unwrap_or_default();
                let notes =
                    all.iter().enumerate().filter(|(_, step)| is_refused(step)).map(|(number, step)| CheckNote {
                        code: step.get("code").and_then(Value::as_text).unwrap_or_default().to_owned(),
                        message: format!("step {}: the report is refused and changes nothing", number + 1),
                        severity: Severity::Error,
                        place: None,
                    });
                let notes: Vec<CheckNote> = notes.collect();
                CheckFinding { valid: notes.is_empty(), verdict: steps, notes, rendered: None }
            }
            Err(problem) => refused("INVALID_INPUT", problem),
        },
        DocumentKind::EnvelopeInput
        | DocumentKind::EnvelopeOutput
        | DocumentKind::FeedbackRequest
        | DocumentKind::FeedbackResponse
        | DocumentKind::Stream
        | DocumentKind::Handoff
        | DocumentKind::Wire
        | DocumentKind::Card
        | DocumentKind::Prompt => refused("INVALID_INPUT", format!("{} is judged from its bytes", kind.as_str())),
    }
}

/// Returns the updates to merge, in order: the single `payload`, or every element of the list `payloads`.
fn payloads(value: &Value) -> Option<Vec<&Value>> {
    let one = value.get("payload").map(|payload| vec![payload]);
    one.or_else(|| Some(value.get("payloads")?.as_list()?.iter().collect()))
}

fn told(code: &str, verdict: Value, problem: Option<String>) -> CheckFinding {
    let note = |message| CheckNote { code: code.to_owned(), message, severity: Severity::Error, place: None };
    let notes: Vec<CheckNote> = problem.map(note).into_iter().collect();
    CheckFinding { valid: notes.is_empty(), verdict, notes, rendered: None }
}
