//! Makes schemas for stores on the PostgreSQL server of the tests.

/// Makes a new schema on the server that `scripts/postgres` started. Returns the URL of a store in this schema.
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
pub(crate) fn schema_of(name: &str) -> String {
    let server = std::env::var("HANDOVER_TEST_POSTGRES")
        .unwrap_or_else(|_| panic!("HANDOVER_TEST_POSTGRES names no server: run scripts/test, which starts one"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        #[expect(clippy::disallowed_methods, reason = "makes the place for a store that is not there yet")]
        let (client, connection) = tokio_postgres::connect(&server, tokio_postgres::NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        let make = format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}");
        client.batch_execute(&make).await.unwrap();
        drop(client);
        driver.await.unwrap().unwrap();
    });
    let and = if server.contains('?') { '&' } else { '?' };
    format!("{server}{and}options=-csearch_path%3D{name}")
}
