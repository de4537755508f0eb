//! Fills a store with workflows, ready tasks and agents, for the benchmark.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use base::Service;
use base::ground::clock::SystemClock;
use engine::command::{CreateWorkflow, Register};
use engine::id::{AgentId, TaskId, WorkflowId};
use engine::plan::PlanTask;
use engine::{Caller, Command, Reply, Rights};
use store::{Sqlite, Store};

pub(crate) struct Seeded {
    pub(crate) service: Service,
    pub(crate) sqlite: Option<Arc<Sqlite>>,
}

pub(crate) async fn open(path: &Path) -> Result<Seeded> {
    let sqlite = Arc::new(Sqlite::open(path, base::ground::random::store_seed()?).await?);
    let store: Arc<dyn Store> = Arc::clone(&sqlite) as Arc<dyn Store>;
    Ok(Seeded { service: Service::new(store, Arc::new(SystemClock)), sqlite: Some(sqlite) })
}

pub(crate) async fn workflow(service: &Service) -> Result<WorkflowId> {
    let create = CreateWorkflow { source_content: "bench".to_owned(), ..CreateWorkflow::named("bench") };
    let reply = service.execute(Caller::with_rights(Rights::Person), Command::CreateWorkflow(create)).await?;
    let Reply::WorkflowCreated { workflow, .. } = reply else { bail!("unexpected {reply:?}") };
    Ok(workflow)
}

/// Creates a workflow whose tasks are all ready to be claimed. Returns the ids of the workflow and the tasks.
pub(crate) async fn ready(service: &Service, tasks: usize) -> Result<(WorkflowId, Vec<TaskId>)> {
    let workflow = workflow(service).await?;
    let plan = (0..tasks).map(|number| PlanTask::named(format!("task {number:07}"))).collect();
    set_plan(service, workflow, plan).await?;
    let ids = service.store();
    let ids = task_ids(ids, workflow).await?;
    Ok((workflow, ids))
}

pub(crate) async fn set_plan(service: &Service, workflow: WorkflowId, plan: Vec<PlanTask>) -> Result<()> {
    service.set_plan(Caller::with_rights(Rights::Person), workflow, "bench".to_owned(), plan).await?;
    Ok(())
}

/// Returns the ids of the tasks of a workflow. Reads them page by page with the query that offers tasks to agents.
async fn task_ids(store: &dyn Store, workflow: WorkflowId) -> Result<Vec<TaskId>> {
    let mut ids = Vec::new();
    let mut after = None;
    loop {
        let ask = engine::offer::OfferQuery { workflow, agent: None, include_failed: false, after, limit: 499 };
        let page = store::view(store, Vec::new(), move |world| engine::offer::next(world, &ask, engine::Timestamp(0)))
            .await??;
        ids.extend(page.tasks.iter().map(|task| task.id));
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(ids),
        }
    }
}

/// Registers `count` agents, many of them at the same time.
pub(crate) async fn agents(service: &Service, count: usize) -> Result<Vec<AgentId>> {
    let mut agents = Vec::with_capacity(count);
    for group in (0..count).collect::<Vec<_>>().chunks(64) {
        let mut waiting = Vec::new();
        for number in group {
            let (service, name) = (service.clone(), format!("bench {number} {}", base::ground::random::token()?));
            waiting.push(tokio::spawn(async move { register(&service, name).await }));
        }
        for agent in waiting {
            agents.push(agent.await??);
        }
    }
    Ok(agents)
}

async fn register(service: &Service, name: String) -> Result<AgentId> {
    let register = Register::named(name, "bench");
    let reply = service.execute(Caller::with_rights(Rights::Engine), Command::Register(register)).await?;
    let Reply::Registered { agent, .. } = reply else { bail!("unexpected {reply:?}") };
    Ok(agent)
}

pub(crate) async fn claim(service: &Service, agent: AgentId, task: TaskId) -> Result<()> {
    let reply = service.execute(Caller::agent(agent), Command::Claim { task }).await?;
    if matches!(reply, Reply::Claimed { .. }) { Ok(()) } else { bail!("unexpected {reply:?}") }
}
