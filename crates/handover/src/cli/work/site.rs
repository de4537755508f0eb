//! Opens the repository that holds the work of the tasks, and decides who the caller of a command is.

use std::process::ExitCode;

use engine::Caller;
use handover::office::Office;
use handover::person;
use work::journal::LandingSite;
use work::{NoWorkSite, WorkSite};

use super::super::init::NO_REPOSITORY;

/// Finds the repository of the project. If there is none, tells the person and returns the exit code.
pub(super) async fn work_site(office: &Office) -> anyhow::Result<Result<WorkSite<'_>, ExitCode>> {
    Ok(WorkSite::find(office.run_site()).await?.map_err(without_site))
}

/// Opens the repository of the project for a command that changes work in git. If there is none, tells the person and
/// returns the exit code.
pub(super) async fn landing_site(office: &Office) -> anyhow::Result<Result<LandingSite<'_>, ExitCode>> {
    let caller = operator(office).await?;
    Ok(LandingSite::open(office.run_site(), caller).await?.map_err(without_site))
}

/// Tells the person that there is no repository, and returns the exit code.
pub(super) fn without_site(none: NoWorkSite) -> ExitCode {
    match none {
        NoWorkSite::NoProject => {
            eprintln!("There is no project here. Run this command in the folder of your project.");
        }
        NoWorkSite::NoRepository => eprintln!("{NO_REPOSITORY}"),
    }
    ExitCode::from(2)
}

/// Returns the caller of a command that a person or a person's script runs.
pub(super) async fn operator(office: &Office) -> anyhow::Result<Caller> {
    Ok(Caller::with_rights(person::rights(office.desk.service()).await?))
}

/// Returns the caller of a command that only a person may run. If the caller is no person, prints the reason and
/// returns the exit code.
pub(super) async fn decider(office: &Office) -> anyhow::Result<Result<Caller, ExitCode>> {
    Ok(person::decider(office.desk.service()).await?.map_err(|stranger| {
        eprintln!("{stranger}");
        ExitCode::from(1)
    }))
}
