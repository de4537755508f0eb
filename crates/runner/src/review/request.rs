//! Builds the review requests that Handover itself sends: for a file or a text, with the decisions on earlier findings.

use std::path::Path;

use engine::review::{Decided, Finding};
use wire::json::{Object, Value, object, parse};

use base::ground::digest::sha256;

/// The maximum size of a file that is read for a review, in bytes. A whole request may have only one mebibyte. The
/// limit here is larger, because the later error about a request that is too large says the actual size.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// The field of a review request that tells the reviewer the origin of a task's work. Only requests that Handover
/// builds have this field.
pub(super) const SOURCE: &str = "x-source";

/// The subject of a review: the text or JSON that the reviewer sees, with its media type and origin.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewedSubject {
    pub media_type: String,
    pub content: Value,
    pub reference: Option<String>,
    /// The sentences that tell the reviewer the origin of a task's work. Handover writes them, not the worker. `None`
    /// for a review without a task.
    pub source: Option<String>,
}

/// The reason why a file cannot be shown to a reviewer.
#[derive(Debug, thiserror::Error)]
pub enum Unshown {
    #[error("read {path}")]
    Unread { path: String, source: std::io::Error },
    #[error("{path} has more than {FILE_BYTES_MAX} bytes, the largest size that can be reviewed; split it")]
    TooLarge { path: String },
    #[error("{path} is not UTF-8 text, and only text can be reviewed")]
    NotText { path: String },
}

impl ReviewedSubject {
    /// Reads a file as the subject of a review. The hash of the file is the name of its version.
    pub fn of_file(path: &Path, media_type: Option<&str>) -> Result<Self, Unshown> {
        let shown = || path.display().to_string();
        let unread = |source| Unshown::Unread { path: shown(), source };
        if std::fs::metadata(path).map_err(unread)?.len() > FILE_BYTES_MAX {
            return Err(Unshown::TooLarge { path: shown() });
        }
        let bytes = std::fs::read(path).map_err(unread)?;
        let reference = format!("sha256:{}", sha256(&bytes));
        let text = String::from_utf8(bytes).map_err(|_| Unshown::NotText { path: shown() })?;
        let media_type = media_type.map_or_else(|| by_extension(path).to_owned(), str::to_owned);
        Ok(Self::of_text(text, media_type, Some(reference)))
    }

    /// Makes the subject of a review from a text. Puts JSON into the request as JSON, and any other text as a string.
    pub fn of_text(text: String, media_type: String, reference: Option<String>) -> Self {
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_json = essence == "application/json" || essence.ends_with("+json");
        let json = if is_json { parse(&text).ok().map(|node| node.to_value()) } else { None };
        // The review protocol does not allow null as the content of an artifact.
        let content = json.filter(|value| *value != Value::Null).unwrap_or_else(|| text.into());
        Self { media_type, content, reference, source: None }
    }
}

/// Returns the review request of an iteration (one round of a review). It has all decisions on findings that the
/// reviewer has not received yet.
pub fn request(iteration: u32, artifact: &ReviewedSubject, findings: &[Finding]) -> Value {
    let mut shown: Object = vec![
        ("media_type".to_owned(), artifact.media_type.as_str().into()),
        ("content".to_owned(), artifact.content.clone()),
    ];
    shown.extend(artifact.reference.as_ref().map(|text| ("artifact_ref".to_owned(), text.as_str().into())));
    shown.extend(artifact.source.as_ref().map(|text| (SOURCE.to_owned(), text.as_str().into())));
    let mut members: Object = vec![
        ("protocol_version".to_owned(), "1.2".into()),
        ("iteration".to_owned(), u64::from(iteration).into()),
        ("artifact".to_owned(), Value::Object(shown)),
    ];
    if iteration > 1 {
        let items = findings.iter().filter_map(|finding| item(finding, iteration)).collect();
        members.push(("applied_feedback".to_owned(), object([("items", Value::List(items))])));
    }
    Value::Object(members)
}

/// Returns the entry of a review request for the decision on a finding. Returns `None` when an earlier round already
/// sent this decision. A round that starts again sends its decisions again.
fn item(finding: &Finding, iteration: u32) -> Option<Value> {
    let Decided { decision, told, .. } = finding.decided()?;
    if told.is_some_and(|round| round < iteration) {
        return None;
    }
    let mut item: Object =
        vec![("id".to_owned(), finding.name.as_str().into()), ("status".to_owned(), decision.verdict.as_str().into())];
    item.extend(decision.code.as_ref().map(|code| ("reason_code".to_owned(), code.as_str().into())));
    item.extend(decision.explanation.as_ref().map(|text| ("explanation".to_owned(), text.as_str().into())));
    Some(Value::Object(item))
}

/// Returns the media type of a file by its extension.
pub fn by_extension(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
    match extension.as_str() {
        "md" | "markdown" => "text/markdown",
        "json" => "application/json",
        "diff" | "patch" => "text/x-diff",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "xml" => "text/xml",
        "yaml" | "yml" => "text/yaml",
        "toml" => "text/x-toml",
        "rs" => "text/x-rust",
        "py" => "text/x-python",
        "js" | "mjs" | "cjs" => "text/javascript",
        "ts" | "tsx" => "text/x-typescript",
        "c" | "h" => "text/x-c",
        "cc" | "cpp" | "hpp" => "text/x-c++",
        "go" => "text/x-go",
        "java" => "text/x-java",
        "sh" => "text/x-shellscript",
        "sql" => "text/x-sql",
        _ => "text/plain",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_shown_as_json_and_null_as_text() {
        let of = |text: &str, media: &str| ReviewedSubject::of_text(text.to_owned(), media.to_owned(), None).content;
        assert_eq!(of("{\"a\": 1.0}", "application/json").to_string(), "{\"a\":1.0}");
        assert_eq!(of("[1", "application/vnd.x+json"), Value::from("[1"));
        assert_eq!(of("null", "application/json; charset=utf-8"), Value::from("null"));
        assert_eq!(of("{}", "text/plain"), Value::from("{}"));
        assert_eq!(by_extension(Path::new("a/B.MD")), "text/markdown");
        assert_eq!(by_extension(Path::new("Makefile")), "text/plain");
    }
}
