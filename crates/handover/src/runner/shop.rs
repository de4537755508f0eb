//! The state that all attempts of a runner share: the store, the team, the worktrees, and the channel for news.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use engine::caller::KeyOwner;
use engine::id::{AgentId, SessionId, TaskId, TurnId};
use engine::turn::Purpose;
use engine::{Caller, Command, Reply, Rights};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::place::WorktreeGround;
use crate::error::Error;
use crate::principal;
use crate::service::{self, Service};
use crate::team::{Team, TeamMember};
use crate::turn_proof;
use crate::{settings, trust};

/// The order that the runner has to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    Work,
    /// Running turns may finish, but nothing new starts.
    Finish,
    /// Everything ends now.
    Stop,
}

/// An agent of this runner.
#[derive(Debug)]
pub struct RunnerAgent {
    pub member: TeamMember,
    pub agent: AgentId,
    /// The agent's name in the store. It has a suffix when another runner has the plain name.
    pub slug: String,
    /// The permits for turns that the agent may run at the same time.
    pub room: Arc<Semaphore>,
}

/// An item of news that is worth a line on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct RunNews {
    pub task: TaskId,
    pub name: String,
    pub agent: String,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Claimed { attempt: u32 },
    Started { turn: TurnId, purpose: Purpose },
    Tool { turn: TurnId, name: String },
    Text { turn: TurnId, text: String },
    Spent { turn: TurnId, usd_micros: Option<u64>, tokens: Option<u64> },
    Ended { turn: TurnId, end: engine::turn::TurnEnd, reason: Option<String>, verdict: Option<String>, ms: u64 },
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

/// The number of news items that may wait. Further ones are dropped, because everything important is in the store.
const NEWS_MAX: usize = 10_000;

#[derive(Debug)]
pub struct Shop {
    pub service: Service,
    /// The address of the store, for our MCP server.
    pub store: String,
    pub ground: WorktreeGround,
    /// The folder of turns, homes and objects.
    pub state: PathBuf,
    pub settings: settings::TeamSettings,
    pub team: Team,
    pub seats: BTreeMap<String, Arc<RunnerAgent>>,
    /// The name by which the store knows this runner.
    pub name: String,
    pub session: SessionId,
    /// The permits for turns that may run at the same time.
    pub room: Arc<Semaphore>,
    pub wish: watch::Receiver<Wish>,
    pub news: mpsc::Sender<RunNews>,
    /// Cancelled when nothing is left to do. Attempts that wait for a person then end.
    pub closing: CancellationToken,
    /// The lock for turns outside of git, where only one may run at a time.
    pub alone: tokio::sync::Mutex<()>,
    merging: Mutex<BTreeMap<engine::id::WorkflowId, Arc<tokio::sync::Mutex<()>>>>,
}

/// The parts from which a [`Shop`] is built.
#[derive(Debug)]
pub struct ShopParts {
    pub service: Service,
    pub store: String,
    pub ground: WorktreeGround,
    pub state: PathBuf,
    pub settings: settings::TeamSettings,
    pub team: Team,
    pub name: String,
    pub session: SessionId,
    pub at_once: usize,
    pub wish: watch::Receiver<Wish>,
}

impl Shop {
    /// Registers all agents. An agent of this runner stays the same after a restart, because the runner always has the
    /// same session.
    pub async fn open(parts: ShopParts) -> Result<(Self, mpsc::Receiver<RunNews>), Error> {
        let (news, heard) = mpsc::channel(NEWS_MAX);
        let mut shop = Self {
            service: parts.service,
            store: parts.store,
            ground: parts.ground,
            state: parts.state,
            settings: parts.settings,
            team: parts.team,
            seats: BTreeMap::new(),
            name: parts.name,
            session: parts.session,
            room: Arc::new(Semaphore::new(parts.at_once)),
            wish: parts.wish,
            news,
            closing: CancellationToken::new(),
            alone: tokio::sync::Mutex::default(),
            merging: Mutex::default(),
        };
        for member in shop.team.members.clone() {
            let places = usize::try_from(member.settings.max_parallel).unwrap_or(usize::MAX);
            let room = Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
            for member in by_role(member) {
                let seat = shop.seat(member, Arc::clone(&room)).await?;
                shop.seats.insert(seat.member.settings.slug.clone(), Arc::new(seat));
            }
        }
        Ok((shop, heard))
    }

    async fn seat(&self, member: TeamMember, room: Arc<Semaphore>) -> Result<RunnerAgent, Error> {
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

    /// Returns a caller with which the runner acts for an agent.
    pub fn caller(&self, agent: AgentId) -> Caller {
        Caller { session: Some(self.session), rights: Rights::Runner, ..Caller::agent(agent) }
    }

    /// Returns the same caller with an idempotency key, so that an effect of a turn happens once, however often it is tried.
    pub fn once(&self, agent: AgentId, turn: TurnId, what: &str) -> Caller {
        let key =
            service::key(KeyOwner::Fixed(format!("{} {what}", self.name)), format!("{turn} {what}"), &turn.to_string());
        Caller { key: Some(key), ..self.caller(agent) }
    }

    /// Returns an error when a script of the repository that starts the agent was changed since a person accepted it.
    pub fn is_as_accepted(&self, member: &TeamMember) -> Result<(), String> {
        let Some(scripts) = &self.settings.scripts else { return Ok(()) };
        let words: Vec<String> = member.settings.command.iter().chain(&member.settings.args).cloned().collect();
        let folders = trust::ScriptFolders { root: &scripts.root, runs_in: &scripts.root };
        let changed = trust::changed_scripts(&scripts.record, folders, &words).map_err(|error| error.to_string())?;
        let Some(script) = changed.first() else { return Ok(()) };
        Err(format!(
            "NOT_TRUSTED {}, which starts {}, was changed since it was accepted; look at it with `handover trust`, then let \
             the task go on",
            script.name, member.settings.slug
        ))
    }

    pub fn wish(&self) -> Wish {
        *self.wish.borrow()
    }

    /// Returns the folder with the files of a turn.
    pub fn turn_folder(&self, turn: TurnId) -> PathBuf {
        turn_proof::turn_folder(&self.state, turn)
    }

    /// Returns the folder in which an attempt keeps the records of its artifacts.
    pub fn attempt_folder(&self, task: TaskId, attempt: u32) -> PathBuf {
        self.state.join("turns").join(format!("{task}-{attempt}"))
    }

    /// Returns the lock for merges into a workflow's branch, for this process. Between processes, the branch itself decides.
    pub fn merging(&self, workflow: engine::id::WorkflowId) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(locks.entry(workflow).or_default())
    }

    /// Sends news to the screen. Drops minor news early, so that a program with much output cannot displace important news.
    pub fn tell(&self, news: RunNews) {
        let passes_by = matches!(news.what, What::Text { .. } | What::Tool { .. } | What::Spent { .. });
        if !passes_by || self.news.capacity() > NEWS_MAX / 2 {
            let _full = self.news.try_send(news);
        }
    }
}

/// Returns a member for each role. An agent in the store has one role, so an agent of the settings with several roles
/// is registered once for each. All of them share the same permits.
fn by_role(member: TeamMember) -> Vec<TeamMember> {
    let more: Vec<TeamMember> = member.settings.roles.iter().skip(1).map(|role| member.in_role(role)).collect();
    std::iter::once(member).chain(more).collect()
}
