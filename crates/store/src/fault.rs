//! Faults: failures of the machine, such as a full disk. A command that ends with a fault had no effect. The exception
//! is [`Fault::Unknown`], after which the command may have had its effect.

/// A failure of the machine or of the database. A variant that wraps another error returns that error as its source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The database failed: the disk is full, reading or writing failed, a row violates a constraint, or memory is used
    /// up.
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
    /// Another process held the database's lock for writing for too long, for example because it was stopped.
    #[error("waited {seconds} seconds for another process to finish writing")]
    Busy { seconds: u64 },
    /// The connection broke or the disk failed during the commit. The store could not find out whether the change was
    /// committed.
    #[error(
        "the database failed during the commit, so the change may have been saved or not; read the state before \
        you try again"
    )]
    Unknown(#[source] Box<Self>),
    /// The database has a row that this program never writes, so the row is damaged.
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
    /// The store is being closed, or its writer thread has ended, so the command did not run.
    #[error("the store is closed")]
    Closed,
    /// A defect of this program, for example a rule that panicked. No rows were written.
    #[error("this is a bug in Handover, please report it: {what}")]
    Bug { what: String },
}

/// The kind of cause of a fault. Each kind, except `Other`, tells a person what to fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultCause {
    DiskFull,
    /// The database file or its file system is read-only, or this user may not write to it.
    ReadOnly,
    /// The file at the store's path is no database, or the database is damaged.
    Damaged,
    /// Another process holds the database's lock for writing.
    Busy,
    /// A newer version of this program wrote the store.
    Newer,
    Other,
}

impl Fault {
    /// Returns the cause of the fault.
    pub fn cause(&self) -> FaultCause {
        use rusqlite::ErrorCode;
        match self {
            Self::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => FaultCause::DiskFull,
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => FaultCause::ReadOnly,
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => FaultCause::Damaged,
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => FaultCause::Busy,
                Some(_) | None => FaultCause::Other,
            },
            Self::File { cause, .. } => {
                use std::io::ErrorKind;
                if matches!(cause.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
                    FaultCause::DiskFull
                } else if matches!(cause.kind(), ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied) {
                    FaultCause::ReadOnly
                } else {
                    FaultCause::Other
                }
            }
            Self::Unknown(inner) => inner.cause(),
            Self::Busy { .. } => FaultCause::Busy,
            Self::Damaged { .. } => FaultCause::Damaged,
            Self::Newer { .. } => FaultCause::Newer,
            Self::Postgres(_)
            | Self::Pool(_)
            | Self::Import { .. }
            | Self::Url { .. }
            | Self::Closed
            | Self::Bug { .. } => FaultCause::Other,
        }
    }

    /// Returns the fault for a reply that does not belong to the command, for example the reply of a claim to another
    /// command.
    pub fn unexpected_reply(reply: &engine::Reply) -> Self {
        Self::Bug { what: format!("a command got the unexpected reply {}", kind(reply)) }
    }

    /// Returns the fault of a decision or a question that asks again for rows that it already got. Without this fault,
    /// the store would load the same rows in an endless loop.
    pub(crate) fn asks_again(needs: &[engine::Need]) -> Self {
        let kinds: Vec<String> = needs.iter().map(kind).collect();
        Self::Bug { what: format!("a decision asks again for rows that it was given ({})", kinds.join(", ")) }
    }

    pub(crate) fn file(action: &'static str, path: &std::path::Path) -> impl Fn(std::io::Error) -> Self {
        move |cause| Self::File { action, path: path.to_owned(), cause }
    }
}

/// Returns the name of a value's kind (the name of its variant) for the report of a bug, without the value's data.
fn kind(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").chars().take_while(|letter| letter.is_ascii_alphanumeric()).collect()
}
