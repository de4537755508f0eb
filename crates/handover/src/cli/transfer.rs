//! `handover export` and `handover import`: write the store to a file, and read it back.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use store::{Fault, Store};

pub(super) async fn export(store: &dyn Store, output: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let out: Box<dyn Write + Send> = match &output {
        Some(path) => {
            Box::new(std::io::BufWriter::new(File::create(path).with_context(|| format!("create {}", path.display()))?))
        }
        None => Box::new(std::io::stdout()),
    };
    let rows = store::export(store, out).await?;
    eprintln!("exported {}", base::ground::words::count(rows, "row"));
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn import(store: &dyn Store, input: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let source: Box<dyn Read + Send> = match &input {
        Some(path) => Box::new(File::open(path).with_context(|| format!("open {}", path.display()))?),
        None => Box::new(std::io::stdin()),
    };
    match store::import(store, BufReader::new(source)).await {
        Ok(()) => {
            eprintln!("imported");
            Ok(ExitCode::SUCCESS)
        }
        Err(Fault::Import { problem }) => {
            eprintln!("handover: nothing was imported: {problem}");
            Ok(ExitCode::from(1))
        }
        Err(fault) => Err(fault.into()),
    }
}
