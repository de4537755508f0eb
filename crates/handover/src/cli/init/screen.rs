//! Makes the lines that `handover init` shows from the facts that were found before. This module only makes texts: it
//! runs no program and reads no answer.

use base::project::detect::clients::known_clients;
use base::project::detect::login::{ClientState, LoginState};
use base::project::settings::team::OutputSettings;
use base::project::settings::{CheckMoment, SettingSource, SetupCommand, VerifyCheck};
use base::project::trust::TrustView;

use super::super::show::plain;
use super::super::table::display_width;
use super::found::{AgentState, FoundAgent, FoundProject};
use super::layout::{FactRow, INDENT, WIDTH, table, wrapped};
use super::{ShownFile, settings_file};

/// The maximum number of lines of the whole output of `handover init`. `FIXED_LINES` of them show neither an agent nor
/// a command.
const LINES_MAX: usize = 20;
const FIXED_LINES: usize = 11;
/// Names of files that record exact versions of dependencies.
const LOCK_FILES: &[&str] =
    &["package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "uv.lock", "poetry.lock"];
/// The message for a project without a check.
const NO_CHECK: &str = "No test command found; tasks will end unchecked. Add one: handover check set \"make test\"";

/// Returns the lines that are shown before the person is asked whether the commands may run: the project, its agents
/// and commands, and remarks.
pub(super) fn shown(found: &FoundProject, view: &TrustView) -> Vec<String> {
    let team = &view.written.team;
    let mut rows = agent_rows(found, view);
    let setups = team.worktree.setup.iter().map(setup_row);
    let checks = team.verify.checks.iter().map(|check| check_row(check, found));
    rows.extend(labelled("setup", setups, FactRow::new("setup", "none needed", &[])));
    let reason = found.no_check.as_deref().unwrap_or_default();
    rows.extend(labelled("check", checks, FactRow::new("check", "none found", &[reason])));
    if !team.worktree.copy.is_empty() {
        let source = match team.worktree.copy_source {
            SettingSource::Detected => "from .worktreeinclude",
            SettingSource::File | SettingSource::Default => "into each worktree",
        };
        rows.push(FactRow::new("copy", plain(&team.worktree.copy.join(", ")), &[source]));
    }
    let mut lines = header(found);
    lines.push(String::new());
    lines.extend(table(&rows));
    lines.extend(changes(view));
    lines.push(String::new());
    lines.extend(remarks(found, view));
    lines
}

/// Returns the name, the kind and the commit of the project, on one line if they fit.
fn header(found: &FoundProject) -> Vec<String> {
    let names: Vec<&str> = found.languages.iter().map(|found| found.language.name()).collect();
    let markers: Vec<&str> = found.languages.iter().map(|found| found.marker.as_str()).collect();
    let kind = match names.is_empty() {
        true => String::new(),
        false => format!(", a {} project ({})", names.join(" and "), plain(&markers.join(", "))),
    };
    let project = format!("{}{kind},", plain(&found.name));
    let branch = found.branch.as_deref().map(|branch| format!("on {} ", plain(branch))).unwrap_or_default();
    let commit = format!("{branch}at {}", found.commit);
    let line = format!("{project} {commit}");
    if display_width(&line) <= WIDTH {
        return vec![line];
    }
    wrapped(&project, "").into_iter().chain(wrapped(&commit, "")).collect()
}

/// Sets the label of the first row, and leaves the labels of the other rows empty. Without any row, returns the row
/// `none`.
fn labelled(label: &'static str, rows: impl Iterator<Item = FactRow>, none: FactRow) -> Vec<FactRow> {
    let mut rows: Vec<FactRow> = rows.collect();
    if rows.is_empty() {
        rows.push(none);
    }
    for (number, row) in rows.iter_mut().enumerate() {
        row.label = if number == 0 { label } else { "" };
    }
    rows
}

fn agent_rows(found: &FoundProject, view: &TrustView) -> Vec<FactRow> {
    let names: Vec<&str> = known_clients().iter().map(|client| client.name.as_str()).collect();
    let none = FactRow::new("agents", format!("none found ({})", names.join(", ")), &[]);
    let team = &view.written.team;
    // Count two lines for each command: a row of this table, and a line with the result of its trial.
    let commands = team.worktree.setup.len().max(1) * 2 + team.verify.checks.len().max(1) * 2;
    let others = commands + usize::from(!team.worktree.copy.is_empty());
    let most = LINES_MAX.saturating_sub(FIXED_LINES + others).max(1);
    if found.agents.len() <= most {
        return labelled("agents", found.agents.iter().map(agent_row), none);
    }
    let (first, rest) = found.agents.split_at(most - 1);
    let rest = rest.iter().map(titled).collect::<Vec<_>>().join(", ");
    let rows = first.iter().map(agent_row).chain([FactRow::new("", rest, &[])]);
    labelled("agents", rows, none)
}

/// Returns the name of an agent, with its version if that is known.
fn titled(agent: &FoundAgent) -> String {
    match &agent.state {
        AgentState::Client(ClientState { version: Some(version), .. }) => {
            format!("{} {}", agent.settings.slug, plain(version))
        }
        AgentState::Client(_) | AgentState::Program | AgentState::Missing => agent.settings.slug.clone(),
    }
}

fn agent_row(agent: &FoundAgent) -> FactRow {
    let at_once = match agent.settings.max_parallel {
        1 => "one task at a time".to_owned(),
        number => format!("up to {number} tasks at once"),
    };
    let notes = match &agent.state {
        AgentState::Client(state) => match &state.login {
            LoginState::LoggedIn => vec![format!("logged in, {at_once}"), "logged in".to_owned()],
            LoginState::NotLoggedIn { hint } => {
                vec![format!("not logged in; log in first: {hint}"), format!("not logged in: {hint}")]
            }
            LoginState::Unknown => vec![format!("login unknown, {at_once}"), at_once],
        },
        AgentState::Program => {
            let command = plain(&agent.settings.command.join(" "));
            let gets = if agent.settings.output() == OutputSettings::Plain { ", gets the task as text" } else { "" };
            vec![format!("{command}{gets}"), command]
        }
        AgentState::Missing => vec!["not installed here, so it is left out".to_owned()],
    };
    FactRow { label: "", value: titled(agent), notes }
}

fn setup_row(setup: &SetupCommand) -> FactRow {
    let command = plain(&setup.command.join(" "));
    let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    let is_lock = |input: &&String| LOCK_FILES.contains(&name(input).as_str());
    let again = match (setup.inputs.iter().find(is_lock), setup.inputs.last()) {
        (Some(_), _) => "again when the lock file changes".to_owned(),
        (None, Some(input)) => format!("again when {} changes", plain(&name(input))),
        (None, None) => "once".to_owned(),
    };
    let notes = match setup.folder.as_str() {
        "" => vec![format!("in each worktree, {again}"), again, "in each worktree".to_owned()],
        folder => vec![format!("in {}, {again}", plain(folder)), format!("in {}", plain(folder))],
    };
    FactRow { label: "", value: command, notes }
}

fn check_row(check: &VerifyCheck, found: &FoundProject) -> FactRow {
    let command = plain(&check.command.join(" "));
    let moment = match check.when {
        CheckMoment::Task => "after each task",
        CheckMoment::End => "once, on the whole result",
    };
    let notes = match (check.folder.as_str(), &found.root_check) {
        ("", _) => vec![moment.to_owned()],
        (folder, Some(root)) => {
            let (folder, root) = (plain(folder), plain(root));
            vec![format!("in {folder} (the root has: {root})"), format!("in {folder}")]
        }
        (folder, None) => vec![format!("in {}, {moment}", plain(folder)), format!("in {}", plain(folder))],
    };
    FactRow { label: "", value: command, notes }
}

/// Returns lines about settings that the table of agents and commands does not show. If the person accepted settings
/// earlier, these are the changes since then. Otherwise these are all further settings that run something or widen
/// access.
fn changes(view: &TrustView) -> Vec<String> {
    let further: Vec<String> = match view.is_accepted {
        true => view.waiting(),
        false => view.list.further_lines(&view.written.team),
    };
    let first = if view.is_accepted { "changed" } else { "also" };
    let row = |(number, line): (usize, &String)| {
        let label = if number == 0 { first } else { "" };
        wrapped(&format!("  {label:<9}{}", plain(line)), &" ".repeat(INDENT))
    };
    further.iter().enumerate().flat_map(row).collect()
}

/// Returns the remarks that are shown after the table of facts, before the person is asked whether the commands may
/// run.
fn remarks(found: &FoundProject, view: &TrustView) -> Vec<String> {
    let mut lines = Vec::new();
    if view.written.team.verify.checks.is_empty() {
        lines.push(NO_CHECK.to_owned());
    }
    if found.agents.is_empty() {
        lines.push("Add an agent now: handover agent add NAME -- PROGRAM ARGUMENTS".to_owned());
        return lines;
    }
    let limit = match view.written.team.limits.usd {
        Some(usd) => format!("Limit: ${usd} a task."),
        None => "No limit in dollars.".to_owned(),
    };
    let place = format!("Agents work in worktrees under {}, never in this folder.", plain(&found.worktrees));
    lines.extend(wrapped(&place, ""));
    let rights = "They edit files and run commands as you; there is no sandbox.";
    lines.extend(wrapped(&format!("{rights} {limit}"), ""));
    if let [first, ..] = found.further_clients.as_slice() {
        let others = found.further_clients.join(", ");
        lines.extend(wrapped(&format!("Also installed: {others}. Add one: handover agent add {first} -- {first}"), ""));
    }
    lines
}

/// Returns the question whether the commands may run on this machine.
pub(super) fn question(found: &FoundProject, view: &TrustView) -> String {
    let team = &view.written.team;
    if view.is_accepted || !found.agents.is_empty() {
        return "Run these commands on this machine?".to_owned();
    }
    let setups = team.worktree.setup.iter().map(|setup| setup.command.join(" "));
    let checks = team.verify.checks.iter().map(|check| check.command.join(" "));
    let commands: Vec<String> = setups.chain(checks).map(|command| format!("`{}`", plain(&command))).collect();
    let question = format!("Run {} on this machine for checks?", commands.join(" and "));
    let is_short = !commands.is_empty() && display_width(&question) + " [Y/n] y".len() <= WIDTH;
    if is_short { question } else { "Run these commands on this machine for checks?".to_owned() }
}

/// Returns the lines that are shown when the person does not allow the commands to run.
pub(super) fn refused() -> Vec<String> {
    let lines = [
        "Nothing was written, and nothing runs.",
        "To change what was found: handover check set \"make test\"",
        "                          handover agent add NAME -- PROGRAM ARGUMENTS",
        "                          or write .handover/config.toml",
        "Then again: handover init",
    ];
    lines.map(str::to_owned).to_vec()
}

/// Returns the last lines of the output: the files that were written, and the next commands to type.
pub(super) fn ended(found: &FoundProject, files: &[ShownFile], is_unaccepted: bool) -> Vec<String> {
    let (config, local) = (settings_file("config.toml"), settings_file("local.toml"));
    let is_new = |name: &str| files.iter().any(|file| file.name == name && !file.kept);
    let is_there = |name: &str| files.iter().any(|file| file.name == name && file.kept);
    let mut lines = vec![String::new()];
    lines.push(match (is_new(&config), is_new(&local)) {
        (true, true) => format!("Wrote {config} (commit it). Agents are in {local}."),
        (true, false) => format!("Wrote {config} (commit it)."),
        (false, true) => format!("Wrote {local} with your agents; {config} stays as it was."),
        (false, false) if is_there(&local) => format!("Nothing changed: {config} and local.toml stay as they were."),
        (false, false) => format!("Nothing changed: {config} stays as it was."),
    });
    let folder = |file: &ShownFile| file.name.split('/').nth(1).map(str::to_owned).filter(|_| !file.kept);
    let mut examples: Vec<String> =
        files.iter().filter(|file| file.name.split('/').count() > 2).filter_map(folder).collect();
    examples.dedup();
    if !examples.is_empty() {
        lines.push(format!("Wrote examples into .handover: {}.", examples.join(", ")));
    }
    let next = if found.agents.is_empty() {
        "handover agent add bot -- ./tools/bot"
    } else {
        "handover add \"one small change\"     then     handover run"
    };
    if is_unaccepted {
        lines.push("Nothing is accepted yet, so nothing runs. In a terminal: handover trust".to_owned());
    }
    lines.push(format!("Next:  {next}"));
    lines
}
