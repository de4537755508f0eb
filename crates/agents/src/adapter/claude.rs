//! Claude Code: `claude -p` with an event stream.
//!
//! Misleading signs: `is_error` comes with the subtype `success`; an interrupt exits with 0; a termination leaves no
//! result; a refused tool exits with 0; and a resumed conversation keeps its first system prompt unless an option says
//! otherwise.

mod events;

use serde_json::json;

use super::order::{McpServerLaunch, Permissions, ProgramInput, ProgramLaunch, TurnOrder, Unlaunchable};

pub(super) use events::ClaudeEvents;

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
        // `--max-budget-usd` counts this process only, so the remaining budget is the limit.
        launch.say(&["--max-budget-usd", &format!("{usd:.4}")]);
    }
    // `stream-json` needs `--verbose`. The option also ends the list of tool names before the arguments that a person
    // appends.
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

/// Adds the arguments for the permissions. No person can be asked during a turn, so every tool that is not allowed is
/// refused.
fn permit(launch: &mut ProgramLaunch, permissions: Permissions) {
    match permissions {
        Permissions::Read => launch.say(&[
            "--permission-mode",
            "dontAsk",
            "--allowedTools",
            "Read,Grep,Glob,mcp__handover",
            // A person's own settings can allow more tools. This list overrides them.
            "--disallowedTools",
            "Bash,Edit,Write,NotebookEdit,Monitor,PowerShell",
        ]),
        // The mode accepts edits, and only in the worktree. An edit tool in the list would be allowed everywhere.
        Permissions::Edit => {
            launch.say(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash,mcp__handover"]);
        }
        Permissions::All => launch.say(&["--permission-mode", "bypassPermissions"]),
    }
}
