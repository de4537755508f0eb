//! Verifies a finished output against its contract. Handover runs its own checks. When the brief has a criterion to
//! evaluate, another agent, the evaluator, judges the output, too.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use engine::Command;
use engine::Reply;
use engine::command::StartTurn;
use engine::id::TurnId;
use engine::task::BlockKind;
use engine::turn::{Purpose, TurnEnd};
use engine::verification::Verdict;
use engine::view::AttemptView as Facts;
use tokio::sync::watch;
use wire::json::Value;

use super::attempt::{AttemptError, AttemptRun};
use super::brief;
use super::finish::FinishedOutput;
use super::place::WorkPlace;
use super::shop::{RunnerAgent, What};
use super::verify::{
    self, ChangedCheck, CheckAnswer, CheckWait, EvaluatorQuestion, Judgement, VerificationEvidence,
    VerificationProgress, Verified, VerifiedContract,
};
use crate::settings::team;
use crate::task_extra::TaskExtra;
use crate::turn_proof;
use agents::adapter::acp::{PermissionQuestion as Wanted, Permit};
use agents::adapter::{self, AdapterKind, HeardEvent, Permissions, ProgramHome, TurnOrder};
use agents::program::{self, Follow, ProgramStart, Ran};

/// The tries of one evaluation. An invalid first answer is repaired once. If the repair is invalid, too, the evaluation
/// starts once more from the beginning.
#[derive(Debug, Clone, Copy)]
enum EvaluationTry {
    First,
    Repair,
    Anew,
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct VerificationFound {
    pub(super) mechanical: Verdict,
    pub(super) semantic: Verdict,
    pub(super) output_ref: Option<String>,
    pub(super) evidence: VerificationEvidence,
}

impl VerificationFound {
    pub(super) fn has_passed(&self) -> bool {
        self.mechanical == Verdict::Pass && self.semantic != Verdict::Fail
    }
}

impl AttemptRun {
    /// Verifies the output. Returns `None` when there is no result, because the task was blocked, waits for a person,
    /// or the runner must stop.
    pub(super) async fn verify(
        &self,
        facts: &Facts,
        done: &FinishedOutput,
    ) -> Result<Option<VerificationFound>, AttemptError> {
        let Some(brief) = brief::of(&facts.task, &facts.detail)? else {
            // A task without a brief has no contract, so every valid output passes.
            let evidence = VerificationEvidence { commit: done.head.clone(), ..VerificationEvidence::default() };
            let (mechanical, semantic) = (Verdict::Pass, Verdict::Skipped);
            return Ok(Some(VerificationFound { mechanical, semantic, output_ref: None, evidence }));
        };
        let contract = verify::resolve(&self.shop.settings, &brief.output_contract)
            .map_err(|problem| AttemptError::Other(problem.to_string()))?;
        let Verified { output_ref, text, mut evidence } = self.mechanical(facts, done, &contract).await?;
        if evidence.waits_for_a_person() && !self.is_decided(facts, done, &contract, &mut evidence).await? {
            return Ok(None);
        }
        let mechanical = if evidence.has_passed() { Verdict::Pass } else { Verdict::Fail };
        let semantic = match &contract.evaluate {
            Some(evaluate) if mechanical == Verdict::Pass => {
                let author = TaskExtra::of(&facts.detail).planned_by;
                let criterion = verify::Criterion { text: evaluate, author: author.as_deref() };
                let asked = verify::ask(criterion, output_ref.as_deref(), text.as_deref().unwrap_or_default());
                let Some(judged) = self.semantic(facts, &asked).await? else { return Ok(None) };
                match judged {
                    Ok(Judgement::Pass(said)) => {
                        evidence.evaluation = Some(said);
                        Verdict::Pass
                    }
                    Ok(Judgement::Fail(said)) => {
                        evidence.evaluation = Some(said);
                        Verdict::Fail
                    }
                    Ok(Judgement::Unusable { codes }) => {
                        let codes: Vec<String> = codes.into_iter().map(|(code, _)| code).collect();
                        let reason = format!("the evaluator gave no usable answer: {}", codes.join(", "));
                        self.block(facts, BlockKind::ToolFailure, reason).await?;
                        return Ok(None);
                    }
                    Err(reason) => {
                        self.block(facts, BlockKind::ToolFailure, reason).await?;
                        return Ok(None);
                    }
                }
            }
            Some(_) | None => Verdict::Skipped,
        };
        Ok(Some(VerificationFound { mechanical, semantic, output_ref, evidence }))
    }

    /// Tells whether a person decided on the check scripts that the task changed. Without a decision, asks the person
    /// for one and pauses the task.
    async fn is_decided(
        &self,
        facts: &Facts,
        done: &FinishedOutput,
        contract: &VerifiedContract,
        evidence: &mut VerificationEvidence,
    ) -> Result<bool, AttemptError> {
        let Some(scripts) = &contract.scripts else { return Ok(true) };
        let check = ChangedCheck {
            service: &self.shop.service,
            worktree: done.place.path(),
            record: &scripts.record,
            task: self.task,
            attempt: self.attempt,
            agent: self.seat.agent,
            waits: CheckWait::Pauses,
        };
        match check.decide(self.shop.caller(self.seat.agent), evidence).await? {
            CheckAnswer::Counts | CheckAnswer::Rejected => Ok(true),
            CheckAnswer::Asked(approval) => {
                let operation = "count a check that was changed by this task".to_owned();
                self.tell(facts, What::WantsApproval { approval: approval.to_string(), operation });
                Ok(false)
            }
        }
    }

    async fn mechanical(
        &self,
        facts: &Facts,
        done: &FinishedOutput,
        contract: &VerifiedContract,
    ) -> Result<Verified, AttemptError> {
        let base = match &done.place {
            WorkPlace::Worktree { base_commit, .. } => Some(base_commit.as_str()),
            WorkPlace::Folder(_) => None,
        };
        let tree = match &done.place {
            WorkPlace::Worktree { .. } => verify::tree(&self.shop.ground.git, done.place.path(), base).await?,
            WorkPlace::Folder(_) => verify::CheckedTree::default(),
        };
        let text = self.answer(done.turn)?;
        let known = verify::TurnFacts {
            output_ref: None,
            said: self.read(done.turn, &text, verify::SaidReference::of),
            artifacts: done.claimed.files.clone(),
            changed: tree.changed,
            has_remote: tree.has_remote,
            commit: done.head.clone().filter(|head| base != Some(head)),
        };
        let (binary, turn) = (agents::host::own_binary()?, done.turn.to_string());
        let folder = self.shop.attempt_folder(self.task, self.attempt);
        let environment = BTreeMap::new();
        let place = verify::CheckPlace {
            worktree: done.place.path(),
            binary: &binary,
            folder: &folder,
            turn: &turn,
            environment: &environment,
            output_bytes_max: self.shop.settings.limits.output_bytes,
            commit: done.head.as_deref(),
        };
        let mut progress = |progress: VerificationProgress<'_>| {
            if let VerificationProgress::Check { command, .. } = progress {
                self.tell(facts, What::Checking { command: command.join(" ") });
            }
        };
        let verified = verify::verify(contract, &known, place, &mut progress).await;
        verified.map_err(|fault| AttemptError::Other(fault.to_string()))
    }

    /// Asks the evaluator, which must not be the worker. An unusable answer is sent back for repair once. After that,
    /// the evaluation starts once more from the beginning. Returns `None` when the runner must stop or the task is
    /// lost.
    pub(super) async fn semantic(
        &self,
        facts: &Facts,
        asked: &EvaluatorQuestion,
    ) -> Result<Option<Result<Judgement, String>>, AttemptError> {
        let named = self.shop.settings.evaluator.as_ref().map(|evaluator| evaluator.agent.as_str());
        let Some(judge) = named.and_then(|slug| self.shop.seats.get(slug)).cloned() else {
            let reason = "nobody is there to evaluate; name an agent as [evaluator] in .handover/config.toml";
            return Ok(Some(Err(reason.to_owned())));
        };
        if judge.agent == self.seat.agent {
            return Ok(Some(Err(format!("{} may not evaluate its own work", judge.slug))));
        }
        let Ok(_room) = Arc::clone(&judge.room).acquire_owned().await else {
            return Ok(Some(Err("the runner is stopping".to_owned())));
        };
        let mut codes = Vec::new();
        let mut resume = None;
        for attempt in [EvaluationTry::First, EvaluationTry::Repair, EvaluationTry::Anew] {
            let again = match attempt {
                EvaluationTry::First | EvaluationTry::Anew => EvaluationRetry { codes: Vec::new(), resume: None },
                EvaluationTry::Repair => EvaluationRetry { codes: std::mem::take(&mut codes), resume: resume.take() },
            };
            let ran = self.evaluation(facts, &judge, asked, again).await?;
            resume.clone_from(&ran.said.conversation);
            if matches!(ran.end, TurnEnd::Cancelled | TurnEnd::ClaimLost) {
                return Ok(None);
            }
            let judged = if ran.end == TurnEnd::Finished {
                verify::judge(&ran.said.text)
            } else {
                Judgement::Unusable { codes: vec![(ran.end.to_string(), ran.reason.unwrap_or_default())] }
            };
            match judged {
                Judgement::Unusable { codes: found } => codes = found,
                usable @ (Judgement::Pass(_) | Judgement::Fail(_)) => return Ok(Some(Ok(usable))),
            }
        }
        Ok(Some(Ok(Judgement::Unusable { codes })))
    }

    /// Runs one turn of the evaluator (the agent that judges the output).
    async fn evaluation(
        &self,
        facts: &Facts,
        judge: &RunnerAgent,
        asked: &EvaluatorQuestion,
        again: EvaluationRetry,
    ) -> Result<Ran, AttemptError> {
        let mut text = asked.message.clone();
        for (code, message) in &again.codes {
            text.push_str(&format!("\nYour last answer could not be used: {code}: {message}\n"));
        }
        let is_exec = judge.member.settings.adapter == AdapterKind::Exec;
        let told = EvaluationTexts {
            purpose: Purpose::Evaluation,
            message: if is_exec { envelope(asked, facts, &again.codes)? } else { text },
            system: asked.system.clone(),
            resume: again.resume.filter(|_| !is_exec),
        };
        Ok(self.look(facts, judge, told).await?.0)
    }

    /// Runs one turn of an evaluator or a reviewer. The turn runs in a separate folder and may only read. Returns the
    /// result of the program and the folder of its output.
    pub(super) async fn look(
        &self,
        facts: &Facts,
        judge: &RunnerAgent,
        look: EvaluationTexts,
    ) -> Result<(Ran, PathBuf), AttemptError> {
        let (settings, purpose) = (&judge.member.settings, look.purpose);
        self.shop.is_as_accepted(&judge.member).map_err(AttemptError::Other)?;
        let start = StartTurn {
            task: self.task,
            attempt: self.attempt,
            agent: Some(judge.agent),
            purpose,
            adapter: settings.adapter.name().to_owned(),
            runner: self.shop.name.clone(),
        };
        let reply = self.execute(Command::StartTurn(start)).await?;
        let Reply::TurnStarted { turn, .. } = reply else { return Err(crate::Error::unexpected(&reply).into()) };
        self.tell(facts, What::Started { turn, purpose });
        let folder = self.shop.turn_folder(turn);
        // All turns of this agent in the attempt use the same folder. The program opencode resumes a conversation only
        // in the folder where the conversation began, and hangs in any other folder.
        let room = self.shop.attempt_folder(self.task, self.attempt).join(format!("room-{}", settings.slug));
        std::fs::create_dir_all(&room)?;
        std::fs::create_dir_all(&folder)?;
        let proof = turn_proof::make(&folder)?;
        let order = TurnOrder {
            kind: settings.adapter,
            command: judge.member.command(),
            args: settings.args.clone(),
            model: settings.model.clone(),
            message: look.message,
            system: look.system,
            input: None,
            worktree: room,
            folder: folder.clone(),
            server: self.server(turn, &proof)?,
            resume: look.resume,
            permissions: Permissions::Read,
            home: match settings.home {
                team::HomeSettings::User => ProgramHome::User,
                team::HomeSettings::Own => ProgramHome::Own(self.shop.state.join("homes").join(&settings.slug)),
            },
            usd_left: None,
        };
        let limits = &self.shop.settings.limits;
        let start = ProgramStart {
            binary: agents::host::own_binary()?,
            turn: turn.to_string(),
            order,
            environment: turn_proof::beside(&settings.env, proof),
            output_bytes_max: limits.output_bytes,
            seconds_max: limits.turn_seconds,
        };
        // This channel would report an exceeded limit. It never gets a value, so no cost limit stops an evaluator or a
        // reviewer. The cost of its turn still counts against the task's limits for later turns.
        let (_never, within) = watch::channel(None);
        let ran = program::run(&start, &mut SilentFollower { attempt: self, facts, turn }, self.cut(within)).await;
        let ran = match ran {
            Ok(ran) => ran,
            Err(error) => {
                let ended = super::turn::unheard(TurnEnd::SpawnFailed, &error.to_string(), 0, self.now());
                self.end(facts, turn, ended).await?;
                return Err(error.into());
            }
        };
        let stream = super::turn::keep(&self.shop.state, &folder).await?;
        self.end(facts, turn, self.ended(facts, turn, &ran, (stream, None))).await?;
        Ok((ran, folder))
    }
}

/// The texts for a turn of an evaluator or a reviewer.
#[derive(Debug)]
pub(super) struct EvaluationTexts {
    pub(super) purpose: Purpose,
    pub(super) system: String,
    pub(super) message: String,
    pub(super) resume: Option<String>,
}

/// The data for a retry: the problems of the evaluator's last answer, and the conversation in which it gave that
/// answer.
struct EvaluationRetry {
    codes: Vec<(String, String)>,
    resume: Option<String>,
}

/// Returns the question as an envelope, for a program that has no conversation.
fn envelope(asked: &EvaluatorQuestion, facts: &Facts, codes: &[(String, String)]) -> Result<String, AttemptError> {
    let codes = codes.iter().map(|(code, _)| Value::from(code.as_str())).collect();
    let params = vec![
        ("task_id".to_owned(), facts.task.id.to_string().into()),
        ("evaluate".to_owned(), asked.criterion.as_str().into()),
        ("output_ref".to_owned(), asked.output_ref.clone().into()),
        ("output".to_owned(), asked.output.as_str().into()),
        ("codes".to_owned(), Value::List(codes)),
    ];
    let envelope = wire::translate::input(wire::translate::TaskInput {
        feature: None,
        workflow: &facts.workflow.name,
        iteration: facts.task.attempt.max(1),
        action: "evaluate",
        params,
        paths: vec![("root".to_owned(), ".".to_owned())],
        notes: Vec::new(),
    });
    let envelope = envelope.ok_or_else(|| AttemptError::Other("the evaluator cannot be asked".to_owned()))?;
    Ok(wire::shape::Shape::render(&envelope).to_string())
}

/// Follows a turn of an evaluator or a reviewer. Rejects every call that needs a permission, because such a turn may
/// only read.
struct SilentFollower<'a> {
    attempt: &'a AttemptRun,
    facts: &'a Facts,
    turn: TurnId,
}

impl Follow for SilentFollower<'_> {
    fn heard(&mut self, heard: HeardEvent) {
        if let HeardEvent::ToolCall { name } = heard {
            self.attempt.tell(self.facts, What::Tool { turn: self.turn, name });
        }
    }

    fn spent(&mut self, _: Option<adapter::SpentAmount<f64>>, _: Option<adapter::SpentAmount<u64>>) {}

    async fn permit(&mut self, _: Wanted) -> Permit {
        Permit::RejectOnce
    }
}
