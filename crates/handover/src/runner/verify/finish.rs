//! Completes a task for an agent or a person when no runner does it. Runs the same verification as the runner, records
//! the result, and completes the task if it passed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use engine::command::{RecordVerification, Target};
use engine::id::{AgentId, ApprovalId, TaskId};
use engine::task::{BlockKind, Task, TaskDetail};
use engine::verification::Verdict;
use engine::{Caller, Command, Json, Refusal, Reply, Rights};
use wire::json::{Value, object};

use super::changed::{ChangedCheck, CheckAnswer, CheckWait};
use super::evaluation::{Criterion, EvaluatorQuestion, Judgement, ask};
use super::{
    CheckPlace, SaidReference, TurnFacts, Unresolved, VerificationProgress, Verified, VerifiedContract, VerifyFault,
    resolve, tree, verify,
};
use crate::review::task_work::{WorkGround, WorkProblem, state_to_complete};
use crate::settings::TeamSettings;
use crate::task_extra::TaskExtra;
use crate::{Error, Service};
use agents::host;
use git::program::Git;

/// The time between two renewals of the lease during a verification. The shortest lease is a minute, and a check may
/// run for longer.
const RENEW_INTERVAL: Duration = Duration::from_secs(15);
/// The number of failed verifications at which the task is blocked. After the first failure, the agent may try again.
const FAILURES_MAX: u32 = 2;

/// The order to complete a task, with the worktree and the agent.
#[derive(Debug, Clone, Copy)]
pub struct CompletionOrder<'a> {
    pub task: TaskId,
    /// The agent that says that it holds the task. `None` for a person, who does not have to name the holder.
    pub agent: Option<AgentId>,
    /// The reference of the output (for example a path, an address or a commit), when the caller gives it directly.
    pub output_ref: Option<&'a str>,
    /// The agent's last text, which may contain the reference of the output.
    pub said: Option<&'a SaidReference>,
    /// The result of the task, in one sentence.
    pub outcome: Option<&'a str>,
    pub worktree: &'a Path,
    /// The main worktree of the project. A person accepted its configuration.
    pub root: &'a Path,
    /// Handover's state folder on this machine.
    pub state: &'a Path,
    /// The folder for the files of the checks' host processes.
    pub folder: &'a Path,
    /// The value of `HANDOVER_TURN` for all processes of the checks. It is unique to this verification.
    pub mark: &'a str,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Finished {
    Completed(Completed),
    /// The verification failed and is recorded. `complaints` are the problems to fix, and `is_blocked` tells whether
    /// the task is now blocked.
    Failed {
        complaints: Vec<(String, String)>,
        is_blocked: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completed {
    pub output_ref: Option<String>,
    pub semantic: Verdict,
    /// The number of verifications of this attempt, including this one.
    pub attempts: u32,
}

/// The reasons why a verification recorded no result.
#[derive(Debug, thiserror::Error)]
pub enum Unfinished {
    #[error(transparent)]
    Error(#[from] Error),
    #[error("{0} has no brief, so that there is nothing to hold its output to")]
    NoContract(TaskId),
    #[error("the brief of the task is not legal: {0}")]
    Brief(String),
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    #[error(
        "check changed by this task: its result counts only after a person saw the difference, with `handover approval show \
         {0}`, and approved it; then verify again"
    )]
    CheckChanged(ApprovalId),
    #[error("the output has to be judged by an evaluator, and there is none here")]
    EvaluatorNeeded,
    /// The evaluator gave no judgement, even when it was asked a second time.
    #[error("the evaluator gave no judgement: {0}")]
    NotEvaluated(String),
    #[error(transparent)]
    Fault(#[from] VerifyFault),
    #[error(transparent)]
    Git(#[from] git::GitProblem),
    #[error("find our own binary")]
    Binary(#[source] std::io::Error),
}

/// Verifies the output of a held task and records the result. Completes the task if the verification passed. `evaluate`
/// is called to ask the evaluator in a new conversation; it also has unusable answers repaired.
pub async fn finish<E>(
    service: &Service,
    team: &TeamSettings,
    order: CompletionOrder<'_>,
    evaluate: Option<E>,
    progress: &mut (dyn FnMut(VerificationProgress<'_>) + Send),
) -> Result<Finished, Unfinished>
where
    E: AsyncFnOnce(EvaluatorQuestion) -> Result<Judgement, String>,
{
    let (mut held, contract) = prepare(service, team, order).await?;
    if contract.evaluate.is_some() && evaluate.is_none() {
        return Err(Unfinished::EvaluatorNeeded);
    }
    // A trial run of the record command: it fails now if the claim is lost. The checks, which may take minutes, then do
    // not run in vain.
    let nothing = held.found(Verdict::Pass, Verdict::Skipped, None, Json::from_stored("{}".to_owned()));
    service.would(held.caller(), nothing).await?;
    // Reads the state of the work before the checks run, because files that the checks leave are not part of the work.
    // The trial run of the move below refuses work that was not reviewed, also before the checks run.
    let ground = WorkGround { service, root: Some(order.root), state: Some(order.state) };
    held.work = state_to_complete(ground, held.task, Some(order.worktree)).await.map_err(|problem| match problem {
        WorkProblem::Error(error) => Unfinished::Error(error),
        WorkProblem::Git(problem) => Unfinished::Git(problem),
    })?;
    let done = Target::Completed { outcome: Some("verified".to_owned()), detail: None };
    service.would(held.caller(), Command::Move { task: held.task, attempt: Some(held.attempt), to: done }).await?;
    let mut verified = held.working(service, mechanical(&contract, order, progress)).await?;
    if let (true, Some(scripts)) = (verified.evidence.waits_for_a_person(), &contract.scripts) {
        let check = ChangedCheck {
            service,
            worktree: order.worktree,
            record: &scripts.record,
            task: held.task,
            attempt: held.attempt,
            agent: held.holder,
            waits: CheckWait::VerifiesAgain,
        };
        if let CheckAnswer::Asked(approval) = check.decide(held.caller(), &mut verified.evidence).await? {
            return Err(Unfinished::CheckChanged(approval));
        }
    }
    let mut complaints = Vec::new();
    let mut semantic = Verdict::Skipped;
    if let (Verdict::Pass, Some(criterion), Some(evaluate)) = (verified.mechanical(), &contract.evaluate, evaluate) {
        let text = verified.text.as_deref().unwrap_or_default();
        let criterion = Criterion { text: criterion, author: held.author.as_deref() };
        let asked = ask(criterion, verified.output_ref.as_deref(), text);
        let (verdict, said) = match held.working(service, evaluate(asked)).await.map_err(Unfinished::NotEvaluated)? {
            Judgement::Pass(said) => (Verdict::Pass, said),
            Judgement::Fail(said) => (Verdict::Fail, said),
            Judgement::Unusable { codes } => {
                let codes = codes.into_iter().map(|(code, _)| code).collect::<Vec<_>>().join(", ");
                return Err(Unfinished::NotEvaluated(codes));
            }
        };
        semantic = verdict;
        complaints = verified.evidence.complaints((verdict == Verdict::Fail).then_some(&said));
        verified.evidence.evaluation = Some(said);
    } else {
        complaints.extend(verified.evidence.complaints(None));
    }
    held.conclude(service, order, &verified, (semantic, complaints)).await
}

/// A claim: the task, the agent that holds it, and the number of the attempt.
struct HeldClaim {
    task: TaskId,
    attempt: u32,
    holder: AgentId,
    /// The agent that wrote the task. `None` when a person wrote it.
    author: Option<String>,
    /// The state of the verified work, for the comparison with the reviewed state. `None` when there is nothing to
    /// compare.
    work: Option<String>,
}

async fn prepare(
    service: &Service,
    team: &TeamSettings,
    order: CompletionOrder<'_>,
) -> Result<(HeldClaim, VerifiedContract), Unfinished> {
    let id = order.task;
    let (task, detail): (Task, TaskDetail) =
        service.view(move |world| Ok((world.task(id)?.clone(), world.detail(id)?.clone()))).await?;
    let (holder, attempt) = (task.holder(), task.attempt);
    let holder = match holder {
        Some(holder) if order.agent.is_none_or(|agent| agent == holder) => holder,
        Some(_) | None => return Err(Error::from(Refusal::ClaimLost { task: id, holder, attempt }).into()),
    };
    let author = TaskExtra::of(&detail).planned_by;
    let stored = detail.brief.ok_or(Unfinished::NoContract(id))?;
    let judged = wire::message::judge_brief(stored.as_str().as_bytes());
    let problems = judged.report.codes().0.join(", ");
    let brief = judged.value.ok_or(Unfinished::Brief(problems))?;
    let contract = resolve(team, &brief.output_contract)?;
    Ok((HeldClaim { task: id, attempt, holder, author, work: None }, contract))
}

async fn mechanical(
    contract: &VerifiedContract,
    order: CompletionOrder<'_>,
    progress: &mut (dyn FnMut(VerificationProgress<'_>) + Send),
) -> Result<Verified, Unfinished> {
    let found = tree(&Git::default(), order.worktree, None).await?;
    let facts = TurnFacts {
        output_ref: order.output_ref.map(str::to_owned),
        said: order.said.cloned().unwrap_or_default(),
        has_remote: found.has_remote,
        commit: found.head.clone(),
        ..TurnFacts::default()
    };
    let binary = host::own_binary().map_err(Unfinished::Binary)?;
    let place = CheckPlace {
        worktree: order.worktree,
        binary: &binary,
        folder: order.folder,
        turn: order.mark,
        environment: &BTreeMap::new(),
        output_bytes_max: crate::settings::team::LimitSettings::default().output_bytes,
        commit: found.head.as_deref(),
    };
    Ok(verify(contract, &facts, place, progress).await?)
}

impl HeldClaim {
    /// Returns a caller that may complete the task: it has the runner's rights and acts for the agent that holds the
    /// task.
    fn caller(&self) -> Caller {
        Caller { agent: Some(self.holder), work: self.work.clone(), ..Caller::with_rights(Rights::Runner) }
    }

    fn found(&self, mechanical: Verdict, semantic: Verdict, output_ref: Option<String>, evidence: Json) -> Command {
        let (task, attempt, turn) = (self.task, self.attempt, None);
        let found = RecordVerification { task, attempt, turn, mechanical, semantic, output_ref, evidence };
        Command::RecordVerification(Box::new(found))
    }

    /// Runs `work` to its end, and renews the lease of the task at an interval until then.
    async fn working<T>(&self, service: &Service, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = tokio::time::sleep(RENEW_INTERVAL) => {
                    // Ignores a failed renewal. If the claim is lost, recording the result fails later and reports it.
                    let _renewed = service.execute(self.caller(), Command::Renew).await;
                }
            }
        }
    }

    async fn conclude(
        &self,
        service: &Service,
        order: CompletionOrder<'_>,
        verified: &Verified,
        (semantic, complaints): (Verdict, Vec<(String, String)>),
    ) -> Result<Finished, Unfinished> {
        let mechanical = verified.mechanical();
        let output_ref = verified.output_ref.clone();
        let found = self.found(mechanical, semantic, output_ref.clone(), verified.evidence.to_json());
        let recorded = service.execute(self.caller(), found).await?;
        let failures = if let Reply::VerificationRecorded { failures, .. } = recorded { failures } else { 0 };
        let has_passed = mechanical == Verdict::Pass && semantic != Verdict::Fail;
        if !has_passed {
            let is_blocked = failures >= FAILURES_MAX;
            if is_blocked {
                let codes = complaints.iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>().join(", ");
                let reason = format!("its output failed verification {failures} times: {codes}");
                let kind = BlockKind::VerificationFail;
                self.move_to(service, Target::Blocked { kind, reason, role: None }).await?;
            }
            return Ok(Finished::Failed { complaints, is_blocked });
        }
        let completed = Completed { output_ref, semantic, attempts: failures + 1 };
        let named = || format!("the output {} was verified", completed.output_ref.as_deref().unwrap_or("of the task"));
        let outcome = order.outcome.map_or_else(named, str::to_owned);
        let detail = Some(Json::from_stored(completed.to_value().to_string()));
        self.move_to(service, Target::Completed { outcome: Some(outcome), detail }).await?;
        Ok(Finished::Completed(completed))
    }

    async fn move_to(&self, service: &Service, to: Target) -> Result<(), Unfinished> {
        let act = Command::Move { task: self.task, attempt: Some(self.attempt), to };
        service.execute(self.caller(), act).await?;
        Ok(())
    }
}

impl Completed {
    /// Returns the result in the form of a `complete` message of the wire protocol.
    pub fn to_value(&self) -> Value {
        let verification = object([
            ("mechanical", Verdict::Pass.as_str().into()),
            ("semantic", self.semantic.as_str().into()),
            ("attempts", u64::from(self.attempts).into()),
        ]);
        object([("output_ref", self.output_ref.clone().into()), ("verification", verification)])
    }
}
