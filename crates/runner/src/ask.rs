//! Asks the program of an agent until its answer is valid. Evaluators and reviewers, which judge the work of other
//! agents, are asked with this module. The caller decides how the program runs and where its cost is recorded.

use engine::turn::{Spent, TurnEnd};

use crate::outcome::{AfterInvalid, RepairLimits};

/// The texts that an agent's program gets when it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedTexts {
    pub system: String,
    pub message: String,
    /// The conversation that the program resumes. `None` for a new conversation.
    pub resume: Option<String>,
}

/// The result of one run of an agent's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramReply {
    pub end: TurnEnd,
    pub reason: Option<String>,
    /// The answer as bytes, because a program may write bytes that are not UTF-8.
    pub answer: Vec<u8>,
    pub conversation: Option<String>,
    pub spent: Spent,
}

/// Runs the program of an agent that has to answer a question, for example of a reviewer.
pub trait AskedProgram: Send {
    type StartError;

    fn start(&mut self, texts: AskedTexts) -> impl Future<Output = Result<ProgramReply, Self::StartError>> + Send;
}

/// A question to an agent, which is repeated until the answer is valid.
pub trait Question: Sync {
    type Answer;

    fn limits(&self) -> RepairLimits;

    /// Returns true when a program that gave no answer gets the question again. If true, a missing answer counts as an
    /// invalid answer.
    fn retries_silence(&self) -> bool;

    /// Returns the texts for the program. `problems` are the problems of its last answer, and `resume` is the
    /// conversation that it resumes.
    fn texts(&self, problems: &[(String, String)], resume: Option<String>) -> AskedTexts;

    /// Returns the valid answer, or the problems that the program must repair.
    fn judge(&self, answer: &[u8]) -> Result<Self::Answer, Vec<(String, String)>>;
}

/// The way in which asking an agent ended.
#[derive(Debug, Clone, PartialEq)]
pub enum AskedEnd<T> {
    Valid(T),
    /// All tries are used up. The problems are those of the last answer, and `repairs` is the number of tries to repair
    /// it.
    Invalid {
        problems: Vec<(String, String)>,
        repairs: u32,
    },
    /// The program gave no answer.
    Silent {
        end: TurnEnd,
        reason: Option<String>,
    },
    /// Handover ended the program itself, for example because a person stopped the runner.
    Cut(TurnEnd),
}

/// The way in which asking an agent ended, with the conversation and the cost of all starts of the program.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedResult<T> {
    pub end: AskedEnd<T>,
    pub conversation: Option<String>,
    pub spent: Spent,
}

/// Asks the program until its answer is valid or the tries are used up. The first start resumes `conversation`.
/// `resumes` is false for a program that cannot resume a conversation.
pub async fn ask_until_valid<P: AskedProgram, Q: Question>(
    program: &mut P,
    question: &Q,
    conversation: Option<String>,
    resumes: bool,
) -> Result<AskedResult<Q::Answer>, P::StartError> {
    let mut resume = conversation.filter(|_| resumes);
    let (mut conversation, mut problems, mut spent) = (None, Vec::new(), Spent::default());
    let mut invalid = 0;
    loop {
        let reply = program.start(question.texts(&problems, resume.clone())).await?;
        spent = spent.and(reply.spent);
        conversation = reply.conversation.clone().or(conversation);
        let done = |end| AskedResult { end, conversation: conversation.clone(), spent };
        problems = match reply.end {
            TurnEnd::Finished => match question.judge(&reply.answer) {
                Ok(answer) => return Ok(done(AskedEnd::Valid(answer))),
                Err(problems) => problems,
            },
            TurnEnd::Cancelled | TurnEnd::ClaimLost | TurnEnd::Interrupted => {
                return Ok(done(AskedEnd::Cut(reply.end)));
            }
            // If the program lost the conversation, it gets the whole question again in a new conversation, and this
            // start does not count as a try.
            TurnEnd::ConversationLost if resume.is_some() => {
                resume = None;
                continue;
            }
            TurnEnd::ConversationLost
            | TurnEnd::Failed
            | TurnEnd::Signalled
            | TurnEnd::TimedOut
            | TurnEnd::OverBudget
            | TurnEnd::SpawnFailed
            | TurnEnd::ApiError => {
                if !question.retries_silence() {
                    return Ok(done(AskedEnd::Silent { end: reply.end, reason: reply.reason }));
                }
                vec![(reply.end.to_string(), reply.reason.unwrap_or_default())]
            }
        };
        invalid += 1;
        match question.limits().after(invalid) {
            AfterInvalid::Repair => resume = reply.conversation.filter(|_| resumes).or(resume),
            AfterInvalid::Restart => (resume, problems) = (None, Vec::new()),
            AfterInvalid::GiveUp => {
                let repairs = invalid.saturating_sub(1);
                return Ok(done(AskedEnd::Invalid { problems, repairs }));
            }
        }
    }
}
