//! Handles the permissions for which the program of an agent asks during a turn. A person's approval of exactly the
//! same tool call allows that call once.

use std::path::Path;

use engine::Command;
use engine::approval::ApprovalRequest;
use engine::world::ApprovalNeed;

use crate::attempt::AttemptRun;
use agents::adapter::acp::PermissionQuestion;
use base::people::seal::{Seal, sealed_input};

/// Returns the approval request for a tool call that the program was not allowed to make. The request has the exact
/// bytes of the program's call. Only the caption and the time limit of a command are left out.
pub(crate) fn permission_request(worktree: &Path, asked: &PermissionQuestion) -> ApprovalRequest {
    let paths: Vec<String> = asked.paths.iter().map(|path| path.display().to_string()).collect();
    let operation = if asked.title.trim().is_empty() { "a tool".to_owned() } else { asked.title.clone() };
    ApprovalRequest {
        operation,
        content: asked.input.as_deref().map(sealed_input).unwrap_or_default(),
        scope: paths.join("\n"),
        directory: worktree.display().to_string(),
        ..ApprovalRequest::default()
    }
}

/// Consumes a person's approval of exactly this tool call. Returns false when there is no such approval.
pub(crate) async fn is_approved(run: &AttemptRun, worktree: &Path, asked: &PermissionQuestion) -> bool {
    let request = permission_request(worktree, asked);
    let (task, attempt, agent) = (Some(run.task), Some(run.attempt), Some(run.worker.agent));
    let fingerprint = Seal { request: &request, task, attempt, agent }.fingerprint();
    let need = ApprovalNeed::Sealed(fingerprint.clone());
    let found = run.shared.service.view(move |world| Ok(world.ask(&need)?.first().map(|found| found.id))).await;
    let Ok(Some(approval)) = found else { return false };
    run.execute(Command::ConsumeApproval { approval, fingerprint }).await.is_ok()
}
