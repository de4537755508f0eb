//! The background work of a process that serves requests. The work shows other processes that this process is alive,
//! checks which other sessions are alive, ends expired leases (claims on tasks), and sends notices to people.
//!
//! Every process that serves requests does this work, so no process depends on a server. When one process has done a
//! piece of the work, the others find nothing left to do.

mod renewal;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use engine::command::SessionEnd;
use engine::id::SessionId;
use engine::world::AgentIdNeed;
use engine::{Caller, Command, Rights};
use tokio::task::JoinSet;

use crate::desk::Desk;
use crate::notify::Notifier;
use base::ground::random;
use base::live::{self, Live, LiveSessions};

/// The pause between two rounds of the background work. When a process is killed, its tasks must be offered again
/// within half a minute; five seconds leave room for a slow machine.
const ROUND: Duration = Duration::from_secs(5);
/// The number of rounds of the background work (five seconds each) between two deletions of old idempotency keys. Each
/// deletion removes at most a thousand keys; the next deletion removes more of them.
const ROUNDS_BETWEEN_FORGETTING: u32 = 120;
/// The number of rounds of the background work (five seconds each) between two comparisons of this machine's clock with
/// the database server's clock. After a change of this machine's clock, the next comparison comes earlier.
const ROUNDS_BETWEEN_MEASURES: u32 = 12;

/// The number of rounds of the background work (five seconds each) after which the items that need a person are read
/// again, even if the store did not change. Some items come from settings files, which are not in the store, and a new
/// item may have to wait until a minute has passed since the last notice.
const ROUNDS_BETWEEN_ITEMS: u32 = 6;

/// The session (connection) that this process keeps alive by its session file, a locked file that other processes
/// check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnSession {
    /// This process serves no connection, so it keeps no session alive.
    Nobody,
    /// The session of a client's connection, which ends with this process.
    Connection(SessionId),
    /// The session of a runner, that is, of a process that starts agents' programs. When this process ends, the next
    /// runner process of the same name continues with the session's agents.
    Runner(SessionId),
}

/// The background tasks of this process, such as renewing its claims. They run until this value is dropped.
#[derive(Debug)]
pub struct Keeper {
    own: Option<Arc<OwnLife>>,
    _tasks: JoinSet<()>,
}

/// The session file, whose lock shows other processes that this process is alive.
#[derive(Debug)]
struct OwnLife {
    session: SessionId,
    file: Live,
    is_runner: bool,
    live: Arc<LiveSessions>,
}

impl Keeper {
    /// Locks the session file of this process, checks which other sessions are alive, and starts the background tasks
    /// that repeat this check. Must run before the process serves requests.
    pub async fn start(desk: Desk, session: OwnSession) -> io::Result<Self> {
        let Some(live) = desk.service().live().cloned() else {
            return Err(io::Error::other(
                "this store has no folder for the session files that show which processes \
                are alive",
            ));
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

    /// Notes in the session file that this process received a call. A failed write is ignored: other processes then
    /// only learn later that this one is active.
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
        // A runner (a process that starts agents' programs) counts as active while it runs, because its agents'
        // programs make no calls that would show activity.
        let _late = if self.is_runner { self.file.touch(now) } else { Ok(()) };
        let _late = self.file.tick(now);
    }
}

/// Checks once which sessions are alive, and ends expired leases (claims on tasks). A command calls this before it
/// reads the store, so that it does not see the leases of killed processes.
pub async fn once(desk: &Desk) {
    if let Some(live) = desk.service().live().cloned() {
        // If the check of the live sessions fails, no session counts as ended, and so no claim on a task is taken over.
        // The command that follows reports the error.
        let _unseen = look(desk, &live).await;
    }
    // If ending the expired leases (claims on tasks) fails, the command that follows reports the fault.
    let _again = desk.service().sweep().await;
}

async fn rounds(desk: Desk, live: Arc<LiveSessions>, own: Option<Arc<OwnLife>>) {
    let mut round: u32 = 0;
    let root = desk.surroundings().root.clone();
    let is_runner = own.as_ref().is_some_and(|own| own.is_runner);
    let notifier = root.map(|root| {
        let notifier = Notifier::new(desk.service().clone(), root, base::project::place::data_folder());
        // Only a runner is sure to own its terminal: the terminal of an MCP server belongs to the client.
        if is_runner { notifier.at_terminal() } else { notifier }
    });
    let mut bell = desk.service().bell();
    // Notices are sent one at a time in a separate async task, because sending may take long. This async task ends with
    // the process. Another process then sends the notices that this process did not send.
    let mut telling: JoinSet<()> = JoinSet::new();
    // The first pause is random, so that processes that started together do not all check the sessions at the same
    // moment.
    let first = random::seed().map_or(0, |seed| u64::try_from(seed % ROUND.as_millis()).unwrap_or(0));
    let mut pause = Duration::from_millis(first);
    loop {
        tokio::time::sleep(pause).await;
        pause = ROUND;
        if let Some(own) = &own {
            own.tick();
        }
        // If the check of the live sessions fails, the result of the last check stays valid.
        let _unseen = look(&desk, &live).await;
        // If ending the expired leases (claims on tasks) fails, the next round of the background work retries.
        let _again = desk.service().sweep().await;
        while telling.try_join_next().is_some() {}
        if let (Some(notifier), true) = (&notifier, telling.is_empty()) {
            let notifier = notifier.clone();
            // Reading the items that need a person costs several queries. So look for new items only after a change of
            // the store, and twice a minute.
            let is_due = bell.changed(Duration::ZERO).await || round.is_multiple_of(ROUNDS_BETWEEN_ITEMS);
            telling.spawn(async move {
                let _again = notifier.round().await;
                if is_due {
                    let _again = notifier.tell_items().await;
                }
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

/// Checks which sessions are alive, and records the end of sessions whose process was killed.
async fn look(desk: &Desk, live: &Arc<LiveSessions>) -> io::Result<()> {
    let service = desk.service();
    let found = live.look(service.settled_now().await).await?;
    for session in found.dead {
        // Delete the session's file only after the end of the session is recorded, so that a failed record is retried.
        if close(desk, session).await {
            let _again = live::forget(live.folder(), &session.to_string());
        }
    }
    for session in found.dead_in_shared {
        // These sessions are in the folder that Handover 0.1 used, which several stores share. If the agents of the
        // session are in another store, that store must record the end of the session.
        let known = service.ask(AgentIdNeed::OfSession(session)).await.map(|agents| !agents.is_empty());
        match (known, live.shared_folder()) {
            (Ok(true), Some(folder)) if close(desk, session).await => {
                let _again = live::forget(folder, &session.to_string());
            }
            (Ok(false), _) => drop(live.forget_unknown(session)),
            (Ok(true) | Err(_), _) => {}
        }
    }
    Ok(())
}

/// Records that the process of a session was killed. Returns true when the record is stored.
async fn close(desk: &Desk, session: SessionId) -> bool {
    let close = Command::CloseSession { session, end: SessionEnd::Killed };
    desk.service().execute(Caller::with_rights(Rights::Engine), close).await.is_ok()
}
