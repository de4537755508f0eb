//! `/api/v1/tasks/{id}/page`: everything that the page of one task shows, except its diff and its conversation.

use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use base::ground::local_time::LocalClock;
use base::people::attention::{self, AttentionItem, AttentionKind};
use base::people::delivered::{self, FinishedWork, unchecked_words};
use base::people::task_choice::{self, NamedWork, TaskChoice};
use base::people::task_list;
use base::service::Service;
use base::service::turns::{self, NamedTurn};
use engine::checkpoint::Checkpoint;
use engine::delivery::{CheckOutcome, DeliveryState};
use engine::id::TaskId;
use engine::inbox::Message;
use engine::list::{FindingQuery, MessageQuery, ReviewQuery, VerificationQuery, Whose};
use engine::review::{Finding, FindingState};
use engine::task::{Status, Task, TaskDetail};
use engine::token::Scope;
use engine::verification::Verification;
use engine::world::CheckpointNeed;
use engine::{Actor, DecisionStop, Refusal};
use runner::verify::VerificationEvidence;
use wire::json::{Value, object};
use wire::visible;

use super::HttpState;
use super::problem::{HttpProblem, json};

/// The maximum number of turns (runs of agents' programs), verifications, checkpoints, findings and messages that the page
/// shows of one task, each.
const ROWS_MAX: u32 = 100;
/// The maximum number of lines that are shown of a check's output. The whole output has a route of its own.
const TAIL_LINES_MAX: usize = 40;

/// Everything about one task that its page shows.
struct TaskPage {
    task: Task,
    detail: TaskDetail,
    plan: String,
    /// The state of the task in the words of `handover task list`.
    state: String,
    work: Option<FinishedWork>,
    turns: Vec<NamedTurn>,
    verified: Vec<Verification>,
    checkpoints: Vec<(Checkpoint, String)>,
    findings: Vec<Finding>,
    messages: Vec<(Message, String)>,
    item: Option<AttentionItem>,
}

/// Handles `GET /api/v1/tasks/{id}/page`. The id is a task's id or its short number.
pub(super) async fn page(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Path(named): Path<String>,
) -> Result<Response, HttpProblem> {
    let service = shared.desk.service();
    let task = named_task(service, &named).await?;
    let facts = shared.facts.project(&shared.desk).await;
    let found = read(service, task, &facts.around).await.map_err(|error| HttpProblem::fault(&error))?;
    Ok(json(&found.value(scope == Scope::Person)))
}

/// Returns the task that a path names by its id or its short number.
pub(super) async fn named_task(service: &Service, named: &str) -> Result<Task, HttpProblem> {
    let fault = |error: base::Error| HttpProblem::fault(&error);
    if let Ok(id) = named.parse::<TaskId>() {
        return service.view(move |world| world.task(id).cloned()).await.map_err(fault);
    }
    let number: Option<u32> = named.parse().ok();
    let found = match number {
        Some(_) => task_choice::find_task(service, named).await.map_err(fault)?,
        None => TaskChoice::Nothing,
    };
    match found {
        TaskChoice::One(task) => Ok(task),
        TaskChoice::Several(_) | TaskChoice::Nothing => {
            let task = named.chars().take(64).collect();
            Err(HttpProblem::refused(wire::lifecycle::refusal(&Refusal::TaskNotFound { task })))
        }
    }
}

async fn read(
    service: &Service,
    task: Task,
    around: &attention::AttentionSurroundings,
) -> Result<TaskPage, base::Error> {
    let work = delivered::find(service, &NamedWork::Task(Box::new(task.clone()))).await?;
    let turns = turns::list(service, Some(Whose::Task(task.id)), ROWS_MAX).await?;
    let mut verified = service.ask(VerificationQuery { task: task.id, after: 0, limit: ROWS_MAX }).await?;
    verified.reverse();
    let state = task_list::state_of(service, &task).await?;
    let viewed = task.clone();
    let (detail, plan, checkpoints, messages) = service
        .view(move |world| {
            let name = |actor: &Actor| match actor {
                Actor::Agent(agent) => world.agent(*agent).map(|agent| agent.slug.clone()),
                Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => Ok(actor.to_string()),
            };
            let after = viewed.checkpoints.saturating_sub(ROWS_MAX);
            let rows = world.ask(&CheckpointNeed { task: viewed.id, after, limit: ROWS_MAX })?;
            let checkpoints = rows.iter().map(|row| Ok((row.clone(), name(&row.by)?)));
            let checkpoints = checkpoints.collect::<Result<Vec<_>, DecisionStop>>()?;
            let asked = world.ask(&MessageQuery::QuestionsOfTask { task: viewed.id, limit: ROWS_MAX })?;
            let messages = asked.iter().map(|row| Ok((row.clone(), name(&row.from)?)));
            let messages = messages.collect::<Result<Vec<_>, DecisionStop>>()?;
            let plan = world.workflow(viewed.workflow)?.name.clone();
            Ok((world.detail(viewed.id)?.clone(), plan, checkpoints, messages))
        })
        .await?;
    let mut findings = Vec::new();
    for review in service.ask(ReviewQuery::OfTask { task: task.id, limit: ROWS_MAX }).await? {
        findings.extend(service.ask(FindingQuery { review: review.id, after: 0, limit: ROWS_MAX }).await?);
    }
    let items = attention::items(&attention::gather(service, around).await?, &LocalClock::here());
    let is_own = |item: &AttentionItem| {
        item.kind != AttentionKind::Merge && item.task.as_ref().is_some_and(|label| label.id == task.id)
    };
    let item = items.into_iter().find(is_own);
    Ok(TaskPage { task, detail, plan, state, work, turns, verified, checkpoints, findings, messages, item })
}

impl TaskPage {
    /// Returns the page as JSON. A viewer that does not decide sees no costs, no messages and no request for approval.
    fn value(&self, decides: bool) -> Value {
        let task = &self.task;
        let work = self.work.as_ref();
        let worked = self.turns.iter().filter_map(|turn| turn.turn.ended());
        let usd = worked.clone().filter_map(|ended| ended.spent.usd_micros).reduce(u64::saturating_add);
        let ms = worked.map(|ended| ended.spent.ms).fold(0, u64::saturating_add);
        let last = self.turns.iter().find(|turn| !turn.turn.purpose.is_a_look());
        let agent = work.and_then(|work| Some(work.agent.as_ref()?.0.clone())).or_else(|| last?.agent.clone());
        let tries = self.turns.iter().filter(|turn| !turn.turn.purpose.is_a_look()).count();
        let brief = self.detail.brief.as_ref().map(turns::value).unwrap_or(Value::Null);
        let goal = brief.get("goal").and_then(Value::as_text).map(str::to_owned);
        let criteria = brief.get("acceptance_criteria").cloned().unwrap_or_else(|| Value::List(Vec::new()));
        let item = self.item.as_ref().filter(|item| decides || item.subject.message.is_none());
        object([
            (
                "task",
                object([
                    ("number", u64::from(task.number).into()),
                    ("id", task.id.to_string().into()),
                    ("name", task.name.as_str().into()),
                    ("description", self.detail.description.clone().into()),
                    ("goal", goal.into()),
                    ("acceptance_criteria", criteria),
                    ("status", task.status().as_str().into()),
                    ("state", self.state_words().into()),
                    ("plan", self.plan.as_str().into()),
                    ("workflow_id", task.workflow.to_string().into()),
                    ("role", task.role.clone().into()),
                ]),
            ),
            ("agent", agent.into()),
            ("tries", u64::try_from(tries).unwrap_or(u64::MAX).into()),
            ("ms", ms.into()),
            ("usd_micros", usd.filter(|_| decides).into()),
            ("base", work.map(base_value).into()),
            ("branch", work.map(|work| work.work.branch.clone()).into()),
            ("tree", work.map(|work| work.work.tree.clone()).into()),
            ("outcome", work.and_then(|work| work.outcome.clone()).map(|text| visible::redacted(&text)).into()),
            ("check", work.map(check_value).into()),
            ("can", Value::List(self.acts().into_iter().map(Value::from).collect())),
            ("item", item.map(AttentionItem::to_value).into()),
            ("turns", Value::List(self.turns.iter().map(|turn| turn_value(turn, decides)).collect())),
            ("checks", Value::List(self.verified.iter().flat_map(checks).collect())),
            ("not_seen", Value::List(Vec::new())),
            ("checkpoints", Value::List(self.checkpoints.iter().map(checkpoint).collect())),
            ("findings", Value::List(self.findings.iter().map(finding).collect())),
            ("messages", Value::List(self.messages.iter().filter(|_| decides).map(message).collect())),
        ])
    }

    /// Returns the state of the task as the head of the page shows it.
    fn state_words(&self) -> &str {
        let delivery = self.work.as_ref().map(|work| &work.state);
        match (self.task.status(), delivery) {
            (Status::Completed, Some(DeliveryState::Waiting)) => "ready to merge",
            (Status::Blocked | Status::Failed | Status::Paused, _) => "needs you",
            (Status::Planning | Status::InProgress, _) => "running",
            (Status::Completed | Status::Skipped | Status::Pending, _) => &self.state,
        }
    }

    /// Returns the names of the acts that are possible in the present state of the task.
    fn acts(&self) -> Vec<&'static str> {
        let mut acts = Vec::new();
        let delivery = self.work.as_ref().map(|work| &work.state);
        match self.task.status() {
            Status::Completed => match delivery {
                Some(DeliveryState::Waiting) => acts.extend(["merge", "send_back", "drop"]),
                Some(DeliveryState::Dropped { .. }) => acts.push("restore"),
                Some(DeliveryState::InPlan { .. } | DeliveryState::Merged { .. }) | None => {}
            },
            Status::Blocked => acts.extend(["send_back", "retry", "take", "drop"]),
            Status::Failed => acts.extend(["retry", "send_back", "drop"]),
            Status::Planning | Status::InProgress => acts.push("stop"),
            Status::Pending if self.task.holder().is_some() => acts.push("stop"),
            Status::Pending => acts.push("drop"),
            Status::Paused => acts.push("stop"),
            Status::Skipped => {}
        }
        if self.messages.iter().any(|(message, _)| message.is_open_question()) {
            acts.insert(0, "answer");
        }
        acts
    }
}

fn base_value(work: &FinishedWork) -> Value {
    object([("branch", work.work.base_branch.clone().into()), ("commit", work.work.base.as_str().into())])
}

fn check_value(work: &FinishedWork) -> Value {
    let word = match &work.check {
        CheckOutcome::Checked { .. } => "checked",
        CheckOutcome::CheckedFlaky { .. } => "flaky",
        CheckOutcome::Unchecked { .. } => "unchecked",
        CheckOutcome::NoChanges => "no changes",
    };
    let base = work.work.base_branch.as_deref().unwrap_or("the commit that it started from");
    let why = match &work.check {
        CheckOutcome::Unchecked { why } => Some(unchecked_words(why, base)),
        CheckOutcome::Checked { .. } | CheckOutcome::CheckedFlaky { .. } | CheckOutcome::NoChanges => None,
    };
    object([("word", word.into()), ("why", why.into()), ("words", work.checked().into())])
}

pub(super) fn turn_value(named: &NamedTurn, decides: bool) -> Value {
    let (turn, ended) = (&named.turn, named.turn.ended());
    let reason = ended.and_then(|ended| ended.reason.as_deref()).map(visible::redacted);
    object([
        ("id", turn.id.to_string().into()),
        ("number", u64::from(turn.number).into()),
        ("attempt", u64::from(turn.attempt).into()),
        ("agent", named.agent.clone().into()),
        ("purpose", turn.purpose.as_str().into()),
        ("started", Value::Number(turn.started.0.into())),
        ("ended_at", ended.map(|ended| Value::Number(ended.at.0.into())).into()),
        ("end", ended.map(|ended| ended.end.as_str()).into()),
        ("reason", reason.into()),
        ("usd_micros", ended.and_then(|ended| ended.spent.usd_micros).filter(|_| decides).into()),
        ("tokens", ended.and_then(|ended| ended.spent.tokens).filter(|_| decides).into()),
        ("tokens_in", ended.and_then(|ended| ended.spent.tokens_in).filter(|_| decides).into()),
        ("tokens_out", ended.and_then(|ended| ended.spent.tokens_out).filter(|_| decides).into()),
        ("ms", ended.map(|ended| ended.spent.ms).into()),
        ("conversation", ended.and_then(|ended| ended.conversation.clone()).filter(|_| decides).into()),
    ])
}

/// Returns one row for each check of a verification: first the checks of the task's contract, then those of the project.
fn checks(verified: &Verification) -> Vec<Value> {
    let evidence: VerificationEvidence = serde_json::from_str(verified.evidence.as_str()).unwrap_or_default();
    let contract = evidence.checks.iter().map(|check| (check, 1_u32));
    let project = evidence.project.iter().map(|check| (&check.last, check.runs));
    let row = |(check, runs): (&runner::verify::CheckResult, u32)| {
        let taken = Duration::try_from_secs_f64(check.seconds).unwrap_or_default();
        let lines: Vec<&str> = check.tail.lines().collect();
        let tail = lines.iter().skip(lines.len().saturating_sub(TAIL_LINES_MAX));
        let tail = tail.map(|line| visible::lines(&visible::redacted(line)).into()).collect();
        object([
            ("verification", u64::from(verified.number).into()),
            ("try", u64::from(verified.attempt).into()),
            ("command", check.command.join(" ").into()),
            ("ok", check.has_passed().into()),
            ("how", if check.has_passed() { "passed".to_owned() } else { check.how() }.into()),
            ("exit_code", check.exit_code.map(|code| Value::Number(i64::from(code).into())).into()),
            ("ms", u64::try_from(taken.as_millis()).unwrap_or(u64::MAX).into()),
            ("runs", u64::from(runs).into()),
            ("tree", evidence.tree.clone().into()),
            ("commit", evidence.commit.clone().into()),
            ("at", Value::Number(verified.at.0.into())),
            ("tail", Value::List(tail)),
        ])
    };
    contract.chain(project).map(row).collect()
}

fn checkpoint((row, by): &(Checkpoint, String)) -> Value {
    object([
        ("at", Value::Number(row.at.0.into())),
        ("by", by.as_str().into()),
        ("kind", row.note.kind.as_str().into()),
        ("summary", visible::redacted(&row.note.summary).into()),
    ])
}

fn finding(row: &Finding) -> Value {
    let (state, verdict) = match &row.state {
        FindingState::Open => ("open", None),
        FindingState::Decided(decided) => ("decided", Some(decided.decision.verdict.as_str())),
    };
    object([
        ("review_id", row.review.to_string().into()),
        ("id", row.name.as_str().into()),
        ("aspect", row.aspect.as_str().into()),
        ("text", visible::redacted(&row.description).into()),
        ("recommendation", visible::redacted(&row.recommendation).into()),
        ("state", state.into()),
        ("verdict", verdict.into()),
    ])
}

fn message((row, from): &(Message, String)) -> Value {
    object([
        ("id", row.id.to_string().into()),
        ("from", from.as_str().into()),
        ("at", Value::Number(row.at.0.into())),
        ("kind", row.draft.kind.as_str().into()),
        ("text", visible::redacted(&row.draft.body).into()),
        ("open", row.is_open_question().into()),
    ])
}
