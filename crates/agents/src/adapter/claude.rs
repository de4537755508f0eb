//! Runs Claude Code as an agent: `claude -p`, which prints a stream of events.
//!
//! Signs that mislead: a failed run can have the subtype `success`, and then only `is_error` shows the failure; the
//! exit code is 0 even after an interrupt or a refused tool; and a terminated run prints no result. A resumed
//! conversation keeps its first system prompt unless an option says otherwise.

mod events;
mod tools;

use serde_json::json;

use super::order::{McpServerLaunch, Permissions, ProgramInput, ProgramLaunch, TurnOrder, Unlaunchable};

pub(super) use events::ClaudeEvents;
pub(super) use tools::{exit_code, runs_on};

pub(super) fn launch(order: &TurnOrder) -> Result<ProgramLaunch, Unlaunchable> {
    let mut launch = order.start()?;
    let system = launch.write(order, "system.md", order.system.clone())?;
    let servers = launch.write(order, "mcp.json", servers(&order.server))?;
    let message = launch.write(order, "message.md", order.message.clone())?;
    launch.say(&["-p", "--output-format", "stream-json"]);
    launch.say(&["--append-system-prompt-file", &system, "--system-prompt-snapshot", "off"]);
    launch.say(&["--mcp-config", &servers, "--strict-mcp-config"]);
    permit(&mut launch, order.permissions);
    if let Some(model) = &order.model {
        launch.say(&["--model", model]);
    }
    if let Some(conversation) = &order.resume {
        launch.say(&["--resume", conversation]);
    }
    if let Some(usd) = order.usd_left {
        // `--max-budget-usd` limits only the costs of this process, so its value is the budget that is left for the
        // task.
        launch.say(&["--max-budget-usd", &format!("{usd:.4}")]);
    }
    // The output format `stream-json` needs `--verbose`. The option also ends the list of tool names before it, so that
    // arguments which a person appends are not read as tool names.
    launch.say(&["--verbose"]);
    launch.arguments.extend(order.args.iter().cloned());
    launch.input = ProgramInput::File(message.into());
    Ok(launch)
}

fn servers(server: &McpServerLaunch) -> String {
    let environment: serde_json::Map<_, _> =
        server.environment.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    json!({"mcpServers": {McpServerLaunch::NAME: {
        "type": "stdio", "command": server.program, "args": server.arguments, "env": environment,
    }}})
    .to_string()
}

/// Adds the arguments for the agent's permissions. No person can be asked while the agent's program runs, so Claude
/// Code refuses every tool that these arguments do not allow.
fn permit(launch: &mut ProgramLaunch, permissions: Permissions) {
    match permissions {
        Permissions::Read => launch.say(&[
            "--permission-mode",
            "dontAsk",
            "--allowedTools",
            "Read,Grep,Glob,mcp__handover",
            // The person's own settings may allow more tools. This list of forbidden tools has priority over them.
            "--disallowedTools",
            "Bash,Edit,Write,NotebookEdit,Monitor,PowerShell",
        ]),
        // The mode `acceptEdits` allows edits only in the worktree. The list of allowed tools has no edit tool, because
        // an edit tool in the list could edit files everywhere.
        Permissions::Edit => {
            launch.say(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash,mcp__handover"]);
        }
        Permissions::All => launch.say(&["--permission-mode", "bypassPermissions"]),
    }
}
