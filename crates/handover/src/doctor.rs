//! Checks the store, the settings and this machine, and tells how to fix each problem. Changes and deletes nothing.

mod disk;
mod surroundings;
mod team;

use std::path::Path;

use wire::json::{Value, object};

use crate::office::{self, Office};
use base::ground::words;

/// The result of one check of `handover doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    pub what: &'static str,
    pub state: DoctorState,
    /// A description of what the check of `handover doctor` found.
    pub seen: String,
    /// The advice on how to fix the problem; `None` if there is no problem.
    pub advice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoctorState {
    Good,
    /// The checked thing works, but a person should know about the finding.
    Notice,
    Bad,
}

impl DoctorState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Notice => "notice",
            Self::Bad => "bad",
        }
    }
}

impl DoctorFinding {
    fn good(what: &'static str, seen: impl Into<String>) -> Self {
        Self { what, state: DoctorState::Good, seen: seen.into(), advice: None }
    }

    fn notice(what: &'static str, seen: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what, state: DoctorState::Notice, seen: seen.into(), advice: Some(advice.into()) }
    }

    fn bad(what: &'static str, seen: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what, state: DoctorState::Bad, seen: seen.into(), advice: Some(advice.into()) }
    }

    pub fn to_value(&self) -> Value {
        object([
            ("check", self.what.into()),
            ("state", self.state.as_str().into()),
            ("seen", self.seen.as_str().into()),
            // The JSON member keeps its name of version 0.1.0, because people's scripts read it.
            ("mend", self.advice.as_deref().into()),
        ])
    }
}

/// Runs all checks, one after another. Calls `tell` after each check, so that results appear while a long check runs.
pub async fn examine(named: Option<&str>, tell: &mut dyn FnMut(&DoctorFinding)) -> Vec<DoctorFinding> {
    let mut found = Vec::new();
    let mut note = |finding: DoctorFinding, found: &mut Vec<DoctorFinding>| {
        tell(&finding);
        found.push(finding);
    };
    let place = office::find(named);
    let root = place.as_ref().ok().and_then(|place| place.root.clone());
    for finding in surroundings::settings(root.as_deref()) {
        note(finding, &mut found);
    }
    match place {
        Err(closed) => note(
            DoctorFinding::bad("store", chain(&closed), "name a store with --store, or run this in a git repository"),
            &mut found,
        ),
        Ok(place) => match disk::before_open(&place).await {
            Some(finding) => note(finding, &mut found),
            None => match office::open(named).await {
                Err(closed) => {
                    if let Some(finding) = disk::unopened(&place, &closed) {
                        note(finding, &mut found);
                    }
                }
                Ok(office) => {
                    for finding in store(&office).await {
                        note(finding, &mut found);
                    }
                    for finding in team::tasks(&office).await {
                        note(finding, &mut found);
                    }
                }
            },
        },
    }
    for finding in team::agents(root.as_deref()) {
        note(finding, &mut found);
    }
    for finding in surroundings::cards(root.as_deref()) {
        note(finding, &mut found);
    }
    for finding in surroundings::git(root.as_deref()).await {
        note(finding, &mut found);
    }
    for finding in surroundings::clients(root.as_deref()) {
        note(finding, &mut found);
    }
    found
}

/// Returns the text of an error and of all its causes, with colons between them.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

async fn store(office: &Office) -> Vec<DoctorFinding> {
    let place = &office.place;
    // Show a path, but not a URL: the URL of a database server may contain a password.
    let shown = if place.store.contains("://") { "a database server" } else { place.store.as_str() };
    let mut found = vec![DoctorFinding::good("store", format!("{shown} ({})", place.by))];
    found.push(DoctorFinding::good("schema", "is the version that this program writes"));
    let store = office.desk.service().store();
    found.push(match store.integrity().await {
        Ok(problems) if problems.is_empty() => {
            DoctorFinding::good("integrity", "the database's own check found no problem")
        }
        Ok(problems) => DoctorFinding::bad("integrity", problems.join("; "), recover(&place.store)),
        Err(fault) => DoctorFinding::bad("integrity", chain(&fault), recover(&place.store)),
    });
    found.push(match store::verify(store, &[]).await {
        Ok(verdict) if verdict.findings.is_empty() => DoctorFinding::good(
            "log",
            format!(
                "{} of {}, every hash is right",
                words::count(verdict.entries, "entry"),
                words::count(verdict.topics, "topic")
            ),
        ),
        Ok(verdict) => {
            let first = verdict.findings.first().map(ToString::to_string).unwrap_or_default();
            let seen = format!(
                "{} in entries that were changed after they were written; the first: {first}",
                words::count(verdict.findings.len(), "problem")
            );
            DoctorFinding::bad(
                "log",
                seen,
                "compare the log with an export, or with heads that you saved elsewhere (`handover log verify \
                 --heads FILE`)",
            )
        }
        Err(fault) => DoctorFinding::bad("log", chain(&fault), recover(&place.store)),
    });
    found.extend(surroundings::token(&office.state));
    found.push(live(&office.live));
    found.extend(clock(office));
    found
}

fn recover(store: &str) -> String {
    if store.contains("://") {
        return "ask the administrator of the database server to check its disks and to restore a backup".to_owned();
    }
    format!(
        "stop every program that uses the store, copy {store}* to another folder, then try `sqlite3 {store} \
         .recover`, or `handover import` with the last export"
    )
}

/// Returns the finding about the difference between this machine's clock and the database server's clock; `None`
/// without a database server.
fn clock(office: &Office) -> Option<DoctorFinding> {
    let measured = office.desk.service().server_clock()?.last_measure();
    if measured.correction_ms() == 0 {
        return Some(DoctorFinding::good("clock", "differs from the database server's clock by less than a second"));
    }
    let off = measured.difference_ms;
    let direction = if off < 0 { "ahead of" } else { "behind" };
    let seen = format!(
        "is {} {direction} the database server's clock; handover corrects its own times by that",
        words::duration(off.unsigned_abs())
    );
    let advice = "set this machine's clock, for example with `timedatectl set-ntp true`; if it is right, set the \
        server's clock";
    Some(DoctorFinding::notice("clock", seen, advice))
}

fn live(folder: &Path) -> DoctorFinding {
    match base::live::survey(folder) {
        Ok(survey) => {
            let (alive, dead) = (survey.alive.len() + survey.silent.len(), survey.dead.len());
            if dead > 0 {
                let advice = "start `handover mcp` or `handover serve`: it gives the tasks of killed connections back \
                    within seconds";
                return DoctorFinding::notice("connections", format!("{alive} alive, {dead} were killed"), advice);
            }
            DoctorFinding::good("connections", format!("{alive} alive"))
        }
        Err(error) => {
            DoctorFinding::bad("connections", error.to_string(), format!("make {} readable", folder.display()))
        }
    }
}
