//! Tests the replies about workflows in execution: the live runners (processes that start agents' programs) and the
//! running turns (runs of these programs).

use std::sync::Arc;

use engine::command::{RecordVerification, StartTurn};
use engine::id::{AgentId, TurnId};
use engine::turn::{Purpose, Spent, TurnEnd, TurnResult};
use engine::verification::Verdict;
use engine::{Caller, Json, Rights, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::desk::{DeskSurroundings, ToolOutcome, Visitor};
use base::ground::clock::ManualClock;
use base::service::Service;

const NOW: i64 = 1_700_000_000_000;

struct ExecutionScene {
    desk: Desk,
    clock: Arc<ManualClock>,
    workflow: String,
    tasks: Vec<TaskId>,
    agent: AgentId,
}

impl ExecutionScene {
    async fn new() -> Self {
        let clock = Arc::new(ManualClock::starting_at(Timestamp(NOW)));
        let store = store::open("memory:", 1).await.unwrap();
        let desk = Desk::new(Service::new(store, clock.clone()), DeskSurroundings::default());
        let mut scene = Self { desk, clock, workflow: String::new(), tasks: Vec::new(), agent: AgentId::FIRST };
        scene.workflow = text(&scene.call("workflow_create", json!({"name": "w"})).await["id"]);
        let plan = json!({"id": scene.workflow, "plan": {"summary": "s", "tasks": [{"name": "one"}, {"name": "two"}]}});
        let ids = scene.call("workflow_set_plan", plan).await["task_ids"].clone();
        scene.tasks = ["one", "two"].map(|name| text(&ids[name]).parse().unwrap()).to_vec();
        let agent = scene.call("agent_register", json!({"name": "quinn", "runtime": "exec"})).await;
        scene.agent = text(&agent["id"]).parse().unwrap();
        scene
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let visitor = Visitor::person();
        let outcome = self.desk.call(&visitor, tool, arguments.to_string().as_bytes(), None).await;
        let ToolOutcome::Done(value) = outcome else { panic!("{tool}: {outcome:?}") };
        serde_json::from_str(&value.to_string()).unwrap()
    }

    async fn run(&self, command: Command) -> Reply {
        let caller = Caller { agent: Some(self.agent), ..Caller::with_rights(Rights::Runner) };
        self.desk.service.execute(caller, command).await.unwrap()
    }

    async fn turn(&self) -> TurnId {
        let (adapter, runner) = ("exec".to_owned(), "here".to_owned());
        let (task, purpose) = (self.tasks[0], Purpose::First);
        let start = StartTurn { task, attempt: 1, agent: None, purpose, adapter, runner };
        let Reply::TurnStarted { turn, .. } = self.run(Command::StartTurn(start)).await else { panic!("no turn") };
        turn
    }

    async fn status(&self) -> Value {
        self.call("workflow_execution_status", json!({"workflow_id": self.workflow})).await
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn seen() -> Command {
    Command::SeeRunner { name: "here".to_owned(), host: "box".to_owned(), pid: 7, agents: vec!["quinn".to_owned()] }
}

#[tokio::test]
async fn a_runner_is_alive_while_it_was_seen_lately() {
    let scene = ExecutionScene::new().await;
    let start = json!({"workflow_id": scene.workflow});
    let reply = scene.call("workflow_start", start.clone()).await;
    assert_eq!((reply["runners"].clone(), reply["status"].clone()), (json!([]), json!("in_progress")));
    assert!(text(&reply["message"]).contains("no runner is alive"), "{reply}");
    scene.run(seen()).await;
    let here = json!([{"name": "here", "host": "box", "agents": ["quinn"], "since": NOW, "seen_at": NOW}]);
    for (tool, later) in [("workflow_start", 0), ("workflow_suspend", 0), ("workflow_resume", 29_999)] {
        scene.clock.set(Timestamp(NOW + later));
        let reply = scene.call(tool, start.clone()).await;
        assert_eq!(reply.get("runners").unwrap_or(&here), &here, "{tool}");
    }
    assert_eq!(scene.status().await["runners"], here);
    scene.clock.set(Timestamp(NOW + 30_000));
    assert_eq!(scene.status().await["runners"], json!([]));
    let reply = scene.call("workflow_resume", start).await;
    assert!(text(&reply["message"]).contains("no runner is alive"), "{reply}");
    assert_eq!(reply["tasksAvailable"], 2);
}

#[tokio::test]
async fn each_task_tells_its_holder_its_turn_and_what_it_cost() {
    let scene = ExecutionScene::new().await;
    scene.run(seen()).await;
    scene.run(Command::Claim { task: scene.tasks[0] }).await;
    let first = scene.turn().await;
    let ended = TurnResult {
        at: Timestamp(NOW),
        end: TurnEnd::Finished,
        reason: None,
        conversation: None,
        spent: Spent {
            usd_micros: Some(5),
            tokens: Some(7),
            tokens_in: Some(4),
            tokens_out: Some(3),
            ms: 2_500,
            turns: 1,
        },
        tool_calls: 1,
        stream: None,
        verdict: None,
        model: None,
    };
    scene.run(Command::EndTurn { turn: first, ended: Box::new(ended) }).await;
    let second = scene.turn().await;
    let spent = json!({"usd_micros": 5, "tokens": 7, "tokens_in": 4, "tokens_out": 3, "seconds": 2, "turns": 1});
    let nothing = json!({"usd_micros": null, "tokens": null, "seconds": 0, "turns": 0});
    let (one, two, agent) = (scene.tasks[0].to_string(), scene.tasks[1].to_string(), scene.agent.to_string());
    let found = scene.status().await;
    assert_eq!(
        found["tasks"],
        json!([
            {"task_id": one, "number": 1, "name": "one", "status": "pending", "holder": agent, "holder_slug": "quinn", "attempt": 1,
             "failed_attempts": 0, "max_attempts": 5, "turn_id": second.to_string(), "turn_started_at": NOW, "spent": spent},
            {"task_id": two, "number": 2, "name": "two", "status": "pending", "holder": null, "holder_slug": null, "attempt": 0,
             "failed_attempts": 0, "max_attempts": 5, "turn_id": null, "turn_started_at": null, "spent": nothing},
        ])
    );
    assert_eq!(found["spent"], spent);
    let handle = json!([{"turnId": second.to_string(), "agentId": agent, "taskId": one, "status": "running",
        "startedAt": NOW, "retryCount": 0}]);
    assert_eq!(found["agents"], handle);
    assert_eq!(
        found["progress"],
        json!({"totalTasks": 2, "completed": 0, "inProgress": 0, "failed": 0, "remaining": 2})
    );
    let suspended = scene.call("workflow_suspend", json!({"workflow_id": scene.workflow})).await;
    assert_eq!((&suspended["running"], &suspended["status"]), (&handle, &json!("paused")));
    assert_eq!(scene.status().await["status"], "suspended");
}

/// Checks that the verified commit is found even when the branch of the task is deleted.
#[test]
fn what_may_name_the_work_is_tried_in_order() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (done, commit) = runtime.block_on(async {
        let scene = ExecutionScene::new().await;
        let task = scene.tasks[0];
        scene.run(Command::Claim { task }).await;
        let commit = "0123456789abcdef0123456789abcdef01234567".to_owned();
        let found = RecordVerification {
            task,
            attempt: 1,
            turn: None,
            mechanical: Verdict::Pass,
            semantic: Verdict::Skipped,
            output_ref: None,
            evidence: Json::from_stored(json!({"commit": commit}).to_string()),
        };
        scene.run(Command::RecordVerification(Box::new(found))).await;
        let to = engine::command::Target::Completed { outcome: Some("done".to_owned()), detail: None, delivery: None };
        scene.run(Command::Move { task, attempt: Some(1), to }).await;
        let id = scene.workflow.parse().unwrap();
        let page = scene.desk.service.view(move |world| completed(world, id, None, 10)).await.unwrap();
        (page.0, commit)
    });
    assert_eq!(done.len(), 1);
    let branch = format!("handover/{}-1", done[0].task.id);
    assert_eq!(done[0].heads(), vec![commit, format!("refs/heads/{branch}")]);
    assert_eq!(done[0].branch(), branch);
}
