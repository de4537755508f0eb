//! Shortens the JSON Schemas of tool arguments, because each of their tokens costs money in every conversation.

use crate::json::{Object, Value};

/// Removes the parts of a JSON Schema that a model does not need to make a legal call, such as patterns and bounds.
pub(super) fn slim(schema: &Value) -> Value {
    const LEFT_OUT: [&str; 6] = ["pattern", "minimum", "maximum", "minItems", "not", "additionalProperties"];
    match schema {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, value)| {
                let open = name == "additionalProperties" && matches!(value, Value::Object(inner) if inner.is_empty());
                !LEFT_OUT.contains(&name.as_str()) && !open
            });
            let mut kept: Object = kept.map(|(name, value)| (name.clone(), slim(value))).collect();
            // Add the missing `type` to a schema with an `enum`, because some model services reject a schema without
            // it.
            let has = |wanted: &str| kept.iter().any(|(name, _)| name == wanted);
            if has("enum") && !has("type") {
                kept.insert(0, ("type".to_owned(), "string".into()));
            }
            Value::Object(kept)
        }
        Value::List(items) => Value::List(items.iter().map(slim).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => schema.clone(),
    }
}
