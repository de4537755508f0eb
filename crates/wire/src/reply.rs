//! Parts of the replies of tools: values that are written as JSON and describe themselves as a JSON Schema. They are
//! never read from JSON.

use engine::id::{
    AgentId, ApprovalId, CheckpointId, MessageId, RepositoryId, ReviewId, TaskId, TemplateId, ThreadId, TokenId,
    TurnId, WorkflowId, WorkspaceId,
};
use engine::{Json, Timestamp};

use crate::json::{Number, Value, object, parse};

/// A part of a tool's reply: a value that can be rendered as JSON and has a JSON Schema.
pub trait ReplyPart {
    fn render(&self) -> Value;

    fn schema() -> Value;
}

fn kind(name: &str) -> Value {
    object([("type", name.into())])
}

macro_rules! plain {
    ($($name:ty as $kind:literal: $render:expr;)*) => {$(
        impl ReplyPart for $name {
            fn render(&self) -> Value {
                let render: fn(&$name) -> Value = $render;
                render(self)
            }

            fn schema() -> Value {
                kind($kind)
            }
        }
    )*};
}

plain! {
    String as "string": |text| text.as_str().into();
    bool as "boolean": |yes| (*yes).into();
    u32 as "integer": |number| u64::from(*number).into();
    u64 as "integer": |number| (*number).into();
    Timestamp as "integer": |time| Value::Number(Number::from(time.0));
    AgentId as "string": |id| id.to_string().into();
    CheckpointId as "string": |id| id.to_string().into();
    MessageId as "string": |id| id.to_string().into();
    RepositoryId as "string": |id| id.to_string().into();
    ReviewId as "string": |id| id.to_string().into();
    TaskId as "string": |id| id.to_string().into();
    TemplateId as "string": |id| id.to_string().into();
    ThreadId as "string": |id| id.to_string().into();
    TokenId as "string": |id| id.to_string().into();
    ApprovalId as "string": |id| id.to_string().into();
    TurnId as "string": |id| id.to_string().into();
    WorkflowId as "string": |id| id.to_string().into();
    WorkspaceId as "string": |id| id.to_string().into();
}

impl ReplyPart for &'static str {
    fn render(&self) -> Value {
        (*self).into()
    }

    fn schema() -> Value {
        kind("string")
    }
}

/// Renders JSON text from the store as a value of a tool's reply. The numbers in it keep their spelling.
impl ReplyPart for Json {
    fn render(&self) -> Value {
        parse(self.as_str()).map_or(Value::Null, |node| node.to_value())
    }

    fn schema() -> Value {
        Value::Object(Vec::new())
    }
}

/// Renders any JSON value unchanged as part of a tool's reply.
impl ReplyPart for Value {
    fn render(&self) -> Value {
        self.clone()
    }

    fn schema() -> Value {
        Value::Object(Vec::new())
    }
}

/// Renders a value that is absent as null in a tool's reply.
impl<T: ReplyPart> ReplyPart for Option<T> {
    fn render(&self) -> Value {
        self.as_ref().map_or(Value::Null, ReplyPart::render)
    }

    fn schema() -> Value {
        let Value::Object(members) = T::schema() else { return Value::Object(Vec::new()) };
        match members.as_slice() {
            [] => Value::Object(members),
            [(name, Value::Text(kind))] if name == "type" => object([("type", vec![kind.as_str(), "null"].into())]),
            _ => object([("anyOf", vec![Value::Object(members), kind("null")].into())]),
        }
    }
}

impl<T: ReplyPart> ReplyPart for Vec<T> {
    fn render(&self) -> Value {
        Value::List(self.iter().map(ReplyPart::render).collect())
    }

    fn schema() -> Value {
        object([("type", "array".into()), ("items", T::schema())])
    }
}

/// A JSON object in a tool's reply whose member names are not fixed.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedParts<T>(pub Vec<(String, T)>);

impl<T: ReplyPart> ReplyPart for NamedParts<T> {
    fn render(&self) -> Value {
        Value::Object(self.0.iter().map(|(name, value)| (name.clone(), value.render())).collect())
    }

    fn schema() -> Value {
        object([("type", "object".into()), ("additionalProperties", T::schema())])
    }
}

/// Declares a JSON object of a tool's reply. A field declared as `field: T` is always written; if `T` is an `Option`
/// without a value, null is written. A field declared as `field: some T` is left out when it has no value.
macro_rules! reply {
    ($(#[$attribute:meta])* pub struct $name:ident { $($body:tt)* }) => {
        $crate::reply::reply!(@fields $(#[$attribute])* $name [] $($body)*);
    };
    (@fields $(#[$attribute:meta])* $name:ident [$($done:tt)*] $field:ident: some $kind:ty, $($rest:tt)*) => {
        $crate::reply::reply!(@fields $(#[$attribute])* $name [$($done)* (some $field $kind)] $($rest)*);
    };
    (@fields $(#[$attribute:meta])* $name:ident [$($done:tt)*] $field:ident: $kind:ty, $($rest:tt)*) => {
        $crate::reply::reply!(@fields $(#[$attribute])* $name [$($done)* (all $field $kind)] $($rest)*);
    };
    (@fields $(#[$attribute:meta])* $name:ident [$(($how:ident $field:ident $kind:ty))*]) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $(pub $field: $crate::reply::reply!(@type $how $kind),)* }

        impl $crate::reply::ReplyPart for $name {
            fn render(&self) -> $crate::json::Value {
                let members = [$($crate::reply::reply!(@write $how $field, self.$field),)*];
                $crate::json::Value::Object(members.into_iter().flatten().collect())
            }

            fn schema() -> $crate::json::Value {
                let properties = vec![$((stringify!($field).to_owned(), <$kind as $crate::reply::ReplyPart>::schema()),)*];
                let required = [$($crate::reply::reply!(@require $how $field),)*];
                let required: Vec<&str> = required.into_iter().flatten().collect();
                let mut schema = vec![
                    ("type".to_owned(), "object".into()),
                    ("properties".to_owned(), $crate::json::Value::Object(properties)),
                ];
                if !required.is_empty() {
                    schema.push(("required".to_owned(), required.into()));
                }
                $crate::json::Value::Object(schema)
            }
        }
    };
    (@type some $kind:ty) => { Option<$kind> };
    (@type all $kind:ty) => { $kind };
    (@write some $field:ident, $value:expr) => {
        $value.as_ref().map(|value| (stringify!($field).to_owned(), $crate::reply::ReplyPart::render(value)))
    };
    (@write all $field:ident, $value:expr) => {
        Some((stringify!($field).to_owned(), $crate::reply::ReplyPart::render(&$value)))
    };
    (@require some $field:ident) => { None };
    (@require all $field:ident) => { Some(stringify!($field)) };
}
pub(crate) use reply;
