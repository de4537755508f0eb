//! `handover agent add`: a person adds an agent to the personal settings. It is only a command and no MCP tool, because
//! the agent's program runs with the person's rights.

use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use base::project::detect::clients::{KnownClient, known_clients};
use base::project::effective::{self, MachineFacts};
use base::project::files::edit::{AddedAgent, with_agent};
use base::project::settings::DetectedAgent;
use base::project::team::find_agent_program;
use clap::{ArgMatches, Args, Command, FromArgMatches as _};

use super::failure::CommandFailure;
use super::say;
use super::show::plain;
use super::typed_edit::{EditResult, EditSite};

/// The word after `handover` in the command `handover agent add`. The other commands that begin with `handover agent`
/// call tools.
pub(super) const NOUN: &str = "agent";
const VERB: &str = "add";
const HELP: &str = "\
The agent is written into .handover/local.toml, which is yours alone. Any program can be an agent: it gets the task as text
on standard input and in the file that HANDOVER_GOAL_FILE names, it changes files in its worktree, exit code 0 means done, and
its last line is the summary. A client that Handover knows (claude, codex, opencode, gemini, copilot, goose, qwen) is started
as that client.";

#[derive(Debug, Args)]
pub(crate) struct AddedAgentArguments {
    /// The name of the agent: a-z, 0-9, _ and -
    #[arg(value_name = "NAME")]
    slug: String,
    /// The program and its arguments, after --
    #[arg(value_name = "PROGRAM", required = true, last = true)]
    command: Vec<String>,
}

pub(super) fn command() -> Command {
    let about = "Add a program as an agent, and accept that it runs on this machine";
    AddedAgentArguments::augment_args(Command::new(VERB).about(about).after_long_help(HELP))
}

/// Returns the arguments of `handover agent add`; `None` when another command was typed.
pub(super) fn asked(matches: &ArgMatches) -> Option<AddedAgentArguments> {
    let (_, inner) = matches.subcommand().filter(|(noun, _)| *noun == NOUN)?;
    let (_, inner) = inner.subcommand().filter(|(verb, _)| *verb == VERB)?;
    Some(AddedAgentArguments::from_arg_matches(inner).unwrap_or_else(|error| error.exit()))
}

pub(super) fn run(asked: &AddedAgentArguments) -> anyhow::Result<ExitCode> {
    let site = EditSite::open()?;
    let agent = agent(asked, &site.root)?;
    let is_client = matches!(agent, AddedAgent::Client(_));
    let team = site.before().written.team.agents.iter().map(|agent| agent.slug.clone()).collect::<Vec<_>>();
    site.change("local.toml", &|files| with_agent(files, &agent), &|result| {
        let (name, command) = (agent.name(), plain(&agent.command().join(" ")));
        if result == EditResult::Same && team.iter().any(|slug| slug == name) {
            return say(&format!("{name} is an agent already: {command}"));
        }
        let gets =
            if is_client { "is started as that client" } else { "gets the task as text, exit code 0 means done" };
        say(&format!("{name}   {command}   {gets}"))?;
        say("It runs as you, in worktrees, without a sandbox. Added to .handover/local.toml.")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the agent that the person describes. Fails when its program is not on this machine.
fn agent(asked: &AddedAgentArguments, root: &Path) -> anyhow::Result<AddedAgent> {
    let Some((typed, arguments)) = asked.command.split_first() else {
        return Err(CommandFailure::needed("Name a program: handover agent add NAME -- PROGRAM ARGUMENTS").into());
    };
    let program = from_root(typed, root);
    let path = std::env::var_os("PATH");
    if find_agent_program(root, &program, path.as_deref()).is_none() {
        return Err(CommandFailure::needed(&missing(&program, root)).into());
    }
    let mut command = vec![program];
    command.extend(arguments.iter().cloned());
    let Some(client) = client(&asked.slug, typed) else {
        return Ok(AddedAgent::Plain { name: asked.slug.clone(), command });
    };
    // If the person typed a client without arguments, add the arguments that the adapter of the client needs.
    if arguments.is_empty() {
        command.extend(client.command.iter().skip(1).cloned());
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let max_parallel = effective::parallel(MachineFacts { path: path.as_deref(), cores });
    Ok(AddedAgent::Client(DetectedAgent { slug: asked.slug.clone(), adapter: client.adapter, command, max_parallel }))
}

/// Returns the known client that has the name of the program. If there is none, returns the known client that has the
/// name of the agent.
fn client(name: &str, program: &str) -> Option<&'static KnownClient> {
    let program = Path::new(program).file_name().and_then(|name| name.to_str());
    let is_named = |wanted: &str| known_clients().iter().find(|client| client.name == wanted);
    program.and_then(is_named).or_else(|| is_named(name))
}

/// Returns the path of a program as it is written in the settings. There a path is relative to the root of the project,
/// but the person typed it relative to the current folder.
fn from_root(program: &str, root: &Path) -> String {
    if !program.contains('/') || Path::new(program).is_absolute() {
        return program.to_owned();
    }
    let here = std::env::current_dir().unwrap_or_else(|_| root.to_owned());
    let whole = without_dots(&here.join(program));
    match whole.strip_prefix(without_dots(root)) {
        Ok(inside) => format!("./{}", inside.display()),
        Err(_) => whole.display().to_string(),
    }
}

/// Removes `.` and `..` from a path.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}

/// Returns the error message for a program that was not found: what is wrong with its name or path, and what to do.
fn missing(program: &str, root: &Path) -> String {
    let shown = plain(program);
    if !program.contains('/') {
        return format!("There is no program `{shown}` on this machine. Install it, or write its path: ./{shown}");
    }
    let path = root.join(program);
    if path.is_dir() {
        format!("{shown} is a folder. Name the program in it.")
    } else if path.exists() {
        format!("{shown} cannot be executed. Make it a program: chmod +x {shown}")
    } else {
        format!("There is no file {shown}. Write it first, or correct the path.")
    }
}
