//! The rules for a person's answer to an agent's question. The agent gets the answer, and the task that waits for the
//! answer resumes. Only the first answer has this effect.

use crate::case::Case;
use crate::check;
use crate::command::{Actor, Rights, Target};
use crate::event::Event;
use crate::id::{AgentId, MessageId};
use crate::inbox::{MailboxOwner, Message, MessageDraft, MessageKind, MessageState};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::{approval, inbox, status};
use crate::task::{Priority, Task, TaskState};
use crate::world::{DecisionStop, Need};

pub(crate) fn answer(case: &mut Case<'_>, id: MessageId, text: &str) -> Result<Reply, DecisionStop> {
    check::summary("text", text)?;
    match case.rights {
        Rights::Person => {}
        Rights::Agent | Rights::Runner | Rights::Coordinator | Rights::Script | Rights::Engine => {
            return Err(
                Refusal::NotPermitted { problem: "only a person may answer a message to people".to_owned() }.into()
            );
        }
    }
    let question = case.world.message(id)?.ok_or(Refusal::MessageNotFound { message: id })?;
    if question.to != MailboxOwner::Human {
        return Err(Refusal::NotPermitted {
            problem: format!("the message {id} is in the mailbox of {}", question.to),
        }
        .into());
    }
    let task = asked_for(case, question)?;
    if let Some(given) = question.answer {
        return again(case, id, given, text, task);
    }
    let agent = asker(question, task).ok_or_else(|| {
        Refusal::state(format!("{id} needs no answer: no agent wrote it, and no agent holds its task"))
    })?;
    case.world.want([
        Need::Agent(agent),
        Need::Mailbox(MailboxOwner::Agent(agent)),
        Need::Mailbox(MailboxOwner::Human),
    ])?;
    let waits = match task {
        Some(task) => waits_for(case, question, task)?,
        None => false,
    };
    let draft = MessageDraft {
        kind: MessageKind::Feedback,
        priority: Priority::FIRST,
        subject: question.draft.subject.clone(),
        body: text.to_owned(),
        body_json: false,
        action_required: false,
        workflow: question.draft.workflow,
        task: question.draft.task,
        reply_to: Some(id),
    };
    let answer = inbox::deliver(case, agent, question.thread, &draft)?;
    if question.state == MessageState::Unread {
        let (to, slug, state) = (MailboxOwner::Human, "human".to_owned(), MessageState::Read { at: case.now });
        case.events.push(Event::Marked { message: id, to, slug, was_unread: true, state });
    }
    case.events.push(Event::Answered { message: id, answer });
    let mut reply = Reply::Answered { answer, task: task.map(|task| task.id), status: task.map(Task::status) };
    if let (Some(task), true, Reply::Answered { status, .. }) = (task, waits, &mut reply) {
        let to = Target::InProgress { answer: Some(text.to_owned()) };
        if let Reply::Moved { status: found } = status::move_task(case, task.id, None, &to)? {
            *status = Some(found);
        }
    }
    Ok(reply)
}

/// Handles a second answer to a question. If the text of the second answer equals the text of the first, the person
/// gets the first reply again. A different text is refused, because the first answer was already delivered.
fn again(
    case: &Case<'_>,
    question: MessageId,
    given: MessageId,
    text: &str,
    task: Option<&Task>,
) -> Result<Reply, DecisionStop> {
    let same = case.world.message(given)?.is_some_and(|given| given.draft.body == text);
    if !same {
        return Err(Refusal::AlreadyAnswered { message: question, answer: given }.into());
    }
    Ok(Reply::Answered { answer: given, task: task.map(|task| task.id), status: task.map(Task::status) })
}

/// Returns the task that the question is about, if the task still exists.
fn asked_for<'a>(case: &Case<'a>, question: &Message) -> Result<Option<&'a Task>, DecisionStop> {
    let Some(id) = question.draft.task else { return Ok(None) };
    match case.task(id) {
        Ok((task, _)) => Ok(Some(task)),
        Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => Ok(None),
        Err(missing @ DecisionStop::Missing(_)) => Err(missing),
    }
}

/// Returns the agent that gets the answer. This is the agent that asked. If the runner or the engine asked, it is the
/// holder of the task.
fn asker(question: &Message, task: Option<&Task>) -> Option<AgentId> {
    match question.from {
        Actor::Agent(agent) => Some(agent),
        Actor::Runner | Actor::Engine => task.and_then(Task::holder),
        Actor::Coordinator | Actor::Person => None,
    }
}

/// Returns true when the task is paused because of this question. That is so when the task's holder asked the question
/// in the present claim, after the task last resumed, and when the task waits for no approval.
fn waits_for(case: &Case<'_>, question: &Message, task: &Task) -> Result<bool, DecisionStop> {
    let TaskState::Paused { lease, .. } = &task.state else { return Ok(false) };
    let asked_now = question.draft.kind == MessageKind::Question && question.at >= lease.since;
    if !asked_now || asker(question, Some(task)) != Some(lease.agent) {
        return Ok(false);
    }
    Ok(approval::waited_for(case, task)?.is_none())
}
