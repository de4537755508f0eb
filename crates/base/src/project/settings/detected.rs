//! The values that apply where the settings files have none: the installed agent programs, and the setup commands and
//! the check that the files of the repository show. The module `project::effective` finds these values.

use agents::adapter::{AdapterKind, Permissions};
use serde::{Deserialize, Serialize};

use super::team::{AgentSettings, HomeSettings, texts};
use super::{SettingSource, Settings, SetupCommand, VerifyCheck};

/// The values that Handover found on this machine and in the files of the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetectedDefaults {
    pub agents: Vec<DetectedAgent>,
    pub setup: Vec<SetupCommand>,
    pub checks: Vec<VerifyCheck>,
    /// The patterns in `.worktreeinclude`. They count in addition to `copy` in the settings files.
    pub copy: Vec<String>,
}

/// An installed agent program that is used as an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetectedAgent {
    pub slug: String,
    pub adapter: AdapterKind,
    pub command: Vec<String>,
    pub max_parallel: u32,
}

impl DetectedDefaults {
    /// Sets each value that no settings file has to the detected value.
    pub(super) fn fill(&self, settings: &mut Settings) {
        let team = &mut settings.team;
        if team.agents.is_empty() {
            team.agents = self.agents.iter().map(DetectedAgent::settings).collect();
        }
        let source = |is_empty: bool| if is_empty { SettingSource::Default } else { SettingSource::Detected };
        if team.worktree.setup_source == SettingSource::Default {
            team.worktree.setup.clone_from(&self.setup);
            team.worktree.setup_source = source(self.setup.is_empty());
        }
        if team.verify.checks_source == SettingSource::Default {
            team.verify.checks.clone_from(&self.checks);
            team.verify.checks_source = source(self.checks.is_empty());
        }
        if team.worktree.copy_source == SettingSource::Default {
            team.worktree.copy_source = source(self.copy.is_empty());
        }
        let written = std::mem::take(&mut team.worktree.copy);
        team.worktree.copy = self.copy.iter().cloned().chain(written).collect();
    }
}

impl DetectedAgent {
    pub(in crate::project) fn settings(&self) -> AgentSettings {
        let Self { slug, adapter, command, max_parallel } = self.clone();
        AgentSettings {
            slug,
            adapter,
            command,
            max_parallel,
            args: Vec::new(),
            model: None,
            roles: Vec::new(),
            capabilities: Vec::new(),
            persona: None,
            media_types: texts(),
            permissions: Permissions::Edit,
            output: None,
            writable_sections: Vec::new(),
            readable_sections: None,
            plans: false,
            home: HomeSettings::User,
            env: std::collections::BTreeMap::new(),
            keys: None,
            surfaces: Vec::new(),
            works: None,
            source: SettingSource::Detected,
        }
    }
}
