//! Gives a finished, blocked or failed task to its agent again, with the person's remarks.

use base::people::send_back_file::SendBackText;
use engine::task::Task;
use engine::{Caller, Command};
use runner::claim::open::RunSite;

use crate::error::WorkError;
use crate::journal::LandingSite;
use crate::worker::last_agent;

/// The end of sending a task back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendBackEnd {
    /// The task waits for its agent, whose slug (short name) is given. `None` when no agent is known.
    Sent { agent: Option<String> },
    /// The person wrote no remark, so nothing was sent.
    NoWords,
}

/// Returns true when the remarks have no words.
pub fn is_wordless(said: &SendBackText) -> bool {
    said.is_empty() || said.whole().trim().is_empty()
}

/// Sends a task back to its agent, which continues in the same conversation and worktree.
pub async fn send_back(
    run: RunSite<'_>,
    caller: Caller,
    task: &Task,
    said: SendBackText,
) -> Result<SendBackEnd, WorkError> {
    if is_wordless(&said) {
        return Ok(SendBackEnd::NoWords);
    }
    if let Ok(landing) = LandingSite::open(run, caller.clone()).await? {
        // If a killed process merged this work but did not record it in the store, record it now. Merged work cannot be
        // sent back.
        drop(landing.lock_settled().await?);
    }
    let agent = last_agent(run.service, task).await?;
    let (text, notes) = (said.whole(), said.notes);
    run.service.execute(caller, Command::SendTaskBack { task: task.id, text, notes }).await?;
    Ok(SendBackEnd::Sent { agent })
}
