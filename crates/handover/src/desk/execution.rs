//! Starts, suspends, resumes and shows the execution of workflows. These calls only change and read the workflow's
//! state in the store. A runner (`handover run`) starts the agents.

use std::path::PathBuf;

use engine::command::Course;
use engine::id::{TaskId, WorkflowId};
use engine::list::VerificationQuery;
use engine::offer::OfferQuery;
use engine::runner::Runner;
use engine::task::{Status, Task};
use engine::turn::Turn;
use engine::verification::Verification;
use engine::workspace::Workspace;
use engine::world::NumberNeed;
use engine::{Command, Need, Refusal, Reply, World, view};
use wire::lifecycle::{
    ExecutionReply, Handle, MergeReply, MergedRow, ReplyPart, RunnerRow, WorkflowCheckMerge, WorkflowExecutionStatus,
    WorkflowResume, WorkflowResumed, WorkflowStart, WorkflowStarted, WorkflowSuspend, WorkflowSuspended, who_works,
};

use super::places::refused;
use super::{Desk, Stopped, ToolAnswer, ToolRequest, limit, place, unexpected};
use git::branch::{task_branch, workflow_branch};
use git::repository::{GitRepository, reference};
use git::{Git, GitProblem};
use runner::verify::VerificationEvidence;

impl Desk {
    async fn steer(
        &self,
        request: &ToolRequest<'_>,
        workflow: WorkflowId,
        course: Course,
    ) -> Result<&'static str, Stopped> {
        let reply = self.service.execute(request.caller.clone(), Command::Steer { workflow, course }).await?;
        let Reply::WorkflowMoved { status } = reply else { return Err(unexpected("workflow_start")) };
        Ok(status.as_str())
    }

    /// Returns the live runners (the processes that start agents' programs), and the running turns of a workflow. A
    /// turn is one run of an agent's program.
    async fn at_work(&self, workflow: WorkflowId) -> Result<(Vec<Runner>, Vec<Turn>), Stopped> {
        let now = self.service.now();
        let found = self.service.view(move |world| Ok((view::runners(world, now)?, view::running(world, workflow)?)));
        Ok(found.await?)
    }

    pub(super) async fn start(&self, request: &ToolRequest<'_>, asked: &WorkflowStart) -> ToolAnswer {
        let status = self.steer(request, asked.workflow_id, Course::Start).await?;
        let (runners, turns) = self.at_work(asked.workflow_id).await?;
        let reply = WorkflowStarted {
            success: true,
            status,
            agentHandles: turns.iter().map(Handle::of).collect(),
            runners: runners.iter().map(RunnerRow::of).collect(),
            message: who_works(&runners),
            ignored: Some(asked.ignored()).filter(|ignored| !ignored.is_empty()),
        };
        Ok(reply.render())
    }

    pub(super) async fn suspend(&self, request: &ToolRequest<'_>, asked: &WorkflowSuspend) -> ToolAnswer {
        let status = self.steer(request, asked.workflow_id, Course::Suspend).await?;
        let (_, turns) = self.at_work(asked.workflow_id).await?;
        let running = turns.iter().map(Handle::of).collect();
        Ok(WorkflowSuspended { success: true, status, agentsStopped: 0, tasksReleased: 0, running }.render())
    }

    pub(super) async fn resume(&self, request: &ToolRequest<'_>, asked: &WorkflowResume) -> ToolAnswer {
        let status = self.steer(request, asked.workflow_id, Course::Resume).await?;
        let (runners, _) = self.at_work(asked.workflow_id).await?;
        let limit = engine::limits::PAGE_ROWS_MAX;
        let ask = OfferQuery { workflow: asked.workflow_id, agent: None, include_failed: false, after: None, limit };
        let offered = self.service.next_tasks(ask).await?.tasks.len();
        let reply = WorkflowResumed {
            success: true,
            status,
            agentsSpawned: 0,
            tasksAvailable: u32::try_from(offered).unwrap_or(u32::MAX),
            runners: runners.iter().map(RunnerRow::of).collect(),
            message: who_works(&runners),
        };
        Ok(reply.render())
    }

    pub(super) async fn execution(&self, asked: &WorkflowExecutionStatus) -> ToolAnswer {
        let (id, now, rows) = (asked.workflow_id, self.service.now(), limit(asked.limit));
        let after = place::<u32, TaskId>(asked.cursor.as_ref())?;
        let found = self.service.view(move |world| view::execution(world, id, after, rows, now)).await?;
        Ok(ExecutionReply::of(&found).render())
    }

    pub(super) async fn check_merge(&self, asked: &WorkflowCheckMerge) -> ToolAnswer {
        let (id, rows) = (asked.workflow_id, limit(asked.limit));
        let after = place::<u32, TaskId>(asked.cursor.as_ref())?;
        let (done, next) = self.service.view(move |world| completed(world, id, after, rows)).await?;
        let taken = self.service.view(move |world| Ok(world.workflow(id)?.branch.clone())).await?;
        let repository = asked.repo_path.as_ref().map(|path| PathBuf::from(path.as_str()));
        let repository = repository.or_else(|| self.surroundings.root.clone()).ok_or(Refusal::MissingRepoPath)?;
        let checked = async {
            let git = Git::default();
            let repository = GitRepository::find(&git, &repository).await?;
            let branch = taken.unwrap_or_else(|| workflow_branch(&id.to_string()));
            let line = repository.commit(&git, &reference(&branch)).await?.map(|tip| (branch, tip));
            let mut rows = Vec::new();
            for done in &done {
                rows.push(done.merged(&git, &repository, line.as_ref()).await?);
            }
            Ok::<_, GitProblem>((rows, line.map(|(branch, _)| branch)))
        };
        let (rows, branch) = checked.await.map_err(|problem| refused(&problem))?;
        Ok(MergeReply::of(rows, branch, next.map(|(sequence, task)| format!("{sequence}.{task}"))))
    }
}

/// A completed task, with the records that tell in which branch or commit its work is.
struct CompletedTask {
    task: Task,
    workspace: Option<Workspace>,
    /// The last verification of the task's work, if it belongs to the task's latest attempt, that is, to the last claim
    /// of the task.
    verification: Option<Verification>,
}

type ExecutionPage = (Vec<CompletedTask>, Option<view::ListPosition>);

fn completed(
    world: &World,
    id: WorkflowId,
    after: Option<view::ListPosition>,
    limit: u32,
) -> Result<ExecutionPage, engine::DecisionStop> {
    let page = view::tasks(world, id, &[Status::Completed], after, limit)?;
    world.want(page.rows.iter().filter_map(|row| row.task.workspace).map(Need::Workspace))?;
    world.want(page.rows.iter().map(|row| NumberNeed::Verifications(row.task.id)))?;
    let mut last = Vec::new();
    for row in &page.rows {
        let count = *world.ask(&NumberNeed::Verifications(row.task.id))?;
        last.push(VerificationQuery { task: row.task.id, after: count.saturating_sub(1), limit: 1 });
    }
    world.want(last.iter().cloned())?;
    let mut done = Vec::new();
    for (row, list) in page.rows.into_iter().zip(last) {
        let workspace = row.task.workspace.map(|id| world.workspace(id).cloned()).transpose()?;
        let found = world.ask(&list)?.first().cloned();
        let verification = found.filter(|found| found.attempt == row.task.attempt);
        done.push(CompletedTask { task: row.task, workspace, verification });
    }
    Ok((done, page.next))
}

impl CompletedTask {
    /// Returns the names under which git may know the task's work, the most reliable first: the merge commit, the
    /// verified commit, the branch.
    fn heads(&self) -> Vec<String> {
        let merged = self.workspace.as_ref().and_then(|row| row.merge_commit.clone());
        let verified =
            self.verification.as_ref().and_then(|found| VerificationEvidence::parse(found.evidence.as_str())?.commit);
        let is_whole = |text: &String| text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        [merged, verified].into_iter().flatten().filter(is_whole).chain([reference(&self.branch())]).collect()
    }

    fn branch(&self) -> String {
        let given = self.workspace.as_ref().map(|row| row.branch.clone());
        given.unwrap_or_else(|| task_branch(&self.task.id.to_string(), self.task.attempt))
    }

    /// Returns whether the task's work is merged into the workflow's branch. If the workflow has no branch, the base
    /// branch of the task's workspace is checked instead.
    async fn merged(
        &self,
        git: &Git,
        repository: &GitRepository,
        line: Option<&(String, String)>,
    ) -> Result<MergedRow, GitProblem> {
        let base = self.workspace.as_ref().and_then(|row| row.base_branch.clone());
        let into = match (line, base) {
            (Some(line), _) => Some(line.clone()),
            (None, Some(base)) => repository.commit(git, &reference(&base)).await?.map(|tip| (base, tip)),
            (None, None) => None,
        };
        let mut head = None;
        for name in self.heads() {
            head = repository.commit(git, &name).await?;
            if head.is_some() {
                break;
            }
        }
        let merged = match (&into, &head) {
            (Some((_, tip)), Some(head)) => Some(repository.contains(git, tip, head).await?),
            _ => None,
        };
        Ok(MergedRow {
            task_id: self.task.id,
            number: self.task.number,
            name: self.task.name.clone(),
            merged,
            into: into.map(|(branch, _)| branch),
            branch: Some(self.branch()),
            commit: head,
        })
    }
}

#[cfg(test)]
mod tests;
