//! Media types by the grammar of RFC 6838 and RFC 2045.

use crate::report::Hint;
use crate::schema;
use crate::shape::texts;

texts! {
    /// `type/subtype`, with parameters if there are any.
    MediaType: judge, schema::pattern(&format!(
        "^{NAME}/{NAME}(?:[ \\t]*;[ \\t]*{TOKEN}=(?:{TOKEN}|\"(?:[^\"\\\\\\u0000-\\u0008\\u000a-\\u001f\\u007f-\\uffff]|\\\\[\\u0009\\u0020-\\u007e])*\"))*$"
    )), "a media type such as `text/markdown`";
}

const NAME: &str = "[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}";
const TOKEN: &str = "[!#$%&'*+.^_`{|}~0-9A-Za-z-]+";

fn judge(text: &str) -> Result<(), (&'static str, Hint)> {
    let hint = "must be a media type such as `text/markdown` or `text/plain; charset=utf-8`";
    if is_media_type(text) { Ok(()) } else { Err(("PATTERN", hint.into())) }
}

fn is_media_type(text: &str) -> bool {
    let names = text.split(';').next().unwrap_or_default();
    let Some((kind, subtype)) = names.trim_end_matches([' ', '\t']).split_once('/') else { return false };
    let rest = &text[names.len()..];
    // Blanks may stand before a semicolon, and only there.
    let trailing = rest.is_empty() && names.ends_with([' ', '\t']);
    is_name(kind) && is_name(subtype) && !trailing && parameters(rest)
}

/// A restricted name.
fn is_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    (1..=127).contains(&text.len())
        && text.bytes().all(letter)
        && text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&byte)
}

/// `;` token `=` value, as often as there is something.
fn parameters(mut rest: &str) -> bool {
    const BLANKS: [char; 2] = [' ', '\t'];
    while !rest.is_empty() {
        let Some(next) = rest.trim_start_matches(BLANKS).strip_prefix(';') else { return false };
        let next = next.trim_start_matches(BLANKS);
        let name = next.bytes().take_while(|byte| is_token(*byte)).count();
        let Some(value) = next[name..].strip_prefix('=').filter(|_| name > 0) else { return false };
        let length = if value.starts_with('"') {
            quoted(value)
        } else {
            Some(value.bytes().take_while(|byte| is_token(*byte)).count()).filter(|length| *length > 0)
        };
        let Some(length) = length else { return false };
        rest = &value[length..];
    }
    true
}

/// The length of a quoted string.
fn quoted(text: &str) -> Option<usize> {
    let plain = |byte: u8| matches!(byte, b'\t' | b' '..=b'~');
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' if bytes.get(at + 1).is_some_and(|byte| plain(*byte)) => at += 2,
            byte if *byte != b'\\' && plain(*byte) => at += 1,
            _ => return None,
        }
    }
}
