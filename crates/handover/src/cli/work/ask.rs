//! Asks questions to the person at the terminal, and reads the answers.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use handover::person;

/// The number of wrong answers after which a question counts as not answered.
const TRIES_MAX: usize = 3;

/// Tells whether a person can be asked: standard input and standard error are a terminal, and no agent started this
/// process. Questions go to standard error, so that standard output stays free for results.
pub(in crate::cli) fn can_ask() -> bool {
    std::io::stderr().is_terminal() && person::at_a_terminal().is_ok()
}

/// Asks a question with yes as the default answer. The end of the input counts as no.
pub(in crate::cli) fn agrees(question: &str) -> anyhow::Result<bool> {
    for _ in 0..TRIES_MAX {
        let Some(answer) = answer(&format!("{question} [Y/n] "))? else { return Ok(false) };
        match answer.to_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => continue,
        }
    }
    Ok(false)
}

/// Asks the person for one of these numbers. Returns the position of the chosen number in `numbers`, or `None` when the
/// person chose none.
pub(super) fn chooses(question: &str, numbers: &[u32]) -> anyhow::Result<Option<usize>> {
    for _ in 0..TRIES_MAX {
        let Some(answer) = answer(&format!("{question} "))? else { return Ok(None) };
        if answer.is_empty() {
            return Ok(None);
        }
        let chosen = answer.trim_start_matches('#').parse::<u32>().ok();
        if let Some(at) = chosen.and_then(|chosen| numbers.iter().position(|number| *number == chosen)) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Prints a question and returns the line that the person types, or `None` at the end of the input.
fn answer(question: &str) -> anyhow::Result<Option<String>> {
    let mut out = std::io::stderr().lock();
    write!(out, "{question}")?;
    out.flush()?;
    let mut answer = String::new();
    if std::io::stdin().lock().read_line(&mut answer)? == 0 {
        writeln!(out)?;
        return Ok(None);
    }
    Ok(Some(answer.trim().to_owned()))
}
