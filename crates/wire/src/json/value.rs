//! JSON values that do not know their place in a text. Messages are built from such values.

use std::fmt;

use super::Number;

/// The members of a JSON object, in their original order.
pub type Object = Vec<(String, Value)>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Self>),
    Object(Object),
}

/// Creates a JSON object from pairs of a name and a value.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

impl Value {
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub fn as_list(&self) -> Option<&[Self]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    /// Returns true when two values are equal as JSON. The order of members does not matter, and numbers are compared
    /// by value.
    pub fn same(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }

    /// Returns a text that is the same for all values that are equal as JSON, such as `{"a":1,"b":2}` and
    /// `{"b":2,"a":1.0}`.
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        self.write_canonical(&mut text);
        text
    }

    fn write_canonical(&self, out: &mut String) {
        match self {
            Self::Number(number) => out.push_str(&number.canonical()),
            Self::Null | Self::Bool(_) | Self::Text(_) => out.push_str(&self.to_string()),
            Self::List(items) => {
                out.push('[');
                for item in items {
                    item.write_canonical(out);
                    out.push(',');
                }
                out.push(']');
            }
            Self::Object(members) => {
                let mut members: Vec<&(String, Self)> = members.iter().collect();
                members.sort_by(|left, right| left.0.cmp(&right.0));
                out.push('{');
                for (name, value) in members {
                    Self::Text(name.clone()).write_canonical(out);
                    out.push(':');
                    value.write_canonical(out);
                    out.push(',');
                }
                out.push('}');
            }
        }
    }

    /// Writes the value as indented JSON on several lines, for people.
    pub fn pretty(&self) -> String {
        let mut text = String::new();
        self.write_pretty(&mut text, 0);
        text.push('\n');
        text
    }

    fn write_pretty(&self, out: &mut String, depth: usize) {
        let indent = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        match self {
            Self::List(items) if !items.is_empty() => {
                out.push('[');
                for (number, item) in items.iter().enumerate() {
                    out.push_str(if number > 0 { "," } else { "" });
                    indent(out, depth + 1);
                    item.write_pretty(out, depth + 1);
                }
                indent(out, depth);
                out.push(']');
            }
            Self::Object(members) if !members.is_empty() => {
                out.push('{');
                for (number, (name, value)) in members.iter().enumerate() {
                    out.push_str(if number > 0 { "," } else { "" });
                    indent(out, depth + 1);
                    out.push_str(&Self::Text(name.clone()).to_string());
                    out.push_str(": ");
                    value.write_pretty(out, depth + 1);
                }
                indent(out, depth);
                out.push('}');
            }
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) | Self::Object(_) => {
                out.push_str(&self.to_string());
            }
        }
    }
}

/// Writes compact JSON without blanks. Names and numbers keep their original spelling.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(yes) => write!(f, "{yes}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => quote(text, f),
            Self::List(items) => {
                f.write_str("[")?;
                for (number, item) in items.iter().enumerate() {
                    f.write_str(if number > 0 { "," } else { "" })?;
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (number, (name, value)) in members.iter().enumerate() {
                    f.write_str(if number > 0 { "," } else { "" })?;
                    quote(name, f)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

pub(super) fn quote(text: &str, f: &mut impl fmt::Write) -> fmt::Result {
    f.write_char('"')?;
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=0x1f => "",
            _ => continue,
        };
        f.write_str(&text[start..at])?;
        if short.is_empty() {
            write!(f, "\\u{byte:04x}")?
        } else {
            f.write_str(short)?
        }
        start = at + 1;
    }
    f.write_str(&text[start..])?;
    f.write_char('"')
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Self {
        Self::Bool(yes)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(found: Option<T>) -> Self {
        found.map_or(Self::Null, Into::into)
    }
}
