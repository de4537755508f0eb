//! Connections to PostgreSQL: the pool, TLS, and the encoding of values.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Config, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::fault::Fault;
use crate::value::SqlValue;

/// The maximum number of connections of one process. Further callers wait for a free one. More connections would only
/// wait for the same locks and disk.
const CONNECTIONS_MAX: usize = 16;
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Options that limit every database session. The server ends a transaction that is idle for 30 seconds, because
/// followers of the log see no new entries while an older transaction is open. A lock that is not granted in 30 seconds
/// is a fault.
const SESSION: &str = "-c idle_in_transaction_session_timeout=30s -c lock_timeout=30s";

pub(super) fn config(url: &str) -> Result<Config, Fault> {
    let refused = |error: &dyn Error| Fault::Url { url: without_password(url), problem: error.to_string() };
    let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| refused(&error))?;
    let options = config.get_options().map_or_else(|| SESSION.to_owned(), |given| format!("{SESSION} {given}"));
    config.options(options);
    if config.get_application_name().is_none() {
        config.application_name("handover");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_MAX);
    }
    Ok(config)
}

/// Returns the URL without the user, the password and the parameters, for error messages. The parameters are removed
/// because one of them may be a password, too.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "…".to_owned() };
    // First remove the part before `@`, then the parameters after `?`, because a password may contain `?` by mistake.
    let (hidden, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, rest)| ("…@", rest));
    let (place, parameters) = rest.split_once('?').map_or((rest, ""), |(place, _)| (place, "?…"));
    format!("{scheme}://{hidden}{place}{parameters}")
}

/// Returns a TLS configuration with the certificates that the system trusts. The `sslmode` of the URL decides whether
/// TLS is used.
pub(super) fn tls() -> Result<MakeRustlsConnect, Fault> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Fault::Pool(Box::new(error)))?;
    Ok(MakeRustlsConnect::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

pub(super) fn pool(config: Config) -> Result<Pool, Fault> {
    let manager = Manager::from_config(config, tls()?, ManagerConfig { recycling_method: RecyclingMethod::Fast });
    Pool::builder(manager)
        .max_size(CONNECTIONS_MAX)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(super::WAIT_MAX))
        .create_timeout(Some(CONNECT_MAX))
        .build()
        .map_err(|error| Fault::Pool(Box::new(error)))
}

impl ToSql for SqlValue {
    fn to_sql(&self, kind: &Type, out: &mut bytes::BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) if *kind == Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
            Self::Int(number) => number.to_sql(kind, out),
            Self::Text(text) => text.as_str().to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl FromSql<'_> for SqlValue {
    fn from_sql(kind: &Type, raw: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *kind {
            Type::INT8 => Self::Int(i64::from_sql(kind, raw)?),
            Type::INT4 => Self::Int(i32::from_sql(kind, raw)?.into()),
            _ => Self::Text(String::from_sql(kind, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::INT4 | Type::TEXT | Type::VARCHAR | Type::NAME | Type::UNKNOWN)
    }
}

pub(super) fn values(row: &Row) -> Result<Vec<SqlValue>, Fault> {
    (0..row.len()).map(|column| row.try_get(column).map_err(Fault::from)).collect()
}
