//! Records the answers of people to the questions of agents. Agents have no tool to give such an answer.

use engine::id::MessageId;
use engine::{Caller, Command, Reply, Rights};
use wire::json::{Value, object};

use crate::error::Error;
use crate::service::Service;

/// Answers a question that an agent sent to people. The engine's rules decide whether the caller's rights are enough.
/// The task that waits for the answer continues in the same transaction.
pub async fn answer(service: &Service, rights: Rights, message: MessageId, text: String) -> Result<Value, Error> {
    let reply = service.execute(Caller::with_rights(rights), Command::Answer { message, text }).await?;
    let Reply::Answered { answer, task, status } = reply else { return Err(Error::unexpected(&reply)) };
    Ok(object([
        ("success", true.into()),
        ("answer_id", answer.to_string().into()),
        ("task_id", task.map(|task| task.to_string()).into()),
        ("task_status", status.map(|status| status.as_str()).into()),
    ]))
}
