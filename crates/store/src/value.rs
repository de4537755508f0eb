//! The values that SQL statements take and return. They are the same for every database.

use std::str::FromStr;

use engine::{Json, Timestamp};

use crate::fault::Fault;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SqlValue {
    Null,
    Int(i64),
    Text(String),
}

/// An SQL statement with its values. The SQL text is always a constant, so a backend can keep the statement prepared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    pub(crate) sql: &'static str,
    pub(crate) values: Vec<SqlValue>,
}

impl Statement {
    pub(crate) fn new(sql: &'static str, values: impl Into<Vec<SqlValue>>) -> Self {
        Self { sql, values: values.into() }
    }
}

impl From<i64> for SqlValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for SqlValue {
    fn from(number: u32) -> Self {
        Self::Int(i64::from(number))
    }
}

impl From<bool> for SqlValue {
    fn from(yes: bool) -> Self {
        Self::Int(i64::from(yes))
    }
}

impl From<Timestamp> for SqlValue {
    fn from(time: Timestamp) -> Self {
        Self::Int(time.0)
    }
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for SqlValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&String> for SqlValue {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&Json> for SqlValue {
    fn from(json: &Json) -> Self {
        Self::Text(json.as_str().to_owned())
    }
}

impl<T> From<Option<T>> for SqlValue
where
    Self: From<T>,
{
    fn from(found: Option<T>) -> Self {
        found.map_or(Self::Null, Self::from)
    }
}

/// Returns an item, such as an id, as an SQL text value. The text is the one that `Display` writes.
pub(crate) fn text(item: impl std::fmt::Display) -> SqlValue {
    SqlValue::Text(item.to_string())
}

pub(crate) fn optional(item: Option<impl std::fmt::Display>) -> SqlValue {
    item.map_or(SqlValue::Null, text)
}

/// Returns a list as JSON text. An empty list becomes NULL, so that a partial index can skip such rows.
pub(crate) fn list<T: serde::Serialize>(items: &[T]) -> SqlValue {
    if items.is_empty() { SqlValue::Null } else { serde_json::to_string(items).map_or(SqlValue::Null, SqlValue::Text) }
}

/// A reader of the values of a row, column by column. A value of the wrong kind leads to a [`Fault::Damaged`] that
/// names the column.
#[derive(Debug)]
pub(crate) struct Columns {
    table: &'static str,
    row: std::vec::IntoIter<SqlValue>,
    at: usize,
}

impl Columns {
    pub(crate) fn new(table: &'static str, row: Vec<SqlValue>) -> Self {
        Self { table, row: row.into_iter(), at: 0 }
    }

    fn next(&mut self) -> SqlValue {
        self.at += 1;
        self.row.next().unwrap_or(SqlValue::Null)
    }

    fn damaged<T>(&self, found: &str) -> Result<T, Fault> {
        Err(Fault::Damaged { what: format!("column {} of a row of {} holds {found}", self.at, self.table) })
    }

    pub(crate) fn maybe_text(&mut self) -> Result<Option<String>, Fault> {
        match self.next() {
            SqlValue::Null => Ok(None),
            SqlValue::Text(text) => Ok(Some(text)),
            SqlValue::Int(number) => self.damaged(&number.to_string()),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, Fault> {
        match self.maybe_text()? {
            Some(text) => Ok(text),
            None => self.damaged("null"),
        }
    }

    pub(crate) fn maybe_int(&mut self) -> Result<Option<i64>, Fault> {
        match self.next() {
            SqlValue::Null => Ok(None),
            SqlValue::Int(number) => Ok(Some(number)),
            SqlValue::Text(text) => self.damaged(&text),
        }
    }

    pub(crate) fn int(&mut self) -> Result<i64, Fault> {
        match self.maybe_int()? {
            Some(number) => Ok(number),
            None => self.damaged("null"),
        }
    }

    pub(crate) fn count(&mut self) -> Result<u32, Fault> {
        let number = self.int()?;
        u32::try_from(number).or_else(|_| self.damaged(&number.to_string()))
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Fault> {
        Ok(self.int()? != 0)
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp, Fault> {
        self.int().map(Timestamp)
    }

    pub(crate) fn maybe_time(&mut self) -> Result<Option<Timestamp>, Fault> {
        Ok(self.maybe_int()?.map(Timestamp))
    }

    pub(crate) fn parsed<T: FromStr>(&mut self) -> Result<T, Fault> {
        let text = self.text()?;
        text.parse().or_else(|_| self.damaged(&text))
    }

    pub(crate) fn maybe_parsed<T: FromStr>(&mut self) -> Result<Option<T>, Fault> {
        match self.maybe_text()? {
            None => Ok(None),
            Some(text) => text.parse().map(Some).or_else(|_| self.damaged(&text)),
        }
    }

    /// Reads a text that must be one word of a fixed list, such as a status.
    pub(crate) fn word<T>(&mut self, parse: impl Fn(&str) -> Option<T>) -> Result<T, Fault> {
        let text = self.text()?;
        match parse(&text) {
            Some(word) => Ok(word),
            None => self.damaged(&text),
        }
    }

    pub(crate) fn json(&mut self) -> Result<Option<Json>, Fault> {
        Ok(self.maybe_text()?.map(Json::from_stored))
    }

    pub(crate) fn list<T: serde::de::DeserializeOwned>(&mut self) -> Result<Vec<T>, Fault> {
        match self.maybe_text()? {
            None => Ok(Vec::new()),
            Some(text) => serde_json::from_str(&text).or_else(|_| self.damaged(&text)),
        }
    }

    pub(crate) fn value<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, Fault> {
        let text = self.text()?;
        serde_json::from_str(&text).or_else(|_| self.damaged(&text))
    }
}
