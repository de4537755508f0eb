//! One scripted agent: registers, takes what it can get, works on it, tells others, and leaves when all is done.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::Failed;
use super::client::Client;

/// How long a step of work takes.
const STEP: Duration = Duration::from_millis(350);

/// Works on a workflow until it is complete. One that stalls stops in the middle of its first task and waits to be killed.
pub async fn run(program: &Path, folder: &Path, name: &str, workflow: &str, stalls: bool) -> Result<(), Failed> {
    let mut client = Client::start(program, folder, name).await?;
    let registered = must(client.call("agent_register", json!({"name": name, "runtime": "scripted"})).await?)?;
    let own = registered["id"].clone();
    meet(&mut client).await?;
    let mut told = false;
    loop {
        for message in must(client.call("inbox_read", json!({})).await?)?["messages"].as_array().into_iter().flatten() {
            say(&format!("reads from {}: {}", message["sender"].as_str().unwrap_or("?"), message["body"]));
            must(client.call("inbox_ack", json!({"message_ids": [message["id"]]})).await?)?;
        }
        let offered =
            must(client.call("workflow_next_tasks", json!({"workflow_id": workflow, "agent_id": own})).await?)?;
        if offered["all_complete"] == true {
            must(client.call("agent_unregister", json!({})).await?)?;
            return Ok(());
        }
        let Some((task, attempt)) = claim(&mut client, &offered).await? else {
            must(client.call("task_wait", json!({"workflow_id": workflow, "wait_seconds": 2})).await?)?;
            continue;
        };
        work(&mut client, &task, attempt, stalls).await?;
        if !told && name == "amy" {
            told = true;
            let body = format!("{} is done; what it needs is in its outcome.", task["name"].as_str().unwrap_or("It"));
            let sent = client
                .call("message_send", json!({"recipient_id": "bob", "message_type": "status_update", "body": body}));
            // Bob may have left already.
            let _gone = sent.await?;
        }
    }
}

/// Waits for the others, so that all want the same task first and somebody must lose it.
async fn meet(client: &mut Client) -> Result<(), Failed> {
    for _ in 0..100 {
        let known = must(client.call("agent_list", json!({})).await?)?;
        if known["agents"].as_array().is_some_and(|agents| agents.len() >= super::AGENTS.len()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Tries the offered tasks from the first on. Losing one to somebody else is no failure.
async fn claim(client: &mut Client, offered: &Value) -> Result<Option<(Value, u64)>, Failed> {
    for task in offered["tasks"].as_array().into_iter().flatten() {
        let name = task["name"].as_str().unwrap_or("?");
        match client.call("task_claim", json!({"task_id": task["id"]})).await? {
            Ok(reply) if reply["success"] == true => {
                return Ok(Some((task.clone(), reply["attempt"].as_u64().unwrap_or(1))));
            }
            Ok(_) => say(&format!("wanted {name}, but somebody has it")),
            Err(refusal) => say(&format!("wanted {name}: {}", refusal["code"].as_str().unwrap_or("refused"))),
        }
    }
    Ok(None)
}

async fn work(client: &mut Client, task: &Value, attempt: u64, stalls: bool) -> Result<(), Failed> {
    let id = &task["id"];
    let name = task["name"].as_str().unwrap_or("it");
    let context = must(client.call("task_load_context", json!({"task_id": id, "max_tokens": 2000})).await?)?;
    if attempt > 1 {
        let last = context["current_task"]["checkpoints"].as_array().and_then(|list| list.last().cloned());
        let last = last.map(|last| last["summary"].as_str().unwrap_or_default().to_owned()).unwrap_or_default();
        say(&format!("takes {name} over, attempt {attempt}; last note: {last}"));
    }
    must(client.call("task_update_status", json!({"id": id, "status": "in_progress"})).await?)?;
    tokio::time::sleep(STEP).await;
    let first = json!({"task_id": id, "type": "progress", "summary": format!("half of {name} stands"), "files_changed": [format!("{name}.md")]});
    must(client.call("checkpoint_add", first).await?)?;
    if stalls {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(STEP).await;
    let second = json!({"task_id": id, "type": "decision", "summary": format!("kept {name} simple")});
    must(client.call("checkpoint_add", second).await?)?;
    tokio::time::sleep(STEP).await;
    let done = json!({"id": id, "status": "completed", "outcome": format!("{name} works and is checked")});
    must(client.call("task_update_status", done).await?)?;
    Ok(())
}

fn must(answer: Result<Value, Value>) -> Result<Value, Failed> {
    answer.map_err(|refusal| Failed::Step(format!("{}: {}", refusal["code"], refusal["message"])))
}

/// A line for whoever started us.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody listens any more: the demo is over.
    let _unheard = writeln!(out, "{line}").and_then(|()| out.flush());
}
