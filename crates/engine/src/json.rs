//! JSON that the engine stores but does not read. It is kept as compact text, so that loading a row does not parse it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// A JSON value as compact text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Json(String);

impl Json {
    /// Takes a text that this type wrote earlier, for example from a column of a database. The text is not checked.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the parsed value. Returns null for a text that is not JSON, which can only come from a damaged row.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or(Value::Null)
    }

    /// Returns `base` with the members of `patch`, which replace members of the same name. Only the first level is
    /// merged: a nested object is replaced as a whole.
    pub fn merged(base: Option<&Self>, patch: &Self) -> Self {
        let mut members = match base.map(Self::value) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        };
        if let Value::Object(patch) = patch.value() {
            members.extend(patch);
        }
        Self::from(&Value::Object(members))
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        Self(value.to_string())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::from(&value))
    }
}
