//! Finds the id, the method and the tool in the text of a long message, without keeping the message in memory.
//!
//! Clients write the members of a message in any order, and some put the id last. So this module reads the text to its
//! end, piece by piece, with a few bytes of memory. It does not check the text, because the result is used only for an
//! error message and for the maximum length.

use rmcp::model::RequestId;

use super::limits::{MESSAGE_BYTES_DEFAULT, MESSAGE_BYTES_MAX};

/// The maximum number of bytes that are kept of a JSON key or value. A longer one is ignored, because all keys and
/// values that this module looks for are shorter.
const TOKEN_BYTES_MAX: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Skim {
    depth: u32,
    text: SkimmedText,
    /// The bytes of the JSON string or number that is being read, or that was read last.
    token: Vec<u8>,
    token_kind: TokenKind,
    /// At the top level of the message, the key whose value is read next. `inner` is the key inside of `params` whose
    /// value is read next.
    top: SkimmedKey,
    inner: SkimmedKey,
    id: Option<RequestId>,
    method: Option<String>,
    tool: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum SkimmedText {
    #[default]
    Outside,
    Inside,
    Escaped,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    #[default]
    None,
    String,
    Bare,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum SkimmedKey {
    #[default]
    Other,
    Id,
    Method,
    Params,
    Name,
}

impl Skim {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match self.text {
                SkimmedText::Inside => self.inside(byte),
                SkimmedText::Escaped => {
                    self.keep(byte);
                    self.text = SkimmedText::Inside;
                }
                SkimmedText::Outside => self.outside(byte),
            }
        }
    }

    pub(super) fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    /// Returns the maximum length of the message in bytes, as far as it is known from the part of the message that was
    /// read so far. While it is not known which tool the message calls, this is the largest maximum of all messages.
    pub(super) fn bytes_max(&self, of: impl Fn(&str) -> usize) -> usize {
        match (self.tool(), self.method.as_deref()) {
            (Some(tool), _) => of(tool).min(MESSAGE_BYTES_MAX),
            (None, Some("tools/call") | None) => MESSAGE_BYTES_MAX,
            (None, Some(_)) => MESSAGE_BYTES_DEFAULT,
        }
    }

    /// Returns the maximum length in bytes of a message that was read to its end. For a message that calls no tool,
    /// this is the default maximum.
    pub(super) fn bytes_max_in_the_end(&self, of: impl Fn(&str) -> usize) -> usize {
        self.tool().map_or(MESSAGE_BYTES_DEFAULT, |tool| of(tool).min(MESSAGE_BYTES_MAX))
    }

    fn tool(&self) -> Option<&str> {
        self.tool.as_deref().filter(|_| self.method.as_deref() == Some("tools/call"))
    }

    fn inside(&mut self, byte: u8) {
        match byte {
            b'"' => self.text = SkimmedText::Outside,
            b'\\' => {
                self.keep(byte);
                self.text = SkimmedText::Escaped;
            }
            _ => self.keep(byte),
        }
    }

    fn outside(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.token.clear();
                self.token_kind = TokenKind::String;
                self.text = SkimmedText::Inside;
            }
            b':' => self.key(),
            b',' | b'}' | b']' => {
                self.value();
                if byte != b',' {
                    self.depth = self.depth.saturating_sub(1);
                }
            }
            b'{' | b'[' => {
                self.depth = self.depth.saturating_add(1);
                self.token_kind = TokenKind::None;
                self.inner = SkimmedKey::Other;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                if self.token_kind != TokenKind::Bare {
                    self.token.clear();
                    self.token_kind = TokenKind::Bare;
                }
                self.keep(byte);
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        // Keeps up to one byte more than the maximum. The additional byte shows that the key or value is too long, and
        // this module looks for no key or value that is so long.
        if self.depth <= 2 && self.token.len() <= TOKEN_BYTES_MAX {
            self.token.push(byte);
        }
    }

    fn key(&mut self) {
        let key = match (self.depth, self.token.as_slice()) {
            (1, b"id") => SkimmedKey::Id,
            (1, b"method") => SkimmedKey::Method,
            (1, b"params") => SkimmedKey::Params,
            (2, b"name") if self.top == SkimmedKey::Params => SkimmedKey::Name,
            _ => SkimmedKey::Other,
        };
        match self.depth {
            1 => self.top = key,
            2 => self.inner = key,
            _ => {}
        }
        self.token_kind = TokenKind::None;
    }

    fn value(&mut self) {
        let kind = std::mem::take(&mut self.token_kind);
        if kind == TokenKind::None || self.token.len() > TOKEN_BYTES_MAX {
            return;
        }
        let Ok(text) = std::str::from_utf8(&self.token) else { return };
        let string = || serde_json::from_str::<String>(&format!("\"{text}\"")).ok();
        match (self.depth, if self.depth == 1 { self.top } else { self.inner }) {
            (1, SkimmedKey::Id) => {
                self.id = match kind {
                    TokenKind::String => string().map(|id| RequestId::String(id.into())),
                    TokenKind::Bare => text.parse().ok().map(RequestId::Number),
                    TokenKind::None => None,
                };
            }
            (1, SkimmedKey::Method) => self.method = string(),
            (2, SkimmedKey::Name) => self.tool = string(),
            (_, SkimmedKey::Id | SkimmedKey::Method | SkimmedKey::Params | SkimmedKey::Name | SkimmedKey::Other) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_any_order_and_in_pieces_of_any_size() {
        let long = "x".repeat(5_000);
        let table: &[(String, Option<RequestId>, Option<&str>)] = &[
            (
                format!(
                    r#"{{"id":7,"method":"tools/call","params":{{"name":"a","arguments":{{"id":9,"t":"{long}"}}}}}}"#
                ),
                Some(RequestId::Number(7)),
                Some("a"),
            ),
            (
                format!(
                    r#"{{"params":{{"arguments":{{"name":"no","x":["{long}"]}},"name":"b"}},"method":"tools/call","id":"i\"d"}}"#
                ),
                Some(RequestId::String("i\"d".into())),
                Some("b"),
            ),
            (format!(r#"{{ "method" : "ping" , "params" : {{"name":"c","x":"{long}"}} }}"#), None, None),
            (format!(r#"["id",7,"{long}"]"#), None, None),
            (
                format!(r#"{{"id":"{long}","method":"tools/call","params":{{"name":"\u0061\"}}","y":1}}}}"#),
                None,
                Some("a\"}"),
            ),
        ];
        for (text, id, tool) in table {
            for size in [1, 3, 64, 100_000] {
                let mut skim = Skim::default();
                text.as_bytes().chunks(size).for_each(|piece| skim.feed(piece));
                assert_eq!((skim.id(), skim.tool()), (id.as_ref(), *tool), "{}", &text[..60]);
            }
        }
    }
}
