//! Applies a valid handoff, the report with which an agent ends its work, when the agent runs in a person's own
//! session. The effects are the same as when Handover's runner started the agent's program and the program ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::checkpoint::Kind;
use engine::command::Target;
use engine::{Caller, Command, Json, Refusal, Reply};
use wire::json::object;

use super::stop::{DueHandoff, let_go, runner};
use super::{HookAnswer, HookCall, HookError};
use crate::office::Office;
use base::error::Error;
use base::ground::digest::sha256;
use base::ground::random;
use base::project::settings::TeamSettings;
use base::project::trust;
use base::service;
use base::service::together::{TransactionResult, TransactionStep};
use runner::artifacts;
use runner::claim::open;
use runner::complete::{CompletionOrder, Finished, Unfinished, finish};
use runner::outcome::{
    self, AfterOutcome, AgentAnswer, AgentResult, Outcome, OutcomeAct, OutcomeContext, OutputStatus, ProgressRecord,
    StepScope, VERIFICATION_FAILED, cut, note,
};
use runner::review::task_work::{WorkGround, WorkProblem, state_to_complete};
use runner::verify::EvaluatorQuestion;

/// The message to an agent whose handoff (its report at the end of its work) is valid, but was refused by the engine,
/// the code that accepts or refuses commands.
const REFUSED: &str = "Your handoff is valid, but it was refused. Fix the problem below, and hand over again.";

/// A client's session whose agent stops with a handoff, that is, with a report at the end of its work.
pub(super) struct StoppedSession<'a> {
    pub(super) office: &'a Office,
    pub(super) hook: &'a HookCall<'a>,
    pub(super) team: &'a TeamSettings,
    pub(super) due: &'a DueHandoff,
}

impl StoppedSession<'_> {
    /// Applies the agent's handoff (its report at the end of its work) to its task. When the engine, which accepts or
    /// refuses commands, refuses the handoff, answers with the reason.
    pub(super) async fn hand_over(&self, result: &AgentResult) -> Result<HookAnswer, HookError> {
        match self.effect(result).await {
            Err(HookError::Error(Error::Refused(refusal))) => self.refused(&refusal).await,
            done => done,
        }
    }

    pub(super) fn said(&self) -> &str {
        self.hook.payload.last_assistant_message.as_deref().unwrap_or_default()
    }

    /// Writes the files that an agent's output contains, if the output says "done". If a mistake in the output makes
    /// this impossible, marks the answer as invalid, so that the agent repairs it.
    pub(super) fn write_artifacts(&self, answer: &mut AgentAnswer) -> Result<(), HookError> {
        let Some(result) = answer.result.as_ref().filter(|result| !result.artifacts.is_empty()) else { return Ok(()) };
        if OutputStatus::of(&result.act) != OutputStatus::Done {
            return Ok(());
        }
        let folder = format!("{}-{}", self.due.task.id, self.due.task.attempt);
        let folder = self.office.state.join("turns").join(folder);
        std::fs::create_dir_all(&folder).map_err(|error| HookError::Other(error.to_string()))?;
        match artifacts::write_output(&self.folder(), &folder, &result.artifacts) {
            Ok(()) => Ok(()),
            Err(problem) if problem.codes().is_empty() => Err(HookError::Other(problem.to_string())),
            Err(problem) => {
                answer.reject(problem.codes());
                Ok(())
            }
        }
    }

    /// Returns a caller with an idempotency key. When the hook runs twice with the same handoff (report of the agent),
    /// the second run has no effect.
    fn once(&self, what: &str) -> Caller {
        let report = &self.due.report;
        let said = sha256(self.said().as_bytes());
        let key = sha256(format!("{} {} {} {said} {what}", report.conversation, report.part, report.prompt).as_bytes());
        Caller {
            key: Some(service::key(engine::caller::KeyOwner::Fixed(format!("hook {what}")), key, &said)),
            ..runner(self.due)
        }
    }

    async fn effect(&self, result: &AgentResult) -> Result<HookAnswer, HookError> {
        let task = self.due.task.id;
        let folder = self.folder();
        let context = OutcomeContext {
            task: &self.due.task,
            workflow: &self.due.workflow,
            routes: self.routes(),
            folder: &folder,
            progress_reports: self.due.progress_reports,
            review: self.due.review,
            refused_call: None,
        };
        let Outcome { lessons, acts, then } = outcome::decide(result, &context);
        let done = match then {
            AfterOutcome::Finish { outcome, detail } => self.complete(lessons, result, (outcome, detail)).await?,
            AfterOutcome::Continue | AfterOutcome::Stop => {
                let all: Vec<OutcomeAct> = lessons.into_iter().chain(acts).collect();
                let replies = self.execute(None, &all, Vec::new()).await?;
                self.told(&all, &replies)
            }
        };
        let others = self.due.others;
        if done == HookAnswer::Nothing && others > 0 {
            return Ok(HookAnswer::Note(format!(
                "the handoff was for {task}; this session still holds {others} more \
                tasks"
            )));
        }
        Ok(done)
    }

    /// Executes the effects of a handoff (the agent's report) and further commands in one commit. Returns no replies
    /// when an earlier run of this Stop hook already applied the same handoff. `work` is the state of the completed work,
    /// which the engine compares with the state that a review saw.
    async fn execute(
        &self,
        work: Option<String>,
        acts: &[OutcomeAct],
        more: Vec<TransactionStep>,
    ) -> Result<Vec<Reply>, HookError> {
        let scope = StepScope {
            task: self.due.task.id,
            attempt: self.due.task.attempt,
            agent: self.due.agent.id,
            workflow: self.due.workflow.id,
            progress: ProgressRecord::Session(self.due.report.clone()),
            own_agents: Arc::new(BTreeMap::new()),
            is_paused: false,
        };
        let mut steps = outcome::steps(acts, &scope);
        steps.extend(more);
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        let caller = Caller { work, ..self.once("hands over") };
        Ok(match self.office.desk.service().execute_all(caller, steps).await? {
            TransactionResult::Before => Vec::new(),
            TransactionResult::Now { replies, left_out } => {
                left_out.iter().for_each(|(name, refusal)| eprintln!("handover: {name}: {refusal}"));
                replies
            }
        })
    }

    /// Returns the note for the person about the effects of a handoff (the agent's report at the end of its work).
    fn told(&self, acts: &[OutcomeAct], replies: &[Reply]) -> HookAnswer {
        let task = self.due.task.id;
        let approval = replies
            .iter()
            .find_map(|reply| if let Reply::ApprovalAsked { approval, .. } = reply { Some(*approval) } else { None });
        let note = acts.iter().find_map(|act| match act {
            OutcomeAct::AskPerson(_) => {
                Some(format!("{task} waits for an answer: `handover status` shows the question and how to answer it"))
            }
            OutcomeAct::RequestApproval { .. } => Some(match approval {
                Some(approval) => format!(
                    "{task} waits for your decision: `handover approval show {approval}`, then `handover approval \
                     approve {approval}` or `handover approval reject {approval} --reason REASON`"
                ),
                None => format!("{task} waits for your decision: `handover approval list` shows the request"),
            }),
            OutcomeAct::Block { kind, reason, .. } => {
                let reason: String = reason.lines().next().unwrap_or_default().chars().take(200).collect();
                Some(format!("{task} is blocked ({kind}): {reason}"))
            }
            OutcomeAct::MergeSection { .. }
            | OutcomeAct::AddCheckpoint(_)
            | OutcomeAct::SuggestAgent(_)
            | OutcomeAct::DecideFinding { .. }
            | OutcomeAct::ReportProgress(_)
            | OutcomeAct::Tell { .. } => None,
        });
        note.map_or(HookAnswer::Nothing, HookAnswer::Note)
    }

    fn ground(&self) -> WorkGround<'_> {
        let (service, state) = (self.office.desk.service(), Some(self.office.state.as_path()));
        WorkGround { service, root: self.office.place.root.as_deref(), state }
    }

    /// Returns the root of the git worktree in which the session works, else the session's folder.
    fn folder(&self) -> PathBuf {
        let here = self.hook.payload.cwd.clone().or_else(|| self.hook.folder()).unwrap_or_default();
        here.ancestors().find(|folder| folder.join(".git").exists()).map_or(here.clone(), Path::to_owned)
    }

    /// Verifies the output if the task asks for that, and then completes the task.
    async fn complete(
        &self,
        lessons: Vec<OutcomeAct>,
        result: &AgentResult,
        (outcome, detail): (String, Json),
    ) -> Result<HookAnswer, HookError> {
        let (task, attempt) = (self.due.task.id, Some(self.due.task.attempt));
        if !self.due.task.verify {
            let work = state_to_complete(self.ground(), task, None).await.map_err(unseen)?;
            let to = Target::Completed { outcome: Some(outcome), detail: Some(detail), delivery: None };
            self.execute(work, &lessons, vec![TransactionStep::of(Command::Move { task, attempt, to })]).await?;
            return Ok(HookAnswer::Nothing);
        }
        let Some(root) = self.office.place.root.clone() else {
            return Ok(HookAnswer::Note(format!(
                "the agent says that {task} is done, but the task cannot be checked, because there is no project \
                 here; run `handover init` in the project's root"
            )));
        };
        if let Err(untrusted) = trust::accepted(&root, base::project::place::data_folder().as_deref()) {
            let said = object([("said", result.summary.as_str().into())]);
            let note = note(Kind::Progress, "the agent says that the task is done", Some(&said));
            let add = TransactionStep::of(Command::AddCheckpoint { task, attempt, note });
            self.execute(None, &lessons, vec![add]).await?;
            let text = format!(
                "the agent says that {task} is done, but it is not checked: {untrusted}; then run `handover \
                    task verify {task}`"
            );
            return Ok(HookAnswer::Note(text));
        }
        self.execute(None, &lessons, Vec::new()).await?;
        self.verify(&root, result).await
    }

    async fn verify(&self, root: &Path, result: &AgentResult) -> Result<HookAnswer, HookError> {
        let (task, agent) = (self.due.task.id, self.due.agent.id);
        let mark = format!("verify_{}", random::token()?);
        let folder = self.office.state.join("verify").join(&mark);
        let outcome = cut(result.outcome());
        let order = CompletionOrder {
            task,
            agent: Some(agent),
            output_ref: None,
            said: Some(&result.reference),
            outcome: Some(&outcome),
            worktree: &self.folder(),
            root,
            state: &self.office.state,
            folder: &folder,
            mark: &mark,
        };
        let judge = async |asked: EvaluatorQuestion| Box::pin(open::judge(self.office.run_site(), task, &asked)).await;
        let evaluate = self.team.evaluator.is_some().then_some(judge);
        let done = finish(self.office.desk.service(), self.team, order, evaluate, &mut |_| ()).await;
        // Delete the folder of the processes that ran the checks. It is no longer needed, because the stored
        // verification contains the output of the checks.
        let _kept = std::fs::remove_dir_all(&folder);
        match done {
            Ok(Finished::Completed(_)) => Ok(HookAnswer::Nothing),
            Ok(Finished::Failed { is_blocked: true, .. }) => Ok(HookAnswer::Note(format!(
                "{task} is blocked (verification_fail): its output failed verification twice"
            ))),
            // The store counts the failed verifications. The second failure blocks the task, so the agent cannot fail
            // without end.
            Ok(Finished::Failed { complaints, .. }) => {
                Ok(HookAnswer::Block(runner::turn::brief::repair(agent, VERIFICATION_FAILED, complaints)))
            }
            Err(Unfinished::Error(error)) => Err(error.into()),
            Err(problem) => {
                Ok(HookAnswer::Note(format!("the agent says that {task} is done, but it was not checked: {problem}")))
            }
        }
    }

    /// Answers when the engine, which accepts or refuses commands, refuses a handoff (the agent's report). An agent
    /// that lost the task has nothing to fix and gets a note. For any other agent, the handoff is sent back with the
    /// problem.
    async fn refused(&self, refusal: &Refusal) -> Result<HookAnswer, HookError> {
        if matches!(
            refusal,
            Refusal::ClaimLost { .. } | Refusal::TaskNotFound { .. } | Refusal::WorkflowNotFound { .. }
        ) {
            return Ok(let_go(self.due, refusal));
        }
        let problems = vec![(refusal.code().to_owned(), format!("{refusal}; {}", refusal.suggestion()))];
        self.send_back(REFUSED, problems).await
    }
}

fn unseen(problem: WorkProblem) -> HookError {
    match problem {
        WorkProblem::Error(error) => error.into(),
        WorkProblem::Git(problem) => HookError::Other(problem.to_string()),
    }
}
