//! The notice at the end of a run.

use base::ground::words;
use base::project::place::data_folder;
use engine::Timestamp;
use engine::id::SessionId;
use handover::notify::{Notifier, RunEndNotice};
use handover::office::Office;
use runner::claim::over::RunEnded;

/// A run that just ended, for the notice about it.
pub(super) struct RunOver {
    pub(super) session: SessionId,
    pub(super) began: Timestamp,
}

/// Sends the last notices before this process ends. The notices are about approvals and about new items that need a
/// person. If there is no new item, a notice says that the run ended. A run that a person stopped sends no notice,
/// because that person sits at the terminal.
pub(super) async fn send(office: &Office, over: &RunOver, ended: &RunEnded) {
    let took = office.desk.service().now().0.saturating_sub(over.began.0);
    let took = words::duration(u64::try_from(took).unwrap_or(0));
    let text = match ended {
        RunEnded::Completed | RunEnded::Idle => format!("The run is done after {took}."),
        RunEnded::Stuck(_) => format!("The run stopped after {took}: no task can run."),
        RunEnded::Stopped => return,
    };
    let Some(root) = office.place.root.clone() else { return };
    let notifier = Notifier::new(office.desk.service().clone(), root, data_folder()).at_terminal();
    // Ignore a failure to send, because a notice is not part of the run's result.
    let _unsent = notifier.tell_end(&RunEndNotice { run: over.session.to_string(), text }).await;
}
