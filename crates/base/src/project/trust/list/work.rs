//! Lists the items that a person accepts about the work of agents: setup commands, copied files, checks, environment
//! variables, and the tasks and API keys of an agent.

use serde_json::json;

use super::{AcceptedItems, ItemOrder, TrustItem, shown};
use crate::project::settings::team::{AgentSettings, COMMAND_SECONDS_DEFAULT};
use crate::project::settings::{
    CheckMoment, EnvironmentSettings, RecheckRule, SettingSource, SetupCommand, TeamSettings, VerifyCheck,
    VerifySettings, WorktreeSettings,
};

impl AcceptedItems {
    pub(super) fn worktree(&mut self, worktree: &WorktreeSettings) {
        for setup in &worktree.setup {
            let SetupCommand { command, seconds, folder, .. } = setup;
            let name = format!("setup: {}", placed(command, folder));
            let subject = json!([folder, command]).to_string();
            self.add(("worktree.setup.command", &subject), json!(command), name.clone(), ItemOrder::Fixed);
            self.seconds(("worktree.setup.seconds", subject), &name, *seconds);
        }
        // With a pattern such as `!secret.env`, the order of the patterns matters, and removing one pattern can choose
        // more files. Therefore a person accepts all patterns as one item.
        if worktree.copy.iter().any(|pattern| pattern.starts_with('!')) {
            let text = format!("copy: {}", worktree.copy.join(", "));
            self.add(("worktree.copy", ""), json!(worktree.copy), text, ItemOrder::Fixed);
        } else {
            for pattern in &worktree.copy {
                self.grant("worktree.copy", pattern, json!(pattern), format!("copy: {pattern}"));
            }
        }
        let default = WorktreeSettings::default().slots_per_turn;
        let slots = worktree.slots_per_turn;
        self.bound("worktree.slots_per_turn", "worktrees for each turn", Some(slots.into()), Some(default.into()));
    }

    pub(super) fn verify(&mut self, verify: &VerifySettings) {
        for check in &verify.checks {
            let VerifyCheck { command, seconds, when, folder } = check;
            let name = format!("check: {}", placed(command, folder));
            let subject = json!([folder, command]).to_string();
            self.add(("verify.checks.command", &subject), json!(command), name.clone(), ItemOrder::Fixed);
            self.seconds(("verify.checks.seconds", subject.clone()), &name, *seconds);
            let (word, rank) = moment_rank(*when);
            let (value, text) = (json!(rank), format!("{name} runs {word}"));
            let (is_default, order) = (*when == CheckMoment::default(), ItemOrder::Bound(rank));
            self.0.push(TrustItem {
                key: "verify.checks.when",
                subject,
                value,
                text,
                is_default,
                source: SettingSource::File,
                order,
            });
        }
        let default = VerifySettings::default();
        let bound = |number: u32| Some(f64::from(number));
        self.bound("verify.retries", "retries of a failed check", bound(verify.retries), bound(default.retries));
        self.bound("verify.parallel", "checks at once", bound(verify.parallel), bound(default.parallel));
        let (word, rank) = recheck_rank(verify.recheck);
        let (value, text) = (json!(rank), format!("check again after a merge: {word}"));
        let (is_default, order) = (verify.recheck == default.recheck, ItemOrder::Bound(rank));
        self.0.push(TrustItem {
            key: "verify.recheck",
            subject: String::new(),
            value,
            text,
            is_default,
            source: SettingSource::File,
            order,
        });
    }

    pub(super) fn environment(&mut self, environment: &EnvironmentSettings) {
        for name in &environment.pass {
            self.grant("env.pass", name, json!(name), format!("environment: programs get {name}"));
        }
        for name in &environment.drop {
            let text = format!("environment: programs do not get {name}");
            self.add(("env.drop", name), json!(name), text, ItemOrder::Demand(1));
        }
    }

    pub(super) fn agent_work(&mut self, agent: &AgentSettings) {
        let slug = &agent.slug;
        match agent.works {
            Some(true) => self.grant("agent.works", slug, json!(true), format!("agent {slug}: takes tasks")),
            Some(false) => {
                let text = format!("agent {slug}: takes no tasks");
                self.add(("agent.works", slug), json!(false), text, ItemOrder::Demand(1));
            }
            None => {}
        }
        match &agent.keys {
            Some(keys) => {
                for key in keys {
                    let (subject, text) = (format!("{slug} {key}"), format!("agent {slug}: gets the key {key}"));
                    self.grant("agent.keys", &subject, json!(key), text);
                }
            }
            None if agent.has_choice_of_keys() => {
                let (subject, text) = (format!("{slug} *"), format!("agent {slug}: gets every API key"));
                self.grant("agent.keys", &subject, json!("*"), text);
            }
            None => {}
        }
    }

    fn seconds(&mut self, (key, subject): (&'static str, String), name: &str, seconds: u32) {
        let (value, text) = (json!(seconds), format!("{name} has at most {seconds} s"));
        let (is_default, order) = (seconds == COMMAND_SECONDS_DEFAULT, ItemOrder::Bound(seconds.into()));
        self.0.push(TrustItem { key, subject, value, text, is_default, source: SettingSource::File, order });
    }
}

/// Returns a command as text for a person, followed by its folder when the folder is not the root.
fn placed(command: &[String], folder: &str) -> String {
    if folder.is_empty() { shown(command) } else { format!("{} in {folder}", shown(command)) }
}

/// Returns a remark for a person that the value was detected, such as ` (installed here)`. Empty for other values.
pub(super) fn found(item: &TrustItem) -> &'static str {
    match (item.source, item.key) {
        (SettingSource::Detected, "worktree.copy") => " (from .worktreeinclude)",
        (SettingSource::Detected, "agent.command") => " (installed here)",
        (SettingSource::Detected, "worktree.setup.command" | "verify.checks.command") => " (found in the project)",
        (SettingSource::Detected | SettingSource::Default | SettingSource::File, _) => "",
    }
}

/// Returns the origin of an item's value: a settings file, the detection on this machine, or the built-in default.
pub(super) fn source(team: &TeamSettings, item: &TrustItem) -> SettingSource {
    if item.key.starts_with("worktree.setup.") {
        return team.worktree.setup_source;
    }
    if item.key.starts_with("verify.checks.") {
        return team.verify.checks_source;
    }
    if item.key == "worktree.copy" {
        return team.worktree.copy_source;
    }
    let slug = item.key.starts_with("agent.").then(|| item.subject.split(' ').next()).flatten();
    let agent = team.agents.iter().find(|agent| Some(agent.slug.as_str()) == slug);
    agent.map_or(SettingSource::File, |agent| agent.source)
}

pub(in crate::project::trust) fn moment_rank(moment: CheckMoment) -> (&'static str, f64) {
    match moment {
        CheckMoment::Task => ("after each task", 0.0),
        CheckMoment::End => ("only at the end", 1.0),
    }
}

pub(in crate::project::trust) fn recheck_rank(recheck: RecheckRule) -> (&'static str, f64) {
    match recheck {
        RecheckRule::Always => ("always", 0.0),
        RecheckRule::Files => ("only when both sides changed a file", 1.0),
    }
}
