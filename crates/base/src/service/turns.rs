//! Prepares turns (runs of agents' programs) for people: the messages, calls and costs of a turn, and the verification
//! of its output.

use engine::id::{AgentId, TaskId, TurnId, WorkflowId};
use engine::list::{TurnQuery, VerificationQuery, Whose, WorkflowFilter, WorkflowQuery};
use engine::turn::{Spent, Turn};
use engine::verification::Verification;
use engine::{DecisionStop, Json, Need, Timestamp, World};
use wire::json::{Value, object};

use crate::error::Error;
use crate::service::Service;

/// The number of workflows, newest first, whose turns (runs of agents' programs) are listed when the caller names no
/// workflow.
const WORKFLOWS: u32 = 20;
/// The maximum number of verifications that one read returns. At most `PAGES_MAX` reads are made for one turn; further
/// verifications are not shown.
const PAGE: u32 = 500;
const PAGES_MAX: u32 = 20;

/// A turn (one run of an agent's program), with the names of its agent and task in addition to their ids.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTurn {
    pub turn: Turn,
    /// The slug (short name) of the agent. The field `task` is the name of the task, or `None` after the task was
    /// removed.
    pub agent: Option<String>,
    pub task: Option<String>,
    /// The short number of the task. `None` after the task was removed.
    pub number: Option<u32>,
}

/// Returns the newest turns (runs of agents' programs) of a task, of a workflow, or of the newest workflows.
pub async fn list(service: &Service, whose: Option<Whose>, limit: u32) -> Result<Vec<NamedTurn>, Error> {
    service
        .view(move |world| {
            match whose {
                Some(Whose::Task(task)) => drop(world.task(task)?),
                Some(Whose::Workflow(workflow)) => drop(world.workflow(workflow)?),
                None => {}
            }
            let mut rows = match whose {
                Some(whose) => of(world, whose, limit)?,
                None => {
                    let workflows = newest(world)?;
                    let all = |id: &WorkflowId| TurnQuery::Of { of: Whose::Workflow(*id), before: None, limit };
                    world.want(workflows.iter().map(all))?;
                    let found = workflows.iter().map(|id| of(world, Whose::Workflow(*id), limit));
                    found.collect::<Result<Vec<_>, DecisionStop>>()?.concat()
                }
            };
            rows.sort_by_key(|turn| std::cmp::Reverse((turn.started, turn.id)));
            rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            named(world, rows)
        })
        .await
}

fn of(world: &World, of: Whose, limit: u32) -> Result<Vec<Turn>, DecisionStop> {
    Ok(world.ask(&TurnQuery::Of { of, before: None, limit })?.clone())
}

fn newest(world: &World) -> Result<Vec<WorkflowId>, DecisionStop> {
    let filter = WorkflowFilter::default();
    let found = world.ask(&WorkflowQuery { filter, after: None, offset: 0, limit: WORKFLOWS })?;
    Ok(found.iter().map(|row| row.id).collect())
}

fn named(world: &World, rows: Vec<Turn>) -> Result<Vec<NamedTurn>, DecisionStop> {
    world.want(rows.iter().flat_map(|turn| [Need::Agent(turn.agent), Need::Task(turn.task)]))?;
    let agent = |id: AgentId| world.agent(id).ok().map(|agent| agent.slug.clone());
    let task = |id: TaskId| world.task(id).ok().map(|task| (task.name.clone(), task.number)).unzip();
    let named = |turn: Turn| {
        let (name, number) = task(turn.task);
        NamedTurn { agent: agent(turn.agent), task: name, number, turn }
    };
    Ok(rows.into_iter().map(named).collect())
}

/// Adds the names of agents and tasks to turns (runs of agents' programs).
pub async fn named_turns(service: &Service, rows: Vec<Turn>) -> Result<Vec<NamedTurn>, Error> {
    service.view(move |world| named(world, rows.clone())).await
}

/// Returns a turn (one run of an agent's program), and the verifications of its output.
pub async fn show(service: &Service, id: TurnId) -> Result<(NamedTurn, Vec<Verification>), Error> {
    let found = service
        .view(move |world| {
            let turn = world.turn(id)?.clone();
            named(world, vec![turn])?.pop().ok_or_else(|| engine::Refusal::TurnNotFound { turn: id }.into())
        })
        .await?;
    let (task, mut after, mut verified) = (found.turn.task, 0, Vec::new());
    for _ in 0..PAGES_MAX {
        let page = service.ask(VerificationQuery { task, after, limit: PAGE }).await?;
        let full = page.len() >= usize::try_from(PAGE).unwrap_or(usize::MAX);
        after = page.last().map_or(after, |row| row.number);
        verified.extend(page.into_iter().filter(|row| row.turn == Some(id)));
        if !full {
            break;
        }
    }
    Ok((found, verified))
}

fn time(at: Timestamp) -> Value {
    Value::Number(at.0.into())
}

/// Parses stored JSON. Returns null for a text that is not valid JSON.
pub fn value(json: &Json) -> Value {
    wire::json::parse(json.as_str()).map_or(Value::Null, |node| node.to_value())
}

/// Returns the costs of a turn as a JSON object. A cost that is not known is null.
pub fn spent(spent: Spent) -> Value {
    object([
        ("usd_micros", spent.usd_micros.into()),
        ("tokens", spent.tokens.into()),
        ("tokens_in", spent.tokens_in.into()),
        ("tokens_out", spent.tokens_out.into()),
        ("seconds", (spent.ms / 1_000).into()),
        ("turns", u64::from(spent.turns).into()),
    ])
}

/// Returns a turn as a JSON object. `kept` returns true when this machine has a stored object (the output of the turn's
/// program).
pub fn row(named: &NamedTurn, kept: impl FnOnce(&engine::turn::StoredObject) -> bool) -> Value {
    let NamedTurn { turn, agent, task, .. } = named;
    let ended = turn.ended();
    let stream = ended.and_then(|ended| ended.stream.as_ref()).map(|stream| {
        let (hash, bytes) = (stream.hash.as_str().into(), stream.bytes.into());
        object([("sha256", hash), ("bytes", bytes), ("is_here", kept(stream).into())])
    });
    object([
        ("id", turn.id.to_string().into()),
        ("task_id", turn.task.to_string().into()),
        ("task", task.clone().into()),
        ("workflow_id", turn.workflow.to_string().into()),
        ("agent_id", turn.agent.to_string().into()),
        ("agent", agent.clone().into()),
        ("attempt", u64::from(turn.attempt).into()),
        ("number", u64::from(turn.number).into()),
        ("purpose", turn.purpose.as_str().into()),
        ("adapter", turn.adapter.as_str().into()),
        ("runner", turn.runner.as_str().into()),
        ("started_at", time(turn.started)),
        ("status", ended.map_or("running", |ended| ended.end.as_str()).into()),
        ("ended_at", ended.map(|ended| time(ended.at)).into()),
        ("reason", ended.and_then(|ended| ended.reason.clone()).into()),
        ("conversation", ended.and_then(|ended| ended.conversation.clone()).into()),
        ("tool_calls", ended.map(|ended| u64::from(ended.tool_calls)).into()),
        ("model", ended.and_then(|ended| ended.model.clone()).into()),
        ("spent", ended.map(|ended| spent(ended.spent)).into()),
        ("verdict", ended.and_then(|ended| ended.verdict.as_ref()).map(value).into()),
        ("stream", stream.into()),
    ])
}

pub fn verification(found: &Verification) -> Value {
    object([
        ("number", u64::from(found.number).into()),
        ("attempt", u64::from(found.attempt).into()),
        ("passed", found.has_passed().into()),
        ("mechanical", found.mechanical.as_str().into()),
        ("semantic", found.semantic.as_str().into()),
        ("output_ref", found.output_ref.clone().into()),
        ("by", found.by.to_string().into()),
        ("at", time(found.at)),
        ("evidence", value(&found.evidence)),
    ])
}
