//! Selects the lines of the trust list that the screen of `handover init` does not already show. That screen has rows
//! of its own for agents, setup, checks and copied files.

use super::{TrustItem, TrustList};
use crate::project::detect::clients::known_clients;
use crate::project::settings::DetectedAgent;
use crate::project::settings::team::{AgentSettings, TeamSettings};
use agents::adapter::AdapterKind;

/// The keys of the settings that the screen of `handover init` already shows in words of its own.
const SHOWN: &[&str] =
    &["worktree.setup.command", "worktree.copy", "verify.checks.command", "verify.checks.when", "limits.usd"];
/// The keys of items that are part of a command: the content of its scripts, and its time limit. They get no line,
/// because the screen already shows the command.
const PARTS: &[&str] = &[super::super::SCRIPT, "worktree.setup.seconds", "verify.checks.seconds"];

impl TrustList {
    /// Returns the lines about everything but plain agents, setup, checks and copied files, which the screen of
    /// `handover init` already shows. A plain agent is a known client, or another program, without further settings.
    pub fn further_lines(&self, team: &TeamSettings) -> Vec<String> {
        let plain: Vec<&str> =
            team.agents.iter().filter(|agent| is_plain(agent)).map(|agent| agent.slug.as_str()).collect();
        let is_of_plain = |item: &TrustItem| {
            let slug = item.subject.split(' ').next().unwrap_or_default();
            item.key.starts_with("agent.") && plain.contains(&slug)
        };
        let is_further = |item: &&TrustItem| {
            !item.is_default && !SHOWN.contains(&item.key) && !PARTS.contains(&item.key) && !is_of_plain(item)
        };
        self.0.iter().filter(is_further).map(|item| item.text.clone()).collect()
    }
}

fn is_plain(agent: &AgentSettings) -> bool {
    let AgentSettings { slug, adapter, command, max_parallel, .. } = agent.clone();
    let is_known = adapter == AdapterKind::Exec
        || known_clients().iter().any(|client| client.adapter == adapter && client.command == command);
    let bare = DetectedAgent { slug, adapter, command, max_parallel }.settings();
    // These settings neither run anything nor widen access.
    let free = AgentSettings {
        roles: agent.roles.clone(),
        capabilities: agent.capabilities.clone(),
        persona: agent.persona.clone(),
        media_types: agent.media_types.clone(),
        output: agent.output,
        surfaces: agent.surfaces.clone(),
        source: agent.source,
        ..bare
    };
    is_known && free == *agent
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::super::script::ScriptMarks;
    use super::*;
    use crate::project::settings::SettingsFiles;

    #[test]
    fn only_settings_that_no_row_shows_are_further_lines() {
        let client = "[[agent]]\nslug = \"c\"\nadapter = \"claude\"\ncommand = [\"claude\"]\n";
        let rows: [(String, &[&str]); 5] = [
            (client.to_owned(), &[]),
            (
                format!(
                    "{client}roles = [\"developer\"]\n[limits]\nusd = 9.0\n[verify]\nchecks = [{{ command = [\"a\"] }}]\n"
                ),
                &[],
            ),
            (
                "[[agent]]\nslug = \"b\"\nadapter = \"exec\"\ncommand = [\"./b\"]\n[notify]\ncommand = [\"say\"]\n"
                    .to_owned(),
                &["notify: say"],
            ),
            (format!("{client}permissions = \"all\"\n"), &["agent c: claude", "agent c: permissions all"]),
            (
                "[[agent]]\nslug = \"c\"\nadapter = \"claude\"\ncommand = [\"claude\", \"--yolo\"]\n".to_owned(),
                &["agent c: claude --yolo"],
            ),
        ];
        for (config, expected) in rows {
            let files = SettingsFiles { config, ..SettingsFiles::default() };
            let settings = files.settings(Path::new("/x")).unwrap();
            let lines = TrustList::of(&settings, None, &ScriptMarks::default()).further_lines(&settings.team);
            for line in expected {
                assert!(lines.iter().any(|found| found == line), "{line}: {lines:#?}");
            }
            assert_eq!(lines.is_empty(), expected.is_empty(), "{lines:#?}");
        }
    }
}
