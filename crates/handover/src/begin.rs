//! The commands `handover init`, which writes a project's files, and `handover card`, which shows the agent cards (the
//! files that describe the project's agents).

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use base::project::files;
use base::project::place;
use wire::json::{Value, object};

/// Writes the files of a new project into the repository's main worktree. Without a repository, writes them into the
/// current folder.
pub(crate) fn init(json: bool) -> anyhow::Result<ExitCode> {
    let root = root()?;
    let written = files::init_examples(&root).with_context(|| format!("write into {}", root.display()))?;
    let mut out = std::io::stdout().lock();
    if json {
        let files = |kept: bool| -> Value {
            let files = written.iter().filter(|file| file.kept == kept);
            files.map(|file| file.path.display().to_string()).collect::<Vec<_>>().into()
        };
        let root = root.display().to_string();
        writeln!(out, "{}", object([("root", root.into()), ("written", files(false)), ("kept", files(true))]))?;
        return Ok(ExitCode::SUCCESS);
    }
    for file in &written {
        let name = file.path.strip_prefix(&root).unwrap_or(&file.path).display();
        writeln!(out, "{} {name}", if file.kept { "kept   " } else { "written" })?;
    }
    writeln!(
        out,
        "\nNext: read and edit the cards in .handover/cards, then commit .handover (git ignores \
        .handover/state)."
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the root of the project that contains the current folder. Without a project, returns the current folder.
pub(crate) fn root() -> anyhow::Result<std::path::PathBuf> {
    let here = std::env::current_dir().context("find the current folder")?;
    Ok(place::root(&here).unwrap_or(here))
}

/// Prints the agent card with this slug. Returns `false` when there is no such valid card. An agent card is a file that describes one agent of the project.
pub(crate) fn card(slug: &str, json: bool) -> anyhow::Result<bool> {
    let root = root()?;
    let cards = files::cards(&root).with_context(|| format!("read the cards of {}", root.display()))?;
    let found = cards.into_iter().filter_map(|judged| judged.card).find(|card| card.identity.slug.as_str() == slug);
    let Some(card) = found else { return Ok(false) };
    let value = wire::shape::Shape::render(&card);
    let text = if json { format!("{value}\n") } else { value.pretty() };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(true)
}

/// Lists the agent cards of the project (the files that describe its agents), each with the result of its check.
pub(crate) fn cards(json: bool) -> anyhow::Result<ExitCode> {
    let root = root()?;
    let cards = files::cards(&root).with_context(|| format!("read the cards of {}", root.display()))?;
    let mut out = std::io::stdout().lock();
    if json {
        let row = |judged: &files::JudgedCard| {
            let card = judged.card.as_ref();
            object([
                ("path", judged.path.display().to_string().into()),
                ("slug", card.map(|card| card.identity.slug.to_string()).into()),
                ("name", card.map(|card| card.identity.name.to_string()).into()),
                ("verdict", judged.verdict.clone()),
            ])
        };
        writeln!(out, "{}", object([("cards", Value::List(cards.iter().map(row).collect()))]))?;
    } else if cards.is_empty() {
        writeln!(out, "this project has no cards; `handover init` writes two examples")?;
    }
    for judged in cards.iter().filter(|_| !json) {
        let name = judged.path.strip_prefix(&root).unwrap_or(&judged.path).display();
        match &judged.card {
            Some(card) => writeln!(out, "{:<16} {:<24} {}", card.identity.slug, card.identity.name, card.scope)?,
            None => {
                let errors = base::ground::words::count(judged.errors, "problem");
                writeln!(out, "{name}: not valid, {errors}; `handover check card {name}` shows them")?;
            }
        }
    }
    Ok(if cards.iter().all(|judged| judged.card.is_some()) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
