//! The input envelope and the output envelope of one agent call. An envelope is the JSON object that an agent gets or
//! returns.
//!
//! The input names the task and the paths of its files. The output reports the result, carries the files to write, and
//! recommends the next step.
//!
//! ```
//! let output = br#"{"success": true, "summary": "Spec checked.", "artifacts": [], "recommendation": "proceed"}"#;
//! let judged = wire::envelope::judge_output(output);
//! assert!(judged.report.is_valid());
//! assert_eq!(judged.value.map(|output| output.recommendation), Some(wire::envelope::Recommendation::Proceed));
//!
//! let judged = wire::envelope::judge_output(br#"{"success": false, "summary": " ", "artifacts": [], "recommendation": "proceed"}"#);
//! assert_eq!(judged.report.codes().0, ["BLANK:/summary", "PROCEED_WITHOUT_SUCCESS"]);
//! ```

use crate::document::{self, BYTES_MAX, JudgedDocument};
use crate::json::{JsonNode, Value};
use crate::path::{FilePath, Files, InsidePath};
use crate::report::{At, Hint, Report, Unknown};
use crate::shape::{Integer, ListShape, Map, NonBlank, Shape, Text, message, vocabulary};

/// The size limit in bytes of an output envelope (the JSON that an agent returns). A larger one is refused. The limit
/// is higher than for other documents, because an output envelope carries whole files.
pub const OUTPUT_BYTES_MAX: usize = 16 << 20;
pub const ARTIFACTS_MAX: usize = 1_000;

message! {
    /// The input envelope of an agent call: the JSON object that the agent gets.
    pub struct EnvelopeInput {
        context: required CallPosition,
        paths: required Map<InsidePath>,
        task: required EnvelopeTask,
        /// The findings of agents that worked on earlier tasks, without the agents' names.
        prior_context: maybe ListShape<Text>,
    }
}

message! {
    /// The position of an agent call in the work: the feature, the workflow and the iteration.
    pub struct CallPosition {
        feature_id: nullable NonBlank,
        workflow: required NonBlank,
        iteration: required Integer<1>,
    }
}

message! {
    pub struct EnvelopeTask {
        action: required NonBlank,
        params: required Map<AnyOrNull>,
    }
}

message! {
    /// The output envelope of an agent call: the JSON object that the agent returns.
    pub struct EnvelopeOutput {
        success: required bool,
        summary: required NonBlank,
        artifacts: required Artifacts,
        notes: maybe ListShape<Text>,
        recommendation: required Recommendation,
    }
    judge(fields) {
        if success == Some(false) && recommendation == Some(Recommendation::Proceed) {
            fields.error(
                "PROCEED_WITHOUT_SUCCESS",
                "`success` is false, so `recommendation` must be `retry` or `escalate` (or set `success` to true)",
            );
        }
    }
}

message! {
    /// One file that the agent wants to write, with its whole content.
    pub struct Artifact {
        path: required FilePath,
        operation: required Operation,
        content: required Text,
    }
}

vocabulary! {
    pub enum Operation {
        Create = "create",
        Update = "update",
    }
}

vocabulary! {
    pub enum Recommendation {
        Proceed = "proceed",
        Retry = "retry",
        Escalate = "escalate",
    }
}

/// A parameter of a task: any JSON value, including null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnyOrNull(pub Value);

impl Shape for AnyOrNull {
    const LEGAL: &'static str = "any JSON value";

    fn read(node: &JsonNode<'_>, _: &At<'_>, _: &mut Report<'_>) -> Option<Self> {
        Some(Self(node.to_value()))
    }

    fn render(&self) -> Value {
        self.0.clone()
    }

    fn schema(_: Unknown) -> Value {
        true.into()
    }
}

/// The files that an agent wants to write: at most [`ARTIFACTS_MAX`]. Each path occurs once. No path may be a file and
/// also the folder of another path, such as `a` and `a/b`.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifacts(pub Vec<Artifact>);

impl Shape for Artifacts {
    const LEGAL: &'static str = "an array of files {path, operation, content}, which may be empty";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let before_all = report.errors().len();
        let items = crate::shape::items(node, at, report)?;
        if items.len() > ARTIFACTS_MAX {
            let hint = format!("has {} items; at most {ARTIFACTS_MAX} are allowed", items.len());
            report.error("TOO_LONG", at, node.span, hint);
        }
        let mut files = Files::default();
        let mut read = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let (here, before) = (at.item(index), report.errors().len());
            read.extend(Artifact::read(item, &here, report));
            let Some(path) = item.get("path") else { continue };
            if path.text().is_some_and(|path| FilePath::is_legal(path) && !files.add(path)) {
                let hint = "is named before, or one of the two is a folder of the other; write every file once";
                report.error_before(before, "DUPLICATE_PATH", &here.field("path"), (path.span, hint));
            }
        }
        (report.errors().len() == before_all).then_some(Self(read))
    }

    fn render(&self) -> Value {
        Value::List(self.0.iter().map(Shape::render).collect())
    }

    fn schema(unknown: Unknown) -> Value {
        let Value::Object(mut schema) = ListShape::<Artifact>::schema(unknown) else { return Value::Null };
        schema.push(("maxItems".to_owned(), Value::from(1_000_u64)));
        Value::Object(schema)
    }
}

pub fn judge_input(bytes: &[u8]) -> JudgedDocument<'_, EnvelopeInput> {
    judge(bytes, BYTES_MAX)
}

pub fn judge_output(bytes: &[u8]) -> JudgedDocument<'_, EnvelopeOutput> {
    judge(bytes, OUTPUT_BYTES_MAX)
}

fn judge<T: Shape>(bytes: &[u8], bytes_max: usize) -> JudgedDocument<'_, T> {
    match document::open(bytes, bytes_max) {
        Ok((text, node)) => document::read(&node, Report::new(text, Unknown::Warned).hinting(legacy_hint)),
        Err(report) => JudgedDocument { value: None, report: *report },
    }
}

/// Returns the hint for a field that envelopes no longer have. The hint tells the author of the envelope where the
/// content of the field belongs now.
fn legacy_hint(name: &str) -> Hint {
    match name {
        "state_updates" => "is not a field of an envelope; return the updated file as an artifact",
        "mode" => "is not a field of an envelope; say it in `task.action`",
        _ if name.ends_with("_report") || name.ends_with("_risks") => {
            "is not a field of an envelope; summarise it in `notes`"
        }
        _ => "is not a field of an envelope; put input into `task.params` and results into `notes`",
    }
    .into()
}
