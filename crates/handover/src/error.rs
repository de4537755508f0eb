//! What can go wrong with a command: the rules say no, or the machine failed.

use engine::Refusal;
use store::Fault;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error("the operating system gave no random bits: {0}")]
    Random(String),
}
