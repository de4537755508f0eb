//! The settings that take effect: for each key the stricter one of the file's value and the value that a person
//! accepted.

use std::collections::BTreeMap;

mod work;

use super::list::{home_rank, permissions_rank};
use crate::project::settings::mcp::McpSettings;
use crate::project::settings::team::{AgentSettings, ContractSettings, LimitSettings};
use crate::project::settings::{Approvals, Notify, ServeSettings, Settings, TeamSettings};

/// Returns the settings with the stricter value of each key. Keys that no person must accept come from the file. The
/// gate rules come from the file, too: one set of rules cannot hold the file's and the accepted rules. Therefore a hook
/// checks a call against both sets.
pub(super) fn in_force(file: &Settings, accepted: &Settings) -> Settings {
    Settings {
        store: file.store.clone(),
        worktrees: granted(file.worktrees.as_ref(), accepted.worktrees.as_ref()),
        serve: serve(&file.serve, &accepted.serve),
        approvals: approvals(file.approvals, accepted.approvals),
        notify: Notify {
            command: granted(file.notify.command.as_ref(), accepted.notify.command.as_ref()),
            webhook: granted(file.notify.webhook.as_ref(), accepted.notify.webhook.as_ref()),
            desktop: file.notify.desktop && accepted.notify.desktop,
            quiet: file.notify.quiet,
        },
        team: team(&file.team, &accepted.team),
        gates: file.gates.clone(),
        mcp: McpSettings { coordinators: both(&file.mcp.coordinators, &accepted.mcp.coordinators) },
    }
}

/// Returns the accepted value of a setting when the file still has the setting (with any value), else `None`.
fn granted<T: Clone>(file: Option<&T>, accepted: Option<&T>) -> Option<T> {
    file.and(accepted).cloned()
}

fn both(file: &[String], accepted: &[String]) -> Vec<String> {
    file.iter().filter(|name| accepted.contains(name)).cloned().collect()
}

fn serve(file: &ServeSettings, accepted: &ServeSettings) -> ServeSettings {
    let rate = |serve: &ServeSettings| serve.rate_per_second.unwrap_or(crate::project::settings::RATE_DEFAULT);
    ServeSettings {
        port: file.port,
        hosts: both(&file.hosts, &accepted.hosts),
        origins: both(&file.origins, &accepted.origins),
        rate_per_second: Some(rate(file).min(rate(accepted))),
    }
}

fn approvals(file: Approvals, accepted: Approvals) -> Approvals {
    Approvals {
        pending_seconds: file.pending_seconds.min(accepted.pending_seconds),
        approved_seconds: file.approved_seconds.min(accepted.approved_seconds),
    }
}

fn team(file: &TeamSettings, accepted: &TeamSettings) -> TeamSettings {
    let agent = |agent: &AgentSettings| {
        accepted.agents.iter().find(|known| known.slug == agent.slug).map(|known| self::agent(agent, known))
    };
    let mut contracts: BTreeMap<String, ContractSettings> = accepted.contracts.clone();
    for (name, contract) in &file.contracts {
        contracts.entry(name.clone()).and_modify(|known| shorten(known, contract)).or_insert_with(|| {
            // A contract whose checks no person accepted is marked as unaccepted. If only its checks were left out, the
            // contract would accept any output.
            ContractSettings { is_unaccepted: !contract.checks.is_empty(), ..contract.clone() }
        });
    }
    let mut schemas = file.schemas.clone();
    schemas.extend(accepted.schemas.clone());
    TeamSettings {
        limits: limits(&file.limits, &accepted.limits),
        routes: file.routes.clone(),
        evaluator: accepted.evaluator.clone(),
        agents: file.agents.iter().filter_map(agent).collect(),
        contracts,
        worktree: work::worktree(&file.worktree, &accepted.worktree),
        verify: work::verify(&file.verify, &accepted.verify),
        environment: work::environment(&file.environment, &accepted.environment),
        schemas,
        scripts: None,
    }
}

/// Keeps the accepted checks of a contract (commands that check outputs). The time limit of each check is the shorter
/// one of the file's and the accepted limit.
fn shorten(known: &mut ContractSettings, file: &ContractSettings) {
    for check in &mut known.checks {
        let same = file.checks.iter().filter(|other| other.command == check.command);
        if let Some(seconds) = same.map(|other| other.seconds).min() {
            check.seconds = check.seconds.min(seconds);
        }
    }
}

fn agent(file: &AgentSettings, accepted: &AgentSettings) -> AgentSettings {
    let stricter = |one: f64, other: f64| one <= other;
    let permissions = match stricter(permissions_rank(file.permissions).1, permissions_rank(accepted.permissions).1) {
        true => file.permissions,
        false => accepted.permissions,
    };
    let home = match stricter(home_rank(file.home).1, home_rank(accepted.home).1) {
        true => file.home,
        false => accepted.home,
    };
    AgentSettings {
        adapter: accepted.adapter,
        command: accepted.command.clone(),
        args: accepted.args.clone(),
        model: accepted.model.clone(),
        env: accepted.env.clone(),
        permissions,
        home,
        max_parallel: file.max_parallel.min(accepted.max_parallel),
        plans: file.plans && accepted.plans,
        writable_sections: both(&file.writable_sections, &accepted.writable_sections),
        readable_sections: match (&file.readable_sections, &accepted.readable_sections) {
            (Some(file), Some(accepted)) => Some(both(file, accepted)),
            (one, other) => one.as_ref().or(other.as_ref()).cloned(),
        },
        slug: file.slug.clone(),
        roles: file.roles.clone(),
        capabilities: file.capabilities.clone(),
        persona: file.persona.clone(),
        media_types: file.media_types.clone(),
        output: file.output,
        keys: match (&file.keys, &accepted.keys) {
            (Some(file), Some(accepted)) => Some(both(file, accepted)),
            (one, other) => one.as_ref().or(other.as_ref()).cloned(),
        },
        surfaces: file.surfaces.clone(),
        works: work::works(file.works, accepted.works),
        source: file.source,
    }
}

fn limits(file: &LimitSettings, accepted: &LimitSettings) -> LimitSettings {
    fn least<T: PartialOrd + Copy>(one: Option<T>, other: Option<T>) -> Option<T> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if one < other { one } else { other }),
            (one, other) => one.or(other),
        }
    }
    LimitSettings {
        repairs: file.repairs.min(accepted.repairs),
        turn_seconds: file.turn_seconds.min(accepted.turn_seconds),
        output_bytes: file.output_bytes.min(accepted.output_bytes),
        usd: least(file.usd, accepted.usd),
        tokens: least(file.tokens, accepted.tokens),
        turns: least(file.turns, accepted.turns),
        seconds: least(file.seconds, accepted.seconds),
    }
}
