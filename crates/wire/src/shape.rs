//! Shapes: types that read themselves from a document, write themselves as JSON, and describe themselves as a JSON
//! Schema.
//!
//! The macro `message!` declares an object once, line by line like its table in the protocol's specification. The
//! reader checks the fields in the order of these lines. The JSON Schema is made from the same lines.

mod arguments;
mod basic;
mod fields;
mod list;
mod words;

pub use arguments::{AgentName, CommonArguments, CommonField, CommonFields};
pub use basic::{Any, Bool, Integer, Measure, NonBlank, Sentences, Summary, Text, Words};
pub(crate) use basic::{string, texts};
pub use fields::{ExtraFields, Maybe, ObjectFields};
pub(crate) use list::items;
pub use list::{AtLeastOne, ListShape, Map};
pub use words::{AgentSlug, Id, NeverDoes, Route, Slug};

use crate::json::{JsonNode, Value};
use crate::report::{At, Report, Unknown};

/// A type that can only hold legal values. It can be read from JSON, rendered as JSON and described by a JSON Schema.
pub trait Shape: Sized {
    /// A description of the legal values, such as "a string". The message about a missing value puts it after "must
    /// be".
    const LEGAL: &'static str;

    /// Reads a value of this type from JSON. When the JSON is not legal, returns `None` and adds the reason to the
    /// report.
    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self>;

    /// Renders the value as JSON. Reading that JSON again gives the same value.
    fn render(&self) -> Value;

    /// Returns the JSON Schema of this type's legal values, as far as a schema can describe them.
    fn schema(unknown: Unknown) -> Value;
}

/// Declares a JSON object once. The macro makes its type, its reader, its writer and its schema. It also implements
/// [`CommonFields`], which gives access to the arguments that many tools have, such as the calling agent.
///
/// Each line is `field: presence Shape`, or `field = "name": presence Shape` when the name in JSON differs from the
/// field's name. The presences are:
/// - `required`: the field is present and not null.
/// - `nullable`: the key is present, its value may be null.
/// - `optional`: the field may be absent, but not null. In the arguments of tools, null counts as absent.
/// - `maybe`: the field may be absent or null.
/// - `also`: like `optional`, but the short schema that models get leaves the field out, because it would cost tokens
///   in every conversation. This presence is for fields that plan files may have and that models do not need.
///
/// The part `judge` has the rules that involve several fields. It runs after all fields were read. Each field is an
/// `Option` there, which is `None` when the field could not be read.
macro_rules! message {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[$about:meta])* $field:ident $(= $key:literal)? : $presence:ident $shape:ty,)*
        }
        $(judge($fields:ident) $judge:block)?
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[$about])* pub $field: message!(@type $presence $shape),)*
            /// The keys of the JSON object that the declaration of this message does not list, with their values
            /// unchanged.
            pub extra: $crate::shape::ExtraFields,
        }

        impl $crate::shape::Shape for $name {
            const LEGAL: &'static str =
                concat!("an object with" $(, message!(@legal $presence $field $($key)?))*);

            fn read(
                node: &$crate::json::JsonNode<'_>,
                at: &$crate::report::At<'_>,
                report: &mut $crate::report::Report<'_>,
            ) -> Option<Self> {
                let mut all = $crate::shape::ObjectFields::open(node, at, report)?;
                $(let $field = all.$presence::<$shape>(message!(@key $field $($key)?));)*
                $(let $fields = &mut all; $judge)?
                let extra = all.close();
                Some(Self { $($field: $field?,)* extra })
            }

            fn render(&self) -> $crate::json::Value {
                let mut members = $crate::json::Object::new();
                $(message!(@write $presence self.$field, message!(@key $field $($key)?), members);)*
                members.extend(self.extra.iter().cloned());
                $crate::json::Value::Object(members)
            }

            fn schema(unknown: $crate::report::Unknown) -> $crate::json::Value {
                $crate::schema::object(unknown, &[
                    $($crate::schema::Property {
                        name: message!(@key $field $($key)?),
                        presence: $crate::schema::FieldPresence::$presence,
                        schema: <$shape as $crate::shape::Shape>::schema(unknown),
                    },)*
                ])
            }
        }

        impl $crate::shape::CommonFields for $name {
            fn common(&self) -> $crate::shape::CommonArguments {
                $crate::shape::CommonArguments::default()$(.with(message!(@common $field self.$field)))*
            }
        }
    };
    (@common agent_id $value:expr) => { $crate::shape::CommonField::agent($value.as_ref()) };
    (@common session_id $value:expr) => { $crate::shape::CommonField::session(&$value) };
    (@common idempotency_key $value:expr) => { $crate::shape::CommonField::key(&$value) };
    (@common $field:ident $value:expr) => { $crate::shape::CommonField::Own };
    (@legal required $field:ident $key:literal) => { concat!(" `", $key, "`") };
    (@legal required $field:ident) => { concat!(" `", stringify!($field), "`") };
    (@legal nullable $field:ident) => { concat!(" `", stringify!($field), "`") };
    (@legal $presence:ident $field:ident $($key:literal)?) => { "" };
    (@key $field:ident $key:literal) => { $key };
    (@key $field:ident) => { stringify!($field) };
    (@type required $shape:ty) => { $shape };
    (@type nullable $shape:ty) => { Option<$shape> };
    (@type optional $shape:ty) => { Option<$shape> };
    (@type also $shape:ty) => { Option<$shape> };
    (@type maybe $shape:ty) => { $crate::shape::Maybe<$shape> };
    (@write required $value:expr, $key:expr, $members:ident) => {
        $members.extend([($key.to_owned(), $crate::shape::Shape::render(&$value))]);
    };
    (@write nullable $value:expr, $key:expr, $members:ident) => {
        let value = $value.as_ref().map_or($crate::json::Value::Null, $crate::shape::Shape::render);
        $members.extend([($key.to_owned(), value)]);
    };
    (@write optional $value:expr, $key:expr, $members:ident) => {
        $members.extend($value.as_ref().map(|value| ($key.to_owned(), $crate::shape::Shape::render(value))));
    };
    (@write also $value:expr, $key:expr, $members:ident) => {
        message!(@write optional $value, $key, $members);
    };
    (@write maybe $value:expr, $key:expr, $members:ident) => {
        $members.extend($value.render().map(|value| ($key.to_owned(), value)));
    };
}
pub(crate) use message;

/// Declares an enum whose values are the words of a fixed list.
macro_rules! vocabulary {
    ($(#[$attribute:meta])* pub enum $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$about])* $variant,)* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            pub fn parse(text: &str) -> Option<Self> {
                match text { $($word => Some(Self::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl $crate::shape::Shape for $name {
            const LEGAL: &'static str = concat!("one of", $(" `", $word, "`",)*);

            fn read(
                node: &$crate::json::JsonNode<'_>,
                at: &$crate::report::At<'_>,
                report: &mut $crate::report::Report<'_>,
            ) -> Option<Self> {
                const LEGAL: &str = concat!("must be one of", $(" `", $word, "`",)*);
                let Some(text) = node.text() else {
                    report.error("TYPE", at, node.span, LEGAL);
                    return None;
                };
                let found = Self::parse(text);
                if found.is_none() {
                    report.error("ENUM", at, node.span, LEGAL);
                }
                found
            }

            fn render(&self) -> $crate::json::Value {
                self.as_str().into()
            }

            fn schema(_: $crate::report::Unknown) -> $crate::json::Value {
                $crate::json::object([("enum", vec![$($word),*].into())])
            }
        }
    };
}
pub(crate) use vocabulary;
