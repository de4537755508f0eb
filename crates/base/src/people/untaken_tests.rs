//! Tests the reasons why no agent takes a task: for single tasks, and for a whole plan in a store in memory.

use std::sync::Arc;

use engine::command::{CreateWorkflow, Register, Target};
use engine::id::{TaskId, WorkflowId};
use engine::plan::PlanTask;
use engine::task::{BlockKind, Priority, TaskState};
use engine::{Caller, Command, Reply, Rights, Timestamp};

use super::*;
use crate::ground::clock::SystemClock;
use crate::people::workload;
use crate::service::Service;

fn task(role: Option<&str>, capabilities: &[&str]) -> Task {
    Task {
        id: TaskId::FIRST,
        workflow: WorkflowId::FIRST,
        number: 17,
        name: "Review".to_owned(),
        sequence: 1,
        priority: Priority::DEFAULT,
        role: role.map(str::to_owned),
        capabilities: capabilities.iter().map(|&name| name.to_owned()).collect(),
        touches: Vec::new(),
        group: None,
        verify: false,
        review: false,
        gate: false,
        limited: false,
        author: None,
        attempts_max: 5,
        attempt: 0,
        crashes: 0,
        unmet: 0,
        checkpoints: 0,
        repository: None,
        workspace: None,
        state: TaskState::Pending { lease: None },
        created: Timestamp(0),
        updated: Timestamp(0),
    }
}

fn skill(roles: &[&str], capabilities: Option<&[&str]>) -> AgentSkill {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    AgentSkill { roles: owned(roles), capabilities: capabilities.map(owned) }
}

#[test]
fn a_task_is_not_taken_when_no_agent_has_its_role_and_all_its_capabilities() {
    let developer = || skill(&["developer"], Some(&["rust"]));
    let rows = [
        (task(None, &[]), vec![], None),
        (task(None, &[]), vec![developer()], None),
        (task(Some("developer"), &[]), vec![developer()], None),
        (task(Some("developer"), &["rust"]), vec![developer()], None),
        (task(Some("reviewer"), &[]), vec![], Some("needs the role `reviewer`; no agent has it")),
        (task(Some("reviewer"), &[]), vec![developer()], Some("needs the role `reviewer`; no agent has it")),
        (task(None, &["docker"]), vec![developer()], Some("needs `docker`; no agent has it")),
        (task(None, &["docker"]), vec![developer(), skill(&[], None)], None),
        (
            task(Some("developer"), &["rust", "docker"]),
            vec![developer()],
            Some("needs the role `developer`, `rust` and `docker`; no agent has all of it"),
        ),
    ];
    for (task, skills, expected) in rows {
        assert_eq!(why_not_taken(&task, &skills).as_deref(), expected, "{:?} {skills:?}", task.role);
    }
}

/// Makes a plan and registers the agent quinn, who is a developer. Returns the plan and the agent.
async fn planned(service: &Service, tasks: Vec<PlanTask>) -> (WorkflowId, engine::id::AgentId) {
    let person = || Caller::with_rights(Rights::Person);
    let made = service.execute(person(), Command::CreateWorkflow(CreateWorkflow::named("Sign-in"))).await.unwrap();
    let Reply::WorkflowCreated { workflow, .. } = made else { panic!("{made:?}") };
    service.set_plan(person(), workflow, "s".to_owned(), tasks).await.unwrap();
    let register =
        Command::Register(Register { role: Some("developer".to_owned()), ..Register::named("quinn", "test") });
    let made = service.execute(Caller::with_rights(Rights::Agent), register).await.unwrap();
    let Reply::Registered { agent, .. } = made else { panic!("{made:?}") };
    (workflow, agent)
}

async fn memory() -> Service {
    Service::new(store::open("memory:", 1).await.unwrap(), Arc::new(SystemClock))
}

/// Claims the task with this number and changes its status to `to`.
async fn moved(service: &Service, agent: engine::id::AgentId, number: u32, to: Target) {
    let found = crate::people::task_choice::find_task(service, &number.to_string()).await.unwrap();
    let crate::people::task_choice::TaskChoice::One(task) = found else { panic!("no task {number}") };
    let caller = || Caller { agent: Some(agent), ..Caller::with_rights(Rights::Agent) };
    service.execute(caller(), Command::Claim { task: task.id }).await.unwrap();
    service.execute(caller(), Command::Move { task: task.id, attempt: None, to }).await.unwrap();
}

fn blocked() -> Target {
    Target::Blocked { kind: BlockKind::SpecGap, reason: "the API has no v2 schema".to_owned(), role: None }
}

#[tokio::test]
async fn every_cause_is_told_with_the_number_of_its_tasks() {
    let service = memory().await;
    let named = |name: &str| PlanTask::named(name);
    let tasks = vec![
        PlanTask { role: Some("reviewer".to_owned()), ..named("review") },
        PlanTask { gate: true, ..named("publish") },
        PlanTask { touches: vec!["src/**".to_owned()], ..named("edit") },
        PlanTask { touches: vec!["src/api.rs".to_owned()], ..named("edit too") },
        named("port"),
        PlanTask { depends_on: vec!["port".to_owned()], ..named("docs") },
    ];
    let (workflow, agent) = planned(&service, tasks).await;
    moved(&service, agent, 3, Target::InProgress { answer: None }).await;
    moved(&service, agent, 5, blocked()).await;
    let told = |own: Option<AgentSkill>| {
        let (now, seeker) = (service.now(), TaskSeeker { own, team: Vec::new() });
        let service = &service;
        async move {
            let causes = service.view(move |world| causes(world, &[workflow], &seeker, now)).await.unwrap();
            causes
                .iter()
                .map(|cause| format!("{} {}: {}", cause.kind.as_str(), cause.tasks, cause.words))
                .collect::<Vec<_>>()
        }
    };
    let rest = [
        "files 1: 1 task waits for files that another task changes",
        "gate 1: 1 task waits for a person's approval to start",
        "dependencies 1: 1 task waits for other tasks",
        "person 1: 1 task waits for a person",
        "working 1: 1 task is being worked on",
    ];
    let nobody = "role 1: task 1 needs the role `reviewer`; no agent has it";
    assert_eq!(told(None).await, [&[nobody], &rest[..]].concat());
    assert_eq!(told(Some(skill(&["developer"], Some(&[])))).await, [&[nobody], &rest[..]].concat());
    let register = Command::Register(Register { role: Some("reviewer".to_owned()), ..Register::named("rex", "test") });
    service.execute(Caller::with_rights(Rights::Agent), register).await.unwrap();
    let other = "role 1: task 1 needs the role `reviewer`, which you do not have";
    assert_eq!(told(Some(skill(&["developer"], Some(&[])))).await, [&[other], &rest[..]].concat());
    assert_eq!(told(None).await, rest);
}

#[tokio::test]
async fn a_plan_is_stalled_when_all_open_tasks_are_blocked_or_wait_for_such_a_task() {
    let service = memory().await;
    let tasks = vec![
        PlanTask::named("port"),
        PlanTask { depends_on: vec!["port".to_owned()], ..PlanTask::named("docs") },
        PlanTask::named("other"),
    ];
    let (_, agent) = planned(&service, tasks).await;
    moved(&service, agent, 1, blocked()).await;
    let stalled = async || workload::read(&service, Timestamp(0)).await.unwrap().stalled;
    assert_eq!(stalled().await, [], "task 3 can be claimed");
    moved(&service, agent, 3, Target::InProgress { answer: None }).await;
    assert_eq!(stalled().await, [], "task 3 is being worked on");
    let done = Target::Completed { outcome: Some("done".to_owned()), detail: None, delivery: None };
    moved(&service, agent, 3, done).await;
    let found = stalled().await;
    assert_eq!(found.iter().map(|plan| plan.words()).collect::<Vec<_>>(), ["1 task is blocked, 1 task waits for it"]);
}
