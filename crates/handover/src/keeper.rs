//! What runs beside the doors: our own sign of life, a look at who else lives, an end to leases that are over, and notices for
//! people.
//!
//! Every process does it, so nobody depends on a server. What one has done another finds done.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::command::SessionEnd;
use engine::id::SessionId;
use engine::{Caller, Command, Rights};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::desk::Desk;
use crate::live::{self, Live, Watch};
use crate::notify::Notifier;
use crate::{office, random};

/// A task of a killed process is offered again within half a minute; this leaves room for a slow machine.
const ROUND: Duration = Duration::from_secs(5);
/// Answers to keys are forgotten a thousand at a time.
const ROUNDS_BETWEEN_FORGETTING: u32 = 120;

/// Runs until it is dropped.
#[derive(Debug)]
pub struct Keeper {
    own: Option<Arc<Live>>,
    start: Instant,
    task: JoinHandle<()>,
}

impl Keeper {
    /// `folder` is where the processes of this machine keep their signs of life. A process that serves a connection of its own
    /// gives its session.
    pub fn start(desk: Desk, folder: PathBuf, session: Option<SessionId>) -> std::io::Result<Self> {
        let own = session.map(|session| Live::hold(&folder, &session.to_string())).transpose()?.map(Arc::new);
        let start = Instant::now();
        let task = tokio::spawn(rounds(desk, folder, own.clone(), start));
        Ok(Self { own, start, task })
    }

    /// There was a call. An error only means that a silence is noticed late.
    pub fn touch(&self) {
        if let Some(own) = &self.own {
            let _late = own.touch(self.start.elapsed());
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One round, for a process that will not stay: what others left behind is seen to before it looks.
pub async fn once(desk: &Desk, folder: &Path) {
    look(desk, folder, &Arc::default(), Instant::now()).await;
    // A fault is met by the command that follows.
    let _again = desk.service().sweep(desk.alive()).await;
}

async fn rounds(desk: Desk, folder: PathBuf, own: Option<Arc<Live>>, start: Instant) {
    let watch = Arc::new(Mutex::new(Watch::default()));
    let mut round: u32 = 0;
    let root = desk.surroundings().root.clone();
    let notifier = root.map(|root| Notifier::new(desk.service().clone(), root, office::data_folder()));
    // One at a time, beside the rounds: telling people may take long. It ends with us; what was not told is told later.
    let mut telling: JoinSet<()> = JoinSet::new();
    // Processes that were started together should not all look at the same moment.
    let first = random::seed().map_or(0, |seed| u64::try_from(seed % ROUND.as_millis()).unwrap_or(0));
    let mut pause = Duration::from_millis(first);
    loop {
        // The first look is taken at once, because a claim may depend on who lives.
        look(&desk, &folder, &watch, start).await;
        tokio::time::sleep(pause).await;
        pause = ROUND;
        if let Some(own) = &own {
            let _late = own.tick(start.elapsed());
        }
        // A fault here is met by whoever gives the next command; the next round tries again.
        let _again = desk.service().sweep(desk.alive()).await;
        while telling.try_join_next().is_some() {}
        if let (Some(notifier), true) = (&notifier, telling.is_empty()) {
            let notifier = notifier.clone();
            telling.spawn(async move {
                let _again = notifier.round().await;
            });
        }
        round = round.wrapping_add(1);
        if round.is_multiple_of(ROUNDS_BETWEEN_FORGETTING) {
            let _again = desk.service().execute(Caller::with_rights(Rights::Engine), Command::ForgetKeys).await;
        }
    }
}

/// Finds out who lives, and records the end of those that were killed.
async fn look(desk: &Desk, folder: &Path, watch: &Arc<Mutex<Watch>>, start: Instant) {
    let (place, watch, now) = (folder.to_owned(), Arc::clone(watch), start.elapsed());
    let found =
        tokio::task::spawn_blocking(move || watch.lock().unwrap_or_else(PoisonError::into_inner).survey(&place, now));
    let Ok(Ok(survey)) = found.await else { return };
    let ids = |names: &[String]| names.iter().filter_map(|name| name.parse().ok()).collect::<Vec<SessionId>>();
    desk.set_alive(ids(&survey.alive));
    for session in ids(&survey.dead) {
        let close = Command::CloseSession { session, end: SessionEnd::Killed };
        // Its file stays until its end is recorded.
        if desk.service().execute(Caller::with_rights(Rights::Engine), close).await.is_ok() {
            let _again = live::forget(folder, &session.to_string());
        }
    }
}
