//! Decides the next step of an attempt (one claim of a task) from the stored facts. The functions here are pure, so a
//! runner that continues after a crash decides exactly as the earlier runner would have.
//!
//! ```text
//! no turn ──> First                      done ──> Finish ──> (verification) ──> Merge, back to the agent, or blocked
//! running, its runner gone ──> Recover   progress ──> Next
//! invalid ──> Repair                     question, approval request ──> Wait ──> Answer
//! no answer ──> Crash, or Resume a turn that was only interrupted
//! verified, needs a review ──> Review ──> Merge, or Feedback to the agent, or a person
//! ```

use engine::Timestamp;
use engine::approval::{Approval, ApprovalState, Source};
use engine::checkpoint::Kind;
use engine::id::{AgentId, ApprovalId, TurnId};
use engine::limits;
use engine::review::RoundState;
use engine::sent_back::{SendBackNote, SentBack};
use engine::task::{BlockKind, Status, Task};
use engine::turn::{Purpose, Turn, TurnEnd, progress_limit_reached};
use engine::view::AttemptView;

use crate::attempt::chain::Chain;
use crate::outcome::{AfterInvalid, OutputStatus, OutputVerdict, RepairLimits, still_invalid};
use crate::verify::VerificationEvidence;
use base::project::budget::{Bounds, LimitReached};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptStep {
    /// Stop the work: the attempt is over, or another agent has the task.
    Leave,
    /// Do nothing for now: the task waits for a person, or its workflow is paused.
    Wait,
    /// Recover a turn that is recorded as running although its runner is gone.
    Recover(TurnId),
    Turn(Purpose, TurnReason),
    /// Apply and verify the output of this turn. The output says that the task is done.
    Finish(TurnId),
    /// Let another agent review the verified output of this turn.
    Review(TurnId),
    /// Ask a person, because the review used up its rounds and findings are still open.
    AskReview(TurnId),
    /// Merge the verified work into the workflow's branch and complete the task.
    Merge(TurnId),
    /// Ask a person, request an approval or block the task, as the output of this turn says. Normally this happens in
    /// the transaction that ends the turn. This step is needed only when a runner of version 0.1 ended the turn and
    /// then stopped.
    Settle(TurnId),
    Block(BlockKind, String),
    /// Give the task back after a failure, so that an agent can claim it again. The failure uses up one of the task's
    /// attempts.
    Crash(String),
    /// Give the task back, so that an agent can claim it again. This does not use up one of the task's attempts.
    Return(String),
}

/// The reason for the next turn of an attempt, with the data that the texts of that turn need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnReason {
    Begins,
    /// The output of the named turn is not valid.
    BadOutput(TurnId),
    /// The agent reported progress and needs another turn.
    GoesOn,
    Answered(String),
    /// A person approved the agent's request. Starting the turn consumes the approval.
    Approved(Option<(ApprovalId, String)>),
    Interrupted,
    /// The agent's work conflicts with the workflow's branch.
    Conflict {
        paths: Vec<String>,
    },
    Failed {
        evidence: String,
    },
    /// The agent's work passes the checks alone, but not together with the work of other tasks.
    TipFailed {
        evidence: String,
    },
    /// A review of the work found problems, which the agent has to answer.
    Reviewed,
    /// A person sent the finished work back, with a text and remarks about places in the work.
    SentBack {
        text: String,
        notes: Vec<SendBackNote>,
    },
}

/// The facts that the runner adds to the facts from the store when it decides the next step of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct StepInput<'a> {
    pub agent: AgentId,
    /// The number of the attempt that this runner claimed.
    pub attempt: u32,
    pub runner: &'a str,
    pub repairs_max: u32,
    pub bounds: Bounds,
    pub bounds_workflow: Bounds,
    /// True when the agent's program can resume an earlier conversation.
    pub can_resume: bool,
    /// True when the plan names a reviewer for the task.
    pub has_reviewer: bool,
    pub now: Timestamp,
}

pub fn step(facts: &AttemptView, given: &StepInput<'_>) -> AttemptStep {
    let task = &facts.task;
    if task.attempt != given.attempt || task.holder() != Some(given.agent) {
        return AttemptStep::Leave;
    }
    match task.status() {
        Status::Pending | Status::Planning | Status::InProgress => {}
        Status::Paused => return paused(facts),
        Status::Blocked | Status::Failed | Status::Completed | Status::Skipped => return AttemptStep::Leave,
    }
    if let Some(running) = facts.turns.iter().find(|turn| turn.ended().is_none()) {
        return if running.runner == given.runner { AttemptStep::Recover(running.id) } else { AttemptStep::Leave };
    }
    let own = facts.turns.iter().rev().find(|turn| !turn.purpose.is_a_look());
    let step = match own {
        None => AttemptStep::Turn(Purpose::First, TurnReason::Begins),
        Some(last) => after(facts, given, last),
    };
    if !matches!(step, AttemptStep::Turn(..)) {
        return step;
    }
    match over(facts, given) {
        _ if !facts.workflow.status.is_running() => AttemptStep::Wait,
        Some(over) => AttemptStep::Block(BlockKind::Resource, over.to_string()),
        None => step,
    }
}

/// Returns true when an attempt is over, so that its files on this machine may be removed.
pub fn is_over(task: &Task, attempt: u32) -> bool {
    let is_open = match task.status() {
        Status::Pending | Status::Planning | Status::InProgress | Status::Paused => task.holder().is_some(),
        Status::Blocked | Status::Failed | Status::Completed | Status::Skipped => false,
    };
    task.attempt != attempt || !is_open
}

fn over(facts: &AttemptView, given: &StepInput<'_>) -> Option<LimitReached> {
    given.bounds.over(facts.spent).or_else(|| given.bounds_workflow.over(facts.spent_workflow))
}

/// Returns the next step of a paused task, which normally is `Wait`. If an earlier runner paused the task for a
/// question and stopped before it asked the person, the next step asks the question.
fn paused(facts: &AttemptView) -> AttemptStep {
    let says = |turn: &&Turn, word: OutputStatus| {
        OutputVerdict::of_turn(turn).is_some_and(|verdict| verdict.says == Some(word))
    };
    let own = facts.turns.iter().rev().find(|turn| !turn.purpose.is_a_look());
    if let Some(turn) = own.filter(|turn| says(turn, OutputStatus::Done))
        && is_at_its_end(facts)
        && question_after(facts, turn).is_none()
    {
        return AttemptStep::AskReview(turn.id);
    }
    let asks = |turn: &&Turn| says(turn, OutputStatus::Asks);
    match facts.turns.last().filter(asks) {
        Some(turn) if question_after(facts, turn).is_none() && approval_after(facts, turn).is_none() => {
            AttemptStep::Settle(turn.id)
        }
        Some(_) | None => AttemptStep::Wait,
    }
}

fn ended_at(turn: &Turn) -> Timestamp {
    turn.ended().map_or(turn.started, |ended| ended.at)
}

fn question_after(facts: &AttemptView, turn: &Turn) -> Option<Timestamp> {
    facts.questions.iter().map(|message| message.at).find(|at| *at >= ended_at(turn))
}

fn approval_after<'f>(facts: &'f AttemptView, turn: &Turn) -> Option<&'f Approval> {
    facts.approvals.iter().find(|approval| approval.asked >= ended_at(turn))
}

/// Returns the approval that the agent, or a rule of the agent's card (its description), requested from a person since
/// the turn started. Returns `None` when there is none.
fn gate_after<'f>(facts: &'f AttemptView, turn: &Turn) -> Option<&'f Approval> {
    facts.approvals.iter().find(|approval| approval.source == Source::ExecGate && approval.asked >= turn.started)
}

/// Returns the answer of a person after the time `at`. A person may also continue the task without an answer. In that
/// case the text is "Go on."
fn answer_after(facts: &AttemptView, at: Timestamp) -> String {
    let decided = facts.checkpoints.iter().rev().find(|row| row.note.kind == Kind::Decision && row.at >= at);
    decided.map_or_else(|| "Go on.".to_owned(), |row| row.note.summary.clone())
}

/// Returns the text and the remarks with which a person sent the task back after this turn, or `None`.
fn sent_back_after(facts: &AttemptView, turn: &Turn) -> Option<(String, SentBack)> {
    let newer = facts.checkpoints.iter().rev().filter(|row| row.at >= ended_at(turn));
    newer.into_iter().find_map(|row| Some((row.note.summary.clone(), SentBack::of(&facts.task, row)?)))
}

fn after(facts: &AttemptView, given: &StepInput<'_>, last: &Turn) -> AttemptStep {
    let Some(ended) = last.ended() else { return AttemptStep::Recover(last.id) };
    if let Some((text, record)) = sent_back_after(facts, last) {
        return AttemptStep::Turn(Purpose::SentBack, TurnReason::SentBack { text, notes: record.notes });
    }
    let reason = || ended.reason.clone().unwrap_or_else(|| ended.end.to_string());
    match ended.end {
        TurnEnd::Finished => {}
        TurnEnd::TimedOut | TurnEnd::OverBudget => return AttemptStep::Block(BlockKind::Resource, reason()),
        TurnEnd::ClaimLost => return AttemptStep::Leave,
        TurnEnd::Cancelled => return AttemptStep::Return(reason()),
        TurnEnd::Interrupted => {
            let conversation = given.can_resume && Chain::of(&facts.turns, given.attempt).conversation.is_some();
            return if conversation {
                AttemptStep::Turn(Purpose::Recovery, TurnReason::Interrupted)
            } else {
                AttemptStep::Return(reason())
            };
        }
        // If the program no longer knows its conversation, the next turn starts a new one with the full texts.
        TurnEnd::ConversationLost => {
            return AttemptStep::Turn(Purpose::Recovery, TurnReason::Interrupted);
        }
        TurnEnd::Failed | TurnEnd::Signalled | TurnEnd::SpawnFailed | TurnEnd::ApiError => {
            return AttemptStep::Crash(format!("{}: {}", ended.end, reason()));
        }
    }
    // If the program was refused a permission in the last turn, a person was asked for it. The next turn tells the
    // agent what the person decided.
    if let Some(approval) = approval_after(facts, last).filter(|approval| approval.source == Source::Acp) {
        let because = match &approval.state {
            // The approval is consumed when the program repeats its request with the same bytes.
            ApprovalState::Approved { .. } | ApprovalState::Consumed { .. } => {
                TurnReason::Answered(format!("approved, once: {}", approval.request.operation))
            }
            ApprovalState::Pending { .. }
            | ApprovalState::Rejected { .. }
            | ApprovalState::Expired { .. }
            | ApprovalState::Revoked { .. } => decided(approval),
        };
        return AttemptStep::Turn(Purpose::Answer, because);
    }
    if let Some(approval) = gate_after(facts, last) {
        return AttemptStep::Turn(Purpose::Answer, decided(approval));
    }
    let Some(verdict) = OutputVerdict::of_turn(last) else {
        return AttemptStep::Crash("the recorded verdict of the turn cannot be read".to_owned());
    };
    let chain = Chain::of(&facts.turns, given.attempt);
    let Some(says) = verdict.says else { return repaired(given, last, &chain, &verdict) };
    match says {
        OutputStatus::Done => finished(facts, given, last),
        OutputStatus::Continues => match progress_limit_reached(chain.goes_on.saturating_sub(1), &verdict.summary) {
            Some(reason) => AttemptStep::Block(BlockKind::Ambiguity, reason),
            None => AttemptStep::Turn(Purpose::Next, TurnReason::GoesOn),
        },
        OutputStatus::Asks => match question_after(facts, last) {
            None => AttemptStep::Settle(last.id),
            Some(at) => AttemptStep::Turn(Purpose::Answer, TurnReason::Answered(answer_after(facts, at))),
        },
        OutputStatus::WantsApproval => match approval_after(facts, last) {
            None => AttemptStep::Settle(last.id),
            Some(approval) => AttemptStep::Turn(Purpose::Answer, decided(approval)),
        },
        OutputStatus::Blocked => AttemptStep::Settle(last.id),
    }
}

/// Returns the next step after an invalid output. The agent repairs the output, or the task is blocked when the allowed
/// repairs are used up.
fn repaired(given: &StepInput<'_>, last: &Turn, chain: &Chain, verdict: &OutputVerdict) -> AttemptStep {
    let limits = RepairLimits { repairs: given.repairs_max, restarts: 0 };
    match limits.after(chain.repairs.saturating_add(1)) {
        AfterInvalid::Repair => AttemptStep::Turn(Purpose::Repair, TurnReason::BadOutput(last.id)),
        AfterInvalid::Restart | AfterInvalid::GiveUp => {
            AttemptStep::Block(BlockKind::VerificationFail, still_invalid(&verdict.codes, chain.repairs))
        }
    }
}

fn decided(approval: &Approval) -> TurnReason {
    match &approval.state {
        ApprovalState::Approved { .. } => TurnReason::Approved(Some((approval.id, approval.fingerprint.clone()))),
        // If the approval is already consumed, an earlier runner consumed it and stopped before it started the next
        // turn. That turn starts now.
        ApprovalState::Consumed { .. } => TurnReason::Approved(None),
        ApprovalState::Rejected { reason, .. } => TurnReason::Answered(format!("rejected: {reason}")),
        ApprovalState::Revoked { reason, .. } => TurnReason::Answered(
            reason.as_ref().map_or_else(|| "revoked".to_owned(), |reason| format!("revoked: {reason}")),
        ),
        ApprovalState::Expired { .. } | ApprovalState::Pending { .. } => {
            TurnReason::Answered("expired: no person decided in time".to_owned())
        }
    }
}

/// Returns the next step for an output that says "done". It depends on the verification: not done yet, passed or
/// failed.
fn finished(facts: &AttemptView, given: &StepInput<'_>, last: &Turn) -> AttemptStep {
    let of_attempt = facts.verifications.iter().filter(|row| row.attempt == given.attempt);
    let failures = of_attempt.clone().filter(|row| !row.has_passed()).count();
    let Some(found) = of_attempt.clone().find(|row| row.turn == Some(last.id)) else {
        return AttemptStep::Finish(last.id);
    };
    if found.has_passed() {
        return if facts.task.review { reviewed(facts, given, last) } else { AttemptStep::Merge(last.id) };
    }
    let evidence = found.evidence.as_str().to_owned();
    if failures < usize::try_from(limits::VERIFICATION_FAILURES_MAX).unwrap_or(usize::MAX) {
        return AttemptStep::Turn(Purpose::Verification, TurnReason::Failed { evidence });
    }
    let complaints = VerificationEvidence::parse(&evidence).map(|evidence| evidence.failed_complaints());
    let complaints = complaints.unwrap_or_else(|| vec![("VERIFICATION_FAILED".to_owned(), evidence)]);
    AttemptStep::Block(BlockKind::VerificationFail, crate::verify::failed_reason(failures, &complaints))
}

/// Returns true when the review of the task used up its rounds while findings are still open.
fn is_at_its_end(facts: &AttemptView) -> bool {
    facts.review.as_ref().is_some_and(|known| known.review.rounds >= known.review.rounds_max && known.review.open > 0)
}

/// Returns the next step for a verified output of a task that needs a review. Each output is reviewed once, and the
/// worker gets the findings. After the last round, a person gets the open findings, and the person's answer lets the
/// task continue.
fn reviewed(facts: &AttemptView, given: &StepInput<'_>, last: &Turn) -> AttemptStep {
    let Some(known) = &facts.review else {
        if given.has_reviewer {
            return AttemptStep::Review(last.id);
        }
        return AttemptStep::Block(
            BlockKind::Ambiguity,
            "the task needs a review, and no reviewer is named; name one as the task's `review`".to_owned(),
        );
    };
    let review = &known.review;
    let Some(round) = known.last() else { return AttemptStep::Review(last.id) };
    match &round.state {
        RoundState::Running { .. } => return AttemptStep::Review(last.id),
        RoundState::Failed { code, message, .. } if round.turn == Some(last.id) => {
            return AttemptStep::Block(
                BlockKind::ToolFailure,
                format!("{} could not review the task: {code}: {message}", review.provider),
            );
        }
        RoundState::Answered(_) | RoundState::Failed { .. } => {}
    }
    let is_shown = round.turn == Some(last.id);
    match (is_shown, review.rounds >= review.rounds_max, review.open > 0) {
        (true, _, false) => AttemptStep::Merge(last.id),
        (true, false, true) => AttemptStep::Turn(Purpose::Feedback, TurnReason::Reviewed),
        (false, false, _) => AttemptStep::Review(last.id),
        // The rounds of the review are used up, and no finding is open. A person was asked before the agent made this
        // output and let the task continue, so the work is merged.
        (false, true, false) => AttemptStep::Merge(last.id),
        (_, true, true) => match question_after(facts, last) {
            None => AttemptStep::AskReview(last.id),
            Some(at) => AttemptStep::Turn(Purpose::Answer, TurnReason::Answered(answer_after(facts, at))),
        },
    }
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
