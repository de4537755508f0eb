//! The state that all attempts of a runner share: the store, the team of agents, the worktrees, and the channel that
//! sends events to the screen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use engine::caller::KeyOwner;
use engine::id::{AgentId, SessionId, TaskId, TurnId};
use engine::turn::Purpose;
use engine::{Caller, Command, Reply, Rights};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::attempt::baseline::BaselineRuns;
use crate::attempt::place::WorktreeGround;
use crate::outcome::OutputVerdict;
use crate::turn_proof;
use base::error::Error;
use base::people::principal;
use base::project::settings;
use base::project::team::{Team, TeamMember};
use base::project::trust;
use base::service::{self, Service};

/// The order of a person to the runner: continue, finish the running turns, or stop immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunnerOrder {
    Work,
    /// Running turns may finish. No new turn starts, and no new task is claimed.
    Finish,
    /// Running turns are ended immediately.
    Stop,
}

/// An agent of this runner, as it is registered in the store.
#[derive(Debug)]
pub struct RunnerAgent {
    pub member: TeamMember,
    pub agent: AgentId,
    /// The agent's name in the store. It has a suffix when an agent of another runner already has the plain name.
    pub slug: String,
    /// The permits that limit how many turns of this agent run at the same time.
    pub room: Arc<Semaphore>,
}

/// An event of a run that the screen shows.
#[derive(Debug, Clone, PartialEq)]
pub struct RunNews {
    pub task: TaskId,
    /// The short number of the task. `None` for an event that belongs to no task.
    pub number: Option<u32>,
    pub name: String,
    pub agent: String,
    pub what: RunEvent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    Claimed {
        attempt: u32,
    },
    /// A turn started. `retry` is set when an earlier turn's work was not good enough.
    Started {
        turn: TurnId,
        purpose: Purpose,
        retry: Option<RetryNote>,
    },
    Tool {
        turn: TurnId,
        /// The tool's name in the words of the agent's program.
        name: String,
        /// One line that names the action and its target, such as `edit src/api.js +12 −3`.
        title: String,
    },
    Text {
        turn: TurnId,
        text: String,
    },
    Spent {
        turn: TurnId,
        usd_micros: Option<u64>,
        tokens: Option<u64>,
    },
    Ended {
        turn: TurnId,
        end: engine::turn::TurnEnd,
        reason: Option<String>,
        verdict: Option<OutputVerdict>,
        spent: engine::turn::Spent,
        model: Option<String>,
    },
    /// A setup command of the project, such as `npm ci`, runs in the worktree.
    Setup {
        command: String,
    },
    SetupFailed {
        problem: FailedSetup,
    },
    /// The agent finished its work, and the work is committed.
    Finished {
        files: u32,
        added: u32,
        removed: u32,
        summary: String,
    },
    /// The task was to change files, and the agent changed none.
    NoChanges {
        summary: String,
    },
    Checking {
        command: String,
    },
    Checked {
        command: String,
        ms: u64,
        flaky: Option<(u32, u32)>,
    },
    /// No check could judge the work. `why` is the reason.
    Unchecked {
        why: String,
    },
    /// A check of the project failed in each of its runs.
    CheckFailed {
        command: String,
        end: CheckFailure,
        runs: u32,
        last_line: String,
    },
    /// The agent's output failed its verification. The text has the problems, one on each line.
    Rejected {
        problem: String,
    },
    BaselineFails {
        command: String,
        exit_code: Option<i32>,
        last_line: String,
    },
    BaselinePasses {
        command: String,
    },
    /// The last commit of a plan's branch fails a check that passed before the named tasks were merged.
    TipFailed {
        branch: String,
        command: String,
        last_line: String,
        tasks: Vec<String>,
    },
    Reviewed {
        session: String,
        found: u32,
        open: u32,
        problem: Option<String>,
    },
    Merged {
        commit: String,
    },
    Conflict {
        paths: Vec<String>,
    },
    /// The task is completed. `waits_for_merge` is true when its work is on a branch of its own, which a person has to
    /// merge.
    Completed {
        summary: String,
        spent: engine::turn::Spent,
        waits_for_merge: bool,
    },
    Asks {
        question: String,
    },
    WantsApproval {
        approval: String,
        operation: String,
    },
    Blocked {
        kind: String,
        reason: String,
    },
    Failed {
        reason: String,
    },
    Returned {
        reason: String,
    },
    /// The program of the agent crashed. The task pauses before it is tried again.
    Crashed {
        reason: String,
        again_ms: u64,
        attempt: u32,
        of: u32,
    },
    /// The program of the agent cannot work until a person does something.
    AgentRests {
        reason: String,
        /// The command or other action of the person that lets the agent work again.
        advice: String,
        /// The number of open tasks that only this agent could take.
        waiting: u32,
    },
    Warning {
        text: String,
    },
}

/// The reason for another turn of an agent whose work was not good enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryNote {
    /// A name for the text that the agent gets, such as "the output of npm test".
    pub with: String,
    pub number: u32,
    pub of: u32,
}

/// The way in which a failed check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckFailure {
    Exited(i32),
    Signalled(i32),
    TooMuchOutput,
    Other,
}

/// A task that was merged into the branch of its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergedTask {
    /// The number and the name of the task.
    pub(crate) name: String,
    /// The commit from which the task started.
    pub(crate) base: String,
    /// The branch of the plan, into which the task was merged.
    pub(crate) branch: String,
    /// The last commit of the plan's branch after the merge.
    pub(crate) tip: String,
}

/// A setup command that failed. Because of it, the runner claims no further task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedSetup {
    pub command: String,
    /// The way in which the command ended, in words such as "exited with 1".
    pub how: String,
    /// The last lines that the command printed.
    pub last_lines: String,
}

/// The largest number of events that wait for the screen. Further events are dropped, because the store has everything
/// important.
const NEWS_MAX: usize = 10_000;

#[derive(Debug)]
pub struct RunnerShared {
    pub service: Service,
    /// The address of the store. Handover's MCP server, which the agents' programs start, opens this store.
    pub store: String,
    pub ground: WorktreeGround,
    /// The state folder on this machine. It contains the folders of turns, the home folders of programs, and stored
    /// objects.
    pub state: PathBuf,
    pub settings: settings::TeamSettings,
    /// The permits that limit how many checks run at the same time, for all agents together.
    pub checks: Semaphore,
    pub baselines: BaselineRuns,
    /// The setup command that failed in this run. While there is one, the runner claims no task.
    setup_problem: Mutex<Option<FailedSetup>>,
    /// The names of the agents that had a successful turn in this run.
    succeeded: Mutex<BTreeSet<String>>,
    /// The tasks that this run merged into the branches of plans, for each workflow.
    merged: Mutex<BTreeMap<engine::id::WorkflowId, Vec<MergedTask>>>,
    pub team: Team,
    pub agents: BTreeMap<String, Arc<RunnerAgent>>,
    /// The name by which the store knows this runner.
    pub name: String,
    pub session: SessionId,
    /// The permits that limit how many turns of this runner run at the same time.
    pub room: Arc<Semaphore>,
    pub wish: watch::Receiver<RunnerOrder>,
    pub news: mpsc::Sender<RunNews>,
    /// A token that is cancelled when the runner has nothing left to do. Attempts that wait for a person end then.
    pub closing: CancellationToken,
    /// The lock for projects outside of git. It lets one turn run at a time, because all agents work in the same
    /// folder.
    pub alone: tokio::sync::Mutex<()>,
    merging: Mutex<BTreeMap<engine::id::WorkflowId, Arc<tokio::sync::Mutex<()>>>>,
}

/// The values from which a [`RunnerShared`] is built.
#[derive(Debug)]
pub struct RunnerParts {
    pub service: Service,
    pub store: String,
    pub ground: WorktreeGround,
    pub state: PathBuf,
    pub settings: settings::TeamSettings,
    pub team: Team,
    pub name: String,
    pub session: SessionId,
    pub at_once: usize,
    pub wish: watch::Receiver<RunnerOrder>,
}

impl RunnerShared {
    /// Registers all agents of the runner in the store. The runner always has the same session id, so its agents stay
    /// the same after a restart.
    pub async fn open(parts: RunnerParts) -> Result<(Self, mpsc::Receiver<RunNews>), Error> {
        let (news, heard) = mpsc::channel(NEWS_MAX);
        let mut shared = Self {
            service: parts.service,
            store: parts.store,
            ground: parts.ground,
            state: parts.state,
            checks: Semaphore::new(usize::try_from(parts.settings.verify.parallel).unwrap_or(1)),
            baselines: BaselineRuns::default(),
            setup_problem: Mutex::default(),
            succeeded: Mutex::default(),
            merged: Mutex::default(),
            settings: parts.settings,
            team: parts.team,
            agents: BTreeMap::new(),
            name: parts.name,
            session: parts.session,
            room: Arc::new(Semaphore::new(parts.at_once)),
            wish: parts.wish,
            news,
            closing: CancellationToken::new(),
            alone: tokio::sync::Mutex::default(),
            merging: Mutex::default(),
        };
        for member in shared.team.members.clone() {
            let places = usize::try_from(member.settings.max_parallel).unwrap_or(usize::MAX);
            let room = Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
            for member in by_role(member) {
                let worker = shared.worker(member, Arc::clone(&room)).await?;
                shared.agents.insert(worker.member.settings.slug.clone(), Arc::new(worker));
            }
        }
        Ok((shared, heard))
    }

    async fn worker(&self, member: TeamMember, room: Arc<Semaphore>) -> Result<RunnerAgent, Error> {
        let settings = &member.settings;
        let register = engine::command::Register {
            name: settings.slug.clone(),
            runtime: format!("handover-{}", settings.adapter.name()),
            role: settings.roles.first().cloned(),
            slug: Some(settings.slug.clone()),
            capabilities: settings.capabilities.clone(),
            workflow: None,
            workspace_path: None,
            metadata: None,
        };
        let principal = Some(principal::of_runner(&self.name));
        let caller = Caller { session: Some(self.session), principal, ..Caller::with_rights(Rights::Runner) };
        let reply = self.service.execute(caller, Command::Register(register)).await?;
        let Reply::Registered { agent, slug, .. } = reply else { return Err(Error::unexpected(&reply)) };
        Ok(RunnerAgent { agent, slug, room, member })
    }

    /// Returns a caller (the sender of a command) that has the runner's rights and acts for an agent.
    pub fn caller(&self, agent: AgentId) -> Caller {
        Caller { session: Some(self.session), rights: Rights::Runner, ..Caller::agent(agent) }
    }

    /// Returns a caller (the sender of a command) with an idempotency key. With the key, the effect `what` of a turn,
    /// such as its end, happens once, even when the command is sent again.
    pub fn once(&self, agent: AgentId, turn: TurnId, what: &str) -> Caller {
        let key =
            service::key(KeyOwner::Fixed(format!("{} {what}", self.name)), format!("{turn} {what}"), &turn.to_string());
        Caller { key: Some(key), ..self.caller(agent) }
    }

    /// Returns an error when the command of the agent starts a script of the repository that changed since a person
    /// accepted it.
    pub fn is_as_accepted(&self, member: &TeamMember) -> Result<(), String> {
        let Some(scripts) = &self.settings.scripts else { return Ok(()) };
        let words: Vec<String> = member.settings.command.iter().chain(&member.settings.args).cloned().collect();
        let folders = trust::ScriptFolders { root: &scripts.root, runs_in: &scripts.root };
        let changed = trust::changed_scripts(&scripts.record, folders, &words).map_err(|error| error.to_string())?;
        let Some(script) = changed.first() else { return Ok(()) };
        Err(format!(
            "NOT_TRUSTED {}, which starts {}, was changed after a person accepted it; read and accept it with \
             `handover trust`, then unblock the task",
            script.name, member.settings.slug
        ))
    }

    /// Records that a setup command failed. The runner claims no further task afterwards.
    pub fn fail_setup(&self, problem: FailedSetup) {
        let mut known = self.setup_problem.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert(problem);
    }

    /// Records that a turn of an agent succeeded. Returns true for the first such turn of this run.
    pub(crate) fn is_first_success(&self, slug: &str) -> bool {
        self.succeeded.lock().unwrap_or_else(PoisonError::into_inner).insert(slug.to_owned())
    }

    /// Records that a task was merged into the branch of its plan.
    pub(crate) fn add_merged(&self, workflow: engine::id::WorkflowId, task: MergedTask) {
        self.merged.lock().unwrap_or_else(PoisonError::into_inner).entry(workflow).or_default().push(task);
    }

    /// Returns the tasks that this run merged, for each plan.
    pub(crate) fn merged(&self) -> BTreeMap<engine::id::WorkflowId, Vec<MergedTask>> {
        self.merged.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn setup_problem(&self) -> Option<FailedSetup> {
        self.setup_problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn wish(&self) -> RunnerOrder {
        *self.wish.borrow()
    }

    /// Returns the folder with the files of a turn.
    pub fn turn_folder(&self, turn: TurnId) -> PathBuf {
        turn_proof::turn_folder(&self.state, turn)
    }

    /// Returns the folder of an attempt (one claim of a task). It holds the journal of the files that are being
    /// written, and the list of files that the attempt made.
    pub fn attempt_folder(&self, task: TaskId, attempt: u32) -> PathBuf {
        self.state.join("turns").join(format!("{task}-{attempt}"))
    }

    /// Returns the lock for merges into a workflow's branch. The lock works only within this process. Between
    /// processes, git's update of the branch decides which merge is first.
    pub fn merging(&self, workflow: engine::id::WorkflowId) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(locks.entry(workflow).or_default())
    }

    /// Sends an event to the screen. When the queue is half full, texts, tool calls and costs are dropped, so that a
    /// program with much output does not displace important events.
    pub fn tell(&self, news: RunNews) {
        let passes_by = matches!(news.what, RunEvent::Text { .. } | RunEvent::Tool { .. } | RunEvent::Spent { .. });
        if !passes_by || self.news.capacity() > NEWS_MAX / 2 {
            let _full = self.news.try_send(news);
        }
    }
}

/// Returns one team member for each role of an agent. An agent in the store has one role, so an agent of the settings
/// with several roles is registered several times. All these members share the same permits for turns.
fn by_role(member: TeamMember) -> Vec<TeamMember> {
    let more: Vec<TeamMember> = member.settings.roles.iter().skip(1).map(|role| member.in_role(role)).collect();
    std::iter::once(member).chain(more).collect()
}
