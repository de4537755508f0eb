//! The PostgreSQL server that `scripts/test` starts, and a schema of its own for each test.

use store::Postgres;
use store::conformance::must;
use tokio_postgres::{Client, NoTls};

/// A schema on the server.
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

    /// The server's URL with this schema.
    pub(crate) fn url(&self) -> String {
        let and = if self.server.contains('?') { '&' } else { '?' };
        format!("{}{and}options=-csearch_path%3D{}", self.server, self.name)
    }

    pub(crate) async fn open(&self) -> Postgres {
        must(Postgres::open(&self.url(), 11 << 40).await, "open")
    }

    /// A connection that knows nothing of the store.
    pub(crate) async fn plain(&self) -> Client {
        plain(&self.url()).await
    }
}

#[expect(clippy::disallowed_methods, reason = "a test looks at the server from outside")]
async fn plain(url: &str) -> Client {
    let (client, connection) = must(tokio_postgres::connect(url, NoTls).await, "connect");
    tokio::spawn(connection);
    client
}
