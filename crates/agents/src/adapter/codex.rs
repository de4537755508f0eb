//! Runs Codex as an agent: `codex exec --json`, with all prompts on standard input.
//!
//! Signs that mislead: items of the type `error` are only warnings, and the token usage of a resumed turn includes all
//! earlier turns.

mod command;
mod events;
mod tools;

use super::order::{McpServerLaunch, Permissions, ProgramHome, ProgramInput, ProgramLaunch, TurnOrder, Unlaunchable};

pub(super) use events::CodexEvents;

pub(super) fn launch(order: &TurnOrder) -> Result<ProgramLaunch, Unlaunchable> {
    let mut launch = order.start()?;
    launch.say(&["exec", "--json", "--skip-git-repo-check"]);
    if let ProgramHome::Own(_) = order.home {
        // An agent with a home folder of its own has no plugins and no apps. Codex would still look for them on the
        // network at every start, so both are disabled.
        launch.say(&["--disable", "plugins", "--disable", "apps"]);
    }
    launch.say(&["-c", &server(&order.server), "-c", "approval_policy=\"never\""]);
    launch.say(&["-c", sandbox(order.permissions)]);
    if let Some(model) = &order.model {
        launch.say(&["-m", model]);
    }
    // Codex passes these variables to Handover's MCP server by their names. Their values do not appear in an argument,
    // because every user of the machine can read the arguments of a process.
    for (name, value) in &order.server.environment {
        launch.set(name, value.clone());
    }
    launch.arguments.extend(order.args.iter().cloned());
    if let Some(conversation) = &order.resume {
        launch.say(&["resume", conversation]);
    }
    launch.say(&["-"]);
    let spoken = launch.write(order, "message.md", order.spoken())?;
    launch.input = ProgramInput::File(spoken.into());
    Ok(launch)
}

/// Returns the setting that defines Handover's MCP server as one whole table. The person's own configuration file may
/// have an entry with the same name. If only single keys were set here, the other keys of that entry would stay in
/// effect.
fn server(server: &McpServerLaunch) -> String {
    let names: Vec<&str> = server.environment.iter().map(|(name, _)| name.as_str()).collect();
    format!(
        "mcp_servers.{}={{command={},args={},env_vars={},default_tools_approval_mode=\"approve\"}}",
        McpServerLaunch::NAME,
        toml(&server.program),
        toml(&server.arguments),
        toml(&names),
    )
}

/// Formats a value as TOML. It writes JSON, because strings and lists of strings look the same in JSON and in TOML.
fn toml(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Returns the sandbox mode as a setting for the option `-c`. Codex also has a flag for the mode, but `codex exec
/// resume` does not accept that flag.
fn sandbox(permissions: Permissions) -> &'static str {
    match permissions {
        Permissions::Read => "sandbox_mode=\"read-only\"",
        Permissions::Edit => "sandbox_mode=\"workspace-write\"",
        Permissions::All => "sandbox_mode=\"danger-full-access\"",
    }
}
