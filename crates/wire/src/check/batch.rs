//! Checks the documents in files of test cases. Each line of a file is one test case, a JSON object. It has a document
//! in the field `text`, `text_b64` or `parts`. Its other fields are facts from outside the document, such as the
//! request that a review response answers.

use super::{CheckContext, CheckFinding, DocumentKind, beside, check, prompted};
use crate::json::{Value, object, parse};
use crate::report::Registry;

/// Checks the document of the test case on one line of a file. Returns the verdict with the line's `id`, and `true`.
/// For a line that is not a test case, returns an `error` instead of the verdict, and `false`.
pub fn line(kind: DocumentKind, line: &str) -> (Value, bool) {
    let case = match parse(line) {
        Ok(node) => node.to_value(),
        Err(error) => return (unjudged(Value::Null, format!("not JSON: {error}")), false),
    };
    let id = case.get("id").cloned().unwrap_or(Value::Null);
    match judge(kind, &case) {
        Ok(finding) => {
            let mut members = vec![("id".to_owned(), id)];
            if let Value::Object(verdict) = finding.verdict {
                members.extend(verdict);
            }
            (Value::Object(members), true)
        }
        Err(problem) => (unjudged(id, problem), false),
    }
}

fn unjudged(id: Value, problem: String) -> Value {
    object([("id", id), ("error", problem.into())])
}

fn judge(kind: DocumentKind, case: &Value) -> Result<CheckFinding, String> {
    let part = |name: &str| case.get(name).cloned().ok_or_else(|| format!("a case of this kind has a `{name}`"));
    match kind {
        DocumentKind::Merge => return Ok(beside::judge(kind, case)),
        DocumentKind::Remote => return Ok(beside::judge(kind, &part("remote")?)),
        DocumentKind::Reference => return Ok(beside::judge(kind, &part("ref")?)),
        DocumentKind::Transitions => return Ok(beside::judge(kind, &part("events")?)),
        DocumentKind::Prompt => return Ok(prompted(&part("input")?)),
        DocumentKind::EnvelopeInput
        | DocumentKind::EnvelopeOutput
        | DocumentKind::FeedbackRequest
        | DocumentKind::FeedbackResponse
        | DocumentKind::Stream
        | DocumentKind::Handoff
        | DocumentKind::Wire
        | DocumentKind::Card => {}
    }
    let texts = |name: &str| {
        let items = case.get(name)?.as_list()?;
        Some(items.iter().filter_map(Value::as_text).map(str::to_owned).collect())
    };
    let request = match case.get("request") {
        None | Some(Value::Null) => None,
        Some(Value::Text(text)) => Some(text.clone().into_bytes()),
        // If the test case has the request as a JSON value and not as a string, the bytes of the request are rendered
        // from the value.
        Some(other) => Some(other.to_string().into_bytes()),
    };
    let registry = case.get("registry").filter(|found| **found != Value::Null).map(Registry::from_value);
    let input = case.get("input_envelope").filter(|found| **found != Value::Null).cloned();
    let dispatch_agent_id = case.get("dispatch_agent_id").and_then(Value::as_text).map(str::to_owned);
    let context = CheckContext { request, issued_ids: texts("issued_ids"), registry, input, dispatch_agent_id };
    Ok(check(kind, &document(case)?, &context))
}

/// Returns the bytes of the document that a test case contains.
pub(crate) fn document(case: &Value) -> Result<Vec<u8>, String> {
    if let Some(text) = case.get("text").and_then(Value::as_text) {
        return Ok(text.as_bytes().to_vec());
    }
    if let Some(text) = case.get("text_b64").and_then(Value::as_text) {
        return base64(text).ok_or_else(|| "`text_b64` is not base64".to_owned());
    }
    let parts =
        case.get("parts").and_then(Value::as_list).ok_or("a case has its document in `text`, `text_b64` or `parts`")?;
    let mut bytes = Vec::new();
    for part in parts {
        let Some([Value::Text(text), Value::Number(times)]) = part.as_list() else {
            return Err("each of `parts` is a string and how often it comes".to_owned());
        };
        let times = times.as_u64().and_then(|times| usize::try_from(times).ok()).ok_or("`parts` has a bad number")?;
        if text.len().saturating_mul(times) > PARTS_BYTES_MAX - bytes.len().min(PARTS_BYTES_MAX) {
            return Err(format!("`parts` make more than {PARTS_BYTES_MAX} bytes"));
        }
        bytes.extend_from_slice(text.repeat(times).as_bytes());
    }
    Ok(bytes)
}

/// The maximum number of bytes to which the field `parts` of a test case may expand. A test case with more is refused.
/// Without this limit, a few characters could ask for any amount of memory.
const PARTS_BYTES_MAX: usize = 64 << 20;

fn base64(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut bits, mut held) = (Vec::with_capacity(text.len()), 0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        bits = (bits << 6) | u32::from(digit(byte)?);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 255).ok()?);
        }
    }
    Some(bytes)
}
