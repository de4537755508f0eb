//! The PostgreSQL server that `scripts/test` starts, a schema for each test, and tests of server failures.

mod dying;
mod following;
mod retry;

use std::sync::Arc;

use engine::command::Register;
use engine::id::AgentId;
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::task::Priority;
use engine::world::InboxNeed;
use engine::{Caller, Command, Reply, Rights, TypedQuestion};
use store::conformance::{StoreOrder, act, must};
use store::{Postgres, Store};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio_postgres::{Client, NoTls};

/// The lock of the test server. While a transaction is open, followers of the log on this server do not see newer
/// entries. So a test that leaves a transaction open runs alone.
static SERVER: RwLock<()> = RwLock::const_new(());

pub(crate) async fn shared() -> RwLockReadGuard<'static, ()> {
    SERVER.read().await
}

async fn alone() -> RwLockWriteGuard<'static, ()> {
    SERVER.write().await
}

/// A database schema on the test server, which one test uses.
pub(crate) struct Place {
    server: String,
    name: String,
}

impl Place {
    pub(crate) async fn new(name: &str) -> Self {
        let Ok(server) = std::env::var("HANDOVER_TEST_POSTGRES") else {
            panic!("HANDOVER_TEST_POSTGRES names no server: run scripts/test, which starts one");
        };
        let place = Self { server, name: format!("test_{name}") };
        let name = &place.name;
        let fresh = format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}");
        must(plain(&place.server).await.batch_execute(&fresh).await, "a schema");
        place
    }

    /// Returns the server's URL with this schema. The connections carry the name of the schema, so that a test can find
    /// its own connections.
    pub(crate) fn url(&self) -> String {
        let and = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{and}options=-csearch_path%3D{}&application_name={}", self.server, self.name, self.name)
    }

    pub(crate) async fn open(&self) -> Postgres {
        must(Postgres::open(&self.url(), 11 << 40).await, "open")
    }

    /// Opens a store that does not wait for the disk. It is for long tests in which no process dies.
    pub(crate) async fn open_hasty(&self) -> Postgres {
        let url = self.url().replace("options=", "options=-csynchronous_commit%3Doff%20");
        must(Postgres::open(&url, 11 << 40).await, "open")
    }

    /// Opens a plain connection to this test's database schema, which does not go through the store.
    pub(crate) async fn plain(&self) -> Client {
        plain(&self.url().replace("application_name=", "application_name=plain_")).await
    }
}

/// Registers agents in the store. Each agent has a mailbox and therefore a topic (a log) of its own.
async fn agents(store: &dyn Store, count: u64) -> Vec<AgentId> {
    let mut agents = Vec::new();
    for number in 0..count {
        let register = Register::named(format!("agent {number}"), "exec");
        let order = StoreOrder::new(
            Caller::with_rights(Rights::Agent),
            Command::Register(register),
            1,
            u128::from(number + 1) << 96,
        );
        let change = act(store, &order).await;
        let Ok(Reply::Registered { agent, .. }) = change.reply else { panic!("{change:?}") };
        agents.push(agent);
    }
    agents
}

/// Returns the command that sends a message to an agent. The body of the message is the number.
fn message(to: AgentId, number: u64) -> StoreOrder {
    let draft = MessageDraft::text(MessageKind::Info, Priority::DEFAULT, number.to_string());
    let command = Command::Send { to: Recipients::One(MailboxOwner::Agent(to)), draft };
    StoreOrder::new(Caller::with_rights(Rights::Person), command, 1_000, (u128::from(number) << 64) + 5)
}

/// Returns the bodies of the messages in a mailbox, in order, and checks that the message numbers have no gaps.
async fn mailbox(store: &dyn Store, owner: AgentId) -> Vec<u64> {
    let need = InboxNeed { owner: MailboxOwner::Agent(owner), unread: false, after: 0, limit: 10_000 };
    let world = must(store.look(vec![need.need()], Arc::new(|_| Vec::new())).await, "look");
    let found = must(world.ask(&need).map_err(|stop| format!("{stop:?}")), "inbox");
    assert!(found.iter().map(|message| message.sequence).eq(1..=u32::try_from(found.len()).unwrap_or(0)), "gaps");
    found.iter().map(|message| must(message.draft.body.parse(), "a number")).collect()
}

#[expect(clippy::disallowed_methods, reason = "a test looks at the server from outside")]
async fn plain(url: &str) -> Client {
    let (client, connection) = must(tokio_postgres::connect(url, NoTls).await, "connect");
    tokio::spawn(connection);
    client
}
