//! Works on one attempt at one task, step by step. It ends when the attempt is over, another agent has the task, or the
//! runner must stop.

use std::os::unix::fs::DirBuilderExt as _;
use std::sync::Arc;
use std::time::Duration;

use engine::command::Target;
use engine::id::TaskId;
use engine::inbox::MessageKind;
use engine::task::{BlockKind, TaskState};
use engine::view::{self, AttemptView as Facts};
use engine::{Command, Refusal, Timestamp};
use tokio::sync::OwnedSemaphorePermit;

use super::brief;
use super::place::WorkPlace;
use super::remains;
use super::route::{self, To};
use super::shop::{RunNews, RunnerAgent, Shop, What, Wish};
use super::step::{AttemptStep, StepInput, step};
use crate::budget::Bounds;
use crate::error::Error;
use crate::task_extra::TaskExtra;
use agents::adapter::AdapterKind;
use git::GitProblem;
use git::branch::Author;

/// The reasons why an attempt cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    #[error(transparent)]
    Service(#[from] Error),
    #[error(transparent)]
    Git(#[from] GitProblem),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Untold(#[from] brief::Untold),
    #[error("{0}")]
    Other(String),
}

/// The number of retries in a row when the store does not answer. When they are used up, the runner gives up the
/// attempt. If the store still does not answer, the lease of the task expires.
const TRIES_MAX: u32 = 8;
/// The number of retries in one attempt when git times out. One more timeout blocks the task.
const GIT_TIMEOUTS_MAX: u32 = 3;
/// The longest time between two reads of a task that waits. A change in the store ends the wait earlier.
const LOOK: Duration = Duration::from_secs(2);

/// The time to wait after a change, so that changes in quick succession are handled together.
const BREATH: Duration = Duration::from_millis(100);

/// The two permits that a running turn needs: one limits the turns of its agent, one limits the turns of the runner.
pub(super) type Room = (OwnedSemaphorePermit, OwnedSemaphorePermit);

/// The end of an attempt. It decides whether the agent pauses before its next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOver {
    Ended,
    /// The program gave no answer. The agent pauses, because an attempt that starts at once would probably fail, too.
    Crashed,
}

#[derive(Debug)]
pub struct AttemptRun {
    pub shop: Arc<Shop>,
    pub seat: Arc<RunnerAgent>,
    pub task: TaskId,
    pub attempt: u32,
    /// The worktree or folder of the work. `None` until it was created or found.
    place: tokio::sync::Mutex<Option<WorkPlace>>,
}

impl AttemptRun {
    pub fn new(shop: Arc<Shop>, seat: Arc<RunnerAgent>, task: TaskId, attempt: u32) -> Self {
        Self { shop, seat, task, attempt, place: tokio::sync::Mutex::default() }
    }

    /// Performs the steps of the attempt until none is left. If this fails, the next runner continues from the stored
    /// state.
    pub async fn work(self, mut room: Option<Room>) -> AttemptOver {
        let mut tries = 0;
        let mut slow = 0;
        loop {
            match Box::pin(self.go_on(&mut tries, room.take())).await {
                Ok(over) => return over,
                // While this machine slept, the lease may have expired. The claim is then lost, but can be asked for
                // again.
                Err(AttemptError::Service(Error::Refused(refusal))) if is_lost(&refusal) && self.regain().await => {}
                Err(AttemptError::Service(Error::Refused(refusal))) if is_lost(&refusal) => {
                    self.leave(None).await;
                    return AttemptOver::Ended;
                }
                Err(AttemptError::Service(Error::Refused(refusal))) => {
                    self.give_up(&format!("the store refused: {refusal}")).await;
                    return AttemptOver::Ended;
                }
                Err(AttemptError::Service(error)) if tries < TRIES_MAX => {
                    tries += 1;
                    self.tell_plainly(What::Warning { text: format!("the store does not answer: {error}") });
                    tokio::time::sleep(Duration::from_millis(100 << tries)).await;
                }
                // Git timed out because the machine is busy or just woke up, so the task is not blocked. The retry
                // finds the files that git had already written.
                Err(AttemptError::Git(problem @ GitProblem::GitTimeout { .. })) if slow < GIT_TIMEOUTS_MAX => {
                    slow += 1;
                    self.tell_plainly(What::Warning { text: format!("{problem}; it is tried again") });
                }
                Err(trouble) => {
                    self.give_up(&trouble.to_string()).await;
                    return AttemptOver::Ended;
                }
            }
        }
    }

    async fn go_on(&self, tries: &mut u32, mut room: Option<Room>) -> Result<AttemptOver, AttemptError> {
        let mut bell = self.shop.service.bell();
        loop {
            let facts = self.facts().await?;
            *tries = 0;
            let lapsed = facts.task.attempt == self.attempt && facts.task.holder().is_none();
            if lapsed && self.regain().await {
                continue;
            }
            let next = step(&facts, &self.given(&facts));
            let stopping = self.shop.wish() != Wish::Work;
            match &next {
                AttemptStep::Wait if stopping || self.shop.closing.is_cancelled() => return Ok(AttemptOver::Ended),
                AttemptStep::Wait => {
                    room = None;
                    tokio::select! {
                        _ = bell.changed(LOOK) => tokio::time::sleep(BREATH).await,
                        () = self.shop.closing.cancelled() => {}
                    }
                    continue;
                }
                AttemptStep::Finish(_) | AttemptStep::Merge(_) | AttemptStep::Review(_)
                    if self.shop.wish() == Wish::Stop =>
                {
                    self.hand_back(&facts, "the runner was stopped").await?;
                    return Ok(AttemptOver::Ended);
                }
                AttemptStep::Turn(..) if stopping => {
                    self.hand_back(&facts, "the runner was stopped").await?;
                    return Ok(AttemptOver::Ended);
                }
                // Frees the permits before the review. The reviewer may need a permit, and may itself wait for this
                // agent to review its work.
                AttemptStep::Review(_) => room = None,
                AttemptStep::Turn(..) | AttemptStep::Finish(_) if room.is_none() => {
                    // Reads the task again after the wait, because the runner may have to stop by then, or the task may
                    // be lost.
                    room = self.room().await;
                    continue;
                }
                AttemptStep::Turn(..) | AttemptStep::Finish(_) | AttemptStep::Recover(_) | AttemptStep::Merge(_) => {}
                AttemptStep::Ask(_)
                | AttemptStep::AskApproval(_)
                | AttemptStep::AskReview(_)
                | AttemptStep::BlockAsSaid(_)
                | AttemptStep::Block(..) => {}
                AttemptStep::Crash(_) | AttemptStep::Return(_) | AttemptStep::Leave => {}
            }
            if let Some(over) = self.perform(&facts, next).await? {
                return Ok(over);
            }
        }
    }

    /// Performs one step. Returns the end of the attempt when it is over.
    async fn perform(&self, facts: &Facts, next: AttemptStep) -> Result<Option<AttemptOver>, AttemptError> {
        match next {
            AttemptStep::Wait => {}
            AttemptStep::Leave => {
                self.leave(Some(facts)).await;
                return Ok(Some(AttemptOver::Ended));
            }
            AttemptStep::Recover(turn) => self.recover(facts, turn).await?,
            AttemptStep::Turn(purpose, because) => Box::pin(self.turn(facts, purpose, because)).await?,
            AttemptStep::Finish(turn) => self.finish(facts, turn).await?,
            AttemptStep::Review(turn) => self.review(facts, turn).await?,
            AttemptStep::AskReview(turn) => self.ask_about_review(facts, turn).await?,
            AttemptStep::Merge(turn) => self.merge(facts, turn).await?,
            AttemptStep::Ask(turn) => self.ask(facts, turn).await?,
            AttemptStep::AskApproval(turn) => self.ask_approval(facts, turn).await?,
            AttemptStep::BlockAsSaid(turn) => self.block_as_said(facts, turn).await?,
            AttemptStep::Block(kind, reason) => self.block(facts, kind, reason).await?,
            AttemptStep::Crash(reason) => {
                self.crash(facts, reason).await?;
                return Ok(Some(AttemptOver::Crashed));
            }
            AttemptStep::Return(reason) => {
                self.hand_back(facts, &reason).await?;
                return Ok(Some(AttemptOver::Ended));
            }
        }
        Ok(None)
    }

    /// Asks the store for the claim again, after the lease expired and another machine ended the claim. Returns true
    /// when this runner holds the claim again.
    pub(super) async fn regain(&self) -> bool {
        let regain = Command::Regain { task: self.task, attempt: self.attempt };
        self.execute(regain).await.is_ok()
    }

    pub(super) async fn facts(&self) -> Result<Facts, Error> {
        let task = self.task;
        self.shop.service.view(move |world| view::attempt(world, task)).await
    }

    fn given(&self, facts: &Facts) -> StepInput<'_> {
        let limits = &self.shop.settings.limits;
        let (bounds, bounds_workflow) = self.bounds(facts);
        StepInput {
            agent: self.seat.agent,
            attempt: self.attempt,
            runner: &self.shop.name,
            repairs_max: limits.repairs,
            bounds,
            bounds_workflow,
            can_resume: self.seat.member.settings.adapter != AdapterKind::Exec,
            has_reviewer: TaskExtra::of(&facts.detail).review.is_some(),
            now: self.now(),
        }
    }

    /// Returns two sets of limits: of the task, and of its workflow.
    pub(super) fn bounds(&self, facts: &Facts) -> (Bounds, Bounds) {
        let config = facts.workflow_detail.config.as_ref().and_then(|json| wire::json::parse(json.as_str()).ok());
        let config = config.map(|node| node.to_value());
        let workflow = Bounds::named(config.as_ref().and_then(|config| config.get("limits")));
        (Bounds::of(&self.shop.settings.limits).and(TaskExtra::of(&facts.detail).limits.bounds), workflow)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.shop.service.now()
    }

    /// Waits for the permits for a turn: one of the agent and one of the runner. Returns `None` when the runner must
    /// stop.
    async fn room(&self) -> Option<Room> {
        let mut wish = self.shop.wish.clone();
        tokio::select! {
            _ = wish.wait_for(|wish| *wish != Wish::Work) => None,
            room = async {
                let own = Arc::clone(&self.seat.room).acquire_owned().await.ok()?;
                Some((own, Arc::clone(&self.shop.room).acquire_owned().await.ok()?))
            } => room,
        }
    }

    pub(super) async fn place(&self, facts: &Facts) -> Result<WorkPlace, GitProblem> {
        let mut known = self.place.lock().await;
        if let Some(place) = &*known {
            return Ok(place.clone());
        }
        // Creates the attempt's folder first, because a later runner finds leftover files of an attempt by this folder.
        let folder = self.shop.attempt_folder(self.task, self.attempt);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(&folder)
            .map_err(|error| GitProblem::PathUnusable { path: folder, problem: error.to_string() })?;
        self.shop.ground.clean_up(self.task, self.attempt).await?;
        let place = self.shop.ground.place(facts.workflow.id, self.task, self.attempt).await?;
        Ok(known.insert(place).clone())
    }

    pub(super) fn author(&self) -> Author {
        let settings = &self.seat.member.settings;
        let name = match &self.seat.member.who {
            wire::prompt::PromptAgent::Card(card) => card.identity.name.to_string(),
            wire::prompt::PromptAgent::Persona(_) => settings.slug.clone(),
        };
        Author { name, slug: settings.slug.clone() }
    }

    pub(super) fn tell(&self, facts: &Facts, what: What) {
        let (name, agent) = (facts.task.name.clone(), self.seat.slug.clone());
        self.shop.tell(RunNews { task: self.task, name, agent, what });
    }

    pub(super) fn warn(&self, text: &str) {
        self.tell_plainly(What::Warning { text: text.to_owned() });
    }

    fn tell_plainly(&self, what: What) {
        let (name, agent) = (self.task.to_string(), self.seat.slug.clone());
        self.shop.tell(RunNews { task: self.task, name, agent, what });
    }

    pub(super) async fn execute(&self, command: Command) -> Result<engine::Reply, Error> {
        self.shop.service.execute(self.shop.caller(self.seat.agent), command).await
    }

    pub(super) async fn block(&self, facts: &Facts, kind: BlockKind, reason: String) -> Result<(), AttemptError> {
        let said = route::by_card(&self.seat.member.who, &reason).map(|(to, _)| to);
        let route = said.or_else(|| route::by_settings(&self.shop.settings.routes, kind));
        let role = if let Some(To::Role(role)) = &route { Some(role.clone()) } else { None };
        let to = Target::Blocked { kind, reason: cut(&reason), role };
        self.execute(Command::Move { task: self.task, attempt: Some(self.attempt), to }).await?;
        self.tell(facts, What::Blocked { kind: kind.to_string(), reason: reason.clone() });
        if let Some(To::Agent(slug)) = route {
            let subject = format!("{} is blocked: {kind}", facts.task.name);
            self.tell_agent(facts, &slug, MessageKind::Blocked, (subject, reason)).await;
        }
        Ok(())
    }

    async fn crash(&self, facts: &Facts, reason: String) -> Result<(), AttemptError> {
        let crash = Command::Crash { task: self.task, attempt: self.attempt, reason: cut(&reason) };
        let reply = self.execute(crash).await?;
        let failed = matches!(reply, engine::Reply::Moved { status: engine::task::Status::Failed });
        self.tell(facts, if failed { What::Failed { reason } } else { What::Returned { reason } });
        self.leave(Some(facts)).await;
        Ok(())
    }

    async fn hand_back(&self, facts: &Facts, reason: &str) -> Result<(), AttemptError> {
        let release = Command::Release { task: self.task, attempt: Some(self.attempt), reason: Some(cut(reason)) };
        self.execute(release).await?;
        self.tell(facts, What::Returned { reason: reason.to_owned() });
        self.leave(Some(facts)).await;
        Ok(())
    }

    /// Blocks the task after a problem that the runner cannot fix, so that a person or another agent looks at the task.
    async fn give_up(&self, reason: &str) {
        let Ok(facts) = self.facts().await else { return };
        let ours = facts.task.attempt == self.attempt && facts.task.holder() == Some(self.seat.agent);
        if ours && !matches!(facts.task.state, TaskState::Paused { .. }) {
            let _lost = self.block(&facts, BlockKind::ToolFailure, reason.to_owned()).await;
        }
        self.leave(Some(&facts)).await;
    }

    /// Removes the files and folders of a finished attempt from this machine. Keeps the attempt's branch when its work
    /// is on no other branch.
    async fn leave(&self, facts: Option<&Facts>) {
        let loaded;
        let facts = match facts {
            Some(facts) => facts,
            None => match self.facts().await {
                Ok(found) => {
                    loaded = found;
                    &loaded
                }
                Err(_) => return,
            },
        };
        let Ok(turns) = remains::turns(&self.shop, self.task, self.attempt).await else { return };
        // A failure here only leaves files behind and does not affect the task. They are removed at the end of this run
        // or by the next run.
        match remains::remove(&self.shop, (&facts.task, self.attempt), &self.author(), &turns).await {
            Ok(kept) => self.tell_lost(facts, kept.as_deref()),
            Err(problem) => self.tell(facts, What::Warning { text: remains::stays(&problem) }),
        }
    }

    /// Reports that another agent took the task, and names the branch with this attempt's work, because no one will
    /// merge that branch.
    fn tell_lost(&self, facts: &Facts, kept: Option<&str>) {
        let by = facts.task.holder().filter(|holder| *holder != self.seat.agent);
        if let (Some(by), Some(branch)) = (by, kept) {
            let text = format!(
                "{by} took this task while this machine was not heard of; what was done here is kept on the branch {branch}"
            );
            self.tell(facts, What::Warning { text });
        }
    }

    /// Removes the folders of the attempt's turns. The output of the programs is also in the object store, which keeps
    /// it.
    pub(super) async fn forget_turns(&self) {
        // Reads the turns of this attempt, because the task may have a newer attempt.
        if let Ok(turns) = remains::turns(&self.shop, self.task, self.attempt).await {
            remains::remove_folders(&self.shop, self.task, self.attempt, &turns).await;
        }
    }
}

/// Tells whether a refusal means that the claim is lost or the task is gone.
fn is_lost(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::ClaimLost { .. } | Refusal::TaskNotFound { .. } | Refusal::WorkflowNotFound { .. })
}

/// Cuts a text to the longest reason that the store accepts.
pub(super) fn cut(text: &str) -> String {
    const CHARS_MAX: usize = 8_000;
    let cut: String = text.chars().take(CHARS_MAX).collect();
    if cut.trim().is_empty() { "no reason was given".to_owned() } else { cut }
}
