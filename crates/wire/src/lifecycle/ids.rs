//! The engine's ids and other values that several tools take as arguments.

use engine::id::{
    AgentId, ApprovalId, CheckpointId, Ids, MessageId, RepositoryId, ReviewId, TaskId, TemplateId, ThreadId, TokenId,
    TurnId, WorkflowId, WorkspaceId,
};
use sha2::{Digest as _, Sha256};

use crate::envelope::AnyOrNull;
use crate::json::{JsonKind, JsonNode, Number, Value, object};
use crate::report::{At, Report, Unknown};
use crate::schema;
use crate::shape::{ListShape, Map, Shape};

/// An id of the engine, read from a text that a caller wrote. A text that is not a well-formed id is treated like an id
/// that does not exist: the call is refused, or, when the id is a filter of a list, the list is empty.
pub trait NamedId: Sized + std::str::FromStr + std::fmt::Display {
    /// Returns an id that is used in the place of a text that is not a well-formed id. Nothing in the store has this
    /// id. Equal texts give equal ids, so that two calls with the same text count as the same call.
    fn stand_in(text: &str) -> Self;
}

/// Returns the seed from which an id is made for a text that is not a well-formed id. The seed is a hash of the text.
/// Therefore the made id is very unlikely to equal an existing id.
fn seed(text: &str) -> u128 {
    let hash = Sha256::digest(text.as_bytes());
    hash.first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes))
}

/// Implements [`NamedId`] for the kinds of ids that callers can name in arguments.
macro_rules! named {
    ($($name:ty)*) => {$(
        impl NamedId for $name {
            fn stand_in(text: &str) -> Self {
                Self::next(&mut Ids::new(seed(text)))
            }
        }
    )*};
}

named! {
    TaskId AgentId WorkflowId WorkspaceId RepositoryId TemplateId MessageId ThreadId CheckpointId ReviewId ApprovalId
    TurnId TokenId
}

/// Declares the engine's ids as types of tool arguments, each with the prefix of its text, such as `tk` for a task.
macro_rules! known {
    ($($name:ty = $prefix:literal;)*) => {$(
        impl Shape for $name {
            const LEGAL: &'static str = concat!("an id such as ", $prefix, "_0123456789ab");

            fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
                const LEGAL: &str = concat!("must be ", $prefix, "_ and 12 characters of 0-9a-z");
                let text = crate::shape::string(node, at, report, LEGAL)?;
                if crate::text::is_blank(text) {
                    report.error("BLANK", at, node.span, LEGAL);
                    return None;
                }
                Some(text.parse().unwrap_or_else(|_| {
                    let id = <$name>::stand_in(text);
                    report.stand_in(id.to_string(), text);
                    id
                }))
            }

            fn render(&self) -> Value {
                self.to_string().into()
            }

            fn schema(_: Unknown) -> Value {
                schema::pattern(concat!("^", $prefix, "_[0-9a-z]{12}$"))
            }
        }
    )*};
}

known! {
    TaskId = "tk";
    AgentId = "ag";
    WorkflowId = "wf";
    WorkspaceId = "ws";
    RepositoryId = "rp";
    TemplateId = "tmpl";
    MessageId = "msg";
    ThreadId = "thr";
    CheckpointId = "cp";
    ReviewId = "ses";
}

/// Any JSON object, as the value of a tool's argument.
pub type DetailObject = Map<AnyOrNull>;

/// An integer from `MIN` to `MAX`, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Within<const MIN: u32, const MAX: u32>(pub u32);

impl<const MIN: u32, const MAX: u32> Shape for Within<MIN, MAX> {
    const LEGAL: &'static str = "an integer within its bounds";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let legal = || format!("must be an integer from {MIN} to {MAX}");
        let JsonKind::Number(text) = node.kind else {
            report.error("TYPE", at, node.span, legal());
            return None;
        };
        if !Number::is_integer_text(text) {
            report.error("TYPE", at, node.span, legal());
            return None;
        }
        let found = Number::of(text).as_u64().and_then(|number| u32::try_from(number).ok());
        let found = found.filter(|number| (MIN..=MAX).contains(number));
        if found.is_none() {
            report.error("RANGE", at, node.span, legal());
        }
        found.map(Self)
    }

    fn render(&self) -> Value {
        u64::from(self.0).into()
    }

    fn schema(_: Unknown) -> Value {
        let bound = |number: u32| Value::from(u64::from(number));
        object([("type", "integer".into()), ("minimum", bound(MIN)), ("maximum", bound(MAX))])
    }
}

/// The argument of a tool that limits the number of rows in the returned list.
pub type Limit = Within<1, 500>;
/// The number of an attempt at a task. Each claim of the task starts a new attempt, and the first attempt has the
/// number 1.
pub type AttemptNumber = Within<1, { u32::MAX }>;
/// The argument of a tool that gives the number of rows to skip at the start of a list.
pub type Offset = Within<0, { u32::MAX }>;

/// The body of a message: a text, or a JSON object that is passed on unchanged.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Text(String),
    Object(Value),
}

impl Shape for Body {
    const LEGAL: &'static str = "a string or an object";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        if let Some(text) = node.text() {
            return Some(Self::Text(text.to_owned()));
        }
        if node.members().is_some() {
            return Some(Self::Object(node.to_value()));
        }
        report.error("TYPE", at, node.span, "must be a string or an object");
        None
    }

    fn render(&self) -> Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Object(value) => value.clone(),
        }
    }

    fn schema(_: Unknown) -> Value {
        object([("type", vec!["string", "object"].into())])
    }
}

/// The value of a tool's argument that may be written as one value or as a list of values.
#[derive(Debug, Clone, PartialEq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T: Shape> Shape for OneOrMany<T> {
    const LEGAL: &'static str = "one value or an array of them";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        if node.list().is_some() {
            return ListShape::read(node, at, report).map(|ListShape(items)| Self(items));
        }
        T::read(node, at, report).map(|item| Self(vec![item]))
    }

    fn render(&self) -> Value {
        Value::List(self.0.iter().map(Shape::render).collect())
    }

    fn schema(unknown: Unknown) -> Value {
        object([("anyOf", vec![T::schema(unknown), ListShape::<T>::schema(unknown)].into())])
    }
}
