//! Builds JSON Schemas (2020-12) of messages. A schema covers only the rules that JSON Schema can express.

use crate::json::{Object, Value, object as literal};
use crate::report::Unknown;

/// The rule that says whether a field of an object may be absent and whether it may be null; see [`crate::shape`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the words of the declarations")]
pub enum FieldPresence {
    required,
    nullable,
    optional,
    maybe,
    also,
}

/// One field of an object: its name, the rule for its presence, and the JSON Schema of its value.
#[derive(Debug)]
pub struct Property {
    pub name: &'static str,
    pub presence: FieldPresence,
    pub schema: Value,
}

pub fn object(unknown: Unknown, properties: &[Property]) -> Value {
    let mut members = Object::new();
    let mut required = Vec::new();
    // Leave out the fields marked `also` in a schema that is made with `Warned`, such as the short schema for models.
    // Plan files may have these fields, but models do not need them.
    let is_told = |property: &&Property| unknown != Unknown::Warned || property.presence != FieldPresence::also;
    for property in properties.iter().filter(is_told) {
        let schema = match property.presence {
            FieldPresence::optional | FieldPresence::also if unknown.takes_null_as_absent() => {
                or_null(&property.schema)
            }
            FieldPresence::required | FieldPresence::optional | FieldPresence::also => property.schema.clone(),
            FieldPresence::nullable | FieldPresence::maybe => or_null(&property.schema),
        };
        members.push((property.name.to_owned(), schema));
        if matches!(property.presence, FieldPresence::required | FieldPresence::nullable) {
            required.push(property.name);
        }
    }
    let mut schema = vec![("type".to_owned(), "object".into()), ("properties".to_owned(), Value::Object(members))];
    if !required.is_empty() {
        schema.push(("required".to_owned(), required.into()));
    }
    match unknown {
        Unknown::Warned => {}
        Unknown::Refused => {
            schema.push(("patternProperties".to_owned(), literal([("^x-", true.into())])));
            schema.push(("additionalProperties".to_owned(), false.into()));
        }
        Unknown::Strict => schema.push(("additionalProperties".to_owned(), false.into())),
    }
    Value::Object(schema)
}

pub fn or_null(schema: &Value) -> Value {
    literal([("anyOf", vec![schema.clone(), literal([("type", "null".into())])].into())])
}

/// Returns a complete JSON Schema document for a message, with the schema dialect, a title and a description.
pub fn document(title: &str, about: &str, schema: Value) -> Value {
    let mut members = vec![
        ("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into()),
        ("title".to_owned(), title.into()),
        ("description".to_owned(), about.into()),
    ];
    if let Value::Object(rest) = schema {
        members.extend(rest);
    }
    Value::Object(members)
}

pub(crate) fn string() -> Value {
    literal([("type", "string".into())])
}

pub(crate) fn pattern(pattern: &str) -> Value {
    literal([("type", "string".into()), ("pattern", pattern.into())])
}

/// The Unicode white space characters, for use in a regular expression. `\s` is not used, because its meaning differs
/// between regular expression engines.
const SPACE: &str = "\\u0009-\\u000d\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

pub(crate) fn space() -> String {
    format!("[{SPACE}]")
}

pub(crate) fn not_blank() -> Value {
    pattern(&format!("[^{SPACE}]"))
}

/// Returns a lookahead for a regular expression. It requires that the text after the current position has a character
/// that is not white space.
pub(crate) fn somewhere_not_blank() -> String {
    format!("(?=[\\s\\S]*[^{SPACE}])")
}

pub(crate) fn id() -> String {
    format!("^[^{SPACE}]{{1,128}}$")
}
