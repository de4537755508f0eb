//! Reads a JSON object field by field.

use super::Shape;
use crate::json::{JsonMember, JsonNode, Object, Span, Value};
use crate::report::{At, Report};

/// The keys of a JSON object that its type does not declare, with their values.
pub type ExtraFields = Object;

/// The value of a field that may be absent, and that may be null when it is present.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Maybe<T> {
    #[default]
    Absent,
    Null,
    Is(T),
}

impl<T> Maybe<T> {
    pub fn get(&self) -> Option<&T> {
        if let Self::Is(value) = self { Some(value) } else { None }
    }
}

impl<T> From<Option<T>> for Maybe<T> {
    fn from(found: Option<T>) -> Self {
        found.map_or(Self::Absent, Self::Is)
    }
}

impl<T: Shape> Maybe<T> {
    pub(crate) fn render(&self) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Null => Some(Value::Null),
            Self::Is(value) => Some(value.render()),
        }
    }
}

/// A JSON object whose fields are read one after the other.
#[derive(Debug)]
pub struct ObjectFields<'r, 'n, 't, 'x> {
    members: &'n [JsonMember<'t>],
    span: Span,
    at: &'r At<'r>,
    report: &'r mut Report<'x>,
    /// The names of the fields that were read so far. All other keys of the object are unknown.
    known: [&'static str; KNOWN_MAX],
    count: usize,
}

/// The maximum number of field names that are remembered for one object. Any further field would count as unknown, but
/// no declared object has so many fields.
const KNOWN_MAX: usize = 32;

impl<'r, 'n, 't, 'x> ObjectFields<'r, 'n, 't, 'x> {
    pub fn open(node: &'n JsonNode<'t>, at: &'r At<'r>, report: &'r mut Report<'x>) -> Option<Self> {
        let Some(members) = node.members() else {
            report.error("TYPE", at, node.span, "must be an object");
            return None;
        };
        Some(Self { members, span: node.span, at, report, known: [""; KNOWN_MAX], count: 0 })
    }

    /// Returns the value of a field and remembers the field's name as known.
    pub(crate) fn find(&mut self, name: &'static str) -> Option<&'n JsonNode<'t>> {
        if let Some(free) = self.known.get_mut(self.count) {
            *free = name;
            self.count += 1;
        }
        self.members.iter().find(|member| member.name == name).map(|member| &member.node)
    }

    fn missing<T: Shape>(&mut self, name: &'static str, found: Option<&JsonNode<'_>>) {
        let span = found.map_or(Span { start: self.span.start, end: self.span.start + 1 }, |node| node.span);
        self.report.error("MISSING", &self.at.field(name), span, T::LEGAL);
    }

    pub fn required<T: Shape>(&mut self, name: &'static str) -> Option<T> {
        match self.find(name) {
            Some(node) if !node.is_null() => T::read(node, &self.at.field(name), self.report),
            found => {
                self.missing::<T>(name, found);
                None
            }
        }
    }

    pub fn nullable<T: Shape>(&mut self, name: &'static str) -> Option<Option<T>> {
        match self.find(name) {
            None => {
                self.missing::<T>(name, None);
                None
            }
            Some(node) if node.is_null() => Some(None),
            Some(node) => T::read(node, &self.at.field(name), self.report).map(Some),
        }
    }

    pub fn optional<T: Shape>(&mut self, name: &'static str) -> Option<Option<T>> {
        let null_is_absent = self.report.takes_null_as_absent();
        match self.find(name) {
            None => Some(None),
            Some(node) if null_is_absent && node.is_null() => Some(None),
            Some(node) => T::read(node, &self.at.field(name), self.report).map(Some),
        }
    }

    /// Reads a field with the presence `also`: plan files may have such a field, but models do not need it. The field
    /// is read like an optional field. Only the schema for models leaves it out.
    pub fn also<T: Shape>(&mut self, name: &'static str) -> Option<Option<T>> {
        self.optional(name)
    }

    pub fn maybe<T: Shape>(&mut self, name: &'static str) -> Option<Maybe<T>> {
        match self.find(name) {
            None => Some(Maybe::Absent),
            Some(node) if node.is_null() => Some(Maybe::Null),
            Some(node) => T::read(node, &self.at.field(name), self.report).map(Maybe::Is),
        }
    }

    /// Returns the text of a field that is a JSON string, even when the text is not legal for the field.
    pub(crate) fn text(&self, name: &str) -> Option<&'n str> {
        self.members.iter().find(|member| member.name == name)?.node.text()
    }

    pub fn error(&mut self, kind: &'static str, hint: &'static str) {
        self.report.plain_error(kind, self.span, hint);
    }

    pub fn warning(&mut self, kind: &'static str, hint: &'static str) {
        self.report.plain_warning(kind, self.span, hint);
    }

    /// Adds a warning whose place is the object that is being read.
    pub fn warning_here(&mut self, kind: &'static str, hint: &'static str) {
        self.report.warning(kind, self.at, self.span, hint);
    }

    pub(crate) fn report(&mut self) -> (&mut Report<'x>, &'r At<'r>) {
        (self.report, self.at)
    }

    /// Ends the reading of an object. Reports the unknown members and returns them. A member is unknown when no field
    /// with its name was read before.
    pub fn close(self) -> ExtraFields {
        let known = |member: &&JsonMember<'t>| !self.known[..self.count].iter().any(|name| member.name == *name);
        let mut extra = ExtraFields::new();
        for member in self.members.iter().filter(known) {
            self.report.stray(&self.at.key(&member.name), &member.name, member.at);
            extra.push((member.name.to_string(), member.node.to_value()));
        }
        extra
    }
}
