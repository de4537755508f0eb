//! What all attempts of a runner share: the store, the team, the ground they work on, and who listens.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use engine::caller::KeyOwner;
use engine::id::{AgentId, SessionId, TaskId, TurnId};
use engine::turn::Purpose;
use engine::{Caller, Command, Reply, Rights};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::place::Ground;
use crate::error::Error;
use crate::principal;
use crate::service::{self, Service};
use crate::team::{Member, Team};
use crate::turn_proof;
use crate::{settings, trust};

/// What the runner is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    Work,
    /// Turns that run may finish; nothing is begun.
    Finish,
    /// Everything ends now.
    Stop,
}

/// An agent at work.
#[derive(Debug)]
pub struct Seat {
    pub member: Member,
    pub agent: AgentId,
    /// The name it has in the store; another runner may have the plain one.
    pub slug: String,
    /// As many turns as it may run at once.
    pub room: Arc<Semaphore>,
}

/// Something worth a line.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
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

/// Signs that nobody takes are dropped; what matters is in the store.
const NEWS_MAX: usize = 10_000;

#[derive(Debug)]
pub struct Shop {
    pub service: Service,
    /// The store, as our MCP server has to be told it.
    pub store: String,
    pub ground: Ground,
    /// Folders of turns, homes and objects.
    pub state: PathBuf,
    pub settings: settings::Team,
    pub team: Team,
    pub seats: BTreeMap<String, Arc<Seat>>,
    /// By which name the store knows this runner.
    pub name: String,
    pub session: SessionId,
    /// As many turns as may run at once.
    pub room: Arc<Semaphore>,
    pub wish: watch::Receiver<Wish>,
    pub news: mpsc::Sender<News>,
    /// Nothing more is to be done: attempts that wait for a person end.
    pub closing: CancellationToken,
    /// Outside of git one works at a time.
    pub alone: tokio::sync::Mutex<()>,
    merging: Mutex<BTreeMap<engine::id::WorkflowId, Arc<tokio::sync::Mutex<()>>>>,
}

/// What a shop is made of.
#[derive(Debug)]
pub struct Parts {
    pub service: Service,
    pub store: String,
    pub ground: Ground,
    pub state: PathBuf,
    pub settings: settings::Team,
    pub team: Team,
    pub name: String,
    pub session: SessionId,
    pub at_once: usize,
    pub wish: watch::Receiver<Wish>,
}

impl Shop {
    /// Everybody registers: an agent of this runner is the same one after a restart, by the session the runner always has.
    pub async fn open(parts: Parts) -> Result<(Self, mpsc::Receiver<News>), Error> {
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

    async fn seat(&self, member: Member, room: Arc<Semaphore>) -> Result<Seat, Error> {
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
        Ok(Seat { agent, slug, room, member })
    }

    /// The runner acting for an agent.
    pub fn caller(&self, agent: AgentId) -> Caller {
        Caller { session: Some(self.session), rights: Rights::Runner, ..Caller::agent(agent) }
    }

    /// As above, for something that is done once for a turn, however often it is tried.
    pub fn once(&self, agent: AgentId, turn: TurnId, what: &str) -> Caller {
        let key =
            service::key(KeyOwner::Fixed(format!("{} {what}", self.name)), format!("{turn} {what}"), &turn.to_string());
        Caller { key: Some(key), ..self.caller(agent) }
    }

    /// Says why an agent is not started: a script of the repository that starts it was changed since a person accepted it.
    pub fn is_as_accepted(&self, member: &Member) -> Result<(), String> {
        let Some(scripts) = &self.settings.scripts else { return Ok(()) };
        let words: Vec<String> = member.settings.command.iter().chain(&member.settings.args).cloned().collect();
        let folders = trust::Folders { root: &scripts.root, runs_in: &scripts.root };
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

    /// Where the files of a turn are.
    pub fn turn_folder(&self, turn: TurnId) -> PathBuf {
        turn_proof::turn_folder(&self.state, turn)
    }

    /// Where an attempt keeps what it must know of its artifacts.
    pub fn attempt_folder(&self, task: TaskId, attempt: u32) -> PathBuf {
        self.state.join("turns").join(format!("{task}-{attempt}"))
    }

    /// One of this process merges into a workflow's branch at a time; with other processes the branch itself decides.
    pub fn merging(&self, workflow: engine::id::WorkflowId) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(locks.entry(workflow).or_default())
    }

    /// A program that floods its output must not crowd out what matters.
    pub fn tell(&self, news: News) {
        let passes_by = matches!(news.what, What::Text { .. } | What::Tool { .. } | What::Spent { .. });
        if !passes_by || self.news.capacity() > NEWS_MAX / 2 {
            let _full = self.news.try_send(news);
        }
    }
}

/// An agent of the store has one role. Who has several in the settings is registered once for each, and works with all of them
/// in the same room.
fn by_role(member: Member) -> Vec<Member> {
    let more: Vec<Member> = member.settings.roles.iter().skip(1).map(|role| member.in_role(role)).collect();
    std::iter::once(member).chain(more).collect()
}
