//! Reads single values out of JSON whose shape is not certain, such as the input and the result of a tool. A value with
//! another shape is None and is never an error, because each client can change these shapes with a new version.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use wire::time::DateTime;

use super::stream::head;

/// The largest number of elements of a list that are read. Further elements are ignored.
const ELEMENTS_MAX: usize = 1024;

/// Returns the values of these members of an object. If the object has a member twice, the last value counts. No other
/// member is kept, so a large object needs little memory.
pub(super) fn members<'a, const N: usize>(raw: Option<&'a RawValue>, names: [&str; N]) -> [Option<&'a RawValue>; N] {
    let Some(raw) = raw.filter(|raw| raw.get().starts_with('{')) else { return [None; N] };
    let mut reader = serde_json::Deserializer::from_str(raw.get());
    reader.deserialize_map(MemberVisitor(names)).unwrap_or([None; N])
}

pub(super) fn member<'a>(raw: Option<&'a RawValue>, name: &str) -> Option<&'a RawValue> {
    let [value] = members(raw, [name]);
    value
}

/// Returns the first elements of a list. Returns no element for a value that is no list.
pub(super) fn elements(raw: Option<&RawValue>) -> Vec<&RawValue> {
    let Some(raw) = raw.filter(|raw| raw.get().starts_with('[')) else { return Vec::new() };
    serde_json::Deserializer::from_str(raw.get()).deserialize_seq(ElementVisitor).unwrap_or_default()
}

pub(super) fn text(raw: Option<&RawValue>) -> Option<String> {
    value(raw)
}

/// Returns a text that is not empty.
pub(super) fn some_text(raw: Option<&RawValue>) -> Option<String> {
    text(raw).filter(|text| !text.is_empty())
}

pub(super) fn is_true(raw: Option<&RawValue>) -> bool {
    value(raw) == Some(true)
}

/// Reads a value as the expected type. Returns None when it is absent or has another type.
pub(super) fn value<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// Returns a time that is written in the format of RFC 3339, in milliseconds since 1970.
pub(super) fn time_ms(raw: Option<&RawValue>) -> Option<i64> {
    DateTime::new(text(raw)?).map(|time| time.instant().timestamp().0)
}

/// Returns the first `bytes_max` bytes of the text in a tool's result. The result is a text, or a list of blocks of
/// which some have a text.
pub(super) fn result_text(raw: Option<&RawValue>, bytes_max: usize) -> String {
    if let Some(text) = text(raw) {
        return head(&text, bytes_max).to_owned();
    }
    let mut all = String::new();
    for block in elements(raw) {
        // A block of the Agent Client Protocol has its text one level deeper, in `content`.
        let [own, content] = members(Some(block), ["text", "content"]);
        let Some(text) = text(own.or_else(|| member(content, "text"))) else { continue };
        if !all.is_empty() {
            all.push('\n');
        }
        all.push_str(head(&text, bytes_max.saturating_sub(all.len())));
        if all.len() >= bytes_max {
            break;
        }
    }
    all.truncate(head(&all, bytes_max).len());
    all
}

struct MemberVisitor<'n, const N: usize>([&'n str; N]);

impl<'de, const N: usize> Visitor<'de> for MemberVisitor<'_, N> {
    type Value = [Option<&'de RawValue>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(name) = map.next_key::<String>()? {
            match self.0.iter().position(|wanted| *wanted == name) {
                Some(at) => found[at] = Some(map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

struct ElementVisitor;

impl<'de> Visitor<'de> for ElementVisitor {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while found.len() < ELEMENTS_MAX {
            match list.next_element()? {
                Some(element) => found.push(element),
                None => return Ok(found),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn values_of_another_shape_are_absent() {
        let object = raw(r#"{"a": 1, "b": "x", "a": "last", "c": {"b": "inner"}}"#);
        let [a, b, missing] = members(Some(&object), ["a", "b", "missing"]);
        assert_eq!((text(a).as_deref(), text(b).as_deref(), missing.is_none()), (Some("last"), Some("x"), true));
        assert_eq!(text(member(member(Some(&object), "c"), "b")).as_deref(), Some("inner"));
        for other in ["[1]", "\"text\"", "7", "null", "{}"] {
            assert!(member(Some(&raw(other)), "a").is_none(), "{other}");
        }
        assert!(elements(Some(&object)).is_empty());
        assert_eq!(elements(Some(&raw("[1, {}, \"x\"]"))).len(), 3);
    }

    #[test]
    fn a_long_list_and_a_long_text_are_cut() {
        let list = format!("[{}1]", "1,".repeat(ELEMENTS_MAX + 5));
        assert_eq!(elements(Some(&raw(&list))).len(), ELEMENTS_MAX);
        let block = r#"{"type": "text", "text": "ääääääää"}"#;
        let blocks = raw(&format!("[{block},{block},{block}]"));
        assert_eq!(result_text(Some(&blocks), 21), "ääääääää\nää");
    }
}
