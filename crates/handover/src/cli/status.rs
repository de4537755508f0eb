//! `handover status`: shows on one screen what needs a person, what runs, what is ready and what was done today.

mod everywhere;
mod screen;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use base::ground::local_time::LocalClock;
use base::people::attention::{self, AttentionItem};
use base::people::intervention::{self, Intervention};
use base::people::workload::{self, DoneTask, ReadyTask, RunningTask, StalledPlan, Workload};
use base::project::place::data_folder;
use clap::Args;
use engine::id::WorkflowId;
use engine::task::{Task, TaskState};
use engine::turn::Spent;
use engine::view::{self, Overview};
use engine::{Actor, Timestamp};
use handover::office::Office;
use wire::json::{Value, object};
use wire::lifecycle::{ReplyPart as _, presence};
use wire::visible;

use super::show::without_secrets;
use super::table::screen_width;

/// The largest number of interventions that `handover status` shows; older interventions are left out. An intervention
/// is a change that a caller makes to a plan.
const INTERVENTIONS_SHOWN: usize = 10;
/// The number of workflows whose logs `handover status` searches for interventions (changes to a plan). Interventions
/// in further workflows are not shown.
const WORKFLOWS_LOOKED_AT: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Show the state again after every change, until you press Ctrl-C
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Show what needs you in all projects in which you used Handover on this machine
    #[arg(long, conflicts_with = "watch")]
    all: bool,
    /// Print the state as JSON on one line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(office: &Office, asked: &StatusArguments) -> anyhow::Result<ExitCode> {
    if asked.all {
        return everywhere::run(office, asked.json).await;
    }
    let service = office.desk.service();
    handover::keeper::once(&office.desk).await;
    loop {
        let mut bell = service.store().watch();
        let now = service.now();
        let alive = office.desk.alive();
        let mut found = service.view(move |world| view::overview(world, &alive, now)).await?;
        base::people::approvals::sort_by_risk(&mut found.approvals);
        let around = handover::attention::surroundings(office.place.root.as_deref(), data_folder().as_deref());
        let clock = LocalClock::here();
        let items = attention::items(&attention::gather(service, &around).await?, &clock);
        let work = workload::read(service, clock.today()).await?;
        if asked.json {
            let interventions = interventions(office, &found).await?;
            let value = json(&found, (&items, &work), now, (&around.unaccepted, &interventions));
            writeln!(anstream::stdout(), "{}", visible::json(&without_secrets(&value).to_string()))?;
            return Ok(ExitCode::SUCCESS);
        }
        let screen = screen::StatusScreen { width: screen_width(), clock };
        let mut out = anstream::stdout().lock();
        if asked.watch {
            write!(out, "\x1b[H\x1b[2J")?;
        }
        write!(out, "{}", screen.text(&items, &work))?;
        out.flush()?;
        drop(out);
        if !asked.watch {
            return Ok(ExitCode::SUCCESS);
        }
        // Redraw after five seconds even without a change, because the screen shows how long things have lasted.
        bell.changed(Duration::from_secs(5)).await;
    }
}

/// Returns the newest changes that people, coordinators (callers that may act on tasks of other agents) and agents made
/// to the plans on the screen, the newest first.
async fn interventions(office: &Office, found: &Overview) -> anyhow::Result<Vec<Intervention>> {
    let service = office.desk.service();
    let mut all = Vec::new();
    let shown = found.workflows.iter().map(|(workflow, _)| workflow.id);
    for workflow in shown.chain(found.finished.iter().map(|row| row.id)).take(WORKFLOWS_LOOKED_AT) {
        all.extend(intervention::recent(service, workflow, INTERVENTIONS_SHOWN).await?);
    }
    all.sort_by_key(|found| std::cmp::Reverse(found.at));
    all.truncate(INTERVENTIONS_SHOWN);
    Ok(all)
}

fn json(
    found: &Overview,
    (items, work): (&[AttentionItem], &Workload),
    now: Timestamp,
    (unaccepted, interventions): (&[String], &[Intervention]),
) -> Value {
    let workflow = |(row, counts): &(engine::workflow::Workflow, Vec<(String, u32)>)| {
        let counts = counts.iter().map(|(word, count)| (word.clone(), Value::from(u64::from(*count)))).collect();
        object([
            ("id", row.id.to_string().into()),
            ("name", row.name.as_str().into()),
            ("status", row.status.as_str().into()),
            ("open_tasks", u64::from(row.open).into()),
            ("total_tasks", u64::from(row.tasks).into()),
            ("by_status", Value::Object(counts)),
            ("spent", spent(found, row.id).map_or(Value::Null, base::service::turns::spent)),
        ])
    };
    let held = |(task, agent): &(Task, engine::agent::Agent)| {
        let lease = task.state.lease();
        object([
            ("task_id", task.id.to_string().into()),
            ("name", task.name.as_str().into()),
            ("status", task.status().as_str().into()),
            ("attempt", u64::from(task.attempt).into()),
            ("agent_id", agent.id.to_string().into()),
            ("slug", agent.slug.as_str().into()),
            ("claimed_at", lease.map(|lease| Value::Number(lease.since.0.into())).into()),
        ])
    };
    let stuck = |task: &Task| {
        object([
            ("task_id", task.id.to_string().into()),
            ("name", task.name.as_str().into()),
            ("status", task.status().as_str().into()),
            ("reason", why(task, &found.agents).into()),
        ])
    };
    let question = |row: &engine::inbox::Message| wire::lifecycle::MessageRow::of(row).render();
    let agent = |row: &view::AgentView| {
        object([
            ("id", row.agent.id.to_string().into()),
            ("slug", row.agent.slug.as_str().into()),
            ("runtime", row.agent.runtime.as_str().into()),
            ("status", presence(row.presence).into()),
        ])
    };
    object([
        ("items", Value::List(items.iter().map(AttentionItem::to_value).collect())),
        ("running", Value::List(work.running.iter().map(running).collect())),
        ("ready", Value::List(work.ready.iter().map(ready).collect())),
        ("stalled", Value::List(work.stalled.iter().map(stalled).collect())),
        ("done_today", Value::List(work.done.iter().map(done).collect())),
        ("workflows", Value::List(found.workflows.iter().map(workflow).collect())),
        ("held", Value::List(found.held.iter().map(held).collect())),
        ("waiting", Value::List(found.stuck.iter().map(stuck).collect())),
        ("finished", Value::List(found.finished.iter().map(|row| workflow(&(row.clone(), Vec::new()))).collect())),
        ("agents", Value::List(found.agents.iter().map(agent).collect())),
        ("unread", u64::from(found.unread).into()),
        ("settings", Value::List(unaccepted.iter().map(|change| change.as_str().into()).collect())),
        ("interventions", Value::List(interventions.iter().map(intervened).collect())),
        ("questions", Value::List(found.questions.iter().map(question).collect())),
        ("reviews", Value::List(found.reviews.iter().map(runner::review::show::review).collect())),
        ("approvals", Value::List(found.approvals.iter().map(|row| base::people::approvals::row(row, now)).collect())),
    ])
}

fn running(row: &RunningTask) -> Value {
    object([
        ("task", u64::from(row.task.number).into()),
        ("task_id", row.task.id.to_string().into()),
        ("name", row.task.name.as_str().into()),
        ("agent", row.agent.as_str().into()),
        ("since", Value::Number(row.since.0.into())),
        ("purpose", row.purpose.map(|purpose| purpose.as_str()).into()),
        ("usd_micros", row.usd_micros.into()),
    ])
}

fn ready(row: &ReadyTask) -> Value {
    object([
        ("task", u64::from(row.task.number).into()),
        ("task_id", row.task.id.to_string().into()),
        ("name", row.task.name.as_str().into()),
        ("after", Value::List(row.after.iter().map(|number| u64::from(*number).into()).collect())),
    ])
}

fn stalled(plan: &StalledPlan) -> Value {
    object([
        ("workflow_id", plan.id.to_string().into()),
        ("name", plan.name.as_str().into()),
        ("failed", u64::from(plan.causes.failed).into()),
        ("blocked", u64::from(plan.causes.blocked).into()),
        ("waiting", u64::from(plan.causes.waiting).into()),
    ])
}

fn done(row: &DoneTask) -> Value {
    object([
        ("task", u64::from(row.number).into()),
        ("task_id", row.task.to_string().into()),
        ("name", row.name.as_str().into()),
        ("merged_at", row.merged.map(|at| Value::Number(at.0.into())).into()),
        ("usd_micros", row.usd_micros.into()),
    ])
}

fn intervened(found: &Intervention) -> Value {
    object([
        ("at", Value::Number(found.at.0.into())),
        ("by", found.who.as_str().into()),
        ("workflow_id", found.workflow.to_string().into()),
        ("subject", found.subject.as_str().into()),
        ("act", found.act.into()),
        ("before", found.before.as_str().into()),
        ("after", found.after.as_str().into()),
    ])
}

fn spent(found: &Overview, workflow: WorkflowId) -> Option<Spent> {
    found.spent.iter().find(|(id, _)| *id == workflow).map(|(_, spent)| *spent)
}

/// Returns the reason why a task cannot continue. If no registered agent can unblock the task, the text says "for you",
/// which means the person who reads it.
fn why(task: &Task, agents: &[view::AgentView]) -> String {
    match &task.state {
        TaskState::Paused { reason, .. } => reason.clone().unwrap_or_default(),
        TaskState::Blocked(block) => {
            let is_held = agents.iter().any(|row| row.agent.role == block.role || row.agent.slug == block.role);
            // If a person blocked the task, such as by a rejection, then only a person can unblock it.
            let is_yours = block.by == Actor::Person || !is_held;
            let whose = if is_yours { "you" } else { block.role.as_str() };
            format!("{} ({}, for {whose})", block.reason, block.kind)
        }
        TaskState::Failed { error, .. } => error.clone(),
        TaskState::Pending { .. }
        | TaskState::Planning { .. }
        | TaskState::InProgress { .. }
        | TaskState::Completed { .. }
        | TaskState::Skipped { .. } => String::new(),
    }
}
