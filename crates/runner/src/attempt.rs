//! Handles one attempt, that is, one claim of a task by an agent. This file has the code that all parts of an attempt
//! share: the turns (runs of the agent's program), the last stage after an output that says "done", and the loop that
//! starts the turns and the last stage.

mod acts;
mod answer;
pub mod baseline;
mod chain;
mod condition;
mod conversation;
mod copies;
mod list_task;
pub mod place;
mod plan_branch;
pub(crate) mod program;
pub(crate) mod remains;
pub(crate) mod setup;
pub mod shared;
pub mod slot_owner;
pub mod step;
mod tip;
pub mod tree;
pub(crate) mod turn_end;
pub(crate) mod turn_files;

use std::os::unix::fs::DirBuilderExt as _;
use std::sync::Arc;

use base::Error;
use base::project::budget::Bounds;
use base::project::task_extra::{TaskExtra, workflow_bounds};
use engine::id::TaskId;
use engine::view::{self, AttemptView as Facts};
use engine::{Command, Timestamp};
use git::GitProblem;
use git::branch::Author;

pub(crate) use chain::Chain;

use crate::review::provider::reviewer_of;
use crate::verify::VerifyFault;
use place::WorkPlace;
use shared::{FailedSetup, RunEvent, RunNews, RunnerAgent, RunnerShared};

pub use base::people::attention::NO_CHANGES;

/// The reason why an attempt cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    #[error(transparent)]
    Service(#[from] Error),
    #[error(transparent)]
    Git(#[from] GitProblem),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Brief(#[from] crate::verify::BadBrief),
    #[error(transparent)]
    Verify(#[from] VerifyFault),
    /// A setup command of the project, such as `npm ci`, failed in a worktree. The agent's changes are not the reason.
    #[error("the setup command `{}` {}", .0.command, .0.how)]
    Setup(FailedSetup),
    #[error("{0}")]
    Other(String),
}

#[derive(Debug)]
pub struct AttemptRun {
    pub shared: Arc<RunnerShared>,
    pub worker: Arc<RunnerAgent>,
    pub task: TaskId,
    pub attempt: u32,
    /// The worktree or folder in which the attempt's work is done. `None` until it was created or found.
    place: tokio::sync::Mutex<Option<WorkPlace>>,
}

impl AttemptRun {
    pub fn new(shared: Arc<RunnerShared>, worker: Arc<RunnerAgent>, task: TaskId, attempt: u32) -> Self {
        Self { shared, worker, task, attempt, place: tokio::sync::Mutex::default() }
    }

    /// Asks the store for the task's claim again, after the lease expired and another machine ended the claim. Returns
    /// true when this runner holds the claim again.
    pub(crate) async fn regain(&self) -> bool {
        let regain = Command::Regain { task: self.task, attempt: self.attempt };
        self.execute(regain).await.is_ok()
    }

    pub(crate) async fn facts(&self) -> Result<Facts, Error> {
        let task = self.task;
        self.shared.service.view(move |world| view::attempt(world, task)).await
    }

    /// Returns the cost limits of the task, then the cost limits of the task's workflow.
    pub(crate) fn bounds(&self, facts: &Facts) -> (Bounds, Bounds) {
        let task = Bounds::of(&self.shared.settings.limits).and(TaskExtra::of(&facts.detail).limits.bounds);
        (task, workflow_bounds(&facts.workflow_detail))
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shared.service.now()
    }

    pub(crate) async fn place(&self, facts: &Facts) -> Result<WorkPlace, AttemptError> {
        let mut known = self.place.lock().await;
        if let Some(place) = &*known {
            return Ok(place.clone());
        }
        // Creates the attempt's folder first, because a later runner finds the leftover files of an attempt by this
        // folder.
        let folder = self.shared.attempt_folder(self.task, self.attempt);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(&folder)
            .map_err(|error| GitProblem::PathUnusable { path: folder, problem: error.to_string() })?;
        self.shared.ground.clean_up(self.task, self.attempt).await?;
        if let Some(saved) = self.shared.ground.save(self.task, self.attempt).await? {
            self.tell(facts, RunEvent::Warning { text: remains::saved_elsewhere(&saved) });
        }
        let of = self.shared.attempt_place(&facts.task, self.attempt).await?;
        let place = self.shared.ground.place(&of).await?;
        // Remove the files that checks left in the worktree, if an earlier runner was killed while the checks ran.
        self.shared.end_checks(&place, self.task, self.attempt).await?;
        Ok(known.insert(place).clone())
    }

    /// Marks the slot (a reusable worktree) of a task that waits for a person. Another task may take the marked slot
    /// when no other slot is free. The next turn of the waiting task asks for a slot again.
    pub(crate) async fn rest_place(&self) {
        let mut known = self.place.lock().await;
        if known.take().is_some()
            && let Err(problem) = self.shared.ground.keep_slot(self.task, self.attempt)
        {
            self.warn(&problem.to_string());
        }
    }

    pub(crate) fn author(&self) -> Author {
        let settings = &self.worker.member.settings;
        let name = match &self.worker.member.who {
            wire::prompt::PromptAgent::Card(card) => card.identity.name.to_string(),
            wire::prompt::PromptAgent::Persona(_) => settings.slug.clone(),
        };
        Author { name, slug: settings.slug.clone() }
    }

    pub(crate) fn tell(&self, facts: &Facts, what: RunEvent) {
        let (name, agent) = (facts.task.name.clone(), self.worker.slug.clone());
        self.shared.tell(RunNews { task: self.task, number: Some(facts.task.number), name, agent, what });
    }

    pub(crate) fn warn(&self, text: &str) {
        self.tell_plainly(RunEvent::Warning { text: text.to_owned() });
    }

    pub(crate) fn tell_plainly(&self, what: RunEvent) {
        let (name, agent) = (self.task.to_string(), self.worker.slug.clone());
        self.shared.tell(RunNews { task: self.task, number: None, name, agent, what });
    }

    pub(crate) async fn execute(&self, command: Command) -> Result<engine::Reply, Error> {
        self.shared.service.execute(self.shared.caller(self.worker.agent), command).await
    }

    /// Returns the agent that reviews the task: the agent that made the earlier review rounds, else the agent that the
    /// plan names. Returns `None` when there is no such agent.
    pub(crate) fn reviewer(&self, facts: &Facts) -> Option<Arc<RunnerAgent>> {
        let worker = &self.worker.member.settings.slug;
        let named = match &facts.review {
            Some(known) => known.review.provider.clone(),
            None => TaskExtra::of(&facts.detail).review?,
        };
        self.shared.agents.get(&reviewer_of(&self.shared.settings, &named, worker)?).cloned()
    }

    /// Removes the folders of the attempt's turns. The output of the programs is not lost, because the object store
    /// (files that are named by their hash) has a copy.
    pub(crate) async fn forget_turns(&self) {
        // Reads the turns of this attempt by its number, because the task may have a newer attempt.
        if let Ok(turns) = remains::turns(&self.shared, self.task, self.attempt).await {
            remains::remove_folders(&self.shared, self.task, self.attempt, &turns).await;
        }
    }
}
