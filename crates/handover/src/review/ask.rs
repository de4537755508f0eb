//! Asks a provider (the agent that reviews) for a valid answer. An invalid answer is sent back for repair at most
//! twice. The caller of this module decides how the program runs and where its cost is recorded.

use engine::limits;
use engine::review::Finding;
use engine::turn::{Spent, TurnEnd};
use wire::feedback::{self, AskedParts, Response, ReviewOutcome};
use wire::json::Value;
use wire::output::object_in;

use super::prompt;
use agents::adapter::AdapterKind;
use agents::program::NO_CONVERSATION;

/// The number of times that an invalid answer is sent back for repair. If the answer is still invalid then, the review
/// fails.
pub const REPAIRS_MAX: u32 = 2;
/// The largest number of problems that a repair message lists. Further problems are left out.
const WRONG_MAX: usize = 20;

/// The texts for one start of the provider's program. The provider is the agent that reviews.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderTry {
    pub system: String,
    pub message: String,
    pub resume: Option<String>,
}

/// The result of one start of the provider's program. The provider is the agent that reviews.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSaid {
    pub end: TurnEnd,
    pub reason: Option<String>,
    /// The answer as bytes, because a program may write bytes that are not UTF-8.
    pub answer: Vec<u8>,
    pub conversation: Option<String>,
    pub spent: Spent,
}

/// Runs the program of a provider (the agent that reviews).
pub trait Stage: Send {
    type StageError;

    fn play(&mut self, attempt: ProviderTry) -> impl Future<Output = Result<ProviderSaid, Self::StageError>> + Send;
}

/// The review request to a provider (the agent that reviews), with everything that its prompt needs.
#[derive(Debug, Clone)]
pub struct ProviderQuestion<'a> {
    pub kind: AdapterKind,
    pub who: &'a wire::prompt::PromptAgent,
    pub request: &'a Value,
    pub asked: &'a AskedParts,
    /// The sentences that tell the reviewer where a task's work comes from. Handover writes them, not the worker.
    pub source: Option<String>,
    /// The findings of all earlier rounds of the review session.
    pub earlier: &'a [Finding],
    pub conversation: Option<String>,
}

/// The final result of asking a provider, after all repairs of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderResult {
    pub reply: ProviderReply,
    pub conversation: Option<String>,
    pub spent: Spent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ProviderReply {
    Response(Box<Response>),
    /// No valid answer. The text is the reason: the program died, took too long, or broke the rules of the protocol.
    Failed(String),
    /// Handover ended the program itself.
    Cut(TurnEnd),
}

pub async fn ask<S: Stage>(stage: &mut S, question: &ProviderQuestion<'_>) -> Result<ProviderResult, S::StageError> {
    let is_talked_with = question.kind != AdapterKind::Exec;
    let mut resume = question.conversation.clone().filter(|_| is_talked_with);
    let (mut wrong, mut repairs, mut spent) = (Vec::new(), 0, Spent::default());
    let mut conversation = None;
    loop {
        let message = if is_talked_with {
            prompt::message(question.request, question.source.as_deref(), &wrong)
        } else {
            prompt::input(question.request, &wrong)
        };
        let system = prompt::system(question.who, question.earlier, resume.is_some());
        let said = stage.play(ProviderTry { system, message, resume: resume.clone() }).await?;
        spent = spent.and(said.spent);
        conversation = said.conversation.clone().or(conversation);
        let done = |reply, conversation| Ok(ProviderResult { reply, conversation, spent });
        match said.end {
            TurnEnd::Finished => {}
            TurnEnd::Cancelled | TurnEnd::ClaimLost | TurnEnd::Interrupted => {
                return done(ProviderReply::Cut(said.end), conversation);
            }
            // The program lost the conversation. It gets the whole question again in a new conversation, and this start
            // does not count as a repair.
            TurnEnd::Failed if resume.is_some() && said.reason.as_deref() == Some(NO_CONVERSATION) => {
                resume = None;
                continue;
            }
            TurnEnd::Failed
            | TurnEnd::Signalled
            | TurnEnd::TimedOut
            | TurnEnd::OverBudget
            | TurnEnd::SpawnFailed
            | TurnEnd::ApiError => {
                let reason = said.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                return done(
                    ProviderReply::Failed(format!("the provider gave no answer: {}{reason}", said.end)),
                    conversation,
                );
            }
        }
        wrong = match judge(&said.answer, question.asked) {
            Ok(response) => return done(ProviderReply::Response(response), conversation),
            Err(found) => found,
        };
        if repairs >= REPAIRS_MAX {
            let codes = wrong.iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>().join(", ");
            let reason = format!("the provider still answers outside of the protocol after {repairs} repairs: {codes}");
            return done(ProviderReply::Failed(reason), conversation);
        }
        repairs += 1;
        resume = said.conversation.filter(|_| is_talked_with).or(resume);
    }
}

/// Returns the review response in a provider's answer, or all problems of an invalid answer.
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
