//! `handover merge --undo`: sets the person's branch back to the commit from before the last merge.

use std::process::ExitCode;

use base::people::delivered::short;
use wire::json::object;
use work::journal::{LandingLock, LandingSite};
use work::undo::{UndoEnd, undo};

use super::super::show::plain;
use super::super::{say, say_json};
use super::landing_words::title;
use super::refused_work;

/// Undoes the last merge.
pub(super) async fn run(landing: &LandingSite<'_>, lock: &LandingLock, json: bool) -> anyhow::Result<ExitCode> {
    let (work, record) = match undo(landing, lock).await {
        Ok(UndoEnd::Done { work, record }) => (work, record),
        Ok(UndoEnd::Nothing) => {
            eprintln!("There is no merge to undo.");
            return Ok(ExitCode::from(1));
        }
        Ok(UndoEnd::Refused(refusal)) => {
            eprintln!("Nothing was undone: {refusal}");
            return Ok(ExitCode::from(1));
        }
        Err(error) => return refused_work("merge", error, json),
    };
    if json {
        say_json(&object([
            ("success", true.into()),
            ("task", work.number.map(u64::from).into()),
            ("branch", record.target.as_str().into()),
            ("commit", record.before.as_str().into()),
        ]))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (target, task, argument) = (plain(&record.target), title(&work), work.argument());
    say(&format!("{target} is back at {}. {task} waits again: handover merge {argument}", short(&record.before)))?;
    Ok(ExitCode::SUCCESS)
}
