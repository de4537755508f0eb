//! opencode: `opencode run --format json`, with settings that exist only for this turn.
//!
//! How it lies: a permission nobody could grant ends the run with 0 and without an answer; an unknown agent is replaced
//! by another one; there is no line that says the run is over.

mod events;

use serde_json::{Value, json};

use super::order::{Home, Input, Launch, Order, Permissions, Server, Unlaunchable};

pub(super) use events::Events;

pub(super) fn launch(order: &Order) -> Result<Launch, Unlaunchable> {
    let mut launch = order.start()?;
    let system = launch.write(order, "system.md", order.system.clone())?;
    let message = launch.write(order, "message.md", order.message.clone())?;
    launch.say(&["run", "--format", "json"]);
    match order.home {
        // Plugins can be how a person's provider is reached.
        Home::User => {}
        Home::Own(_) => launch.say(&["--pure"]),
    }
    match order.permissions {
        Permissions::Read => {}
        // Allows what would be asked, and leaves alone what a person's own settings forbid.
        Permissions::Edit | Permissions::All => launch.say(&["--auto"]),
    }
    if let Some(model) = &order.model {
        launch.say(&["--model", model]);
    }
    if let Some(conversation) = &order.resume {
        launch.say(&["--session", conversation]);
    }
    launch.arguments.extend(order.args.iter().cloned());
    // Laid over all other settings, files of the person and of the repository included. The prompt is named and not
    // contained: one variable holds at most 128 KiB.
    launch.set("OPENCODE_CONFIG_CONTENT", settings(order, &system).to_string());
    launch.set("OPENCODE_DISABLE_AUTOUPDATE", "1");
    launch.input = Input::File(message.into());
    Ok(launch)
}

fn settings(order: &Order, system: &str) -> Value {
    let server = &order.server;
    let mut command = vec![server.program.clone()];
    command.extend(server.arguments.iter().cloned());
    let environment: serde_json::Map<_, _> =
        server.environment.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    json!({
        "mcp": {Server::NAME: {
            "type": "local", "command": command, "environment": environment, "enabled": true,
        }},
        "instructions": [system],
        "permission": permission(order.permissions),
    })
}

/// The last rule that fits decides. Questions to a person would never be answered.
fn permission(permissions: Permissions) -> Value {
    match permissions {
        Permissions::Read => json!({
            "*": "deny", "read": "allow", "grep": "allow", "glob": "allow", "list": "allow", "handover_*": "allow",
        }),
        Permissions::Edit => json!({"external_directory": "deny", "question": "deny", "handover_*": "allow"}),
        Permissions::All => json!({"question": "deny", "handover_*": "allow"}),
    }
}
