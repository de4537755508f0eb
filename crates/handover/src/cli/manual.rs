//! `handover man`: the manual pages, one for each command, in the format that `man` reads.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Command};
use clap_mangen::Man;

use super::help::find;

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The words of the command, such as `task claim`; without them, the overview of all commands
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the page of every command into this folder, one file for each, such as handover-run.1
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    all: Option<PathBuf>,
}

pub(super) fn run(asked: &ManArguments) -> anyhow::Result<ExitCode> {
    match &asked.all {
        Some(folder) => write_all(folder)?,
        None => Man::new(find(&asked.command)?).render(&mut std::io::stdout())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn write_all(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let mut written = 0_u64;
    write_pages(find(&[])?, folder, &mut written)?;
    super::say(&format!("wrote {} into {}", base::ground::words::count(written, "page"), folder.display()))
}

fn write_pages(command: Command, folder: &Path, written: &mut u64) -> anyhow::Result<()> {
    // The parser adds a command `help` to each group of commands. These commands get no manual page.
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        write_pages(inner.clone(), folder, written)?;
    }
    let page = Man::new(command);
    let file = page.get_filename();
    page.generate_to(folder).with_context(|| format!("write {file} into {}", folder.display()))?;
    *written += 1;
    Ok(())
}
