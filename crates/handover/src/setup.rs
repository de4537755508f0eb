//! `handover setup`: configures a client to use Handover's server and tools, and tells its model how to work with them.
//!
//! ```text
//! client, reach (a project or a user)
//!   └──> layout: the client's files, and the entries they need
//!          └──> plan: each file before and after        nothing is written yet
//!                 ├──> show: the difference
//!                 └──> write: all files, and receipts   a receipt lists the added entries, for `--undo`
//! ```

mod client;
mod disk;
mod entry;
mod hooks;
mod json;
mod layout;
mod plan;
mod problem;
mod propose;
mod receipt;
mod section;
mod show;
mod token;
mod toml;
mod want;
mod write;
mod yaml;

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

pub use client::ClientProgram;
pub use entry::{HttpEntry, URL_DEFAULT};
pub use plan::{Edit, SetupPlan, SetupReach, SetupSurroundings, plan, undo};
pub use problem::SetupProblem;
pub use show::{Action, diff};
pub use write::apply;

/// The text at the end of the long help of `handover setup`.
pub const HELP: &str = "\
Examples:
  handover setup claude-code            configure Claude Code for everyone in this project: shows the changes, then asks
  handover setup codex --user           configure Codex for you, in all projects
  handover setup claude-code --hooks    also configure hooks, for gates and handoffs: docs/hooks.md
  handover setup claude-code --http     connect over HTTP, with a token for this client: docs/clients.md
  handover setup gemini --print         show the changes and write nothing
  handover setup opencode --undo --yes  remove everything that setup added

Exit code: 0 when the changes are written or none are needed, 1 when you did not agree (or there is no terminal and no
--yes), 2 when a file cannot be read or written; then no file was changed.";

#[derive(Debug, Args)]
pub struct Setup {
    /// The agent client to configure
    #[arg(value_enum)]
    client: ClientProgram,
    /// Configure the client for you, in all projects; without this option, for everyone in this project
    #[arg(long)]
    user: bool,
    /// Configure the client's hooks, too: identity and mail at the start, gates, handoffs at the end (Claude Code and
    /// Codex)
    ///
    /// Hooks need this option, because everyone in a project shares its settings, and a gate that cannot run stops the
    /// client, also on a machine without handover.
    #[arg(long, conflicts_with = "undo")]
    hooks: bool,
    /// Let the client reach `handover serve` over HTTP, at URL, instead of starting a server
    ///
    /// Makes a token of scope agent for the client, bound to the agent of the client's name, and writes it into your
    /// own configuration of the client, never into a file that git would track. The token is in the store that this
    /// command uses (--store); the server must serve the same store. --undo revokes it.
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = URL_DEFAULT,
        value_parser = url,
        conflicts_with_all = ["undo", "program"]
    )]
    http: Option<String>,
    /// Remove the entries of an earlier setup, and revoke the token that it made
    #[arg(long)]
    undo: bool,
    /// Show the changes and write nothing
    #[arg(long, conflicts_with = "yes")]
    print: bool,
    /// Write the changes without a question
    #[arg(long, short)]
    yes: bool,
    /// Print the changes as JSON on one line; writes them only with --yes
    #[arg(long)]
    json: bool,
    /// The program that the client starts as its server, with the argument `mcp`; without this option, `handover`
    ///
    /// If the name `handover` would start another program, the default is the path of this program.
    #[arg(long, value_name = "PATH")]
    program: Option<String>,
}

/// Parses the URL of a server's MCP endpoint, such as `http://127.0.0.1:4747/mcp`. Refuses any other text.
fn url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let (host, path) = rest.and_then(|rest| rest.split_once('/')).unwrap_or_default();
    let is_plain = |part: &str| !part.is_empty() && part.chars().all(|letter| letter.is_ascii_graphic());
    if is_plain(host) && is_plain(path) && !host.contains('@') {
        Ok(text.to_owned())
    } else {
        Err(format!("must be the URL of a server's MCP endpoint, such as {URL_DEFAULT}"))
    }
}

/// Shows how the client's files would change, and writes them when the caller agrees. `root` is the project's root
/// folder, and `store` is the store that the command line names.
pub async fn run(arguments: &Setup, root: &Path, store: Option<&str>) -> anyhow::Result<ExitCode> {
    let (around, absolute) = surroundings(arguments.program.as_deref(), root)?;
    let reach = if arguments.user { SetupReach::User } else { SetupReach::Project };
    let mut around = SetupSurroundings { hooks: arguments.hooks, ..around };
    let mut tokens = token::ClientTokens::of(arguments.client, reach, &around, store).await?;
    around.http = arguments.http.as_deref().map(|url| tokens.entry(url));
    let decided = if arguments.undo { undo } else { plan }(arguments.client, reach, &around)?;
    token::is_private(&decided, arguments.undo).await?;
    let changes = decided.edits.iter().any(Edit::changes);
    let mut out = std::io::stdout().lock();
    if !arguments.json {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
        let ink = if colour { show::Ink::Coloured } else { show::Ink::Plain };
        out.write_all(show::text(&decided, &around, ink).as_bytes())?;
    }
    let write = changes && !arguments.print && agreed(arguments)?;
    let mut notes = decided.notes.clone();
    if write {
        notes.extend(match &mut around.http {
            Some(http) => tokens.make(http).await?,
            None => None,
        });
        let written = match &around.http {
            Some(_) => plan(arguments.client, reach, &around).and_then(|plan| apply(&plan, &around.receipts)),
            None => apply(&decided, &around.receipts),
        };
        if let Err(problem) = written {
            tokens.take_back().await?;
            return Err(problem.into());
        }
        if arguments.undo {
            notes.extend(tokens.revoke().await?);
        }
    }
    if arguments.json {
        writeln!(out, "{}", show::json(arguments.client, reach, &decided, write))?;
    }
    out.flush()?;
    for note in &notes {
        eprintln!("note: {note}");
    }
    if absolute && !arguments.undo && arguments.http.is_none() && reach == SetupReach::Project {
        let program = &around.program;
        eprintln!("note: other machines may not have {program}; put `handover` into the PATH and run this again");
    }
    propose(arguments, &around.root);
    Ok(outcome(arguments, changes, write))
}

/// Prints proposed gate rules (rules about tool calls) for the commands with which the project builds and tests itself.
/// Does this only after hooks were set up, and if the settings have no gates yet.
fn propose(arguments: &Setup, root: &Path) {
    let gated = base::project::settings::read(Some(root)).is_ok_and(|settings| !settings.gates.is_empty());
    if !arguments.hooks || arguments.undo || gated {
        return;
    }
    if let Some(rules) = propose::settings(root) {
        eprintln!(
            "\n\
             These gates allow this project's own commands. Copy them into .handover/config.toml if you want them \
             (docs/gates.md):\n\n\
             {rules}"
        );
    }
}

/// Tells whether a client is configured for Handover in this project. This is the case if `--undo` would change one of
/// the client's files.
pub fn is_connected(client: ClientProgram, root: &Path) -> bool {
    let Ok((around, _)) = surroundings(None, root) else { return false };
    let ours = |reach| undo(client, reach, &around).is_ok_and(|plan| plan.edits.iter().any(Edit::changes));
    [SetupReach::Project, SetupReach::User].into_iter().any(ours)
}

fn outcome(arguments: &Setup, changes: bool, written: bool) -> ExitCode {
    if !changes {
        eprintln!("nothing to change");
    } else if written {
        eprintln!("written; {}", if arguments.undo { "all changes are undone" } else { "--undo removes it again" });
    } else if !arguments.print {
        eprintln!("nothing was written; use --yes to write without a question");
        return ExitCode::from(1);
    }
    ExitCode::SUCCESS
}

/// Tells whether to write the client's files: `--yes` was given, or a person at the terminal answers yes.
fn agreed(arguments: &Setup) -> anyhow::Result<bool> {
    if arguments.yes {
        return Ok(true);
    }
    if arguments.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    eprint!("\nWrite this? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Returns the facts about this machine that a setup needs. The second value is `true` if the client will start this
/// program by its full path, although the user asked for no path.
fn surroundings(named: Option<&str>, root: &Path) -> anyhow::Result<(SetupSurroundings, bool)> {
    let environment = std::env::vars_os();
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let environment: BTreeMap<String, String> = environment.filter_map(text).collect();
    let set = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = set("HOME");
    let data = set("XDG_DATA_HOME").or_else(|| home.as_ref().map(|home| home.join(".local/share")));
    let receipts = data.ok_or(SetupProblem::Homeless)?.join("handover/setup");
    let this = std::env::current_exe().context("find the path of this program")?;
    let (program, absolute) = match named {
        Some(named) if named.contains(['/', '\\']) => {
            (std::path::absolute(named).with_context(|| format!("find {named}"))?.display().to_string(), false)
        }
        Some(named) => (named.to_owned(), false),
        None if named_by_path(&this, environment.get("PATH")) => ("handover".to_owned(), false),
        None => (this.display().to_string(), true),
    };
    let root = root.canonicalize().with_context(|| format!("find {}", root.display()))?;
    Ok((SetupSurroundings { root, home, environment, program, receipts, hooks: false, http: None }, absolute))
}

/// Searches the folders of `PATH` for a program with the name `handover`, and tells whether the first one is this
/// program.
fn named_by_path(this: &Path, path: Option<&String>) -> bool {
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    let first = folders.map(|folder| folder.join("handover")).find(|program| program.is_file());
    match (first.and_then(|first| first.canonicalize().ok()), this.canonicalize().ok()) {
        (Some(first), Some(this)) => first == this,
        (_, None) | (None, _) => false,
    }
}
