//! Wakes waiting callers through the database server. A process sends NOTIFY after its commits, and receives with
//! LISTEN while a caller waits. The process also reads the log once a second, in case a notification is lost.
//!
//! A notification inside a transaction would make all commits wait for each other. So a process sends the notification
//! after the commit, and sends one notification for all commits of a few milliseconds. When a process dies before it
//! sends a notification, the slow poll of the other processes finds the change.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use deadpool_postgres::Pool;
use tokio::sync::Notify;
use tokio_postgres::{AsyncMessage, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connection;
use super::transaction::connect;
use crate::fault::Fault;
use crate::sql;
use crate::watch::{Bell, StoreWatch};

/// The time for which the sender of notifications waits after a commit. All commits in this time share one
/// notification.
const GATHER: Duration = Duration::from_millis(5);
/// The time between two polls of the log. The polls find changes whose notification was lost. After this time, a lost
/// connection to the server is opened again.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct ListenConnection {
    bell: Bell,
    dirty: Arc<Notify>,
    pool: Pool,
    config: Config,
    tls: TlsConnector,
    listening: AtomicBool,
    runtime: tokio::runtime::Handle,
}

#[derive(Clone)]
struct TlsConnector(MakeRustlsConnect);

impl std::fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsConnector")
    }
}

impl ListenConnection {
    pub(super) fn new(pool: Pool, config: Config) -> Result<Self, Fault> {
        let dirty = Arc::new(Notify::new());
        let runtime = tokio::runtime::Handle::current();
        runtime.spawn(notify(pool.clone(), Arc::downgrade(&dirty)));
        let tls = TlsConnector(connection::tls()?);
        Ok(Self { bell: Bell::new(), dirty, pool, config, tls, listening: AtomicBool::new(false), runtime })
    }

    /// Wakes the callers of this process that wait for a change of the store, and the async task that notifies other
    /// processes.
    pub(super) fn changed(&self) {
        self.bell.ring();
        self.dirty.notify_one();
    }

    pub(super) fn watch(this: &Arc<Self>) -> StoreWatch {
        let watch = this.bell.watch();
        if !this.listening.swap(true, Ordering::AcqRel) {
            this.runtime.spawn(listen(Arc::downgrade(this)));
        }
        watch
    }

    /// Returns the position of the last log entry that a follower can see now. A follower does not see the entries of a
    /// transaction while a transaction with a lower number runs. So the position also changes when the oldest running
    /// transaction ends.
    async fn frontier(&self) -> Option<(i64, i64)> {
        let client = connect(&self.pool).await.ok()?;
        let rows = client.query(sql::FRONTIER, &[]).await.ok()?;
        rows.first().map_or(Some((0, 0)), |row| Some((row.try_get(0).ok()?, row.try_get(1).ok()?)))
    }
}

impl Drop for ListenConnection {
    fn drop(&mut self) {
        // Wake the async task that notifies other processes, so that it notices that the store was dropped, and ends.
        self.dirty.notify_one();
    }
}

/// Notifies other processes of commits, until the store is dropped.
async fn notify(pool: Pool, dirty: Weak<Notify>) {
    while let Some(waiting) = dirty.upgrade() {
        waiting.notified().await;
        drop(waiting);
        if dirty.strong_count() == 0 {
            return;
        }
        tokio::time::sleep(GATHER).await;
        if let Ok(client) = connect(&pool).await {
            // Ignore a failure: other processes poll the log, so they find the change without this notification.
            let _ = client.batch_execute("NOTIFY handover").await;
        }
    }
}

/// Wakes the waiting callers of this process when another process notifies, or when the slow poll finds a new entry.
async fn listen(wire: Weak<ListenConnection>) {
    let mut last = None;
    loop {
        let Some(strong) = wire.upgrade() else { return };
        let (config, tls) = (strong.config.clone(), strong.tls.clone());
        // Open a separate connection, because a connection of the pool cannot wait for notifications.
        let connected = tokio::time::timeout(LOOK * 5, config.connect(tls.0)).await;
        let Ok(Ok((client, mut connection))) = connected else {
            strong.bell.ring();
            drop(strong);
            tokio::time::sleep(LOOK).await;
            continue;
        };
        let bell = strong.bell.clone();
        drop(strong);
        let mut receiving = tokio::spawn(async move {
            while let Some(message) = std::future::poll_fn(|context| connection.poll_message(context)).await {
                match message {
                    Ok(AsyncMessage::Notification(_)) => bell.ring(),
                    Ok(_) => {}
                    Err(_) => return,
                }
            }
        });
        let listening = client.batch_execute("LISTEN handover").await.is_ok();
        while listening && !receiving.is_finished() {
            let Some(strong) = wire.upgrade() else {
                receiving.abort();
                return;
            };
            if strong.bell.is_heard() {
                let found = strong.frontier().await;
                if found.is_none() || found != last {
                    last = found;
                    strong.bell.ring();
                }
            }
            drop(strong);
            // Wait until the next poll of the log is due, or until the connection to the server ends.
            let _ = tokio::time::timeout(LOOK, &mut receiving).await;
        }
        receiving.abort();
        if let Some(strong) = wire.upgrade() {
            strong.bell.ring();
        }
    }
}
