//! `handover run`: lets a team of agents work until all tasks of the plans are completed and checked.

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use base::people::intervention::{InterventionFollower, InterventionSummary};
use base::project::plan_file::{DocumentFormat, PlanFile};
use base::project::trust::Untrusted;
use clap::Args;
use engine::id::WorkflowId;
use handover::desk::Visitor;
use handover::keeper::{Keeper, OwnSession};
use handover::office::Office;
use handover::plan_file::make_workflow;
use runner::attempt::shared::RunnerOrder;
use runner::claim::open::{self, NotOpened, Opened};
use runner::claim::run::{ClaimLoop, RunEnded, RunScope};
use runner::screen::{Screen, ScreenLook};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use wire::visible;

use super::failure::CommandFailure;

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The id of the workflow; without it, the runner works on all ready and started workflows until you stop it
    workflow: Option<WorkflowId>,
    /// Create a workflow from this YAML file, and work on it
    #[arg(long, value_name = "FILE", conflicts_with = "workflow")]
    plan: Option<PathBuf>,
    /// Replace {{NAME}} in the plan by VALUE; may be repeated
    #[arg(long = "var", value_name = "NAME=VALUE", requires = "plan", value_parser = variable)]
    variables: Vec<(String, String)>,
    /// The largest number of turns that run at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    agents: Option<u32>,
    /// Exit when no task can be claimed and no turn runs, instead of waiting for new tasks
    #[arg(long)]
    once: bool,
    /// Print every event as one line of JSON
    #[arg(long)]
    json: bool,
}

impl RunArguments {
    /// Returns the arguments of `handover run WORKFLOW`.
    pub(super) fn of_workflow(workflow: WorkflowId) -> Self {
        let (plan, variables, agents) = (None, Vec::new(), None);
        Self { workflow: Some(workflow), plan, variables, agents, once: false, json: false }
    }
}

pub(super) const HELP: &str = "\
The exit code is 0 when the workflow is completed, and 1 when no task can run any more because tasks failed, are blocked,
wait for you or are over budget. Ctrl-C lets the running turns finish. A second Ctrl-C ends them, gives their tasks back and
exits with 130.

Handover runs the commands of a repository only after you accept them: `handover run` asks at a terminal, and `handover
trust` shows them at any time. Questions and requests of agents: `handover inbox read`, `handover approval list`.

Examples:
  handover run --plan plan.yaml      create a workflow from a plan, and work on it until it is completed
  handover run wf_0123456789ab       work on a workflow that has a plan
  handover run                       work on every workflow that is ready, until you stop it";

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

/// The longest time between two reads of interventions, which are changes that callers make to the plan during a run.
const INTERVENTIONS: Duration = Duration::from_secs(1);
/// The interval at which the seconds on the screen are redrawn.
const TICK: Duration = Duration::from_millis(250);

pub(super) async fn run(office: &Office, asked: &RunArguments) -> anyhow::Result<ExitCode> {
    let (wishes, wish) = watch::channel(RunnerOrder::Work);
    let at_once = asked.agents.map(|agents| usize::try_from(agents).unwrap_or(usize::MAX));
    let mut opened = open::open(office.run_site(), at_once, wish.clone()).await;
    let is_unaccepted = |problem: &NotOpened| {
        matches!(problem, NotOpened::Untrusted(Untrusted::Never { .. } | Untrusted::Changed { .. }))
    };
    if opened.as_ref().is_err_and(is_unaccepted) && !asked.json && is_accepted_now(office)? {
        opened = open::open(office.run_site(), at_once, wish).await;
    }
    let opened = match opened {
        Ok(opened) => opened,
        Err(NotOpened::Untrusted(Untrusted::Settings(problem))) => {
            return Err(anyhow::Error::from(problem).context("read the settings"));
        }
        Err(problem @ (NotOpened::Untrusted(_) | NotOpened::NotReady(_) | NotOpened::RunnerActive { .. })) => {
            return Err(CommandFailure::refusal_of(&problem).into());
        }
        Err(problem) => return Err(problem.into()),
    };
    let workflow = match &asked.plan {
        None => asked.workflow,
        Some(path) => {
            let text = plan_text(path)?;
            let shown = path.display().to_string();
            let file = PlanFile::read(&text, DocumentFormat::of_path(path), &asked.variables);
            let file = file.map_err(|problems| anyhow::anyhow!("{}", problems.at(&shown)))?;
            let made = make_workflow(&office.desk, &Visitor::person(), &file).await;
            Some(made.map_err(|problem| anyhow::anyhow!("{shown}: {problem}"))?)
        }
    };
    let scope = match (workflow, asked.once) {
        (Some(workflow), _) => RunScope::Workflow(workflow),
        (None, true) => RunScope::Once,
        (None, false) => RunScope::All,
    };
    if let Some(workflow) = workflow {
        office.desk.service().view(move |world| world.workflow(workflow).map(|_| ())).await?;
        if !asked.json && asked.plan.is_some() {
            super::say(&format!("workflow {workflow}"))?;
        }
    }
    let _keeper = Keeper::start(office.desk.clone(), OwnSession::Runner(opened.shared.session)).await?;
    tokio::spawn(listen(wishes, asked.json));
    let branches = opened.shared.ground.is_repository();
    let follower = InterventionFollower::from_now(office.desk.service().clone(), workflow).await?;
    let ended = show(opened, scope, follower, asked.json).await?;
    let code = report(&ended, asked.json)?;
    if let (Some(workflow), RunEnded::Completed, true, false) = (workflow, &ended, branches, asked.json) {
        super::say(&format!(
            "the result is on the branch handover/{workflow}; `handover turn list` shows the turns that made it"
        ))?;
    }
    Ok(code)
}

/// Runs everything that is ready, and ends when nothing more can start.
pub(super) async fn run_ready(office: &Office, json: bool) -> anyhow::Result<ExitCode> {
    let asked = RunArguments { workflow: None, plan: None, variables: Vec::new(), agents: None, once: true, json };
    run(office, &asked).await
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

/// Runs the plan until it ends, and shows its events. Also shows the changes that other callers make to the plan.
async fn show(
    opened: Opened,
    scope: RunScope,
    mut follower: InterventionFollower,
    json: bool,
) -> anyhow::Result<RunEnded> {
    let Opened { shared, mut news, lock: _lock } = opened;
    let (look, width) = look(json);
    let mut screen = Screen::new(anstream::stdout(), look, width);
    let mut bell = shared.service.bell();
    let mut summary = InterventionSummary::default();
    let work = ClaimLoop::new(Arc::new(shared), scope).work();
    let mut work = std::pin::pin!(work);
    let mut tick = tokio::time::interval(TICK);
    let ended = loop {
        tokio::select! {
            ended = &mut work => break ended?,
            Some(found) = news.recv() => screen.tell(&found)?,
            _ = tick.tick() => screen.draw()?,
            _ = bell.changed(INTERVENTIONS) => {
                for found in follower.next().await? {
                    screen.intervened(&found)?;
                    summary.add(found);
                }
            }
        }
    };
    while let Ok(found) = news.try_recv() {
        screen.tell(&found)?;
    }
    for found in follower.next().await? {
        screen.intervened(&found)?;
        summary.add(found);
    }
    screen.end(&summary.lines().join("\n"))?;
    Ok(ended)
}

/// Returns the form in which events are shown (JSON, live or lines), and the width of the terminal in columns.
pub(super) fn look(json: bool) -> (ScreenLook, usize) {
    let look = match (json, std::io::stdout().is_terminal()) {
        (true, _) => ScreenLook::Json,
        (false, true) => ScreenLook::Live,
        (false, false) => ScreenLook::Lines,
    };
    (look, super::table::screen_width())
}

fn report(ended: &RunEnded, json: bool) -> anyhow::Result<ExitCode> {
    let (word, code) = match ended {
        RunEnded::Completed => ("completed", 0),
        RunEnded::Idle => ("idle", 0),
        RunEnded::Stuck(_) => ("stuck", 1),
        RunEnded::Stopped => ("stopped", 130),
    };
    // Remove secrets and hidden characters from the reason why the run stopped, because agents wrote parts of it.
    let reason = if let RunEnded::Stuck(reason) = ended { Some(visible::redacted(reason)) } else { None };
    if json {
        let event = serde_json::json!({"event": "run_ended", "how": word, "reason": reason});
        super::say(&visible::json(&event.to_string()))?;
    } else {
        match reason {
            Some(reason) => eprintln!("handover: stopped, because no task can run: {}", visible::lines(&reason)),
            None => super::say(word)?,
        }
    }
    Ok(ExitCode::from(code))
}

/// Waits for SIGINT or SIGTERM. After the first signal, running turns (runs of agents' programs) may finish. The second
/// signal ends them.
async fn listen(wishes: watch::Sender<RunnerOrder>, json: bool) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return;
    };
    for wish in [RunnerOrder::Finish, RunnerOrder::Stop] {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if !json && wish == RunnerOrder::Finish {
            eprintln!("handover: waiting for the running turns to finish; press Ctrl-C again to end them now");
        }
        let _nobody_works = wishes.send(wish);
    }
    // Never return: a third signal has no meaning, but returning would drop `wishes` and close the channel.
    std::future::pending::<()>().await;
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
