//! Tools for reviews: request a review, decide on findings, show the status. The documents of the review protocol are
//! in [`crate::feedback`].

use engine::id::{AgentId, ReviewId, TaskId};
use engine::review::{Finding, FindingDecision, Review, ReviewRound, ReviewStatus, RoundState, Verdict};
use engine::view::Reviewed;
use engine::{Timestamp, review};

use super::ids::{AttemptNumber, Body, Within};
use crate::reply::reply;
use crate::shape::{NonBlank, Text, message, vocabulary};

message! {
    pub struct ReviewRequest {
        content: optional Body,
        media_type: optional NonBlank,
        artifact_ref: optional NonBlank,
        provider: optional NonBlank,
        session: optional ReviewId,
        task_id: optional TaskId,
        attempt: optional AttemptNumber,
        wait_seconds: optional Within<0, 50>,
        agent_id: optional AgentId,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct ReviewAnswer {
        finding: required NonBlank,
        status: required FindingStatus,
        reason: optional Text,
        code: optional NonBlank,
        agent_id: optional AgentId,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct ReviewStatusGet {
        session: optional ReviewId,
        wait_seconds: optional Within<0, 50>,
        agent_id: optional AgentId,
    }
}

vocabulary! {
    pub enum FindingStatus {
        Accepted = "accepted",
        Rejected = "rejected",
        Partial = "partial",
    }
}

impl ReviewAnswer {
    /// Returns the review session and the id of the finding that the argument `finding` names. The argument has the
    /// form `ses_…/ID`, or only `ID`. Without a session in the argument, the returned session is `None`, which means
    /// the last session.
    pub fn place(&self) -> (Option<ReviewId>, String) {
        let text = self.finding.as_str();
        match text.split_once('/').and_then(|(session, name)| Some((session.parse().ok()?, name))) {
            Some((session, name)) => (Some(session), name.to_owned()),
            None => (None, text.to_owned()),
        }
    }

    pub fn decision(&self) -> FindingDecision {
        FindingDecision {
            verdict: match self.status {
                FindingStatus::Accepted => Verdict::Accepted,
                FindingStatus::Rejected => Verdict::Rejected,
                FindingStatus::Partial => Verdict::Partial,
            },
            code: self.code.as_ref().map(ToString::to_string),
            explanation: self.reason.as_ref().map(ToString::to_string),
        }
    }
}

reply! {
    pub struct FindingRow {
        id: String,
        status: &'static str,
        iteration: u32,
        aspect: String,
        description: String,
        recommendation: String,
        reason_code: some String,
        explanation: some String,
    }
}

impl FindingRow {
    fn of(row: &Finding) -> Self {
        let decision = row.decided().map(|decided| &decided.decision);
        Self {
            id: row.name.clone(),
            status: row.status(),
            iteration: row.round,
            aspect: row.aspect.clone(),
            description: row.description.clone(),
            recommendation: row.recommendation.clone(),
            reason_code: decision.and_then(|decision| decision.code.clone()),
            explanation: decision.and_then(|decision| decision.explanation.clone()),
        }
    }
}

reply! {
    pub struct FailureRow {
        code: String,
        message: String,
    }
}

reply! {
    pub struct ReviewReply {
        session: ReviewId,
        provider: String,
        status: &'static str,
        iteration: u32,
        open: u32,
        task_id: some TaskId,
        media_type: some String,
        artifact_ref: some String,
        confidence: some String,
        general_summary: some String,
        error: some FailureRow,
        findings: Vec<FindingRow>,
        message: String,
    }
}

impl ReviewReply {
    /// Builds the reply of a review tool from the last round of the review. A round that still runs after its time
    /// limit is shown as `lost`.
    pub fn of(found: &Reviewed, now: Timestamp) -> Self {
        let Review { id, provider, open, gate, .. } = &found.review;
        let last = found.last();
        let is_lost = |round: &ReviewRound| matches!(round.state, RoundState::Running { until, .. } if until <= now);
        let status = if last.is_some_and(is_lost) { "lost" } else { found.review.status.as_str() };
        let (confidence, general_summary, error) = match last.map(|round| &round.state) {
            Some(RoundState::Answered(answered)) => {
                (Some(answered.confidence.clone()), Some(answered.summary.clone()), None)
            }
            Some(RoundState::Failed { code, message, .. }) => {
                (None, None, Some(FailureRow { code: code.clone(), message: message.clone() }))
            }
            Some(RoundState::Running { .. }) | None => (None, None, None),
        };
        Self {
            session: *id,
            provider: provider.clone(),
            status,
            iteration: last.map_or(0, |round| round.number),
            open: *open,
            task_id: gate.map(|gate| gate.task),
            media_type: last.map(|round| round.artifact.media_type.clone()),
            artifact_ref: last.and_then(|round| round.artifact.reference.clone()),
            confidence,
            general_summary,
            error,
            findings: found.findings.iter().map(FindingRow::of).collect(),
            message: next(status, found).to_owned(),
        }
    }
}

fn next(status: &str, found: &Reviewed) -> &'static str {
    match (status, found.review.status) {
        ("lost", _) => "the process that asked the reviewer has ended; request the review again with this session",
        (_, ReviewStatus::Opened) => "there was no review round yet; request one with this session",
        (_, ReviewStatus::Running) => "the reviewer is working; call review_status with wait_seconds",
        (_, ReviewStatus::Failed) => {
            "this round has no findings; fix the problem that the error names, or request \
            the review again"
        }
        (_, ReviewStatus::Answered) if found.review.open > 0 => {
            "decide on each open finding with review_answer, then request again with this session"
        }
        (_, ReviewStatus::Answered) => "no finding is open",
    }
}

reply! {
    pub struct FindingReply {
        success: bool,
        session: ReviewId,
        open: u32,
    }
}

/// Returns true when a round of the review is running according to the store.
pub fn is_running(found: &Reviewed) -> bool {
    found.review.status == review::ReviewStatus::Running
}
