//! `handover status`: shows the current state of all workflows on one screen.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anstyle::Style;
use base::people::intervention::{self, Intervention};
use base::project::trust;
use clap::Args;
use engine::id::WorkflowId;
use engine::review::Review;
use engine::task::{Task, TaskState};
use engine::turn::Spent;
use engine::view::{self, Overview};
use engine::{Actor, Millis, Timestamp};
use handover::office::Office;
use wire::json::{Value, object};
use wire::lifecycle::{ReplyPart as _, presence};
use wire::visible;

use super::show::{coloured, plain, table, without_secrets};

/// The largest number of reviews that `handover status` shows. If there are more, a line refers to the command
/// `handover review list`.
const REVIEWS_SHOWN: usize = 5;
/// The largest number of changed settings that `handover status` shows. The rest is only counted; `handover trust`
/// shows all of them.
const CHANGES_SHOWN: usize = 5;
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
    /// Print the state as JSON on one line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(office: &Office, asked: &StatusArguments) -> anyhow::Result<ExitCode> {
    let service = office.desk.service();
    handover::keeper::once(&office.desk).await;
    loop {
        let mut bell = service.store().watch();
        let now = service.now();
        let alive = office.desk.alive();
        let mut found = service.view(move |world| view::overview(world, &alive, now)).await?;
        base::people::approvals::sort_by_risk(&mut found.approvals);
        let interventions = interventions(office, &found).await?;
        let mut out = anstream::stdout().lock();
        let unaccepted = unaccepted(office);
        if asked.json {
            let value = json(&found, now, &unaccepted, &interventions);
            writeln!(out, "{}", visible::json(&without_secrets(&value).to_string()))?;
            return Ok(ExitCode::SUCCESS);
        }
        if asked.watch {
            write!(out, "\x1b[H\x1b[2J")?;
        }
        write!(out, "{}", text(&found, now, &office.place.by.to_string()))?;
        write!(out, "{}", changed(&interventions))?;
        write!(out, "{}", settings(&unaccepted))?;
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

fn changed(interventions: &[Intervention]) -> String {
    let bold = Style::new().bold();
    let mut text = String::new();
    if !interventions.is_empty() {
        let _ = writeln!(text, "\n{bold}Recent changes to plans and workflows{bold:#}");
    }
    for found in interventions {
        let _ = writeln!(text, "  {} {}", found.time(), plain(&found.line()));
    }
    text
}

/// Returns the changed settings that wait for a person to accept them.
fn unaccepted(office: &Office) -> Vec<String> {
    let view =
        office.place.root.as_deref().map(|root| trust::view(root, base::project::place::data_folder().as_deref()));
    view.and_then(Result::ok).map(|view| view.waiting()).unwrap_or_default()
}

fn settings(unaccepted: &[String]) -> String {
    let bold = Style::new().bold();
    let mut text = String::new();
    if !unaccepted.is_empty() {
        let _ = writeln!(text, "\n{bold}Settings that you have not accepted{bold:#}: `handover trust`");
    }
    for change in unaccepted.iter().take(CHANGES_SHOWN) {
        let _ = writeln!(text, "  {}", plain(change));
    }
    if unaccepted.len() > CHANGES_SHOWN {
        let _ = writeln!(text, "  … and {} more", unaccepted.len() - CHANGES_SHOWN);
    }
    text
}

fn json(found: &Overview, now: Timestamp, unaccepted: &[String], interventions: &[Intervention]) -> Value {
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

/// Returns the cost in words, such as `0.12 $, 3 s, 1 turn`. Amounts that are not known are left out.
pub(crate) fn cost(spent: Spent) -> String {
    let usd = spent.usd_micros.map(|micros| format!("{:.2} $", base::project::budget::usd(micros)));
    let tokens = spent.tokens.map(|tokens| format!("{tokens} tokens"));
    let rest = [Some(format!("{} s", spent.ms / 1_000)), Some(counted(u64::from(spent.turns), "turn"))];
    [usd, tokens].into_iter().chain(rest).flatten().collect::<Vec<_>>().join(", ")
}

/// Returns a number with its noun, in the plural where needed, such as `1 turn` or `2 turns`.
fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
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

/// Returns the time between two timestamps in the largest unit that fits.
pub(crate) fn span(since: Timestamp, now: Timestamp) -> String {
    let seconds = (now.0 - since.0).max(0) / i64::from(Millis::seconds(1).0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

fn text(found: &Overview, now: Timestamp, place: &str) -> String {
    let bold = Style::new().bold();
    let dim = Style::new().dimmed();
    let mut text = String::new();
    if found.workflows.is_empty() {
        let _ = writeln!(text, "There is no workflow to work on. {dim}The store is {place}.{dim:#}");
        let _ =
            writeln!(text, "Start with `handover workflow create NAME`, then `handover workflow plan ID @plan.yaml`.");
    } else {
        let _ = writeln!(text, "{bold}Workflows{bold:#}");
    }
    if !found.finished.is_empty() {
        let _ = writeln!(text, "\n{bold}Completed last{bold:#}");
    }
    for row in &found.finished {
        let spent =
            spent(found, row.id).map_or_else(String::new, |spent| format!(" {dim}spent {}{dim:#}", cost(spent)));
        let _ = writeln!(text, "  {} {} {}{spent}", row.id, counted(u64::from(row.tasks), "task"), plain(&row.name));
    }
    for (row, counts) in &found.workflows {
        let done = row.tasks - row.open;
        let states: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {}", coloured(word))).collect();
        let name = plain(&row.name);
        let _ = writeln!(text, "  {} {} {done}/{} {name}", row.id, coloured(row.status.as_str()), row.tasks);
        if !states.is_empty() {
            let _ = writeln!(text, "    {}", states.join(", "));
        }
        if let Some(spent) = spent(found, row.id) {
            let _ = writeln!(text, "    {dim}spent {}{dim:#}", cost(spent));
        }
    }
    if found.workflows_more {
        let _ = writeln!(text, "  … and more: `handover workflow list`");
    }
    if !found.held.is_empty() {
        let rows: Vec<Value> = found.held.iter().map(|(task, agent)| held_row(task, agent, now)).collect();
        let _ =
            writeln!(text, "\n{bold}At work{bold:#}\n{}", table(&["task", "agent", "for", "status", "name"], &rows));
    }
    let asked = !found.approvals.is_empty() || !found.questions.is_empty();
    if !found.stuck.is_empty() || found.unread > 0 || asked {
        let _ = writeln!(text, "\n{bold}Waiting for you{bold:#}");
        if found.unread > 0 {
            let unread = counted(u64::from(found.unread), "unread message");
            let _ = writeln!(text, "  {unread}: `handover inbox read`");
        }
        for approval in &found.approvals {
            let asked = plain(&base::people::approvals::asked(approval));
            let _ = writeln!(text, "  {} asks: {asked}; `handover approval show {0}`", approval.id);
        }
        for question in &found.questions {
            let asked: String = visible::decided(&question.draft.body).chars().take(120).collect();
            let _ = writeln!(text, "  {} asks: {asked}; `handover inbox reply {0} TEXT`", question.id);
        }
        for task in &found.stuck {
            let status = coloured(task.status().as_str());
            let why: String = visible::decided(&why(task, &found.agents)).chars().take(160).collect();
            let _ = writeln!(text, "  {} {status} {}: {why}", task.id, plain(&task.name));
        }
    }
    text.push_str(&findings(&found.reviews));
    if !found.agents.is_empty() {
        let slugs: Vec<String> =
            found.agents.iter().map(|row| format!("{} ({})", row.agent.slug, presence(row.presence))).collect();
        let _ = writeln!(text, "\n{bold}Agents{bold:#}\n  {}", slugs.join(", "));
    }
    text
}

/// Returns the lines of the screen about reviews with findings (the reviewer's remarks) for which no decision is
/// recorded yet.
fn findings(reviews: &[Review]) -> String {
    if reviews.is_empty() {
        return String::new();
    }
    let bold = Style::new().bold();
    let mut text = format!("\n{bold}Open findings{bold:#}\n");
    for row in reviews.iter().take(REVIEWS_SHOWN) {
        let task = row.gate.map_or_else(String::new, |gate| format!(" of {}", gate.task));
        let open = counted(u64::from(row.open), "finding");
        let _ = writeln!(text, "  {}{task}: {open} of {}; `handover review show {0}`", row.id, plain(&row.provider));
    }
    if reviews.len() > REVIEWS_SHOWN {
        text.push_str("  … and more: `handover review list`\n");
    }
    text
}

fn held_row(task: &Task, agent: &engine::agent::Agent, now: Timestamp) -> Value {
    let since = task.state.lease().map_or(now, |lease| lease.since);
    object([
        ("task", task.id.to_string().into()),
        ("agent", agent.slug.as_str().into()),
        ("for", span(since, now).into()),
        ("status", task.status().as_str().into()),
        ("name", task.name.as_str().into()),
    ])
}
