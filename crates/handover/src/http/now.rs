//! `/api/v1/now`: everything that the first page of the dashboard shows, at one moment.

use std::collections::BTreeSet;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use base::ground::local_time::LocalClock;
use base::people::attention::{self, AttentionItem, AttentionKind};
use base::people::delivered::{self, FinishedWork, unchecked_words};
use base::people::workload::{self, DoneTask, ReadyTask, RunningTask, Workload};
use engine::condition::ConditionKind;
use engine::delivery::{CheckOutcome, DeliveryState, DeliverySubject};
use engine::list::{ConditionQuery, TaskQuery};
use engine::token::Scope;
use engine::view;
use wire::json::{Value, object};

use super::HttpState;
use super::problem::{HttpProblem, json};
use super::project_facts::ProjectFacts;

/// The maximum number of rows in each list of the page. A person scrolls no further.
const ROWS_MAX: usize = 200;
/// The maximum number of conditions (facts about the project that need a person) that are searched.
const CONDITIONS_MAX: u32 = 50;

/// The rights of the one who looks at the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PageViewer {
    scope: Scope,
}

impl PageViewer {
    fn decides(self) -> bool {
        self.scope == Scope::Person
    }

    /// Returns a cost, or null for a viewer that may not see costs.
    fn cost(self, usd_micros: Option<u64>) -> Value {
        usd_micros.filter(|_| self.decides()).into()
    }

    /// Returns an item as JSON. The line below the title of some items has a cost, which only a person sees.
    fn item(self, item: &AttentionItem) -> Value {
        if self.decides() || !matches!(item.kind, AttentionKind::NoChanges | AttentionKind::Budget) {
            return item.to_value();
        }
        AttentionItem { detail: String::new(), ..item.clone() }.to_value()
    }

    /// Returns true when the viewer may see an item. Requests for approval and questions are for persons only.
    fn sees(self, item: &AttentionItem) -> bool {
        self.decides()
            || !matches!(item.kind, AttentionKind::Approval | AttentionKind::Question | AttentionKind::CheckChanged)
    }
}

/// Handles `GET /api/v1/now`.
pub(super) async fn now(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
) -> Result<Response, HttpProblem> {
    let viewer = PageViewer { scope };
    state(&shared, viewer).await.map(|value| json(&value)).map_err(|error| HttpProblem::fault(&error))
}

async fn state(shared: &HttpState, viewer: PageViewer) -> Result<Value, base::Error> {
    let service = shared.desk.service();
    // Read the cursor before the state. So an event between the two is in the state and is sent again, which does no
    // harm. In the other order, the page would miss it.
    let cursor = service.end().await?;
    let facts = shared.facts.project(&shared.desk).await;
    let clock = LocalClock::here();
    let items = attention::items(&attention::gather(service, &facts.around).await?, &clock);
    let work = workload::read(service, clock.today()).await?;
    let mut finished = delivered::waiting(service).await?;
    finished.extend(delivered::waiting_plans(service).await?);
    let conditions = service.ask(ConditionQuery { limit: CONDITIONS_MAX }).await?;
    let resting: BTreeSet<&str> =
        conditions.iter().filter(|row| row.kind == ConditionKind::AgentRests).map(|row| row.subject.as_str()).collect();
    let fails =
        |command: &str| conditions.iter().any(|row| row.kind == ConditionKind::BaselineFails && row.subject == command);
    let check = facts.check.as_deref().map(|command| {
        let state = if fails(command) { "fails" } else { "unknown" };
        object([("command", command.into()), ("state", state.into())])
    });
    let at = service.now();
    let runners = service.view(move |world| view::runners(world, at)).await?;
    let others = if viewer.decides() { shared.facts.others(&shared.desk).await } else { Default::default() };
    let other = |other: &super::project_facts::OtherProject| {
        object([("name", other.name.as_str().into()), ("needs", count(other.needs))])
    };
    let last = delivered::last_merged(service).await?;
    let any_task = !work.running.is_empty()
        || !work.ready.is_empty()
        || !finished.is_empty()
        || last.is_some()
        || !service.ask(TaskQuery::Recent { statuses: Vec::new(), before: u32::MAX, limit: 1 }).await?.is_empty();
    Ok(object([
        ("cursor", cursor.to_string().into()),
        ("at", Value::Number(at.0.into())),
        ("viewer", object([("scope", viewer.scope.as_str().into()), ("decides", viewer.decides().into())])),
        ("project", project(&facts)),
        ("repositories", Value::List(others.iter().map(other).collect())),
        ("runner", object([("alive", (!runners.is_empty()).into())])),
        ("agents", agents(&facts, &work, &resting)),
        ("check", check.into()),
        ("any_task", any_task.into()),
        ("last", last.as_ref().and_then(last_merged).into()),
        ("items", items_value(&items, viewer)),
        ("merge", Value::List(finished.iter().take(ROWS_MAX).map(|work| merge(work, viewer)).collect())),
        ("running", Value::List(work.running.iter().take(ROWS_MAX).map(|row| running(row, viewer)).collect())),
        ("ready", Value::List(work.ready.iter().take(ROWS_MAX).map(ready).collect())),
        ("stalled", Value::List(work.stalled.iter().map(stalled).collect())),
        ("done", done(&work.done, viewer)),
    ]))
}

fn count(number: usize) -> Value {
    u64::try_from(number).unwrap_or(u64::MAX).into()
}

fn project(facts: &ProjectFacts) -> Value {
    object([
        ("name", facts.name.as_str().into()),
        ("branch", facts.branch.clone().into()),
        ("commit", facts.commit.clone().into()),
    ])
}

fn agents(facts: &ProjectFacts, work: &Workload, resting: &BTreeSet<&str>) -> Value {
    let state = |slug: &str, is_installed: bool| {
        if resting.contains(slug) {
            "resting"
        } else if !is_installed {
            "missing"
        } else if work.running.iter().any(|row| row.agent == slug) {
            "working"
        } else {
            "ready"
        }
    };
    let row = |agent: &super::project_facts::ConfiguredAgent| {
        object([("slug", agent.slug.as_str().into()), ("state", state(&agent.slug, agent.is_installed).into())])
    };
    Value::List(facts.agents.iter().map(row).collect())
}

fn items_value(items: &[AttentionItem], viewer: PageViewer) -> Value {
    let shown = items.iter().filter(|item| item.kind != AttentionKind::Merge && viewer.sees(item));
    Value::List(shown.map(|item| viewer.item(item)).collect())
}

fn merge(work: &FinishedWork, viewer: PageViewer) -> Value {
    let base = work.work.base_branch.as_deref().unwrap_or("the commit that it started from");
    let (word, why) = match &work.check {
        CheckOutcome::Checked { .. } => ("checked", None),
        CheckOutcome::CheckedFlaky { .. } => ("flaky", None),
        CheckOutcome::Unchecked { why } => ("unchecked", Some(unchecked_words(why, base))),
        CheckOutcome::NoChanges => ("no changes", None),
    };
    let (task, workflow) = match work.subject {
        DeliverySubject::Task(task) => (Some(task.to_string()), None),
        DeliverySubject::Workflow(workflow) => (None, Some(workflow.to_string())),
    };
    object([
        ("task", work.number.map(u64::from).into()),
        ("task_id", task.into()),
        ("workflow_id", workflow.into()),
        ("name", work.name.as_str().into()),
        ("agent", work.agent.as_ref().map(|(slug, _)| slug.as_str()).into()),
        ("check", word.into()),
        ("why", why.into()),
        ("files", u64::from(work.work.files).into()),
        ("added", u64::from(work.work.added).into()),
        ("removed", u64::from(work.work.removed).into()),
        ("usd_micros", viewer.cost(work.spent.usd_micros)),
        ("since", Value::Number(work.created.0.into())),
        ("tree", work.work.tree.as_str().into()),
    ])
}

fn running(row: &RunningTask, viewer: PageViewer) -> Value {
    object([
        ("task", u64::from(row.task.number).into()),
        ("task_id", row.task.id.to_string().into()),
        ("name", row.task.name.as_str().into()),
        ("agent", row.agent.as_str().into()),
        ("since", Value::Number(row.since.0.into())),
        ("doing", Value::Null),
        ("usd_micros", viewer.cost(row.usd_micros)),
        ("turn_id", row.turn.map(|turn| turn.to_string()).into()),
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

fn stalled(plan: &workload::StalledPlan) -> Value {
    object([
        ("workflow_id", plan.id.to_string().into()),
        ("name", plan.name.as_str().into()),
        ("words", plan.words().into()),
    ])
}

fn done(rows: &[DoneTask], viewer: PageViewer) -> Value {
    let row = |row: &DoneTask| {
        object([
            ("task", u64::from(row.number).into()),
            ("task_id", row.task.to_string().into()),
            ("name", row.name.as_str().into()),
            ("merged_at", row.merged.map(|at| Value::Number(at.0.into())).into()),
            ("usd_micros", viewer.cost(row.usd_micros)),
        ])
    };
    let known: Option<u64> = rows.iter().filter_map(|row| row.usd_micros).reduce(u64::saturating_add);
    object([
        ("count", count(rows.len())),
        ("merged", count(rows.iter().filter(|row| row.merged.is_some()).count())),
        ("usd_micros", viewer.cost(known)),
        ("unknown_cost", count(rows.iter().filter(|row| row.usd_micros.is_none()).count())),
        // The newest work first.
        ("rows", Value::List(rows.iter().rev().take(ROWS_MAX).map(row).collect())),
    ])
}

fn last_merged(work: &FinishedWork) -> Option<Value> {
    let DeliveryState::Merged { at, .. } = work.state else { return None };
    Some(object([
        ("task", work.number.map(u64::from).into()),
        ("name", work.name.as_str().into()),
        ("merged_at", Value::Number(at.0.into())),
    ]))
}
