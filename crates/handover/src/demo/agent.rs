//! One scripted agent: reads its input, works over MCP under its own name, and ends with its output.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::Failed;
use super::client::DemoClient;

/// The names of the demo's agents. Each agent has one role, so that in every run of the demo a task goes to the same
/// agent.
pub(super) const TEAM: [&str; 3] = ["amy", "bob", "carol"];

/// The time that a scripted agent of the demo pretends to work in each step.
const STEP: Duration = Duration::from_millis(120);

/// Runs one turn of a scripted agent, that is, one run of its program: reads the input from standard input and prints
/// the output.
pub async fn run(program: &Path, folder: &Path, name: &str) -> Result<(), Failed> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let input: Value = serde_json::from_str(&line).map_err(|error| Failed::Step(error.to_string()))?;
    let params = &input["task"]["params"];
    let action = input["task"]["action"].as_str().unwrap_or_default();
    let mut client = DemoClient::start(program, folder, name).await?;
    let note =
        json!({"task_id": params["task_id"], "type": "progress", "summary": format!("{name} looks at {action}")});
    must(client.call("checkpoint_add", note).await?)?;
    tokio::time::sleep(STEP).await;
    if action == "pipeline" && params["attempt"] == 1 {
        crash();
    }
    let note = json!({"task_id": params["task_id"], "type": "decision", "summary": format!("keeps {action} simple")});
    must(client.call("checkpoint_add", note).await?)?;
    tokio::time::sleep(STEP).await;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", output(action, params, &input["prior_context"]))?;
    Ok(out.flush()?)
}

/// Kills this process before it has given an output, as a real crash would.
fn crash() {
    let _gone = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

fn output(action: &str, params: &Value, prior: &Value) -> Value {
    let resume = &params["resume"];
    let done = |summary: &str, path: &str, operation: &str, content: &str| {
        json!({
            "success": true, "summary": summary, "recommendation": "proceed", "notes": [format!("output_ref: {path}")],
            "artifacts": [{"path": path, "operation": operation, "content": content}],
        })
    };
    match (action, resume.is_null()) {
        ("schema", _) => done("a table with a name", "db/schema.sql", "create", "CREATE TABLE account (name TEXT);\n"),
        // The first output lacks required fields on purpose: the demo shows that the runner asks the agent to repair
        // it.
        ("design", true) => json!({"success": true, "summary": "a sketch"}),
        ("design", false) => done("one column, two fields", "web/design.md", "create", "# One column, two fields\n"),
        ("pipeline", _) => done("every push is checked", ".ci/run", "create", "#!/bin/sh\nexec true\n"),
        ("api", true) => json!({
            "success": false, "summary": "Which port shall the service listen on?", "artifacts": [],
            "recommendation": "escalate",
        }),
        ("api", false) => {
            let answer = resume["answer"].as_str().unwrap_or("nobody said");
            done("three calls", "api/README.md", "create", &format!("# Calls\n\n{answer}\n"))
        }
        ("page", true) => done("a page", "web/page.html", "create", "<h1>Sign in</h1> soon\n"),
        ("page", false) => done(
            "a page with a form",
            "web/page.html",
            "update",
            "<form><input name=name><input name=password></form>\n",
        ),
        _ => {
            let notes = prior.as_array().map_or(0, Vec::len);
            done("everything in one version", "CHANGELOG.md", "create", &format!("# 1.0\n\n{notes} notes\n"))
        }
    }
}

fn must(answer: Result<Value, Value>) -> Result<Value, Failed> {
    answer.map_err(|refusal| Failed::Step(format!("{}: {}", refusal["code"], refusal["message"])))
}
