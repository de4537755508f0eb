//! Works on one attempt at a task, step by step. It ends when the attempt is over, another agent has the task, or the
//! runner must stop.

use std::sync::Arc;
use std::time::Duration;

use agents::adapter::AdapterKind;
use base::Error;
use base::ground::words::duration;
use base::project::task_extra::TaskExtra;
use engine::condition::ConditionKind;
use engine::task::{BlockKind, TaskState};
use engine::turn::{Turn, TurnEnd, TurnResult};
use engine::view::AttemptView as Facts;
use engine::{Command, Refusal};
use git::GitProblem;
use tokio::sync::OwnedSemaphorePermit;

use crate::attempt::shared::{FailedSetup, RunEvent, RunnerOrder};
use crate::attempt::step::{AttemptStep, StepInput, step};
use crate::attempt::{AttemptError, AttemptRun, remains};
use crate::claim::agent_trouble::{AgentTrouble, agent_trouble};
use crate::claim::run::rest_after;
use crate::finish::FinishStage;
use crate::finish::review::ReviewStage;
use crate::outcome::cut;
use crate::turn::WorkerTurn;
use crate::turn::close::TurnClose;

/// The number of retries in a row when the store does not answer. After these retries the runner tries to block the
/// task. If the store does not answer this command either, the lease of the task expires.
const TRIES_MAX: u32 = 8;
/// The number of retries in one attempt when git exceeds its time limit. One more timeout blocks the task.
const GIT_TIMEOUTS_MAX: u32 = 3;
/// The longest time between two reads of a waiting task from the store. A change in the store ends the wait earlier.
const LOOK: Duration = Duration::from_secs(2);

/// The time to wait after a change in the store, so that changes in quick succession are handled together.
const BREATH: Duration = Duration::from_millis(100);

/// The two permits that a running turn needs: one limits the turns of its agent, one limits the turns of the runner.
pub(crate) type Room = (OwnedSemaphorePermit, OwnedSemaphorePermit);

/// The way in which an attempt ended. It decides whether the task pauses and whether the agent may claim further tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOver {
    Ended,
    /// The program gave no answer. The task pauses, because an attempt that starts immediately would probably fail,
    /// too.
    Crashed,
    /// The program cannot work until a person does something, so the agent takes no further task in this run.
    AgentRests {
        reason: String,
        advice: String,
    },
}

impl AttemptRun {
    /// Performs the steps of the attempt until none is left. If this process is stopped in between, the next runner
    /// continues from the stored state.
    pub async fn work(self, mut room: Option<Room>) -> AttemptOver {
        let mut tries = 0;
        let mut slow = 0;
        loop {
            match Box::pin(self.go_on(&mut tries, room.take())).await {
                Ok(over) => return over,
                // While this machine slept, the lease may have expired. Then the claim is lost, but the runner can ask
                // the store for it again.
                Err(AttemptError::Service(Error::Refused(refusal))) if is_lost(&refusal) && self.regain().await => {}
                Err(AttemptError::Service(Error::Refused(refusal))) if is_lost(&refusal) => {
                    self.leave(None).await;
                    return AttemptOver::Ended;
                }
                Err(AttemptError::Service(Error::Refused(refusal))) => {
                    self.give_up(&format!("the store refused a command of the runner: {refusal}")).await;
                    return AttemptOver::Ended;
                }
                Err(AttemptError::Service(error)) if tries < TRIES_MAX => {
                    tries += 1;
                    self.tell_plainly(RunEvent::Warning { text: format!("the store failed, trying again: {error}") });
                    tokio::time::sleep(Duration::from_millis(100 << tries)).await;
                }
                // A timeout of git means that the machine is busy or just woke up, so it does not block the task. The
                // retry of the step finds the files that git had already written.
                Err(AttemptError::Git(problem @ GitProblem::GitTimeout { .. })) if slow < GIT_TIMEOUTS_MAX => {
                    slow += 1;
                    self.tell_plainly(RunEvent::Warning { text: format!("{problem}; trying again") });
                }
                Err(AttemptError::Setup(problem)) => {
                    self.setup_failed(problem).await;
                    return AttemptOver::Ended;
                }
                Err(trouble) => {
                    self.give_up(&trouble.to_string()).await;
                    return AttemptOver::Ended;
                }
            }
        }
    }

    async fn go_on(&self, tries: &mut u32, mut room: Option<Room>) -> Result<AttemptOver, AttemptError> {
        let mut bell = self.shared.service.bell();
        loop {
            let facts = self.facts().await?;
            *tries = 0;
            let lapsed = facts.task.attempt == self.attempt && facts.task.holder().is_none();
            if lapsed && self.regain().await {
                continue;
            }
            let next = step(&facts, &self.given(&facts));
            let stopping = self.shared.wish() != RunnerOrder::Work;
            match &next {
                AttemptStep::Wait if stopping || self.shared.closing.is_cancelled() => {
                    self.rest_place().await;
                    return Ok(AttemptOver::Ended);
                }
                AttemptStep::Wait => {
                    room = None;
                    self.rest_place().await;
                    tokio::select! {
                        _ = bell.changed(LOOK) => tokio::time::sleep(BREATH).await,
                        () = self.shared.closing.cancelled() => {}
                    }
                    continue;
                }
                AttemptStep::Finish(_) | AttemptStep::Merge(_) | AttemptStep::Review(_)
                    if self.shared.wish() == RunnerOrder::Stop =>
                {
                    self.hand_back(&facts, "the runner was stopped").await?;
                    return Ok(AttemptOver::Ended);
                }
                AttemptStep::Turn(..) if stopping => {
                    self.hand_back(&facts, "the runner was stopped").await?;
                    return Ok(AttemptOver::Ended);
                }
                // Frees this attempt's permits for a turn before the review. The reviewer needs permits for its turn,
                // too. Two agents that review each other's work would otherwise wait for each other without end.
                AttemptStep::Review(_) => room = None,
                AttemptStep::Turn(..) | AttemptStep::Finish(_) if room.is_none() => {
                    // Reads the task again after the wait for permits, because the runner may have to stop by then, or
                    // the claim may be lost.
                    room = self.room().await;
                    continue;
                }
                AttemptStep::Turn(..) | AttemptStep::Finish(_) | AttemptStep::Recover(_) | AttemptStep::Merge(_) => {}
                AttemptStep::Settle(_) | AttemptStep::AskReview(_) | AttemptStep::Block(..) => {}
                AttemptStep::Crash(_) | AttemptStep::Return(_) | AttemptStep::Leave => {}
            }
            if let Some(over) = self.perform(&facts, next).await? {
                return Ok(over);
            }
        }
    }

    /// Performs one step of the attempt. Returns how the attempt ended when it is over.
    async fn perform(&self, facts: &Facts, next: AttemptStep) -> Result<Option<AttemptOver>, AttemptError> {
        match next {
            AttemptStep::Wait => {}
            AttemptStep::Leave => {
                self.leave(Some(facts)).await;
                return Ok(Some(AttemptOver::Ended));
            }
            AttemptStep::Recover(turn) => WorkerTurn { run: self, facts }.recover(turn).await?,
            AttemptStep::Turn(purpose, because) => {
                Box::pin(WorkerTurn { run: self, facts }.start(purpose, because)).await?;
            }
            AttemptStep::Finish(turn) => FinishStage { run: self, facts, turn }.verify().await?,
            AttemptStep::Review(turn) => ReviewStage { run: self, facts }.review(turn).await?,
            AttemptStep::AskReview(turn) => ReviewStage { run: self, facts }.ask_person(turn).await?,
            AttemptStep::Merge(turn) => FinishStage { run: self, facts, turn }.merge().await?,
            AttemptStep::Settle(turn) => {
                let place = self.place(facts).await?;
                TurnClose { run: self, turn, place: &place }.settle(facts).await?;
            }
            AttemptStep::Block(kind, reason) => self.block(facts, kind, reason).await?,
            AttemptStep::Crash(reason) => {
                if let Some(trouble) = self.trouble(facts) {
                    return self.rest_agent(facts, trouble, &reason).await.map(Some);
                }
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

    fn given(&self, facts: &Facts) -> StepInput<'_> {
        let limits = &self.shared.settings.limits;
        let (bounds, bounds_workflow) = self.bounds(facts);
        StepInput {
            agent: self.worker.agent,
            attempt: self.attempt,
            runner: &self.shared.name,
            repairs_max: limits.repairs,
            bounds,
            bounds_workflow,
            can_resume: self.worker.member.settings.adapter != AdapterKind::Exec,
            has_reviewer: facts.task.review && TaskExtra::of(&facts.detail).review.is_some(),
            now: self.now(),
        }
    }

    /// Waits for the two permits for a turn: one of the agent and one of the runner. Returns `None` when the runner
    /// must stop.
    async fn room(&self) -> Option<Room> {
        let mut wish = self.shared.wish.clone();
        tokio::select! {
            _ = wish.wait_for(|wish| *wish != RunnerOrder::Work) => None,
            room = async {
                let own = Arc::clone(&self.worker.room).acquire_owned().await.ok()?;
                Some((own, Arc::clone(&self.shared.room).acquire_owned().await.ok()?))
            } => room,
        }
    }

    /// Returns the reason why the program of the last turn cannot work until a person does something. Returns `None`
    /// when the program can work.
    fn trouble(&self, facts: &Facts) -> Option<AgentTrouble> {
        let own = facts.turns.iter().rev().find(|turn| !turn.purpose.is_a_look() && turn.attempt == self.attempt)?;
        let ended = own.ended()?;
        agent_trouble(self.worker.member.settings.adapter, ended.end, ended.reason.as_deref().unwrap_or_default())
    }

    /// Gives the task back without using up an attempt, because the program of the agent cannot work.
    async fn rest_agent(&self, facts: &Facts, trouble: AgentTrouble, said: &str) -> Result<AttemptOver, AttemptError> {
        let words = trouble.kind.words();
        let said = said.split_once(": ").map_or(said, |(_, said)| said);
        let reason = format!("{words}; it said \"{said}\"");
        let slug = &self.worker.member.settings.slug;
        let title = format!("{slug} rests: {reason}");
        let detail = serde_json::json!({"agent": slug, "said": said, "advice": trouble.advice});
        self.shared.set_condition(ConditionKind::AgentRests, (slug, title), &detail).await;
        self.hand_back(facts, &format!("{slug} cannot work: {words}")).await?;
        Ok(AttemptOver::AgentRests { reason, advice: trouble.advice })
    }

    async fn crash(&self, facts: &Facts, reason: String) -> Result<(), AttemptError> {
        let crash = Command::Crash { task: self.task, attempt: self.attempt, reason: cut(&reason) };
        let reply = self.execute(crash).await?;
        let last = facts.turns.iter().rev().find(|turn| !turn.purpose.is_a_look() && turn.attempt == self.attempt);
        let reason = last.and_then(Turn::ended).map_or(reason, crash_words);
        let failed = matches!(reply, engine::Reply::Moved { status: engine::task::Status::Failed });
        let again_ms = u64::try_from(rest_after(facts.task.crashes).as_millis()).unwrap_or(u64::MAX);
        let (attempt, of) = (facts.task.crashes.saturating_add(2), facts.task.attempts_max);
        let crashed = RunEvent::Crashed { reason: reason.clone(), again_ms, attempt, of };
        self.tell(facts, if failed { RunEvent::Failed { reason } } else { crashed });
        self.leave(Some(facts)).await;
        Ok(())
    }

    async fn hand_back(&self, facts: &Facts, reason: &str) -> Result<(), AttemptError> {
        let release = Command::Release { task: self.task, attempt: Some(self.attempt), reason: Some(cut(reason)) };
        self.execute(release).await?;
        self.tell(facts, RunEvent::Returned { reason: reason.to_owned() });
        self.leave(Some(facts)).await;
        Ok(())
    }

    /// Stops the claims of this run, because a setup command failed. A task without any turn is given back untouched. A
    /// task with a turn stays held, so that the next run continues it without losing work.
    async fn setup_failed(&self, problem: FailedSetup) {
        self.shared.fail_setup(problem.clone());
        self.shared.set_setup_condition(&problem).await;
        let Ok(facts) = self.facts().await else { return };
        self.tell(&facts, RunEvent::SetupFailed { problem });
        if !facts.turns.iter().any(|turn| turn.attempt == self.attempt) {
            let _lost = self.hand_back(&facts, "the setup failed").await;
        }
    }

    /// Blocks the task after a problem that the runner cannot fix, so that a person or another agent looks at the task.
    async fn give_up(&self, reason: &str) {
        let Ok(facts) = self.facts().await else { return };
        let ours = facts.task.attempt == self.attempt && facts.task.holder() == Some(self.worker.agent);
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
        if let Ok(true) = remains::is_kept(&self.shared, &facts.task, self.attempt).await {
            // Keep the worktree, because the work waits for a person who may send it back. The agent then continues in
            // the same worktree.
            if let Err(problem) = self.shared.ground.keep_slot(self.task, self.attempt) {
                self.tell(facts, RunEvent::Warning { text: problem.to_string() });
            }
            return;
        }
        let Ok(turns) = remains::turns(&self.shared, self.task, self.attempt).await else { return };
        // Ignore a failure, because it does not affect the task. Files that were not removed are removed at the end of
        // this run or by the next run.
        match remains::remove(&self.shared, (&facts.task, self.attempt), &self.author(), &turns).await {
            Ok(kept) => self.tell_lost(facts, kept.as_deref()),
            Err(problem) => self.tell(facts, RunEvent::Warning { text: remains::stays(&problem) }),
        }
    }

    /// Reports that another agent took the task, and names the branch with this attempt's work, because no agent will
    /// merge that branch.
    fn tell_lost(&self, facts: &Facts, kept: Option<&str>) {
        let by = facts.task.holder().filter(|holder| *holder != self.worker.agent);
        if let (Some(by), Some(branch)) = (by, kept) {
            let text = format!(
                "{by} took this task while this machine did not renew its claim; the work that was done here is on \
                 the branch {branch}"
            );
            self.tell(facts, RunEvent::Warning { text });
        }
    }
}

/// Returns the end of a crashed program in words for people: `killed by signal 9 after 2 s`.
fn crash_words(ended: &TurnResult) -> String {
    let (after, said) = (duration(ended.spent.ms), ended.reason.as_deref().unwrap_or_default());
    let quoted = if said.is_empty() { String::new() } else { format!("; it said \"{said}\"") };
    match ended.end {
        TurnEnd::Signalled if !said.is_empty() => format!("{said} after {after}"),
        TurnEnd::SpawnFailed => format!("it could not start{quoted}"),
        TurnEnd::ApiError => format!("its API failed after {after}{quoted}"),
        TurnEnd::Failed
        | TurnEnd::Signalled
        | TurnEnd::Finished
        | TurnEnd::TimedOut
        | TurnEnd::OverBudget
        | TurnEnd::ClaimLost
        | TurnEnd::Interrupted
        | TurnEnd::Cancelled
        | TurnEnd::ConversationLost => format!("it failed after {after}{quoted}"),
    }
}

/// Returns true when a refusal of the store means that the claim is lost or the task is gone.
fn is_lost(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::ClaimLost { .. } | Refusal::TaskNotFound { .. } | Refusal::WorkflowNotFound { .. })
}
