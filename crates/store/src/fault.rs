//! Faults: failures of the machine, such as a full disk. After a fault the command had no effect, except after
//! [`Fault::Unknown`], where this is not known.

/// A failure of the machine. A variant that wraps another error returns that error as its source.
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
    /// The database has a row that this program never writes.
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

impl Fault {
    /// Returns the fault of a command that got a reply which only other commands get.
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
