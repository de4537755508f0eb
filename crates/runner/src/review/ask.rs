//! The question to a provider (the agent that reviews), and the rules for its answer. An invalid answer is sent back
//! for repair at most twice.

use engine::limits;
use engine::review::Finding;
use wire::feedback::{self, AskedParts, Response, ReviewOutcome};
use wire::json::Value;
use wire::output::object_in;

use super::prompt;
use crate::ask::{AskedTexts, Question};
use crate::outcome::RepairLimits;
use agents::adapter::AdapterKind;

/// The number of times that a reviewer's invalid answer is sent back for repair. If the answer is still invalid then,
/// the review fails.
pub const REPAIRS_MAX: u32 = 2;
/// The largest number of problems that a message for repair lists. Further problems are left out.
const WRONG_MAX: usize = 20;

/// The review request to a provider (the agent that reviews), with everything that its prompt needs.
#[derive(Debug, Clone)]
pub struct ProviderQuestion<'a> {
    pub kind: AdapterKind,
    pub who: &'a wire::prompt::PromptAgent,
    pub request: &'a Value,
    pub asked: &'a AskedParts,
    /// The sentences that tell the reviewer the origin of a task's work. Handover writes them, not the worker. `None`
    /// for a review without a task.
    pub source: Option<String>,
    /// The findings of all earlier rounds of the review session.
    pub earlier: &'a [Finding],
}

impl Question for ProviderQuestion<'_> {
    type Answer = Box<Response>;

    fn limits(&self) -> RepairLimits {
        RepairLimits { repairs: REPAIRS_MAX, restarts: 0 }
    }

    fn retries_silence(&self) -> bool {
        false
    }

    fn texts(&self, problems: &[(String, String)], resume: Option<String>) -> AskedTexts {
        let message = if self.resumes() {
            prompt::message(self.request, self.source.as_deref(), problems)
        } else {
            prompt::input(self.request, problems)
        };
        let system = prompt::system(self.who, self.earlier, resume.is_some());
        AskedTexts { system, message, resume }
    }

    fn judge(&self, answer: &[u8]) -> Result<Box<Response>, Vec<(String, String)>> {
        judge(answer, self.asked)
    }
}

impl ProviderQuestion<'_> {
    /// Returns true when the reviewer's program can resume a conversation.
    pub fn resumes(&self) -> bool {
        self.kind != AdapterKind::Exec
    }
}

/// Returns the review response in a reviewer's answer, or all problems of an invalid answer.
pub fn judge(answer: &[u8], asked: &AskedParts) -> Result<Box<Response>, Vec<(String, String)>> {
    let only = |code: &str, message: &str| Err(vec![(code.to_owned(), message.to_owned())]);
    // The program may answer with the protocol's event stream. In that case the response is inside of the stream.
    let stream = wire::stream::read(answer).ok().and_then(|transcript| transcript.response);
    let text = match (&stream, std::str::from_utf8(answer)) {
        (Some(text), _) => text.as_str(),
        (None, Ok(text)) => text,
        (None, Err(_)) => return only("NOT_JSON", "the answer is not UTF-8"),
    };
    let Some(found) = object_in(text) else {
        return only("NO_RESPONSE", "the answer holds no JSON object; send one, and nothing else");
    };
    let judged = feedback::judge_response(found.as_bytes(), Some(asked));
    let report = &judged.report;
    let Some(response) = judged.value else {
        let problems = report.errors().iter().take(WRONG_MAX);
        return Err(problems.map(|problem| (report.code(problem), report.message(problem))).collect());
    };
    if let ReviewOutcome::Success(feedback) = &response.outcome
        && feedback.areas_for_improvement.0.len() > limits::FOUND_MAX
    {
        let message = format!("give at most {} areas for improvement, the most important ones", limits::FOUND_MAX);
        return only("TOO_MANY_FINDINGS", &message);
    }
    Ok(Box::new(response))
}
