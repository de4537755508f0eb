//! Measures claims of tasks on SQLite by many callers and by one caller. Each claim is synced to the disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use engine::id::{AgentId, TaskId};

use crate::bare;
use crate::rounds::{Bar, ROUNDS, Report, median};
use crate::runtime;
use crate::seed;

const CALLERS: usize = 16;
const CLAIMS: usize = 3_200;
const SINGLE: usize = 400;
/// The number of tasks that each agent holds at the end of the benchmark.
const HELD: usize = 10;

/// One store with enough tasks for all rounds. Handover and the reference program claim from it in turn, so they use
/// the same tables.
struct Field {
    store: seed::Seeded,
    bare: rusqlite::Connection,
    tasks: std::vec::IntoIter<TaskId>,
    agents: Vec<AgentId>,
}

impl Field {
    async fn new(path: &Path, tasks: usize) -> Result<Self> {
        let store = seed::open(path).await?;
        let mut ready = Vec::with_capacity(tasks);
        while ready.len() < tasks {
            ready.extend(seed::ready(&store.service, (tasks - ready.len()).min(50_000)).await?.1);
        }
        let tasks = ready;
        // Register many agents, because a real agent holds few tasks at a time.
        let agents = seed::agents(&store.service, tasks.len() / HELD + CALLERS).await?;
        Ok(Self { bare: bare::open(path)?, store, tasks: tasks.into_iter(), agents })
    }

    fn take(&mut self, count: usize) -> Vec<TaskId> {
        self.tasks.by_ref().take(count).collect()
    }

    /// Returns the agents that claim tasks in one round. Handover and the reference program pass different numbers, so
    /// they use different agents.
    fn team(&self, number: usize, count: usize) -> Vec<AgentId> {
        let need = count / HELD + 1;
        self.agents.iter().cycle().skip(number * need).take(need.max(CALLERS)).copied().collect()
    }
}

pub(crate) fn claims(folder: &Path, report: &mut Report) -> Result<()> {
    let runtime = runtime(2)?;
    let path = folder.join("claims.db");
    let mut field = runtime.block_on(Field::new(&path, CLAIMS * 3 * (ROUNDS * 3 + 1)))?;
    let mut sizes = Vec::new();
    let mut per_commit = Vec::new();
    let mut singles = Vec::new();
    let mut step = 0;
    let counted = report.compare(
        "SQLite FULL, 16 callers, claims/s against a bare loop with the same batches",
        Bar::AtLeast(0.6),
        |_| {
            let (team, tasks) = (field.team(step, CLAIMS), field.take(CLAIMS));
            let statistics = field.store.sqlite.clone();
            let count = |f: fn(&store::Statistics) -> u64| statistics.as_ref().map_or(0, |store| f(store.statistics()));
            let before = (count(store::Statistics::commits), count(store::Statistics::commands));
            let ours = runtime.block_on(concurrent(&field.store.service, &team, tasks))?;
            let after = (count(store::Statistics::commits), count(store::Statistics::commands));
            #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
            let size = (after.1 - before.1) as f64 / (after.0 - before.0) as f64;
            sizes.push(size);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a batch size")]
            let batch = size.round().max(1.0) as usize;
            let (team, tasks) = (texts(&field.team(step + 1, CLAIMS)), texts(&field.take(CLAIMS)));
            let (same, _) = bare::claims(&field.bare, &tasks, &team, batch)?;
            let (team, tasks) = (texts(&field.team(step + 2, CLAIMS / 4)), texts(&field.take(CLAIMS / 4)));
            let (one, _) = bare::claims(&field.bare, &tasks, &team, 1)?;
            per_commit.push(ours / one);
            singles.push(one);
            step += 3;
            Ok((ours, same))
        },
    )?;
    let mut per_commit: Vec<f64> = counted.iter().map(|round| per_commit[*round]).collect();
    let low = per_commit.iter().copied().fold(f64::MAX, f64::min);
    report.figure(
        &format!(
            "the same against one commit per claim (bare: {:.0}/s), median ratio, worst {low:.2}",
            median(&mut singles)
        ),
        median(&mut per_commit),
        "times",
        Some(Bar::AtLeast(2.5)),
    );
    report.figure("claims per commit, median", median(&mut sizes), "", Some(Bar::AtLeast(6.0)));
    Ok(())
}

fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

/// Claims tasks with `CALLERS` callers at the same time. Returns the number of claims per second.
pub(crate) async fn concurrent(service: &base::Service, team: &[AgentId], tasks: Vec<TaskId>) -> Result<f64> {
    concurrent_with(service, team, tasks, CALLERS).await
}

pub(crate) async fn concurrent_with(
    service: &base::Service,
    team: &[AgentId],
    tasks: Vec<TaskId>,
    callers: usize,
) -> Result<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let count = tasks.len() as f64;
    let share = tasks.len().div_ceil(callers);
    let team: Arc<[AgentId]> = team.into();
    let shares: Vec<Vec<TaskId>> = tasks.chunks(share).map(<[_]>::to_vec).collect();
    let began = Instant::now();
    let mut running = Vec::new();
    for (number, share) in shares.into_iter().enumerate() {
        let (service, team) = (service.clone(), Arc::clone(&team));
        running.push(tokio::spawn(async move {
            for (turn, task) in share.into_iter().enumerate() {
                seed::claim(&service, team[(number + turn * callers) % team.len()], task).await?;
            }
            anyhow::Ok(())
        }));
    }
    for caller in running {
        caller.await??;
    }
    Ok(count / began.elapsed().as_secs_f64())
}

pub(crate) fn single(folder: &Path, report: &mut Report) -> Result<()> {
    let runtime = runtime(2)?;
    let path = folder.join("single.db");
    let mut field = runtime.block_on(Field::new(&path, SINGLE * 2 * (ROUNDS * 3 + 1)))?;
    let mut step = 0;
    report.compare(
        "SQLite FULL, one caller, p50 of a claim in us against one commit per claim",
        Bar::AtMost(1.6),
        |_| {
            let (team, tasks) = (field.team(step, SINGLE), field.take(SINGLE));
            let service = field.store.service.clone();
            let mut ours = runtime.block_on(runtime.spawn(async move {
                let mut times = Vec::new();
                for (turn, task) in tasks.into_iter().enumerate() {
                    let start = Instant::now();
                    seed::claim(&service, team[turn % team.len()], task).await?;
                    times.push(start.elapsed().as_secs_f64() * 1e6);
                }
                anyhow::Ok(times)
            }))??;
            let (team, tasks) = (texts(&field.team(step + 1, SINGLE)), texts(&field.take(SINGLE)));
            let (_, mut bare) = bare::claims(&field.bare, &tasks, &team, 1)?;
            step += 2;
            Ok((median(&mut ours), median(&mut bare)))
        },
    )?;
    Ok(())
}
