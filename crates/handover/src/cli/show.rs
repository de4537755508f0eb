//! Shows replies to people as tables and lines, in colour at a terminal.

use std::io::Write as _;
use std::process::ExitCode;

use anstyle::{AnsiColor, Color, Style};
use comfy_table::{ContentArrangement, Table, presets};
use handover::desk::ToolOutcome;
use wire::json::Value;
use wire::visible;

use super::advice;
use super::outline::{outline, scalar};

/// Shows the outcome of a tool's call, and returns the exit code. With `json`, prints exactly the object that the tool
/// returns, on one line. With `fresh`, clears the screen first.
pub(crate) fn outcome(tool: &str, outcome: &ToolOutcome, json: bool, fresh: bool) -> anyhow::Result<ExitCode> {
    let mut out = anstream::stdout().lock();
    if fresh {
        // Move the cursor to the top left corner and clear the screen.
        write!(out, "\x1b[H\x1b[2J")?;
    }
    let (value, code) = match outcome {
        ToolOutcome::Done(value) => (value.clone(), 0),
        ToolOutcome::Refused(said) => (said.render(), 1),
        ToolOutcome::Failed(said) => (said.render(), 3),
        ToolOutcome::UnknownTool => anyhow::bail!("there is no tool {tool}"),
    };
    if json {
        writeln!(out, "{}", visible::json(&value.to_string()))?;
    } else if code == 0 {
        let value = if FROM_AGENTS.contains(&tool) { without_secrets(&value) } else { value };
        write!(out, "{}", reply(tool, &value))?;
    } else {
        let text = |name: &str| value.get(name).and_then(Value::as_text).unwrap_or_default().to_owned();
        let mut out = anstream::stderr().lock();
        let red = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Red))).bold();
        writeln!(out, "{red}{}{red:#} {}", text("code"), plain(&text("message")))?;
        for problem in
            value.get("details").and_then(|details| details.get("fields")).and_then(Value::as_list).unwrap_or_default()
        {
            let part = |name: &str| problem.get(name).and_then(Value::as_text).unwrap_or_default();
            let near = problem.get("nearest").and_then(Value::as_text);
            let near = near.map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
            // Skip a problem that the refusal's message already contains, unless there is a similar name to suggest.
            if !text("message").contains(part("problem")) || !near.is_empty() {
                writeln!(out, "  `{}` {}{near}", plain(part("field")), plain(part("problem")))?;
            }
        }
        writeln!(out, "{}", plain(&advice::typed(&text("suggestion"))))?;
    }
    out.flush()?;
    Ok(ExitCode::from(code))
}

/// Shows the refusal of a command that calls no tool, in the same form as a tool's refusal. Any other error is returned
/// to the caller.
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
fn columns(tool: &str) -> Option<(&'static str, &'static [&'static str])> {
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
        "workflow_execution_status" => {
            ("tasks", &["number", "task_id", "status", "holder_slug", "attempt", "turn_id", "name"])
        }
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

pub(crate) fn table(columns: &[&str], rows: &[Value]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = width() {
        table.set_width(width);
    }
    let dim = Style::new().dimmed();
    let heading = |name: &&str| format!("{dim}{}{dim:#}", name.replace('_', " "));
    table.set_header(columns.iter().map(heading));
    for row in rows {
        table.add_row(columns.iter().map(|name| cell(name, row.get(name).unwrap_or(&Value::Null))));
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the width of the terminal in columns; `None` without a terminal.
pub(crate) fn width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

/// The largest number of characters in a cell of a table. A longer text is cut and ends with `…`. The tool that returns
/// a single row of the table shows the full text.
const CELL_CHARS_MAX: usize = 120;

fn cell(name: &str, value: &Value) -> String {
    let text = scalar(name, value);
    // The escape codes for colours count as characters here. Only a status has them, and a status is always short.
    if text.chars().nth(CELL_CHARS_MAX).is_none() {
        return text;
    }
    text.chars().take(CELL_CHARS_MAX).chain(['…']).collect()
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
