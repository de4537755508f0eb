//! Gathers what `handover init` shows: the project, and the agents with their versions and logins.

use std::path::{Path, PathBuf};

use base::project::detect::clients::{InstalledClient, KnownClient, installed_clients, known_clients};
use base::project::detect::login::{ClientState, LoginState, ask_clients_here};
use base::project::detect::{DetectedLanguage, DetectedProject};
use base::project::settings::team::AgentSettings;
use base::project::team::find_agent_program;
use base::project::trust::TrustView;
use git::facts::CheckoutFacts;

/// The facts about a project that `handover init` shows. The setup and check commands are not here; they are in the
/// settings that the person accepts.
#[derive(Debug)]
pub(super) struct FoundProject {
    pub(super) name: String,
    pub(super) languages: Vec<DetectedLanguage>,
    pub(super) branch: Option<String>,
    pub(super) commit: String,
    pub(super) agents: Vec<FoundAgent>,
    /// The check that exists in the repository's root but is not used, because Handover uses the check of a subfolder.
    /// `None` otherwise.
    pub(super) root_check: Option<String>,
    /// The reason why no check was found.
    pub(super) no_check: Option<String>,
    /// The installed clients that Handover does not use as agents, because the settings files name other agents.
    pub(super) further_clients: Vec<String>,
    /// The path of the folder with the agents' worktrees, in the form that a person types.
    pub(super) worktrees: String,
}

/// An agent of the settings, with the version and the login that its program reports.
#[derive(Debug)]
pub(super) struct FoundAgent {
    pub(super) settings: AgentSettings,
    pub(super) state: AgentState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AgentState {
    /// The program is a client that can be asked for its version.
    Client(ClientState),
    /// The program is not a client that can be asked for its version.
    Program,
    /// The program is not on this machine, so a run does not use the agent.
    Missing,
}

impl FoundProject {
    pub(super) async fn look(
        (root, data): (&Path, &Path),
        (checkout, project): (&CheckoutFacts, DetectedProject),
        view: &TrustView,
    ) -> Self {
        let team = &view.written.team;
        let agents = agents(root, &team.agents).await;
        let is_agent = |client: &InstalledClient| {
            team.agents.iter().any(|agent| agent.command.first() == client.client.command.first())
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let installed = installed_clients(&path, known_clients());
        let worktrees = view.written.worktrees.as_ref().map_or_else(|| data.join("handover"), |path| root.join(path));
        Self {
            name: root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            languages: project.languages,
            branch: checkout.branch.clone(),
            commit: checkout.short_commit.clone(),
            agents,
            root_check: project.elsewhere.map(|check| check.to_string()),
            no_check: project.no_check.map(|reason| reason.to_string()),
            further_clients: installed.into_iter().filter(|one| !is_agent(one)).map(|one| one.client.name).collect(),
            worktrees: short_path(&worktrees),
        }
    }
}

/// Asks the programs of all agents for their versions and logins, all at the same time.
async fn agents(root: &Path, agents: &[AgentSettings]) -> Vec<FoundAgent> {
    let path = std::env::var_os("PATH");
    let program = |agent: &AgentSettings| find_agent_program(root, agent.command.first()?, path.as_deref());
    let programs: Vec<Option<PathBuf>> = agents.iter().map(program).collect();
    let asked: Vec<InstalledClient> = agents
        .iter()
        .zip(&programs)
        .filter_map(|(agent, program)| {
            Some(InstalledClient { client: client_of(agent)?.clone(), program: program.clone()? })
        })
        .collect();
    let mut states = ask_clients_here(&asked).await.into_iter();
    let mut found = Vec::new();
    for (agent, program) in agents.iter().zip(programs) {
        let state = match (program, client_of(agent)) {
            (None, _) => AgentState::Missing,
            (Some(_), None) => AgentState::Program,
            (Some(_), Some(_)) => {
                AgentState::Client(states.next().unwrap_or(ClientState { version: None, login: LoginState::Unknown }))
            }
        };
        found.push(FoundAgent { settings: agent.clone(), state });
    }
    found
}

/// Returns the known client that has the name of the agent's program and the adapter of the agent.
fn client_of(agent: &AgentSettings) -> Option<&'static KnownClient> {
    let program = Path::new(agent.command.first()?).file_name()?.to_str()?;
    known_clients().iter().find(|client| client.name == program && client.adapter == agent.adapter)
}

/// Returns a path as a person types it, with `~` for the home folder.
fn short_path(path: &Path) -> String {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}
