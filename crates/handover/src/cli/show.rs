//! Shows replies to people as tables and lines, in colour at a terminal.

use std::io::Write as _;
use std::process::ExitCode;

use anstyle::{AnsiColor, Color, Style};
use handover::desk::ToolOutcome;
use wire::json::Value;
use wire::visible;

use super::failure::CommandFailure;
use super::outline::outline;
pub(crate) use super::table::table;

/// Shows the reply of a tool's call. With `json`, prints exactly the object that the tool returns, on one line. With
/// `fresh`, clears the screen first. Returns a refusal or a fault as a [`CommandFailure`].
pub(crate) fn outcome(tool: &str, outcome: &ToolOutcome, json: bool, fresh: bool) -> anyhow::Result<ExitCode> {
    let mut out = anstream::stdout().lock();
    if fresh {
        // Move the cursor to the top left corner and clear the screen.
        write!(out, "\x1b[H\x1b[2J")?;
    }
    let value = match outcome {
        ToolOutcome::Done(value) => value,
        ToolOutcome::Refused(said) => return Err(CommandFailure::refused(said).into()),
        ToolOutcome::Failed(said) => return Err(CommandFailure::fault(said).into()),
        ToolOutcome::UnknownTool => anyhow::bail!("there is no tool {tool}"),
    };
    if json {
        writeln!(out, "{}", visible::json(&value.to_string()))?;
    } else if FROM_AGENTS.contains(&tool) {
        write!(out, "{}", reply(tool, &without_secrets(value)))?;
    } else {
        write!(out, "{}", reply(tool, value))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the refusal of a command that calls no tool as a [`CommandFailure`], in the same form as a tool's refusal.
/// Any other error is returned unchanged.
pub(crate) fn refused(noun: &str, error: base::Error, json: bool) -> anyhow::Result<ExitCode> {
    match error {
        base::Error::Refused(refusal) => {
            outcome(noun, &ToolOutcome::Refused(wire::lifecycle::refusal(&refusal)), json, false)
        }
        fault @ (base::Error::Fault(_) | base::Error::Random(_)) => Err(fault.into()),
    }
}

/// Returns the table in which a tool's reply is shown: the member of the reply that holds the rows, and the members
/// that become columns. Returns `None` for a reply without a table.
pub(super) fn columns(tool: &str) -> Option<(&'static str, &'static [&'static str])> {
    Some(match tool {
        "workflow_list" => ("workflows", &["id", "status", "open_tasks", "total_tasks", "name"]),
        "workflow_next_tasks" => ("tasks", &["number", "id", "priority", "sequence", "parallel_group", "name"]),
        "task_get_available" => ("tasks", &["number", "id", "workflow_id", "priority", "sequence", "name"]),
        "agent_list" => ("agents", &["id", "slug", "status", "runtime", "role", "current_task_id"]),
        "checkpoint_list" => ("checkpoints", &["sequence", "checkpoint_type", "by", "summary"]),
        "workspace_list" => ("workspaces", &["id", "status", "branch", "path"]),
        "workflow_list_repositories" | "repository_list" => ("repositories", &["id", "path", "name"]),
        "template_list" => ("templates", &["id", "name", "description"]),
        "message_list" => ("messages", &["id", "status", "priority", "message_type", "sender", "subject"]),
        "inbox_read" => ("messages", &["id", "priority", "message_type", "sender", "subject", "body"]),
        "workflow_get" => ("tasks", &["number", "id", "status", "sequence", "assigned_agent_id", "name"]),
        "workflow_execution_status" => ("tasks", &["number", "status", "holder_slug", "attempt", "turn_id", "name"]),
        "workflow_check_merge" => ("tasks", &["number", "task_id", "merged", "into", "commit", "name"]),
        "review_status" | "review_request" => ("findings", &["id", "status", "aspect", "recommendation"]),
        "task_wait" => ("changes", &["topic", "what", "task_id", "by"]),
        _ => return None,
    })
}

/// The tools whose reply is shown as a table and as lines. The lines show all members of the reply that are not in the
/// table.
const WITH_MORE: [&str; 5] =
    ["workflow_get", "workflow_execution_status", "workflow_check_merge", "review_status", "review_request"];

fn reply(tool: &str, value: &Value) -> String {
    if tool == "workflow_get_summary" {
        return value.get("summary").and_then(Value::as_text).map(plain_lines).unwrap_or_default() + "\n";
    }
    if tool == "task_get" {
        return super::task_show::text(value);
    }
    let mut text = String::new();
    let listed = columns(tool);
    if let Value::Object(members) = value {
        // A reply without a table is shown as lines with all its members. If a table shows a list of the reply, the
        // lines leave that list out. Then the lines show all other members for the tools in `WITH_MORE`, and only
        // `next_cursor` for other tools.
        text.push_str(&outline(members.iter().filter(|(name, _)| {
            Some(name.as_str()) != listed.map(|(list, _)| list)
                && (listed.is_none() || WITH_MORE.contains(&tool) || name == "next_cursor")
        })));
    }
    if let Some((list, columns)) = listed {
        match value.get(list).and_then(Value::as_list) {
            None => {}
            Some([]) => text.push_str(&format!("no {list}\n")),
            Some(rows) => text = format!("{}\n{text}{}", table(columns, rows), unanswered(rows)),
        }
    }
    text
}

/// Returns one line for each message that waits for an answer, with the command that answers it.
fn unanswered(rows: &[Value]) -> String {
    let waits = |row: &&Value| row.get("awaits_reply") == Some(&Value::Bool(true));
    let id = |row: &Value| row.get("id").and_then(Value::as_text).map(plain);
    let lines = rows.iter().filter(waits).filter_map(id);
    lines.map(|id| format!("{id} waits for an answer: `handover inbox reply {id} TEXT`\n")).collect()
}

/// Returns a status in a colour: green for good, cyan for active, red for bad, yellow for waiting.
pub(crate) fn coloured(status: &str) -> String {
    let colour = match status {
        "completed" | "online" | "merged" => AnsiColor::Green,
        "in_progress" | "busy" | "planning" | "active" => AnsiColor::Cyan,
        "failed" | "blocked" | "abandoned" => AnsiColor::Red,
        "paused" | "awaiting_merge" | "unread" => AnsiColor::Yellow,
        _ => return status.to_owned(),
    };
    let style = Style::new().fg_color(Some(Color::Ansi(colour)));
    format!("{style}{status}{style:#}")
}

/// Returns a text on one line, with hidden characters and terminal control characters made visible. Texts of agents and
/// other programs are shown in this form.
pub(crate) fn plain(text: &str) -> String {
    visible::one_line(text)
}

pub(crate) fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// The tools that return texts written by agents. Secrets are removed from these texts before they are shown.
const FROM_AGENTS: [&str; 5] = ["inbox_read", "message_list", "message_get", "review_status", "review_request"];

pub(super) fn without_secrets(value: &Value) -> Value {
    match value {
        Value::Text(text) => visible::redacted(text).into(),
        Value::List(items) => Value::List(items.iter().map(without_secrets).collect()),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), without_secrets(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
