//! Agent Feedback Protocol 1.2: requests for a review and the responses to them, in one or more rounds.
//!
//! A request carries an artifact to review and the author's decisions on earlier findings. A response carries findings.
//! The id of a finding never changes.
//!
//! ```
//! use wire::feedback;
//!
//! let request = br#"{"protocol_version": "1.2", "iteration": 1,
//!                    "artifact": {"media_type": "text/plain", "content": "Add a dark mode."}}"#;
//! assert!(feedback::judge_request(request).report.is_valid());
//!
//! let response = br#"{"protocol_version": "1.2", "iteration": 2, "status": "error",
//!                     "error": {"code": "INTERNAL_ERROR", "message": "out of memory"}}"#;
//! let asked = feedback::AskedParts::by(request, None);
//! assert_eq!(feedback::judge_response(response, Some(&asked)).report.codes().0, ["ITERATION_MISMATCH"]);
//! ```

mod ack;
mod media;
mod response;
mod session;

pub use ack::{Ack, AckItem, AskedParts, ProcessingStatus, acknowledge};
pub use media::{MediaType, is_listable, is_listed};
pub use response::{
    Area, Areas, Confidence, Feedback, FeedbackStatus, FindingId, PositivePoint, Response, ReviewFailure,
    ReviewOutcome, SeverityLevel,
};

use std::collections::HashSet;

use crate::document::{self, BYTES_MAX, JudgedDocument};
use crate::json::{JsonKind, JsonNode, Number, Value, object};
use crate::report::{At, Report, Unknown};
use crate::shape::{Any, Integer, ListShape, NonBlank, Shape, Text, message, vocabulary};

vocabulary! {
    pub enum Version {
        V1_2 = "1.2",
    }
}

message! {
    /// A request for a review.
    pub struct FeedbackRequest {
        protocol_version: required Version,
        iteration: required Integer<1>,
        artifact: required FeedbackArtifact,
        applied_feedback: maybe AppliedFeedback,
    }
    judge(fields) {
        let later = |iteration: &Integer<1>| iteration.number().compare(&Number::from(1_i64)).is_gt();
        let absent = applied_feedback.as_ref().is_some_and(|applied| applied.get().is_none());
        if absent && iteration.as_ref().is_some_and(later) {
            fields.warning(
                "APPLIED_FEEDBACK_EXPECTED",
                "`/applied_feedback` should have a decision on each finding of the round before",
            );
        }
    }
}

message! {
    /// The artifact that a review request asks to review.
    pub struct FeedbackArtifact {
        media_type: required MediaType,
        content: required Any,
        artifact_ref: maybe NonBlank,
    }
}

message! {
    pub struct AppliedFeedback {
        items: required Decisions,
    }
}

message! {
    /// The decision of the author of the reviewed artifact on one finding of the review.
    pub struct Decision {
        id: required NonBlank,
        status: required DecisionStatus,
        reason_code: maybe Text,
        explanation: maybe Text,
    }
    judge(fields) {
        let unsaid = |found: &Option<crate::shape::Maybe<Text>>| found.as_ref().is_some_and(|text| text.get().is_none());
        if status == Some(DecisionStatus::Rejected) && unsaid(&reason_code) && unsaid(&explanation) {
            fields.warning_here("REASON_RECOMMENDED", "is rejected: a `reason_code` or `explanation` should say why");
        }
        if status == Some(DecisionStatus::Partial) && unsaid(&explanation) {
            fields.warning_here("EXPLANATION_RECOMMENDED", "is partial: an `explanation` should say what was changed");
        }
    }
}

vocabulary! {
    pub enum DecisionStatus {
        Accepted = "accepted",
        Rejected = "rejected",
        Partial = "partial",
    }
}

/// The decisions of the author of the reviewed artifact on the findings of the review, at most one per finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Decisions(pub Vec<Decision>);

impl Shape for Decisions {
    const LEGAL: &'static str = "an array of {id, status}, which may be empty";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let before = report.errors().len();
        let items = crate::shape::items(node, at, report)?;
        let (mut read, mut seen) = (Vec::with_capacity(items.len()), HashSet::new());
        for (index, item) in items.iter().enumerate() {
            let here = at.item(index);
            read.extend(Decision::read(item, &here, report));
            let Some(id) = item.get("id") else { continue };
            if id.text().is_some_and(|text| NonBlank::is_legal(text) && !seen.insert(text)) {
                report.error(
                    "DUPLICATE_ID",
                    &here.field("id"),
                    id.span,
                    "has a decision already; give one item for each id",
                );
            }
        }
        (report.errors().len() == before).then_some(Self(read))
    }

    fn render(&self) -> Value {
        Value::List(self.0.iter().map(Shape::render).collect())
    }

    fn schema(unknown: Unknown) -> Value {
        ListShape::<Decision>::schema(unknown)
    }
}

pub fn judge_request(bytes: &[u8]) -> JudgedDocument<'_, FeedbackRequest> {
    match document::open(bytes, BYTES_MAX) {
        Err(report) => JudgedDocument { value: None, report: *report },
        Ok((text, node)) => {
            let mut report = Report::new(text, Unknown::Refused);
            let value = FeedbackRequest::read(&node, &At::top(), &mut report);
            session::refuse(&node, &mut report);
            report.close();
            JudgedDocument { value: value.filter(|_| report.is_valid()), report }
        }
    }
}

/// Checks the bytes of a review response. Returns the response, or all of its problems. When `asked` is given, also
/// checks that the response fits the review request from which `asked` was read.
pub fn judge_response<'t>(bytes: &'t [u8], asked: Option<&AskedParts>) -> JudgedDocument<'t, Response> {
    match document::open(bytes, BYTES_MAX) {
        Err(report) => JudgedDocument { value: None, report: *report },
        Ok((text, node)) => {
            let mut report = Report::new(text, Unknown::Refused);
            let value = response::read(&node, asked, &mut report);
            session::refuse(&node, &mut report);
            report.close();
            JudgedDocument { value: value.filter(|_| report.is_valid()), report }
        }
    }
}

/// An integer of any size and sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnyInteger(pub Number);

impl Shape for AnyInteger {
    const LEGAL: &'static str = "an integer";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        if let JsonKind::Number(text) = node.kind
            && Number::is_integer_text(text)
        {
            return Some(Self(Number::of(text)));
        }
        report.error("TYPE", at, node.span, "must be an integer");
        None
    }

    fn render(&self) -> Value {
        self.0.clone().into()
    }

    fn schema(_: Unknown) -> Value {
        object([("type", "integer".into())])
    }
}
