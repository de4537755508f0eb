//! The SQL statements for the needs (questions to the store), one function for each type of need, and the functions
//! that read the rows that these statements return.

use engine::id::TaskId;
use engine::limits;
use engine::task::Status;
use engine::world::{
    AgentIdNeed, ApprovalNeed, BoolNeed, CheckpointNeed, FreedNeed, InboxNeed, NumberNeed, OpenEdgeNeed, PutOffNeed,
    TaskIdNeed, TaskRowNeed, UnmetNeed, WorkflowIdNeed,
};

use super::many;
use crate::fault::Fault;
use crate::sql;
use crate::value::{Columns, SqlValue, Statement, optional, text};

fn bound(limit: usize) -> SqlValue {
    SqlValue::Int(i64::try_from(limit).unwrap_or(i64::MAX))
}

pub(super) fn task_ids(need: &TaskIdNeed) -> Statement {
    match need {
        TaskIdNeed::HeldBy(agent) => Statement::new(sql::HELD, [text(agent), bound(limits::HELD_TASKS_MAX)]),
        TaskIdNeed::HeldIn(id, workspace) => {
            Statement::new(sql::HELD_IN, [text(id), text(workspace), bound(limits::HELD_TASKS_MAX)])
        }
        TaskIdNeed::Dependencies(id) => {
            Statement::new(sql::DEPENDENCIES, [text(id), bound(limits::REPLAN_ROWS_MAX + 1)])
        }
        TaskIdNeed::Dependents(id) => Statement::new(sql::DEPENDENTS, [text(id), bound(limits::REPLAN_ROWS_MAX + 1)]),
        TaskIdNeed::Named(id, name) => Statement::new(sql::TASK_NAMED, [text(id), name.into()]),
        TaskIdNeed::Expired(id, now) => {
            Statement::new(sql::EXPIRED, [text(id), (*now).into(), bound(limits::SWEEP_TASKS_MAX)])
        }
    }
}

pub(super) fn task_rows(need: &TaskRowNeed) -> Statement {
    match need {
        TaskRowNeed::BusyFiles(id, now) => {
            Statement::new(sql::BUSY_FILES, [text(id), (*now).into(), bound(limits::BUSY_FILES_MAX)])
        }
        TaskRowNeed::Removable(id) => Statement::new(sql::REMOVABLE, [text(id), bound(limits::REPLAN_ROWS_MAX + 1)]),
        TaskRowNeed::Candidates(ask) => {
            let sql = if ask.failed { sql::FAILED } else { sql::READY };
            let after = ask.after.map(|(priority, sequence, id)| (u32::from(priority), sequence, id.to_string()));
            let (priority, sequence, id) = after.unwrap_or_default();
            Statement::new(sql, [text(ask.workflow), priority.into(), sequence.into(), id.into(), ask.limit.into()])
        }
        TaskRowNeed::OpenAncestors(id) => {
            Statement::new(sql::OPEN_ANCESTORS, [text(id), bound(limits::REPLAN_ROWS_MAX + 1)])
        }
        TaskRowNeed::Open(id) => Statement::new(sql::OPEN_TASKS, [text(id), bound(limits::REPLAN_ROWS_MAX + 1)]),
    }
}

pub(super) fn unmet(UnmetNeed(id): UnmetNeed) -> Statement {
    Statement::new(sql::UNMET, [text(id), bound(limits::NAMED_MAX)])
}

pub(super) fn read_name(row: Vec<SqlValue>) -> Result<(TaskId, String), Fault> {
    let mut columns = Columns::new("task", row);
    Ok((columns.parsed()?, columns.text()?))
}

pub(super) fn freed(FreedNeed(id): FreedNeed) -> Statement {
    Statement::new(sql::FREED, [text(id), bound(limits::REPLAN_ROWS_MAX)])
}

pub(super) fn read_status(row: Vec<SqlValue>) -> Result<(TaskId, Status), Fault> {
    let mut columns = Columns::new("task", row);
    Ok((columns.parsed()?, columns.word(Status::parse)?))
}

pub(super) fn put_offs(_: PutOffNeed) -> Statement {
    Statement::new(sql::turn::PUT_OFFS, [bound(limits::PUT_OFF_MAX)])
}

pub(super) fn open_edges(OpenEdgeNeed(id): OpenEdgeNeed) -> Statement {
    Statement::new(sql::OPEN_EDGES, [text(id), bound(limits::OPEN_EDGES_MAX + 1)])
}

pub(super) fn read_edge(row: Vec<SqlValue>) -> Result<(TaskId, TaskId), Fault> {
    let mut columns = Columns::new("dependency", row);
    Ok((columns.parsed()?, columns.parsed()?))
}

pub(super) fn agent_ids(need: &AgentIdNeed) -> Statement {
    match need {
        AgentIdNeed::WithSlug(slug) => Statement::new(sql::SLUG, [slug.into()]),
        AgentIdNeed::OfSession(id) => {
            Statement::new(sql::SESSION_AGENTS, [text(id), bound(limits::SESSION_AGENTS_MAX)])
        }
        AgentIdNeed::OfConversation(name) => {
            Statement::new(sql::CONVERSATION_AGENTS, [name.into(), bound(limits::SESSION_AGENTS_MAX)])
        }
        AgentIdNeed::OfCall(call) => {
            Statement::new(sql::CALLED_AGENTS, [call.into(), bound(limits::SESSION_AGENTS_MAX)])
        }
        AgentIdNeed::Same { name, runtime } => {
            Statement::new(sql::SAME_AGENTS, [name.into(), runtime.into(), bound(limits::SAME_AGENTS_MAX)])
        }
        AgentIdNeed::WithRole(role) => {
            Statement::new(sql::ROLE_HOLDERS, [role.into(), bound(limits::ROLE_HOLDERS_MAX)])
        }
        AgentIdNeed::Matching(filter) => {
            let [role, runtime] = [&filter.role, &filter.runtime].map(|word| SqlValue::from(word.as_ref()));
            let limit = bound(limits::BROADCAST_MAX + 1);
            Statement::new(sql::AGENTS, [role, runtime, optional(filter.workflow), limit])
        }
    }
}

pub(super) fn workflow_ids(need: &WorkflowIdNeed) -> Statement {
    match need {
        WorkflowIdNeed::Standing => Statement::new(sql::STANDING, []),
        WorkflowIdNeed::WithBranch(branch) => Statement::new(sql::WITH_BRANCH, [branch.into()]),
        WorkflowIdNeed::LockedBy(owner) => {
            Statement::new(sql::LOCKED_BY, [owner.into(), bound(limits::HELD_TASKS_MAX)])
        }
        WorkflowIdNeed::WithExpired(now) => {
            Statement::new(sql::EXPIRED_ANYWHERE, [(*now).into(), bound(limits::SWEEP_TASKS_MAX)])
        }
    }
}

pub(super) fn checkpoints(CheckpointNeed { task, after, limit }: CheckpointNeed) -> Statement {
    Statement::new(sql::CHECKPOINTS, [text(task), after.into(), limit.into()])
}

pub(super) fn inbox(InboxNeed { owner, unread, after, limit }: InboxNeed) -> Statement {
    let sql = if unread { sql::INBOX_UNREAD } else { sql::INBOX };
    Statement::new(sql, [text(owner), after.into(), limit.into()])
}

pub(super) fn approvals(need: &ApprovalNeed) -> Statement {
    match need {
        ApprovalNeed::Sealed(fingerprint) => Statement::new(sql::turn::APPROVAL_SEALED, [fingerprint.into()]),
        ApprovalNeed::Refused(fingerprint) => Statement::new(sql::turn::APPROVAL_REFUSED, [fingerprint.into()]),
    }
}

pub(super) fn number(need: &NumberNeed) -> Statement {
    match need {
        NumberNeed::SlugNumber(base) => {
            // In ASCII `.` follows `-`. So the range from `base-` to `base.` holds exactly the slugs that begin with
            // `base-`.
            Statement::new(sql::SLUG_ENDINGS, [format!("{base}-").into(), format!("{base}.").into()])
        }
        NumberNeed::Running(id, now) => {
            Statement::new(sql::RUNNING, [text(id), (*now).into(), (limits::PARALLEL_MAX + 1).into()])
        }
        NumberNeed::Conditions => Statement::new(sql::delivery::CONDITION_COUNT, []),
        NumberNeed::LastTaskNumber => Statement::new(sql::LAST_TASK_NUMBER, []),
        NumberNeed::Turns(task) => Statement::new(sql::turn::TURN_COUNT, [text(task)]),
        NumberNeed::Verifications(task) => Statement::new(sql::turn::VERIFICATION_COUNT, [text(task)]),
    }
}

/// Reads the number that answers a need (a question to the store). For `SlugNumber`, the rows are slugs (short names of
/// agents, such as `ada-2`), and the number is the highest number at the end of a slug. For all other needs, the
/// statement returns one row with the number.
pub(super) fn read_number(need: &NumberNeed, rows: Vec<Vec<SqlValue>>) -> Result<u32, Fault> {
    match need {
        NumberNeed::SlugNumber(base) => {
            let number = |slug: &String| slug.strip_prefix(base.as_str())?.strip_prefix('-')?.parse::<u32>().ok();
            let slugs = many(rows, |row| Columns::new("agent", row).text())?;
            Ok(slugs.iter().filter_map(number).max().unwrap_or(0))
        }
        NumberNeed::Conditions
        | NumberNeed::LastTaskNumber
        | NumberNeed::Running(..)
        | NumberNeed::Turns(_)
        | NumberNeed::Verifications(_) => super::number(rows),
    }
}

/// Returns the SQL statement for a need (a question to the store) whose answer is true or false. The answer is true
/// when the statement finds a row.
pub(super) fn is_so(need: &BoolNeed) -> Statement {
    match need {
        BoolNeed::TemplateNamed(name) => Statement::new(sql::TEMPLATE_NAMED, [name.into()]),
        BoolNeed::HoldsMost(agent) => Statement::new(sql::HOLDS_MOST, [text(agent), bound(limits::HELD_TASKS_MAX - 1)]),
        BoolNeed::UnmergedRequest(id) => Statement::new(sql::UNMERGED, [text(id), "".into()]),
        BoolNeed::OtherUnmergedRequest(id, but) => Statement::new(sql::UNMERGED, [text(id), text(but)]),
        BoolNeed::RepositoryUsed(id, repository) => Statement::new(sql::REPOSITORY_USED, [text(id), text(repository)]),
    }
}
