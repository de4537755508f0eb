//! Serves the tools that read workflows, tasks, agents, checkpoints, workspaces and repositories.

use engine::id::{AgentId, RepositoryId, TaskId, WorkflowId, WorkspaceId};
use engine::list::{AgentFilter, WorkflowFilter};
use engine::view::StallCauses;
use engine::workflow::{Workflow, WorkflowDetail, WorkflowStatus};
use engine::workspace::WorkspaceStatus;
use engine::world::CheckpointNeed;
use engine::{Refusal, Timestamp, view};
use wire::json::{Value, object};
use wire::lifecycle::{
    AgentGet, AgentList, AgentRow, AgentStatus, Agents, BlockedRow, CheckpointList, CheckpointRow, Checkpoints,
    Configured, DependenciesReply, Format, GroupRow, LockInfo, Mention, NamedParts, ProgressReply, ReplyPart,
    Repositories, RepositoryList, RepositoryRow, StallRow, Summarized, TaskGet, TaskReply, Within, WorkflowGet,
    WorkflowGetSummary, WorkflowList, WorkflowReply, WorkflowRow, Workflows, WorkspaceList, WorkspaceRow, Workspaces,
    presence,
};

use super::{Desk, ToolAnswer, ToolRequest, bad_cursor, limit, place};

/// Returns the text of a cursor, a position in a list that is ordered by time: the time and the id of the last row,
/// with a dot between them.
fn cursor<I: std::fmt::Display>(next: Option<(Timestamp, I)>) -> Option<String> {
    next.map(|(time, id)| format!("{}.{id}", time.0))
}

fn moment<I: std::str::FromStr>(given: Option<&wire::shape::NonBlank>) -> Result<Option<(Timestamp, I)>, Refusal> {
    Ok(place::<i64, I>(given)?.map(|(time, id)| (Timestamp(time), id)))
}

/// Returns the two fields of a reply that say that a workflow is stalled, and why. Both fields are `None` when the
/// workflow is not stalled.
fn stalled(causes: Option<StallCauses>) -> (Option<bool>, Option<StallRow>) {
    (causes.map(|_| true), causes.map(StallRow::of))
}

impl Desk {
    pub(super) async fn task(&self, asked: &TaskGet) -> ToolAnswer {
        let (id, wanted) = (asked.id, asked.include_checkpoints.unwrap_or(false));
        let rows = limit(asked.checkpoint_limit);
        let (task, newest) = self
            .service
            .view(move |world| {
                let found = view::task(world, id)?;
                let after = found.task.checkpoints.saturating_sub(rows);
                let need = CheckpointNeed { task: id, after, limit: rows };
                let newest = if wanted { world.ask(&need)?.to_vec() } else { Vec::new() };
                Ok((found, newest))
            })
            .await?;
        let mut reply = TaskReply::of(&task);
        // Always include the list of checkpoints (notes about a task's progress), even when it is empty. Some clients
        // were written for the original server, whose tools and field names Handover keeps, and they read the list
        // without checking that it exists.
        reply.checkpoints = Some(newest.iter().map(CheckpointRow::of).collect());
        self.with_work_done(&mut reply, task.task).await?;
        Ok(reply.render())
    }

    pub(super) async fn checkpoints(&self, asked: &CheckpointList) -> ToolAnswer {
        let after = match &asked.cursor {
            Some(cursor) => cursor.as_str().parse().map_err(|_| bad_cursor())?,
            None => asked.since_sequence.map_or(0, |Within(number)| number),
        };
        let (task, rows) = (asked.task_id, limit(asked.limit));
        let kinds: Vec<&'static str> = asked.kind.iter().flat_map(|list| &list.0).map(|kind| kind.as_str()).collect();
        let found = self
            .service
            .view(move |world| {
                view::task(world, task)?;
                let need = CheckpointNeed { task, after, limit: rows + 1 };
                Ok(world.ask(&need)?.to_vec())
            })
            .await?;
        let size = usize::try_from(rows).unwrap_or(usize::MAX);
        let more = found.len() > size;
        let page = found.get(..size.min(found.len())).unwrap_or_default();
        let next = page.last().filter(|_| more).map(|last| last.sequence.to_string());
        let wanted =
            |row: &&engine::checkpoint::Checkpoint| kinds.is_empty() || kinds.contains(&row.note.kind.as_str());
        let checkpoints = page.iter().filter(wanted).map(CheckpointRow::of).collect();
        Ok(Checkpoints { checkpoints, next_cursor: next }.render())
    }

    pub(super) async fn dependencies(&self, task: TaskId) -> ToolAnswer {
        let found = self.service.view(move |world| view::dependencies(world, task)).await?;
        let (met, open): (Vec<_>, Vec<_>) = found.iter().partition(|task| task.status().is_met());
        let reply = DependenciesReply {
            satisfied: open.is_empty(),
            pending: open.into_iter().map(Mention::of).collect(),
            completed: met.into_iter().map(Mention::of).collect(),
        };
        Ok(reply.render())
    }

    pub(super) async fn workflow(&self, asked: &WorkflowGet) -> ToolAnswer {
        let (id, now, rows) = (asked.id, self.service.now(), limit(asked.limit));
        let wanted = asked.include_tasks.or(asked.include_task_summaries).unwrap_or(false);
        let after = place::<u32, TaskId>(asked.cursor.as_ref())?;
        let ((workflow, detail), page, stall) = self
            .service
            .view(move |world| {
                let found = view::workflow(world, id)?;
                let page = if wanted { Some(view::tasks(world, id, &[], after, rows)?) } else { None };
                let stall = view::stalls(world, &[&found.0], now)?.pop().flatten();
                Ok((found, page, stall))
            })
            .await?;
        let mut reply = WorkflowReply::of(&workflow, detail, now);
        (reply.stalled, reply.stalled_by) = stalled(stall);
        if let Some(page) = page {
            reply.tasks = page.rows.iter().map(TaskReply::listed).collect();
            reply.next_cursor = page.next.map(|(sequence, task)| format!("{sequence}.{task}"));
        }
        Ok(reply.render())
    }

    pub(super) async fn config(&self, id: WorkflowId) -> ToolAnswer {
        let (_, detail) = self.service.view(move |world| view::workflow(world, id)).await?;
        let config = detail.config.unwrap_or_else(|| engine::Json::from_stored("{}".to_owned()));
        Ok(Configured { id, config }.render())
    }

    pub(super) async fn workflows(&self, asked: &WorkflowList) -> ToolAnswer {
        let words = asked.status.iter().flat_map(|list| &list.0);
        let statuses: Vec<WorkflowStatus> = words.filter_map(|status| WorkflowStatus::parse(status.as_str())).collect();
        let none = asked.status.as_ref().is_some_and(|list| list.0.is_empty());
        let path = asked.repository_path.as_ref().map(ToString::to_string);
        let archived = asked.include_archived.unwrap_or(false);
        let after = moment::<WorkflowId>(asked.cursor.as_ref())?;
        let (offset, rows) = (asked.offset.map_or(0, |Within(number)| number), limit(asked.limit));
        let now = self.service.now();
        let (page, stalls) = self
            .service
            .view(move |world| {
                let repository = match &path {
                    None => None,
                    // If no repository is registered at this path, the reply must be empty. So filter by an id that no
                    // repository has.
                    Some(path) => Some(world.repository_at(path)?.unwrap_or(RepositoryId::LAST)),
                };
                let filter = WorkflowFilter { statuses: statuses.clone(), repository, archived };
                let page = view::workflows(world, &filter, after, offset, rows)?;
                let listed: Vec<&Workflow> = page.rows.iter().map(|(row, _)| row).collect();
                let stalls = view::stalls(world, &listed, now)?;
                Ok((page, stalls))
            })
            .await?;
        let row = |((row, detail), stall): (&(Workflow, WorkflowDetail), Option<StallCauses>)| {
            let (stalled, stalled_by) = stalled(stall);
            WorkflowRow { stalled, stalled_by, ..WorkflowRow::of(row, detail) }
        };
        let workflows: Vec<WorkflowRow> = page.rows.iter().zip(stalls).map(row).collect();
        let reply = Workflows {
            workflows: if none { Vec::new() } else { workflows },
            total: if none { 0 } else { page.total.unwrap_or(0) },
            next_cursor: cursor(page.next).filter(|_| !none),
        };
        Ok(reply.render())
    }

    pub(super) async fn progress(&self, id: WorkflowId) -> ToolAnswer {
        let now = self.service.now();
        let (found, stall) = self
            .service
            .view(move |world| {
                let stall = view::stalls(world, &[world.workflow(id)?], now)?.pop().flatten();
                Ok((view::progress(world, id)?, stall))
            })
            .await?;
        let (stalled, stalled_by) = stalled(stall);
        let (workflow, planned) = (&found.workflow, view::is_planned(&found.workflow));
        let (tasks, open) = if planned { (workflow.tasks, workflow.open) } else { (0, 0) };
        let group =
            |(name, all, done): &(String, u32, u32)| (name.clone(), GroupRow { task_count: *all, completed: *done });
        let blocked = found.blocked.iter().map(|row| BlockedRow {
            id: row.task,
            name: row.name.clone(),
            blocked_by: row.blocked_by.clone(),
        });
        let reply = ProgressReply {
            workflow_id: id,
            status: workflow.status.as_str(),
            stalled,
            stalled_by,
            total_tasks: tasks,
            by_status: NamedParts(found.by_status.clone()),
            completed_sequence: found.completed_sequence,
            current_sequence: found.current_sequence,
            blocked_tasks: blocked.collect(),
            more_blocked_tasks: found.blocked_more.then_some(true),
            parallel_groups: NamedParts(found.groups.iter().map(group).collect()),
            estimated_remaining: open,
            all_complete: tasks > 0 && open == 0,
        };
        Ok(reply.render())
    }

    pub(super) async fn summary(&self, asked: &WorkflowGetSummary) -> ToolAnswer {
        let id = asked.id;
        let ((workflow, detail), progress, repositories) = self
            .service
            .view(move |world| {
                let found = view::workflow(world, id)?;
                Ok((found, view::progress(world, id)?, view::attached(world, id)?))
            })
            .await?;
        let row = WorkflowRow::of(&workflow, &detail);
        let summary = match asked.format.unwrap_or(Format::Json) {
            Format::Json => {
                let known = repositories.iter().map(|(repository, _)| {
                    object([("id", repository.id.to_string().into()), ("path", repository.path.as_str().into())])
                });
                let value = object([
                    ("id", id.to_string().into()),
                    ("name", row.name.as_str().into()),
                    ("status", row.status.into()),
                    ("plan_summary", row.plan_summary.as_deref().into()),
                    ("total_tasks", u64::from(row.total_tasks).into()),
                    ("tasks_by_status", NamedParts(progress.by_status).render()),
                    ("repositories", Value::List(known.collect())),
                ]);
                value.to_string()
            }
            Format::Markdown => markdown(&row, &progress.by_status, &repositories),
        };
        let token_estimate = u32::try_from(wire::tokens::estimate(&summary)).unwrap_or(u32::MAX);
        Ok(Summarized { summary, token_estimate }.render())
    }

    pub(super) async fn lock_info(&self, id: WorkflowId) -> ToolAnswer {
        let now = self.service.now();
        let workflow = self.service.view(move |world| world.workflow(id).cloned()).await?;
        let lock = workflow.lock.filter(|lock| lock.until > now);
        let reply = LockInfo {
            locked: lock.is_some(),
            session_id: lock.as_ref().map(|lock| lock.owner.clone()),
            locked_at: lock.as_ref().map(|lock| lock.since),
            expires_at: lock.as_ref().map(|lock| lock.until),
        };
        Ok(reply.render())
    }

    pub(super) async fn attached(&self, id: WorkflowId) -> ToolAnswer {
        let found = self.service.view(move |world| view::attached(world, id)).await?;
        let repositories = found.iter().map(|(row, added)| RepositoryRow::of(row, Some(*added))).collect();
        Ok(Repositories { repositories, total: None, next_cursor: None }.render())
    }

    pub(super) async fn repositories(&self, asked: &RepositoryList) -> ToolAnswer {
        let after = moment::<RepositoryId>(asked.cursor.as_ref())?;
        let (offset, rows) = (asked.offset.map_or(0, |Within(number)| number), limit(asked.limit));
        let page = self.service.view(move |world| view::repositories(world, after, offset, rows)).await?;
        let repositories = page.rows.iter().map(|(row, _)| RepositoryRow::of(row, None)).collect();
        Ok(Repositories { repositories, total: page.total, next_cursor: cursor(page.next) }.render())
    }

    pub(super) async fn repository(&self, path: &str) -> ToolAnswer {
        let path = path.to_owned();
        let found = self
            .service
            .view(move |world| match world.repository_at(&path)? {
                Some(id) => world.repository(id).cloned(),
                None => Err(Refusal::RepositoryNotFound { repository: path.clone() }.into()),
            })
            .await?;
        Ok(RepositoryRow::of(&found, None).render())
    }

    pub(super) async fn workspaces(&self, asked: &WorkspaceList) -> ToolAnswer {
        let words = asked.status.iter().flat_map(|list| &list.0);
        let statuses: Vec<_> = words.filter_map(|status| WorkspaceStatus::parse(status.as_str())).collect();
        let (workflow, rows) = (asked.workflow_id, limit(asked.limit));
        let after = moment::<WorkspaceId>(asked.cursor.as_ref())?;
        let page = self.service.view(move |world| view::workspaces(world, workflow, &statuses, after, rows)).await?;
        let workspaces = page.rows.iter().map(WorkspaceRow::of).collect();
        Ok(Workspaces { workspaces, next_cursor: cursor(page.next) }.render())
    }

    pub(super) async fn agent(&self, request: &ToolRequest<'_>, asked: &AgentGet) -> ToolAnswer {
        let (now, alive) = (self.service.now(), self.alive());
        let id = match asked.id {
            Some(id) => id,
            None => self.acting(request).await?.ok_or(Refusal::AgentNotFound { agent: None })?,
        };
        let found = self.service.view(move |world| view::agent(world, id, &alive, now)).await?;
        Ok(AgentRow::of(&found).render())
    }

    pub(super) async fn agents(&self, asked: &AgentList) -> ToolAnswer {
        let (now, alive) = (self.service.now(), self.alive());
        let word = |found: Option<&wire::shape::NonBlank>| found.map(ToString::to_string);
        let filter = AgentFilter {
            role: word(asked.role.as_ref()),
            runtime: word(asked.runtime.as_ref()),
            workflow: asked.workflow_id,
        };
        let after = moment::<AgentId>(asked.cursor.as_ref())?;
        let rows = limit(asked.limit);
        let page = self.service.view(move |world| view::agents(world, &filter, after, rows, (&alive, now))).await?;
        let wanted = |row: &&view::AgentView| {
            let is = |status: &AgentStatus| status.as_str() == presence(row.presence);
            asked.status.as_ref().is_none_or(|list| list.0.iter().any(is))
        };
        let agents = page.rows.iter().filter(wanted).map(AgentRow::of).collect();
        Ok(Agents { agents, next_cursor: cursor(page.next) }.render())
    }
}

fn markdown(row: &WorkflowRow, statuses: &[(String, u32)], repositories: &[view::KnownRepository]) -> String {
    let mut lines = vec![
        format!("# {}", row.name),
        String::new(),
        format!("- Status: {}", row.status),
        format!("- Tasks: {} ({} open)", row.total_tasks, row.open_tasks),
    ];
    if !repositories.is_empty() {
        lines.extend([String::new(), "## Repositories".to_owned()]);
        lines.extend(repositories.iter().map(|(repository, _)| format!("- {}", repository.path)));
    }
    if let Some(plan) = &row.plan_summary {
        lines.extend([String::new(), "## Plan".to_owned(), plan.clone()]);
    }
    if !statuses.is_empty() {
        lines.extend([String::new(), "## Tasks by status".to_owned()]);
        lines.extend(statuses.iter().map(|(status, count)| format!("- {status}: {count}")));
    }
    lines.push(String::new());
    lines.join("\n")
}
