//! Converts values of the engine to database columns and back. The columns are the same in every database.

pub(crate) mod delivery;
mod place;
pub(crate) mod review;
pub(crate) mod token;
pub(crate) mod turn;

use engine::agent::{Agent, Origin};
use engine::checkpoint::{Checkpoint, Kind};
use engine::command::Note;
use engine::inbox::{Mailbox, MailboxOwner, Message, MessageDraft, MessageKind, MessageState};
use engine::key::{KeyId, StoredKey};
use engine::task::{BlockKind, Lease, Priority, Status, Task, TaskBlock, TaskDetail, TaskState};
use engine::template::Template;
use engine::workflow::{Lock, PlanDraft, Workflow, WorkflowDetail, WorkflowStatus};
use engine::{Actor, Millis};

use crate::fault::Fault;
use crate::value::{Columns, SqlValue, list, optional, text};

#[cfg(feature = "testing")]
pub(crate) use place::read_attachment;
pub(crate) use place::{attachment, read_repository, read_workspace, repository, workspace};

pub(crate) fn workflow(row: &Workflow) -> Vec<SqlValue> {
    let lock = row.lock.as_ref();
    let draft = row.draft.as_ref();
    vec![
        text(row.id),
        (&row.name).into(),
        row.status.as_str().into(),
        row.parallel_max.into(),
        row.lease_ms.0.into(),
        lock.map(|lock| &lock.owner).into(),
        lock.map(|lock| lock.since).into(),
        lock.map(|lock| lock.until).into(),
        draft.map(|draft| &draft.token).into(),
        draft.map(|draft| draft.until).into(),
        row.tasks.into(),
        row.open.into(),
        row.sequence.into(),
        row.created.into(),
        row.updated.into(),
        row.standing.into(),
        row.archived.into(),
        row.branch.as_ref().into(),
    ]
}

pub(crate) fn read_workflow(row: Vec<SqlValue>) -> Result<Workflow, Fault> {
    let mut columns = Columns::new("workflow", row);
    let row = &mut columns;
    Ok(Workflow {
        id: row.parsed()?,
        name: row.text()?,
        status: row.word(WorkflowStatus::parse)?,
        parallel_max: row.maybe_int()?.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)),
        lease_ms: Millis(row.count()?),
        lock: match (row.maybe_text()?, row.maybe_time()?, row.maybe_time()?) {
            (Some(owner), Some(since), Some(until)) => Some(Lock { owner, since, until }),
            _ => None,
        },
        draft: match (row.maybe_text()?, row.maybe_time()?) {
            (Some(token), Some(until)) => Some(PlanDraft { token, until }),
            _ => None,
        },
        tasks: row.count()?,
        open: row.count()?,
        sequence: row.count()?,
        created: row.time()?,
        updated: row.time()?,
        standing: row.flag()?,
        archived: row.flag()?,
        branch: row.maybe_text()?,
    })
}

pub(crate) fn workflow_detail(id: engine::id::WorkflowId, row: &WorkflowDetail) -> Vec<SqlValue> {
    vec![
        text(id),
        (&row.source_type).into(),
        row.source_ref.as_ref().into(),
        (&row.source_content).into(),
        row.plan_summary.as_ref().into(),
        row.auto_workspaces.into(),
        row.config.as_ref().into(),
    ]
}

pub(crate) fn read_workflow_detail(row: Vec<SqlValue>) -> Result<(engine::id::WorkflowId, WorkflowDetail), Fault> {
    let mut columns = Columns::new("workflow_detail", row);
    let row = &mut columns;
    let id = row.parsed()?;
    let detail = WorkflowDetail {
        source_type: row.text()?,
        source_ref: row.maybe_text()?,
        source_content: row.text()?,
        plan_summary: row.maybe_text()?,
        auto_workspaces: row.flag()?,
        config: row.json()?,
    };
    Ok((id, detail))
}

/// Returns a task's state as the values of the columns `status`, `holder`, `lease_since`, `lease_until`, `actor`,
/// `note`, `block_kind` and `block_role`.
fn state(state: &TaskState) -> [SqlValue; 8] {
    let lease = state.lease();
    let (actor, note): (Option<&Actor>, Option<&String>) = match state {
        TaskState::Pending { .. } | TaskState::Planning { .. } | TaskState::InProgress { .. } => (None, None),
        TaskState::Paused { reason, .. } => (None, reason.as_ref()),
        TaskState::Blocked(block) => (Some(&block.by), Some(&block.reason)),
        TaskState::Failed { by, error } => (Some(by), Some(error)),
        TaskState::Completed { by, outcome } => (Some(by), Some(outcome)),
        TaskState::Skipped { by, reason } => (Some(by), Some(reason)),
    };
    let block = if let TaskState::Blocked(block) = state { Some(block) } else { None };
    [
        state.status().as_str().into(),
        optional(lease.map(|lease| lease.agent)),
        lease.map(|lease| lease.since).into(),
        lease.map(|lease| lease.until).into(),
        optional(actor),
        note.into(),
        block.map(|block| block.kind.as_str()).into(),
        block.map(|block| &block.role).into(),
    ]
}

fn read_state(row: &mut Columns) -> Result<TaskState, Fault> {
    let status = row.word(Status::parse)?;
    let lease = match (row.maybe_parsed()?, row.maybe_time()?, row.maybe_time()?) {
        (Some(agent), Some(since), Some(until)) => Some(Lease { agent, since, until }),
        _ => None,
    };
    let actor: Option<Actor> = row.maybe_parsed()?;
    let note = row.maybe_text()?;
    let kind = row.maybe_text()?.as_deref().and_then(BlockKind::parse);
    let role = row.maybe_text()?;
    // When a row is written, a constraint of the table refuses a status that does not fit the lease, the actor and the
    // note. When a row is read, this match refuses such a status.
    match (status, lease, actor, note) {
        (Status::Pending, lease, None, _) => Ok(TaskState::Pending { lease }),
        (Status::Planning, Some(lease), None, _) => Ok(TaskState::Planning { lease }),
        (Status::InProgress, Some(lease), None, _) => Ok(TaskState::InProgress { lease }),
        (Status::Paused, Some(lease), None, reason) => Ok(TaskState::Paused { lease, reason }),
        (Status::Failed, None, Some(by), Some(error)) => Ok(TaskState::Failed { by, error }),
        (Status::Completed, None, Some(by), Some(outcome)) => Ok(TaskState::Completed { by, outcome }),
        (Status::Skipped, None, Some(by), Some(reason)) => Ok(TaskState::Skipped { by, reason }),
        (Status::Blocked, None, Some(by), Some(reason)) => match (kind, role) {
            (Some(kind), Some(role)) => Ok(TaskState::Blocked(TaskBlock { by, kind, reason, role })),
            _ => Err(Fault::Damaged { what: "a blocked task without kind or role".to_owned() }),
        },
        (status, ..) => Err(Fault::Damaged { what: format!("a task that is {status} but lacks what that needs") }),
    }
}

pub(crate) fn task(row: &Task, author: Option<Actor>, number: u32) -> Vec<SqlValue> {
    let mut values = vec![
        text(row.id),
        text(row.workflow),
        (&row.name).into(),
        row.sequence.into(),
        u32::from(row.priority.get()).into(),
        row.role.as_ref().into(),
        list(&row.capabilities),
        list(&row.touches),
        row.group.as_ref().into(),
        row.verify.into(),
        row.gate.into(),
        row.attempts_max.into(),
        row.attempt.into(),
        row.crashes.into(),
        row.unmet.into(),
        row.checkpoints.into(),
        optional(row.repository),
        optional(row.workspace),
    ];
    values.extend(state(&row.state));
    values.extend([row.created.into(), row.updated.into(), row.review.into(), row.limited.into(), optional(author)]);
    values.push(number.into());
    values
}

/// Returns the values for the statement `sql::UPDATE_TASK`: the columns that change while a task exists.
pub(crate) fn task_update(row: &Task) -> Vec<SqlValue> {
    let mut values = Vec::with_capacity(15);
    values.extend([row.attempt.into(), row.crashes.into(), row.checkpoints.into(), optional(row.workspace)]);
    values.extend(state(&row.state));
    values.extend([row.updated.into(), row.review.into(), text(row.id)]);
    values
}

pub(crate) fn read_task(row: Vec<SqlValue>) -> Result<Task, Fault> {
    let mut columns = Columns::new("task", row);
    let row = &mut columns;
    Ok(Task {
        id: row.parsed()?,
        workflow: row.parsed()?,
        name: row.text()?,
        sequence: row.count()?,
        priority: read_priority(row)?,
        role: row.maybe_text()?,
        capabilities: row.list()?,
        touches: row.list()?,
        group: row.maybe_text()?,
        verify: row.flag()?,
        gate: row.flag()?,
        attempts_max: row.count()?,
        attempt: row.count()?,
        crashes: row.count()?,
        unmet: row.count()?,
        checkpoints: row.count()?,
        repository: row.maybe_parsed()?,
        workspace: row.maybe_parsed()?,
        state: read_state(row)?,
        created: row.time()?,
        updated: row.time()?,
        review: row.flag()?,
        limited: row.flag()?,
        author: row.maybe_parsed()?,
        number: row.count()?,
    })
}

/// Reads the row of the table `counter` that has the last number given to a task.
#[cfg(feature = "testing")]
pub(crate) fn read_last_task_number(row: Vec<SqlValue>) -> Result<u32, Fault> {
    let mut columns = Columns::new("counter", row);
    match columns.text()?.as_str() {
        "task_number" => columns.count(),
        other => Err(Fault::Damaged { what: format!("a counter {other}") }),
    }
}

fn read_priority(row: &mut Columns) -> Result<Priority, Fault> {
    let number = row.count()?;
    let priority = u8::try_from(number).ok().and_then(|number| Priority::try_from(number).ok());
    priority.ok_or_else(|| Fault::Damaged { what: format!("a priority of {number}") })
}

pub(crate) fn detail(id: engine::id::TaskId, row: &TaskDetail) -> Vec<SqlValue> {
    vec![
        text(id),
        row.description.as_ref().into(),
        row.brief.as_ref().into(),
        row.plan.as_ref().into(),
        row.context.as_ref().into(),
        list(&row.context_from),
        row.extra.as_ref().into(),
        row.outcome_detail.as_ref().into(),
    ]
}

pub(crate) fn read_detail(row: Vec<SqlValue>) -> Result<(engine::id::TaskId, TaskDetail), Fault> {
    let mut columns = Columns::new("task_detail", row);
    let row = &mut columns;
    let id = row.parsed()?;
    let detail = TaskDetail {
        description: row.maybe_text()?,
        brief: row.json()?,
        plan: row.json()?,
        context: row.json()?,
        context_from: row.list()?,
        extra: row.json()?,
        outcome_detail: row.json()?,
    };
    Ok((id, detail))
}

pub(crate) fn checkpoint(row: &Checkpoint) -> Vec<SqlValue> {
    vec![
        text(row.task),
        row.sequence.into(),
        text(row.id),
        row.attempt.into(),
        text(row.by),
        row.note.kind.as_str().into(),
        (&row.note.summary).into(),
        row.note.detail.as_ref().into(),
        list(&row.note.files),
        row.at.into(),
    ]
}

pub(crate) fn read_checkpoint(row: Vec<SqlValue>) -> Result<Checkpoint, Fault> {
    let mut columns = Columns::new("checkpoint", row);
    let row = &mut columns;
    let (task, sequence, id, attempt, by) = (row.parsed()?, row.count()?, row.parsed()?, row.count()?, row.parsed()?);
    let note = Note { kind: row.word(Kind::parse)?, summary: row.text()?, detail: row.json()?, files: row.list()? };
    Ok(Checkpoint { id, task, sequence, attempt, by, note, at: row.time()? })
}

pub(crate) fn agent(row: &Agent) -> Vec<SqlValue> {
    vec![
        text(row.id),
        (&row.slug).into(),
        (&row.name).into(),
        (&row.runtime).into(),
        (&row.role).into(),
        list(&row.capabilities),
        optional(row.workflow),
        row.workspace_path.as_ref().into(),
        row.metadata.as_ref().into(),
        optional(row.session),
        row.seen.into(),
        row.left.into(),
        row.created.into(),
        row.updated.into(),
        row.origin.conversation.as_ref().into(),
        row.origin.part.as_ref().into(),
        row.origin.call.as_ref().into(),
        row.principal.as_ref().into(),
        row.registered.into(),
    ]
}

pub(crate) fn read_agent(row: Vec<SqlValue>) -> Result<Agent, Fault> {
    let mut columns = Columns::new("agent", row);
    let row = &mut columns;
    Ok(Agent {
        id: row.parsed()?,
        slug: row.text()?,
        name: row.text()?,
        runtime: row.text()?,
        role: row.text()?,
        capabilities: row.list()?,
        workflow: row.maybe_parsed()?,
        workspace_path: row.maybe_text()?,
        metadata: row.json()?,
        session: row.maybe_parsed()?,
        seen: row.time()?,
        left: row.maybe_time()?,
        created: row.time()?,
        updated: row.time()?,
        origin: Origin { conversation: row.maybe_text()?, part: row.maybe_text()?, call: row.maybe_text()? },
        principal: row.maybe_text()?,
        registered: row.time()?,
    })
}

pub(crate) fn mailbox(row: &Mailbox) -> Vec<SqlValue> {
    vec![text(row.owner), row.sequence.into(), row.unread.into()]
}

pub(crate) fn read_mailbox(row: Vec<SqlValue>) -> Result<Mailbox, Fault> {
    let mut row = Columns::new("mailbox", row);
    Ok(Mailbox { owner: row.parsed()?, sequence: row.count()?, unread: row.count()? })
}

/// Returns a message's state as the values of the columns `state` and `state_at`.
pub(crate) fn message_state(state: MessageState) -> [SqlValue; 2] {
    match state {
        MessageState::Unread => ["unread".into(), SqlValue::Null],
        MessageState::Read { at } => ["read".into(), at.into()],
        MessageState::Archived { at } => ["archived".into(), at.into()],
    }
}

pub(crate) fn message(row: &Message) -> Vec<SqlValue> {
    let mut values = vec![text(row.id), text(row.to), row.sequence.into(), text(row.from), text(row.thread)];
    values.extend(message_state(row.state));
    let draft = &row.draft;
    values.extend([
        draft.kind.as_str().into(),
        u32::from(draft.priority.get()).into(),
        draft.subject.as_ref().into(),
        (&draft.body).into(),
        draft.body_json.into(),
        draft.action_required.into(),
        optional(draft.workflow),
        optional(draft.task),
        optional(draft.reply_to),
        row.at.into(),
        optional(row.answer),
    ]);
    values
}

pub(crate) fn read_message(row: Vec<SqlValue>) -> Result<Message, Fault> {
    let mut columns = Columns::new("message", row);
    let row = &mut columns;
    let (id, to, sequence, from, thread) =
        (row.parsed()?, row.parsed::<MailboxOwner>()?, row.count()?, row.parsed()?, row.parsed()?);
    let state = match (row.text()?.as_str(), row.maybe_time()?) {
        ("unread", None) => MessageState::Unread,
        ("read", Some(at)) => MessageState::Read { at },
        ("archived", Some(at)) => MessageState::Archived { at },
        (state, _) => return Err(Fault::Damaged { what: format!("a message in state {state}") }),
    };
    let draft = MessageDraft {
        kind: row.word(MessageKind::parse)?,
        priority: read_priority(row)?,
        subject: row.maybe_text()?,
        body: row.text()?,
        body_json: row.flag()?,
        action_required: row.flag()?,
        workflow: row.maybe_parsed()?,
        task: row.maybe_parsed()?,
        reply_to: row.maybe_parsed()?,
    };
    let (at, answer) = (row.time()?, row.maybe_parsed()?);
    Ok(Message { id, to, sequence, from, thread, state, draft, at, answer })
}

pub(crate) fn template(row: &Template) -> Result<Vec<SqlValue>, Fault> {
    let body = serde_json::to_string(&row.body).map_err(|error| Fault::Bug { what: error.to_string() })?;
    Ok(vec![text(row.id), (&row.name).into(), row.description.as_ref().into(), body.into(), row.created.into()])
}

pub(crate) fn read_template(row: Vec<SqlValue>) -> Result<Template, Fault> {
    let mut columns = Columns::new("template", row);
    let row = &mut columns;
    Ok(Template {
        id: row.parsed()?,
        name: row.text()?,
        description: row.maybe_text()?,
        body: row.value()?,
        created: row.time()?,
    })
}

pub(crate) fn key(row: &StoredKey) -> Result<Vec<SqlValue>, Fault> {
    let answer = serde_json::to_string(&row.answer).map_err(|error| Fault::Bug { what: error.to_string() })?;
    let KeyId { owner, act, key } = &row.id;
    Ok(vec![owner.into(), act.into(), key.into(), (&row.fingerprint).into(), answer.into(), row.until.into()])
}

pub(crate) fn read_key(row: Vec<SqlValue>) -> Result<StoredKey, Fault> {
    let mut columns = Columns::new("kept_answer", row);
    let row = &mut columns;
    let id = KeyId { owner: row.text()?, act: row.text()?, key: row.text()? };
    Ok(StoredKey { id, fingerprint: row.text()?, answer: row.value()?, until: row.time()? })
}
