//! Finds the lines of a YAML file that belong to a key.

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use serde_json::{Map, Value};

use crate::setup::want::FileError;

/// The largest indentation of a line in columns. A deeper file is refused, because the reader is recursive and needs a
/// limit. No real configuration is so deep.
const COLUMNS_MAX: usize = 400;

/// A parsed YAML file, in two forms: as nodes that know their lines, and as a value.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) root: YamlNode,
    pub(super) value: Value,
}

/// A key of a YAML file, with the lines of its value (counted from 0) and the keys below it.
#[derive(Debug)]
pub(super) struct YamlNode {
    pub(super) key: String,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) column: usize,
    /// `true` if the value is written in brackets or braces, such as `{a: 1}`, and not as indented lines.
    pub(super) flow: bool,
    kind: LineKind,
    pub(super) children: Vec<YamlNode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Table,
    Nothing,
    Other,
}

impl Outline {
    pub(super) fn read(text: &str) -> Result<Self, FileError> {
        // The YAML parser limits the depth of brackets, but not of indented blocks. A block's depth is at most the
        // number of characters before the first word of a line, so limit the number of these characters.
        let deep = |line: &str| line.find(|c| !" -?:\t".contains(c)).unwrap_or(line.len()) > COLUMNS_MAX;
        if let Some(line) = text.lines().position(deep) {
            return Err(FileError { line: line + 1, problem: "the file is nested too deeply".to_owned() });
        }
        let documents = MarkedYaml::load_from_str(text).map_err(|error| FileError {
            line: error.marker().line().max(1),
            problem: format!("not valid YAML: {}", error.info()),
        })?;
        let mut documents = documents.into_iter();
        let first = documents.next();
        if let Some(second) = documents.next() {
            let problem = "the file has two YAML documents; keep one".to_owned();
            return Err(FileError { line: second.span.start.line().max(1), problem });
        }
        let lines = text.lines().collect::<Vec<_>>();
        let root = YamlNode {
            key: String::new(),
            first: 0,
            last: lines.len().saturating_sub(1),
            column: 0,
            flow: first.as_ref().is_some_and(|node| flow(node, &lines)),
            kind: first.as_ref().map_or(LineKind::Nothing, kind),
            children: first.as_ref().map_or_else(Vec::new, |node| children(node, &lines)),
        };
        Ok(Self { root, value: first.as_ref().map_or(Value::Null, value) })
    }
}

impl YamlNode {
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.key == key)
    }

    pub(super) fn trouble(&self, problem: &str) -> FileError {
        FileError { line: self.first + 1, problem: problem.to_owned() }
    }

    /// Refuses a YAML node that is not a mapping, and a mapping that has its entries in braces on one line.
    pub(super) fn must_be_table(&self, name: &str) -> Result<(), FileError> {
        match self.kind {
            LineKind::Other => Err(self.trouble(&format!("{name} must be a mapping"))),
            LineKind::Table if self.flow && !self.children.is_empty() => {
                Err(self.trouble(&format!("{name} is written on one line; put each entry on its own lines")))
            }
            LineKind::Table | LineKind::Nothing => Ok(()),
        }
    }
}

/// Returns the lines of a text, each with its line end.
pub(super) fn of(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// Returns the line end that a text uses: `\r\n` if the text has at least one `\r\n`, otherwise `\n`.
pub(super) fn end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Changes a line `key: {}` to `key:`, and keeps its comment.
pub(super) fn without_value(line: &str) -> String {
    let Some((key, rest)) = line.split_once(':') else { return line.to_owned() };
    match rest.find('#') {
        Some(comment) => format!("{key}: {}", &rest[comment..]),
        None => format!("{key}:{}", if line.ends_with("\r\n") { "\r\n" } else { "\n" }),
    }
}

/// Returns the YAML lines for a key and its value, indented by `column` blanks.
pub(super) fn render(key: &str, value: &Value, column: usize) -> Vec<String> {
    let pad = " ".repeat(column);
    match value {
        Value::Object(table) if !table.is_empty() => {
            let below = table.iter().flat_map(|(key, value)| render(key, value, column + 2));
            std::iter::once(format!("{pad}{key}:")).chain(below).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| format!("{pad}- {}", scalar(item)));
            std::iter::once(format!("{pad}{key}:")).chain(items).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            vec![format!("{pad}{key}: {}", scalar(value))]
        }
    }
}

/// Returns a value as YAML. A text without special characters is written without quotes. Everything else is written as
/// JSON, which is valid YAML.
fn scalar(value: &Value) -> String {
    let plain = |text: &str| {
        let safe = |c: char| c.is_ascii_alphanumeric() || "_/.- ".contains(c);
        let word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') && text.chars().all(safe);
        let reserved = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
        word && text.trim() == text && !reserved.contains(&text.to_lowercase().as_str())
    };
    match value.as_str() {
        Some(text) if plain(text) => text.to_owned(),
        Some(_) | None => value.to_string(),
    }
}

fn kind(node: &MarkedYaml<'_>) -> LineKind {
    match &node.data {
        YamlData::Mapping(_) => LineKind::Table,
        YamlData::Value(Scalar::Null) => LineKind::Nothing,
        YamlData::Value(_)
        | YamlData::Representation(..)
        | YamlData::Sequence(_)
        | YamlData::Tagged(..)
        | YamlData::Alias(_)
        | YamlData::BadValue => LineKind::Other,
    }
}

fn flow(node: &MarkedYaml<'_>, lines: &[&str]) -> bool {
    let start = node.span.start;
    let line = lines.get(start.line().saturating_sub(1));
    line.and_then(|line| line.chars().nth(start.col())).is_some_and(|first| first == '{' || first == '[')
}

fn children(node: &MarkedYaml<'_>, lines: &[&str]) -> Vec<YamlNode> {
    let YamlData::Mapping(table) = &node.data else { return Vec::new() };
    let child = |(key, value): (&MarkedYaml<'_>, &MarkedYaml<'_>)| {
        let first = key.span.start.line().saturating_sub(1);
        YamlNode {
            key: key.data.as_str().unwrap_or_default().to_owned(),
            first,
            last: last(value, lines).max(first),
            column: key.span.start.col(),
            flow: flow(value, lines),
            kind: kind(value),
            children: children(value, lines),
        }
    };
    table.iter().map(child).collect()
}

/// Returns the last line of a YAML node. The parser reports that a block ends where the next node begins, so use the
/// ends of the innermost nodes instead.
fn last(node: &MarkedYaml<'_>, lines: &[&str]) -> usize {
    let own = {
        let (start, end) = (node.span.start, node.span.end);
        let over = end.col() == 0 && end.line() > start.line();
        end.line().saturating_sub(if over { 2 } else { 1 })
    };
    match &node.data {
        YamlData::Mapping(table) if !flow(node, lines) => {
            let ends = table.iter().map(|(key, value)| last(key, lines).max(last(value, lines)));
            ends.max().unwrap_or(own)
        }
        YamlData::Sequence(items) if !flow(node, lines) => {
            items.iter().map(|item| last(item, lines)).max().unwrap_or(own)
        }
        // Ignore a missing value: the parser reports its place as the start of the next node.
        YamlData::Value(Scalar::Null) if node.span.is_empty() => 0,
        YamlData::Mapping(_)
        | YamlData::Sequence(_)
        | YamlData::Value(_)
        | YamlData::Representation(..)
        | YamlData::Tagged(..)
        | YamlData::Alias(_)
        | YamlData::BadValue => own,
    }
}

fn value(node: &MarkedYaml<'_>) -> Value {
    match &node.data {
        YamlData::Value(Scalar::Null) => Value::Null,
        YamlData::Value(Scalar::Boolean(value)) => Value::from(*value),
        YamlData::Value(Scalar::Integer(value)) => Value::from(*value),
        YamlData::Value(Scalar::FloatingPoint(value)) => Value::from(value.into_inner()),
        YamlData::Value(Scalar::String(value)) => Value::from(value.as_ref()),
        YamlData::Sequence(items) => items.iter().map(value).collect(),
        YamlData::Mapping(table) => {
            let name = |key: &MarkedYaml<'_>| {
                let key = value(key);
                key.as_str().map_or_else(|| key.to_string(), str::to_owned)
            };
            Value::Object(table.iter().map(|(key, item)| (name(key), value(item))).collect::<Map<_, _>>())
        }
        YamlData::Tagged(tag, inner) => Value::from(vec![Value::from(format!("{tag:?}")), value(inner)]),
        YamlData::Representation(text, ..) => Value::from(text.as_ref()),
        YamlData::Alias(_) | YamlData::BadValue => Value::Null,
    }
}
