//! The machine failed: nothing of the command happened, unless the fault says that this is not known.

/// Every variant keeps its cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The database could not do it: disk full, input/output error, constraint, out of memory.
    #[error("the database failed")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the database server failed")]
    Postgres(#[from] tokio_postgres::Error),
    #[error("no connection to the database server")]
    Pool(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("{action} {path}")]
    File {
        action: &'static str,
        path: std::path::PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// Somebody holds the write queue for too long, for example a stopped process.
    #[error("waited {seconds} seconds for another process to finish writing")]
    Busy { seconds: u64 },
    /// The connection broke or the disk failed while the change was being made durable, and its fate could not be found
    /// out.
    #[error("the database failed at the moment of committing; look before repeating")]
    Unknown(#[source] Box<Self>),
    /// A row that the rules could not have written.
    #[error("damaged data: {what}")]
    Damaged { what: String },
    #[error(
        "the store was written by a newer program: its schema is {found}, this program knows {known}; upgrade handover"
    )]
    Newer { found: i64, known: i64 },
    #[error("{problem}")]
    Import { problem: String },
    #[error("not a store: {url}: {problem}")]
    Url { url: String, problem: String },
    /// The store is being closed, or its thread is gone.
    #[error("the store is closed")]
    Closed,
    /// A rule went wrong; nothing was written.
    #[error("a decision failed: {what}")]
    Bug { what: String },
}

impl Fault {
    pub(crate) fn file(action: &'static str, path: &std::path::Path) -> impl Fn(std::io::Error) -> Self {
        move |cause| Self::File { action, path: path.to_owned(), cause }
    }
}
