//! Tests the ways in which a person can name a task, a plan or an agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use engine::command::{CreateWorkflow, Register};
use engine::plan::PlanTask;
use engine::{Caller, Command, Reply, Rights, Timestamp};

use super::*;
use crate::ground::clock::Clock;

/// A clock that is a millisecond later at each look, so that no two things are made at the same time.
#[derive(Debug, Default)]
struct SteppingClock(AtomicI64);

impl Clock for SteppingClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_700_000_000_000 + self.0.fetch_add(1, Ordering::Relaxed))
    }
}

async fn service() -> Service {
    let service = Service::new(store::open("memory:", 1).await.unwrap(), Arc::new(SteppingClock::default()));
    for (plan, tasks) in [("Login", &["Fix the form", "Fix"][..]), ("Logout", &["Docs", "7"][..])] {
        let person = || Caller::with_rights(Rights::Person);
        let made = service.execute(person(), Command::CreateWorkflow(CreateWorkflow::named(plan))).await.unwrap();
        let Reply::WorkflowCreated { workflow, .. } = made else { panic!("{made:?}") };
        let tasks = tasks.iter().map(|name| PlanTask::named(*name)).collect();
        service.set_plan(person(), workflow, "s".to_owned(), tasks).await.unwrap();
    }
    for (number, name) in ["amy", "amy", "bob"].into_iter().enumerate() {
        let register = Command::Register(Register::named(name, "test"));
        let session = format!("se_00000000000{number}").parse().ok();
        let caller = Caller { session, ..Caller::with_rights(Rights::Agent) };
        service.execute(caller, register).await.unwrap();
    }
    service
}

fn told<T>(choice: TaskChoice<T>, name: impl Fn(&T) -> String) -> String {
    match choice {
        TaskChoice::One(found) => name(&found),
        TaskChoice::Several(found) => format!("several: {}", found.iter().map(name).collect::<Vec<_>>().join(", ")),
        TaskChoice::Nothing => "nothing".to_owned(),
    }
}

#[tokio::test]
async fn a_task_is_named_by_number_id_name_or_the_beginning_of_a_name() {
    let service = service().await;
    let TaskChoice::One(first) = find_task(&service, "1").await.unwrap() else { panic!("no task 1") };
    let id = first.id.to_string();
    for (typed, expected) in [
        ("1", "Fix the form"),
        ("#2", "Fix"),
        (" 3 ", "Docs"),
        (id.as_str(), "Fix the form"),
        (&id[..id.len() - 1], "Fix the form"),
        // An exact name wins over longer names that begin with it.
        ("Fix", "Fix"),
        ("fix the", "Fix the form"),
        ("fi", "several: Fix the form, Fix"),
        ("doc", "Docs"),
        // No task has the number 7, but one task has the name `7`.
        ("7", "7"),
        ("8", "nothing"),
        ("form", "nothing"),
        ("", "nothing"),
        ("tk_0000000000zz", "nothing"),
    ] {
        let found = find_task(&service, typed).await.unwrap();
        assert_eq!(told(found, |task| task.name.clone()), expected, "{typed:?}");
    }
}

#[tokio::test]
async fn a_plan_is_named_when_no_task_is() {
    let service = service().await;
    let name = |work: &NamedWork| match work {
        NamedWork::Task(task) => format!("task {}", task.name),
        NamedWork::Plan(plan) => format!("plan {}", plan.name),
    };
    for (typed, expected) in [
        ("Login", "plan Login"),
        ("logo", "plan Logout"),
        ("Docs", "task Docs"),
        ("log", "several: plan Logout, plan Login"),
        ("nothing of this name", "nothing"),
    ] {
        assert_eq!(told(find_work(&service, typed).await.unwrap(), name), expected, "{typed:?}");
    }
}

#[tokio::test]
async fn an_agent_is_named_by_slug_or_by_a_name_that_only_one_has() {
    let service = service().await;
    for (typed, expected) in [
        ("amy", "several: amy, amy-2"),
        ("amy-2", "amy-2"),
        ("bob", "bob"),
        ("am", "several: amy, amy-2"),
        ("b", "bob"),
        ("zoe", "nothing"),
        ("", "nothing"),
    ] {
        let found = find_agent(&service, typed).await.unwrap();
        assert_eq!(told(found, |agent| agent.slug.clone()), expected, "{typed:?}");
    }
}

#[tokio::test]
async fn without_finished_work_or_questions_no_task_waits_for_a_command() {
    let service = service().await;
    for purpose in [
        TaskPurpose::Finished,
        TaskPurpose::Drop,
        TaskPurpose::SendBack,
        TaskPurpose::Answer,
        TaskPurpose::Retry,
        TaskPurpose::Take,
        TaskPurpose::Stop,
        TaskPurpose::Approve,
        TaskPurpose::Logs,
    ] {
        assert_eq!(candidates(&service, purpose).await.unwrap(), [], "{purpose:?}");
    }
}
