//! Runs one turn of a worker (an agent that works on a task): records the turn, builds its texts, runs the program, and
//! closes the turn. Each turn is ended once, by the runner that started it or by a later runner.

pub mod brief;
pub(crate) mod close;
mod findings;
mod permission;
mod plain;
mod texts;

use std::io::ErrorKind;
use std::path::Path;

use agents::adapter::acp::{PermissionQuestion, Permit, covers};
use agents::adapter::{self, AdapterKind, HeardEvent, Permissions, ProgramHome, TurnOrder};
use agents::host;
use agents::program::{self, Follow, ProgramStart, Ran};
use base::project::budget::{self, Bounds};
use base::project::environment::{self, ProgramKind};
use base::project::settings::team;
use engine::approval::ApprovalRequest;
use engine::command::StartTurn;
use engine::id::TurnId;
use engine::task::TaskState;
use engine::turn::{Purpose, Spent, Turn, TurnEnd, TurnResult};
use engine::view::AttemptView as Facts;
use engine::{Command, Reply};
use tokio::sync::watch;
use wire::json::Value;

use crate::attempt::place::WorkPlace;
use crate::attempt::setup::SetupEnd;
use crate::attempt::shared::{FailedSetup, RetryNote, RunEvent};
use crate::attempt::step::TurnReason;
use crate::attempt::turn_end::unheard;
use crate::attempt::turn_files::TurnRecord;
use crate::attempt::{AttemptError, AttemptRun, Chain};
use crate::turn_proof;
use crate::verify::VerificationEvidence;
use close::TurnClose;
use permission::{is_approved, permission_request};

/// One turn of a worker, from its start to its recorded end.
pub(crate) struct WorkerTurn<'a> {
    pub(crate) run: &'a AttemptRun,
    pub(crate) facts: &'a Facts,
}

impl WorkerTurn<'_> {
    pub(crate) async fn start(&self, purpose: Purpose, because: TurnReason) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        run.shared.is_as_accepted(&run.worker.member).map_err(AttemptError::Other)?;
        let place = run.place(facts).await?;
        if let WorkPlace::Worktree { base_commit, .. } = &place {
            run.shared.begin_baseline(base_commit);
        }
        match run.prepare(facts, &place).await? {
            SetupEnd::Ready => {}
            // A failed setup does not stop the turn when the agent changed the files that the setup reads, because the
            // agent can repair them.
            SetupEnd::Failed { failure, is_by_task: true } => {
                let FailedSetup { command, how, .. } = failure.problem();
                run.warn(&format!("the setup command `{command}` {how} after this task changed its inputs"));
            }
            SetupEnd::Failed { failure, is_by_task: false } => return Err(AttemptError::Setup(failure.problem())),
        }
        // Outside of git, all attempts share one folder, so only one turn may run at a time.
        let _alone = match &place {
            WorkPlace::Folder(_) => Some(run.shared.alone.lock().await),
            WorkPlace::Worktree { .. } => None,
        };
        self.begin().await?;
        if let TurnReason::Approved(Some((approval, fingerprint))) = &because {
            let consume = Command::ConsumeApproval { approval: *approval, fingerprint: fingerprint.clone() };
            run.execute(consume).await?;
        }
        if because == TurnReason::Reviewed {
            findings::send(run, facts).await;
        }
        let start = StartTurn {
            task: run.task,
            attempt: run.attempt,
            agent: None,
            purpose,
            adapter: run.worker.member.settings.adapter.name().to_owned(),
            runner: run.shared.name.clone(),
        };
        let reply = run.execute(Command::StartTurn(start)).await?;
        let Reply::TurnStarted { turn, .. } = reply else { return Err(base::Error::unexpected(&reply).into()) };
        run.tell(facts, RunEvent::Started { turn, purpose, retry: retry_note(facts, run, &because) });
        let started = run.now();
        let ran = match self.program_start(turn, &place, &because).await {
            Ok(start) => self.run_program(turn, &start).await,
            Err(trouble) => Err(trouble),
        };
        match ran {
            Ok((ran, refused)) => TurnClose { run, turn, place: &place }.close(ran, refused).await,
            // The program could not be run. The turn is recorded as started already, so it must also be recorded as
            // ended. The recorded end has the reason of the failure.
            Err(trouble) => {
                let ms = u64::try_from(run.now().0 - started.0).unwrap_or(0);
                let ended = unheard(TurnEnd::SpawnFailed, &trouble.to_string(), ms, run.now());
                Ok(run.end(facts, turn, ended).await?)
            }
        }
    }

    /// Sets the status of the task to "in progress" before its turn starts.
    async fn begin(&self) -> Result<(), AttemptError> {
        if !matches!(self.facts.task.state, TaskState::InProgress { .. }) {
            let to = engine::command::Target::InProgress { answer: None };
            let (task, attempt) = (self.run.task, Some(self.run.attempt));
            self.run.execute(Command::Move { task, attempt, to }).await?;
        }
        Ok(())
    }

    async fn program_start(
        &self,
        turn: TurnId,
        place: &WorkPlace,
        because: &TurnReason,
    ) -> Result<ProgramStart, AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let settings = &run.worker.member.settings;
        let last_end = facts.turns.iter().rev().find_map(Turn::ended).map(|ended| ended.end);
        let remembers = settings.adapter != AdapterKind::Exec && last_end != Some(TurnEnd::ConversationLost);
        let resume = run.conversation_in(facts, turn, place)?.filter(|_| remembers);
        let (told, shown) = run.told(facts, turn, because, resume.is_some()).await?;
        let files = run.files(turn);
        let record = TurnRecord { input: told.input.as_ref().map(Value::to_string), shown };
        files.write_record(&run.shared.attempt_folder(run.task, run.attempt), &record)?;
        let proof = turn_proof::make(&files.folder)?;
        let (bounds, bounds_workflow) = run.bounds(facts);
        let limits = &run.shared.settings.limits;
        let order = TurnOrder {
            kind: settings.adapter,
            command: run.worker.member.command(),
            args: settings.args.clone(),
            model: settings.model.clone(),
            message: match (settings.adapter, settings.output()) {
                (AdapterKind::Exec, team::OutputSettings::Plain) => told.plain,
                (AdapterKind::Exec, team::OutputSettings::Handoff | team::OutputSettings::Envelope) => told.envelope,
                (_, _) => told.message,
            },
            is_plain: settings.output() == team::OutputSettings::Plain,
            system: told.system,
            input: told.input.map(|input| input.to_string()),
            worktree: place.path().to_owned(),
            folder: files.folder,
            server: run.server(turn, &proof)?,
            resume,
            permissions: settings.permissions,
            home: match settings.home {
                team::HomeSettings::User => ProgramHome::User,
                team::HomeSettings::Own => ProgramHome::Own(run.shared.state.join("homes").join(&settings.slug)),
            },
            usd_left: usd_left(bounds, bounds_workflow, facts),
        };
        Ok(ProgramStart {
            binary: host::own_binary()?,
            turn: turn.to_string(),
            order,
            environment: turn_proof::beside(&settings.env, proof),
            inherit: environment::inherited_here(ProgramKind::Agent(settings), &run.shared.settings.environment),
            output_bytes_max: limits.output_bytes,
            seconds_max: bounds
                .turn_seconds(facts.spent, limits.turn_seconds)
                .min(bounds_workflow.turn_seconds(facts.spent_workflow, limits.turn_seconds))
                .max(1),
        })
    }

    /// Runs the program of the turn. Also returns the first tool call that the program was not permitted to make.
    async fn run_program(
        &self,
        turn: TurnId,
        start: &ProgramStart,
    ) -> Result<(Ran, Option<ApprovalRequest>), AttemptError> {
        let (bounds, bounds_workflow) = self.run.bounds(self.facts);
        let (over, exceeded) = watch::channel(None);
        let mut follower = TurnFollower {
            attempt: self.run,
            facts: self.facts,
            turn,
            bounds,
            bounds_workflow,
            // A new conversation counts its cost from zero.
            earlier: if start.order.resume.is_some() { earlier(self.facts) } else { Spent::default() },
            permissions: self.run.worker.member.settings.permissions,
            worktree: &start.order.worktree,
            over,
            refused: None,
        };
        let ran = program::run(start, &mut follower, self.run.cut(exceeded)).await?;
        let refused = follower.refused.map(|asked| permission_request(&start.order.worktree, &asked));
        Ok((ran, refused))
    }

    /// Recovers a turn whose runner is gone. If the turn's program still runs, the program is ended. The output that
    /// the program wrote is judged.
    pub(crate) async fn recover(&self, turn: TurnId) -> Result<(), AttemptError> {
        let (run, facts) = (self.run, self.facts);
        let Some(row) = facts.turns.iter().find(|row| row.id == turn) else { return Ok(()) };
        let (folder, kind) = (run.files(turn).folder, AdapterKind::named(&row.adapter).unwrap_or(AdapterKind::Exec));
        let recovered = tokio::task::spawn_blocking(move || program::recover(&folder, kind)).await;
        let recovered = recovered.map_err(|error| AttemptError::Other(error.to_string()))?;
        match recovered {
            // Judges the output only for a turn of the worker. An evaluation or a review is run again instead.
            Ok(ran) if !row.purpose.is_a_look() => {
                let place = run.place(facts).await?;
                TurnClose { run, turn, place: &place }.close(ran, None).await
            }
            Ok(ran) => {
                let ended = run.ended(facts, turn, &ran, (None, None));
                Ok(run.end(facts, turn, TurnResult { end: TurnEnd::Interrupted, ..ended }).await?)
            }
            // `NotFound` means that the start of the turn was recorded, but its runner was gone before the program
            // started.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let reason = "the runner ended before it started the agent's program";
                Ok(run.end(facts, turn, unheard(TurnEnd::Interrupted, reason, 0, run.now())).await?)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns a note that tells the person why another turn starts when the agent's last work was not good enough. Returns
/// `None` for any other turn.
fn retry_note(facts: &Facts, run: &AttemptRun, because: &TurnReason) -> Option<RetryNote> {
    let limits = &run.shared.settings.limits;
    match because {
        TurnReason::Failed { evidence } => {
            let (attempt, of) = (run.attempt, engine::limits::VERIFICATION_FAILURES_MAX);
            let rows = facts.verifications.iter().filter(|row| row.attempt == attempt && !row.has_passed());
            let number = u32::try_from(rows.count()).unwrap_or(u32::MAX).saturating_add(1);
            Some(RetryNote { with: failed_with(evidence), number, of })
        }
        TurnReason::TipFailed { evidence } => Some(RetryNote { with: failed_with(evidence), number: 2, of: 2 }),
        TurnReason::Conflict { .. } => {
            Some(RetryNote { with: "the conflicts with finished work".to_owned(), number: 2, of: 2 })
        }
        TurnReason::BadOutput(_) => {
            let repairs = Chain::of(&facts.turns, run.attempt).repairs;
            let with = "the problems of its output".to_owned();
            Some(RetryNote { with, number: repairs.saturating_add(2), of: limits.repairs.saturating_add(1) })
        }
        TurnReason::Begins
        | TurnReason::GoesOn
        | TurnReason::Answered(_)
        | TurnReason::Approved(_)
        | TurnReason::Interrupted
        | TurnReason::Reviewed
        | TurnReason::SentBack { .. } => None,
    }
}

/// Returns a name for the text that an agent gets after its work failed: the output of the failed checks, or the
/// problems that were found.
fn failed_with(evidence: &str) -> String {
    let failed = VerificationEvidence::parse(evidence).map(|evidence| evidence.failed_commands()).unwrap_or_default();
    if failed.is_empty() {
        "the problems that were found".to_owned()
    } else {
        format!("the output of {}", failed.join(" and "))
    }
}

/// Returns the cost of earlier turns of the same conversation. Some programs report the total of a conversation, from
/// which this cost is subtracted.
fn earlier(facts: &Facts) -> Spent {
    let last = facts.turns.iter().rev().find_map(|turn| turn.ended()?.conversation.clone());
    let same = |ended: &&TurnResult| ended.conversation.is_some() && ended.conversation == last;
    facts.turns.iter().filter_map(Turn::ended).filter(same).fold(Spent::default(), |sum, ended| sum.and(ended.spent))
}

fn usd_left(bounds: Bounds, bounds_workflow: Bounds, facts: &Facts) -> Option<f64> {
    match (bounds.usd_left(facts.spent), bounds_workflow.usd_left(facts.spent_workflow)) {
        (Some(task), Some(workflow)) => Some(task.min(workflow)),
        (task, workflow) => task.or(workflow),
    }
}

/// Follows the events of a program while it runs. Stops the program when the cost reaches a limit.
struct TurnFollower<'a> {
    attempt: &'a AttemptRun,
    facts: &'a Facts,
    turn: TurnId,
    bounds: Bounds,
    bounds_workflow: Bounds,
    earlier: Spent,
    permissions: Permissions,
    worktree: &'a Path,
    over: watch::Sender<Option<String>>,
    /// The first tool call that the program was not permitted to make. `None` when no call was refused.
    refused: Option<PermissionQuestion>,
}

impl Follow for TurnFollower<'_> {
    fn heard(&mut self, heard: HeardEvent) {
        let turn = self.turn;
        match heard {
            HeardEvent::ToolCall { name, call } => {
                let title = adapter::tool_title(&name, &call, None, Some(self.worktree));
                self.attempt.tell(self.facts, RunEvent::Tool { turn, name, title });
            }
            HeardEvent::Text(text) => self.attempt.tell(self.facts, RunEvent::Text { turn, text }),
            HeardEvent::Conversation(_) | HeardEvent::ToolResult(_) | HeardEvent::Progress => {}
        }
    }

    fn spent(
        &mut self,
        usd: Option<adapter::SpentAmount<f64>>,
        tokens: Option<adapter::SpentAmount<adapter::TokenUse>>,
    ) {
        let now = budget::amounts(usd, tokens, self.earlier);
        let (usd_micros, tokens) = (now.usd_micros, now.tokens);
        self.attempt.tell(self.facts, RunEvent::Spent { turn: self.turn, usd_micros, tokens });
        let over = self.bounds.over(self.facts.spent.and(now));
        let over = over.or_else(|| self.bounds_workflow.over(self.facts.spent_workflow.and(now)));
        if let Some(over) = over {
            let _nobody_waits = self.over.send(Some(over.to_string()));
        }
    }

    async fn permit(&mut self, asked: PermissionQuestion) -> Permit {
        if covers(self.permissions, self.worktree, &asked) || is_approved(self.attempt, self.worktree, &asked).await {
            return Permit::AllowOnce;
        }
        let text = format!("the agent was not allowed to do this: {}", asked.title);
        self.attempt.tell(self.facts, RunEvent::Warning { text });
        self.refused.get_or_insert(asked);
        Permit::RejectOnce
    }
}
