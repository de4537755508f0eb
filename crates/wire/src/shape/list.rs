//! Types for the lists and maps in messages.

use super::Shape;
use crate::json::{JsonNode, Value, object};
use crate::report::{At, Report, Unknown};

/// A JSON array. Every item is read, so that the problems of all items are reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListShape<T>(pub Vec<T>);

impl<T> Default for ListShape<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Returns the items of a JSON array. When the value is not an array, returns `None` and adds an error to the report.
pub(crate) fn items<'n, 't>(
    node: &'n JsonNode<'t>,
    at: &At<'_>,
    report: &mut Report<'_>,
) -> Option<&'n [JsonNode<'t>]> {
    let found = node.list();
    if found.is_none() {
        report.error("TYPE", at, node.span, "must be an array");
    }
    found
}

impl<T: Shape> Shape for ListShape<T> {
    const LEGAL: &'static str = "an array, which may be empty";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let items = items(node, at, report)?;
        let mut read = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            read.extend(T::read(item, &at.item(index), report));
        }
        (read.len() == items.len()).then_some(Self(read))
    }

    fn render(&self) -> Value {
        Value::List(self.0.iter().map(Shape::render).collect())
    }

    fn schema(unknown: Unknown) -> Value {
        object([("type", "array".into()), ("items", T::schema(unknown))])
    }
}

/// A JSON array with at least one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtLeastOne<T>(pub Vec<T>);

impl<T: Shape> Shape for AtLeastOne<T> {
    const LEGAL: &'static str = "an array with at least one item";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let ListShape(items) = ListShape::read(node, at, report)?;
        if items.is_empty() {
            report.error("RANGE", at, node.span, "needs at least one item");
            return None;
        }
        Some(Self(items))
    }

    fn render(&self) -> Value {
        Value::List(self.0.iter().map(Shape::render).collect())
    }

    fn schema(unknown: Unknown) -> Value {
        object([("type", "array".into()), ("items", T::schema(unknown)), ("minItems", 1_u64.into())])
    }
}

/// A JSON object whose member names are not fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map<T>(pub Vec<(String, T)>);

impl<T: Shape> Shape for Map<T> {
    const LEGAL: &'static str = "an object, which may be empty";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let Some(members) = node.members() else {
            report.error("TYPE", at, node.span, "must be an object");
            return None;
        };
        let mut read = Vec::with_capacity(members.len());
        for member in members {
            let value = T::read(&member.node, &at.key(&member.name), report);
            read.extend(value.map(|value| (member.name.to_string(), value)));
        }
        (read.len() == members.len()).then_some(Self(read))
    }

    fn render(&self) -> Value {
        Value::Object(self.0.iter().map(|(name, value)| (name.clone(), value.render())).collect())
    }

    fn schema(unknown: Unknown) -> Value {
        object([("type", "object".into()), ("additionalProperties", T::schema(unknown))])
    }
}
