//! An agent: one registration of one program, with its role and its signs of life.
//!
//! The store has no field for "busy": the leases of tasks show which tasks an agent holds. The store has no field for
//! "online" either: the time of the agent's last sign of life shows whether the agent is online.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, SessionId, WorkflowId};
use crate::json::Json;
use crate::limits;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub id: AgentId,
    /// The short name of the agent, for example `reviewer-2`. It is unique. The agent's mailbox and the agent's log
    /// have the same name.
    pub slug: String,
    pub name: String,
    pub runtime: String,
    pub role: String,
    pub capabilities: Vec<String>,
    pub workflow: Option<WorkflowId>,
    pub workspace_path: Option<String>,
    pub metadata: Option<Json>,
    /// The agent's home, which is the connection that registered the agent last. `None` when that connection has
    /// ended.
    pub session: Option<SessionId>,
    /// The principal of the agent, that is, the user, token or runner that registered it last. The same principal may
    /// resume the agent after the agent's connection has died. `None` for agents that Handover 0.1.0 stored.
    #[serde(default)]
    pub principal: Option<String>,
    /// The time of the agent's last registration.
    #[serde(default)]
    pub registered: Timestamp,
    /// The identity of the agent inside its client (for example Claude Code): the names that the client itself uses for
    /// the conversation, the sub-agent and the call.
    #[serde(default)]
    pub origin: Origin,
    /// The time of the last sign of life that was stored. A sign of life is not stored when another one was stored
    /// shortly before.
    pub seen: Timestamp,
    /// The time at which the agent unregistered, or `None` while it is registered. A later registration of its program
    /// with this agent's own token registers this agent again. A later registration without the token creates another
    /// agent.
    pub left: Option<Timestamp>,
    pub created: Timestamp,
    pub updated: Timestamp,
}

/// The identity of an agent inside its client (for example Claude Code), by the names that the client itself uses. The
/// client's hooks report the same names, so Handover knows which agent a hook's report is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The client's name for its session, which is the conversation that the agent belongs to. `None` when the client
    /// did not report it.
    pub conversation: Option<String>,
    /// The client's name for the sub-agent, when this agent is a sub-agent of the conversation. Otherwise `None`.
    pub part: Option<String>,
    /// The client's id of the call by which the agent registered last. `None` when the client did not report it.
    pub call: Option<String>,
}

/// The new values of an agent that registers again with its own token. They replace the stored values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewed {
    pub runtime: String,
    pub role: Option<String>,
    pub capabilities: Vec<String>,
}

/// An agent's presence (online, busy or offline), as other agents and people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentPresence {
    Online,
    Busy,
    Offline,
}

impl Agent {
    /// Returns true when other agents and people see the agent as offline. An agent is offline when it has
    /// unregistered, when its connection has ended, or when its connection is not in `alive` and its last stored sign
    /// of life is older than `OFFLINE_MS`. An offline agent keeps its tasks.
    pub fn is_silent(&self, alive: &[SessionId], now: Timestamp) -> bool {
        match self.session {
            _ if self.left.is_some() => true,
            Some(home) if alive.contains(&home) => false,
            // `None` means that the agent's connection has ended, so the agent is offline. The exception is an agent
            // that Handover 0.1.0 stored, because that version stored no principal (user or token). For such an agent,
            // the time of the last sign of life decides.
            None if self.principal.is_some() => true,
            None | Some(_) => self.seen + limits::OFFLINE_MS <= now,
        }
    }

    pub fn presence(&self, holds_tasks: bool, alive: &[SessionId], now: Timestamp) -> AgentPresence {
        match (self.is_silent(alive, now), holds_tasks) {
            (true, _) => AgentPresence::Offline,
            (false, true) => AgentPresence::Busy,
            (false, false) => AgentPresence::Online,
        }
    }

    /// Returns true when the agent is registered and its connection is in `alive` (the live connections). Such an agent
    /// keeps its task, even when the lease of the task has expired by the clock. The process that serves the connection
    /// decides how long the agent may be silent, because that process does not count the time in which the machine
    /// slept.
    pub fn is_kept_alive(&self, alive: &[SessionId]) -> bool {
        self.left.is_none() && self.session.is_some_and(|session| alive.contains(&session))
    }

    pub fn can_do(&self, role: Option<&str>, capabilities: &[String]) -> bool {
        role.is_none_or(|role| role == self.role)
            && capabilities.iter().all(|capability| self.capabilities.contains(capability))
    }
}

/// Turns an agent's name into a slug, which begins and ends with a letter or a digit. ASCII letters (in lower case),
/// digits and underscores are kept, and one dash replaces each run of other characters.
pub fn slug_of(name: &str) -> String {
    let mut slug = String::new();
    for character in name.chars().flat_map(char::to_lowercase) {
        if character.is_ascii_alphanumeric() || (character == '_' && !slug.is_empty()) {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == limits::SLUG_CHARS_MAX {
            break;
        }
    }
    let slug = slug.trim_end_matches(['-', '_']);
    if slug.is_empty() || is_reserved(slug) {
        return format!("agent-{slug}").trim_end_matches('-').to_owned();
    }
    slug.to_owned()
}

/// Returns true when the slug is reserved for a sender that is not an agent, for example `system`. An agent with a
/// reserved slug could be confused with that sender.
pub fn is_reserved(slug: &str) -> bool {
    ["system", "human", "runner", "coordinator", "exec"].contains(&slug)
}

/// Returns true when the text is a slug, the short name of an agent: it must match `^[a-z0-9][a-z0-9_-]{0,63}$`.
pub fn is_slug(text: &str) -> bool {
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let rest = text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
    first && rest && text.len() <= limits::SLUG_CHARS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_slugs() {
        let cases = [
            ("worker-1", "worker-1"),
            ("Quinn O'Hara", "quinn-o-hara"),
            ("  --a__b--  ", "a__b"),
            ("日本", "agent"),
            ("human", "agent-human"),
            ("Étoile", "toile"),
        ];
        for (name, slug) in cases {
            assert_eq!(slug_of(name), slug, "{name}");
            assert!(is_slug(&slug_of(name)), "{name}");
        }
        assert!(is_slug(&slug_of(&"x".repeat(500))));
    }
}
