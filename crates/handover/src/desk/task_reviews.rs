//! Reviews that a task waits for: the plan says who reviews, and what is shown is the task's own work.

use std::path::PathBuf;

use engine::command::OpenReview;
use engine::id::{ReviewId, TaskId};
use engine::review::RoundState;
use engine::view::{self, Reviewed};
use engine::{Command, Rights};
use wire::lifecycle::{Call, ReviewRequest, Said, TaskStatus};

use super::places::refused;
use super::reviews::{content, said};
use super::{Desk, Request, Stopped};
use crate::review::provider::{own_slug, slug};
use crate::review::request::Artifact;
use crate::review::work::{TaskDiff, WorkPlace, task_diff};
use crate::runner::brief;
use crate::settings;
use crate::worktree::Git;

/// A task that is to be reviewed, as it stands.
pub(super) struct TaskGate {
    pub(super) task: TaskId,
    pub(super) attempt: u32,
    /// The review of this attempt, when one was begun. All rounds belong to it, so that their number is bounded.
    pub(super) known: Option<Reviewed>,
    pub(super) rounds_max: Option<u32>,
    /// Who reviews, by the plan: an agent or a role.
    named: Option<String>,
    worker: Option<String>,
    place: Option<WorkPlace>,
}

impl Desk {
    /// Returns the task that a request is about, or refuses a session that is another's.
    pub(super) async fn task_gate(
        &self,
        request: &Request<'_>,
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
            let message = format!("{} is no review of {task}", session.id);
            return Err(Stopped::Said(said("NOT_PERMITTED", &message, "leave `session` out")));
        }
        let Some(task) = asked.task_id.or(gated) else { return Ok(None) };
        let attempt = self.attempt(task, asked.attempt).await?;
        let open = OpenReview { provider: "reviewer".to_owned(), gate: Some((task, attempt)), rounds_max: None };
        let caller = engine::Caller { key: None, ..request.caller.clone() };
        self.service.would(caller, Command::OpenReview(open)).await?;
        let gate = self.gate_of(task, attempt).await?;
        // Said here, because the provider's protocol could only call it a wrong request.
        if let Some(Reviewed { review, .. }) = &gate.known
            && review.rounds >= review.rounds_max
            && !request.is_person()
        {
            return Err(engine::Refusal::RoundsUsedUp { review: review.id, rounds: review.rounds }.into());
        }
        Ok(Some(gate))
    }

    async fn gate_of(&self, task: TaskId, attempt: u32) -> Result<TaskGate, Stopped> {
        let (gate, row) = self
            .service
            .view(move |world| {
                let (row, detail) = (world.task(task)?, world.detail(task)?);
                let worker = row.holder().map(|agent| world.agent(agent)).transpose()?;
                let workspace = row.workspace.map(|id| world.workspace(id).cloned()).transpose()?;
                let text = |name: &str| brief::extra(detail, name);
                let rounds = text("limits").and_then(|limits| limits.get("review_rounds").cloned());
                let gate = TaskGate {
                    task,
                    attempt,
                    known: view::gating(world, task, attempt)?,
                    rounds_max: rounds.and_then(|rounds| rounds.to_string().parse().ok()),
                    named: text("review").and_then(|named| named.as_text().map(str::to_owned)),
                    worker: worker.map(|agent| agent.slug.clone()),
                    place: None,
                };
                let repository = workspace.as_ref().and_then(|row| row.repository);
                let repository = repository.map(|id| world.repository(id).cloned()).transpose()?;
                Ok((gate, workspace.map(|workspace| (workspace, repository))))
            })
            .await?;
        let place = row.map(|(workspace, repository)| WorkPlace {
            path: PathBuf::from(workspace.path),
            branch: workspace.branch,
            base: workspace.base_branch,
            repository: repository.map(|row| PathBuf::from(row.path)).or_else(|| self.surroundings.root.clone()),
        });
        Ok(TaskGate { place, ..gate })
    }

    /// Returns the agent that reviews the task. Another one is refused, and so is the worker.
    pub(super) fn reviewer_of(
        &self,
        gate: &TaskGate,
        known: Option<&Reviewed>,
        asked: &ReviewRequest,
    ) -> Result<String, Stopped> {
        let asked = asked.provider.as_ref().map(|named| named.as_str());
        let settings = settings::read(self.surroundings.root.as_deref()).unwrap_or_default().team;
        let worker = gate.worker.as_deref().map(|worker| own_slug(&settings, worker));
        let named = match known {
            Some(known) => Some(known.review.provider.as_str()),
            None => gate.named.as_deref(),
        };
        let Some(named) = named.or(asked) else {
            let problem = "is needed: the task names nobody who reviews it".to_owned();
            return Err(engine::Refusal::InvalidInput { field: "provider".to_owned(), problem }.into());
        };
        let Some(reviewer) = slug(&settings, named, worker.as_deref()) else {
            let only_worker = worker.as_deref() == Some(named) || slug(&settings, named, None) == worker;
            if worker.is_some() && only_worker {
                return Err(refuse_reviewer(gate, named, &WrongReviewer::Worker));
            }
            // An agent that the settings do not know is refused where it is looked for, with those that there are.
            return Ok(named.to_owned());
        };
        match asked {
            Some(asked) if asked != named && slug(&settings, asked, None).as_ref() != Some(&reviewer) => {
                Err(refuse_reviewer(gate, asked, &WrongReviewer::Other { reviewer: &reviewer }))
            }
            Some(_) | None => Ok(reviewer),
        }
    }

    /// Returns what the reviewer is shown: the task's changes, and only without any the content of the call.
    pub(super) async fn work_of(&self, gate: &TaskGate, asked: &ReviewRequest) -> Result<Artifact, Stopped> {
        if let Some(TaskDiff { text, state }) = self.diff_of(gate).await? {
            return Ok(Artifact::of_text(text, "text/x-diff".to_owned(), Some(state)));
        }
        content(asked).ok_or_else(|| {
            let problem = "is needed: the task has no worktree with changes, so give what is to be reviewed".to_owned();
            engine::Refusal::InvalidInput { field: "content".to_owned(), problem }.into()
        })
    }

    async fn diff_of(&self, gate: &TaskGate) -> Result<Option<TaskDiff>, Stopped> {
        let Some(place) = &gate.place else { return Ok(None) };
        task_diff(&Git::default(), place).await.map_err(|problem| refused(&problem))
    }

    /// Refuses to complete a reviewed task whose work is not what was reviewed last.
    pub(super) async fn is_reviewed_as_it_is(&self, request: &Request<'_>, call: &Call) -> Result<(), Stopped> {
        let Call::TaskUpdateStatus(asked) = call else { return Ok(()) };
        let is_worker = !request.is_person() && request.caller.rights != Rights::Engine;
        if !is_worker || asked.status != TaskStatus::Completed {
            return Ok(());
        }
        let id = asked.id;
        let found = self.service.view(move |world| world.task(id).map(|task| (task.review, task.attempt))).await;
        // A task that does not exist is refused by the command itself.
        let Ok((true, attempt)) = found else { return Ok(()) };
        let gate = self.gate_of(id, attempt).await?;
        let Some(session) = gate.known.as_ref().map(|known| known.review.id) else { return Ok(()) };
        let Some(diff) = self.diff_of(&gate).await? else { return Ok(()) };
        let last = gate.known.as_ref().and_then(Reviewed::last);
        let reviewed = last.filter(|round| matches!(round.state, RoundState::Answered(_)));
        match reviewed.and_then(|round| round.artifact.reference.as_deref()) {
            Some(state) if state == diff.state => Ok(()),
            // Without an answered round the engine says that a review is needed.
            _ if reviewed.is_none() => Ok(()),
            _ => Err(changed_since(id, session)),
        }
    }
}

fn changed_since(task: TaskId, session: ReviewId) -> Stopped {
    Stopped::Said(Said {
        code: "REVIEW_REQUIRED",
        message: format!("the work of {task} is not what {session} reviewed last: it was changed since"),
        recoverable: true,
        suggestion: "have it reviewed again (review_request with its task_id), then complete it".to_owned(),
        details: None,
    })
}

/// Why an agent does not review a task.
enum WrongReviewer<'a> {
    /// The plan names another one.
    Other { reviewer: &'a str },
    /// The agent works on the task, and the plan names nobody else.
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
            "ask a person to name another agent or role as the task's `review`".to_owned(),
        ),
        (WrongReviewer::Worker, None) => {
            (format!("{asked} works on {task} and cannot review it"), "name another agent as `provider`".to_owned())
        }
    };
    Stopped::Said(Said { code: "NOT_PERMITTED", message, recoverable: true, suggestion, details: None })
}
