//! Reads from the store the facts that need a person, all at one moment. The number of rows of each kind is limited.

use std::path::PathBuf;

use engine::approval::{Approval, ApprovalState, ApprovalStatus, Source};
use engine::condition::{Condition, ConditionKind};
use engine::delivery::{CheckOutcome, Delivery, DeliveryState, UncheckedReason, WorkflowDelivery};
use engine::id::TaskId;
use engine::inbox::Message;
use engine::list::{
    ApprovalQuery, ConditionQuery, DeliveryQuery, MessageQuery, ReviewQuery, SpentQuery, TaskQuery, TurnQuery, Whose,
    WorkflowDeliveryQuery,
};
use engine::task::{Task, TaskState};
use engine::view::is_planned;
use engine::workflow::WorkflowStatus;
use engine::world::{PutOffNeed, TaskIdNeed};
use engine::{Actor, DecisionStop, Need, Timestamp, TypedQuestion as _, World};

use super::blocks::{self, BlockedWork};
use super::cause::{ApprovalWish, AttentionCause, RestingAgent};
use super::{AttentionFact, TaskLabel};
use crate::error::Error;
use crate::people::approvals;
use crate::people::untaken::{AgentSkill, registered_skills, why_not_taken};
use crate::people::workload;
use crate::service::Service;

/// The maximum number of facts of one kind that are read from the store. A person does not read more.
const ROWS: u32 = 50;
/// The largest number of a task's turns, newest first, that are counted as tries.
const TURNS: u32 = 50;
/// The first words of an approval request to use a check whose script the task changed.
const CHANGED_CHECK: &str = "use a check that this task changed: ";

/// Facts about the project that are not in the store: unaccepted settings, the agents of the settings, the home folder.
#[derive(Debug, Clone, Default)]
pub struct AttentionSurroundings {
    /// The changes of the settings that a person has not accepted. Each element is one line.
    pub unaccepted: Vec<String>,
    /// The roles and capabilities of the agents in the settings. These agents need not be registered, because a runner
    /// starts them when a task needs them.
    pub skills: Vec<AgentSkill>,
    /// The home folder of the user, which is shown as `~`.
    pub home: Option<PathBuf>,
}

/// Returns all facts that need a person: the facts in the store, and the unaccepted settings in `around`.
pub async fn gather(service: &Service, around: &AttentionSurroundings) -> Result<Vec<AttentionFact>, Error> {
    let now = service.now();
    let viewed = around.clone();
    let (mut facts, put_off) = service
        .view(move |world| {
            let put_off = world.ask(&PutOffNeed)?.clone();
            Ok((facts(world, &viewed, now)?, put_off))
        })
        .await?;
    if !around.unaccepted.is_empty() {
        let cause = AttentionCause::SettingsChanged { changes: around.unaccepted.clone(), commit: None };
        facts.push(AttentionFact { cause, task: None, since: now, behind: 0, put_off_until: None });
    }
    super::put_off::mark(&mut facts, &put_off, now);
    Ok(facts)
}

fn facts(world: &World, around: &AttentionSurroundings, now: Timestamp) -> Result<Vec<AttentionFact>, DecisionStop> {
    let pending = ApprovalQuery::WithStatus { statuses: vec![ApprovalStatus::Pending], before: None, limit: ROWS };
    let asked = MessageQuery::Questions { after: 0, limit: ROWS };
    let (stuck, conditions) = (TaskQuery::Stuck { limit: ROWS }, ConditionQuery { limit: ROWS });
    let reviewed = ReviewQuery::All { before: None, limit: ROWS };
    let delivered = DeliveryQuery::Waiting { after: None, limit: ROWS };
    let plans = WorkflowDeliveryQuery::Waiting { after: None, limit: ROWS };
    let lists = [asked.need(), stuck.need(), conditions.need(), reviewed.need(), delivered.need(), plans.need()];
    world.want(lists.into_iter().chain([pending.need()]))?;
    let mut facts = Vec::new();
    for row in world.ask(&pending)?.iter().filter(|row| !row.is_over(now)) {
        facts.push(approval(world, row, (around, now))?);
    }
    let questions = world.ask(&asked)?;
    for row in questions {
        facts.extend(question(world, row)?);
    }
    let explained: Vec<TaskId> = facts.iter().filter_map(|fact: &AttentionFact| Some(fact.task.as_ref()?.id)).collect();
    for task in world.ask(&stuck)?.iter().filter(|task| !explained.contains(&task.id)) {
        facts.extend(stopped(world, task)?);
    }
    let ready = workload::ready(world, now)?;
    facts.extend(untaken(world, &ready, around)?);
    let deliveries = world.ask(&delivered)?;
    for row in world.ask(&conditions)? {
        let ready = u32::try_from(ready.len()).unwrap_or(u32::MAX);
        facts.push(condition(row, ready, deliveries));
    }
    for row in world.ask(&reviewed)?.iter().filter(|row| row.open > 0) {
        let task = row.gate.map(|gate| gate.task);
        // Skip the findings of a task that is completed or skipped. The review of an earlier attempt can still have
        // open findings when a later attempt completed the task.
        if is_over(world, task)? {
            continue;
        }
        let (review, reviewer) = (row.id.to_string(), row.provider.clone());
        let cause = AttentionCause::Finding { review, open: row.open, reviewer, blocking: None };
        facts.push(of_task(world, task, cause, row.updated)?);
    }
    for row in deliveries.iter().filter(|row| row.state == DeliveryState::Waiting) {
        facts.push(finished(world, row)?);
    }
    for row in world.ask(&plans)?.iter().filter(|row| row.state == DeliveryState::Waiting) {
        facts.push(finished_plan(world, row)?);
    }
    Ok(facts)
}

/// Returns a fact about a task, with the name of the task and the number of other tasks that wait for it.
fn of_task(
    world: &World,
    task: Option<TaskId>,
    cause: AttentionCause,
    since: Timestamp,
) -> Result<AttentionFact, DecisionStop> {
    let Some(id) = task else {
        return Ok(AttentionFact { cause, task: None, since, behind: 0, put_off_until: None });
    };
    let dependents = TaskIdNeed::Dependents(id);
    world.want([Need::Task(id), dependents.clone().into()])?;
    let task = world.task(id)?;
    // No task waits for a task that is done, so count dependents only for a task that is not done.
    let behind = if task.status().is_met() { 0 } else { world.ask(&dependents)?.len() };
    let label = TaskLabel { id, number: task.number, name: task.name.clone() };
    let behind = u32::try_from(behind).unwrap_or(u32::MAX);
    Ok(AttentionFact { cause, task: Some(label), since, behind, put_off_until: None })
}

fn slug(world: &World, actor: &Actor) -> Result<Option<String>, DecisionStop> {
    Ok(match actor {
        Actor::Agent(agent) => Some(world.agent(*agent)?.slug.clone()),
        Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => None,
    })
}

fn approval(
    world: &World,
    row: &Approval,
    (around, now): (&AttentionSurroundings, Timestamp),
) -> Result<AttentionFact, DecisionStop> {
    let id = row.id.to_string();
    let request = &row.request;
    let cause = match request.operation.strip_prefix(CHANGED_CHECK) {
        Some(scripts) => AttentionCause::CheckChanged { approval: id, scripts: scripts.to_owned() },
        None => {
            let until = if let ApprovalState::Pending { until } = row.state { Some(until) } else { None };
            AttentionCause::Approval {
                approval: id,
                agent: slug(world, &row.asker)?,
                wish: wish(row),
                folder: (!request.directory.is_empty()).then(|| short_folder(&request.directory, around)),
                expires_in_ms: until.map(|until| u64::try_from(until.0.saturating_sub(now.0)).unwrap_or(0)),
            }
        }
    };
    of_task(world, row.waiting.map(|waiting| waiting.task), cause, row.asked)
}

/// Returns the command that an agent asks to run. For any other request, returns the words of the request.
fn wish(row: &Approval) -> ApprovalWish {
    let content: Option<serde_json::Value> = match row.source {
        Source::Gate | Source::Acp => serde_json::from_str(&row.request.content).ok(),
        Source::Handoff | Source::ExecGate => None,
    };
    let command = content.as_ref().and_then(|content| content.get("command")).and_then(|command| command.as_str());
    command.map_or_else(|| ApprovalWish::Act(approvals::asked(row)), |command| ApprovalWish::Run(command.to_owned()))
}

/// Shortens the path of a folder to its last two names: `~/…/shop-4f2c/1`.
fn short_folder(folder: &str, around: &AttentionSurroundings) -> String {
    let names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    let [.., parent, last] = names.as_slice() else { return folder.to_owned() };
    let at_home = around.home.as_ref().is_some_and(|home| std::path::Path::new(folder).starts_with(home));
    if names.len() <= 3 { folder.to_owned() } else { format!("{}/…/{parent}/{last}", if at_home { "~" } else { "" }) }
}

/// Returns true when the task is completed or skipped.
fn is_over(world: &World, task: Option<TaskId>) -> Result<bool, DecisionStop> {
    task.map_or(Ok(false), |task| Ok(world.task(task)?.status().is_met()))
}

/// Returns the fact that an agent asked a question. Returns `None` when the task of the question is completed or
/// skipped, because then the agent no longer needs an answer.
fn question(world: &World, row: &Message) -> Result<Option<AttentionFact>, DecisionStop> {
    if is_over(world, row.draft.task)? {
        return Ok(None);
    }
    let agent = slug(world, &row.from)?.unwrap_or_else(|| row.from.to_string());
    let cause = AttentionCause::Question { agent, text: row.draft.body.clone(), message: row.id.to_string() };
    of_task(world, row.draft.task, cause, row.at).map(Some)
}

/// Returns the fact that a task is paused, blocked or failed. Returns `None` when the plan of the task is still a
/// draft, is archived or was given up.
fn stopped(world: &World, task: &Task) -> Result<Option<AttentionFact>, DecisionStop> {
    let workflow = world.workflow(task.workflow)?;
    if !is_planned(workflow) || workflow.archived || workflow.status == WorkflowStatus::Abandoned {
        return Ok(None);
    }
    let cause = match &task.state {
        TaskState::Paused { lease, reason } => AttentionCause::Blocked {
            agent: Some(world.agent(lease.agent)?.slug.clone()),
            reason: reason.clone().unwrap_or_else(|| "waiting for an answer".to_owned()),
            kind: "paused".to_owned(),
        },
        TaskState::Blocked(block) => blocks::cause(block, worked(world, task, &block.by)?),
        TaskState::Failed { error, .. } => AttentionCause::Failed { crashes: task.crashes, error: error.clone() },
        TaskState::Pending { .. }
        | TaskState::Planning { .. }
        | TaskState::InProgress { .. }
        | TaskState::Completed { .. }
        | TaskState::Skipped { .. } => return Ok(None),
    };
    of_task(world, Some(task.id), cause, task.updated).map(Some)
}

fn worked(world: &World, task: &Task, by: &Actor) -> Result<BlockedWork, DecisionStop> {
    let (list, spent) =
        (TurnQuery::Of { of: Whose::Task(task.id), before: None, limit: TURNS }, SpentQuery(Whose::Task(task.id)));
    world.want([list.need(), spent.need()])?;
    let own = || world.ask(&list).map(|turns| turns.iter().filter(|turn| !turn.purpose.is_a_look()));
    let agent = match own()?.next() {
        Some(turn) => Some(world.agent(turn.agent)?.slug.clone()),
        None => slug(world, by)?,
    };
    let tries = own()?.filter(|turn| turn.attempt == task.attempt).count();
    Ok(BlockedWork { agent, tries: u32::try_from(tries).unwrap_or(u32::MAX), spent: *world.ask(&spent)? })
}

/// Returns a fact for each ready task that no agent takes, because no agent has the role or capabilities that it needs.
fn untaken(world: &World, ready: &[Task], around: &AttentionSurroundings) -> Result<Vec<AttentionFact>, DecisionStop> {
    if ready.iter().all(|task| task.role.is_none() && task.capabilities.is_empty()) {
        return Ok(Vec::new());
    }
    let skills: Vec<AgentSkill> = registered_skills(world)?.into_iter().chain(around.skills.iter().cloned()).collect();
    let lone = ready.iter().filter_map(|task| Some((task, why_not_taken(task, &skills)?)));
    lone.map(|(task, why)| of_task(world, Some(task.id), AttentionCause::Stuck { why }, task.updated)).collect()
}

fn condition(row: &Condition, ready: u32, deliveries: &[Delivery]) -> AttentionFact {
    let detail = serde_json::from_str::<serde_json::Value>(row.detail.as_str()).unwrap_or_default();
    let text = |name: &str| detail.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    let texts = |name: &str| -> Vec<String> {
        let list = detail.get(name).and_then(|value| value.as_array()).cloned().unwrap_or_default();
        list.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
    };
    let cause = match row.kind {
        ConditionKind::AgentRests => {
            let trouble = row.title.strip_prefix(&format!("{} rests: ", row.subject)).unwrap_or(&row.title);
            let trouble = trouble.split_once("; it said").map_or(trouble, |(trouble, _)| trouble).to_owned();
            let agent = RestingAgent { slug: row.subject.clone(), trouble, said: text("said") };
            AttentionCause::AgentRests { agent, waiting: ready }
        }
        ConditionKind::SetupFailed => {
            let lines = texts("last_lines");
            let last_line = lines.last().cloned().unwrap_or_else(|| text("last_lines"));
            let last_line = last_line.lines().last().unwrap_or_default().to_owned();
            AttentionCause::SetupFailed { command: row.subject.clone(), how: text("how"), last_line }
        }
        ConditionKind::BaselineFails => {
            let is_of = |check: &CheckOutcome| match check {
                CheckOutcome::Unchecked { why: UncheckedReason::Baseline { command } } => *command == row.subject,
                CheckOutcome::Unchecked { .. }
                | CheckOutcome::Checked { .. }
                | CheckOutcome::CheckedFlaky { .. }
                | CheckOutcome::NoChanges => false,
            };
            let unchecked: Vec<&Delivery> = deliveries.iter().filter(|delivery| is_of(&delivery.check)).collect();
            let branch = unchecked.iter().find_map(|delivery| delivery.work.base_branch.clone());
            let unchecked = u32::try_from(unchecked.len()).unwrap_or(u32::MAX);
            AttentionCause::Baseline { command: row.subject.clone(), branch, unchecked }
        }
        ConditionKind::TipFailed => {
            AttentionCause::TipFailed { command: text("command"), branch: text("branch"), merged: texts("tasks") }
        }
    };
    AttentionFact { cause, task: None, since: row.since, behind: 0, put_off_until: None }
}

fn finished(world: &World, row: &Delivery) -> Result<AttentionFact, DecisionStop> {
    let spent = SpentQuery(Whose::Task(row.task));
    world.want([Need::Agent(row.agent), spent.need()])?;
    let spent = *world.ask(&spent)?;
    let agent = Some(world.agent(row.agent)?.slug.clone());
    let cause = merge((None, agent), (spent.ms, spent.usd_micros), (&row.check, &row.work));
    of_task(world, Some(row.task), cause, row.updated)
}

fn finished_plan(world: &World, row: &WorkflowDelivery) -> Result<AttentionFact, DecisionStop> {
    let spent = SpentQuery(Whose::Workflow(row.workflow));
    world.want([Need::Workflow(row.workflow), spent.need()])?;
    let spent = *world.ask(&spent)?;
    let plan = Some(world.workflow(row.workflow)?.name.clone());
    let cause = merge((plan, None), (spent.ms, spent.usd_micros), (&row.check, &row.work));
    of_task(world, None, cause, row.updated)
}

fn merge(
    (plan, agent): (Option<String>, Option<String>),
    (ms, usd_micros): (u64, Option<u64>),
    (check, work): (&CheckOutcome, &engine::delivery::DeliveredWork),
) -> AttentionCause {
    let base = work.base_branch.as_deref().unwrap_or("the commit that it started from");
    let (result, check) = match check {
        CheckOutcome::Checked { command, .. } => ("checked", format!("`{command}` passed")),
        CheckOutcome::CheckedFlaky { command, run, of, .. } => {
            ("checked, flaky", format!("`{command}` passed on run {run} of {of}"))
        }
        CheckOutcome::Unchecked { why } => ("unchecked", crate::people::delivered::unchecked_words(why, base)),
        CheckOutcome::NoChanges => ("no changes", String::new()),
    };
    let size = crate::people::delivered::size_words(work.files.into(), work.added.into(), work.removed.into());
    AttentionCause::Merge { plan, agent, ms, usd_micros, result: result.to_owned(), check, size }
}
