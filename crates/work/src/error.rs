//! The error with which an act on the work of agents fails.

use std::io;

use base::project::trust::Untrusted;
use git::GitProblem;
use runner::claim::merged::MergedProblem;

/// The reason why an act on the work of agents failed: a rule of the store refused it, or git, a file or the store
/// failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error(transparent)]
    Service(#[from] base::Error),
    #[error(transparent)]
    Git(#[from] GitProblem),
    #[error(transparent)]
    Merged(#[from] MergedProblem),
    #[error("read the settings")]
    Settings(#[source] Untrusted),
    #[error("{action}")]
    File {
        /// The operation that failed, such as `read /project/.handover/state/landings`.
        action: String,
        #[source]
        cause: io::Error,
    },
}

impl WorkError {
    /// Returns a function that turns the error of a file operation into a `WorkError`. `action` names the operation.
    pub(crate) fn file(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |cause| Self::File { action, cause }
    }
}
