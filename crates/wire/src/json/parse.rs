//! The parser for RFC 8259. It reports every violation of the grammar as an error with a place.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};

use super::{JsonKind, JsonMember, JsonNode, Span};

/// The size in bytes above which a JSON text counts as large. In a large text, each object frees the memory that it
/// reserved but does not use, because the unused memory of many objects would add up.
const LARGE_BYTES: usize = 1 << 20;

/// The maximum nesting depth of a JSON value. A text with deeper nesting is refused. The top value is level 1.
pub const DEPTH_MAX: usize = 128;
/// The size limit of a JSON text in bytes. A larger text is refused, because the offsets of values are stored in four
/// bytes.
const TEXT_MAX: usize = u32::MAX as usize;

/// The reason why a text is not JSON, and the place of the error. The line and the column count from 1. The column
/// counts characters, not bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    pub line: usize,
    pub column: usize,
    /// The offset of the syntax error in bytes from the beginning of the text.
    pub at: usize,
    pub problem: Cow<'static, str>,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.problem)
    }
}

impl std::error::Error for SyntaxError {}

/// Reads a text that must be exactly one JSON value. Nothing except white space may follow the value.
pub fn parse(text: &str) -> Result<JsonNode<'_>, SyntaxError> {
    let mut parser = Parser { text, bytes: text.as_bytes(), at: 0, depth: 0 };
    parser.whole().map_err(|problem| {
        let problem = problem.words(text, parser.at);
        SyntaxError::at(text, parser.at, problem)
    })
}

/// Reads a text that must be one JSON object. Returns `None`, without a reason, when the text is not one.
pub(crate) fn object_or_none(text: &str) -> Option<JsonNode<'_>> {
    let mut parser = Parser { text, bytes: text.as_bytes(), at: 0, depth: 0 };
    parser.whole().ok().filter(|node| matches!(node.kind, JsonKind::Object(_)))
}

/// Reads a text that must be one JSON object. The error says why the text is not one, and at which line and column.
pub fn parse_object(text: &str) -> Result<JsonNode<'_>, SyntaxError> {
    let node = parse(text)?;
    if matches!(node.kind, JsonKind::Object(_)) {
        return Ok(node);
    }
    let problem = format!("the top must be a JSON object {{...}}; found {}", node.noun());
    let at = usize::try_from(node.span.start).unwrap_or(0);
    Err(SyntaxError::at(text, at, problem.into()))
}

impl SyntaxError {
    fn at(text: &str, at: usize, problem: Cow<'static, str>) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        Self { line, column: before[line_start..].chars().count() + 1, at, problem }
    }

    /// Returns the error for bytes that are not UTF-8. `at` is the offset of the first wrong byte.
    pub(crate) fn not_utf8(bytes: &[u8], at: usize) -> Self {
        let before = String::from_utf8_lossy(bytes.get(..at).unwrap_or_default());
        Self { at, ..Self::at(&before, before.len(), "these bytes are not UTF-8 text".into()) }
    }
}

struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    depth: usize,
}

/// A JSON syntax error whose message is not made yet. The message is made only when it is needed, because a stream of
/// JSON lines may have half a million bad lines.
enum Wrong {
    Plain(&'static str),
    /// The parser expected this part of JSON's grammar, but the JSON text has another character there, or it ends.
    Expected(&'static str),
    Twice(Box<str>),
}

impl Wrong {
    fn words(self, text: &str, at: usize) -> Cow<'static, str> {
        match self {
            Self::Plain(words) => words.into(),
            Self::Expected(wanted) => match text.get(at..).and_then(|rest| rest.chars().next()) {
                Some(found) => format!("expected {wanted}, found {found:?}").into(),
                None => format!("the text ends where {wanted} is expected").into(),
            },
            Self::Twice(name) => format!("the key {name:?} comes twice in one object").into(),
        }
    }
}

impl From<&'static str> for Wrong {
    fn from(words: &'static str) -> Self {
        Self::Plain(words)
    }
}

type Parsed<T> = Result<T, Wrong>;

impl<'t> Parser<'t> {
    fn whole(&mut self) -> Parsed<JsonNode<'t>> {
        if self.bytes.len() > TEXT_MAX {
            return Err("the text is too long".into());
        }
        if self.text.starts_with('\u{feff}') {
            return Err("a byte order mark before the JSON; leave it out".into());
        }
        self.blank();
        let node = self.value()?;
        self.blank();
        if self.at < self.bytes.len() { Err("there is more text after the JSON value".into()) } else { Ok(node) }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn span(&self, start: usize) -> Span {
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { start: place(start), end: place(self.at) }
    }

    fn value(&mut self) -> Parsed<JsonNode<'t>> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::list)?,
            Some(b'"') => JsonKind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => JsonKind::Number(self.number()?),
            Some(b't') => self.word("true", JsonKind::Bool(true))?,
            Some(b'f') => self.word("false", JsonKind::Bool(false))?,
            Some(b'n') => self.word("null", JsonKind::Null)?,
            Some(b'/' | b'#') => return Err("JSON has no comments".into()),
            Some(b'\'') => return Err("strings are written in double quotes".into()),
            Some(_) => return Err(Wrong::Expected("a value")),
            None => return Err(Wrong::Expected("a value")),
        };
        Ok(JsonNode { span: self.span(start), kind })
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Parsed<JsonKind<'t>>) -> Parsed<JsonKind<'t>> {
        if self.depth == DEPTH_MAX {
            return Err("nested deeper than 128 levels".into());
        }
        self.depth += 1;
        self.at += 1;
        let kind = inner(self)?;
        self.at += 1;
        self.depth -= 1;
        Ok(kind)
    }

    /// Reads a JSON list from the position after its opening bracket up to and including its closing bracket.
    fn list(&mut self) -> Parsed<JsonKind<'t>> {
        self.blank();
        if self.peek() == Some(b']') {
            return Ok(JsonKind::List(Vec::new()));
        }
        // Reserve memory for one element only, because hostile documents have many lists with one element. The memory
        // of a longer list grows with its elements.
        let mut items = Vec::with_capacity(1);
        loop {
            self.blank();
            if !items.is_empty() && self.peek() == Some(b']') {
                return Err("a comma before `]`; leave it out".into());
            }
            items.push(self.value()?);
            self.blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => return Ok(JsonKind::List(items)),
                _ => return Err(Wrong::Expected("`,` or `]`")),
            }
        }
    }

    fn object(&mut self) -> Parsed<JsonKind<'t>> {
        let mut members: Vec<JsonMember<'t>> = Vec::new();
        let mut names = ObjectNames::default();
        self.blank();
        if self.peek() == Some(b'}') {
            return Ok(JsonKind::Object(members));
        }
        loop {
            self.blank();
            let start = self.at;
            match self.peek() {
                Some(b'"') => {}
                Some(b'}') => return Err("a comma before `}`; leave it out".into()),
                Some(b'/' | b'#') => return Err("JSON has no comments".into()),
                _ => return Err(Wrong::Expected("a key in double quotes")),
            }
            let name = self.string()?;
            if !names.add(&members, &name) {
                self.at = start;
                return Err(Wrong::Twice(name.chars().take(64).collect()));
            }
            let at = self.span(start);
            self.blank();
            if self.peek() != Some(b':') {
                return Err(Wrong::Expected("`:`"));
            }
            self.at += 1;
            self.blank();
            let node = self.value()?;
            members.push(JsonMember { name, at, node });
            self.blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    if self.bytes.len() > LARGE_BYTES {
                        members.shrink_to_fit();
                    }
                    return Ok(JsonKind::Object(members));
                }
                _ => return Err(Wrong::Expected("`,` or `}`")),
            }
        }
    }

    fn word(&mut self, word: &'static str, kind: JsonKind<'t>) -> Parsed<JsonKind<'t>> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Wrong::Expected("a value"));
        }
        self.at += word.len();
        Ok(kind)
    }

    fn digits(&mut self) -> Parsed<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(Wrong::Expected("a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Parsed<&'t str> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err("a number does not begin with 0".into());
            }
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn string(&mut self) -> Parsed<Cow<'t, str>> {
        self.at += 1;
        let mut owned: Option<String> = None;
        let mut start = self.at;
        loop {
            let found = self.bytes[self.at..].iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            let Some(far) = found else {
                self.at = self.bytes.len();
                return Err("the text ends inside a string".into());
            };
            self.at += far;
            match self.bytes[self.at] {
                b'"' => {
                    let last = &self.text[start..self.at];
                    self.at += 1;
                    return Ok(match owned {
                        None => Cow::Borrowed(last),
                        Some(text) => Cow::Owned(text + last),
                    });
                }
                b'\\' => {
                    let text = owned.get_or_insert_default();
                    text.push_str(&self.text[start..self.at]);
                    text.push(self.escape()?);
                    start = self.at;
                }
                _ => return Err("a control character in a string; write it as an escape such as \\n".into()),
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        let begin = self.at;
        self.at += 1;
        let plain = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(begin),
            _ => return Err(Wrong::Expected("an escape: one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX")),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode(&mut self, begin: usize) -> Parsed<char> {
        let first = self.hex()?;
        let lone = "half of a surrogate pair alone; write both halves or the character itself";
        let code = match first {
            0xd800..=0xdbff => {
                if self.bytes.get(self.at..self.at + 2) != Some(br"\u") {
                    self.at = begin;
                    return Err(lone.into());
                }
                self.at += 1;
                let second = self.hex()?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    self.at = begin;
                    return Err(lone.into());
                }
                0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            other => other,
        };
        char::from_u32(code).ok_or_else(|| {
            self.at = begin;
            lone.into()
        })
    }

    /// Reads the four hexadecimal digits of an escape such as `\u00e9`. The current position is at the `u`.
    fn hex(&mut self) -> Parsed<u32> {
        let digits = self.text.get(self.at + 1..self.at + 5).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(digits) = digits else { return Err("four hexadecimal digits follow \\u".into()) };
        self.at += 5;
        u32::from_str_radix(digits, 16).map_err(|_| "four hexadecimal digits follow \\u".into())
    }
}

/// The names of one JSON object, to find a name that occurs twice. In an object with few names, the names are compared
/// directly. In an object with many names, their hashes are compared first.
#[derive(Default)]
struct ObjectNames(Option<(RandomState, HashSet<u64>)>);

impl ObjectNames {
    const FEW: usize = 16;

    /// Adds the name of a member. Returns true when the object does not have a member with this name yet.
    fn add(&mut self, members: &[JsonMember<'_>], name: &str) -> bool {
        if members.len() < Self::FEW {
            return members.iter().all(|member| member.name != name);
        }
        let (hasher, seen) = self.0.get_or_insert_with(|| {
            let hasher = RandomState::new();
            let seen = members.iter().map(|member| hasher.hash_one(&*member.name)).collect();
            (hasher, seen)
        });
        // If the hash is known, the name is probably repeated. The names are compared to be certain, because two
        // different names can have the same hash.
        seen.insert(hasher.hash_one(name)) || members.iter().all(|member| member.name != name)
    }
}
