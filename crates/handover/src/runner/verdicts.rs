//! What a verification found.

use engine::verification::Verdict;
use wire::json::Value;

#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub mechanical: Verdict,
    pub semantic: Verdict,
    pub output_ref: Option<String>,
    pub evidence: Value,
}

impl Found {
    pub fn has_passed(&self) -> bool {
        self.mechanical == Verdict::Pass && self.semantic != Verdict::Fail
    }
}

/// Something was wrong before anything could be looked at.
pub fn failed(evidence: Value) -> Found {
    Found { mechanical: Verdict::Fail, semantic: Verdict::Skipped, output_ref: None, evidence }
}

impl super::attempt::Attempt {
    pub(super) async fn verify(
        &self,
        _facts: &engine::view::Attempt,
        _done: &super::finish::Done,
    ) -> Result<Option<Found>, super::attempt::Trouble> {
        let evidence = wire::json::object([("checks", Value::List(Vec::new()))]);
        Ok(Some(Found { mechanical: Verdict::Pass, semantic: Verdict::Skipped, output_ref: None, evidence }))
    }
}
