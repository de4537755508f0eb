//! Handles a check (a command that judges an output) whose script the task itself changed. The result of such a check
//! counts only after a person has seen and approved the change of the script.
//!
//! Handover asks the person with an ordinary approval request, whose fingerprint covers the new content of the scripts.
//! After the person approves, Handover remembers this content with the person's other decisions for this copy of the
//! repository. No task asks about the same content again.

use std::path::Path;

use engine::approval::{Approval, ApprovalRequest, ApprovalState, Source};
use engine::command::AskApproval;
use engine::id::{AgentId, ApprovalId, TaskId};
use engine::world::ApprovalNeed;
use engine::{Caller, Command, Reply};

use super::evidence::{EvidenceCode, VerificationEvidence, VerificationProblem};
use base::error::Error;
use base::ground::difference;
use base::people::seal::Seal;
use base::project::trust;
use base::service::Service;

/// The longest text of all script differences in one approval request, in bytes. A longer text is cut, with a note that
/// the rest is in the worktree.
const CONTENT_BYTES_MAX: usize = 256 << 10;

/// A verification whose checks ran changed scripts: the worktree, the task and the attempt that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangedCheck<'a> {
    pub(crate) service: &'a Service,
    pub(crate) worktree: &'a Path,
    /// The file that records the settings and scripts that the person has accepted.
    pub(crate) record: &'a Path,
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
    pub(crate) agent: AgentId,
    pub(crate) waits: CheckWait,
}

/// The rule that decides if a task pauses while a person looks at the check scripts that the task changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckWait {
    /// The task pauses, and the runner continues it after the person's decision.
    Pauses,
    /// The task does not pause. Its agent starts the verification again later.
    VerifiesAgain,
}

/// A person's decision on the check scripts that a task changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CheckAnswer {
    /// The person approved the changed scripts, so the results of the checks that run them count.
    Counts,
    /// The person rejected the changed scripts. The results of the checks do not count, and the evidence (the stored
    /// details) has the person's reason.
    Rejected,
    Asked(ApprovalId),
}

impl ChangedCheck<'_> {
    /// Applies the person's decision on the changed scripts, or asks the person to decide. Updates `evidence`, which
    /// shows afterwards if the results of the checks count.
    pub(crate) async fn decide(
        &self,
        caller: Caller,
        evidence: &mut VerificationEvidence,
    ) -> Result<CheckAnswer, Error> {
        let request = self.request(evidence);
        let (task, attempt, agent) = (Some(self.task), Some(self.attempt), Some(self.agent));
        let fingerprint = Seal { request: &request, task, attempt, agent }.fingerprint();
        let (sealed, refused) = (ApprovalNeed::Sealed(fingerprint.clone()), ApprovalNeed::Refused(fingerprint.clone()));
        let known = self.service.view(move |world| {
            let open: Vec<Approval> = world.ask(&sealed)?.to_vec();
            Ok((open, world.ask(&refused)?.first().cloned()))
        });
        let (open, refused) = known.await?;
        let now = self.service.now();
        let is_approved =
            |found: &&Approval| matches!(found.state, ApprovalState::Approved { .. }) && !found.is_over(now);
        if let Some(approval) = open.iter().find(is_approved) {
            let seen: Vec<(String, String)> =
                evidence.changed().map(|(name, mark)| (name.clone(), mark.clone())).collect();
            trust::remember(self.record, &seen)
                .map_err(|cause| Error::file("save the version that a person saw", cause))?;
            evidence.count_changed();
            // Ignores a failure to consume the approval. A leftover approval allows nothing else, because its
            // fingerprint covers exactly this content in this attempt.
            let _used =
                self.service.execute(caller, Command::ConsumeApproval { approval: approval.id, fingerprint }).await;
            return Ok(CheckAnswer::Counts);
        }
        if let (true, Some(Approval { state: ApprovalState::Rejected { reason, .. }, .. })) =
            (open.is_empty(), &refused)
        {
            let message = format!("a person rejected the changed check: {reason}");
            evidence.problems.push(VerificationProblem::new(EvidenceCode::CheckChanged, message));
            return Ok(CheckAnswer::Rejected);
        }
        let waits = (self.waits == CheckWait::Pauses).then_some((self.task, self.attempt));
        let ask = AskApproval { source: Source::Handoff, waits, request, fingerprint };
        let reply = self.service.execute(caller, Command::AskApproval(Box::new(ask))).await?;
        let Reply::ApprovalAsked { approval, .. } = reply else { return Err(Error::unexpected(&reply)) };
        Ok(CheckAnswer::Asked(approval))
    }

    fn request(&self, evidence: &VerificationEvidence) -> ApprovalRequest {
        let names: Vec<&str> = evidence.changed().map(|(name, _)| name.as_str()).collect();
        let commands: Vec<String> = evidence
            .checks
            .iter()
            .filter(|check| !check.changed.is_empty())
            .map(|check| check.command.join(" "))
            .collect();
        let mut content = String::new();
        for (name, mark) in evidence.changed() {
            content.push_str(&self.difference(name, mark));
        }
        if content.len() > CONTENT_BYTES_MAX {
            content.truncate(content.floor_char_boundary(CONTENT_BYTES_MAX));
            content.push_str("\n… the rest is in the worktree\n");
        }
        ApprovalRequest {
            operation: cut(&format!("use a check that this task changed: {}", names.join(", "))),
            content,
            scope: commands.join("\n"),
            directory: self.worktree.display().to_string(),
            risk: "high".to_owned(),
            ..ApprovalRequest::default()
        }
    }

    /// Returns the difference between the script that a person accepted and the script that ran. The accepted content
    /// comes from the person's record file, because the agent may have changed the script in place.
    fn difference(&self, name: &str, mark: &str) -> String {
        let (before, after) = (trust::accepted_content(self.record, name), trust::beginning(&self.worktree.join(name)));
        let text = difference::unified(name, before.as_deref(), after.as_deref());
        let is_cut = [&before, &after].into_iter().flatten().any(|text| text.len() as u64 >= trust::BEGINNING_BYTES);
        let cut =
            if is_cut { "… only the beginning is compared here; the whole file is in the worktree\n" } else { "" };
        format!("{name}: {mark}\n{text}{cut}")
    }
}

fn cut(text: &str) -> String {
    text.chars().take(1_000).collect()
}
