//! Checks the conditions of a run before the runner claims a task: a trusted configuration, a complete team, and no
//! other runner.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::id::{SessionId, TaskId};
use engine::view;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::attempt::AttemptRun;
use crate::attempt::place::WorktreeGround;
use crate::attempt::shared::{RunNews, RunnerAgent, RunnerOrder, RunnerParts, RunnerShared};
use crate::attempt::slot_owner::RunnerSlots;
use crate::claim::lock;
use crate::verify::{EvaluatorAnswer, EvaluatorQuestion, Judgement};
use base::Service;
use base::ground::digest::sha256;
use base::people::principal;
use base::project::effective;
use base::project::place::StorePlace;
use base::project::settings::Settings;
use base::project::team::{NotReady, Team};
use base::project::trust;
use git::repository::GitRepository;
use git::slot::SlotPool;
use git::{Git, GitProblem, TIME_LIMIT_DEFAULT};

const PAUSE: Duration = Duration::from_millis(20);

/// The reason why a runner did not start.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    #[error("there is no project here; run `handover init` in its root, then name agents in .handover/config.toml")]
    NoProject,
    #[error(transparent)]
    Untrusted(#[from] trust::Untrusted),
    #[error(transparent)]
    NotReady(#[from] NotReady),
    #[error("RUNNER_ACTIVE another runner on {host} already works on this store; stop it first, or let it continue")]
    RunnerActive { host: String },
    #[error("start the runner")]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Service(#[from] base::Error),
    #[error(transparent)]
    Git(#[from] GitProblem),
}

/// The store and the folders with which a runner works.
#[derive(Debug, Clone, Copy)]
pub struct RunSite<'a> {
    pub service: &'a Service,
    pub place: &'a StorePlace,
    /// Handover's state folder on this machine.
    pub state: &'a Path,
    /// The folder in which the processes of this machine keep the files that show which of them are alive.
    pub live: &'a Path,
}

/// A runner that may start. It holds the lock that keeps out other runners; dropping this value frees the lock.
#[derive(Debug)]
pub struct Opened {
    pub shared: RunnerShared,
    pub news: mpsc::Receiver<RunNews>,
    pub lock: File,
}

/// Returns the accepted settings of a project and the agents that can work. `handover run` and `handover doctor` judge the
/// agents by this function.
pub fn accepted_team(root: &Path) -> Result<(Settings, Team), NotOpened> {
    let (data, detected) = (base::project::place::data_folder(), effective::find_here(root));
    // Report a missing agent before asking the person to accept the settings, because nothing can run without an agent.
    if trust::view_with(root, data.as_deref(), &detected)?.written.team.agents.is_empty() {
        return Err(NotReady::NoAgent.into());
    }
    let all = trust::require_with(root, data.as_deref(), &detected)?.settings;
    let team = Team::gather(root, &all.team, std::env::var_os("PATH").as_deref())?;
    Ok((all, team))
}

/// Opens a runner: checks its conditions and registers its agents. `at_once` limits the number of turns that run at the
/// same time.
pub async fn open(
    site: RunSite<'_>,
    at_once: Option<usize>,
    wish: watch::Receiver<RunnerOrder>,
) -> Result<Opened, NotOpened> {
    let root = site.place.root.clone().ok_or(NotOpened::NoProject)?;
    let (all, team) = accepted_team(&root)?;
    let host = principal::host();
    let Some(lock) = lock::of_runner(site.live, &host, TIME_LIMIT_DEFAULT).await? else {
        return Err(NotOpened::RunnerActive { host });
    };
    if lock::is_held(&old_locks(site), &host)? {
        return Err(NotOpened::RunnerActive { host });
    }
    let git = Git { held: Some(Arc::new(hands(site.live, &host).await?)), ..Git::default() };
    let store = base::project::place::absolute(&site.place.store);
    let mut slots = slots(&git, &root, all.worktrees.as_deref(), &store).await?;
    let every = all.team.agents.iter().map(|agent| usize::try_from(agent.max_parallel).unwrap_or(usize::MAX));
    let at_once = at_once.unwrap_or_else(|| every.fold(0_usize, usize::saturating_add));
    if let Some(slots) = &mut slots {
        // One more slot (a reusable worktree) is for the baselines, which are checks on the commits from which tasks
        // start.
        let turns = u32::try_from(at_once).unwrap_or(u32::MAX);
        slots.limit = Some(turns.saturating_mul(all.team.worktree.slots_per_turn).saturating_add(1));
    }
    let parts = RunnerParts {
        service: site.service.clone(),
        store,
        ground: WorktreeGround::new(git, root, slots),
        state: site.state.to_owned(),
        settings: all.team,
        team,
        session: session(&host),
        name: host,
        at_once: at_once.min(tokio::sync::Semaphore::MAX_PERMITS),
        wish,
    };
    let (shared, news) = RunnerShared::open(parts).await?;
    Ok(Opened { shared, news, lock })
}

/// Asks the evaluator (the agent that the settings name to judge outputs) about the output of a task that no runner
/// completes. Fails unless a person has accepted the configuration.
pub async fn judge(site: RunSite<'_>, task: TaskId, asked: &EvaluatorQuestion) -> Result<Judgement, String> {
    let told = |problem: &dyn std::fmt::Display| problem.to_string();
    let root = site.place.root.clone().ok_or_else(|| told(&NotOpened::NoProject))?;
    let accepted = trust::accepted(&root, base::project::place::data_folder().as_deref());
    let mut settings = accepted.map_err(|problem| told(&problem))?.settings.team;
    let named = settings.evaluator.as_ref().map(|evaluator| evaluator.agent.clone());
    settings.agents.retain(|agent| Some(&agent.slug) == named.as_ref());
    let path = std::env::var_os("PATH");
    let team = Team::gather(&root, &settings, path.as_deref()).map_err(|problem| told(&problem))?;
    let member = team.members.first().cloned().ok_or(".handover/config.toml names no agent as [evaluator]")?;
    let (_nothing_is_wished, wish) = watch::channel(RunnerOrder::Work);
    let host = principal::host();
    let parts = RunnerParts {
        service: site.service.clone(),
        store: base::project::place::absolute(&site.place.store),
        ground: WorktreeGround::new(Git::default(), root, None),
        state: site.state.to_owned(),
        settings,
        team,
        session: session(&host),
        name: host,
        at_once: 1,
        wish,
    };
    let (shared, _news) = RunnerShared::open(parts).await.map_err(|error| told(&error))?;
    let facts = shared.service.view(move |world| view::attempt(world, task)).await.map_err(|error| told(&error))?;
    let holder = facts.task.holder().ok_or("no agent holds the task")?;
    let room = Arc::new(tokio::sync::Semaphore::new(1));
    let worker = RunnerAgent { member, agent: holder, slug: holder.to_string(), room };
    let attempt = AttemptRun::new(Arc::new(shared), Arc::new(worker), task, facts.task.attempt);
    let judged = attempt.evaluate(&facts, asked).await;
    attempt.forget_turns().await;
    match judged {
        Ok(EvaluatorAnswer::Judged(judgement)) => Ok(judgement),
        Ok(EvaluatorAnswer::NotAsked(why)) => Err(why),
        Ok(EvaluatorAnswer::Stopped) => Err("another agent took the task in the meantime".to_owned()),
        Err(trouble) => Err(told(&trouble)),
    }
}

/// Returns the folder in which a runner of version 0.1 has its lock file. The new runner does not start while that lock
/// is held. Version 0.1 has one lock file for all stores in a folder, and for a store with an address (such as
/// `postgres://…`) one for each spelling of the address.
fn old_locks(site: RunSite<'_>) -> PathBuf {
    let store = &site.place.store;
    match base::project::place::data_folder().filter(|_| store.contains("://")) {
        Some(data) => data.join("handover").join("runners").join(sha256(store.as_bytes())),
        None => site.state.to_owned(),
    }
}

/// Waits until the git processes that a killed runner left have ended, because they may still change the worktrees.
/// Returns the lock file that this runner's git processes inherit, so that a later runner can wait for them.
async fn hands(state: &Path, host: &str) -> std::io::Result<File> {
    let begun = Instant::now();
    loop {
        match lock::only_one(state, host, "hands")? {
            Some(file) => return Ok(file),
            None if begun.elapsed() > TIME_LIMIT_DEFAULT => return Err(std::io::ErrorKind::TimedOut.into()),
            None => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Returns the session id of the runner. It depends only on the runner's name, so the runner has the same agents after
/// a restart.
pub(super) fn session(host: &str) -> SessionId {
    principal::derived(&format!("handover runner {host}"))
}

/// Returns the slots (reusable worktrees) of the project's repository, or `None` when the project is in no repository.
/// `chosen` is the folder that the settings name for worktrees.
pub async fn slots(
    git: &Git,
    root: &Path,
    chosen: Option<&Path>,
    store: &str,
) -> Result<Option<RunnerSlots>, GitProblem> {
    let repository = match GitRepository::find(git, root).await {
        Ok(repository) => repository,
        Err(GitProblem::NotARepository { .. }) => return Ok(None),
        Err(problem) => return Err(problem),
    };
    let unusable =
        |path: &Path, problem: &str| GitProblem::PathUnusable { path: path.to_owned(), problem: problem.to_owned() };
    let pool = match chosen {
        Some(path) => {
            let folder = root.join(path);
            let real = nearest_real(&folder);
            if real.starts_with(&repository.home) {
                return Err(unusable(
                    &folder,
                    "worktrees must lie outside of the repository: tools that search the \
                    folders above them would find its files; change `worktrees` in .handover/config.toml",
                ));
            }
            SlotPool::at(folder)
        }
        None => {
            let data = base::project::place::data_folder()
                .ok_or_else(|| unusable(root, "no folder for worktrees: neither XDG_DATA_HOME nor HOME is set"))?;
            SlotPool::of_repository(&data.join("handover").join("worktrees"), &repository.home, sha256)
        }
    };
    Ok(Some(RunnerSlots { pool, store: sha256(store.as_bytes()).chars().take(12).collect(), limit: None }))
}

/// Returns a path with the links of its existing part resolved. The end of the path may not exist yet.
fn nearest_real(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    found.map_or_else(|| path.to_owned(), |(above, real)| real.join(path.strip_prefix(above).unwrap_or(Path::new(""))))
}
