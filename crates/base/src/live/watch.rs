//! Surveys session files, and remembers the results of earlier surveys. So it notices a process that is stopped
//! (`SIGSTOP`): the number of its recorded calls no longer grows.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::SILENCE_MAX;
use super::survey::{Life, Survey, look};

/// The last observation of each session. A process that is stopped (`SIGSTOP`) cannot write `silent` into its file, but
/// the number of calls in the file stops increasing.
#[derive(Debug, Default)]
pub struct SessionWatch {
    seen: BTreeMap<String, SeenSession>,
}

#[derive(Debug, Clone, Copy)]
struct SeenSession {
    calls_noted: u64,
    since: Duration,
}

impl SessionWatch {
    /// Surveys the folder like [`survey`](super::survey). `now` is the time since the caller started, not counting the
    /// time in which the machine sleeps.
    pub fn survey(&mut self, folder: &Path, now: Duration) -> io::Result<Survey> {
        let (lives, more) = look(folder)?;
        self.seen.retain(|session, _| lives.contains_key(session));
        let mut survey = Survey { more, ..Survey::default() };
        for (session, life) in lives {
            match life {
                Life::Dead => survey.dead.push(session),
                Life::Silent => survey.silent.push(session),
                Life::Alive { calls_noted } if self.is_silent(&session, calls_noted, now) => {
                    survey.silent.push(session)
                }
                Life::Alive { .. } => survey.alive.push(session),
            }
        }
        Ok(survey)
    }

    fn is_silent(&mut self, session: &str, calls_noted: Option<u64>, now: Duration) -> bool {
        match (self.seen.get(session), calls_noted) {
            (Some(seen), Some(calls)) if seen.calls_noted != calls => {}
            (Some(seen), _) => return now.saturating_sub(seen.since) >= SILENCE_MAX,
            (None, _) => {}
        }
        let seen = SeenSession { calls_noted: calls_noted.unwrap_or_default(), since: now };
        self.seen.insert(session.to_owned(), seen);
        false
    }
}
