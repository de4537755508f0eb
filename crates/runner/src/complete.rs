//! Completes a task for an agent or a person when no runner does it. Runs the same verification as the runner, records
//! the result, and completes the task if the output passed the verification.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use engine::command::{RecordVerification, Target};
use engine::id::{AgentId, ApprovalId, TaskId};
use engine::task::{BlockKind, Task, TaskDetail};
use engine::verification::Verdict;
use engine::{Caller, Command, Json, Refusal, Reply, Rights, limits};
use wire::json::{Value, object};

use crate::outcome::route::{EscalationRoutes, EscalationTarget};
use crate::review::task_work::{WorkGround, WorkProblem, state_to_complete};
use crate::verify::{
    BadBrief, CheckPlace, EvaluatorAnswer, EvaluatorQuestion, Judgement, SaidReference, TurnFacts, Unresolved,
    VerificationEnd, VerificationFound, VerificationOrder, VerificationProgress, VerifiedContract, VerifyFault,
    failed_reason, resolve, stored_brief, tree, verify_output,
};
use agents::host;
use base::project::settings::{EnvironmentSettings, TeamSettings};
use base::project::task_extra::TaskExtra;
use base::service::together::TransactionStep;
use base::{Error, Service};
use git::program::Git;

/// The time between two renewals of the task's lease during a verification. The shortest lease is a minute, and a check
/// may run for longer.
const RENEW_INTERVAL: Duration = Duration::from_secs(15);

/// The order to complete a task: the task, its agent, its worktree and the folders for the verification.
#[derive(Debug, Clone, Copy)]
pub struct CompletionOrder<'a> {
    pub task: TaskId,
    /// The agent that says that it holds the task. `None` for a person, who does not have to name the holder.
    pub agent: Option<AgentId>,
    /// The reference of the output (for example a path, an address or a commit), when the caller gives it directly.
    pub output_ref: Option<&'a str>,
    /// The texts of the agent's output that may contain the reference of the output. `None` when the caller has no such
    /// output.
    pub said: Option<&'a SaidReference>,
    /// The result of the task, in one sentence. `None` when the caller gives none.
    pub outcome: Option<&'a str>,
    pub worktree: &'a Path,
    /// The main worktree of the project. A person accepted its configuration.
    pub root: &'a Path,
    /// Handover's state folder on this machine.
    pub state: &'a Path,
    /// The folder for the files of the host processes, which start and end the checks.
    pub folder: &'a Path,
    /// The value of `HANDOVER_TURN` for all processes of the checks, by which Handover finds and ends them. It is
    /// unique to this verification.
    pub mark: &'a str,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Finished {
    Completed(Completed),
    /// The verification failed, and the failure is recorded. `complaints` are the problems to fix. `is_blocked` is true
    /// when the task is now blocked.
    Failed {
        complaints: Vec<(String, String)>,
        is_blocked: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completed {
    pub output_ref: Option<String>,
    pub semantic: Verdict,
    /// The number of verifications of this attempt, including the one that just passed.
    pub attempts: u32,
}

/// The reason why a verification recorded no result.
#[derive(Debug, thiserror::Error)]
pub enum Unfinished {
    #[error(transparent)]
    Error(#[from] Error),
    #[error("{0} has no brief with an output contract, so there is nothing to verify")]
    NoContract(TaskId),
    #[error(transparent)]
    Brief(#[from] BadBrief),
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    #[error(
        "this task changed a check, and the check counts only after a person approves the change; the person reads \
         it with `handover approval show {0}`"
    )]
    CheckChanged(ApprovalId),
    #[error("an evaluator must judge the output, and the settings name no evaluator")]
    EvaluatorNeeded,
    /// The evaluator gave no judgement, even when Handover asked it a second time.
    #[error("the evaluator gave no judgement: {0}")]
    NotEvaluated(String),
    #[error(transparent)]
    Fault(#[from] VerifyFault),
    #[error(transparent)]
    Git(#[from] git::GitProblem),
    #[error("find the path of this program")]
    Binary(#[source] std::io::Error),
}

/// Verifies the output of a held task and records the result. Completes the task if the verification passed. `evaluate`
/// asks the evaluator in a new conversation, and asks it again when its answer is unusable.
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
    let mut held = prepare(service, team, order).await?;
    if held.contract.evaluate.is_some() && evaluate.is_none() {
        return Err(Unfinished::EvaluatorNeeded);
    }
    // Try the command that records a verification, without storing anything. If the claim is lost, the command fails
    // already now, so that the checks, which may take minutes, do not run in vain.
    let would =
        service.would(held.caller(), held.record(VerificationFound::without_contract(None, None, Vec::new()))).await?;
    held.failures = if let Reply::VerificationRecorded { failures, .. } = would { failures } else { 0 };
    // Read the state of the work before the checks run, because files that the checks leave are not part of the work.
    // The command that completes the task is tried below with this state, so work that was not reviewed is refused
    // before the checks run.
    let ground = WorkGround { service, root: Some(order.root), state: Some(order.state) };
    held.work = state_to_complete(ground, held.task, Some(order.worktree)).await.map_err(|problem| match problem {
        WorkProblem::Error(error) => Unfinished::Error(error),
        WorkProblem::Git(problem) => Unfinished::Git(problem),
    })?;
    let done = Target::Completed { outcome: Some("checked".to_owned()), detail: None, delivery: None };
    service.would(held.caller(), Command::Move { task: held.task, attempt: Some(held.attempt), to: done }).await?;
    let found = held.working(service, Box::pin(held.verify(service, order, evaluate, progress))).await?;
    held.conclude(service, (team, order), *found).await
}

/// A claim: the task, the agent that holds it, and the number of the attempt.
struct HeldClaim {
    task: TaskId,
    attempt: u32,
    holder: AgentId,
    /// The agent that wrote the task. `None` when a person wrote it.
    author: Option<String>,
    contract: VerifiedContract,
    /// The number of verifications of this attempt that failed.
    failures: u32,
    /// The state of the verified work. The engine compares it with the state that the reviewer saw. `None` when the
    /// task needs no review or has none yet.
    work: Option<String>,
    /// The environment variables that the checks inherit.
    environment: EnvironmentSettings,
}

async fn prepare(service: &Service, team: &TeamSettings, order: CompletionOrder<'_>) -> Result<HeldClaim, Unfinished> {
    let id = order.task;
    let (task, detail): (Task, TaskDetail) =
        service.view(move |world| Ok((world.task(id)?.clone(), world.detail(id)?.clone()))).await?;
    let (holder, attempt) = (task.holder(), task.attempt);
    let holder = match holder {
        Some(holder) if order.agent.is_none_or(|agent| agent == holder) => holder,
        Some(_) | None => return Err(Error::from(Refusal::ClaimLost { task: id, holder, attempt }).into()),
    };
    let author = TaskExtra::of(&detail).planned_by;
    let brief = stored_brief(&detail)?.ok_or(Unfinished::NoContract(id))?;
    let contract = resolve(team, &brief.output_contract)?;
    let environment = team.environment.clone();
    Ok(HeldClaim { task: id, attempt, holder, author, contract, failures: 0, work: None, environment })
}

impl HeldClaim {
    /// Returns a caller that may complete the task: it has the runner's rights and acts for the agent that holds the
    /// task.
    fn caller(&self) -> Caller {
        Caller { agent: Some(self.holder), work: self.work.clone(), ..Caller::with_rights(Rights::Runner) }
    }

    /// Returns the command that records the result of a verification.
    fn record(&self, found: VerificationFound) -> Command {
        let VerificationFound { mechanical, semantic, output_ref, evidence } = found;
        let (task, attempt, turn, evidence) = (self.task, self.attempt, None, evidence.to_json());
        let record = RecordVerification { task, attempt, turn, mechanical, semantic, output_ref, evidence };
        Command::RecordVerification(Box::new(record))
    }

    async fn verify<E>(
        &self,
        service: &Service,
        order: CompletionOrder<'_>,
        evaluate: Option<E>,
        progress: &mut (dyn FnMut(VerificationProgress<'_>) + Send),
    ) -> Result<Box<VerificationFound>, Unfinished>
    where
        E: AsyncFnOnce(EvaluatorQuestion) -> Result<Judgement, String>,
    {
        let tree = tree(&Git::default(), order.worktree, None).await?;
        let facts = TurnFacts {
            output_ref: order.output_ref.map(str::to_owned),
            said: order.said.cloned().unwrap_or_default(),
            has_remote: tree.has_remote,
            commit: tree.head.clone(),
            ..TurnFacts::default()
        };
        let binary = host::own_binary().map_err(Unfinished::Binary)?;
        let place = CheckPlace {
            worktree: order.worktree,
            subfolder: Path::new(""),
            binary: &binary,
            folder: order.folder,
            turn: order.mark,
            environment: &BTreeMap::new(),
            inherit: &self.environment,
            output_bytes_max: base::project::settings::team::LimitSettings::default().output_bytes,
            commit: tree.head.as_deref(),
            kept_in: None,
        };
        let verification = VerificationOrder {
            service,
            task: self.task,
            attempt: self.attempt,
            holder: self.holder,
            author: self.author.as_deref(),
            contract: &self.contract,
            facts: &facts,
            place,
            project: Vec::new(),
            pauses: false,
            caller: self.caller(),
        };
        let evaluate = async |question: EvaluatorQuestion| -> Result<EvaluatorAnswer, Unfinished> {
            let Some(evaluate) = evaluate else { return Err(Unfinished::EvaluatorNeeded) };
            Ok(evaluate(question).await.map_or_else(EvaluatorAnswer::NotAsked, EvaluatorAnswer::Judged))
        };
        match verify_output(&verification, evaluate, progress).await? {
            VerificationEnd::Found(found) => Ok(found),
            VerificationEnd::WaitsForPerson(approval) => Err(Unfinished::CheckChanged(approval)),
            VerificationEnd::NotEvaluated(why) | VerificationEnd::NoJudgement(why) => {
                Err(Unfinished::NotEvaluated(why))
            }
            VerificationEnd::Stopped => Err(Unfinished::NotEvaluated("the evaluation was stopped".to_owned())),
        }
    }

    /// Runs `work` (a part of the verification) to its end, and renews the lease of the task at an interval until then.
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

    /// Records the result of the verification. Completes the task when the output passed, and blocks it when the output
    /// failed too often.
    async fn conclude(
        &self,
        service: &Service,
        (team, order): (&TeamSettings, CompletionOrder<'_>),
        found: VerificationFound,
    ) -> Result<Finished, Unfinished> {
        let moved = |to| Command::Move { task: self.task, attempt: Some(self.attempt), to };
        if !found.has_passed() {
            let complaints = found.evidence.failed_complaints();
            let recorded = service.execute(self.caller(), self.record(found)).await?;
            let failures = if let Reply::VerificationRecorded { failures, .. } = recorded { failures } else { 0 };
            let is_blocked = failures >= limits::VERIFICATION_FAILURES_MAX;
            if is_blocked {
                let (kind, failures) = (BlockKind::VerificationFail, usize::try_from(failures).unwrap_or(usize::MAX));
                let reason = failed_reason(failures, &complaints);
                let routes = EscalationRoutes { who: None, settings: &team.routes };
                let role = routes.of_block(kind, &reason).and_then(EscalationTarget::role);
                service.execute(self.caller(), moved(Target::Blocked { kind, reason, role })).await?;
            }
            return Ok(Finished::Failed { complaints, is_blocked });
        }
        let (output_ref, semantic) = (found.output_ref.clone(), found.semantic);
        let completed = Completed { output_ref, semantic, attempts: self.failures + 1 };
        let named = || format!("the output {} was checked", completed.output_ref.as_deref().unwrap_or("of the task"));
        let outcome = order.outcome.map_or_else(named, str::to_owned);
        let detail = Some(Json::from_stored(completed.to_value().to_string()));
        let complete = moved(Target::Completed { outcome: Some(outcome), detail, delivery: None });
        // The verification and the end of the task are one transaction, so that neither is recorded without the other.
        let steps = [self.record(found), complete].map(TransactionStep::of);
        service.execute_all(self.caller(), steps.to_vec()).await?;
        Ok(Finished::Completed(completed))
    }
}

impl Completed {
    /// Returns the result as JSON, with the field names that a `complete` message has in Handover's message protocol.
    pub fn to_value(&self) -> Value {
        let verification = object([
            ("mechanical", Verdict::Pass.as_str().into()),
            ("semantic", self.semantic.as_str().into()),
            ("attempts", u64::from(self.attempts).into()),
        ]);
        object([("output_ref", self.output_ref.clone().into()), ("verification", verification)])
    }
}
