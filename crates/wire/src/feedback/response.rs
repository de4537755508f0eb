//! Review responses: the findings of a review, or the reason why the review failed.

use std::collections::HashSet;

use super::ack::{self, Ack, AskedParts};
use super::{AnyInteger, Version};
use crate::json::{JsonNode, Object, Value, object};
use crate::report::{At, Hint, Report, Unknown};
use crate::schema;
use crate::shape::{ExtraFields, ListShape, NonBlank, ObjectFields, Shape, message, texts, vocabulary};

/// The response of a review provider: its findings, or the reason why the review failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub iteration: AnyInteger,
    pub outcome: ReviewOutcome,
    pub ack: Option<Ack>,
    /// The fields that the protocol does not define. The fields `feedback`, `error` and `applied_feedback_ack` are also
    /// here if their value is null.
    pub extra: ExtraFields,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ReviewOutcome {
    Success(Feedback),
    Error(ReviewFailure),
}

vocabulary! {
    pub enum FeedbackStatus {
        Success = "success",
        Error = "error",
    }
}

message! {
    pub struct Feedback {
        confidence: required Confidence,
        positive_points: required ListShape<PositivePoint>,
        areas_for_improvement: required Areas,
        general_summary: required NonBlank,
    }
}

message! {
    pub struct Confidence {
        level: required SeverityLevel,
        justification: required NonBlank,
    }
}

vocabulary! {
    pub enum SeverityLevel {
        High = "high",
        Medium = "medium",
        Low = "low",
    }
}

message! {
    pub struct PositivePoint {
        aspect: required NonBlank,
        justification: required NonBlank,
    }
}

message! {
    /// One finding of a review.
    pub struct Area {
        id: required FindingId,
        aspect: required NonBlank,
        description: required NonBlank,
        recommendation: required NonBlank,
    }
}

message! {
    pub struct ReviewFailure {
        code: required NonBlank,
        message: required NonBlank,
    }
}

texts! {
    FindingId: finding_id, schema::pattern("^[a-z0-9._-]{8,128}$"),
        "8 to 128 characters of a-z, 0-9, `.`, `_` and `-`";
}

fn finding_id(text: &str) -> Result<(), (&'static str, Hint)> {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    if (8..=128).contains(&text.len()) && text.bytes().all(letter) {
        return Ok(());
    }
    Err(("PATTERN", "must be 8 to 128 characters of a-z, 0-9, `.`, `_` and `-`".into()))
}

/// The findings of a review response, each with a unique id.
#[derive(Debug, Clone, PartialEq)]
pub struct Areas(pub Vec<Area>);

impl Shape for Areas {
    const LEGAL: &'static str = "an array of {id, aspect, description, recommendation}, which may be empty";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let before_all = report.errors().len();
        let items = crate::shape::items(node, at, report)?;
        let (mut read, mut seen) = (Vec::with_capacity(items.len()), HashSet::new());
        for (index, item) in items.iter().enumerate() {
            let (here, before) = (at.item(index), report.errors().len());
            read.extend(Area::read(item, &here, report));
            let Some((id, text)) = item.get("id").and_then(|id| Some((id, id.text()?))) else { continue };
            if !text.trim().is_empty() && !seen.insert(text) {
                let before = before + usize::from(!FindingId::is_legal(text));
                let hint = "is the id of an item before; every finding has an id of its own";
                report.error_before(before, "DUPLICATE_ID", &here.field("id"), (id.span, hint));
            }
        }
        (report.errors().len() == before_all).then_some(Self(read))
    }

    fn render(&self) -> Value {
        Value::List(self.0.iter().map(Shape::render).collect())
    }

    fn schema(unknown: Unknown) -> Value {
        ListShape::<Area>::schema(unknown)
    }
}

/// Reads a review response. Its status, and the parts of the review request in `asked`, decide which fields it must
/// have.
pub(super) fn read(node: &JsonNode<'_>, asked: Option<&AskedParts>, report: &mut Report<'_>) -> Option<Response> {
    let at = At::top();
    let mut fields = ObjectFields::open(node, &at, report)?;
    fields.required::<Version>("protocol_version");
    let iteration = fields.required::<AnyInteger>("iteration");
    if let (Some(iteration), Some(asked)) = (&iteration, asked)
        && !iteration.0.compare(&asked.iteration).is_eq()
    {
        let hint = format!("`/iteration` must be the request's, {}", asked.iteration);
        let span = node.get("iteration").map_or(node.span, |node| node.span);
        fields.report().0.plain_error("ITERATION_MISMATCH", span, hint);
    }
    let status = fields.required::<FeedbackStatus>("status");
    let wants = |wanted: FeedbackStatus| status.map(|status| status == wanted);
    let feedback = conditional::<Feedback>(&mut fields, "feedback", need(wants(FeedbackStatus::Success)));
    let error = conditional::<ReviewFailure>(&mut fields, "error", need(wants(FeedbackStatus::Error)));
    let decided = asked.map(|asked| asked.decided.is_some());
    let ack_need = match (status, decided) {
        (None, _) | (_, None) | (Some(FeedbackStatus::Error), Some(true)) => ResponseNeed::Allowed,
        (Some(FeedbackStatus::Success), Some(true)) => ResponseNeed::Required,
        (Some(_), Some(false)) => ResponseNeed::Unexpected,
    };
    let ack = conditional::<Ack>(&mut fields, "applied_feedback_ack", ack_need);
    if let (Some(_), Some(asked), ResponseNeed::Required | ResponseNeed::Allowed) = (status, asked, ack_need)
        && let Some(found) = node.get("applied_feedback_ack")
    {
        ack::complete(found, asked, fields.report().0);
    }
    let extra = fields.close();
    let outcome = match status? {
        FeedbackStatus::Success => ReviewOutcome::Success(feedback?),
        FeedbackStatus::Error => ReviewOutcome::Error(error?),
    };
    let nulls = ["feedback", "error", "applied_feedback_ack"]
        .into_iter()
        .filter(|name| node.get(name).is_some_and(JsonNode::is_null));
    let nulls = nulls.map(|name| (name.to_owned(), Value::Null));
    Some(Response { iteration: iteration?, outcome, ack, extra: extra.into_iter().chain(nulls).collect() })
}

/// The rule for a field of a review response: the response must, may or must not have the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseNeed {
    Required,
    Allowed,
    Unexpected,
}

/// Returns the rule for a field that belongs to only one status of a review response. For example, the field `error`
/// belongs to the status `error`. `own` tells whether the response has this status. When the status could not be read,
/// `own` is `None` and the field is allowed.
fn need(own: Option<bool>) -> ResponseNeed {
    match own {
        Some(true) => ResponseNeed::Required,
        Some(false) => ResponseNeed::Unexpected,
        None => ResponseNeed::Allowed,
    }
}

fn conditional<T: Shape>(
    fields: &mut ObjectFields<'_, '_, '_, '_>,
    name: &'static str,
    need: ResponseNeed,
) -> Option<T> {
    match need {
        ResponseNeed::Required => fields.required(name),
        ResponseNeed::Allowed => fields.maybe::<T>(name).and_then(|found| match found {
            crate::shape::Maybe::Is(value) => Some(value),
            crate::shape::Maybe::Absent | crate::shape::Maybe::Null => None,
        }),
        ResponseNeed::Unexpected => {
            let found = fields.find(name).filter(|node| !node.is_null())?;
            let (report, at) = fields.report();
            report.error("UNEXPECTED", &at.field(name), found.span, "does not belong here; remove it");
            None
        }
    }
}

impl Response {
    /// Returns a review response that says why the review failed. A `code` or `message` that is not legal is replaced
    /// by a default text.
    pub fn failure(asked: &AskedParts, code: &str, message: &str) -> Option<Self> {
        let text = |text: &str, other: &str| NonBlank::new(text).or_else(|| NonBlank::new(other));
        let (code, message) = (text(code, "INTERNAL_ERROR")?, text(message, "no reason was given")?);
        let failure = ReviewFailure { code, message, extra: ExtraFields::new() };
        let iteration = AnyInteger(asked.iteration().clone());
        Some(Self { iteration, outcome: ReviewOutcome::Error(failure), ack: None, extra: ExtraFields::new() })
    }

    pub fn render(&self) -> Value {
        let (status, part) = match &self.outcome {
            ReviewOutcome::Success(feedback) => (FeedbackStatus::Success, ("feedback", feedback.render())),
            ReviewOutcome::Error(failure) => (FeedbackStatus::Error, ("error", failure.render())),
        };
        let mut members: Object = vec![
            ("protocol_version".to_owned(), Version::V1_2.render()),
            ("iteration".to_owned(), self.iteration.render()),
            ("status".to_owned(), status.render()),
            (part.0.to_owned(), part.1),
        ];
        members.extend(self.ack.as_ref().map(|ack| ("applied_feedback_ack".to_owned(), ack.render())));
        members.extend(self.extra.iter().cloned());
        Value::Object(members)
    }

    pub fn schema() -> Value {
        let unknown = Unknown::Refused;
        let null = || object([("type", "null".into())]);
        let property = |name, presence, schema| schema::Property { name, presence, schema };
        use schema::FieldPresence::{maybe, required};
        let variant = |status: FeedbackStatus,
                       feedback: (schema::FieldPresence, Value),
                       error: (schema::FieldPresence, Value)| {
            schema::object(
                unknown,
                &[
                    property("protocol_version", required, Version::schema(unknown)),
                    property("iteration", required, AnyInteger::schema(unknown)),
                    property("status", required, object([("const", status.as_str().into())])),
                    property("feedback", feedback.0, feedback.1),
                    property("error", error.0, error.1),
                    property("applied_feedback_ack", maybe, Ack::schema(unknown)),
                ],
            )
        };
        let success = variant(FeedbackStatus::Success, (required, Feedback::schema(unknown)), (maybe, null()));
        let failure = variant(FeedbackStatus::Error, (maybe, null()), (required, ReviewFailure::schema(unknown)));
        object([("oneOf", vec![success, failure].into())])
    }
}
