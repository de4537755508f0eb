//! Runs Gemini as an agent: by its command line if the agent has a home folder of its own, and over ACP (the Agent
//! Client Protocol) if the agent uses the person's home folder.
//!
//! The command line has no option that names an MCP server for one run. Gemini reads its settings from the home folder,
//! from the repository, or from files that only root may own. In the agent's own home folder, Handover can install an
//! extension that names the server. In the person's home folder, Handover names the server in a conversation over ACP.
//! Over ACP, a conversation can be resumed at most once: loading a conversation leaves a stub file with the same short
//! id. At the next start Gemini takes the stub for a broken conversation, and deletes the stub and the conversation.
//!
//! A sign that misleads: after a refused request, the exit code is the lower bits of the HTTP status.

mod events;

use std::path::Path;

use serde_json::json;

use super::order::{McpServerLaunch, Permissions, ProgramHome, ProgramInput, ProgramLaunch, TurnOrder, Unlaunchable};

pub(super) use events::GeminiEvents;

pub(super) fn launch(order: &TurnOrder) -> Result<ProgramLaunch, Unlaunchable> {
    let mut launch = order.start()?;
    // Gemini starts MCP servers only in a folder that it trusts.
    launch.set("GEMINI_CLI_TRUST_WORKSPACE", "true");
    launch.say(&["--approval-mode", mode(order.permissions)]);
    if let Some(model) = &order.model {
        launch.say(&["-m", model]);
    }
    match &order.home {
        ProgramHome::User => {
            launch.say(&["--acp"]);
            launch.input = ProgramInput::Relay;
        }
        ProgramHome::Own(home) => run(&mut launch, order, home)?,
    }
    launch.arguments.extend(order.args.iter().cloned());
    Ok(launch)
}

fn run(launch: &mut ProgramLaunch, order: &TurnOrder, home: &Path) -> Result<(), Unlaunchable> {
    // Several runs of one agent's program can write this file at the same time without a conflict, because its content
    // is always the same.
    let extension = home.join(".gemini/extensions").join(McpServerLaunch::NAME);
    launch.files.push((extension.join("gemini-extension.json"), manifest(&order.server)));
    launch.folders.push(extension);
    for (name, value) in &order.server.environment {
        launch.set(name, value.clone());
    }
    let policy = launch.write(order, "policy.toml", policy(order.permissions))?;
    launch.say(&["-o", "stream-json", "--policy", &policy]);
    if let Some(conversation) = &order.resume {
        launch.say(&["--resume", conversation]);
    }
    let spoken = launch.write(order, "message.md", order.spoken())?;
    launch.input = ProgramInput::File(spoken.into());
    Ok(())
}

/// Returns Gemini's approval mode for the agent's permissions. Over the Agent Client Protocol (ACP), Gemini asks before
/// it uses a tool that the mode does not allow, and `acp::covers` answers. Without ACP, Gemini does not offer such a
/// tool to the model.
fn mode(permissions: Permissions) -> &'static str {
    match permissions {
        Permissions::Read => "default",
        Permissions::Edit => "auto_edit",
        Permissions::All => "yolo",
    }
}

/// Returns the manifest of the extension that defines Handover's MCP server. When Gemini starts, it replaces each
/// `$NAME` by the value of that variable in its environment.
fn manifest(server: &McpServerLaunch) -> String {
    let environment: serde_json::Map<_, _> =
        server.environment.iter().map(|(name, _)| (name.clone(), format!("${name}").into())).collect();
    let entry = json!({"command": server.program, "args": server.arguments, "env": environment});
    json!({"name": McpServerLaunch::NAME, "version": "1.0.0", "mcpServers": {McpServerLaunch::NAME: entry}}).to_string()
}

/// Returns the content of Gemini's policy file. It allows tools in addition to the tools that the approval mode allows.
fn policy(permissions: Permissions) -> String {
    let ours = format!("[[rule]]\nmcpName = \"{}\"\ntoolName = \"*\"\n{ALLOW}", McpServerLaunch::NAME);
    match permissions {
        Permissions::Read => ours,
        Permissions::Edit | Permissions::All => {
            format!("{ours}\n[[rule]]\ntoolName = \"run_shell_command\"\n{ALLOW}")
        }
    }
}

const ALLOW: &str = "decision = \"allow\"\npriority = 500\n";
