//! The state that all attempts of a runner share: the store, the team of agents, the worktrees, and the channel that
//! brings news to the screen.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use engine::caller::KeyOwner;
use engine::id::{AgentId, SessionId, TaskId, TurnId};
use engine::turn::Purpose;
use engine::{Caller, Command, Reply, Rights};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::attempt::place::WorktreeGround;
use crate::outcome::OutputVerdict;
use crate::turn_proof;
use base::error::Error;
use base::people::principal;
use base::project::settings;
use base::project::team::{Team, TeamMember};
use base::project::trust;
use base::service::{self, Service};

/// The order of a person to the runner: continue, finish the running turns, or stop at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunnerOrder {
    Work,
    /// Running turns may finish. No new turn starts, and no new task is claimed.
    Finish,
    /// Running turns are ended at once.
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
    pub name: String,
    pub agent: String,
    pub what: RunEvent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    Claimed { attempt: u32 },
    Started { turn: TurnId, purpose: Purpose },
    Tool { turn: TurnId, name: String },
    Text { turn: TurnId, text: String },
    Spent { turn: TurnId, usd_micros: Option<u64>, tokens: Option<u64> },
    Ended { turn: TurnId, end: engine::turn::TurnEnd, reason: Option<String>, verdict: Option<OutputVerdict>, ms: u64 },
    Checking { command: String },
    Verified { passed: bool, problem: Option<String> },
    Reviewed { session: String, found: u32, open: u32, problem: Option<String> },
    Merged { commit: String },
    Conflict { paths: Vec<String> },
    Completed { summary: String },
    Asks { question: String },
    WantsApproval { approval: String, operation: String },
    Blocked { kind: String, reason: String },
    Failed { reason: String },
    Returned { reason: String },
    Warning { text: String },
}

/// The largest number of news items (events of a run) that wait for the screen. Further items are dropped, because the
/// store has everything important.
const NEWS_MAX: usize = 10_000;

#[derive(Debug)]
pub struct RunnerShared {
    pub service: Service,
    /// The address of the store. Handover's MCP server, which the agents' programs start, opens this store.
    pub store: String,
    pub ground: WorktreeGround,
    /// The state folder on this machine, with the folders of turns, program homes and stored objects.
    pub state: PathBuf,
    pub settings: settings::TeamSettings,
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
    /// The lock that allows one turn at a time outside of git, where all agents work in the same folder.
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

    /// Returns a caller (the sender of a command) with an idempotency key. So the effect `what` of a turn, such as its
    /// end, happens once, even when the command is retried.
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

    /// Sends an item of news to the screen. Drops texts, tool calls and costs when the queue is half full, so that a
    /// program with much output cannot displace important news.
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
