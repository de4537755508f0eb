//! The stream in which a review tool sends its output, one JSON object per line. A reader takes the bytes of the stream
//! piece by piece as they arrive.
//!
//! ```
//! use wire::stream::{Frame, StreamReader};
//!
//! let text = r#"{"protocol_version":"1.2","iteration":1,"status":"error","error":{"code":"X","message":"y"}}"#;
//! let mut bytes = Frame::start("ses_1", 1_761_021_546_015).line();
//! bytes += &Frame::text("ses_1", 1_761_021_546_020, text).line();
//! let mut reader = StreamReader::new();
//! for piece in bytes.as_bytes().chunks(7) {
//!     reader.feed(piece);
//! }
//! let read = reader.end();
//! assert!(read.is_valid());
//! assert_eq!(read.line, Some(2));
//! ```

use std::io::Read;

use crate::json::{JsonNode, Number, Object, Value, object, object_or_none};
use crate::text::is_blank;

/// The maximum number of bytes of one line of a review tool's output, without the line end. Reading stops at a longer
/// line.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// One line of a review tool's output, parsed according to its `type`.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    Start {
        session: String,
        at_ms: Number,
        part: Object,
    },
    Text {
        session: String,
        at_ms: Number,
        text: String,
        part: Object,
    },
    Finish {
        session: String,
        at_ms: Number,
        cost: Number,
        tokens: Value,
        part: Object,
    },
    /// A line of an unknown type, or a line of a known type that lacks some of its fields. Readers of the stream ignore
    /// it.
    Other(Value),
}

impl Frame {
    pub fn start(session: &str, at_ms: u64) -> Self {
        Self::Start { session: session.to_owned(), at_ms: at_ms.into(), part: Object::new() }
    }

    pub fn text(session: &str, at_ms: u64, text: &str) -> Self {
        let (session, text) = (session.to_owned(), text.to_owned());
        Self::Text { session, at_ms: at_ms.into(), text, part: Object::new() }
    }

    pub fn finish(session: &str, at_ms: u64, cost: Number, tokens: Value) -> Self {
        Self::Finish { session: session.to_owned(), at_ms: at_ms.into(), cost, tokens, part: Object::new() }
    }

    /// Returns the frame as one line of JSON with its line end, as a review tool writes it to its output.
    pub fn line(&self) -> String {
        let whole = |kind: &str, session: &str, at_ms: &Number, own: Object, rest: &Object| {
            let part = own.into_iter().chain(rest.iter().cloned()).collect();
            object([
                ("type", kind.into()),
                ("timestamp", at_ms.clone().into()),
                ("sessionID", session.into()),
                ("part", Value::Object(part)),
            ])
        };
        let own = |name: &str, value: Value| (name.to_owned(), value);
        let value = match self {
            Self::Start { session, at_ms, part } => whole("step_start", session, at_ms, Object::new(), part),
            Self::Text { session, at_ms, text, part } => {
                whole("text", session, at_ms, vec![own("text", text.as_str().into())], part)
            }
            Self::Finish { session, at_ms, cost, tokens, part } => {
                let numbers = vec![own("cost", cost.clone().into()), own("tokens", tokens.clone())];
                whole("step_finish", session, at_ms, numbers, part)
            }
            Self::Other(value) => value.clone(),
        };
        format!("{value}\n")
    }

    fn read(node: &JsonNode<'_>) -> Self {
        let parts = || {
            let session = node.get("sessionID")?.text()?.to_owned();
            let Value::Number(at_ms) = node.get("timestamp")?.to_value() else { return None };
            let Value::Object(mut part) = node.get("part")?.to_value() else { return None };
            let mut take = |name: &str| {
                let place = part.iter().position(|(found, _)| found == name)?;
                Some(part.remove(place).1)
            };
            Some(match node.get("type")?.text()? {
                "step_start" => Self::Start { session, at_ms, part },
                "text" => match take("text")? {
                    Value::Text(text) => Self::Text { session, at_ms, text, part },
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Object(_) => return None,
                },
                "step_finish" => match (take("cost")?, take("tokens")?) {
                    (Value::Number(cost), tokens) => Self::Finish { session, at_ms, cost, tokens, part },
                    _ => return None,
                },
                _ => return None,
            })
        };
        parts().unwrap_or_else(|| Self::Other(node.to_value()))
    }
}

/// A reader that gets the output of a review tool in pieces. It keeps only the current line and the last review
/// response.
#[derive(Debug, Default)]
pub struct StreamReader {
    line: Vec<u8>,
    number: u64,
    bad: Vec<u64>,
    seen: SeenFrames,
    response: Option<(u64, String)>,
    too_long: Option<u64>,
}

/// The number of lines of each type that a reader has seen. The error message about a stream without a review response
/// shows these numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SeenFrames {
    starts: u64,
    texts: u64,
    finishes: u64,
    others: u64,
}

impl StreamReader {
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads more bytes of the stream. Returns false when reading has stopped because a line is too long.
    pub fn feed(&mut self, bytes: &[u8]) -> bool {
        self.feed_all(bytes, None)
    }

    /// Reads more bytes like [`Self::feed`], and passes every frame (parsed line) to `each` with its line number.
    pub fn feed_with(&mut self, bytes: &[u8], mut each: impl FnMut(u64, Frame)) -> bool {
        self.feed_all(bytes, Some(&mut each))
    }

    fn feed_all(&mut self, mut bytes: &[u8], mut each: Option<&mut dyn FnMut(u64, Frame)>) -> bool {
        while self.too_long.is_none() && !bytes.is_empty() {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() > LINE_BYTES_MAX {
                self.too_long = Some(self.number + 1);
                self.line = Vec::new();
                break;
            }
            match end {
                // A line that is complete within `bytes` is read without a copy. Only a line that spans several calls
                // is copied.
                Some(end) if self.line.is_empty() => {
                    self.give(piece, &mut each);
                    bytes = &bytes[end + 1..];
                }
                Some(end) => {
                    self.line.extend_from_slice(piece);
                    let line = std::mem::take(&mut self.line);
                    self.give(&line, &mut each);
                    bytes = &bytes[end + 1..];
                }
                None => {
                    self.line.extend_from_slice(piece);
                    break;
                }
            }
        }
        self.too_long.is_none()
    }

    fn give(&mut self, line: &[u8], each: &mut Option<&mut dyn FnMut(u64, Frame)>) {
        let frame = self.take(line, each.is_some());
        if let (Some(each), Some(frame)) = (each, frame) {
            each(self.number, frame);
        }
    }

    /// Reads one line of the stream. Records the line as bad when it is neither blank nor a JSON object, and keeps its
    /// text when it is a review response. When `wanted` is true and the line is a JSON object, returns its frame, which
    /// is the parsed line.
    fn take(&mut self, line: &[u8], wanted: bool) -> Option<Frame> {
        self.number += 1;
        let Ok(text) = std::str::from_utf8(line) else {
            self.bad.push(self.number);
            return None;
        };
        if is_blank(text) {
            return None;
        }
        let Some(node) = object_or_none(text) else {
            self.bad.push(self.number);
            return None;
        };
        let kind = node.get("type").and_then(JsonNode::text);
        let count = match kind {
            Some("step_start") => &mut self.seen.starts,
            Some("text") => &mut self.seen.texts,
            Some("step_finish") => &mut self.seen.finishes,
            _ => &mut self.seen.others,
        };
        *count += 1;
        if kind == Some("text")
            && let Some(answer) = node.get("part").and_then(|part| part.get("text")?.text())
            && object_or_none(answer).is_some_and(|answer| answer.get("protocol_version").is_some())
        {
            self.response = Some((self.number, answer.to_owned()));
        }
        wanted.then(|| Frame::read(&node))
    }

    /// Ends the stream and returns the result. A last line without a line end is read, too.
    pub fn end(mut self) -> Transcript {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.give(&line, &mut None);
        }
        let response = self.response.filter(|_| self.too_long.is_none());
        let (line, response) = response.map_or((None, None), |(line, text)| (Some(line), Some(text)));
        Transcript { response, line, bad: self.bad, too_long: self.too_long, seen: self.seen }
    }
}

/// The result of reading the output of a review tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The text of the last review response in the tool's output; `None` if the output has no response.
    pub response: Option<String>,
    pub line: Option<u64>,
    bad: Vec<u64>,
    too_long: Option<u64>,
    seen: SeenFrames,
}

impl Transcript {
    pub fn is_valid(&self) -> bool {
        self.response.is_some()
    }

    /// Returns the result as the JSON object `{valid, errors, warnings, messages, response, line}`.
    pub fn to_value(&self) -> Value {
        let entry = |code: &str, message: String| object([("code", code.into()), ("message", message.into())]);
        let (mut errors, mut messages) = (Vec::new(), Vec::new());
        if let Some(line) = self.too_long {
            errors.push(format!("LINE_TOO_LONG:{line}"));
            let message = format!("line {line} is longer than {LINE_BYTES_MAX} bytes; reading stopped there");
            messages.push(entry(&errors[0], message));
        } else if self.response.is_none() {
            errors.push("NO_RESPONSE".to_owned());
            messages.push(entry("NO_RESPONSE", self.nothing()));
        }
        let warnings: Vec<String> = self.bad.iter().map(|line| format!("BAD_LINE:{line}")).collect();
        let bad = |(code, line): (&String, &u64)| entry(code, format!("line {line} is not a JSON object"));
        messages.extend(warnings.iter().zip(&self.bad).map(bad));
        let response = self.response.as_deref().and_then(|text| Some(object_or_none(text)?.to_value()));
        object([
            ("valid", self.is_valid().into()),
            ("errors", errors.into()),
            ("warnings", warnings.into()),
            ("messages", Value::List(messages)),
            ("response", response.unwrap_or(Value::Null)),
            ("line", self.line.into()),
        ])
    }

    fn nothing(&self) -> String {
        let SeenFrames { starts, texts, finishes, others } = self.seen;
        format!(
            "no `text` line holds a response (a JSON object with `protocol_version` as the string in `part.text`); seen: \
             {starts} step_start, {texts} text, {finishes} step_finish, {others} other and {} bad lines",
            self.bad.len()
        )
    }
}

/// Reads the whole output of a review tool from a source.
pub fn read(mut from: impl Read) -> std::io::Result<Transcript> {
    let mut reader = StreamReader::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(reader.end()),
            Ok(length) => {
                if !reader.feed(&buffer[..length]) {
                    return Ok(reader.end());
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the JSON Schema of the lines that Handover's own review tools write.
pub fn schema() -> Value {
    let text = || object([("type", "string".into())]);
    let frame = |kind: &str, part: Vec<(&str, Value)>| {
        let required: Vec<&str> = part.iter().map(|(name, _)| *name).collect();
        let properties: Object = part.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
        let part = object([
            ("type", "object".into()),
            ("properties", Value::Object(properties)),
            ("required", required.into()),
        ]);
        object([
            ("type", "object".into()),
            (
                "properties",
                object([
                    ("type", object([("const", kind.into())])),
                    ("timestamp", object([("type", "integer".into())])),
                    ("sessionID", text()),
                    ("part", part),
                ]),
            ),
            ("required", vec!["type", "timestamp", "sessionID", "part"].into()),
        ])
    };
    let number = object([("type", "number".into())]);
    let finish = vec![("cost", number), ("tokens", object([("type", "object".into())]))];
    let frames =
        vec![frame("step_start", Vec::new()), frame("text", vec![("text", text())]), frame("step_finish", finish)];
    object([("oneOf", frames.into())])
}
