//! Types for the booleans, numbers and texts in messages.

use super::Shape;
use crate::json::{JsonKind, JsonNode, Number, Value, object};
use crate::report::{At, Report, Unknown, at_least};
use crate::schema;
use crate::text;

/// Returns the text of a JSON string. When the value is not a string, returns `None` and adds an error to the report.
pub(crate) fn string<'n>(
    node: &'n JsonNode<'_>,
    at: &At<'_>,
    report: &mut Report<'_>,
    wanted: &'static str,
) -> Option<&'n str> {
    let found = node.text();
    if found.is_none() {
        report.error("TYPE", at, node.span, wanted);
    }
    found
}

/// Any JSON value except null. A field of this type may be null only if the declaration of the field allows null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Any(pub Value);

impl Shape for Any {
    const LEGAL: &'static str = "any JSON value but null";

    fn read(node: &JsonNode<'_>, _: &At<'_>, _: &mut Report<'_>) -> Option<Self> {
        Some(Self(node.to_value()))
    }

    fn render(&self) -> Value {
        self.0.clone()
    }

    fn schema(_: Unknown) -> Value {
        object([("not", object([("type", "null".into())]))])
    }
}

pub type Bool = bool;

impl Shape for bool {
    const LEGAL: &'static str = "true or false";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        if let JsonKind::Bool(yes) = node.kind {
            return Some(yes);
        }
        report.error("TYPE", at, node.span, "must be true or false");
        None
    }

    fn render(&self) -> Value {
        (*self).into()
    }

    fn schema(_: Unknown) -> Value {
        object([("type", "boolean".into())])
    }
}

/// An integer of any size that is at least `MIN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integer<const MIN: i64>(Number);

impl<const MIN: i64> Integer<MIN> {
    pub fn new(number: u64) -> Option<Self> {
        let number = Number::from(number);
        number.compare(&Number::from(MIN)).is_ge().then_some(Self(number))
    }

    pub fn number(&self) -> &Number {
        &self.0
    }
}

impl<const MIN: i64> Shape for Integer<MIN> {
    const LEGAL: &'static str = if MIN == 0 { "an integer of at least 0" } else { "an integer of at least 1" };

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let wanted = if MIN == 0 { "must be an integer of at least 0" } else { "must be an integer of at least 1" };
        match node.kind {
            JsonKind::Number(text) if Number::is_integer_text(text) => {
                if at_least(text, MIN) {
                    return Some(Self(Number::of(text)));
                }
                report.error("RANGE", at, node.span, wanted);
            }
            JsonKind::Null
            | JsonKind::Bool(_)
            | JsonKind::Number(_)
            | JsonKind::Text(_)
            | JsonKind::List(_)
            | JsonKind::Object(_) => {
                report.error("TYPE", at, node.span, wanted);
            }
        }
        None
    }

    fn render(&self) -> Value {
        self.0.clone().into()
    }

    fn schema(_: Unknown) -> Value {
        object([("type", "integer".into()), ("minimum", Value::Number(MIN.into()))])
    }
}

/// A number of any size that is at least 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure(Number);

impl Measure {
    pub fn new(number: f64) -> Option<Self> {
        Number::try_from(number).ok().filter(|_| number >= 0.0).map(Self)
    }

    pub fn number(&self) -> &Number {
        &self.0
    }
}

impl Shape for Measure {
    const LEGAL: &'static str = "a number of at least 0";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let JsonKind::Number(text) = node.kind else {
            report.error("TYPE", at, node.span, "must be a number of at least 0");
            return None;
        };
        if at_least(text, 0) {
            return Some(Self(Number::of(text)));
        }
        report.error("RANGE", at, node.span, "must be a number of at least 0");
        None
    }

    fn render(&self) -> Value {
        self.0.clone().into()
    }

    fn schema(_: Unknown) -> Value {
        object([("type", "number".into()), ("minimum", Value::Number(0_i64.into()))])
    }
}

/// Declares types of texts. The declaration of each type has the check that decides which texts are legal.
macro_rules! texts {
    ($($(#[$attribute:meta])* $name:ident $(<const $max:ident>)?: $read:expr, $schema:expr, $legal:expr;)*) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name$(<const $max: usize>)?(String);

        impl$(<const $max: usize>)? $name$(<$max>)? {
            /// Creates a value of this type from a text. Returns `None` when the text is not legal.
            pub fn new(text: impl Into<String>) -> Option<Self> {
                let text = text.into();
                Self::is_legal(&text).then_some(Self(text))
            }

            pub fn is_legal(text: &str) -> bool {
                let judge: fn(&str) -> Result<(), (&'static str, crate::report::Hint)> = $read;
                judge(text).is_ok()
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl$(<const $max: usize>)? std::fmt::Display for $name$(<$max>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl$(<const $max: usize>)? $crate::shape::Shape for $name$(<$max>)? {
            const LEGAL: &'static str = $legal;

            fn read(
                node: &$crate::json::JsonNode<'_>,
                at: &$crate::report::At<'_>,
                report: &mut $crate::report::Report<'_>,
            ) -> Option<Self> {
                let found = $crate::shape::string(node, at, report, "must be a string")?;
                let judge: fn(&str) -> Result<(), (&'static str, crate::report::Hint)> = $read;
                match judge(found) {
                    Ok(()) => Some(Self(found.to_owned())),
                    Err((kind, hint)) => {
                        report.error(kind, at, node.span, hint);
                        None
                    }
                }
            }

            fn render(&self) -> $crate::json::Value {
                self.0.as_str().into()
            }

            fn schema(_: $crate::report::Unknown) -> $crate::json::Value {
                $schema
            }
        }
    )*};
}
pub(crate) use texts;

fn not_blank(text: &str) -> Result<(), (&'static str, crate::report::Hint)> {
    if text::is_blank(text) { Err(("BLANK", "must not be blank".into())) } else { Ok(()) }
}

fn sentences(text: &str, max: usize) -> Result<(), (&'static str, crate::report::Hint)> {
    not_blank(text)?;
    if text::sentences_over(text, max) {
        let plural = if max == 1 { "one sentence".to_owned() } else { format!("at most {max} sentences") };
        return Err(("TOO_LONG", format!("must be {plural}; shorten it").into()));
    }
    Ok(())
}

fn words(text: &str, max: usize) -> Result<(), (&'static str, crate::report::Hint)> {
    let count = text.split_whitespace().count();
    if count > max {
        return Err(("TOO_LONG", format!("has {count} words; at most {max} are allowed").into()));
    }
    Ok(())
}

texts! {
    /// Any string.
    Text: |_| Ok(()), schema::string(), "a string";
    NonBlank: not_blank, schema::not_blank(), "a string that is not blank";
    /// A text that is not blank, with at most `MAX` sentences.
    Sentences<const MAX>: |text| sentences(text, MAX), schema::not_blank(), match MAX {
        1 => "one sentence",
        2 => "one or two sentences",
        _ => "at most three sentences",
    };
    /// A text with at most `MAX` words. It may be blank.
    Words<const MAX>: |text| words(text, MAX), schema::string(), "a string of at most 200 words";
    /// A text with at most `MAX` words that is not blank.
    Summary<const MAX>: |text| not_blank(text).and_then(|()| words(text, MAX)), schema::not_blank(),
        "a string that is not blank, of at most 150 words";
}
