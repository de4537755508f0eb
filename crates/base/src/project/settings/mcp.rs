//! The `[mcp]` section of the settings: the clients that may act as coordinators and not only as agents.

use serde::Deserialize;

/// The `[mcp]` section of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpSettings {
    /// The names of the clients that may use `handover mcp --as coordinator`. A client sends its name in `clientInfo`.
    #[serde(default)]
    pub coordinators: Vec<String>,
}

impl McpSettings {
    pub(super) fn problem(&self) -> Option<String> {
        let blank = self.coordinators.iter().any(|name| name.trim().is_empty());
        blank.then(|| "mcp.coordinators: a name is blank; write the client's name, such as \"claude-code\"".to_owned())
    }
}
