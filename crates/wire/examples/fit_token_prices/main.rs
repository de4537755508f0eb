//! Fits the prices of the token estimate to a real tokenizer (o200k), and compares the estimates before and after the
//! fit.
//!
//! The same folders give the same prices on every machine. `docs/decisions/0019-token-estimate-is-fitted.md` names the
//! folders from which the current prices were made. This program is not part of the product.
#![expect(clippy::print_stdout, reason = "the figures are the result")]

mod figures;
mod fit;
mod made;
mod samples;
mod texts;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use wire::tokens::prices::{PRICES, file_text};

use figures::EstimateJudge;
use texts::TextFolder;

const USAGE: &str = "\
usage: fit_token_prices FOLDER... [--judge FOLDER...] [--write]

Fits the prices to four fifths of the texts in the folders, and compares the estimates with the prices of the source and
with the fitted prices. Texts in the folders after --judge are only compared. --write writes the fitted prices to the source.";

/// The command line arguments of this program, as `USAGE` shows them.
#[derive(Default)]
struct FitArguments {
    folders: Vec<PathBuf>,
    judged: Vec<PathBuf>,
    is_write: bool,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let Some(arguments) = parse(env::args().skip(1)) else {
        return Err(USAGE.into());
    };
    let mut folders = read_all(&arguments.folders)?;
    let typos = made::typos(&folders);
    folders.extend([typos, made::random()]);
    let tokenizer = tiktoken_rs::o200k_base()?;
    let samples = samples::collect(&folders, &tokenizer);
    println!("{} different pieces in {} folders", samples.len(), folders.len());
    let fitted = fit::fit(&samples);
    let changed = fitted.iter().zip(&PRICES).filter(|(after, before)| after != before).count();
    println!("{changed} of {} prices differ from the source\n", PRICES.len());

    let mut judge = EstimateJudge::new(&tokenizer, [&PRICES, &fitted]);
    println!("{}", figures::HEADER);
    for folder in &folders {
        println!("{}", judge.row(&folder.name, "fitted", &folder.fitted));
        println!("{}", judge.row(&folder.name, "held out", &folder.held_out));
    }
    for folder in read_all(&arguments.judged)? {
        println!("{}", judge.row(&folder.name, "only judged", &[folder.fitted, folder.held_out].concat()));
    }
    if arguments.is_write {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tokens/prices.txt"), file_text(&fitted))?;
    }
    Ok(())
}

/// Returns the arguments, or `None` when they do not have the form that `USAGE` shows.
fn parse(words: impl Iterator<Item = String>) -> Option<FitArguments> {
    let mut arguments = FitArguments::default();
    let mut is_judged = false;
    for word in words {
        match word.as_str() {
            "--write" => arguments.is_write = true,
            "--judge" => is_judged = true,
            option if option.starts_with('-') => return None,
            folder if is_judged => arguments.judged.push(folder.into()),
            folder => arguments.folders.push(folder.into()),
        }
    }
    (!arguments.folders.is_empty()).then_some(arguments)
}

/// Reads folders in the order of their names, so that the order of the arguments does not change the prices.
fn read_all(folders: &[PathBuf]) -> Result<Vec<TextFolder>, Box<dyn Error>> {
    let read = |folder: &PathBuf| {
        texts::read_folder(folder).map_err(|cause| format!("read the texts in {}: {cause}", folder.display()))
    };
    let mut read: Vec<TextFolder> = folders.iter().map(read).collect::<Result<_, _>>()?;
    read.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(read)
}
