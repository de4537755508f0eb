//! The seal of an approval: a fingerprint over everything that is asked, by whom, and in which attempt. What is done later
//! must have the same, byte for byte.

use engine::approval::Request;
use engine::id::{AgentId, TaskId};
use wire::json::{Value, object};

use crate::digest::sha256;

/// What is sealed.
#[derive(Debug, Clone, Copy)]
pub struct Seal<'a> {
    pub request: &'a Request,
    pub task: Option<TaskId>,
    pub attempt: Option<u32>,
    pub agent: Option<AgentId>,
}

impl Seal<'_> {
    /// SHA-256 over the canonical JSON, in hexadecimal. No text is folded, trimmed or shortened on the way.
    pub fn fingerprint(&self) -> String {
        let Request { operation, content, scope, directory, risk, rollback, verification } = self.request;
        let text = |text: &String| Value::from(text.as_str());
        let sealed = object([
            ("operation", text(operation)),
            ("exact_content", text(content)),
            ("scope", text(scope)),
            ("directory", text(directory)),
            ("risk_level", text(risk)),
            ("rollback", text(rollback)),
            ("verification", text(verification)),
            ("task", self.task.map(|task| task.to_string()).into()),
            ("attempt", self.attempt.map(u64::from).into()),
            ("agent", self.agent.map(|agent| agent.to_string()).into()),
        ]);
        sha256(sealed.canonical().as_bytes())
    }
}
