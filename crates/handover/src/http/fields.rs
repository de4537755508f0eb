//! Reads the fields of small JSON bodies and the parameters of queries. A wrong one is refused by its name.

use axum::body::Body;
use engine::Timestamp;
use wire::json::{Object, Value};

use super::intake;
use super::problem::{HttpProblem, invalid};

/// The fields of a request's body.
#[derive(Debug)]
pub(super) struct BodyFields {
    members: Object,
}

impl BodyFields {
    /// Reads a body that is a JSON object with no other fields than the named ones. An empty body has no fields.
    pub(super) async fn read(body: Body, known: &[&str]) -> Result<Self, HttpProblem> {
        Self::parse(&intake::whole(body, wire::document::BYTES_MAX).await?, known)
    }

    fn parse(body: &[u8], known: &[&str]) -> Result<Self, HttpProblem> {
        if body.is_empty() {
            return Ok(Self { members: Object::new() });
        }
        let text = std::str::from_utf8(body).map_err(|_| invalid("the body is not UTF-8"))?;
        let node = wire::json::parse_object(text)
            .map_err(|error| invalid(format!("the body is not a JSON object: {error}")))?;
        let Value::Object(members) = node.to_value() else { return Err(invalid("the body is not a JSON object")) };
        if let Some((name, _)) = members.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            return Err(invalid(format!("`{name}` is not a field of this request; {}", listed("field", known))));
        }
        Ok(Self { members })
    }

    fn get(&self, name: &str) -> Option<&Value> {
        let found = self.members.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        found.filter(|value| **value != Value::Null)
    }

    /// Returns a text that the request must have.
    pub(super) fn text(&self, name: &str) -> Result<String, HttpProblem> {
        self.some_text(name)?.ok_or_else(|| invalid(format!("`{name}` is required")))
    }

    /// Returns a text that the request may have.
    pub(super) fn some_text(&self, name: &str) -> Result<Option<String>, HttpProblem> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text.clone())),
            Some(_) => Err(invalid(format!("`{name}` must be a text"))),
        }
    }

    /// Returns a time in milliseconds since 1970 that the request must have. Null stands for no time.
    pub(super) fn time_or_null(&self, name: &str) -> Result<Option<Timestamp>, HttpProblem> {
        let wrong = || invalid(format!("`{name}` must be a time in milliseconds since 1970, or null"));
        match self.members.iter().find(|(known, _)| known == name).map(|(_, value)| value) {
            None => Err(invalid(format!("`{name}` is required: a time in milliseconds since 1970, or null"))),
            Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) => {
                let ms = number.as_u64().and_then(|ms| i64::try_from(ms).ok()).ok_or_else(wrong)?;
                Ok(Some(Timestamp(ms)))
            }
            Some(Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Object(_)) => Err(wrong()),
        }
    }

    /// Returns a list that the request may have. `read` reads one item, and returns `None` for a wrong one.
    pub(super) fn list<T>(
        &self,
        name: &str,
        of: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Vec<T>, HttpProblem> {
        let wrong = || invalid(format!("`{name}` must be a list of {of}"));
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::List(items)) => items.iter().map(|item| read(item).ok_or_else(wrong)).collect(),
            Some(_) => Err(wrong()),
        }
    }
}

/// Returns a number of JSON that is a whole number from 0 to the maximum of `u32`.
pub(super) fn small_number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Object(_) => None,
    }
}

/// The parameters of a request's query.
#[derive(Debug)]
pub(super) struct QueryFields {
    members: Vec<(String, String)>,
}

impl QueryFields {
    /// Reads a query with no other parameters than the named ones, each at most once.
    pub(super) fn read(query: Option<&str>, known: &[&str]) -> Result<Self, HttpProblem> {
        let parsed = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned();
        let mut members: Vec<(String, String)> = Vec::new();
        for (name, value) in parsed {
            if !known.contains(&name.as_str()) {
                let known = listed("parameter", known);
                return Err(invalid(format!("`{name}` is not a parameter of this request; {known}")));
            }
            if members.iter().any(|(other, _)| *other == name) {
                return Err(invalid(format!("`{name}` may be given only once")));
            }
            members.push((name, value));
        }
        Ok(Self { members })
    }

    /// Returns a parameter that is not empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.members.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        found.filter(|value| !value.is_empty())
    }

    /// Returns a parameter that is a whole number in a range, or `usual` when it is not given.
    pub(super) fn number(&self, name: &str, (least, most): (u64, u64), usual: u64) -> Result<u64, HttpProblem> {
        let Some(text) = self.text(name) else { return Ok(usual) };
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| invalid(format!("`{name}` must be a number from {least} to {most}")))
    }
}

/// Returns a sentence with the names that are allowed.
fn listed(kind: &str, known: &[&str]) -> String {
    match known {
        [] => format!("it has no {kind}s"),
        [only] => format!("the only {kind} is `{only}`"),
        several => format!("the {kind}s are {}", several.join(", ")),
    }
}
