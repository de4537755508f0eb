//! The root of the project, and the command `handover card`, which shows the agent cards (the files that describe the
//! project's agents).

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use base::project::files;
use base::project::place;
use wire::json::{Value, object};

/// Returns the root of the project that contains the current folder. Without a project, returns the current folder.
pub(crate) fn root() -> anyhow::Result<std::path::PathBuf> {
    let here = std::env::current_dir().context("find the current folder")?;
    Ok(place::root(&here).unwrap_or(here))
}

/// Prints the card (the file that describes an agent) of the agent with this slug (short name). Returns `false` when no
/// valid card has the slug.
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
        writeln!(out, "this project has no cards; `handover init --examples` writes two examples")?;
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
