//! Acknowledgements: a review request may contain the author's decisions on findings of earlier responses. The response
//! to the request confirms each of these decisions exactly once and with the correct status.

use std::collections::{HashMap, HashSet};

use crate::json::{JsonKind, JsonNode, Number, Value, parse_object};
use crate::report::Report;
use crate::shape::{ListShape, Text, message, vocabulary};

message! {
    pub struct Ack {
        items: required ListShape<AckItem>,
    }
}

message! {
    pub struct AckItem {
        id: required Text,
        processing_status: required ProcessingStatus,
    }
}

vocabulary! {
    pub enum ProcessingStatus {
        Acknowledged = "acknowledged",
        UnknownId = "unknown_id",
    }
}

/// The parts of a review request that the response must match. A part that cannot be read has a default value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedParts {
    pub(super) iteration: Number,
    /// The ids of the findings for which the review request contains a decision of the author, each id once. `None`
    /// when the request has no `applied_feedback`.
    pub(super) decided: Option<Vec<String>>,
    /// The ids of the findings in earlier responses of the review session. `None` when these responses are not known.
    pub(super) issued: Option<HashSet<String>>,
}

impl AskedParts {
    /// Returns the iteration number of the review request, which the response must repeat.
    pub fn iteration(&self) -> &Number {
        &self.iteration
    }

    /// Reads a review request. `issued` has the ids of the findings in earlier responses of the review session, or is
    /// `None` when these are not known.
    pub fn by(request: &[u8], issued: Option<Vec<String>>) -> Self {
        let node = std::str::from_utf8(request).ok().and_then(|text| parse_object(text).ok());
        let field = |name| node.as_ref().and_then(|node| node.get(name));
        let one = Number::from(1_i64);
        let iteration = match field("iteration").map(|node| &node.kind) {
            Some(JsonKind::Number(text)) if Number::is_integer_text(text) => Number::of(text),
            _ => one.clone(),
        };
        let applied = field("applied_feedback").filter(|node| !node.is_null());
        let decided = applied.map(|applied| {
            let items = applied.get("items").and_then(JsonNode::list).unwrap_or_default();
            let mut seen = HashSet::new();
            let ids = items.iter().filter_map(|item| item.get("id")?.text());
            ids.filter(|id| seen.insert(*id)).map(str::to_owned).collect()
        });
        Self {
            iteration: if iteration.compare(&one).is_ge() { iteration } else { one },
            decided,
            issued: issued.map(|ids| ids.into_iter().collect()),
        }
    }
}

/// Checks that the review response acknowledges each decision of its request once. A decision on a finding of an
/// earlier response needs the status `acknowledged`. A decision on any other id needs the status `unknown_id`.
pub(super) fn complete(ack: &JsonNode<'_>, asked: &AskedParts, report: &mut Report<'_>) {
    let Some(items) = ack.get("items").and_then(JsonNode::list) else { return };
    let decided = asked.decided.as_deref().unwrap_or_default();
    let answers: Vec<(&str, &JsonNode<'_>)> =
        items.iter().filter_map(|item| item.get("id")?.text().map(|id| (id, item))).collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    answers.iter().for_each(|(id, _)| *count.entry(id).or_default() += 1);
    for id in decided {
        if count.get(id.as_str()) != Some(&1) {
            report.named_error("ACK_MISMATCH", id, ack.span, format!("acknowledge {id:?} exactly once"));
        }
    }
    let wanted: HashSet<&str> = decided.iter().map(String::as_str).collect();
    let mut told = HashSet::new();
    for (id, item) in &answers {
        if !wanted.contains(id) && told.insert(*id) {
            report.named_error(
                "ACK_MISMATCH",
                id,
                item.span,
                format!("the request does not mention {id:?}; remove it"),
            );
        }
    }
    let Some(issued) = &asked.issued else { return };
    told.clear();
    for (id, item) in answers.into_iter().filter(|(id, _)| wanted.contains(id)) {
        let status = item.get("processing_status").and_then(JsonNode::text).and_then(ProcessingStatus::parse);
        let right = if issued.contains(id) { ProcessingStatus::Acknowledged } else { ProcessingStatus::UnknownId };
        if status.is_some_and(|status| status != right) && told.insert(id) {
            report.named_error(
                "ACK_WRONG",
                id,
                item.span,
                format!("the `processing_status` of {id:?} must be `{right}`"),
            );
        }
    }
}

/// Returns the acknowledgement that a response to the review request `asked` must contain, or `None` when the request
/// has no decisions.
pub fn acknowledge(asked: &AskedParts) -> Option<Ack> {
    let items = asked.decided.as_ref()?.iter().filter_map(|id| {
        let known = asked.issued.as_ref().is_none_or(|issued| issued.contains(id));
        let processing_status = if known { ProcessingStatus::Acknowledged } else { ProcessingStatus::UnknownId };
        Some(AckItem { id: Text::new(id.as_str())?, processing_status, extra: Vec::new() })
    });
    Some(Ack { items: ListShape(items.collect()), extra: Vec::new() })
}

impl Ack {
    pub fn to_value(&self) -> Value {
        crate::shape::Shape::render(self)
    }
}
