//! `handover run`: a team of agents works plans to their verified end.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use engine::id::WorkflowId;
use handover::keeper::Keeper;
use handover::office::Office;
use handover::runner::open::{self, NotOpened, Opened};
use handover::runner::plan_file::PlanFile;
use handover::runner::run::{Ended, Loop, Scope};
use handover::runner::screen::{Look, Screen};
use handover::runner::shop::Wish;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Which workflow, by its id; without one all that are ready or started are worked until stopped
    workflow: Option<WorkflowId>,
    /// Make a new workflow of this YAML file and work it
    #[arg(long, value_name = "FILE", conflicts_with = "workflow")]
    plan: Option<PathBuf>,
    /// Fill {{NAME}} in the plan; may be given more than once
    #[arg(long = "var", value_name = "NAME=VALUE", requires = "plan", value_parser = variable)]
    variables: Vec<(String, String)>,
    /// How many turns may run at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    agents: Option<u32>,
    /// End when nothing can be claimed and no turn runs
    #[arg(long)]
    once: bool,
    /// Print what happens as JSON lines
    #[arg(long)]
    json: bool,
}

pub(super) const HELP: &str = "\
A workflow ends with 0 when it is completed, and with 1 and the reasons when nothing of it can go on: tasks failed, blocked,
paused or over budget. Interrupted once, running turns finish; twice, they end and their tasks are given back (130).

  handover run --plan plan.yaml      a new workflow, worked to its end
  handover run wf_0123456789ab       one that is planned
  handover run                       everything that is ready, until stopped

Commands of a repository run only after `handover trust`. What agents ask: `handover inbox`, `handover approval list`.";

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

/// How often seconds on the screen change.
const TICK: Duration = Duration::from_millis(250);

pub(super) async fn run(office: &Office, asked: &Run) -> anyhow::Result<ExitCode> {
    let (wishes, wish) = watch::channel(Wish::Work);
    let at_once = asked.agents.map(|agents| usize::try_from(agents).unwrap_or(usize::MAX));
    let opened = match open::open(office, at_once, wish).await {
        Ok(opened) => opened,
        Err(problem @ (NotOpened::Untrusted(_) | NotOpened::NotReady(_) | NotOpened::RunnerActive { .. })) => {
            eprintln!("handover: {problem}");
            return Ok(ExitCode::from(1));
        }
        Err(problem) => return Err(problem.into()),
    };
    let workflow = match &asked.plan {
        None => asked.workflow,
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
            let file = PlanFile::read(&text, &asked.variables);
            let file = file.map_err(|problem| anyhow::anyhow!("{}: {problem}", path.display()))?;
            Some(file.make(&office.desk).await.map_err(|problem| anyhow::anyhow!("{}: {problem}", path.display()))?)
        }
    };
    let scope = match (workflow, asked.once) {
        (Some(workflow), _) => Scope::Workflow(workflow),
        (None, true) => Scope::Once,
        (None, false) => Scope::All,
    };
    if let Some(workflow) = workflow {
        office.desk.service().view(move |world| world.workflow(workflow).map(|_| ())).await?;
        if !asked.json && asked.plan.is_some() {
            super::say(&format!("workflow {workflow}"))?;
        }
    }
    let _keeper = Keeper::start(office.desk.clone(), office.live.clone(), None)?;
    tokio::spawn(listen(wishes, asked.json));
    let branches = opened.shop.ground.is_repository;
    let ended = show(opened, scope, asked.json).await?;
    let code = report(&ended, asked.json)?;
    if let (Some(workflow), Ended::Completed, true, false) = (workflow, &ended, branches, asked.json) {
        super::say(&format!(
            "the result is on the branch handover/{workflow}; `handover turn list` says how it came about"
        ))?;
    }
    Ok(code)
}

/// Works, and shows what happens meanwhile.
async fn show(opened: Opened, scope: Scope, json: bool) -> anyhow::Result<Ended> {
    let Opened { shop, mut news, lock: _lock } = opened;
    let (look, width) = look(json);
    let mut screen = Screen::new(anstream::stdout(), look, width);
    let work = Loop::new(Arc::new(shop), scope).work();
    let mut work = std::pin::pin!(work);
    let mut tick = tokio::time::interval(TICK);
    let ended = loop {
        tokio::select! {
            ended = &mut work => break ended?,
            Some(found) = news.recv() => screen.tell(&found)?,
            _ = tick.tick() => screen.draw()?,
        }
    };
    while let Ok(found) = news.try_recv() {
        screen.tell(&found)?;
    }
    screen.end("")?;
    Ok(ended)
}

/// How to show what happens, on how wide a terminal.
pub(super) fn look(json: bool) -> (Look, usize) {
    let look = match (json, std::io::stdout().is_terminal()) {
        (true, _) => Look::Json,
        (false, true) => Look::Live,
        (false, false) => Look::Lines,
    };
    (look, rustix::termios::tcgetwinsize(std::io::stdout()).map_or(100, |size| usize::from(size.ws_col)))
}

fn report(ended: &Ended, json: bool) -> anyhow::Result<ExitCode> {
    let (word, code) = match ended {
        Ended::Completed => ("completed", 0),
        Ended::Idle => ("idle", 0),
        Ended::Stuck(_) => ("stuck", 1),
        Ended::Stopped => ("stopped", 130),
    };
    let reason = if let Ended::Stuck(reason) = ended { Some(reason.as_str()) } else { None };
    if json {
        super::say(&serde_json::json!({"event": "run_ended", "how": word, "reason": reason}).to_string())?;
    } else {
        match reason {
            Some(reason) => eprintln!("handover: nothing can go on: {reason}"),
            None => super::say(word)?,
        }
    }
    Ok(ExitCode::from(code))
}

/// The first signal lets turns finish, the second ends them.
async fn listen(wishes: watch::Sender<Wish>, json: bool) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return;
    };
    for wish in [Wish::Finish, Wish::Stop] {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if !json && wish == Wish::Finish {
            eprintln!("handover: running turns may finish; interrupt again to end them");
        }
        let _nobody_works = wishes.send(wish);
    }
    // Nothing more can be wished for, but the sender must stay.
    std::future::pending::<()>().await;
}
