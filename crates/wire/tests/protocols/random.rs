//! Random changes of documents, for tests.

use chance::SeededRandom;
use wire::json::{Number, Value};

/// Texts that programs often handle wrongly.
const TEXTS: &[&str] = &[
    "",
    " ",
    "\u{a0}\u{3000}",
    "\u{200b}",
    "a",
    "A",
    "null",
    "1.2",
    "1.0",
    "system",
    "human",
    "roles.ba",
    "exec",
    "../x",
    "/x",
    "a/../../b",
    ".git/config",
    "C:\\x",
    "a\0b",
    "One. Two. Three. Four.",
    "e.g. this",
    "I never stop",
    "text/plain; a=b",
    "2026-02-29T00:00:00Z",
    "2026-04-28t00:00:00z",
    "```",
    "~~~",
    "\u{feff}",
    "\u{1f600}",
    "x\ny",
    "session",
    "ab7e4d2",
];

pub(crate) fn value(chance: &mut SeededRandom) -> Value {
    match chance.below(9) {
        0 => Value::Null,
        1 => Value::Bool(chance.below(2) == 0),
        2 => Value::Number(Number::from(i64::try_from(chance.below(7)).unwrap_or(0) - 2)),
        3 => Value::Number(
            Number::try_from(f64::from(u32::try_from(chance.below(9)).unwrap_or(0)) / 2.0)
                .unwrap_or_else(|_| 0_i64.into()),
        ),
        4 => Value::List(Vec::new()),
        5 => Value::Object(Vec::new()),
        6 => Value::List(vec![value(chance)]),
        7 => Value::Text(chance.one_of(&["word "; 3]).repeat(chance.below(260))),
        _ => Value::Text((*chance.one_of(TEXTS)).to_owned()),
    }
}

/// Changes one part of a JSON document at random.
pub(crate) fn mutate(document: &mut Value, chance: &mut SeededRandom) {
    match document {
        Value::Object(members) if !members.is_empty() && chance.below(8) > 0 => {
            let place = chance.below(members.len());
            match chance.below(6) {
                0 => drop(members.remove(place)),
                1 => members[place].1 = value(chance),
                2 => {
                    let name =
                        format!("{}{}", chance.one_of(&["x-", "session", "extra", "sessionID", "~/"]), chance.below(3));
                    if members.iter().all(|(known, _)| *known != name) {
                        members.push((name, value(chance)));
                    }
                }
                _ => mutate(&mut members[place].1, chance),
            }
        }
        Value::List(items) if !items.is_empty() && chance.below(8) > 0 => {
            let place = chance.below(items.len());
            match chance.below(5) {
                0 => drop(items.remove(place)),
                1 => items.insert(place, items[place].clone()),
                2 => items.push(value(chance)),
                _ => mutate(&mut items[place], chance),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Object(_) => {
            *document = value(chance);
        }
    }
}

/// Changes a few bytes of a text at random.
pub(crate) fn scramble(bytes: &mut Vec<u8>, chance: &mut SeededRandom) {
    const PIECES: &[&[u8]] = &[
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\",
        b"\\u",
        b"\\ud800",
        b",",
        b":",
        b"\n",
        b"\r\n",
        b"```",
        b"````",
        b"~~~",
        b"\xff",
        b"\xef\xbb\xbf",
        b"1e999",
        b"-0",
        b"null",
        b"agent_contract_handoff\n",
        b"//",
        b"\0",
    ];
    for _ in 0..=chance.below(3) {
        let place = chance.below(bytes.len() + 1);
        match chance.below(4) {
            0 => bytes.truncate(place),
            1 if place < bytes.len() => drop(bytes.remove(place)),
            2 if place < bytes.len() => bytes[place] = u8::try_from(chance.below(256)).unwrap_or(0),
            _ => drop(bytes.splice(place..place, chance.one_of(PIECES).iter().copied())),
        }
    }
}
