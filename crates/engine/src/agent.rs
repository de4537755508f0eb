//! An agent: one registration of one program, its roles and its signs of life.
//!
//! Whether it is busy, and with what, is not stored: the leases say it. Whether it is online is not stored either: the
//! time of its last sign of life says it.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, SessionId, WorkflowId};
use crate::json::Json;
use crate::limits;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub id: AgentId,
    /// Unique; the name of its mailbox and topic.
    pub slug: String,
    pub name: String,
    pub runtime: String,
    pub role: String,
    pub capabilities: Vec<String>,
    pub workflow: Option<WorkflowId>,
    pub workspace_path: Option<String>,
    pub metadata: Option<Json>,
    /// Its home: the connection that registered it last. None when that connection has ended.
    pub session: Option<SessionId>,
    /// The user or token that registered it last, which may resume it when its home is dead. Unknown for agents of
    /// version 0.1.0.
    #[serde(default)]
    pub principal: Option<String>,
    /// When it registered last.
    #[serde(default)]
    pub registered: Timestamp,
    /// Where in its client it lives.
    #[serde(default)]
    pub origin: Origin,
    /// The last sign of life that was stored.
    pub seen: Timestamp,
    /// Final: who left comes back as another agent.
    pub left: Option<Timestamp>,
    pub created: Timestamp,
    pub updated: Timestamp,
}

/// Where in its client an agent lives, in the client's own names. Its hooks are told the same ones, which joins the two.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The client's session.
    pub conversation: Option<String>,
    /// The client's sub-agent; none for the conversation itself.
    pub part: Option<String>,
    /// The call by which it registered last.
    pub call: Option<String>,
}

/// What an agent says of itself when it registers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewed {
    pub runtime: String,
    pub role: Option<String>,
    pub capabilities: Vec<String>,
}

/// What others are told of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    Online,
    Busy,
    Offline,
}

impl Agent {
    /// Returns whether others see the agent as offline: its home is gone, or no process here watches its home and three
    /// heartbeats are missing. This moves nothing and ends nothing.
    pub fn is_silent(&self, alive: &[SessionId], now: Timestamp) -> bool {
        match self.session {
            _ if self.left.is_some() => true,
            Some(home) if alive.contains(&home) => false,
            // Its connection ended. An agent of version 0.1.0 has no principal, and its last sign of life decides.
            None if self.principal.is_some() => true,
            None | Some(_) => self.seen + limits::OFFLINE_MS <= now,
        }
    }

    pub fn presence(&self, holds_tasks: bool, alive: &[SessionId], now: Timestamp) -> Presence {
        match (self.is_silent(alive, now), holds_tasks) {
            (true, _) => Presence::Offline,
            (false, true) => Presence::Busy,
            (false, false) => Presence::Online,
        }
    }

    /// An open connection counts as life, whatever the clock says of the lease. The door that names it has counted for
    /// how long it may be silent, because only a process can tell waking hours from a sleeping machine.
    pub fn is_kept_alive(&self, alive: &[SessionId]) -> bool {
        self.left.is_none() && self.session.is_some_and(|session| alive.contains(&session))
    }

    pub fn can_do(&self, role: Option<&str>, capabilities: &[String]) -> bool {
        role.is_none_or(|role| role == self.role)
            && capabilities.iter().all(|capability| self.capabilities.contains(capability))
    }
}

/// A name made a slug: letters and digits in lower case, everything else a dash.
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

/// Senders that are not agents must stay tellable from agents.
pub fn is_reserved(slug: &str) -> bool {
    ["system", "human", "runner", "coordinator", "exec"].contains(&slug)
}

/// `^[a-z0-9][a-z0-9_-]{0,63}$`
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
