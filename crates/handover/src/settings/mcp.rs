//! The `[mcp]` section: the clients that may do more than an agent.

use serde::Deserialize;

/// The `[mcp]` section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpSettings {
    /// The clients for which `handover mcp --as coordinator` works, by the name in their `clientInfo`.
    #[serde(default)]
    pub coordinators: Vec<String>,
}

impl McpSettings {
    pub(super) fn problem(&self) -> Option<String> {
        let blank = self.coordinators.iter().any(|name| name.trim().is_empty());
        blank.then(|| "mcp.coordinators: a name is blank; write the client's name, such as \"claude-code\"".to_owned())
    }
}
