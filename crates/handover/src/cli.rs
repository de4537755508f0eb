//! The command line: `handover NOUN VERB`. Most commands call a tool. This module reads their options and shows the
//! replies.

mod advice;
mod agent_add;
mod approval;
mod argument_file;
mod check_set;
mod complete;
mod demo;
mod doctor;
mod door;
mod example;
pub(crate) mod failure;
mod help;
mod hook;
mod init;
mod log;
mod manual;
mod names;
mod open;
mod outline;
mod plan;
mod project;
mod reply;
mod review;
mod run;
#[cfg(test)]
mod screens;
mod show;
mod standing;
mod status;
mod table;
mod task_list;
mod task_show;
mod token;
mod tools;
mod transfer;
mod trust;
mod turn;
mod typed_edit;
mod up;
mod verbs;
mod verify;
mod work;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use handover::office::{self, Office, OfficeClosed};

/// The text at the end of `handover --help`: the commands with which a person starts.
const START: &str = "\
Examples:
  handover demo                  watch a team of scripted agents work, without any setup
  handover init                  prepare this project
  handover setup claude-code     let Claude Code use Handover in this project
  handover plan 'a goal'         let an agent draft a plan, look at it, start it
  handover run --plan plan.yaml  let the agents of this project work on a plan
  handover status                show who works on what, and what waits for you";

/// Hands work between AI agents without dropping it.
#[derive(Debug, Parser)]
#[command(version, about, long_about = None, after_help = START, disable_help_subcommand = true)]
struct ProgramArguments {
    /// The store to use: the path of an SQLite file, or a postgres:// URL
    ///
    /// Without this option, Handover uses the store that .handover/config.toml names, else the one in .handover/state/
    /// of the repository's main worktree, and outside of repositories the one in the user's data folder.
    #[arg(long, global = true, env = "HANDOVER_STORE", hide_env_values = true)]
    store: Option<String>,
    #[command(subcommand)]
    command: CliVerb,
}

/// The options of `handover mcp`, for a parser that knows no other command. One `handover mcp` process runs for every
/// agent's client, so it should not use memory for the parsers of all commands.
#[derive(Debug, Parser)]
struct McpAlone {
    #[arg(long, env = "HANDOVER_STORE", hide_env_values = true)]
    store: Option<String>,
    #[command(flatten)]
    mcp: door::Mcp,
}

impl McpAlone {
    /// Parses the command line if it is `handover mcp`. Returns `None` for any other command, for wrong options and for
    /// `--help`: the parser of all commands handles these, because it has the error messages and the help texts.
    fn asked() -> Option<Self> {
        let mut words = std::env::args_os();
        let program = words.next()?;
        (words.next()? == "mcp").then(|| Self::try_parse_from(std::iter::once(program).chain(words)).ok())?
    }
}

#[derive(Debug, Subcommand)]
enum CliVerb {
    /// Show the agents, the setup and the check of this project, ask whether they may run, and write the settings
    #[command(after_long_help = init::HELP)]
    Init(init::InitArguments),
    /// Show the agents' cards
    Card {
        #[command(subcommand)]
        command: CardVerb,
    },
    /// Watch three scripted agents complete the tasks of a plan, which are then checked; needs no API key
    Demo(demo::Demo),
    #[command(hide = true)]
    DemoAgent(demo::DemoAgent),
    /// Check the store, the log, the settings, the cards, git and the clients, and say how to fix each problem; changes
    /// nothing
    Doctor(doctor::Doctor),
    /// Configure an agent client for Handover: its MCP server, permissions and instructions; shows the changes first
    #[command(after_long_help = handover::setup::HELP)]
    Setup(Box<handover::setup::Setup>),
    /// Answer one event of an agent client; `handover setup --hooks` makes the client call this
    #[command(after_long_help = hook::HELP)]
    Hook(hook::HookArguments),
    #[command(flatten)]
    Work(work::WorkVerb),
    #[command(flatten)]
    Stored(StoredVerb),
    /// Check a document of one of the protocols, and say how to fix each problem
    #[command(after_long_help = crate::check::HELP)]
    Check(Box<check_set::CheckCommand>),
    /// Show the commands and permissions in this project's settings, and accept them
    Trust(trust::Trust),
    /// Print completions for a shell; save them in the folder where the shell looks for completions
    Completions {
        /// The shell that you use
        shell: clap_complete::Shell,
    },
    #[command(hide = true)]
    Complete(complete::CompleteArguments),
    /// Print the manual page of a command, in the format that `man` reads; without a command, the overview
    Man(manual::ManArguments),
    /// Show the help of a command, or with `all` the list of all commands
    Help {
        /// The words of the command, such as `task claim`, or `all`
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,
    },
}

/// The commands that need the store.
#[derive(Debug, Subcommand)]
enum StoredVerb {
    /// Show the current state: workflows, which agent holds which task since when, and the requests that wait for a
    /// person
    Status(status::StatusArguments),
    /// Serve one agent client over MCP, on standard input and output; the client starts this
    Mcp(door::Mcp),
    /// Serve MCP, the HTTP API and the stream of events on a port of this machine
    Serve(door::ServeArguments),
    /// Let the agents work on what is ready, and end when nothing more can start
    #[command(after_long_help = run::HELP)]
    Run(run::RunArguments),
    /// Start the agents and the server, and keep them until you press Ctrl-C
    #[command(after_long_help = up::HELP)]
    Up(up::UpArguments),
    /// Connect your browser with the page of the running server, and open the page
    #[command(after_long_help = open::HELP)]
    Open(open::OpenArguments),
    /// Let an agent draft a plan for a goal, look at it, and start it
    #[command(after_long_help = plan::HELP)]
    Plan(plan::PlanArguments),
    /// Write everything in the store as JSON lines
    Export {
        /// The file to write; without it, standard output
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
    /// Read an export into an empty store; an error leaves the store empty
    Import {
        /// The file with the export; without it, standard input
        input: Option<PathBuf>,
    },
    /// Show and verify the log of all events
    Log {
        #[command(subcommand)]
        command: log::LogVerb,
    },
    /// Show the approvals that agents ask for, and decide about them
    Approval {
        #[command(subcommand)]
        command: approval::ApprovalVerb,
    },
    /// Show turns: single runs of agents' programs, with their cost and result
    Turn {
        #[command(subcommand)]
        command: turn::TurnVerb,
    },
    /// Show the project context that agents have written
    Project {
        #[command(subcommand)]
        command: project::ProjectVerb,
    },
    /// Create, list and revoke tokens for HTTP
    Token {
        #[command(subcommand)]
        command: token::TokenVerb,
    },
}

#[derive(Debug, Subcommand)]
enum CardVerb {
    /// List the cards of this project and whether each is valid; the exit code is 1 when one is not
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one card
    Show {
        /// The slug of the card
        slug: String,
        /// Print the card as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Returns the parser of the commands that do not call a tool, with an example at the end of each command's help.
fn own() -> clap::Command {
    help::with_everyday(example::with_examples(ProgramArguments::command(), ""))
}

/// Returns the parser of the full command line, including a command for every tool.
fn whole() -> clap::Command {
    own().subcommands(tools::whole_nouns())
}

/// Runs the command that was typed. A command that does not need the store runs without opening the store and without
/// starting the async runtime.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    if let Some(McpAlone { store, mcp }) = McpAlone::asked() {
        return door::mcp(store.as_deref(), &mcp);
    }
    let matches = own().subcommands(tools::nouns()).try_get_matches()?;
    standing::check(&matches)?;
    if let Some(asked) = tools::asked(&matches)? {
        let named = matches.get_one::<String>("store").cloned();
        return runtime()?.block_on(async move { tools::run(&open_office(named.as_deref()).await?, &asked).await });
    }
    if let Some(asked) = task_list::asked(&matches) {
        let named = matches.get_one::<String>("store").cloned();
        return runtime()?.block_on(async move { task_list::run(&open_office(named.as_deref()).await?, asked).await });
    }
    if let Some(asked) = verify::asked(&matches) {
        let named = matches.get_one::<String>("store").cloned();
        return runtime()?.block_on(async move { verify::run(&open_office(named.as_deref()).await?, &asked).await });
    }
    if let Some(asked) = agent_add::asked(&matches) {
        return agent_add::run(&asked);
    }
    if let Some(asked) = reply::asked(&matches) {
        let named = matches.get_one::<String>("store").cloned();
        return runtime()?.block_on(async move { reply::run(&open_office(named.as_deref()).await?, asked).await });
    }
    if let Some(asked) = review::asked(&matches) {
        let named = matches.get_one::<String>("store").cloned();
        return runtime()?.block_on(async move { review::run(&open_office(named.as_deref()).await?, asked).await });
    }
    let arguments = ProgramArguments::from_arg_matches(&matches)?;
    match arguments.command {
        CliVerb::Check(asked) => check_set::run(&asked),
        CliVerb::Init(asked) => runtime()?.block_on(init::run(arguments.store.as_deref(), &asked)),
        CliVerb::Card { command: CardVerb::List { json } } => crate::begin::cards(json),
        CliVerb::Card { command: CardVerb::Show { slug, json } } => {
            if crate::begin::card(&slug, json)? {
                return Ok(ExitCode::SUCCESS);
            }
            let text = format!("CARD_NOT_FOUND no valid card is called {slug}; `handover card list` shows all cards");
            Err(failure::CommandFailure::by_text(&text).into())
        }
        CliVerb::Demo(asked) => runtime()?.block_on(demo::run(asked)),
        CliVerb::DemoAgent(asked) => runtime()?.block_on(demo::agent(&asked)),
        CliVerb::Doctor(asked) => runtime()?.block_on(doctor::run(arguments.store.as_deref(), &asked)),
        CliVerb::Hook(asked) => Ok(hook::run(arguments.store.as_deref(), &asked)),
        CliVerb::Setup(setup) => {
            let root = crate::begin::root()?;
            runtime()?.block_on(handover::setup::run(&setup, &root, arguments.store.as_deref()))
        }
        CliVerb::Trust(asked) => trust::run(&asked),
        CliVerb::Completions { shell } => {
            std::io::stdout().write_all(&complete::script(shell))?;
            Ok(ExitCode::SUCCESS)
        }
        CliVerb::Complete(asked) => Ok(complete::run(arguments.store.as_deref(), &asked)),
        CliVerb::Man(asked) => manual::run(&asked),
        CliVerb::Help { command } => help::run(&command),
        // `handover mcp` builds its own runtime with one thread: it serves one client, and the store does its disk I/O
        // on a separate thread.
        CliVerb::Stored(StoredVerb::Mcp(mcp)) => door::mcp(arguments.store.as_deref(), &mcp),
        CliVerb::Work(verb) => runtime()?.block_on(work::run(arguments.store.as_deref(), verb)),
        CliVerb::Stored(verb) => runtime()?.block_on(with_store(arguments.store.as_deref(), verb)),
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

/// Opens the store, and prints notes if opening the store changed something. With `--json` the notes are left out,
/// because then standard error has only failures.
async fn open_office(named: Option<&str>) -> Result<Office, OfficeClosed> {
    let office = if failure::is_json() { office::open_from(named, None).await? } else { office::open(named).await? };
    if named.is_none() {
        remember_project(&office);
    }
    Ok(office)
}

/// Adds the project's folder to the list for `handover status --all`, if a person is at the terminal. Call this only if
/// the command line names no store, because the list has only folders and no stores.
fn remember_project(office: &Office) {
    let data = base::project::place::data_folder();
    if let (Some(root), Some(data), Ok(())) = (&office.place.root, data, handover::person::at_a_terminal()) {
        // Ignore a failure to write the list, because the command itself does not need the list.
        let _unwritten = base::project::known::remember(&data, root);
    }
}

async fn with_store(named: Option<&str>, verb: StoredVerb) -> anyhow::Result<ExitCode> {
    let office: Office = match (open_office(named).await, &verb) {
        // If the settings name a store that no person accepted yet, `handover run` asks the person at the terminal to
        // accept it, and then opens it.
        (Err(closed), StoredVerb::Run(asked)) if closed.is_unaccepted() && run::is_store_accepted_now(asked)? => {
            open_office(named).await?
        }
        (opened, _) => opened?,
    };
    let store = office.desk.service().store();
    match verb {
        StoredVerb::Status(asked) => status::run(&office, &asked).await,
        StoredVerb::Mcp(_) => anyhow::bail!(
            "`handover mcp` must run before the store is opened; this is a bug in \
            Handover, please report it"
        ),
        StoredVerb::Serve(asked) => door::serve(office, &asked).await,
        StoredVerb::Run(asked) => run::run(&office, &asked).await,
        StoredVerb::Up(asked) => up::run(&office, &asked).await,
        StoredVerb::Open(asked) => open::run(&office, &asked).await,
        StoredVerb::Plan(asked) => plan::run(&office, &asked).await,
        StoredVerb::Export { output } => transfer::export(store, output).await,
        StoredVerb::Import { input } => transfer::import(store, input).await,
        StoredVerb::Log { command } => log::run(store, command).await,
        StoredVerb::Approval { command } => approval::run(&office, command).await,
        StoredVerb::Turn { command } => turn::run(&office, command).await,
        StoredVerb::Project { command } => project::run(&office, command).await,
        StoredVerb::Token { command } => token::run(&office, command).await,
    }
}

/// Prints JSON, with characters that hide or reorder text escaped.
fn say_json(value: &impl std::fmt::Display) -> anyhow::Result<()> {
    say(&wire::visible::json(&value.to_string()))
}

fn say(line: &str) -> anyhow::Result<()> {
    Ok(writeln!(anstream::stdout(), "{line}")?)
}
