//! `handover trust`: a person accepts the commands that a repository's settings run, and the permissions that these
//! settings widen.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anstyle::Style;
use anyhow::Context as _;
use base::project::effective;
use base::project::trust::{self, TrustView};
use clap::Args;
use handover::person;

use super::failure::CommandFailure;
use super::show::plain;
use super::{say, say_json};

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Accept without a question if the list has exactly this hash, which an earlier call printed; for your scripts
    #[arg(long, value_name = "HASH")]
    sha256: Option<String>,
    /// Print the list to accept, and its hash, as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(asked: &Trust) -> anyhow::Result<ExitCode> {
    let root = crate::begin::root()?;
    let data = base::project::place::data_folder().context("there is no folder for this user's data; set HOME")?;
    // Read the settings only once. Otherwise a change between two reads could make the accepted list differ from the
    // shown one.
    let view = trust::view_with(&root, Some(&data), &effective::find_here(&root)).context("read the configuration")?;
    if let Some(hash) = &asked.sha256 {
        return by_hash(&view, hash, &data);
    }
    if asked.json {
        say_json(&json(&view))?;
        return Ok(ExitCode::SUCCESS);
    }
    if view.is_trusted() && view.changes.is_empty() {
        show(&view)?;
        say("You have accepted these settings already.")?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Err(refused) = person::at_a_terminal() {
        show(&view)?;
        if view.is_trusted() {
            say("These changes need no approval and are in force already.")?;
            return Ok(ExitCode::SUCCESS);
        }
        let how = format!("a script of yours can accept them with `handover trust --sha256 {}`", view.list.sha256());
        return Err(CommandFailure::by_text(&format!("{refused}\n{how}")).into());
    }
    let accepted = ask(&view, &data)?;
    Ok(ExitCode::from(u8::from(!accepted && !view.is_trusted())))
}

fn json(view: &TrustView) -> serde_json::Value {
    let changes: Vec<_> = view
        .changes
        .iter()
        .map(|change| serde_json::json!({"change": change.text, "waits_for_a_person": change.waits}))
        .collect();
    serde_json::json!({
        "path": view.path,
        "sha256": view.list.sha256(),
        "commands": view.list.commands(),
        "accepts": view.list.lines(),
        "changes": if view.is_accepted { changes } else { Vec::new() },
        "trusted": view.is_trusted(),
    })
}

fn by_hash(view: &TrustView, hash: &str, data: &Path) -> anyhow::Result<ExitCode> {
    if let Err(refused) = person::here() {
        return Err(CommandFailure::by_text(&refused.to_string()).into());
    }
    if *hash != view.list.sha256() {
        let text = format!(
            "NOT_TRUSTED the settings have changed: the hash of their list is now {}; read the list with `handover \
             trust`",
            view.list.sha256()
        );
        return Err(CommandFailure::by_text(&text).into());
    }
    trust::accept(data, view).context("save what was accepted")?;
    say(&format!("Accepted {} for {}", view.list.sha256(), plain(&view.path)))?;
    Ok(ExitCode::SUCCESS)
}

/// Shows the list of commands and permissions in the settings, or how it differs from the accepted list. Then asks the
/// person at the terminal whether to accept it, and returns the answer.
pub(super) fn ask(view: &TrustView, data: &Path) -> anyhow::Result<bool> {
    show(view)?;
    let mut out = anstream::stdout();
    write!(out, "May Handover do this on this machine? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        say("Nothing was accepted.")?;
        return Ok(false);
    }
    trust::accept(data, view).context("save what was accepted")?;
    say("Accepted. Handover asks again when the settings ask for more.")?;
    Ok(true)
}

/// Asks the person at the terminal whether to accept the settings of a project. Returns `false` if no person is at a
/// terminal.
pub(super) fn ask_here(root: &Path) -> anyhow::Result<bool> {
    let Some(data) = base::project::place::data_folder().filter(|_| person::at_a_terminal().is_ok()) else {
        return Ok(false);
    };
    let view = trust::view_with(root, Some(&data), &effective::find_here(root)).context("read the configuration")?;
    ask(&view, &data)
}

fn show(view: &TrustView) -> anyhow::Result<()> {
    let dim = Style::new().dimmed();
    say(&format!("{}\n{dim}sha256 {}{dim:#}", plain(&view.path), view.list.sha256()))?;
    if !view.is_accepted || view.changes.is_empty() {
        let lines = view.list.lines();
        if lines.is_empty() {
            say("The settings start no program and widen no permission.")?;
        }
        return lines.iter().try_for_each(|line| say(&format!("  {}", plain(line))));
    }
    for change in &view.changes {
        let note = if change.waits { "" } else { "   (in force already)" };
        say(&format!("  {}{dim}{note}{dim:#}", plain(&change.text)))?;
    }
    Ok(())
}
