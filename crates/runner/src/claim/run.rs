//! The main loop of the runner. It claims tasks for agents with free capacity and runs their attempts. It ends when
//! nothing is left to do.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::id::TaskId;
use engine::workflow::Workflow;
use engine::{Caller, Command, Reply, Rights};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::work::{AttemptOver, Room};
use crate::attempt::AttemptRun;
use crate::attempt::shared::{RunEvent, RunNews, RunnerAgent, RunnerOrder, RunnerShared};
use crate::claim::kept::SLOTS_LOOK;
use crate::claim::lack::TaskLack;
use crate::claim::lease::{self, HeldLeases};
use crate::claim::over::{self, KnownLacks, RunEnded, RunOutlook, RunScope, StuckRun};
use crate::claim::prospect;
use crate::claim::takers::TaskTakers;
use base::error::Error;

/// The longest sleep of the runner's loop. A change in the store wakes the loop earlier.
const LOOK: Duration = Duration::from_secs(1);
/// The time that the loop waits after a change in the store, so that changes in quick succession are handled together.
const BREATH: Duration = Duration::from_millis(20);
/// The pauses of a task after a crash of its agent's program. The first pause is `REST_MIN`. Each further pause is
/// `REST_GROWTH` times as long, up to `REST_MAX`.
const REST_MIN: Duration = Duration::from_secs(1);
const REST_GROWTH: u32 = 4;
const REST_MAX: Duration = Duration::from_secs(5 * 60);

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
    lacking: KnownLacks,
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
            lacking: KnownLacks::default(),
        }
    }

    /// Runs the runner's loop to its end. Before the loop claims new tasks, it continues the tasks that an earlier
    /// runner left.
    pub async fn work(mut self) -> Result<RunEnded, Error> {
        if let RunScope::Workflow(_) = self.scope {
            // If a plan lacks a requirement, report it and end the run before the runner changes any file or task.
            for workflow in over::workflows(&self.shared.service, self.scope).await? {
                let lacks = self.lacking.check(&self.shared.service, &self.shared.settings, &workflow).await?;
                if !lacks.is_empty() {
                    let reason = lacks.iter().map(TaskLack::sentence).collect::<Vec<_>>().join("\n");
                    return Ok(RunEnded::Stuck(StuckRun { reason, lacks, ..StuckRun::default() }));
                }
            }
        }
        lease::show_life(&self.shared).await?;
        self.clean_locks().await;
        self.give_up_slots().await;
        self.take_up().await?;
        let mut slots_looked = Instant::now();
        let mut bell = self.shared.service.bell();
        let mut wish = self.shared.wish.clone();
        // Renews the leases in a separate async task, because the loop may be busy with claims for longer than a short
        // lease lasts.
        let keeper = tokio::spawn(lease::keep(Arc::clone(&self.shared), Arc::clone(&self.held)));
        let ended = loop {
            if self.shared.wish() != RunnerOrder::Work {
                break RunEnded::Stopped;
            }
            if slots_looked.elapsed() >= SLOTS_LOOK {
                self.give_up_slots().await;
                slots_looked = Instant::now();
            }
            self.claim().await?;
            if let Some(ended) = self.is_over().await? {
                break ended;
            }
            tokio::select! {
                Some(over) = self.attempts.join_next() => self.ended(over.ok()).await,
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

    /// Reports a problem that belongs to no task, such as a lock file that git left.
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

    async fn ended(&mut self, over: Option<(String, TaskId, AttemptOver)>) {
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
            AttemptOver::AgentRests { reason, advice } => {
                self.resting.insert(slug.clone());
                let waiting = self.waiting_for_rest().await;
                let what = RunEvent::AgentRests { reason, advice, waiting };
                let (task, number, name) = (TaskId::FIRST, None, String::new());
                self.shared.tell(RunNews { task, number, name, agent: slug, what });
            }
        }
    }

    /// Returns the number of open tasks that only resting agents (agents that cannot work until a person does
    /// something) could take. When the store fails, returns 0, because the number is only shown to the person and
    /// decides nothing.
    async fn waiting_for_rest(&self) -> u32 {
        let mut waiting = 0_u32;
        for workflow in over::workflows(&self.shared.service, self.scope).await.unwrap_or_default() {
            let offered = prospect::offered(&self.shared.service, workflow.id).await.unwrap_or_default();
            let takers = self.takers();
            let own = offered.iter().filter(|one| self.scope.has(one.task.id, workflow.id));
            let waits = own.filter(|one| takers.waits_for_rest(one)).count();
            waiting = waiting.saturating_add(u32::try_from(waits).unwrap_or(u32::MAX));
        }
        waiting
    }

    /// Returns true while a task pauses after a crash of its agent's program.
    fn is_resting(&self, task: TaskId) -> bool {
        self.rests.get(&task).is_some_and(|rest| rest.until > Instant::now())
    }

    /// Claims open tasks for all agents that have free capacity. Skips tasks that pause after a crash, and agents whose
    /// programs cannot work until a person does something.
    async fn claim(&mut self) -> Result<(), Error> {
        if self.shared.setup_problem().is_some() {
            return Ok(());
        }
        // Requests the approvals of tasks that may start only after a person approves, once all other conditions of
        // these tasks are met.
        self.shared.service.ask_gates().await?;
        for workflow in over::workflows(&self.shared.service, self.scope).await? {
            self.check_lacks(&workflow).await?;
            let mut offered = prospect::offered(&self.shared.service, workflow.id).await?;
            // While this machine slept, another machine may have reopened a task whose turn still runs here. That turn
            // asks the store for its claim again. If this loop claimed the task first, the turn would be ended.
            let all = offered.len();
            over::without_lacking(&mut offered, &workflow, self.lacking.of(workflow.id));
            offered.retain(|offered| !self.working.contains_key(&offered.task.id) && !self.is_resting(offered.task.id));
            if let RunScope::Task(id) = self.scope {
                offered.retain(|offered| offered.task.id == id);
            }
            let waiting = self.continue_returned(&offered).await?;
            offered.retain(|one| !waiting.contains(&one.task.id) && !self.working.contains_key(&one.task.id));
            let are_all_offered = offered.len() == all;
            for worker in self.shared.agents.values().cloned().collect::<Vec<_>>() {
                while let Some(fits) = self.takers().first_for(&worker.member.settings, &offered) {
                    let Some(room) = self.room(&worker) else { break };
                    // When one of these conditions holds, the runner claims the task `fits` by its id. `ClaimNext`
                    // would claim the first open task, which this agent may not be allowed to take.
                    let is_chosen_here = self.takers().is_evaluator(&worker.member.settings)
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

    /// Reports each missing requirement of a workflow once. The runner claims no task that cannot start because of it.
    async fn check_lacks(&mut self, workflow: &Workflow) -> Result<(), Error> {
        for lack in self.lacking.check(&self.shared.service, &self.shared.settings, workflow).await? {
            let (name, agent) = (workflow.name.clone(), "runner".to_owned());
            let what = RunEvent::Warning { text: lack.sentence() };
            self.shared.tell(RunNews { task: TaskId::FIRST, number: None, name, agent, what });
        }
        Ok(())
    }

    pub(super) fn takers(&self) -> TaskTakers<'_> {
        let agents = self.shared.agents.values().map(|worker| &worker.member.settings).collect();
        TaskTakers { settings: &self.shared.settings, agents, resting: &self.resting }
    }

    async fn claimed(&self, worker: &RunnerAgent, task: TaskId, attempt: u32) {
        let row = self.shared.service.view(move |world| world.task(task).cloned()).await;
        let (number, name) = row.map_or_else(|_| (None, task.to_string()), |task| (Some(task.number), task.name));
        let agent = worker.slug.clone();
        self.shared.tell(RunNews { task, number, name, agent, what: RunEvent::Claimed { attempt } });
    }

    pub(super) fn room(&self, worker: &RunnerAgent) -> Option<Room> {
        let own = Arc::clone(&worker.room).try_acquire_owned().ok()?;
        Some((own, Arc::clone(&self.shared.room).try_acquire_owned().ok()?))
    }

    /// Returns the result of the run when it is over.
    async fn is_over(&self) -> Result<Option<RunEnded>, Error> {
        if self.scope == RunScope::Stay {
            return Ok(None);
        }
        if let Some(problem) = self.shared.setup_problem() {
            let reason = format!(
                "the setup command `{}` {}; fix the reason, then run again\n{}",
                problem.command, problem.how, problem.last_lines
            );
            return Ok(self.working.is_empty().then_some(RunEnded::Stuck(StuckRun { reason, ..StuckRun::default() })));
        }
        let outlook = RunOutlook { service: &self.shared.service, takers: self.takers(), lacking: &self.lacking };
        outlook.ended(self.scope).await
    }

    /// Waits until all attempts have ended. An attempt that waits for a person ends immediately. Any other attempt ends
    /// when its running turn ends.
    async fn finish(&mut self) {
        while let Some(over) = self.attempts.join_next().await {
            self.ended(over.ok()).await;
        }
    }
}

/// Returns the pause of a task after a crash. `crashes` is the number of crashes before this one.
pub(crate) fn rest_after(crashes: u32) -> Duration {
    REST_MIN.saturating_mul(REST_GROWTH.saturating_pow(crashes.min(10))).min(REST_MAX)
}
