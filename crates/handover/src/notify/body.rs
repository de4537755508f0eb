//! The text of a notice: it describes the approval that waits, and names the command that shows the approval. The exact
//! content of the request stays in the store.

use engine::approval::Approval;
use wire::json::{Value, object};

use wire::visible::lines;
use wire::visible::redacted;

/// The maximum number of characters of one text in a notice; the rest is cut. The approval in the store has the
/// complete text.
const TEXT_CHARS_MAX: usize = 1_000;

/// Returns the notice about an approval as one line of JSON.
pub fn body(approval: &Approval, agent: Option<&str>, task: Option<&str>) -> String {
    let text = |words: &str| -> Value {
        let cut: String = lines(&redacted(words)).chars().take(TEXT_CHARS_MAX).collect();
        cut.into()
    };
    let time = |at: engine::Timestamp| Value::Number(at.0.into());
    let id = approval.id.to_string();
    let told = object([
        ("type", "approval.pending".into()),
        ("approval_id", id.as_str().into()),
        ("source", approval.source.as_str().into()),
        ("operation", text(&approval.request.operation)),
        ("scope", text(&approval.request.scope)),
        ("risk_level", text(&approval.request.risk)),
        ("asked_by", approval.asker.to_string().into()),
        ("agent", agent.map(text).into()),
        ("task_id", approval.waiting.map(|waiting| waiting.task.to_string()).into()),
        ("task", task.map(text).into()),
        ("workflow_id", approval.waiting.map(|waiting| waiting.workflow.to_string()).into()),
        ("fingerprint", approval.fingerprint.as_str().into()),
        ("asked_at", time(approval.asked)),
        ("expires_at", approval.state.until().map(time).into()),
        ("look", format!("handover approval show {id}").into()),
    ]);
    told.to_string()
}
