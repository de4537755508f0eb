//! `handover demo`, and the scripted agents that it starts.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use handover::demo::{self, DemoOptions};

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// An empty folder to work in, which is kept; without it, a temporary folder that is deleted at the end
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Print every event as one line of JSON
    #[arg(long)]
    json: bool,
}

/// A scripted agent of the demo.
#[derive(Debug, Args)]
pub(crate) struct DemoAgent {
    name: String,
}

pub(super) async fn run(asked: Demo) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("find the path of this program")?;
    let temporary = match &asked.folder {
        Some(_) => None,
        None => Some(tempfile::tempdir().context("create a temporary folder")?),
    };
    let folder = match (&asked.folder, &temporary) {
        (Some(folder), _) => {
            let empty =
                std::fs::read_dir(folder).map_or(Ok(true), |mut entries| anyhow::Ok(entries.next().is_none()))?;
            anyhow::ensure!(empty, "{} is not empty; name a new folder", folder.display());
            std::path::absolute(folder)?
        }
        (None, Some(temporary)) => temporary.path().to_owned(),
        (None, None) => anyhow::bail!("there is no folder to work in"),
    };
    let (look, width) = super::run::look(asked.json);
    let good = demo::run(DemoOptions { program, folder: folder.clone(), look, width }).await?;
    if asked.folder.is_some() && !asked.json {
        eprintln!("Look around: cd {} && handover status", folder.display());
    }
    Ok(ExitCode::from(u8::from(!good)))
}

pub(super) async fn agent(asked: &DemoAgent) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("find the path of this program")?;
    let folder = std::env::current_dir().context("find the current folder")?;
    demo::run_agent(&program, &folder, &asked.name).await?;
    Ok(ExitCode::SUCCESS)
}
