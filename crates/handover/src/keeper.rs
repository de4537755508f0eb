//! What runs beside the doors: our own sign of life, a look at who else lives, an end to leases that are over, and notices for
//! people.
//!
//! Every process does it, so nobody depends on a server. What one has done another finds done.

mod renewal;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use engine::command::SessionEnd;
use engine::id::SessionId;
use engine::{Caller, Command, Need, Rights};
use tokio::task::JoinSet;

use crate::desk::Desk;
use crate::live::{self, Live, LiveSessions};
use crate::notify::Notifier;
use crate::random;

/// A task of a killed process is offered again within half a minute; this leaves room for a slow machine.
const ROUND: Duration = Duration::from_secs(5);
/// Answers to keys are forgotten a thousand at a time.
const ROUNDS_BETWEEN_FORGETTING: u32 = 120;
/// The host's clock is measured once a minute, and when it was set.
const ROUNDS_BETWEEN_MEASURES: u32 = 12;

/// Whose life this process shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnSession {
    /// This process serves no connection of its own.
    Nobody,
    /// A connection that ends with this process.
    Connection(SessionId),
    /// A runner, whose agents go on in the next process of the same name.
    Runner(SessionId),
}

/// Runs until it is dropped.
#[derive(Debug)]
pub struct Keeper {
    own: Option<Arc<OwnLife>>,
    _tasks: JoinSet<()>,
}

/// The file by which others see that this process lives.
#[derive(Debug)]
struct OwnLife {
    session: SessionId,
    file: Live,
    is_runner: bool,
    live: Arc<LiveSessions>,
}

impl Keeper {
    /// Holds the file of this process, looks who else lives, and goes on with both. Nothing is served before this is done.
    pub async fn start(desk: Desk, session: OwnSession) -> io::Result<Self> {
        let Some(live) = desk.service().live().cloned() else {
            return Err(io::Error::other("this store has no folder for signs of life"));
        };
        let own = OwnLife::hold(&live, session)?.map(Arc::new);
        if let OwnSession::Runner(session) = session {
            live.set_own(session);
        }
        look(&desk, &live).await?;
        let mut tasks = JoinSet::new();
        if let Some(own) = own.clone().filter(|own| !own.is_runner) {
            tasks.spawn(renewal::keep(desk.service().clone(), own));
        }
        tasks.spawn(rounds(desk, live, own.clone()));
        Ok(Self { own, _tasks: tasks })
    }

    /// There was a call. An error only means that a silence is noticed late.
    pub fn touch(&self) {
        if let Some(own) = &self.own {
            let _late = own.file.touch(own.live.waking_time());
        }
    }
}

impl OwnLife {
    fn hold(live: &Arc<LiveSessions>, session: OwnSession) -> io::Result<Option<Self>> {
        let (session, is_runner) = match session {
            OwnSession::Nobody => return Ok(None),
            OwnSession::Connection(session) => (session, false),
            OwnSession::Runner(session) => (session, true),
        };
        let hold = if is_runner { Live::hold_runner } else { Live::hold };
        let file = hold(live.folder(), &session.to_string())?;
        Ok(Some(Self { session, file, is_runner, live: Arc::clone(live) }))
    }

    fn tick(&self) {
        let now = self.live.waking_time();
        // A runner works as long as it lives: its programs make no calls that would show it.
        let _late = if self.is_runner { self.file.touch(now) } else { Ok(()) };
        let _late = self.file.tick(now);
    }
}

/// One round, for a process that will not stay: what others left behind is seen to before it looks.
pub async fn once(desk: &Desk) {
    if let Some(live) = desk.service().live().cloned() {
        // Where nobody can look, nothing is taken over: the command that follows says why.
        let _unseen = look(desk, &live).await;
    }
    // A fault is met by the command that follows.
    let _again = desk.service().sweep().await;
}

async fn rounds(desk: Desk, live: Arc<LiveSessions>, own: Option<Arc<OwnLife>>) {
    let mut round: u32 = 0;
    let root = desk.surroundings().root.clone();
    let notifier = root.map(|root| Notifier::new(desk.service().clone(), root, crate::place::data_folder()));
    // One at a time, beside the rounds: telling people may take long. It ends with us; what was not told is told later.
    let mut telling: JoinSet<()> = JoinSet::new();
    // Processes that were started together should not all look at the same moment.
    let first = random::seed().map_or(0, |seed| u64::try_from(seed % ROUND.as_millis()).unwrap_or(0));
    let mut pause = Duration::from_millis(first);
    loop {
        tokio::time::sleep(pause).await;
        pause = ROUND;
        if let Some(own) = &own {
            own.tick();
        }
        // What was seen before is kept when nothing can be seen now.
        let _unseen = look(&desk, &live).await;
        // A fault here is met by whoever gives the next command; the next round tries again.
        let _again = desk.service().sweep().await;
        while telling.try_join_next().is_some() {}
        if let (Some(notifier), true) = (&notifier, telling.is_empty()) {
            let notifier = notifier.clone();
            telling.spawn(async move {
                let _again = notifier.round().await;
            });
        }
        round = round.wrapping_add(1);
        if round.is_multiple_of(ROUNDS_BETWEEN_MEASURES) {
            desk.service().measure_clock().await;
        }
        if round.is_multiple_of(ROUNDS_BETWEEN_FORGETTING) {
            let _again = desk.service().execute(Caller::with_rights(Rights::Engine), Command::ForgetKeys).await;
        }
    }
}

/// Finds out who lives, and records the end of those that were killed.
async fn look(desk: &Desk, live: &Arc<LiveSessions>) -> io::Result<()> {
    let service = desk.service();
    let found = live.look(service.settled_now().await).await?;
    for session in found.dead {
        // Its file stays until its end is recorded.
        if close(desk, session).await {
            let _again = live::forget(live.folder(), &session.to_string());
        }
    }
    for session in found.dead_in_shared {
        // A process of version 0.1 may have used another store of the same folder, which has to record the end itself.
        let known =
            service.view(move |world| world.agent_ids(&Need::SessionAgents(session)).map(|ids| !ids.is_empty()));
        match (known.await, live.shared_folder()) {
            (Ok(true), Some(folder)) if close(desk, session).await => {
                let _again = live::forget(folder, &session.to_string());
            }
            (Ok(false), _) => drop(live.forget_unknown(session)),
            (Ok(true) | Err(_), _) => {}
        }
    }
    Ok(())
}

/// Records that a session was killed; says whether that is stored.
async fn close(desk: &Desk, session: SessionId) -> bool {
    let close = Command::CloseSession { session, end: SessionEnd::Killed };
    desk.service().execute(Caller::with_rights(Rights::Engine), close).await.is_ok()
}
