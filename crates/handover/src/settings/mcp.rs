//! `[mcp]`: which clients may do more than an agent.

use std::path::Path;

use serde::Deserialize;

use crate::trust::Untrusted;
use crate::{office, trust};

/// `[mcp]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpSettings {
    /// Clients for which `handover mcp --as coordinator` works, by the name they give in `clientInfo`.
    #[serde(default)]
    pub coordinators: Vec<String>,
}

impl McpSettings {
    pub(super) fn problem(&self) -> Option<String> {
        let blank = self.coordinators.iter().any(|name| name.trim().is_empty());
        blank.then(|| "mcp.coordinators: a name is blank; write the client's name, such as \"claude-code\"".to_owned())
    }
}

/// Returns the clients that a person lets act as coordinators. This is the one place that is asked, so what was accepted
/// decides here.
pub fn accepted_coordinators(root: Option<&Path>) -> Result<Vec<String>, Untrusted> {
    let Some(root) = root else { return Ok(Vec::new()) };
    Ok(trust::basics(root, office::data_folder().as_deref())?.mcp.coordinators)
}
