//! Asks for reviews that a task needs before it can complete. The plan names the reviewer. The reviewer sees the
//! changes that the task made, not a description by the agent.

use engine::command::{OpenReview, Target};
use engine::id::TaskId;
use engine::view::{self, Reviewed};
use engine::{Caller, Command, Reply};
use wire::lifecycle::{ReviewRequest, ToolError};

use super::places::refused;
use super::reviews::{content, said};
use super::{Desk, DeskSurroundings, Stopped, ToolRequest};
use base::project::task_extra::TaskExtra;
use base::project::trust;
use git::Git;
use runner::review::claim_base::ClaimBase;
use runner::review::provider::{own_slug, slug};
use runner::review::request::ReviewedSubject;
use runner::review::task_work::{DIFF, TaskWork, WorkGround, WorkProblem, state_to_complete};

/// A task that needs a review before it can complete. `attempt` is the number of the claim on the task, and the review
/// belongs to this attempt.
pub(super) struct TaskGate {
    pub(super) task: TaskId,
    pub(super) attempt: u32,
    /// The review of the task's attempt (its claim), if one was opened. All rounds of the attempt belong to this one
    /// review, so that `rounds_max` limits them.
    pub(super) known: Option<Reviewed>,
    pub(super) rounds_max: Option<u32>,
    /// The reviewer that the plan names for the task: an agent or a role.
    named: Option<String>,
    worker: Option<String>,
}

impl Desk {
    /// Returns the task whose work is to be reviewed; `None` if the request names no task. Refuses a review session
    /// that belongs to another task.
    pub(super) async fn task_gate(
        &self,
        request: &ToolRequest<'_>,
        asked: &ReviewRequest,
    ) -> Result<Option<TaskGate>, Stopped> {
        let session = match asked.session {
            None => None,
            Some(id) => Some(self.service.view(move |world| world.review(id).cloned()).await?),
        };
        let gated = session.as_ref().and_then(|review| review.gate).map(|gate| gate.task);
        if let (Some(session), Some(task)) = (&session, asked.task_id)
            && gated != Some(task)
        {
            let message = format!("{} is not a review of {task}", session.id);
            return Err(Stopped::Said(said(
                "NOT_PERMITTED",
                &message,
                "leave `session` out, or give the session of a \
                review of this task",
            )));
        }
        let Some(task) = asked.task_id.or(gated) else { return Ok(None) };
        let attempt = self.attempt(task, asked.attempt).await?;
        let open = OpenReview { provider: "reviewer".to_owned(), gate: Some((task, attempt)), rounds_max: None };
        let caller = engine::Caller { key: None, ..request.caller.clone() };
        self.service.would(caller, Command::OpenReview(open)).await?;
        let gate = self.gate_of(task, attempt).await?;
        // Refuse here when the review has no round left, with the right reason. Later, the protocol between Handover
        // and the reviewer could only answer "invalid request".
        if let Some(Reviewed { review, .. }) = &gate.known
            && review.rounds >= review.rounds_max
            && !request.is_person()
        {
            return Err(engine::Refusal::RoundsUsedUp { review: review.id, rounds: review.rounds }.into());
        }
        Ok(Some(gate))
    }

    async fn gate_of(&self, task: TaskId, attempt: u32) -> Result<TaskGate, Stopped> {
        let found = self.service.view(move |world| {
            let (row, detail) = (world.task(task)?, world.detail(task)?);
            let worker = row.holder().map(|agent| world.agent(agent)).transpose()?;
            let extra = TaskExtra::of(detail);
            Ok(TaskGate {
                task,
                attempt,
                known: view::gating(world, task, attempt)?,
                rounds_max: extra.limits.review_rounds,
                named: extra.review,
                worker: worker.map(|agent| agent.slug.clone()),
            })
        });
        Ok(found.await?)
    }

    /// Returns the agent that reviews the task. Refuses a request that names another reviewer than the plan. An agent
    /// may not review a task on which it works.
    pub(super) fn reviewer_of(
        &self,
        gate: &TaskGate,
        known: Option<&Reviewed>,
        asked: &ReviewRequest,
    ) -> Result<String, Stopped> {
        let asked = asked.provider.as_ref().map(|named| named.as_str());
        // Use only settings that a person accepted: an agent that no person accepted cannot review.
        let DeskSurroundings { root, data, .. } = &*self.surroundings;
        let view = root.as_deref().and_then(|root| trust::view(root, data.as_deref()).ok());
        let settings = view.map(|view| view.settings.team).unwrap_or_default();
        let worker = gate.worker.as_deref().map(|worker| own_slug(&settings, worker));
        let named = match known {
            Some(known) => Some(known.review.provider.as_str()),
            None => gate.named.as_deref(),
        };
        let Some(named) = named.or(asked) else {
            let problem = "is required, because the task names no reviewer".to_owned();
            return Err(engine::Refusal::InvalidInput { field: "provider".to_owned(), problem }.into());
        };
        let Some(reviewer) = slug(&settings, named, worker.as_deref()) else {
            let only_worker = worker.as_deref() == Some(named) || slug(&settings, named, None) == worker;
            if worker.is_some() && only_worker {
                return Err(refuse_reviewer(gate, named, &WrongReviewer::Worker));
            }
            // Return the unknown name: the function `ground` refuses it later and lists the known agents.
            return Ok(named.to_owned());
        };
        match asked {
            Some(asked) if asked != named && slug(&settings, asked, None).as_ref() != Some(&reviewer) => {
                Err(refuse_reviewer(gate, asked, &WrongReviewer::Other { reviewer: &reviewer }))
            }
            Some(_) | None => Ok(reviewer),
        }
    }

    /// Returns the artifact (the thing) to review: the changes of the task. If the task has no changes, the artifact is
    /// the content that the caller sent.
    pub(super) async fn work_of(&self, gate: &TaskGate, asked: &ReviewRequest) -> Result<ReviewedSubject, Stopped> {
        let work = TaskWork::look(self.work_ground(), gate.task).await.map_err(unseen)?;
        let artifact = match work.diff() {
            Some(text) => ReviewedSubject::of_text(text.to_owned(), DIFF.to_owned(), None),
            None => content(asked).ok_or_else(|| {
                let problem = "is required: Handover found no changes of the task, so give the text to review";
                engine::Refusal::InvalidInput { field: "content".to_owned(), problem: problem.to_owned() }
            })?,
        };
        // Name the artifact (the thing to review) after the current state of the work, not after the caller's text.
        // When the task completes, the state of its work is compared with this name.
        let (reference, source) = (Some(work.name().to_owned()), Some(work.source().to_owned()));
        Ok(ReviewedSubject { reference, source, ..artifact })
    }

    fn work_ground(&self) -> WorkGround<'_> {
        let DeskSurroundings { root, state, .. } = &*self.surroundings;
        WorkGround { service: &self.service, root: root.as_deref(), state: state.as_deref() }
    }

    /// Records the current commits of the repositories when an agent claims a task that needs a review. A later review
    /// shows the changes since these commits. If the record fails, the review only shows fewer changes, so the failure
    /// is ignored.
    pub(super) async fn keep_base(&self, reply: &Reply) {
        let (Reply::Claimed { task, review: true, .. }, Some(state)) = (reply, &self.surroundings.state) else {
            return;
        };
        if ClaimBase::is_kept(state, *task) {
            return;
        }
        let registered = self.registered_by_people().await.unwrap_or_default();
        let folders = self.surroundings.root.iter().cloned().chain(registered);
        let base = ClaimBase::look(&Git::default(), folders).await;
        let _unkept = base.keep(state, *task);
    }

    /// Returns the caller of a command. If the command completes a task, the caller also carries the current state of
    /// the task's work, which a required review must have seen.
    pub(super) async fn with_work(&self, request: &ToolRequest<'_>, command: &Command) -> Result<Caller, Stopped> {
        let caller = request.caller.clone();
        let Command::Move { task, to: Target::Completed { .. }, .. } = command else { return Ok(caller) };
        if request.is_person() {
            return Ok(caller);
        }
        let work = state_to_complete(self.work_ground(), *task, None).await.map_err(unseen)?;
        Ok(Caller { work, ..caller })
    }
}

fn unseen(problem: WorkProblem) -> Stopped {
    match problem {
        WorkProblem::Error(error) => error.into(),
        WorkProblem::Git(problem) => refused(&problem),
    }
}

/// The reason why an agent may not review a task.
enum WrongReviewer<'a> {
    /// The plan names another agent as the reviewer of the task.
    Other { reviewer: &'a str },
    /// The agent that the request names as the reviewer holds the task, and no agent reviews its own work.
    Worker,
}

fn refuse_reviewer(gate: &TaskGate, asked: &str, why: &WrongReviewer<'_>) -> Stopped {
    let task = gate.task;
    let (message, suggestion) = match (why, &gate.named) {
        (WrongReviewer::Other { reviewer }, _) => (
            format!("{task} is reviewed by {reviewer}, not by {asked}"),
            format!("leave `provider` out: {reviewer} reviews it"),
        ),
        (WrongReviewer::Worker, Some(_)) => (
            format!("{asked} works on {task} and cannot review it"),
            "ask a person (message_send to `human`) to name another agent or role as the task's `review`".to_owned(),
        ),
        (WrongReviewer::Worker, None) => {
            (format!("{asked} works on {task} and cannot review it"), "name another agent as `provider`".to_owned())
        }
    };
    Stopped::Said(ToolError { code: "NOT_PERMITTED", message, recoverable: true, suggestion, details: None })
}
