//! Checks media types by the grammar of RFC 6838 and RFC 2045.

use crate::report::Hint;
use crate::schema;
use crate::shape::texts;

texts! {
    /// A media type: `type/subtype`, with optional parameters.
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
    // Blanks are legal before the semicolon that starts a parameter, but not at the end of the whole media type.
    let trailing = rest.is_empty() && names.ends_with([' ', '\t']);
    is_name(kind) && is_name(subtype) && !trailing && parameters(rest)
}

/// Returns true when a text is a restricted name of RFC 6838, such as each half of `type/subtype`.
fn is_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    (1..=127).contains(&text.len())
        && text.bytes().all(letter)
        && text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&byte)
}

/// Returns true when a text is a sequence of a media type's parameters: `;` token `=` value, zero or more times.
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

/// Returns the length in bytes of the quoted string at the start of the text. Returns `None` when the string is not
/// closed or has an illegal character.
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

/// Returns true when a media type matches an entry of the list of types that a review provider accepts. Entries are
/// `type/subtype`, `type/*` or `*/*`. Parameters and letter case are ignored.
pub fn is_listed<'l>(media_type: &str, listed: impl IntoIterator<Item = &'l str>) -> bool {
    let essence = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let wanted = essence(media_type);
    let kind = wanted.split('/').next().unwrap_or_default();
    listed.into_iter().map(essence).any(|entry| match entry.strip_suffix("/*") {
        Some("*") => true,
        Some(group) => group == kind,
        None => entry == wanted,
    })
}

/// Returns true when a text may be an entry of the list of media types that a review provider accepts.
pub fn is_listable(entry: &str) -> bool {
    match entry.strip_suffix("/*") {
        Some("*") => true,
        Some(kind) => is_name(kind),
        None => is_media_type(entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_types_and_groups_of_them() {
        let listed = ["text/*", "application/json", "Image/PNG"];
        for wanted in ["text/plain", "TEXT/x-diff; charset=utf-8", "application/json", "image/png"] {
            assert!(is_listed(wanted, listed), "{wanted}");
        }
        for other in ["application/pdf", "application/jsonx", "image/jpeg", "textual/plain"] {
            assert!(!is_listed(other, listed), "{other}");
        }
        assert!(is_listed("application/pdf", ["*/*"]) && !is_listed("text/plain", []));
        for legal in ["*/*", "text/*", "application/vnd.x+json"] {
            assert!(is_listable(legal), "{legal}");
        }
        for wrong in ["", "*", "text", "/*", "te xt/*", "text/**"] {
            assert!(!is_listable(wrong), "{wrong}");
        }
    }
}
