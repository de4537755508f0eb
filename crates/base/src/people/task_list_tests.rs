//! Tests the list of all tasks, with a store in memory.

use std::sync::Arc;

use engine::command::{CreateWorkflow, Register, Target};
use engine::plan::PlanTask;
use engine::{Caller, Command, Reply, Rights};

use super::*;
use crate::ground::clock::SystemClock;

struct ListScene {
    service: Service,
    plans: Vec<WorkflowId>,
    agent: AgentId,
}

fn person() -> Caller {
    Caller::with_rights(Rights::Person)
}

/// Makes two plans. In the first one, the task `b` waits for `a`, and the agent quinn completed `c`.
async fn scene() -> ListScene {
    let service = Service::new(store::open("memory:", 1).await.unwrap(), Arc::new(SystemClock));
    let mut plans = Vec::new();
    for (plan, tasks) in [("Login", &["a", "b", "c"][..]), ("Docs", &["d"][..])] {
        let made = service.execute(person(), Command::CreateWorkflow(CreateWorkflow::named(plan))).await.unwrap();
        let Reply::WorkflowCreated { workflow, .. } = made else { panic!("{made:?}") };
        let mut tasks: Vec<PlanTask> = tasks.iter().map(|name| PlanTask::named(*name)).collect();
        if let Some(task) = tasks.get_mut(1) {
            task.depends_on = vec!["a".to_owned()];
        }
        service.set_plan(person(), workflow, "s".to_owned(), tasks).await.unwrap();
        plans.push(workflow);
    }
    let caller = || Caller::with_rights(Rights::Agent);
    let reply = service.execute(caller(), Command::Register(Register::named("quinn", "test"))).await.unwrap();
    let Reply::Registered { agent, .. } = reply else { panic!("{reply:?}") };
    let acting = Caller { agent: Some(agent), ..caller() };
    let task = numbered(&service, 3).await;
    service.execute(acting.clone(), Command::Claim { task }).await.unwrap();
    let to = Target::Completed { outcome: Some("done".to_owned()), detail: None, delivery: None };
    service.execute(acting, Command::Move { task, attempt: None, to }).await.unwrap();
    ListScene { service, plans, agent }
}

async fn numbered(service: &Service, number: u32) -> engine::id::TaskId {
    let found = super::super::task_choice::find_task(service, &number.to_string()).await.unwrap();
    let super::super::task_choice::TaskChoice::One(task) = found else { panic!("no task {number}") };
    task.id
}

async fn told(scene: &ListScene, filter: TaskListFilter) -> Vec<String> {
    let page = read(&scene.service, filter).await.unwrap();
    assert!(!page.has_older);
    let row = |row: &ListedTask| {
        let agent = row.agent.as_ref().map_or("-", |(_, slug)| slug.as_str());
        format!("{} {} {}: {} {agent}", row.task.number, row.plan, row.task.name, row.state)
    };
    page.rows.iter().map(row).collect()
}

#[tokio::test]
async fn every_task_has_its_state_in_plain_words_and_filters_choose_among_them() {
    let scene = scene().await;
    let all = ["1 Login a: ready -", "2 Login b: after 1 -", "3 Login c: done quinn", "4 Docs d: ready -"];
    assert_eq!(told(&scene, TaskListFilter::default()).await, all);
    let ready = TaskListFilter { ready: true, ..TaskListFilter::default() };
    assert_eq!(told(&scene, ready).await, [all[0], all[3]]);
    let plan = TaskListFilter { plan: Some(scene.plans[1]), ..TaskListFilter::default() };
    assert_eq!(told(&scene, plan).await, [all[3]]);
    let statuses = TaskListFilter { statuses: vec![Status::Completed], ..TaskListFilter::default() };
    assert_eq!(told(&scene, statuses).await, [all[2]]);
    let agent = TaskListFilter { agent: Some(scene.agent), ..TaskListFilter::default() };
    assert_eq!(told(&scene, agent).await, [all[2]]);
    let before = TaskListFilter { before: Some(3), ..TaskListFilter::default() };
    assert_eq!(told(&scene, before).await, [all[0], all[1]]);
}

#[tokio::test]
async fn tasks_of_an_archived_plan_are_hidden_unless_all_are_asked_for() {
    let scene = scene().await;
    let workflow = scene.plans[1];
    let status = engine::workflow::WorkflowStatus::Abandoned;
    let abandon = Command::SetWorkflowStatus { workflow, status, reason: None };
    scene.service.execute(person(), abandon).await.unwrap();
    scene.service.execute(person(), Command::ArchiveWorkflow { workflow, archived: true }).await.unwrap();
    assert_eq!(told(&scene, TaskListFilter::default()).await.len(), 3);
    let all = TaskListFilter { archived: true, ..TaskListFilter::default() };
    assert_eq!(told(&scene, all).await.last().map(String::as_str), Some("4 Docs d: plan over -"));
}
