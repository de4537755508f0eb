//! The errors with which a command ends: a rule refuses the command, or the machine fails (a file, the database).

use engine::{Refusal, Reply};
use store::Fault;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error("the operating system gave no random numbers: {0}")]
    Random(String),
}

impl Error {
    /// Returns the error for an engine reply that does not fit the command, which is a bug in Handover.
    pub fn unexpected(reply: &Reply) -> Self {
        Self::Fault(Fault::unexpected_reply(reply))
    }

    /// Returns the error for a file operation in the state folder that failed. `action` names the operation.
    pub fn file(action: &'static str, cause: std::io::Error) -> Self {
        Self::Fault(Fault::File { action, path: "the state folder".into(), cause })
    }

    /// Returns the error message that a caller sees. It has no paths of this machine, because the caller does not need
    /// them.
    pub fn told(&self) -> String {
        match self {
            Self::Fault(Fault::File { action, .. }) => format!("{action} failed: a file of the store cannot be used"),
            Self::Fault(Fault::Url { .. }) => "the store cannot be opened".to_owned(),
            Self::Refused(_) | Self::Fault(_) | Self::Random(_) => self.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_not_told_where_things_lie() {
        let cause = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let file = Fault::File { action: "lock the queue", path: "/home/me/secret.db.lock".into(), cause };
        let url = Fault::Url { url: "postgres://me:secret@host/db".to_owned(), problem: "no".to_owned() };
        for fault in [file, url] {
            let told = Error::Fault(fault).told();
            assert!(!told.contains("secret"), "{told}");
        }
    }
}
