//! Runs a whole verification. Its parts are the mechanical tests, a person's decision on changed check scripts, and the
//! evaluator (an agent that judges the output). The runner calls this module, and so does the module `complete`, which
//! completes a task without a runner.

use engine::Caller;
use engine::id::{AgentId, ApprovalId, TaskId};
use engine::verification::Verdict;

use super::changed::{ChangedCheck, CheckAnswer, CheckWait};
use super::evaluation::{Criterion, EvaluatorQuestion, Judgement, ask};
use super::project::ProjectCheckResult;
use super::{
    CheckPlace, TurnFacts, VerificationEvidence, VerificationProgress, Verified, VerifiedContract, VerifyFault, verify,
};
use base::Error;
use base::Service;

/// The claim whose output is verified, and the contract that the output has to meet.
#[derive(Debug)]
pub struct VerificationOrder<'a> {
    pub service: &'a Service,
    pub task: TaskId,
    pub attempt: u32,
    pub holder: AgentId,
    /// The agent that wrote the task. `None` when a person wrote it.
    pub author: Option<&'a str>,
    pub contract: &'a VerifiedContract,
    pub facts: &'a TurnFacts,
    pub place: CheckPlace<'a>,
    /// The verdicts of the project's checks, which ran before this verification.
    pub project: Vec<ProjectCheckResult>,
    /// True when the task pauses while a person decides on changed check scripts. A runner continues it afterwards.
    pub pauses: bool,
    /// The caller that asks a person about changed check scripts.
    pub caller: Caller,
}

/// The result of a verification that ran to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct VerificationFound {
    pub mechanical: Verdict,
    pub semantic: Verdict,
    pub output_ref: Option<String>,
    pub evidence: VerificationEvidence,
}

/// The way in which a verification ended.
#[derive(Debug, Clone, PartialEq)]
pub enum VerificationEnd {
    Found(Box<VerificationFound>),
    /// The task changed scripts that the checks run, and a person has to see these scripts first.
    WaitsForPerson(ApprovalId),
    /// The evaluator could not be asked. The text says why.
    NotEvaluated(String),
    /// The evaluator's answers contained no judgement. The text has the error codes of the last answer.
    NoJudgement(String),
    /// The verification was stopped: the runner must stop, or the claim of the task is lost.
    Stopped,
}

/// The answer of the evaluator, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvaluatorAnswer {
    Judged(Judgement),
    /// The evaluator could not be asked. The text says why.
    NotAsked(String),
    Stopped,
}

impl VerificationFound {
    /// Returns the verification result of a task without a contract: only the project's checks count.
    pub fn without_contract(commit: Option<String>, tree: Option<String>, project: Vec<ProjectCheckResult>) -> Self {
        let evidence = VerificationEvidence { commit, tree, project, ..VerificationEvidence::default() };
        let mechanical = if evidence.has_passed() { Verdict::Pass } else { Verdict::Fail };
        Self { mechanical, semantic: Verdict::Skipped, output_ref: None, evidence }
    }

    pub fn has_passed(&self) -> bool {
        self.mechanical == Verdict::Pass && self.semantic != Verdict::Fail
    }
}

/// Verifies an output. Calls `evaluate` (which asks the evaluator) only when the contract has a criterion and
/// everything else passed.
pub async fn verify_output<F>(
    order: &VerificationOrder<'_>,
    evaluate: impl AsyncFnOnce(EvaluatorQuestion) -> Result<EvaluatorAnswer, F>,
    progress: &mut (dyn FnMut(VerificationProgress<'_>) + Send),
) -> Result<VerificationEnd, F>
where
    F: From<Error> + From<VerifyFault>,
{
    let Verified { output_ref, text, mut evidence } =
        verify(order.contract, order.facts, order.place, progress).await?;
    evidence.project.clone_from(&order.project);
    if let Some(approval) = person_decision(order, &mut evidence).await? {
        return Ok(VerificationEnd::WaitsForPerson(approval));
    }
    let mechanical = if evidence.has_passed() { Verdict::Pass } else { Verdict::Fail };
    let mut semantic = Verdict::Skipped;
    if let (Verdict::Pass, Some(criterion)) = (mechanical, &order.contract.evaluate) {
        let criterion = Criterion { text: criterion, author: order.author };
        let question = ask(criterion, output_ref.as_deref(), text.as_deref().unwrap_or_default());
        let (verdict, said) = match evaluate(question).await? {
            EvaluatorAnswer::Judged(Judgement::Pass(said)) => (Verdict::Pass, said),
            EvaluatorAnswer::Judged(Judgement::Fail(said)) => (Verdict::Fail, said),
            EvaluatorAnswer::Judged(Judgement::Unusable { codes }) => {
                let codes = codes.into_iter().map(|(code, _)| code).collect::<Vec<_>>().join(", ");
                return Ok(VerificationEnd::NoJudgement(codes));
            }
            EvaluatorAnswer::NotAsked(why) => return Ok(VerificationEnd::NotEvaluated(why)),
            EvaluatorAnswer::Stopped => return Ok(VerificationEnd::Stopped),
        };
        semantic = verdict;
        evidence.evaluation = Some(said);
    }
    Ok(VerificationEnd::Found(Box::new(VerificationFound { mechanical, semantic, output_ref, evidence })))
}

/// Applies a person's decision on check scripts that the task changed, and updates `evidence`. Returns the approval
/// request when the person has not decided yet, else `None`.
async fn person_decision(
    order: &VerificationOrder<'_>,
    evidence: &mut VerificationEvidence,
) -> Result<Option<ApprovalId>, Error> {
    let Some(scripts) = order.contract.scripts.as_ref().filter(|_| evidence.waits_for_a_person()) else {
        return Ok(None);
    };
    let check = ChangedCheck {
        service: order.service,
        worktree: order.place.worktree,
        record: &scripts.record,
        task: order.task,
        attempt: order.attempt,
        agent: order.holder,
        waits: if order.pauses { CheckWait::Pauses } else { CheckWait::VerifiesAgain },
    };
    match check.decide(order.caller.clone(), evidence).await? {
        CheckAnswer::Counts | CheckAnswer::Rejected => Ok(None),
        CheckAnswer::Asked(approval) => Ok(Some(approval)),
    }
}

/// The longest list of problems in the reason of a blocked task, in characters. A longer list is cut.
const REASON_CHARS_MAX: usize = 2_000;

/// Returns the reason for blocking a task whose output failed its verification `failures` times.
pub fn failed_reason(failures: usize, complaints: &[(String, String)]) -> String {
    let codes = complaints.iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>().join(", ");
    let texts = complaints.iter().map(|(code, text)| format!("{code}: {text}")).collect::<Vec<_>>().join("\n");
    let texts: String = texts.chars().take(REASON_CHARS_MAX).collect();
    format!("the task's output failed verification {failures} times: {codes}\n{texts}")
}
