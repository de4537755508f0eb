//! Checks of the size and form of input. Each refusal names the input field that is wrong.

use crate::limits;
use crate::refusal::Refusal;

pub(crate) fn size(field: &str, text: &str, bytes_max: usize) -> Result<(), Refusal> {
    if text.len() > bytes_max {
        return Err(Refusal::input(field, format!("is {} bytes long; at most {bytes_max} are allowed", text.len())));
    }
    // PostgreSQL cannot store a zero byte in a text. The engine refuses it for all databases, so that every database
    // accepts the same input.
    if text.contains('\0') {
        return Err(Refusal::input(field, "contains a zero byte"));
    }
    Ok(())
}

/// Refuses a text that is blank or too long.
fn filled(field: &str, text: &str, bytes_max: usize) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::input(field, "is blank"));
    }
    size(field, text, bytes_max)
}

/// Refuses a text with control characters, because names and labels are shown on one line in lists, logs and terminals.
fn one_line(field: &str, text: &str, bytes_max: usize) -> Result<(), Refusal> {
    filled(field, text, bytes_max)?;
    match text.chars().find(|letter| letter.is_control()) {
        Some(letter) => {
            Err(Refusal::input(field, format!("contains the control character U+{:04X}", u32::from(letter))))
        }
        None => Ok(()),
    }
}

pub(crate) fn name(field: &str, text: &str) -> Result<(), Refusal> {
    one_line(field, text, limits::NAME_BYTES_MAX)
}

pub(crate) fn label(field: &str, text: &str) -> Result<(), Refusal> {
    one_line(field, text, limits::LABEL_BYTES_MAX)
}

pub(crate) fn summary(field: &str, text: &str) -> Result<(), Refusal> {
    filled(field, text, limits::SUMMARY_BYTES_MAX)
}

pub(crate) fn path(field: &str, text: &str) -> Result<(), Refusal> {
    filled(field, text, limits::PATH_BYTES_MAX)
}

pub(crate) fn key(field: &str, text: &str) -> Result<(), Refusal> {
    filled(field, text, limits::KEY_BYTES_MAX)
}

pub(crate) fn count(field: &str, count: usize, max: usize) -> Result<(), Refusal> {
    if count > max {
        return Err(Refusal::input(field, format!("has {count} entries; at most {max} are allowed")));
    }
    Ok(())
}

pub(crate) fn optional(text: Option<&str>, check: impl Fn(&str) -> Result<(), Refusal>) -> Result<(), Refusal> {
    text.map_or(Ok(()), check)
}

pub(crate) fn json(field: &str, json: Option<&crate::json::Json>) -> Result<(), Refusal> {
    json.map_or(Ok(()), |json| size(field, json.as_str(), limits::TEXT_BYTES_MAX))
}
