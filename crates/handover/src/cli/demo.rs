//! `handover demo`, and the scripted agents that it starts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use handover::demo::{self, DemoOptions};

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// An empty folder to work in, which is kept; without it, a temporary folder that is deleted at the end
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Keep the repository, the worktrees and the log of the demo, to look at them
    #[arg(long)]
    keep: bool,
    /// Print every event as one line of JSON
    #[arg(long)]
    json: bool,
}

/// A scripted agent of the demo.
#[derive(Debug, Args)]
pub(crate) struct DemoAgent {
    name: String,
}

/// The folder of the demo. A temporary folder is deleted when this value is dropped.
enum DemoFolder {
    Temporary(tempfile::TempDir),
    Kept(PathBuf),
}

impl DemoFolder {
    fn new(asked: &Demo) -> anyhow::Result<Self> {
        if let Some(folder) = &asked.folder {
            let empty =
                std::fs::read_dir(folder).map_or(Ok(true), |mut entries| anyhow::Ok(entries.next().is_none()))?;
            anyhow::ensure!(empty, "{} is not empty; name a new folder", folder.display());
            return Ok(Self::Kept(std::path::absolute(folder)?));
        }
        let temporary = tempfile::Builder::new().prefix("handover-demo-").tempdir();
        let temporary = temporary.context("create a temporary folder")?;
        Ok(if asked.keep { Self::Kept(temporary.keep()) } else { Self::Temporary(temporary) })
    }

    fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept(folder) => folder,
        }
    }
}

pub(super) async fn run(asked: Demo) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("find the path of this program")?;
    let folder = DemoFolder::new(&asked)?;
    let (look, width) = super::run::look(asked.json);
    let path = folder.path().to_owned();
    let good = demo::run(DemoOptions { program, folder: path, look, width }).await?;
    if let (DemoFolder::Kept(folder), false) = (&folder, asked.json) {
        super::say(&format!(
            "\nThe demo is kept. Look at it, and delete the folder when you are done:\n  cd {}\n  handover status\n  \
             handover log\n  git log --graph --stat --all",
            folder.display()
        ))?;
    }
    Ok(ExitCode::from(u8::from(!good)))
}

pub(super) async fn agent(asked: &DemoAgent) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("find the path of this program")?;
    let folder = std::env::current_dir().context("find the current folder")?;
    demo::run_agent(&program, &folder, &asked.name).await?;
    Ok(ExitCode::SUCCESS)
}
