//! Facts about the project that are not in its store: its branch, its agents and its check, and the person's other
//! projects. Reading them starts git or opens other stores, so the results are kept for some seconds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::ground::local_time::LocalClock;
use base::people::attention::{self, AttentionSurroundings};
use base::project::settings::TeamSettings;
use base::project::settings::team::AgentWork;
use base::project::{known, place, team, trust};
use engine::Timestamp;
use git::Git;
use git::facts::{CheckoutFacts, RepositoryFacts};
use tokio::sync::Mutex;

use crate::desk::Desk;
use crate::office;

/// The time in milliseconds for which facts about this project are kept. A person who changed a branch or the settings
/// sees it after this time.
const KEPT_MS: i64 = 3_000;
/// The time in milliseconds for which the counts of the other projects are kept.
const OTHERS_KEPT_MS: i64 = 30_000;
/// The maximum number of other projects whose stores are opened.
const OTHERS_MAX: usize = 10;
/// The longest time that the store of another project may take. A project that takes longer is left out.
const OTHER_WAIT: Duration = Duration::from_secs(2);

/// An agent of the settings, and whether its program is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfiguredAgent {
    pub(super) slug: String,
    pub(super) is_installed: bool,
}

/// The facts about one project at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct ProjectFacts {
    pub(super) name: String,
    pub(super) branch: Option<String>,
    pub(super) commit: Option<String>,
    pub(super) agents: Vec<ConfiguredAgent>,
    /// The first check of every task, as a person types it.
    pub(super) check: Option<String>,
    pub(super) around: AttentionSurroundings,
}

/// Another project of the person on this machine, and the number of things there that stop agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OtherProject {
    pub(super) name: String,
    pub(super) needs: usize,
}

/// The facts that were read last, with the time of the reading.
#[derive(Debug, Default)]
pub(crate) struct KeptFacts {
    project: Mutex<Option<(Timestamp, Arc<ProjectFacts>)>>,
    others: Mutex<Option<(Timestamp, Arc<Vec<OtherProject>>)>>,
}

impl KeptFacts {
    /// Returns the facts about the project of this server.
    pub(super) async fn project(&self, desk: &Desk) -> Arc<ProjectFacts> {
        let mut kept = self.project.lock().await;
        let now = desk.service().now();
        if let Some((_, facts)) = kept.as_ref().filter(|(at, _)| is_fresh(*at, now, KEPT_MS)) {
            return Arc::clone(facts);
        }
        let facts = Arc::new(read(desk).await);
        *kept = Some((now, Arc::clone(&facts)));
        facts
    }

    /// Returns the other projects in which the person used Handover on this machine, those that need the person first.
    pub(super) async fn others(&self, desk: &Desk) -> Arc<Vec<OtherProject>> {
        let mut kept = self.others.lock().await;
        let now = desk.service().now();
        if let Some((_, others)) = kept.as_ref().filter(|(at, _)| is_fresh(*at, now, OTHERS_KEPT_MS)) {
            return Arc::clone(others);
        }
        let surroundings = desk.surroundings();
        let roots = surroundings.data.as_deref().map(known::list).unwrap_or_default();
        let roots = roots.into_iter().filter(|root| Some(root) != surroundings.root.as_ref()).take(OTHERS_MAX);
        let mut found = Vec::new();
        for root in roots {
            found.extend(tokio::time::timeout(OTHER_WAIT, other(root)).await.ok().flatten());
        }
        found.sort_by_key(|other| std::cmp::Reverse(other.needs));
        let others = Arc::new(found);
        *kept = Some((now, Arc::clone(&others)));
        others
    }
}

/// Returns true when facts that were read at `at` are still kept. The distance counts, so that facts do not stay for ever
/// after the clock was set back.
fn is_fresh(at: Timestamp, now: Timestamp, kept_ms: i64) -> bool {
    (now.0 - at.0).abs() < kept_ms
}

async fn read(desk: &Desk) -> ProjectFacts {
    let surroundings = desk.surroundings();
    let Some(root) = surroundings.root.as_deref() else { return ProjectFacts::default() };
    let checkout = checkout(root).await;
    let around = crate::attention::surroundings(Some(root), surroundings.data.as_deref());
    let settings = trust::view(root, surroundings.data.as_deref()).map(|view| view.settings.team).unwrap_or_default();
    ProjectFacts {
        name: file_name(root),
        branch: checkout.as_ref().and_then(|found| found.branch.clone()),
        commit: checkout.map(|found| found.short_commit),
        check: settings.verify.checks.first().map(|check| check.command.join(" ")),
        agents: agents(root, &settings),
        around,
    }
}

async fn checkout(root: &Path) -> Option<CheckoutFacts> {
    match git::facts::facts(&Git::default(), root).await {
        Ok(RepositoryFacts::Ready(found)) => Some(found),
        Ok(RepositoryFacts::NotARepository | RepositoryFacts::NoCommit) | Err(_) => None,
    }
}

fn agents(root: &Path, settings: &TeamSettings) -> Vec<ConfiguredAgent> {
    let path = std::env::var_os("PATH");
    let workers = settings.agents.iter().filter(|agent| agent.work(false) != AgentWork::OnlyAsked);
    let agent = |agent: &base::project::settings::team::AgentSettings| ConfiguredAgent {
        slug: agent.slug.clone(),
        is_installed: agent
            .command
            .first()
            .is_some_and(|program| team::find_agent_program(root, program, path.as_deref()).is_some()),
    };
    workers.map(agent).collect()
}

/// Counts the things that stop agents in another project. Returns `None` when its store cannot be read, and creates no
/// store.
async fn other(root: PathBuf) -> Option<OtherProject> {
    let place = office::find_from(None, Some(&root)).ok()?;
    let file = Path::new(place.store.strip_prefix("sqlite:").unwrap_or(&place.store));
    if !place.store.contains("://") && !file.exists() {
        return None;
    }
    let office = office::open_from(None, Some(&root)).await.ok()?;
    let around = crate::attention::surroundings(Some(&root), place::data_folder().as_deref());
    let facts = attention::gather(office.desk.service(), &around).await.ok()?;
    let items = attention::items(&facts, &LocalClock::here());
    let needs = items.iter().filter(|item| item.stops_agents && !item.is_put_off()).count();
    Some(OtherProject { name: file_name(&root), needs })
}

fn file_name(root: &Path) -> String {
    root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
