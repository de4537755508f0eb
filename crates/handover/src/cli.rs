//! The command line: `handover NOUN VERB`. Most commands call a tool. This module reads their options and shows the
//! replies.

mod advice;
mod approval;
mod demo;
mod doctor;
mod door;
mod hook;
mod log;
mod outline;
mod project;
mod reply;
mod review;
mod run;
mod show;
mod standing;
mod status;
mod token;
mod tools;
mod transfer;
mod trust;
mod turn;
mod verbs;
mod verify;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use handover::office::{self, Office};

/// Hands work between AI agents without dropping it.
#[derive(Debug, Parser)]
#[command(version, about, long_about = None)]
struct ProgramArguments {
    /// The store: a path to an SQLite file, or a postgres:// URL
    ///
    /// Without it: `store` in .handover/config.toml, .handover/state/ of the repository's main worktree, or the user's data
    /// folder.
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
    /// `--help`: the full parser handles these, because it has the error messages and the help texts.
    fn asked() -> Option<Self> {
        let mut words = std::env::args_os();
        let program = words.next()?;
        (words.next()? == "mcp").then(|| Self::try_parse_from(std::iter::once(program).chain(words)).ok())?
    }
}

#[derive(Debug, Subcommand)]
enum CliVerb {
    /// Write settings, example cards, skills, contracts and templates into .handover/; existing files are kept
    Init {
        /// Print the list of written files as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the agents' cards
    Card {
        #[command(subcommand)]
        command: CardVerb,
    },
    /// Watch a team of three scripted agents work a plan to its verified end; needs no key
    Demo(demo::Demo),
    #[command(hide = true)]
    DemoAgent(demo::DemoAgent),
    /// Check the store, log, settings, cards, git and clients, and say how to fix each problem; changes nothing
    Doctor(doctor::Doctor),
    /// Write a client's MCP configuration, allow-list and instructions; shows the difference first
    #[command(after_long_help = handover::setup::HELP)]
    Setup(Box<handover::setup::Setup>),
    /// Answer an agent's client at one of its events; `handover setup --hooks` wires it
    #[command(after_long_help = hook::HELP)]
    Hook(hook::HookArguments),
    #[command(flatten)]
    Stored(StoredVerb),
    /// Check a document of one of the protocols, and say how to fix it
    #[command(after_long_help = crate::check::HELP)]
    Check(Box<crate::check::CheckArguments>),
    /// Accept the commands that this repository's configuration names, after you have seen them
    Trust(trust::Trust),
    /// Print completions for a shell; save them in the folder where the shell looks for completions
    Completions { shell: clap_complete::Shell },
    /// Print the manual page
    Man,
}

/// The commands that need the store.
#[derive(Debug, Subcommand)]
enum StoredVerb {
    /// Show the current state: workflows, which agent holds which task since when, and the requests that wait for a person
    Status(status::StatusArguments),
    /// Serve one agent's client over MCP on standard input and output
    Mcp(door::Mcp),
    /// Serve MCP, the HTTP API and events on one port of this machine
    Serve(door::ServeArguments),
    /// Work a workflow to its verified end with the agents of .handover/config.toml
    #[command(after_long_help = run::HELP)]
    Run(run::RunArguments),
    /// Write everything in the store as JSON lines
    Export {
        /// The file to write; standard output without it
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
    /// Read an export into an empty store, all or nothing
    Import {
        /// The file with the export; standard input without it
        input: Option<PathBuf>,
    },
    /// Show and verify the log of all events
    Log {
        #[command(subcommand)]
        command: log::LogVerb,
    },
    /// Show and decide the approvals that agents ask for
    Approval {
        #[command(subcommand)]
        command: approval::ApprovalVerb,
    },
    /// Show the turns of agents' programs
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
    /// List the cards of this project and tell whether each is valid; exit code 1 when one is not
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

/// Returns the parser of the full command line, including a command for every tool.
fn whole() -> clap::Command {
    ProgramArguments::command().subcommands(tools::whole_nouns())
}

/// Runs the command that was typed. Commands that do not need the store run first, without opening the store or
/// starting the async runtime.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    if let Some(McpAlone { store, mcp }) = McpAlone::asked() {
        return door::mcp(store.as_deref(), &mcp);
    }
    let matches = ProgramArguments::command().subcommands(tools::nouns()).get_matches();
    if let Some(refused) = standing::refusal(&matches)? {
        return Ok(refused);
    }
    if let Some(asked) = tools::asked(&matches)? {
        let named = matches.get_one::<String>("store").cloned();
        return runtime()?.block_on(async move { tools::run(&office::open(named.as_deref()).await?, &asked).await });
    }
    if let Some(asked) = verify::asked(&matches) {
        let named = matches.get_one::<String>("store").cloned();
        return runtime()?.block_on(async move { verify::run(&office::open(named.as_deref()).await?, &asked).await });
    }
    if let Some(asked) = reply::asked(&matches) {
        let named = matches.get_one::<String>("store").cloned();
        return runtime()?.block_on(async move { reply::run(&office::open(named.as_deref()).await?, asked).await });
    }
    if let Some(asked) = review::asked(&matches) {
        let named = matches.get_one::<String>("store").cloned();
        return runtime()?.block_on(async move { review::run(&office::open(named.as_deref()).await?, asked).await });
    }
    let arguments = ProgramArguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match arguments.command {
        CliVerb::Check(check) => crate::check::run(&check),
        CliVerb::Init { json } => crate::begin::init(json),
        CliVerb::Card { command: CardVerb::List { json } } => crate::begin::cards(json),
        CliVerb::Card { command: CardVerb::Show { slug, json } } => crate::begin::card(&slug, json),
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
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut whole(), "handover", &mut out);
            std::io::stdout().write_all(&out)?;
            Ok(ExitCode::SUCCESS)
        }
        CliVerb::Man => {
            clap_mangen::Man::new(whole()).render(&mut std::io::stdout())?;
            Ok(ExitCode::SUCCESS)
        }
        // `handover mcp` builds its own runtime with one thread: it serves one client, and the store does its disk I/O
        // on a separate thread.
        CliVerb::Stored(StoredVerb::Mcp(mcp)) => door::mcp(arguments.store.as_deref(), &mcp),
        CliVerb::Stored(verb) => runtime()?.block_on(with_store(arguments.store.as_deref(), verb)),
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

async fn with_store(named: Option<&str>, verb: StoredVerb) -> anyhow::Result<ExitCode> {
    let office: Office = match (office::open(named).await, &verb) {
        // If the settings name a store that no person accepted yet, `handover run` asks the person at the terminal to
        // accept it, and then opens it.
        (Err(closed), StoredVerb::Run(asked)) if closed.is_unaccepted() && run::is_store_accepted_now(asked)? => {
            office::open(named).await?
        }
        (opened, _) => opened?,
    };
    let store = office.desk.service().store();
    match verb {
        StoredVerb::Status(asked) => status::run(&office, &asked).await,
        StoredVerb::Mcp(_) => anyhow::bail!("an agent's client is served on a thread of its own"),
        StoredVerb::Serve(asked) => door::serve(office, &asked).await,
        StoredVerb::Run(asked) => run::run(&office, &asked).await,
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
