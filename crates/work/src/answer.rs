//! Answers the question of an agent that waits for a person.

use base::Service;
use base::people::answers;
use engine::Rights;
use engine::inbox::Message;
use engine::list::MessageQuery;
use engine::task::Task;
use wire::json::Value;

use crate::worker::last_agent;

/// The number of a task's newest questions among which an open question is searched.
const QUESTIONS_MAX: u32 = 50;

/// An answer that was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenAnswer {
    /// The reply of the store, for programs.
    pub reply: Value,
    /// The slug (the short name) of the agent that asked. `None` when no agent is known.
    pub agent: Option<String>,
}

/// Answers the oldest open question of a task, because the agent asked it first. Returns `None` when the task asks
/// nothing.
pub async fn answer(
    service: &Service,
    rights: Rights,
    task: &Task,
    text: String,
) -> Result<Option<GivenAnswer>, base::Error> {
    let questions = service.ask(MessageQuery::QuestionsOfTask { task: task.id, limit: QUESTIONS_MAX }).await?;
    let Some(question) = questions.into_iter().rev().find(Message::is_open_question) else { return Ok(None) };
    let agent = last_agent(service, task).await?;
    let reply = answers::answer(service, rights, question.id, text).await?;
    Ok(Some(GivenAnswer { reply, agent }))
}
