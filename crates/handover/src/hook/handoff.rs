//! Applies a valid handoff that an agent in a person's own session wrote. The effects are the same as at the end of a
//! turn that the runner started.

use std::path::{Path, PathBuf};

use engine::approval::{ApprovalRequest, Source};
use engine::checkpoint::Kind;
use engine::command::{AskApproval, Target};
use engine::{Caller, Command, Refusal, Reply};
use wire::handoff::{HandoffContract, HandoffStatus};
use wire::json::object;
use wire::translate::{self, TurnFence};

use super::stop::{DueHandoff, let_go, runner, send_back};
use super::{HookAnswer, HookCall, HookError};
use crate::digest::sha256;
use crate::error::Error;
use crate::office::Office;
use crate::review::task_work::{WorkGround, WorkProblem, state_to_complete};
use crate::runner::learn::{Learner, Lesson, lessons, note};
use crate::runner::route::{self, To};
use crate::runner::verify::{CompletionOrder, EvaluatorQuestion, Finished, SaidReference, Unfinished, finish};
use crate::runner::{asks, open};
use crate::seal::Seal;
use crate::service::{self, merged_section};
use crate::settings::TeamSettings;
use crate::together::{TransactionResult, TransactionStep};
use crate::{random, trust};

/// The message to an agent whose output failed its verification. The runner sends the same words.
const FAILED: &str = "Your output was verified and failed. Mend it, and end again with your whole output.";
const REFUSED: &str = "Your handoff is valid, but it cannot take effect. Mend what is in the way, and hand over again.";

/// A handoff to apply, with the session that wrote it.
struct Taking<'a> {
    office: &'a Office,
    hook: &'a HookCall<'a>,
    team: &'a TeamSettings,
    due: &'a DueHandoff,
    contract: &'a HandoffContract,
}

pub(super) async fn take(
    office: &Office,
    hook: &HookCall<'_>,
    team: &TeamSettings,
    due: &DueHandoff,
    contract: &HandoffContract,
) -> Result<HookAnswer, HookError> {
    let taking = Taking { office, hook, team, due, contract };
    match taking.effect().await {
        Err(HookError::Error(Error::Refused(refusal))) => taking.refused(&refusal).await,
        done => done,
    }
}

impl Taking<'_> {
    fn said(&self) -> &str {
        self.hook.payload.last_assistant_message.as_deref().unwrap_or_default()
    }

    /// Returns a caller with an idempotency key. When the hook runs twice with the same handoff, the second run has no
    /// effect.
    fn once(&self, what: &str) -> Caller {
        let report = &self.due.report;
        let said = sha256(self.said().as_bytes());
        let key = sha256(format!("{} {} {} {said} {what}", report.conversation, report.part, report.prompt).as_bytes());
        Caller {
            key: Some(service::key(engine::caller::KeyOwner::Fixed(format!("hook {what}")), key, &said)),
            ..runner(self.due)
        }
    }

    async fn effect(&self) -> Result<HookAnswer, HookError> {
        let task = self.due.task.id;
        let done = match self.contract.status() {
            HandoffStatus::Complete { .. } => self.complete().await?,
            HandoffStatus::InProgress => self.go_on().await?,
            HandoffStatus::NeedsInput => {
                self.hand_over(self.acts().into_iter().map(TransactionStep::of)).await?;
                HookAnswer::Note(format!(
                    "{task} waits for an answer: `handover status` shows the question and how to answer it"
                ))
            }
            HandoffStatus::ApprovalRequest { .. } => self.ask_approval().await?,
            HandoffStatus::Blocked => self.block().await?,
        };
        let others = self.due.others;
        if done == HookAnswer::Nothing && others > 0 {
            return Ok(HookAnswer::Note(format!("the handoff was for {task}; this session holds {others} more")));
        }
        Ok(done)
    }

    /// Records the lessons of the handoff and runs its commands in one commit. Returns `None` when an earlier run of
    /// the hook already applied the same handoff.
    async fn hand_over(&self, acts: impl IntoIterator<Item = TransactionStep>) -> Result<Option<Reply>, HookError> {
        self.hand_over_with(None, acts).await
    }

    /// Does the same as `hand_over`. `work` is the state of the completed work, which the engine compares with the
    /// reviewed state.
    async fn hand_over_with(
        &self,
        work: Option<String>,
        acts: impl IntoIterator<Item = TransactionStep>,
    ) -> Result<Option<Reply>, HookError> {
        let (service, task, attempt) = (self.office.desk.service(), self.due.task.id, self.due.task.attempt);
        let (mut all, mut best) = (Vec::new(), None);
        for lesson in lessons(self.contract) {
            match lesson {
                // This step is optional: a section with an invalid name, or one section too many, must not undo the
                // agent's work.
                Lesson::Section { name, payloads } => {
                    all.push(
                        TransactionStep::made(move |world| merged_section(world, &name, &payloads, task)).optional(),
                    );
                }
                Lesson::Note(_, note) => {
                    all.push(TransactionStep::of(Command::AddCheckpoint { task, attempt: Some(attempt), note: *note }));
                }
                Lesson::NextBest(name) => best = Some(name),
            }
        }
        all.extend(acts);
        if all.is_empty() {
            return Ok(None);
        }
        let caller = Caller { work, ..self.once("hands over") };
        let reply = match service.execute_all(caller, all).await? {
            TransactionResult::Before => None,
            TransactionResult::Now { reply, left_out } => {
                left_out.iter().for_each(|refusal| eprintln!("handover: not learned: {refusal}"));
                Some(reply)
            }
        };
        if let Some(name) = best {
            let once = |what: &str| self.once(what);
            let learner = Learner { service, task, attempt, once: &once, warn: &|_| () };
            learner.suggest(&name).await?;
        }
        Ok(reply)
    }

    fn acts(&self) -> Vec<Command> {
        translate::handoff(self.contract, TurnFence { task: self.due.task.id, attempt: self.due.task.attempt }).commands
    }

    async fn go_on(&self) -> Result<HookAnswer, HookError> {
        let evidence = self.contract.render().get("evidence_report").cloned();
        let note = note(Kind::Progress, self.contract.next_action(), evidence.as_ref());
        let go_on = Command::GoOn { report: self.due.report.clone(), note };
        let reply = self.hand_over([TransactionStep::of(go_on)]).await?;
        Ok(if let Some(Reply::Moved { .. }) = reply {
            HookAnswer::Note(format!("{} is blocked (ambiguity): IN_PROGRESS_LIMIT", self.due.task.id))
        } else {
            HookAnswer::Nothing
        })
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a handoff becomes few of the commands there are")]
    async fn block(&self) -> Result<HookAnswer, HookError> {
        let routed = |command: Command| match command {
            Command::Move { task, attempt, to: Target::Blocked { kind, reason, .. } } => {
                let role = match route::by_settings(&self.team.routes, kind) {
                    Some(To::Role(role)) => Some(role),
                    Some(To::Agent(_) | To::Person) | None => None,
                };
                Command::Move { task, attempt, to: Target::Blocked { kind, reason, role } }
            }
            other => other,
        };
        self.hand_over(self.acts().into_iter().map(routed).map(TransactionStep::of)).await?;
        Ok(HookAnswer::Note(format!("{} is blocked, as its agent says", self.due.task.id)))
    }

    async fn ask_approval(&self) -> Result<HookAnswer, HookError> {
        let (task, attempt, agent) = (self.due.task.id, self.due.task.attempt, self.due.agent.id);
        let folder = self.folder();
        let request: ApprovalRequest = asks::request(self.contract, &folder)
            .ok_or_else(|| HookError::Other("the handoff asks for nothing that could be approved".to_owned()))?;
        let seal = Seal { request: &request, task: Some(task), attempt: Some(attempt), agent: Some(agent) };
        let fingerprint = seal.fingerprint();
        let asked = AskApproval { source: Source::Handoff, waits: Some((task, attempt)), request, fingerprint };
        let reply = self.hand_over([TransactionStep::of(Command::AskApproval(Box::new(asked)))]).await?;
        Ok(HookAnswer::Note(match reply {
            Some(Reply::ApprovalAsked { approval, .. }) => {
                format!("{task} waits for {approval}: decide with `handover approval approve {approval}` or `reject`")
            }
            _ => format!("{task} waits for a person: `handover approval list`"),
        }))
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

    /// Completes the task, after verifying its output when the task asks for that.
    async fn complete(&self) -> Result<HookAnswer, HookError> {
        if !self.due.task.verify {
            let work = state_to_complete(self.ground(), self.due.task.id, None).await.map_err(unseen)?;
            self.hand_over_with(work, self.acts().into_iter().map(TransactionStep::of)).await?;
            return Ok(HookAnswer::Nothing);
        }
        let (task, attempt) = (self.due.task.id, Some(self.due.task.attempt));
        let Some(root) = self.office.place.root.clone() else {
            return Ok(HookAnswer::Note(format!(
                "{task} says that it is done, but there is no project to verify it in"
            )));
        };
        if let Err(untrusted) = trust::accepted(&root, crate::place::data_folder().as_deref()) {
            let detail = object([("said", self.contract.next_action().into())]);
            let note = note(Kind::Progress, "says that it is done", Some(&detail));
            self.hand_over([TransactionStep::of(Command::AddCheckpoint { task, attempt, note })]).await?;
            let text =
                format!("{task} says that it is done and has to be verified: {untrusted}; then `handover task verify`");
            return Ok(HookAnswer::Note(text));
        }
        self.hand_over([]).await?;
        self.verify(&root).await
    }

    async fn verify(&self, root: &Path) -> Result<HookAnswer, HookError> {
        let (task, agent) = (self.due.task.id, self.due.agent.id);
        let mark = format!("verify_{}", random::token()?);
        let folder = self.office.state.join("verify").join(&mark);
        let said = SaidReference::of_handoff(self.contract);
        let order = CompletionOrder {
            task,
            agent: Some(agent),
            output_ref: None,
            said: Some(&said),
            outcome: Some(&said.summary),
            worktree: &self.folder(),
            root,
            state: &self.office.state,
            folder: &folder,
            mark: &mark,
        };
        let judge = async |asked: EvaluatorQuestion| Box::pin(open::judge(self.office, task, &asked)).await;
        let evaluate = self.team.evaluator.is_some().then_some(judge);
        let done = finish(self.office.desk.service(), self.team, order, evaluate, &mut |_| ()).await;
        // The evidence has the output of the checks. This folder was only for the host processes of the checks.
        let _kept = std::fs::remove_dir_all(&folder);
        match done {
            Ok(Finished::Completed(_)) => Ok(HookAnswer::Nothing),
            Ok(Finished::Failed { is_blocked: true, .. }) => Ok(HookAnswer::Note(format!(
                "{task} is blocked (verification_fail): its output failed verification twice"
            ))),
            // The store counts the failed verifications. The second failure blocks the task, so the agent cannot fail
            // without end.
            Ok(Finished::Failed { complaints, .. }) => {
                Ok(HookAnswer::Block(crate::runner::brief::repair(agent, FAILED, complaints)))
            }
            Err(Unfinished::Error(error)) => Err(error.into()),
            Err(problem) => {
                Ok(HookAnswer::Note(format!("{task} says that it is done, but was not verified: {problem}")))
            }
        }
    }

    /// Answers a refusal of the engine. An agent that lost the task has nothing to fix and gets a note. For any other
    /// agent, the handoff is sent back with the problem.
    async fn refused(&self, refusal: &Refusal) -> Result<HookAnswer, HookError> {
        if matches!(
            refusal,
            Refusal::ClaimLost { .. } | Refusal::TaskNotFound { .. } | Refusal::WorkflowNotFound { .. }
        ) {
            return Ok(let_go(self.due, refusal));
        }
        let problems = vec![(refusal.code().to_owned(), format!("{refusal}; {}", refusal.suggestion()))];
        send_back(self.office, self.due, self.said(), REFUSED, problems).await
    }
}

fn unseen(problem: WorkProblem) -> HookError {
    match problem {
        WorkProblem::Error(error) => error.into(),
        WorkProblem::Git(problem) => HookError::Other(problem.to_string()),
    }
}
