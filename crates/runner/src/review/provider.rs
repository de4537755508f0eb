//! Finds the agent that reviews, called the provider, in the settings.

use std::path::{Path, PathBuf};

use wire::feedback::is_listed;

use base::project::effective;
use base::project::settings::{self, team};
use base::project::team::{NotReady, Team, TeamMember};
use base::project::trust;

/// An agent that can be asked for a review, with its limits.
#[derive(Debug, Clone)]
pub struct Provider {
    pub member: TeamMember,
    pub limits: team::LimitSettings,
    pub environment: settings::EnvironmentSettings,
}

/// The reason why no agent can be asked for a review.
#[derive(Debug, thiserror::Error)]
pub enum NoProvider {
    #[error("there is no project here; run `handover init` in its root, then name agents in .handover/config.toml")]
    NoProject,
    #[error(transparent)]
    Untrusted(#[from] trust::Untrusted),
    #[error("PROVIDER_UNKNOWN there is no agent or role `{named}` in .handover/config.toml; use one of {}", list(.known))]
    Unknown { named: String, known: Vec<String> },
    #[error(transparent)]
    NotReady(#[from] NotReady),
}

fn list(known: &[String]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}

impl Provider {
    /// Returns the agent whose slug (short name) is `named`, else the first agent with the role `named`. Fails unless a
    /// person has accepted the commands of the agent.
    pub fn find(root: Option<&Path>, data: Option<&Path>, named: &str) -> Result<Self, NoProvider> {
        let root = root.ok_or(NoProvider::NoProject)?;
        let mut settings = trust::require_with(root, data, &effective::find_here(root))?.settings.team;
        let known = settings.agents.iter().map(|agent| agent.slug.clone()).collect();
        let Some(slug) = slug(&settings, named, None) else {
            return Err(NoProvider::Unknown { named: named.to_owned(), known });
        };
        settings.agents.retain(|agent| agent.slug == slug);
        let team = Team::gather(root, &settings, std::env::var_os("PATH").as_deref())?;
        let unknown = || NoProvider::Unknown { named: named.to_owned(), known };
        let member = team.members.into_iter().next().ok_or_else(unknown)?;
        Ok(Self { member, limits: settings.limits, environment: settings.environment })
    }

    pub fn slug(&self) -> &str {
        &self.member.settings.slug
    }

    pub fn takes(&self, media_type: &str) -> bool {
        is_listed(media_type, self.member.settings.media_types.iter().map(String::as_str))
    }

    /// Returns the home folder in which the reviewer's program keeps its own files.
    pub fn home(&self, state: &Path) -> agents::adapter::ProgramHome {
        match self.member.settings.home {
            team::HomeSettings::User => agents::adapter::ProgramHome::User,
            team::HomeSettings::Own => agents::adapter::ProgramHome::Own(homes(state).join(&self.member.settings.slug)),
        }
    }
}

fn homes(state: &Path) -> PathBuf {
    state.join("homes")
}

/// Returns the slug (short name) that an agent has in the settings, from its slug in the store. The two differ for an
/// agent with several roles, which registers as `slug-role` in the store.
pub fn own_slug(settings: &settings::TeamSettings, worker: &str) -> String {
    let own = settings.agents.iter().find(|agent| {
        worker == agent.slug || agent.roles.iter().any(|role| worker == format!("{}-{role}", agent.slug))
    });
    own.map_or_else(|| worker.to_owned(), |agent| agent.slug.clone())
}

/// Returns true when the settings name an agent that can review.
pub fn can_review(root: Option<&Path>) -> bool {
    settings::read(root).is_ok_and(|found| found.team.agents.iter().any(|agent| !agent.media_types.is_empty()))
}

/// Returns the slug (short name) of the agent that `named` means, or `None` when there is no such agent. `named` is
/// `roles.NAME`, a slug or a role. Skips the agent `but`, because an agent does not review its own work.
pub fn slug(settings: &settings::TeamSettings, named: &str, but: Option<&str>) -> Option<String> {
    let others = || settings.agents.iter().filter(|agent| Some(agent.slug.as_str()) != but);
    let by_role = |role: &str| others().find(|agent| agent.roles.iter().any(|own| own == role));
    let found = match named.strip_prefix("roles.") {
        Some(role) => by_role(role),
        None => others().find(|agent| agent.slug == named).or_else(|| by_role(named)),
    };
    found.map(|agent| agent.slug.clone())
}

/// Returns the slug (short name) of the agent that reviews this worker's work, when the plan names `named` as the
/// reviewer.
pub fn reviewer_of(settings: &settings::TeamSettings, named: &str, worker: &str) -> Option<String> {
    slug(settings, named, Some(&own_slug(settings, worker)))
}
