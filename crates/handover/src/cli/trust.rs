//! `handover trust`: a person accepts the commands that a repository's configuration names.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use anstyle::Style;
use anyhow::Context as _;
use clap::Args;
use handover::trust::{self, Offered};
use handover::{office, person, settings};

use super::say;
use super::show::plain;

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Accept exactly this configuration, as an earlier call printed it; for scripts of a person
    #[arg(long, value_name = "HASH")]
    sha256: Option<String>,
    /// Print what would be accepted as JSON, and its hash
    #[arg(long)]
    json: bool,
}

pub(super) fn run(asked: &Trust) -> anyhow::Result<ExitCode> {
    let root = crate::begin::root()?;
    let offered = trust::look(&root, &settings::read(Some(&root))?).context("read the configuration")?;
    let data = office::data_folder().context("there is no folder for this user's data; set HOME")?;
    let is_trusted = trust::check(&root, Some(&data)).is_ok();
    if let Some(hash) = &asked.sha256 {
        return by_hash(&offered, hash, &data);
    }
    if asked.json {
        let value = serde_json::json!({
            "path": offered.path, "sha256": offered.sha256, "commands": offered.commands, "trusted": is_trusted,
        });
        say(&value.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    show(&offered)?;
    if is_trusted {
        say("This is trusted already.")?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Err(refused) = person::at_a_terminal() {
        eprintln!("{refused}");
        eprintln!("or call `handover trust --sha256 {}`", offered.sha256);
        return Ok(ExitCode::from(1));
    }
    let mut out = anstream::stdout();
    write!(out, "May Handover run these on this machine? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        say("Nothing was accepted.")?;
        return Ok(ExitCode::from(1));
    }
    trust::accept(&data, &offered).context("keep what was accepted")?;
    say("Accepted. A change of the configuration must be accepted again.")?;
    Ok(ExitCode::SUCCESS)
}

fn by_hash(offered: &Offered, hash: &str, data: &std::path::Path) -> anyhow::Result<ExitCode> {
    if let Err(refused) = person::here() {
        eprintln!("{refused}");
        return Ok(ExitCode::from(1));
    }
    if *hash != offered.sha256 {
        eprintln!("NOT_TRUSTED the configuration is {} by now; look at it with `handover trust`", offered.sha256);
        return Ok(ExitCode::from(1));
    }
    trust::accept(data, offered).context("keep what was accepted")?;
    say(&format!("Accepted {} for {}", offered.sha256, plain(&offered.path)))?;
    Ok(ExitCode::SUCCESS)
}

fn show(offered: &Offered) -> anyhow::Result<()> {
    let dim = Style::new().dimmed();
    say(&format!("{}\n{dim}sha256 {}{dim:#}", plain(&offered.path), offered.sha256))?;
    if offered.commands.is_empty() {
        say("The configuration names no commands.")?;
    }
    offered.commands.iter().try_for_each(|command| say(&format!("  {}", plain(command))))
}
