//! `handover merge --undo`: sets the person's branch back to the commit from before the last merge.

use std::process::ExitCode;

use base::people::delivered::{self, short};
use engine::Caller;
use engine::delivery::{DeliveryState, DeliveryStatus};
use git::land::{LandingRecord, LandingRefusal, LandingResult, undo_landing};
use handover::office::Office;
use wire::json::object;

use super::super::show::{plain, refused};
use super::super::{say, say_json};
use super::record::{LandingAct, LandingJournal, waits};
use super::site::WorkSite;

/// Undoes the last merge. The caller must hold the lock that allows one merge at a time.
pub(super) async fn run(
    office: &Office,
    site: &WorkSite,
    (caller, journal): (&Caller, &LandingJournal),
    json: bool,
) -> anyhow::Result<ExitCode> {
    let last = delivered::last_merged(office.desk.service()).await?;
    let Some((work, record)) = last.and_then(|work| {
        let DeliveryState::Merged { into, before, commit, .. } = work.state.clone() else { return None };
        let record = LandingRecord { target: into, before, after: commit, work: work.work.branch.clone() };
        Some((work, record))
    }) else {
        eprintln!("There is no merge to undo.");
        return Ok(ExitCode::from(1));
    };
    journal.begin(work.subject, LandingAct::Undo, &record)?;
    match undo_landing(&site.git, &site.root, &record).await? {
        LandingResult::Done(_) => {}
        LandingResult::Refused(refusal) => {
            journal.end(work.subject)?;
            eprintln!("{}", told(&refusal));
            return Ok(ExitCode::from(1));
        }
    }
    if let Err(error) = waits(office, caller, work.subject, DeliveryStatus::Merged).await {
        return refused("merge", error, json);
    }
    journal.end(work.subject)?;
    if json {
        say_json(&object([
            ("success", true.into()),
            ("task", work.number.map(u64::from).into()),
            ("branch", record.target.as_str().into()),
            ("commit", record.before.as_str().into()),
        ]))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (target, name, argument) = (plain(&record.target), plain(&work.name), work.argument());
    let task = work.number.map_or(name.clone(), |number| format!("{number} {name}"));
    say(&format!("{target} is back at {}. {task} waits again: handover merge {argument}", short(&record.before)))?;
    Ok(ExitCode::SUCCESS)
}

fn told(refusal: &LandingRefusal) -> String {
    format!("Nothing was undone: {refusal}")
}
