//! Finds the agent for a command that an agent client, such as Claude Code, started. The command acts as the agent that
//! this client registered.

use engine::id::{AgentId, SessionId};
use engine::world::AgentIdNeed;
use engine::{Need, Rights};
use wire::lifecycle::ToolError;

use super::Visitor;
use crate::below::{AgentSign, BelowAgent};
use agents::host::TURN;
use base::error::Error;
use base::service::Service;

/// The agents that are registered by the client that started this command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientAgents {
    /// The client's connection. `None` when the client has several connections or none.
    session: Option<SessionId>,
    /// The agents that the client registered, each with its slug (its short name).
    agents: Vec<(AgentId, String)>,
    /// The reason why the command counts as started by an agent, such as an environment variable.
    sign: AgentSign,
}

impl ClientAgents {
    /// Finds the agents that are registered on the connections of the client that started this command.
    pub async fn find(service: &Service, below: &BelowAgent) -> Result<Self, Error> {
        let sessions = below.sessions.clone();
        let session = if let [only] = sessions.as_slice() { Some(*only) } else { None };
        let agents = service.view(move |world| {
            world.want(sessions.iter().map(|session| AgentIdNeed::OfSession(*session)))?;
            let mut found: Vec<AgentId> = Vec::new();
            for session in &sessions {
                found.extend(world.ask(&AgentIdNeed::OfSession(*session))?);
            }
            world.want(found.iter().map(|agent| Need::Agent(*agent)))?;
            let mut living = Vec::new();
            for id in found {
                let agent = world.agent(id)?;
                if agent.left.is_none() {
                    living.push((id, agent.slug.clone()));
                }
            }
            Ok(living)
        });
        Ok(Self { session, agents: agents.await?, sign: below.sign.clone() })
    }

    /// Returns the client's agent when the client has exactly one agent. Otherwise returns a refusal. The refusal lists
    /// the client's agents or, if there are none, says how to register an agent.
    pub fn only(&self) -> Result<AgentId, ToolError> {
        match self.agents.as_slice() {
            [(only, _)] => Ok(*only),
            several => Err(required(several, &self.sign)),
        }
    }

    /// Tells whether an agent belongs to the client that started this command.
    pub fn has(&self, agent: AgentId) -> bool {
        self.agents.iter().any(|(known, _)| *known == agent)
    }

    /// Returns the caller for `Desk::call`. The caller has an agent's rights and uses the client's connection.
    pub fn visitor(&self) -> Visitor {
        let agent = self.only().ok();
        let owner = agent.map_or_else(|| "below an agent".to_owned(), |agent| agent.to_string());
        Visitor { rights: Rights::Agent, session: self.session, agent, owner, ..Visitor::person() }
    }
}

/// Returns the refusal for a call that must name its agent. The refusal lists the client's agents or, if there are
/// none, says how to register an agent.
fn required(agents: &[(AgentId, String)], sign: &AgentSign) -> ToolError {
    let names = agents.iter().map(|(_, slug)| slug.as_str()).collect::<Vec<_>>().join(", ");
    let (message, suggestion) = if agents.is_empty() {
        let turn = match sign {
            AgentSign::Mark(TURN) => ", but this process belongs to no turn of the runner",
            AgentSign::Mark(_)
            | AgentSign::TurnHost { .. }
            | AgentSign::OurGit { .. }
            | AgentSign::KnownClient { .. }
            | AgentSign::McpClient { .. } => "",
        };
        let message = format!(
            "an agent's client started this command, and this client has registered no agent \
            ({sign}{turn})"
        );
        (
            message,
            "register with the tool agent_register of the MCP server handover, then run this command again".to_owned(),
        )
    } else {
        let message = format!("the client that started this command has registered several agents: {names}");
        (message, "name one of them with --agent-id".to_owned())
    };
    ToolError { code: "AGENT_REQUIRED", message, recoverable: true, suggestion, details: None }
}
