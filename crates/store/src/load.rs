//! Turns a need (a request for rows) into a statement, and adds the rows of the answer to the world (the loaded state).

mod list;

use engine::inbox::Mailbox;
use engine::limits;
use engine::{Fact, Need, World};

use crate::fault::Fault;
use crate::row;
use crate::sql;
use crate::value::{Columns, SqlValue, Statement, optional, text};

fn bound(limit: usize) -> SqlValue {
    SqlValue::Int(i64::try_from(limit).unwrap_or(i64::MAX))
}

/// Returns the query that answers a need. Each query returns a bounded number of rows.
#[expect(clippy::too_many_lines, reason = "one match that names every need")]
pub(crate) fn query(need: &Need) -> Statement {
    let one = |sql, key: SqlValue| Statement::new(sql, [key]);
    match need {
        Need::Task(id) => one(sql::TASK, text(id)),
        Need::Detail(id) => one(sql::DETAIL, text(id)),
        Need::Workflow(id) => one(sql::WORKFLOW, text(id)),
        Need::WorkflowDetail(id) => one(sql::WORKFLOW_DETAIL, text(id)),
        Need::Agent(id) => one(sql::AGENT, text(id)),
        Need::Mailbox(owner) => one(sql::MAILBOX, text(owner)),
        Need::Message(id) => one(sql::MESSAGE, text(id)),
        Need::Workspace(id) => one(sql::WORKSPACE, text(id)),
        Need::Repository(id) => one(sql::REPOSITORY, text(id)),
        Need::RepositoryAt(path) => one(sql::REPOSITORY_AT, path.into()),
        Need::Template(id) => one(sql::TEMPLATE, text(id)),
        Need::TemplateNamed(name) => one(sql::TEMPLATE_NAMED, name.into()),
        Need::Key(id) => Statement::new(sql::KEPT_ANSWER, [(&id.owner).into(), (&id.act).into(), (&id.key).into()]),
        Need::Token(id) => one(sql::TOKEN, text(id)),
        Need::TokenHashed(hash) => one(sql::TOKEN_HASHED, hash.into()),
        Need::Turn(id) => one(sql::turn::TURN, text(id)),
        Need::TurnCount(task) => one(sql::turn::TURN_COUNT, text(task)),
        Need::TurnRunning(task) => one(sql::turn::TURN_RUNNING, text(task)),
        Need::VerificationCount(task) => one(sql::turn::VERIFICATION_COUNT, text(task)),
        Need::ApprovalRefused(fingerprint) => one(sql::turn::APPROVAL_REFUSED, fingerprint.into()),
        Need::Reminder(conversation, part) => Statement::new(sql::turn::REMINDER, [conversation.into(), part.into()]),
        Need::Runner(name) => one(sql::turn::RUNNER, name.into()),
        Need::Section(name) => one(sql::turn::SECTION, name.into()),
        Need::Approval(id) => one(sql::turn::APPROVAL, text(id)),
        Need::Review(id) => one(sql::review::REVIEW, text(id)),
        Need::Round(id, number) => Statement::new(sql::review::ROUND, [text(id), (*number).into()]),
        Need::Finding(id, name) => Statement::new(sql::review::FINDING, [text(id), name.into()]),
        Need::Notice(id, channel) => Statement::new(sql::turn::NOTICE, [text(id), channel.as_str().into()]),
        Need::ApprovalSealed(fingerprint) => one(sql::turn::APPROVAL_SEALED, fingerprint.into()),
        Need::List(found) => list::query(found),
        Need::Slug(slug) => one(sql::SLUG, slug.into()),
        Need::SlugNumber(base) => {
            // In ASCII `.` follows `-`. So the range from `base-` to `base.` holds exactly the slugs that begin with
            // `base-`.
            Statement::new(sql::SLUG_ENDINGS, [format!("{base}-").into(), format!("{base}.").into()])
        }
        Need::SessionAgents(id) => Statement::new(sql::SESSION_AGENTS, [text(id), bound(limits::SESSION_AGENTS_MAX)]),
        Need::ConversationAgents(name) => {
            Statement::new(sql::CONVERSATION_AGENTS, [name.into(), bound(limits::SESSION_AGENTS_MAX)])
        }
        Need::CalledAgents(call) => {
            Statement::new(sql::CALLED_AGENTS, [call.into(), bound(limits::SESSION_AGENTS_MAX)])
        }
        Need::SameAgents { name, runtime } => {
            Statement::new(sql::SAME_AGENTS, [name.into(), runtime.into(), bound(limits::SAME_AGENTS_MAX)])
        }
        Need::RoleHolders(role) => Statement::new(sql::ROLE_HOLDERS, [role.into(), bound(limits::ROLE_HOLDERS_MAX)]),
        Need::Agents(filter) => {
            let [role, runtime] = [&filter.role, &filter.runtime].map(|word| SqlValue::from(word.as_ref()));
            let limit = bound(limits::BROADCAST_MAX + 1);
            Statement::new(sql::AGENTS, [role, runtime, optional(filter.workflow), limit])
        }
        Need::Held(agent) => Statement::new(sql::HELD, [text(agent), bound(limits::HELD_TASKS_MAX)]),
        Need::HeldIn(id, workspace) => {
            Statement::new(sql::HELD_IN, [text(id), text(workspace), bound(limits::HELD_TASKS_MAX)])
        }
        Need::HoldsMost(agent) => Statement::new(sql::HOLDS_MOST, [text(agent), bound(limits::HELD_TASKS_MAX - 1)]),
        Need::LockedBy(owner) => Statement::new(sql::LOCKED_BY, [owner.into(), bound(limits::HELD_TASKS_MAX)]),
        Need::Running(id, now) => {
            Statement::new(sql::RUNNING, [text(id), (*now).into(), (limits::PARALLEL_MAX + 1).into()])
        }
        Need::BusyFiles(id, now) => {
            Statement::new(sql::BUSY_FILES, [text(id), (*now).into(), bound(limits::BUSY_FILES_MAX)])
        }
        Need::Unmet(id) => Statement::new(sql::UNMET, [text(id), bound(limits::NAMED_MAX)]),
        Need::Freed(id) => Statement::new(sql::FREED, [text(id), bound(limits::REPLAN_ROWS_MAX)]),
        Need::Dependencies(id) => Statement::new(sql::DEPENDENCIES, [text(id), bound(limits::REPLAN_ROWS_MAX + 1)]),
        Need::Dependents(id) => Statement::new(sql::DEPENDENTS, [text(id), bound(limits::REPLAN_ROWS_MAX + 1)]),
        Need::OpenAncestors(id) => Statement::new(sql::OPEN_ANCESTORS, [text(id), bound(limits::REPLAN_ROWS_MAX + 1)]),
        Need::OpenTasks(id) => Statement::new(sql::OPEN_TASKS, [text(id), bound(limits::REPLAN_ROWS_MAX + 1)]),
        Need::OpenEdges(id) => Statement::new(sql::OPEN_EDGES, [text(id), bound(limits::OPEN_EDGES_MAX + 1)]),
        Need::TaskNamed(id, name) => Statement::new(sql::TASK_NAMED, [text(id), name.into()]),
        Need::Removable(id) => Statement::new(sql::REMOVABLE, [text(id), bound(limits::REPLAN_ROWS_MAX + 1)]),
        Need::Expired(id, now) => {
            Statement::new(sql::EXPIRED, [text(id), (*now).into(), bound(limits::SWEEP_TASKS_MAX)])
        }
        Need::ExpiredAnywhere(now) => {
            Statement::new(sql::EXPIRED_ANYWHERE, [(*now).into(), bound(limits::SWEEP_TASKS_MAX)])
        }
        Need::Candidates(ask) => {
            let sql = if ask.failed { sql::FAILED } else { sql::READY };
            let after = ask.after.map(|(priority, sequence, id)| (u32::from(priority), sequence, id.to_string()));
            let (priority, sequence, id) = after.unwrap_or_default();
            let after = [priority.into(), sequence.into(), SqlValue::from(id)];
            let [priority, sequence, id] = after;
            Statement::new(sql, [text(ask.workflow), priority, sequence, id, ask.limit.into()])
        }
        Need::UnmergedRequest(id) => Statement::new(sql::UNMERGED, [text(id), "".into()]),
        Need::OtherUnmergedRequest(id, but) => Statement::new(sql::UNMERGED, [text(id), text(but)]),
        Need::RepositoryUsed(id, repository) => Statement::new(sql::REPOSITORY_USED, [text(id), text(repository)]),
        Need::Attached(id, repository) => Statement::new(sql::ATTACHED, [text(id), text(repository)]),
        Need::Checkpoints { task, after, limit } => {
            Statement::new(sql::CHECKPOINTS, [text(task), (*after).into(), (*limit).into()])
        }
        Need::Inbox { owner, unread, after, limit } => {
            let sql = if *unread { sql::INBOX_UNREAD } else { sql::INBOX };
            Statement::new(sql, [text(owner), (*after).into(), (*limit).into()])
        }
    }
}

/// Adds the rows that answer a need to the world (the loaded state).
#[expect(clippy::wildcard_enum_match_arm, reason = "`World::knows` names every need; what has no row is a fact")]
pub(crate) fn absorb(need: &Need, rows: Vec<Vec<SqlValue>>, world: &mut World) -> Result<(), Fault> {
    match need {
        Need::Task(id) => drop(world.tasks.insert(*id, one(rows, row::read_task)?)),
        Need::Detail(id) => {
            let found = one(rows, row::read_detail)?.map(|(_, detail)| detail);
            world.details.insert(*id, found.unwrap_or_default());
        }
        Need::Workflow(id) => drop(world.workflows.insert(*id, one(rows, row::read_workflow)?)),
        Need::WorkflowDetail(id) => {
            let found = one(rows, row::read_workflow_detail)?.map(|(_, detail)| detail);
            world.workflow_details.insert(*id, found.unwrap_or_default());
        }
        Need::Agent(id) => drop(world.agents.insert(*id, one(rows, row::read_agent)?)),
        Need::Mailbox(owner) => {
            let empty = Mailbox { owner: *owner, sequence: 0, unread: 0 };
            world.mailboxes.insert(*owner, one(rows, row::read_mailbox)?.unwrap_or(empty));
        }
        Need::Message(id) => drop(world.messages.insert(*id, one(rows, row::read_message)?)),
        Need::Workspace(id) => drop(world.workspaces.insert(*id, one(rows, row::read_workspace)?)),
        Need::Repository(id) => drop(world.repositories.insert(*id, one(rows, row::read_repository)?)),
        Need::RepositoryAt(path) => drop(world.paths.insert(path.clone(), one(rows, parsed)?)),
        Need::Template(id) => drop(world.templates.insert(*id, one(rows, row::read_template)?)),
        Need::Token(id) => drop(world.tokens.insert(*id, one(rows, row::read_token)?)),
        Need::Turn(id) => drop(world.turns.insert(*id, one(rows, row::turn::read_turn)?)),
        Need::Section(name) => drop(world.sections.insert(name.clone(), one(rows, row::turn::read_section)?)),
        Need::Approval(id) => drop(world.approvals.insert(*id, one(rows, row::turn::read_approval)?)),
        Need::Review(id) => drop(world.reviews.insert(*id, one(rows, row::review::read_review)?)),
        Need::Notice(id, channel) => {
            world.notices.insert((*id, *channel), one(rows, row::turn::read_notice)?);
        }
        Need::Key(id) => drop(world.keys.insert(id.clone(), one(rows, row::read_key)?)),
        _ => drop(world.facts.insert(need.clone(), fact(need, rows)?)),
    }
    Ok(())
}

#[expect(clippy::wildcard_enum_match_arm, reason = "`query` names every need; the rest ask whether there is a row")]
fn fact(need: &Need, rows: Vec<Vec<SqlValue>>) -> Result<Fact, Fault> {
    Ok(match need {
        Need::List(found) => list::fact(found, rows)?,
        Need::TokenHashed(_) => Fact::TokenRows(many(rows, row::read_token)?),
        Need::TurnRunning(_) => Fact::TurnRows(many(rows, row::turn::read_turn)?),
        Need::TurnCount(_) | Need::VerificationCount(_) => {
            Fact::Number(one(rows, |row| Columns::new("count", row).count())?.unwrap_or(0))
        }
        Need::Runner(_) => Fact::RunnerRows(many(rows, row::turn::read_runner)?),
        Need::Round(..) => Fact::RoundRows(many(rows, row::review::read_round)?),
        Need::Finding(..) => Fact::FindingRows(many(rows, row::review::read_finding)?),
        Need::Reminder(..) => Fact::ReminderRows(many(rows, row::turn::read_reminder)?),
        Need::ApprovalSealed(_) | Need::ApprovalRefused(_) => Fact::ApprovalRows(many(rows, row::turn::read_approval)?),
        Need::Slug(_)
        | Need::SessionAgents(_)
        | Need::ConversationAgents(_)
        | Need::CalledAgents(_)
        | Need::SameAgents { .. }
        | Need::RoleHolders(_)
        | Need::Agents(_) => Fact::Agents(many(rows, parsed)?),
        Need::SlugNumber(base) => {
            let number = |slug: &String| slug.strip_prefix(base.as_str())?.strip_prefix('-')?.parse::<u32>().ok();
            let slugs = many(rows, |row| Columns::new("agent", row).text())?;
            Fact::Number(slugs.iter().filter_map(number).max().unwrap_or(0))
        }
        Need::LockedBy(_) | Need::ExpiredAnywhere(_) => Fact::Workflows(many(rows, parsed)?),
        Need::Held(_)
        | Need::HeldIn(..)
        | Need::Dependencies(_)
        | Need::Dependents(_)
        | Need::TaskNamed(..)
        | Need::Expired(..) => Fact::Tasks(many(rows, parsed)?),
        Need::Running(..) => Fact::Number(one(rows, |row| Columns::new("count", row).count())?.unwrap_or(0)),
        Need::BusyFiles(..)
        | Need::Removable(_)
        | Need::Candidates(_)
        | Need::OpenAncestors(_)
        | Need::OpenTasks(_) => Fact::Full(many(rows, row::read_task)?),
        Need::OpenEdges(_) => Fact::Edges(many(rows, |row| {
            let mut columns = Columns::new("dependency", row);
            Ok((columns.parsed()?, columns.parsed()?))
        })?),
        Need::Unmet(_) | Need::Freed(_) => Fact::Named(many(rows, |row| {
            let mut columns = Columns::new("task", row);
            Ok((columns.parsed()?, columns.text()?))
        })?),
        Need::Attached(..) => Fact::Time(one(rows, |row| Columns::new("attachment", row).time())?),
        Need::Checkpoints { .. } => Fact::Checkpoints(many(rows, row::read_checkpoint)?),
        Need::Inbox { .. } => Fact::Messages(many(rows, row::read_message)?),
        _ => Fact::Yes(!rows.is_empty()),
    })
}

fn parsed<T: std::str::FromStr>(row: Vec<SqlValue>) -> Result<T, Fault> {
    Columns::new("id", row).parsed()
}

fn one<T>(rows: Vec<Vec<SqlValue>>, read: impl Fn(Vec<SqlValue>) -> Result<T, Fault>) -> Result<Option<T>, Fault> {
    rows.into_iter().next().map(read).transpose()
}

fn many<T>(rows: Vec<Vec<SqlValue>>, read: impl Fn(Vec<SqlValue>) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
    rows.into_iter().map(read).collect()
}
