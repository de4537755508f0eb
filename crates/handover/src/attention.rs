//! Collects facts about a project that are not in its store. Handover needs them to list the items that need a person.

use std::path::Path;

use base::people::attention::AttentionSurroundings;
use base::people::untaken;
use base::project::trust::{self, TrustView};

/// Returns the settings that a person has not accepted yet, the skills of the agents in the settings, and the home
/// folder. `data` is the user's data folder, in which Handover records the accepted settings.
pub fn surroundings(root: Option<&Path>, data: Option<&Path>) -> AttentionSurroundings {
    let view = root.and_then(|root| trust::view(root, data).ok());
    let agents = view.as_ref().map(|view| view.settings.team.agents.as_slice()).unwrap_or_default();
    AttentionSurroundings {
        unaccepted: view.as_ref().map(TrustView::waiting).unwrap_or_default(),
        skills: untaken::skills_of(agents),
        home: std::env::home_dir(),
    }
}
