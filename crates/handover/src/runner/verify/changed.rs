//! Handles a check whose script the task itself changed: its result counts only after a person saw the difference.
//!
//! The request is an ordinary approval whose fingerprint covers the new content. A person who approves it has seen the
//! content. The content is then remembered with the person's other decisions for this clone, and no task asks about the
//! same content again.

use std::path::Path;

use engine::approval::{Approval, ApprovalRequest, ApprovalState, Source};
use engine::command::AskApproval;
use engine::id::{AgentId, ApprovalId, TaskId};
use engine::{Caller, Command, Need, Reply};
use similar::TextDiff;

use super::evidence::{EvidenceCode, VerificationEvidence, VerificationProblem};
use crate::error::Error;
use crate::seal::Seal;
use crate::service::Service;
use crate::trust;

/// The longest text of all differences together, in bytes.
const CONTENT_BYTES_MAX: usize = 256 << 10;

/// The checks that ran, with their worktree and the attempt that they belong to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangedCheck<'a> {
    pub(crate) service: &'a Service,
    pub(crate) worktree: &'a Path,
    /// The file with the record of everything that the person accepted.
    pub(crate) record: &'a Path,
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
    pub(crate) agent: AgentId,
    pub(crate) waits: CheckWait,
}

/// The state of the task while a person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckWait {
    /// The task pauses, and the runner continues it after the decision.
    Pauses,
    /// The agent of the task verifies again.
    VerifiesAgain,
}

/// A person's decision on the changed scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CheckAnswer {
    /// The results of the changed checks count from now on.
    Counts,
    /// The results do not count. The evidence has the person's reason.
    Rejected,
    Asked(ApprovalId),
}

impl ChangedCheck<'_> {
    /// Uses the person's decision, or asks for one. Afterwards the evidence shows whether the checks count.
    pub(crate) async fn decide(
        &self,
        caller: Caller,
        evidence: &mut VerificationEvidence,
    ) -> Result<CheckAnswer, Error> {
        let request = self.request(evidence);
        let (task, attempt, agent) = (Some(self.task), Some(self.attempt), Some(self.agent));
        let fingerprint = Seal { request: &request, task, attempt, agent }.fingerprint();
        let (sealed, refused) = (Need::ApprovalSealed(fingerprint.clone()), Need::ApprovalRefused(fingerprint.clone()));
        let known = self.service.view(move |world| {
            let open: Vec<Approval> = world.approvals(&sealed)?.to_vec();
            Ok((open, world.approvals(&refused)?.first().cloned()))
        });
        let (open, refused) = known.await?;
        let now = self.service.now();
        let is_approved =
            |found: &&Approval| matches!(found.state, ApprovalState::Approved { .. }) && !found.is_over(now);
        if let Some(approval) = open.iter().find(is_approved) {
            let seen: Vec<(String, String)> =
                evidence.changed().map(|(name, mark)| (name.clone(), mark.clone())).collect();
            trust::remember(self.record, &seen).map_err(|cause| Error::file("remember what a person saw", cause))?;
            evidence.count_changed();
            // An approval that stays unused allows nothing else: its fingerprint covers this content in this attempt.
            let _used =
                self.service.execute(caller, Command::ConsumeApproval { approval: approval.id, fingerprint }).await;
            return Ok(CheckAnswer::Counts);
        }
        if let (true, Some(Approval { state: ApprovalState::Rejected { reason, .. }, .. })) =
            (open.is_empty(), &refused)
        {
            let message = format!("a person looked at the changed check and said no: {reason}");
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
            operation: cut(&format!("count a check that was changed by this task: {}", names.join(", "))),
            content,
            scope: commands.join("\n"),
            directory: self.worktree.display().to_string(),
            risk: "high".to_owned(),
            ..ApprovalRequest::default()
        }
    }

    /// Returns the difference between the accepted script and the one that ran. Both may be the same file, which the
    /// agent changed in place.
    fn difference(&self, name: &str, mark: &str) -> String {
        let (before, after) = (trust::accepted_content(self.record, name), trust::beginning(&self.worktree.join(name)));
        let side = |text: &Option<String>| if text.is_some() { name.to_owned() } else { "/dev/null".to_owned() };
        let (old, new) = (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
        let diff = TextDiff::from_lines(old, new);
        let text = diff.unified_diff().context_radius(3).header(&side(&before), &side(&after)).to_string();
        let is_cut = [&before, &after].into_iter().flatten().any(|text| text.len() as u64 >= trust::BEGINNING_BYTES);
        let cut =
            if is_cut { "… only the beginning is compared here; the whole file is in the worktree\n" } else { "" };
        format!("{name}: {mark}\n{text}{cut}")
    }
}

fn cut(text: &str) -> String {
    text.chars().take(1_000).collect()
}
