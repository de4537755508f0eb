//! Puts names in the place of ids in replies that a person reads: the slug of an agent, the number and name of a task,
//! the name of a workflow. Every command takes these names, too.

use std::collections::BTreeMap;

use base::Service;
use engine::id::{AgentId, TaskId, WorkflowId};
use engine::{DecisionStop, Need, World};
use wire::json::Value;

/// The maximum number of ids in one reply that are replaced by names. Further ids stay as they are.
const NAMES_MAX: usize = 1_000;

/// An id of a thing that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NameableId {
    Agent(AgentId),
    Task(TaskId),
    Workflow(WorkflowId),
}

impl NameableId {
    fn parse(text: &str) -> Option<Self> {
        let agent = || text.parse().ok().map(Self::Agent);
        let task = || text.parse().ok().map(Self::Task);
        agent().or_else(task).or_else(|| text.parse().ok().map(Self::Workflow))
    }

    fn need(self) -> Need {
        match self {
            Self::Agent(id) => Need::Agent(id),
            Self::Task(id) => Need::Task(id),
            Self::Workflow(id) => Need::Workflow(id),
        }
    }

    fn name(self, world: &World) -> Result<Option<String>, DecisionStop> {
        let found = match self {
            Self::Agent(id) => world.agent(id).map(|agent| agent.slug.clone()),
            Self::Task(id) => world.task(id).map(|task| format!("{} {}", task.number, task.name)),
            Self::Workflow(id) => world.workflow(id).map(|workflow| workflow.name.clone()),
        };
        match found {
            Ok(name) => Ok(Some(name)),
            Err(DecisionStop::Refused(_)) => Ok(None),
            Err(stop) => Err(stop),
        }
    }
}

/// Returns the reply with names in the place of ids. The member `id` of a row stays, because it is the id of the row.
pub(super) async fn with_names(service: &Service, reply: &Value) -> Result<Value, base::Error> {
    let mut ids = Vec::new();
    collect(reply, &mut ids);
    ids.sort_unstable();
    ids.dedup();
    ids.truncate(NAMES_MAX);
    let names: BTreeMap<NameableId, String> = service
        .view(move |world| {
            world.want(ids.iter().map(|id| id.need()))?;
            let mut names = BTreeMap::new();
            for id in &ids {
                names.extend(id.name(world)?.map(|name| (*id, name)));
            }
            Ok(names)
        })
        .await?;
    Ok(replaced(reply, &names))
}

fn collect(value: &Value, ids: &mut Vec<NameableId>) {
    match value {
        Value::Text(text) => ids.extend(NameableId::parse(text)),
        Value::List(items) => items.iter().for_each(|item| collect(item, ids)),
        Value::Object(members) => {
            members.iter().filter(|(name, _)| name != "id").for_each(|(_, value)| collect(value, ids));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn replaced(value: &Value, names: &BTreeMap<NameableId, String>) -> Value {
    match value {
        Value::Text(text) => {
            let name = NameableId::parse(text).and_then(|id| names.get(&id));
            name.map_or_else(|| value.clone(), |name| name.as_str().into())
        }
        Value::List(items) => Value::List(items.iter().map(|item| replaced(item, names)).collect()),
        Value::Object(members) => {
            let member = |(name, value): &(String, Value)| {
                let value = if name == "id" { value.clone() } else { replaced(value, names) };
                (name.clone(), value)
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::ground::clock::SystemClock;
    use engine::command::{CreateWorkflow, Register};
    use engine::plan::PlanTask;
    use engine::{Caller, Command, Reply, Rights};

    use super::*;

    #[tokio::test]
    async fn ids_of_other_things_become_names_and_unknown_ids_stay() {
        let service = Service::new(store::open("memory:", 1).await.unwrap(), Arc::new(SystemClock));
        let person = || Caller::with_rights(Rights::Person);
        let made = service.execute(person(), Command::CreateWorkflow(CreateWorkflow::named("Sign-in"))).await.unwrap();
        let Reply::WorkflowCreated { workflow, .. } = made else { panic!("{made:?}") };
        let set = service.set_plan(person(), workflow, "s".to_owned(), vec![PlanTask::named("Docs")]).await.unwrap();
        let Reply::PlanSet { task_ids, .. } = set else { panic!("{set:?}") };
        let register = Command::Register(Register::named("quinn", "test"));
        let made = service.execute(Caller::with_rights(Rights::Agent), register).await.unwrap();
        let Reply::Registered { agent, .. } = made else { panic!("{made:?}") };
        let task = task_ids[0].1;
        let json = format!(
            r#"{{"tasks": [{{"id": "{task}", "workflow_id": "{workflow}", "assigned_agent_id": "{agent}"}}],
                "holds": ["{task}", "tk_0000000000zz"], "text": "about {task}"}}"#
        );
        let reply = wire::json::parse(&json).unwrap().to_value();
        let named = with_names(&service, &reply).await.unwrap().to_string();
        let expected = format!(
            r#"{{"tasks":[{{"id":"{task}","workflow_id":"Sign-in","assigned_agent_id":"quinn"}}],"holds":["1 Docs","tk_0000000000zz"],"text":"about {task}"}}"#
        );
        assert_eq!(named, expected);
    }
}
