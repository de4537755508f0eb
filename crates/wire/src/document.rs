//! Parses the bytes of a document, and checks its size and its version, before the rules for its fields are checked.

use crate::json::{JsonNode, Span, SyntaxError, parse_object};
use crate::report::{At, Report};
use crate::shape::Shape;

/// The size limit in bytes of most kinds of documents. A larger document is refused.
pub const BYTES_MAX: usize = 1 << 20;

/// The result of checking a document: all problems of the document, and its value when it has no problems.
#[derive(Debug, Clone)]
pub struct JudgedDocument<'t, T> {
    pub value: Option<T>,
    pub report: Report<'t>,
}

impl<'t, T> JudgedDocument<'t, T> {
    pub(crate) fn map<U>(self, to: impl FnOnce(T) -> U) -> JudgedDocument<'t, U> {
        JudgedDocument { value: self.value.map(to), report: self.report }
    }
}

/// Parses the received bytes as a JSON object. When the bytes are too many or are not a JSON object, returns a report
/// whose only problem says why.
pub(crate) fn open(bytes: &[u8], bytes_max: usize) -> Result<(&str, JsonNode<'_>), Box<Report<'_>>> {
    if bytes.len() > bytes_max {
        let hint = format!("the document has {} bytes; at most {bytes_max} are allowed", bytes.len());
        return Err(Box::new(Report::only("", "TOO_LONG", Some(&At::top()), Span::default(), hint.into())));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Box::new(Report::not_json("", &SyntaxError::not_utf8(bytes, error.valid_up_to()))))?;
    let node = parse_object(text).map_err(|error| Box::new(Report::not_json(text, &error)))?;
    Ok((text, node))
}

pub(crate) fn read<'t, T: Shape>(node: &JsonNode<'_>, mut report: Report<'t>) -> JudgedDocument<'t, T> {
    let value = T::read(node, &At::top(), &mut report);
    report.close();
    JudgedDocument { value: value.filter(|_| report.is_valid()), report }
}

/// Returns a report with `UNSUPPORTED_VERSION` when the version in the document is a string other than `version`. The
/// rules of other versions are not known, so the fields of such a document are not checked.
pub(crate) fn other_version<'t>(text: &'t str, node: &JsonNode<'_>, field: &str, version: &str) -> Option<Report<'t>> {
    let found = node.get(field)?;
    if found.text()? == version {
        return None;
    }
    let hint = format!("`/{field}` must be \"{version}\", the only version that is spoken here");
    Some(Report::only(text, "UNSUPPORTED_VERSION", None, found.span, hint.into()))
}
