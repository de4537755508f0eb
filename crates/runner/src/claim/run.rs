//! The main loop of the runner. It claims tasks for agents with free capacity and runs their attempts. It ends when
//! nothing is left to do.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::id::{TaskId, WorkflowId};
use engine::list::{WorkflowFilter, WorkflowQuery};
use engine::task::Status;
use engine::workflow::{Workflow, WorkflowStatus};
use engine::{Caller, Command, Reply, Rights};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::work::{AttemptOver, Room};
use crate::attempt::AttemptRun;
use crate::attempt::shared::{RunEvent, RunNews, RunnerAgent, RunnerOrder, RunnerShared};
use crate::claim::fit;
use crate::claim::lease::{self, HeldLeases};
use crate::claim::prospect::{self, Offered, Prospect};
use base::error::Error;
use base::project::settings::team::{self, AgentWork};

/// The longest sleep of the runner's loop. A change in the store wakes the loop earlier.
const LOOK: Duration = Duration::from_secs(1);
/// The time that the loop waits after a change in the store, so that changes in quick succession are handled together.
const BREATH: Duration = Duration::from_millis(20);
/// The pauses of a task after a crash of its agent's program. The first pause is `REST_MIN`. Each further pause is
/// `REST_GROWTH` times as long, up to `REST_MAX`.
const REST_MIN: Duration = Duration::from_secs(1);
const REST_GROWTH: u32 = 4;
const REST_MAX: Duration = Duration::from_secs(5 * 60);
const WORKFLOWS_MAX: u32 = 200;
/// The longest time for which a task that waits for a person keeps its worktree. Afterwards its work is on its branch.
const KEPT_MS_MAX: i64 = 7 * 24 * 60 * 60 * 1_000;
/// The largest number of reasons for stuck workflows that are reported at the end. Further reasons are left out.
const REASONS_MAX: usize = 20;

/// The workflows on which the runner works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunScope {
    /// The runner works on one workflow until the workflow is over or none of its tasks can continue.
    Workflow(WorkflowId),
    /// The runner works on one task until the task is completed or cannot continue.
    Task(TaskId),
    /// The runner works on all workflows that are ready or started, until a person stops the runner.
    All,
    /// The runner works on all workflows that are ready or started, until no task can be claimed and no turn runs.
    Once,
}

/// The result of a run of the runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnded {
    Completed,
    /// The workflow is not completed. The text has the reasons why it cannot continue.
    Stuck(String),
    /// This runner has nothing left to do.
    Idle,
    /// A person stopped the runner.
    Stopped,
}

/// The pause of a task after the program of its agent crashed. No agent of this runner claims the task until the pause
/// is over; the agent works on other tasks.
#[derive(Debug)]
struct TaskRest {
    crashes: u32,
    until: Instant,
}

#[derive(Debug)]
pub struct ClaimLoop {
    pub(super) shared: Arc<RunnerShared>,
    pub(super) scope: RunScope,
    attempts: JoinSet<(String, TaskId, AttemptOver)>,
    working: HashMap<TaskId, String>,
    rests: HashMap<TaskId, TaskRest>,
    /// The agents whose programs cannot work until a person does something.
    resting: BTreeSet<String>,
    lease: Duration,
    /// The missing requirements of each workflow that was checked. The list is empty for a workflow that lacks nothing.
    lacking: HashMap<WorkflowId, Vec<String>>,
    held: Arc<Mutex<HeldLeases>>,
}

impl ClaimLoop {
    pub fn new(shared: Arc<RunnerShared>, scope: RunScope) -> Self {
        let lease = Duration::from_millis(u64::from(engine::limits::LEASE_MS_DEFAULT.0));
        let held = Arc::new(Mutex::new(HeldLeases { agents: BTreeSet::new(), lease }));
        Self {
            held,
            shared,
            scope,
            attempts: JoinSet::new(),
            working: HashMap::new(),
            rests: HashMap::new(),
            resting: BTreeSet::new(),
            lease,
            lacking: HashMap::new(),
        }
    }

    /// Runs the runner's loop to its end. Before the loop claims new tasks, it continues the tasks that an earlier
    /// runner left.
    pub async fn work(mut self) -> Result<RunEnded, Error> {
        if let RunScope::Workflow(id) = self.scope {
            let lacks = fit::lacks(&self.shared, id).await?;
            if !lacks.is_empty() {
                return Ok(RunEnded::Stuck(lacks.join("\n")));
            }
            self.lacking.insert(id, lacks);
        }
        lease::show_life(&self.shared).await?;
        self.clean_locks().await;
        let before_ms = self.shared.service.now().0.saturating_sub(KEPT_MS_MAX);
        if let Err(problem) = self.shared.ground.give_up_before(before_ms).await {
            self.warn(crate::attempt::remains::stays(&problem));
        }
        self.take_up().await?;
        let mut bell = self.shared.service.bell();
        let mut wish = self.shared.wish.clone();
        // Renews the leases in a separate async task, because the loop may be busy with claims for longer than a short
        // lease lasts.
        let keeper = tokio::spawn(lease::keep(Arc::clone(&self.shared), Arc::clone(&self.held)));
        let ended = loop {
            if self.shared.wish() != RunnerOrder::Work {
                break RunEnded::Stopped;
            }
            self.claim().await?;
            if let Some(ended) = self.is_over().await? {
                break ended;
            }
            tokio::select! {
                Some(over) = self.attempts.join_next() => self.ended(over.ok()),
                _ = bell.changed(LOOK) => tokio::time::sleep(BREATH).await,
                _ = wish.changed() => {}
            }
        };
        // Ends the attempts that wait for a person. Their tasks stay paused, and the agents of this runner keep their
        // claims.
        self.shared.closing.cancel();
        self.finish().await;
        if self.shared.wish() == RunnerOrder::Work
            && let Err(problem) = self.shared.check_tips().await
        {
            self.warn(format!("the branches of the plans could not be checked: {problem}"));
        }
        if let Err(problem) = self.shared.end_baselines().await {
            self.warn(crate::attempt::remains::stays(&problem));
        }
        // Tries once more to remove the worktrees that could not be removed earlier because a git process used them.
        let _next_run = crate::attempt::remains::clear(&self.shared).await;
        keeper.abort();
        let forget = Command::ForgetRunner { name: self.shared.name.clone() };
        let _gone = self.shared.service.execute(Caller::with_rights(Rights::Runner), forget).await;
        Ok(ended)
    }

    /// Removes lock files of git processes that were killed together with an earlier runner. Such a lock file would
    /// make every later git process fail.
    async fn clean_locks(&self) {
        let text = match self.shared.ground.clean_shared().await {
            Ok(removed) if removed.is_empty() => return,
            Ok(removed) => {
                let names: Vec<String> = removed.iter().map(|path| path.display().to_string()).collect();
                format!("removed lock files that a killed git process left: {}", names.join(", "))
            }
            Err(problem) => format!("git's lock files cannot be checked: {problem}"),
        };
        self.warn(text);
    }

    /// Reports a problem that belongs to no task.
    pub(super) fn warn(&self, text: String) {
        let (name, agent) = ("git".to_owned(), "runner".to_owned());
        self.shared.tell(RunNews { task: TaskId::FIRST, number: None, name, agent, what: RunEvent::Warning { text } });
    }

    pub(super) fn spawn(&mut self, worker: &Arc<RunnerAgent>, task: TaskId, attempt: u32, room: Option<Room>) {
        let slug = worker.member.settings.slug.clone();
        self.working.insert(task, slug.clone());
        self.tell_keeper();
        let work = AttemptRun::new(Arc::clone(&self.shared), Arc::clone(worker), task, attempt);
        let (shared, agent) = (Arc::clone(&self.shared), worker.agent);
        self.attempts.spawn(async move {
            let over = match tokio::spawn(work.work(room)).await {
                Ok(over) => over,
                // If the attempt panicked, which is a bug of Handover, give the task back. Otherwise the agent would
                // hold it without end.
                Err(panicked) => {
                    let reason = format!("the runner failed, which is a bug in Handover, please report it: {panicked}");
                    let crash = Command::Crash { task, attempt, reason };
                    let _lost = shared.service.execute(shared.caller(agent), crash).await;
                    AttemptOver::Crashed
                }
            };
            (slug, task, over)
        });
    }

    /// Updates the data of the async task that renews leases: the agents that hold tasks, and the length of the
    /// shortest lease.
    fn tell_keeper(&self) {
        let agents = self.working.values().filter_map(|slug| Some(self.shared.agents.get(slug)?.agent)).collect();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = HeldLeases { agents, lease: self.lease };
    }

    fn ended(&mut self, over: Option<(String, TaskId, AttemptOver)>) {
        let Some((slug, task, over)) = over else { return };
        self.working.remove(&task);
        self.tell_keeper();
        match over {
            AttemptOver::Ended => drop(self.rests.remove(&task)),
            AttemptOver::Crashed => {
                let crashes = self.rests.get(&task).map_or(0, |rest| rest.crashes);
                let until = Instant::now() + rest_after(crashes);
                self.rests.insert(task, TaskRest { crashes: crashes.saturating_add(1), until });
            }
            AttemptOver::AgentRests => drop(self.resting.insert(slug)),
        }
    }

    /// Tells whether a task pauses after a crash.
    fn is_resting(&self, task: TaskId) -> bool {
        self.rests.get(&task).is_some_and(|rest| rest.until > Instant::now())
    }

    async fn workflows(&self) -> Result<Vec<Workflow>, Error> {
        if let RunScope::Workflow(id) = self.scope {
            return Ok(vec![self.shared.service.view(move |world| world.workflow(id).cloned()).await?]);
        }
        if let RunScope::Task(id) = self.scope {
            let found = self.shared.service.view(move |world| world.workflow(world.task(id)?.workflow).cloned());
            return Ok(vec![found.await?]);
        }
        let statuses = vec![WorkflowStatus::Ready, WorkflowStatus::InProgress];
        let filter = WorkflowFilter { statuses, ..WorkflowFilter::default() };
        let list = WorkflowQuery { filter, after: None, offset: 0, limit: WORKFLOWS_MAX };
        let mut rows = self.shared.service.ask(list).await?;
        // Puts the oldest workflow first, so that no workflow waits without end.
        rows.reverse();
        Ok(rows)
    }

    /// Claims tasks for all agents that have free capacity and do not pause after a crash.
    async fn claim(&mut self) -> Result<(), Error> {
        if self.shared.setup_problem().is_some() {
            return Ok(());
        }
        // Requests the approvals of tasks that may start only after a person approves, once all other conditions of
        // these tasks are met.
        self.shared.service.ask_gates().await?;
        for workflow in self.workflows().await? {
            if !self.is_fit(&workflow).await? {
                continue;
            }
            let mut offered = prospect::offered(&self.shared, workflow.id).await?;
            // While this machine slept, another machine may have reopened a task whose turn still runs here. That turn
            // asks the store for its claim again. If this loop claimed the task first, the turn would be ended.
            let all = offered.len();
            offered.retain(|offered| !self.working.contains_key(&offered.task.id) && !self.is_resting(offered.task.id));
            if let RunScope::Task(id) = self.scope {
                offered.retain(|offered| offered.task.id == id);
            }
            let are_all_offered = offered.len() == all;
            for worker in self.shared.agents.values().cloned().collect::<Vec<_>>() {
                while let Some(fits) = self.fitting(&worker, &offered) {
                    let Some(room) = self.room(&worker) else { break };
                    // Under these conditions the runner claims the task `fits` by its id. `ClaimNext` would claim the
                    // first open task, and this agent may not be allowed to take the first open task.
                    let is_chosen_here = self.is_evaluator(&worker)
                        || !self.working.is_empty()
                        || !are_all_offered
                        || offered.iter().any(|offered| offered.review.is_some());
                    let claim = if is_chosen_here {
                        Command::Claim { task: fits }
                    } else {
                        Command::ClaimNext { workflow: workflow.id, include_failed: false }
                    };
                    let now = self.shared.service.now();
                    match self.shared.service.execute(self.shared.caller(worker.agent), claim).await {
                        Ok(Reply::Claimed { task, attempt, until, .. }) => {
                            offered.retain(|offered| offered.task.id != task);
                            let lease = u64::try_from(until.0 - now.0).unwrap_or(0);
                            self.lease = self.lease.min(Duration::from_millis(lease));
                            self.claimed(&worker, task, attempt).await;
                            self.spawn(&worker, task, attempt, Some(room));
                        }
                        // If another runner claimed this task first, try the next task.
                        Ok(_) if is_chosen_here => offered.retain(|offered| offered.task.id != fits),
                        // If no task is open any more, or the status of the workflow changed, stop claiming for this
                        // agent.
                        Ok(_) | Err(Error::Refused(_)) => break,
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells whether a workflow has everything that its tasks need. If not, reports the problems once, and the runner
    /// skips the workflow.
    async fn is_fit(&mut self, workflow: &Workflow) -> Result<bool, Error> {
        if let Some(known) = self.lacking.get(&workflow.id) {
            return Ok(known.is_empty());
        }
        let lacks = fit::lacks(&self.shared, workflow.id).await?;
        for text in &lacks {
            let (name, agent) = (workflow.name.clone(), "runner".to_owned());
            let what = RunEvent::Warning { text: text.clone() };
            self.shared.tell(RunNews { task: TaskId::FIRST, number: None, name, agent, what });
        }
        let is_fit = lacks.is_empty();
        self.lacking.insert(workflow.id, lacks);
        Ok(is_fit)
    }

    async fn claimed(&self, worker: &RunnerAgent, task: TaskId, attempt: u32) {
        let row = self.shared.service.view(move |world| world.task(task).cloned()).await;
        let (number, name) = row.map_or_else(|_| (None, task.to_string()), |task| (Some(task.number), task.name));
        let agent = worker.slug.clone();
        self.shared.tell(RunNews { task, number, name, agent, what: RunEvent::Claimed { attempt } });
    }

    fn is_reviewed_by_another(&self, named: &str, worker: &team::AgentSettings) -> bool {
        crate::review::provider::reviewer_of(&self.shared.settings, named, &worker.slug).is_some()
    }

    fn is_evaluator(&self, worker: &RunnerAgent) -> bool {
        self.shared.settings.evaluator.as_ref().is_some_and(|evaluator| evaluator.agent == worker.member.settings.slug)
    }

    /// Returns the first task that this agent may claim.
    fn fitting(&self, worker: &RunnerAgent, offered: &[Offered]) -> Option<TaskId> {
        let settings = &worker.member.settings;
        let role = settings.roles.first().map_or("worker", String::as_str);
        let may_judge = self.is_evaluator(worker);
        if self.resting.contains(&settings.slug) {
            return None;
        }
        let is_judge = may_judge || offered.iter().any(|offered| offered.review.as_deref() == Some(&settings.slug));
        let work = settings.work(is_judge);
        let takes = |wanted: Option<&str>| match work {
            AgentWork::AnyTask => true,
            AgentWork::TasksOfRoles => wanted.is_some(),
            AgentWork::OnlyAsked => false,
        };
        let fits = |offered: &&Offered| {
            takes(offered.task.role.as_deref())
                && offered.task.role.as_deref().is_none_or(|wanted| wanted == role)
                && offered.task.capabilities.iter().all(|wanted| settings.capabilities.contains(wanted))
                && !(may_judge && offered.judged)
                && offered.review.as_ref().is_none_or(|named| self.is_reviewed_by_another(named, settings))
        };
        offered.iter().find(fits).map(|offered| offered.task.id)
    }

    fn room(&self, worker: &RunnerAgent) -> Option<Room> {
        let own = Arc::clone(&worker.room).try_acquire_owned().ok()?;
        Some((own, Arc::clone(&self.shared.room).try_acquire_owned().ok()?))
    }

    /// Returns the result of the run. Returns `None` while an agent holds a task of the workflow, or while an agent of
    /// this runner could claim a task of the workflow.
    async fn is_over(&self) -> Result<Option<RunEnded>, Error> {
        if let Some(problem) = self.shared.setup_problem() {
            let text = format!(
                "the setup command `{}` {}; fix the reason, then run again\n{}",
                problem.command, problem.how, problem.last_lines
            );
            return Ok(self.working.is_empty().then_some(RunEnded::Stuck(text)));
        }
        let id = match self.scope {
            RunScope::All => return Ok(None),
            RunScope::Once => return self.is_idle().await,
            RunScope::Task(id) => return self.is_task_over(id).await,
            RunScope::Workflow(id) => id,
        };
        let Prospect { status, held, offered } = prospect::of(&self.shared, id).await?;
        if status == WorkflowStatus::Completed {
            // Returns without waiting for tasks of other workflows, which may wait for a person. The runner still waits
            // for the end of its running attempts.
            return Ok(Some(RunEnded::Completed));
        }
        if held > 0 || self.is_wanted(&offered) {
            return Ok(None);
        }
        Ok(Some(RunEnded::Stuck(prospect::why_stuck(&self.shared, id).await?)))
    }

    /// Returns the result of a run for one task. Returns `None` while an agent holds the task or could claim it.
    async fn is_task_over(&self, id: TaskId) -> Result<Option<RunEnded>, Error> {
        let task = self.shared.service.view(move |world| world.task(id).cloned()).await?;
        if self.working.contains_key(&id) {
            return Ok(None);
        }
        if task.status() == Status::Completed {
            return Ok(Some(RunEnded::Completed));
        }
        let Prospect { offered, .. } = prospect::of(&self.shared, task.workflow).await?;
        let own: Vec<Offered> = offered.into_iter().filter(|offered| offered.task.id == id).collect();
        if self.is_wanted(&own) {
            return Ok(None);
        }
        let reason = prospect::unwanted(&own).next().or_else(|| prospect::stuck(&task));
        let reason = reason.unwrap_or_else(|| format!("{} cannot start: it is {}", task.name, task.status()));
        Ok(Some(RunEnded::Stuck(reason)))
    }

    /// Returns the result of a run over all workflows. Returns `None` while an agent holds a task, or while an agent of
    /// this runner could claim a task. The open tasks of a workflow that is locked or lacks a requirement do not count,
    /// because they cannot be claimed.
    async fn is_idle(&self) -> Result<Option<RunEnded>, Error> {
        let mut reasons = Vec::new();
        for workflow in self.workflows().await? {
            let Prospect { status, held, offered } = prospect::of(&self.shared, workflow.id).await?;
            if status == WorkflowStatus::Completed || held > 0 {
                return Ok(None);
            }
            let name = &workflow.name;
            let lacks = self.lacking.get(&workflow.id).into_iter().flatten();
            let lacks: Vec<String> = lacks.map(|text| format!("{name}: {text}")).collect();
            let lock = workflow.lock.as_ref().filter(|lock| lock.until > self.shared.service.now());
            match (lock, lacks.is_empty()) {
                (_, false) => reasons.extend(lacks),
                (Some(lock), true) => {
                    reasons.push(format!(
                        "{name}: the workflow is locked by {}; run again when it is unlocked",
                        lock.owner
                    ));
                }
                (None, true) if self.is_wanted(&offered) => return Ok(None),
                (None, true) => reasons.extend(prospect::unwanted(&offered).map(|text| format!("{name}: {text}"))),
            }
        }
        reasons.truncate(REASONS_MAX);
        Ok(Some(if reasons.is_empty() { RunEnded::Idle } else { RunEnded::Stuck(reasons.join("\n")) }))
    }

    /// Tells whether an agent of this runner would claim one of these tasks.
    fn is_wanted(&self, offered: &[Offered]) -> bool {
        self.shared.agents.values().any(|worker| self.fitting(worker, offered).is_some())
    }

    /// Waits until all attempts have ended. An attempt that waits for a person ends at once. Any other attempt ends
    /// when its running turn ends.
    async fn finish(&mut self) {
        while let Some(over) = self.attempts.join_next().await {
            self.ended(over.ok());
        }
    }
}

/// Returns the pause of a task after a crash. `crashes` is the number of crashes before this one.
pub(crate) fn rest_after(crashes: u32) -> Duration {
    REST_MIN.saturating_mul(REST_GROWTH.saturating_pow(crashes.min(10))).min(REST_MAX)
}
