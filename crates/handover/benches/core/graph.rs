//! Measures operations whose cost must not grow with the size of a workflow, and the cost of setting a plan.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use base::Service;
use engine::command::Note;
use engine::id::{AgentId, TaskId, WorkflowId};
use engine::offer::OfferQuery;
use engine::plan::PlanTask;
use engine::{Caller, Command, Reply};

use crate::bare;
use crate::rounds::{Bar, Report, median};
use crate::runtime;
use crate::seed;

const SMALL: usize = 1_000;
const LARGE: usize = 100_000;

/// Creates a workflow of `tasks` tasks. `ready` of them are ready, and the rest depends on the first task.
async fn sized(service: &Service, tasks: usize, ready: usize) -> Result<WorkflowId> {
    let workflow = seed::workflow(service).await?;
    let plan = (0..tasks).map(|number| PlanTask {
        depends_on: if number < ready { Vec::new() } else { vec!["task 0".to_owned()] },
        ..PlanTask::named(format!("task {number}"))
    });
    seed::set_plan(service, workflow, plan.collect()).await?;
    Ok(workflow)
}

async fn page_us(service: &Service, workflow: WorkflowId) -> Result<f64> {
    let ask = OfferQuery { workflow, agent: None, include_failed: false, after: None, limit: 50 };
    let mut times = Vec::new();
    for _ in 0..300 {
        let start = Instant::now();
        let page = service.next_tasks(ask).await?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        anyhow::ensure!(!page.tasks.is_empty(), "nothing was offered");
    }
    Ok(median(&mut times))
}

pub(crate) fn next_tasks(folder: &Path, report: &mut Report) -> Result<()> {
    let runtime = runtime(2)?;
    let service = runtime.block_on(seed::open(&folder.join("next.db")))?.service;
    for (what, small, large) in [("10 ready", 10, 10), ("all ready", SMALL, LARGE)] {
        let small = runtime.block_on(sized(&service, SMALL, small))?;
        let large = runtime.block_on(sized(&service, LARGE, large))?;
        report.compare(
            &format!("next tasks, first page, {what}: 100,000 tasks against 1,000, p50 us"),
            Bar::AtMost(2.0),
            |_| Ok((runtime.block_on(page_us(&service, large))?, runtime.block_on(page_us(&service, small))?)),
        )?;
    }
    Ok(())
}

const PLAN: usize = 10_000;

fn big_plan() -> Vec<PlanTask> {
    let task = |number: usize| {
        let on = |far: usize| number.checked_sub(far).map(|other| format!("task {other}"));
        PlanTask {
            depends_on: [on(7), on(31)].into_iter().flatten().collect(),
            description: Some(format!("what is to be done in task {number}")),
            ..PlanTask::named(format!("task {number}"))
        }
    };
    (0..PLAN).map(task).collect()
}

pub(crate) fn plan(folder: &Path, report: &mut Report) -> Result<()> {
    let runtime = runtime(2)?;
    let path = folder.join("plan.db");
    let service = runtime.block_on(seed::open(&path))?.service;
    let bare = bare::open(&path)?;
    report.compare(
        "plan of 10,000 tasks and 20,000 dependencies, ms against bare inserts",
        Bar::AtMost(3.0),
        |round| {
            let workflow = runtime.block_on(seed::workflow(&service))?;
            let plan = big_plan();
            let start = Instant::now();
            runtime.block_on(seed::set_plan(&service, workflow, plan))?;
            let ours = start.elapsed().as_secs_f64() * 1e3;
            Ok((ours, bare_plan(&bare, round)?))
        },
    )?;
    Ok(())
}

/// Measures the longest wait of a caller that claims one task after another while a large plan is written.
pub(crate) fn waiting(folder: &Path, report: &mut Report) -> Result<()> {
    const TASKS: usize = 100_000;
    let runtime = runtime(2)?;
    let service = runtime.block_on(seed::open(&folder.join("waiting.db")))?.service;
    let agents = runtime.block_on(seed::agents(&service, 200))?;
    let mut longest = Vec::new();
    for round in 1..=3 {
        let waited = runtime.block_on(async {
            let (workflow, ready) = (seed::workflow(&service).await?, seed::ready(&service, 20_000).await?.1);
            let plan = (0..TASKS).map(|number| PlanTask::named(format!("task {number}"))).collect();
            let planner = service.clone();
            let planning = tokio::spawn(async move { seed::set_plan(&planner, workflow, plan).await });
            let (mut waits, mut free) = (Vec::new(), ready.into_iter().zip(agents.iter().cycle()));
            while !planning.is_finished() {
                let (task, agent) = free.next().context("a task to claim")?;
                let start = Instant::now();
                seed::claim(&service, *agent, task).await?;
                waits.push(start.elapsed().as_secs_f64() * 1e3);
            }
            planning.await??;
            anyhow::Ok(waits)
        })?;
        longest.push(waited.iter().copied().fold(0.0, f64::max));
        eprintln!(
            "  a plan of {TASKS} tasks, round {round}: {} claims meanwhile, longest {:?} ms",
            waited.len(),
            longest.last()
        );
    }
    let worst = longest.iter().copied().fold(0.0, f64::max);
    report.figure(
        "longest wait of a claim while a plan of 100,000 tasks is written, worst of 3",
        worst,
        "ms",
        Some(Bar::AtMost(250.0)),
    );
    Ok(())
}

/// Writes the same rows as setting a plan does, in one transaction, into the same tables. The time is the reference for
/// the cost of setting a plan.
fn bare_plan(connection: &rusqlite::Connection, round: usize) -> Result<f64> {
    let start = Instant::now();
    connection.execute_batch("BEGIN IMMEDIATE")?;
    {
        let mut task = connection.prepare(
            "INSERT INTO task (id, workflow, name, sequence, priority, verify, attempts_max, attempt, crashes, unmet, checkpoints, status, created, updated) \
             VALUES (?1, ?2, ?3, ?4, 2, 0, 5, 0, 0, ?5, 0, 'pending', 0, 0)",
        )?;
        let mut detail = connection.prepare("INSERT INTO task_detail (task, description) VALUES (?1, ?2)")?;
        let mut edge = connection.prepare("INSERT INTO dependency (task, depends_on) VALUES (?1, ?2)")?;
        let mut ids = engine::id::Ids::new(u128::try_from(round)?);
        let ids: Vec<String> = (0..PLAN).map(|_| TaskId::next(&mut ids).to_string()).collect();
        let workflow = format!("wf_bare{round:08}");
        for (number, id) in ids.iter().enumerate() {
            let name = format!("task {number}");
            let unmet = i64::from(number >= 7) + i64::from(number >= 31);
            task.execute(rusqlite::params![id, workflow, name, i64::try_from(number)?, unmet])?;
            detail.execute(rusqlite::params![id, format!("what is to be done in task {number}")])?;
            for far in [7, 31] {
                if let Some(other) = number.checked_sub(far) {
                    edge.execute([id, &ids[other]])?;
                }
            }
        }
    }
    connection.execute_batch("COMMIT")?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

const CHECKPOINTS: u32 = 100_000;

async fn checkpoint_us(service: &Service, agent: AgentId, task: TaskId) -> Result<f64> {
    let mut times = Vec::new();
    for number in 0..200 {
        let note = Note::plain(engine::checkpoint::Kind::Progress, format!("step {number}"));
        let start = Instant::now();
        service.execute(Caller::agent(agent), Command::AddCheckpoint { task, attempt: Some(1), note }).await?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&mut times))
}

pub(crate) fn checkpoints(folder: &Path, report: &mut Report) -> Result<()> {
    let runtime = runtime(2)?;
    let path = folder.join("checkpoints.db");
    let service = runtime.block_on(seed::open(&path))?.service;
    let (agent, tasks) = runtime.block_on(async {
        let (_, tasks) = seed::ready(&service, 64).await?;
        let agent = *seed::agents(&service, 1).await?.first().context("an agent")?;
        for task in &tasks {
            seed::claim(&service, agent, *task).await?;
        }
        anyhow::Ok((agent, tasks))
    })?;
    let full = *tasks.first().context("a task")?;
    fill_checkpoints(&bare::open(&path)?, full)?;
    let mut fresh = tasks.into_iter().skip(1);
    report.compare("adding the 100,000th checkpoint against the first, p50 us", Bar::AtMost(2.0), |_| {
        let task = fresh.next().context("a fresh task")?;
        Ok((
            runtime.block_on(checkpoint_us(&service, agent, full))?,
            runtime.block_on(checkpoint_us(&service, agent, task))?,
        ))
    })?;
    let note = Note::plain(engine::checkpoint::Kind::Progress, "last");
    let add = Command::AddCheckpoint { task: full, attempt: Some(1), note };
    let reply = runtime.block_on(service.execute(Caller::agent(agent), add))?;
    let counted = matches!(reply, Reply::CheckpointAdded { sequence, .. } if sequence > CHECKPOINTS);
    if counted { Ok(()) } else { bail!("unexpected {reply:?}") }
}

fn fill_checkpoints(connection: &rusqlite::Connection, task: TaskId) -> Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let mut insert = connection.prepare(
        "INSERT INTO checkpoint (task, sequence, id, attempt, actor, kind, summary, at) VALUES (?1, ?2, ?3, 1, 'system', 'progress', ?4, 0)",
    )?;
    for number in 1..=CHECKPOINTS {
        insert.execute(rusqlite::params![
            task.to_string(),
            number,
            format!("cp_{number:012}"),
            format!("step {number}")
        ])?;
    }
    connection
        .execute("UPDATE task SET checkpoints = ?1 WHERE id = ?2", rusqlite::params![CHECKPOINTS, task.to_string()])?;
    connection.execute_batch("COMMIT")?;
    Ok(())
}
