//! Measures claims of tasks on PostgreSQL by one, sixteen and sixty-four callers, in one workflow and in sixty-four
//! workflows.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use base::Service;
use base::ground::clock::SystemClock;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use engine::id::{AgentId, TaskId};
use store::Postgres;

use crate::bare_postgres;
use crate::rounds::{Bar, ROUNDS, Report};
use crate::runtime;
use crate::seed;
use crate::sqlite;

const CLAIMS: usize = 640;
const WORKFLOWS: usize = 64;

pub(crate) fn claims(report: &mut Report) -> Result<()> {
    let url =
        std::env::var("HANDOVER_TEST_POSTGRES").context("HANDOVER_TEST_POSTGRES is not set; run scripts/bench")?;
    let runtime = runtime(2)?;
    let service = runtime.block_on(async {
        let store = Postgres::open(&url, base::ground::random::store_seed()?).await?;
        anyhow::Ok(Service::new(Arc::new(store), Arc::new(SystemClock)))
    })?;
    let config: tokio_postgres::Config = url.parse()?;
    let manager =
        Manager::from_config(config, tokio_postgres::NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
    let pool = Pool::builder(manager).max_size(16).runtime(Runtime::Tokio1).build()?;
    for workflows in [1, WORKFLOWS] {
        for callers in [1, 16, 64] {
            let count = if callers == 1 { CLAIMS / 2 } else { CLAIMS };
            let mut field = runtime.block_on(Field::new(&service, workflows, count * 2 * (ROUNDS * 3)))?;
            let bar = Bar::AtLeast(if callers == 1 { 0.6 } else { 0.7 });
            let what = format!("PostgreSQL, {callers} callers, {workflows} workflows, claims/s against a bare loop");
            report.compare(&what, bar, |_| {
                let tasks = field.take(count);
                let ours = runtime.block_on(runtime.spawn({
                    let (service, team) = (service.clone(), field.agents.clone());
                    async move { sqlite::concurrent_with(&service, &team, tasks, callers).await }
                }))??;
                let tasks = field.take(count);
                let bare = runtime.block_on(bare(&pool, &field.agents, &tasks, callers))?;
                Ok((ours, bare))
            })?;
        }
    }
    Ok(())
}

struct Field {
    tasks: std::vec::IntoIter<TaskId>,
    agents: Vec<AgentId>,
}

impl Field {
    async fn new(service: &Service, workflows: usize, tasks: usize) -> Result<Self> {
        let mut found = Vec::new();
        for _ in 0..workflows {
            found.push(seed::ready(service, tasks.div_ceil(workflows)).await?.1);
        }
        // Sort the tasks so that neighbours belong to different workflows. Then callers that claim tasks from this list
        // at the same time work in different workflows.
        let longest = found.iter().map(Vec::len).max().unwrap_or(0);
        let mixed = (0..longest).flat_map(|place| found.iter().filter_map(move |ids| ids.get(place).copied()));
        let tasks: Vec<TaskId> = mixed.collect();
        let agents = seed::agents(service, tasks.len() / 10 + 64).await?;
        Ok(Self { tasks: tasks.into_iter(), agents })
    }

    fn take(&mut self, count: usize) -> Vec<TaskId> {
        self.tasks.by_ref().take(count).collect()
    }
}

async fn bare(pool: &Pool, agents: &[AgentId], tasks: &[TaskId], callers: usize) -> Result<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let count = tasks.len() as f64;
    let share = tasks.len().div_ceil(callers);
    let agents: Arc<[AgentId]> = agents.into();
    let began = Instant::now();
    let mut running = Vec::new();
    for (number, share) in tasks.chunks(share).enumerate() {
        let (pool, agents, share) = (pool.clone(), Arc::clone(&agents), share.to_vec());
        running.push(tokio::spawn(async move {
            for (turn, task) in share.into_iter().enumerate() {
                let agent = agents[(number + turn * callers) % agents.len()];
                bare_postgres::claim(&pool, &task.to_string(), &agent.to_string()).await?;
            }
            anyhow::Ok(())
        }));
    }
    for caller in running {
        caller.await??;
    }
    Ok(count / began.elapsed().as_secs_f64())
}
