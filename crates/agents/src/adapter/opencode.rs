//! Runs opencode as an agent: `opencode run --format json`, with settings that exist only for this turn.
//!
//! Signs that mislead: when a tool needs a permission that no person can grant, the run ends with exit code 0 and
//! without an answer; if the arguments name an agent that does not exist, another agent does the work; and no line of
//! the output says that the run is over.

mod events;

use serde_json::{Value, json};

use super::order::{McpServerLaunch, Permissions, ProgramHome, ProgramInput, ProgramLaunch, TurnOrder, Unlaunchable};

pub(super) use events::OpencodeEvents;

pub(super) fn launch(order: &TurnOrder) -> Result<ProgramLaunch, Unlaunchable> {
    let mut launch = order.start()?;
    let system = launch.write(order, "system.md", order.system.clone())?;
    let message = launch.write(order, "message.md", order.message.clone())?;
    launch.say(&["run", "--format", "json"]);
    match order.home {
        // In the person's home folder plugins stay enabled, because the person's model provider may be reachable only
        // through a plugin.
        ProgramHome::User => {}
        ProgramHome::Own(_) => launch.say(&["--pure"]),
    }
    match order.permissions {
        Permissions::Read => {}
        // `--auto` allows every tool that would ask for permission. Tools that the person's own settings forbid stay
        // forbidden.
        Permissions::Edit | Permissions::All => launch.say(&["--auto"]),
    }
    if let Some(model) = &order.model {
        launch.say(&["--model", model]);
    }
    if let Some(conversation) = &order.resume {
        launch.say(&["--session", conversation]);
    }
    launch.arguments.extend(order.args.iter().cloned());
    // The settings in this variable have priority over all others, including files of the person and of the repository.
    // They name the file of the system prompt instead of its text, because one environment variable holds at most 128
    // KiB.
    launch.set("OPENCODE_CONFIG_CONTENT", settings(order, &system).to_string());
    launch.set("OPENCODE_DISABLE_AUTOUPDATE", "1");
    launch.input = ProgramInput::File(message.into());
    Ok(launch)
}

fn settings(order: &TurnOrder, system: &str) -> Value {
    let server = &order.server;
    let mut command = vec![server.program.clone()];
    command.extend(server.arguments.iter().cloned());
    let environment: serde_json::Map<_, _> =
        server.environment.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    json!({
        "mcp": {McpServerLaunch::NAME: {
            "type": "local", "command": command, "environment": environment, "enabled": true,
        }},
        "instructions": [system],
        "permission": permission(order.permissions),
    })
}

/// Returns the permission rules for opencode. The last rule that matches a tool decides. No rule asks a person, because
/// no person could answer during a turn.
fn permission(permissions: Permissions) -> Value {
    match permissions {
        Permissions::Read => json!({
            "*": "deny", "read": "allow", "grep": "allow", "glob": "allow", "list": "allow", "handover_*": "allow",
        }),
        Permissions::Edit => json!({"external_directory": "deny", "question": "deny", "handover_*": "allow"}),
        Permissions::All => json!({"question": "deny", "handover_*": "allow"}),
    }
}
