//! `handover run`: lets a team of agents work until all tasks of the plans are completed and checked.

mod end;
mod follow;
mod heading;
pub(super) mod missing;
mod notice;
pub(super) mod signals;
mod what;

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use base::people::intervention::{InterventionFollower, InterventionSummary};
use base::project::trust::Untrusted;
use clap::Args;
use engine::id::WorkflowId;
use engine::workflow::WorkflowStatus;
use git::facts::CheckoutFacts;
use handover::keeper::{Keeper, OwnSession};
use handover::office::Office;
use runner::attempt::shared::RunnerOrder;
use runner::claim::open::{self, NotOpened, Opened};
use runner::claim::over::{RunEnded, RunScope, fresh_tasks};
use runner::claim::run::ClaimLoop;
use runner::screen::{Screen, ScreenLook};
use tokio::sync::watch;

use self::end::EndedRun;
use self::follow::FollowEnd;
use self::heading::RunHeading;
use self::missing::RunPlace;
use self::notice::RunOver;

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// A task (its number, or the beginning of its name or id), a plan by its name, or a plan file; without it,
    /// everything that is ready
    what: Option<String>,
    /// Create a workflow from this YAML file, and work on it
    #[arg(long, value_name = "FILE", conflicts_with = "what")]
    plan: Option<PathBuf>,
    /// Replace {{NAME}} in the plan file by VALUE; may be repeated
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,
    /// Outside of git: let agents work on the files themselves, one at a time, without a diff and without an undo
    #[arg(long)]
    in_place: bool,
    /// Do not let anyone review the tasks of the plan file
    #[arg(long)]
    without_review: bool,
    /// The largest number of turns that run at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    agents: Option<u32>,
    /// Accepted for scripts of version 0.1; every run ends when nothing more can start
    #[arg(long, hide = true)]
    once: bool,
    /// Print every event as one line of JSON
    #[arg(long)]
    json: bool,
}

impl RunArguments {
    /// Returns the arguments with which `handover run WORKFLOW` would be typed.
    pub(super) fn of_workflow(workflow: WorkflowId) -> Self {
        Self { what: Some(workflow.to_string()), ..Self::of_everything(false) }
    }

    /// Returns the arguments of `handover run --agents N`.
    pub(super) fn with_agents(agents: Option<u32>) -> Self {
        Self { agents, ..Self::of_everything(false) }
    }

    /// Returns the arguments of `handover run`.
    fn of_everything(json: bool) -> Self {
        let (plan, variables) = (None, Vec::new());
        Self { what: None, plan, variables, without_review: false, in_place: false, agents: None, once: false, json }
    }
}

pub(super) const HELP: &str = "\
The run ends when nothing more can start. The exit code is 0 when all is done or nothing was to do, 1 when something needs you
(the last lines say what, and the command) or when you have not accepted the settings, and 2 when nothing could start: no agent,
no program, no git repository or no commit. Ctrl-C lets the running tasks finish and starts nothing new. A second Ctrl-C stops
them, gives them back and exits with 130.

Handover runs the commands of a repository only after you accept them: `handover run` asks at a terminal, and `handover
trust` shows them at any time.

Examples:
  handover run                       work on everything that is ready
  handover run 3                     work on one task
  handover run Greeting              work on a plan, by its name
  handover run plan.yaml             create a workflow from a plan file, and work on it
  handover run plan.yaml --without-review     the same, and nobody reviews its tasks";

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

/// The longest time between two reads of interventions, which are changes that callers make to the plan during a run.
const INTERVENTIONS: Duration = Duration::from_secs(1);
/// The interval at which the running times on the screen are drawn again.
const TICK: Duration = Duration::from_millis(250);

pub(super) async fn run(office: &Office, asked: &RunArguments) -> anyhow::Result<ExitCode> {
    let place = if asked.in_place { RunPlace::InPlace } else { RunPlace::Worktrees };
    let start = missing::start(office.place.root.as_deref(), place).await?;
    let (orders, order) = watch::channel(RunnerOrder::Work);
    let mut orders = Some(orders);
    let mut known = None;
    loop {
        let opened = match opened(office, asked, order.clone()).await {
            Ok(opened) => Some(opened),
            Err(NotOpened::RunnerActive { .. }) => None,
            Err(problem) => return Err(missing::failure(problem)),
        };
        let scope = match known {
            Some(scope) => scope,
            None => {
                let accepted = follow::settings(office)?;
                match what::scope(office, asked, &accepted).await? {
                    Ok(scope) => scope,
                    Err(code) => return Ok(code),
                }
            }
        };
        known = Some(scope);
        if let Some(orders) = orders.take() {
            tokio::spawn(signals::listen(orders));
        }
        let Some(opened) = opened else {
            match Box::pin(follow::follow(office, scope, order.clone(), asked.json)).await? {
                FollowEnd::Over(code) => return Ok(code),
                // The process whose work was followed ended before the work was done, so this process does the rest.
                FollowEnd::RunnerGone => continue,
            }
        };
        let _keeper = Keeper::start(office.desk.clone(), OwnSession::Runner(opened.shared.session)).await?;
        if !asked.json {
            tell_heading(office, &opened, scope, start.as_ref()).await?;
        }
        let over = RunOver { session: opened.shared.session, began: office.desk.service().now() };
        let shown = Box::pin(show(opened, scope, asked.json)).await?;
        notice::send(office, &over, &shown.ended).await;
        return Ok(shown.code);
    }
}

async fn tell_heading(
    office: &Office,
    opened: &Opened,
    scope: RunScope,
    start: Option<&CheckoutFacts>,
) -> anyhow::Result<()> {
    let (service, shared) = (office.desk.service(), &opened.shared);
    let (tasks, is_begun) = (fresh_tasks(service, scope).await?, is_begun(office, scope).await?);
    let start = start.filter(|_| !is_begun);
    let heading = RunHeading { tasks, settings: &shared.settings, start, notices: &shared.team.notices };
    heading.lines(super::table::screen_width()).iter().try_for_each(|line| super::say(line))
}

/// Opens the runner. At a terminal, asks the person to accept settings that are not accepted yet.
pub(super) async fn opened(
    office: &Office,
    asked: &RunArguments,
    order: watch::Receiver<RunnerOrder>,
) -> Result<Opened, NotOpened> {
    let at_once = asked.agents.map(|agents| usize::try_from(agents).unwrap_or(usize::MAX));
    let mut opened = open::open(office.run_site(), at_once, order.clone()).await;
    let is_unaccepted = |problem: &NotOpened| {
        matches!(problem, NotOpened::Untrusted(Untrusted::Never { .. } | Untrusted::Changed { .. }))
    };
    if opened.as_ref().is_err_and(is_unaccepted) && !asked.json {
        // If asking the person fails, treat the settings as not accepted.
        if is_accepted_now(office).unwrap_or(false) {
            opened = open::open(office.run_site(), at_once, order).await;
        }
    }
    opened
}

/// Returns true for a plan that has a branch already. The next tasks of such a plan start from that branch and not from
/// the person's branch.
async fn is_begun(office: &Office, scope: RunScope) -> anyhow::Result<bool> {
    let RunScope::Workflow(id) = scope else { return Ok(false) };
    let workflow = office.desk.service().view(move |world| world.workflow(id).cloned()).await?;
    Ok(!workflow.standing && workflow.status != WorkflowStatus::Ready)
}

/// Runs everything that is ready, and ends when nothing more can start.
pub(super) async fn run_ready(office: &Office, json: bool) -> anyhow::Result<ExitCode> {
    run(office, &RunArguments::of_everything(json)).await
}

/// Shows the person at the terminal the settings that are not accepted yet, and asks whether to accept them. Returns
/// the answer.
fn is_accepted_now(office: &Office) -> anyhow::Result<bool> {
    office.place.root.as_deref().map_or(Ok(false), super::trust::ask_here)
}

/// Asks the person at the terminal whether to accept the project's settings. A store that the settings name must be
/// accepted before it is opened.
pub(super) fn is_store_accepted_now(asked: &RunArguments) -> anyhow::Result<bool> {
    let here = std::env::current_dir().context("find the current folder")?;
    match base::project::place::root(&here) {
        Some(root) if !asked.json => super::trust::ask_here(&root),
        Some(_) | None => Ok(false),
    }
}

/// The result of a run that was shown to the person: its exit code and the way in which it ended.
pub(super) struct ShownRun {
    pub(super) code: ExitCode,
    pub(super) ended: RunEnded,
    /// The last order of the person to the runner: continue, finish the running turns, or stop.
    pub(super) order: RunnerOrder,
}

/// Runs the work until it ends, and shows its events. Also shows the changes that other callers make to the plans.
pub(super) async fn show(opened: Opened, scope: RunScope, json: bool) -> anyhow::Result<ShownRun> {
    let Opened { shared, mut news, lock: _lock } = opened;
    let shared = Arc::new(shared);
    let only = if let RunScope::Workflow(workflow) = scope { Some(workflow) } else { None };
    let mut follower = InterventionFollower::from_now(shared.service.clone(), only).await?;
    let (look, width) = look(json);
    let mut screen = Screen::new(anstream::stdout(), look, width);
    let (mut bell, mut order) = (shared.service.bell(), shared.wish.clone());
    let turn_ms_max = u64::from(shared.settings.limits.turn_seconds).saturating_mul(1_000);
    let mut changes = InterventionSummary::default();
    let work = ClaimLoop::new(Arc::clone(&shared), scope).work();
    let mut work = std::pin::pin!(work);
    let mut tick = tokio::time::interval(TICK);
    let ended = loop {
        tokio::select! {
            ended = &mut work => break ended?,
            Some(found) = news.recv() => screen.tell(&found)?,
            Ok(()) = order.changed() => {
                if *order.borrow_and_update() == RunnerOrder::Finish {
                    screen.finishing(turn_ms_max)?;
                }
            }
            _ = tick.tick() => screen.draw()?,
            _ = bell.changed(INTERVENTIONS) => {
                for found in follower.next().await? {
                    screen.intervened(&found)?;
                    changes.add(found);
                }
            }
        }
    };
    while let Ok(found) = news.try_recv() {
        screen.tell(&found)?;
    }
    for found in follower.next().await? {
        screen.intervened(&found)?;
        changes.add(found);
    }
    screen.end(&changes.lines())?;
    let run = EndedRun { service: &shared.service, settings: &shared.settings, scope, ended };
    let mut summary = screen.summary(run.needs().await?, run.summary_end());
    summary.plans = run.plans(&summary).await?;
    let code = run.tell(&summary, json)?;
    if let (RunScope::Workflow(workflow), RunEnded::Completed, false) = (scope, &run.ended, json)
        && summary.plans.is_empty()
    {
        let plan = shared.service.view(move |world| world.workflow(workflow).cloned()).await?;
        if let Some(branch) = plan.branch {
            super::say(&format!("The result is on the branch {branch}."))?;
        }
    }
    let ended = run.ended;
    Ok(ShownRun { code, ended, order: shared.wish() })
}

/// Returns the form in which events are shown (JSON, live or lines), and the width of the terminal in columns.
pub(super) fn look(json: bool) -> (ScreenLook, usize) {
    // If colours are switched off (`NO_COLOR`, a plain terminal), the sequences that erase lines are left out, too.
    // Then the old versions of a redrawn line would stay on the screen.
    let out = std::io::stdout();
    let can_erase = out.is_terminal() && anstream::AutoStream::choice(&out) != anstream::ColorChoice::Never;
    let look = match (json, can_erase) {
        (true, _) => ScreenLook::Json,
        (false, true) => ScreenLook::Live,
        (false, false) => ScreenLook::Lines,
    };
    (look, super::table::screen_width())
}

/// Reads a plan file. Refuses a file with more than `PLAN_BYTES_MAX` bytes.
pub(super) fn plan_text(path: &Path) -> anyhow::Result<String> {
    let most = wire::lifecycle::PLAN_BYTES_MAX;
    let file = std::fs::File::open(path).with_context(|| format!("open {}", path.display()))?;
    let mut text = String::new();
    let bounded = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    file.take(bounded).read_to_string(&mut text).with_context(|| format!("read {}", path.display()))?;
    if text.len() > most {
        anyhow::bail!(
            "{} has more than {} MiB; shorten its texts, or split the work into several plans",
            path.display(),
            most >> 20
        );
    }
    Ok(text)
}
