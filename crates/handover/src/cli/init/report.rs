//! The findings and the written files of `handover init`, as JSON for programs.

use base::project::detect::login::{ClientState, LoginState};
use base::project::settings::{SetupCommand, VerifyCheck};
use base::project::trust::TrustView;
use serde_json::{Value, json};

use super::ShownFile;
use super::found::{AgentState, FoundAgent, FoundProject};

/// Returns everything that was found and written, for programs.
pub(super) fn json(found: &FoundProject, view: &TrustView, files: &[ShownFile]) -> Value {
    let team = &view.written.team;
    let names =
        |kept: bool| -> Vec<&String> { files.iter().filter(|file| file.kept == kept).map(|file| &file.name).collect() };
    let setup =
        |setup: &SetupCommand| json!({"command": setup.command, "folder": setup.folder, "inputs": setup.inputs});
    let check = |check: &VerifyCheck| json!({"command": check.command, "folder": check.folder});
    json!({
        "root": view.path,
        "branch": found.branch,
        "commit": found.commit,
        "languages": found.languages.iter().map(|found| found.language.name()).collect::<Vec<_>>(),
        "agents": found.agents.iter().map(agent_json).collect::<Vec<_>>(),
        "setup": team.worktree.setup.iter().map(setup).collect::<Vec<_>>(),
        "checks": team.verify.checks.iter().map(check).collect::<Vec<_>>(),
        "no_check": found.no_check.as_ref().filter(|_| team.verify.checks.is_empty()),
        "copy": team.worktree.copy,
        "written": names(false),
        "kept": names(true),
        "trusted": view.is_trusted(),
        "sha256": view.list.sha256(),
    })
}

fn agent_json(agent: &FoundAgent) -> Value {
    let (name, command) = (&agent.settings.slug, &agent.settings.command);
    let (version, login, hint) = match &agent.state {
        AgentState::Client(ClientState { version, login: LoginState::NotLoggedIn { hint } }) => {
            (version.as_ref(), "not_logged_in", Some(hint))
        }
        AgentState::Client(state) => (state.version.as_ref(), login_word(&state.login), None),
        AgentState::Program => (None, "unknown", None),
        AgentState::Missing => (None, "not_installed", None),
    };
    json!({"name": name, "command": command, "version": version, "login": login, "log_in_with": hint})
}

fn login_word(login: &LoginState) -> &'static str {
    match login {
        LoginState::LoggedIn => "logged_in",
        LoginState::NotLoggedIn { .. } => "not_logged_in",
        LoginState::Unknown => "unknown",
    }
}
