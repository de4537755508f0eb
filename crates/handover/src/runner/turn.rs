//! Runs one turn of an attempt: records the turn, builds its texts, runs the program, judges the answer, and ends the
//! turn. Each turn is ended once, by the runner that started it or by a later runner.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use engine::command::StartTurn;
use engine::id::{MessageId, TurnId};
use engine::task::TaskState;
use engine::turn::{Purpose, Spent, StoredObject, Turn, TurnEnd, TurnResult};
use engine::view::AttemptView as Facts;
use engine::{Actor, Command, Json, Reply};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use wire::json::Value;

use super::attempt::{AttemptError, AttemptRun};
use super::brief::BriefTexts;
use super::chain::Chain;
use super::next::{OutputVerdict, Says};
use super::place::WorkPlace;
use super::shop::{What, Wish};
use super::step::Because;
use crate::budget::{self, Bounds};
use crate::objects;
use crate::settings::team;
use crate::turn_proof;
use agents::adapter::acp::{PermissionQuestion, Permit, covers};
use agents::adapter::{self, AdapterKind, HeardEvent, McpServerLaunch, Permissions, ProgramHome, TurnOrder, TurnSaid};
use agents::host;
use agents::program::{self, CutReason, Follow, ProgramStart, Ran};

/// The data of a turn's prompt that is needed later to judge the answer. It is kept in the turn's folder.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct TurnRecord {
    /// The INPUT document of the handoff, as JSON. `None` for agents whose output is an envelope.
    input: Option<String>,
    /// The messages that the prompt showed. They are marked as read when the turn ends with a valid output.
    pub(super) shown: Vec<MessageId>,
}

/// The data that is stored with a turn when it ends: everything that the program wrote, and the verdict on its output.
pub(super) type KeptTurn = (Option<StoredObject>, Option<OutputVerdict>);

const RECORD: &str = "told.json";
/// The file with the agent's last text, which contains its output.
const ANSWER: &str = "answer.txt";
/// The time between two checks that the agent still holds the task.
const LOOK: Duration = Duration::from_secs(2);

impl AttemptRun {
    pub(super) async fn turn(&self, facts: &Facts, purpose: Purpose, because: Because) -> Result<(), AttemptError> {
        self.shop.is_as_accepted(&self.seat.member).map_err(AttemptError::Other)?;
        let place = self.place(facts).await?;
        // Outside of git, all attempts share one folder, so only one turn may run at a time.
        let _alone = match &place {
            WorkPlace::Folder(_) => Some(self.shop.alone.lock().await),
            WorkPlace::Worktree { .. } => None,
        };
        self.begin(facts).await?;
        if let Because::Approved(Some((approval, fingerprint))) = &because {
            let consume = Command::ConsumeApproval { approval: *approval, fingerprint: fingerprint.clone() };
            self.execute(consume).await?;
        }
        if because == Because::Reviewed {
            self.send_findings(facts).await;
        }
        let start = StartTurn {
            task: self.task,
            attempt: self.attempt,
            agent: None,
            purpose,
            adapter: self.seat.member.settings.adapter.name().to_owned(),
            runner: self.shop.name.clone(),
        };
        let reply = self.execute(Command::StartTurn(start)).await?;
        let Reply::TurnStarted { turn, .. } = reply else { return Err(crate::Error::unexpected(&reply).into()) };
        self.tell(facts, What::Started { turn, purpose });
        let started = self.now();
        let ran = match self.start(facts, turn, &place, &because).await {
            Ok(start) => self.run(facts, turn, &start).await,
            Err(trouble) => Err(trouble),
        };
        match ran {
            Ok((ran, refused)) => {
                let says = self.close(facts, turn, &place, ran).await?;
                match refused {
                    // When the output says "done", the agent no longer needs the permission that its program was
                    // refused.
                    Some(asked) if says != Some(Says::Done) => self.ask_permission(facts, &place, &asked).await,
                    Some(_) | None => Ok(()),
                }
            }
            // The turn is recorded as started, so it must be recorded as ended, too. The recorded end has the reason of
            // the failure.
            Err(trouble) => {
                let ms = u64::try_from(self.now().0 - started.0).unwrap_or(0);
                self.end(facts, turn, unheard(TurnEnd::SpawnFailed, &trouble.to_string(), ms, self.now())).await?;
                Ok(())
            }
        }
    }

    /// Sets the status of the task to in progress.
    async fn begin(&self, facts: &Facts) -> Result<(), AttemptError> {
        if !matches!(facts.task.state, TaskState::InProgress { .. }) {
            let to = engine::command::Target::InProgress { answer: None };
            self.execute(Command::Move { task: self.task, attempt: Some(self.attempt), to }).await?;
        }
        Ok(())
    }

    async fn start(
        &self,
        facts: &Facts,
        turn: TurnId,
        place: &WorkPlace,
        because: &Because,
    ) -> Result<ProgramStart, AttemptError> {
        let settings = &self.seat.member.settings;
        let chain = Chain::of(&facts.turns, self.attempt);
        let forgotten = facts.turns.iter().rev().find_map(Turn::ended).is_some_and(|ended| {
            ended.end == TurnEnd::Failed && ended.reason.as_deref() == Some(program::NO_CONVERSATION)
        });
        let resume = chain.conversation.filter(|_| settings.adapter != AdapterKind::Exec && !forgotten);
        let (told, shown) = self.told(facts, turn, because, resume.is_some()).await?;
        let folder = self.shop.turn_folder(turn);
        let record = TurnRecord { input: told.input.as_ref().map(Value::to_string), shown };
        let parent = self.shop.attempt_folder(self.task, self.attempt);
        write(&folder, &parent, &record)?;
        let proof = turn_proof::make(&folder)?;
        let (bounds, bounds_workflow) = self.bounds(facts);
        let limits = &self.shop.settings.limits;
        let order = TurnOrder {
            kind: settings.adapter,
            command: self.seat.member.command(),
            args: settings.args.clone(),
            model: settings.model.clone(),
            message: if settings.adapter == AdapterKind::Exec { told.envelope.clone() } else { told.message.clone() },
            system: told.system,
            input: told.input.map(|input| input.to_string()),
            worktree: place.path().to_owned(),
            folder,
            server: self.server(turn, &proof)?,
            resume,
            permissions: settings.permissions,
            home: match settings.home {
                team::HomeSettings::User => ProgramHome::User,
                team::HomeSettings::Own => ProgramHome::Own(self.shop.state.join("homes").join(&settings.slug)),
            },
            usd_left: usd_left(bounds, bounds_workflow, facts),
        };
        Ok(ProgramStart {
            binary: host::own_binary()?,
            turn: turn.to_string(),
            order,
            environment: turn_proof::beside(&settings.env, proof),
            output_bytes_max: limits.output_bytes,
            seconds_max: bounds
                .turn_seconds(facts.spent, limits.turn_seconds)
                .min(bounds_workflow.turn_seconds(facts.spent_workflow, limits.turn_seconds))
                .max(1),
        })
    }

    /// Returns the command that starts Handover's MCP server for this agent and attempt. The store's address may
    /// contain a password, so it is passed in the environment, not as an argument.
    pub(super) fn server(&self, turn: TurnId, proof: &str) -> Result<McpServerLaunch, AttemptError> {
        let program = std::env::current_exe()?;
        let program =
            program.to_str().ok_or_else(|| AttemptError::Other("our own path is no text".to_owned()))?.to_owned();
        let environment = vec![
            (host::TURN.to_owned(), turn.to_string()),
            (turn_proof::PROOF.to_owned(), proof.to_owned()),
            ("HANDOVER_STORE".to_owned(), self.shop.store.clone()),
        ];
        Ok(McpServerLaunch { program, arguments: vec!["mcp".to_owned()], environment })
    }

    /// Runs the program. Also returns the first call for which the program was refused a permission.
    async fn run(
        &self,
        facts: &Facts,
        turn: TurnId,
        start: &ProgramStart,
    ) -> Result<(Ran, Option<PermissionQuestion>), AttemptError> {
        let (bounds, bounds_workflow) = self.bounds(facts);
        let (over, exceeded) = watch::channel(None);
        let mut ears = TurnFollower {
            attempt: self,
            facts,
            turn,
            bounds,
            bounds_workflow,
            earlier: earlier(facts),
            permissions: self.seat.member.settings.permissions,
            worktree: &start.order.worktree,
            over,
            refused: None,
        };
        let ran = program::run(start, &mut ears, self.cut(exceeded)).await?;
        Ok((ran, ears.refused))
    }

    /// Waits until the program must be stopped, and returns the reason.
    pub(super) async fn cut(&self, mut exceeded: watch::Receiver<Option<String>>) -> CutReason {
        let mut wish = self.shop.wish.clone();
        loop {
            // Checks the claim at an interval. If it checked at every change of the store, hundreds of running turns
            // would all read the store at each change.
            tokio::select! {
                _ = wish.wait_for(|wish| *wish == Wish::Stop) => return CutReason::Cancelled,
                Ok(over) = exceeded.wait_for(Option::is_some) => return CutReason::OverBudget(over.clone().unwrap_or_default()),
                () = tokio::time::sleep(LOOK) => {}
            }
            if !self.is_ours().await {
                return CutReason::ClaimLost;
            }
        }
    }

    /// Tells whether the agent still holds the task. Returns true when the store does not answer, because that alone is
    /// no reason to end the program.
    async fn is_ours(&self) -> bool {
        let (task, agent, attempt) = (self.task, self.seat.agent, self.attempt);
        let found = self.shop.service.view(move |world| {
            let task = world.task(task)?;
            let held = task.attempt == attempt && task.holder() == Some(agent);
            // The agent blocked the task itself during this turn. It may finish the turn.
            let own = matches!(&task.state, TaskState::Blocked(block) if block.by == Actor::Agent(agent));
            Ok((held || (own && task.attempt == attempt), task.attempt == attempt && task.holder().is_none()))
        });
        match found.await {
            // While this machine slept, the lease may have expired. Asks for the claim again before the program is
            // ended.
            Ok((false, true)) => self.regain().await,
            Ok((ours, _)) => ours,
            Err(crate::Error::Refused(_)) => false,
            Err(_) => true,
        }
    }

    /// Recovers a turn whose runner is gone. If its program still runs, the program is ended. The output that it wrote
    /// is judged.
    pub(super) async fn recover(&self, facts: &Facts, turn: TurnId) -> Result<(), AttemptError> {
        let Some(row) = facts.turns.iter().find(|row| row.id == turn) else { return Ok(()) };
        let (folder, kind) =
            (self.shop.turn_folder(turn), AdapterKind::named(&row.adapter).unwrap_or(AdapterKind::Exec));
        let recovered = tokio::task::spawn_blocking(move || program::recover(&folder, kind)).await;
        let recovered = recovered.map_err(|error| AttemptError::Other(error.to_string()))?;
        match recovered {
            // Judges the output only for a turn of the worker. An evaluation or a review is run again instead.
            Ok(ran) if !row.purpose.is_a_look() => {
                let place = self.place(facts).await?;
                self.close(facts, turn, &place, ran).await.map(|_| ())
            }
            Ok(ran) => {
                let ended = self.ended(facts, turn, &ran, (None, None));
                Ok(self.end(facts, turn, TurnResult { end: TurnEnd::Interrupted, ..ended }).await?)
            }
            // The turn was recorded, but the runner was gone before the program started.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let reason = "the runner was gone before the program started";
                Ok(self.end(facts, turn, unheard(TurnEnd::Interrupted, reason, 0, self.now())).await?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Judges the answer, applies its effects, and ends the turn. If the runner stops before the end is recorded, all
    /// of this can run again.
    async fn close(
        &self,
        facts: &Facts,
        turn: TurnId,
        place: &WorkPlace,
        ran: Ran,
    ) -> Result<Option<Says>, AttemptError> {
        let folder = self.shop.turn_folder(turn);
        let stream = keep(&self.shop.state, &folder).await?;
        let verdict = if ran.end == TurnEnd::Finished {
            std::fs::write(folder.join(ANSWER), &ran.said.text)?;
            Some(self.judge(facts, turn, place, &ran.said).await?)
        } else {
            None
        };
        let says = verdict.as_ref().and_then(|verdict| verdict.says);
        let ended = self.ended(facts, turn, &ran, (stream, verdict));
        self.end(facts, turn, ended).await?;
        Ok(says)
    }

    pub(super) fn ended(&self, facts: &Facts, turn: TurnId, ran: &Ran, (stream, verdict): KeptTurn) -> TurnResult {
        let at = self.now();
        let started = facts.turns.iter().find(|row| row.id == turn).map(|row| row.started);
        let ms = match ran.ended.started_at {
            0 => started.map_or(0, |started| at.0 - started.0),
            began => ran.ended.ended_at - began,
        };
        let verdict = verdict.and_then(|verdict| serde_json::to_string(&verdict).ok()).map(Json::from_stored);
        TurnResult {
            at,
            end: ran.end,
            reason: ran.reason.as_deref().map(super::attempt::cut),
            conversation: ran.said.conversation.clone(),
            spent: spent(facts, &ran.said, u64::try_from(ms).unwrap_or(0)),
            tool_calls: ran.said.tool_calls,
            stream,
            verdict,
        }
    }

    pub(super) async fn end(&self, facts: &Facts, turn: TurnId, ended: TurnResult) -> Result<(), crate::Error> {
        let verdict = ended.verdict.as_ref().map(|json| json.as_str().to_owned());
        let (end, reason, ms) = (ended.end, ended.reason.clone(), ended.spent.ms);
        self.execute(Command::EndTurn { turn, ended: Box::new(ended) }).await?;
        self.tell(facts, What::Ended { turn, end, reason, verdict, ms });
        Ok(())
    }

    /// Reads the record of a turn's prompt from the turn's folder. Returns an empty record when there is none.
    pub(super) fn record(&self, turn: TurnId) -> TurnRecord {
        let text = std::fs::read_to_string(self.shop.turn_folder(turn).join(RECORD)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Returns the agent's last text in a turn that ended.
    pub(super) fn answer(&self, turn: TurnId) -> Result<String, AttemptError> {
        Ok(std::fs::read_to_string(self.shop.turn_folder(turn).join(ANSWER))?)
    }
}

impl TurnRecord {
    pub(super) fn input(&self) -> Option<Value> {
        Some(wire::json::parse(self.input.as_ref()?).ok()?.to_value())
    }
}

/// Returns the result of a turn whose program gave no answer.
pub(super) fn unheard(end: TurnEnd, reason: &str, ms: u64, at: engine::Timestamp) -> TurnResult {
    TurnResult {
        at,
        end,
        reason: Some(super::attempt::cut(reason)),
        conversation: None,
        spent: Spent { usd_micros: None, tokens: None, ms, turns: 1 },
        tool_calls: 0,
        stream: None,
        verdict: None,
    }
}

fn write(folder: &Path, parent: &Path, record: &TurnRecord) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    for folder in [folder, parent] {
        std::fs::DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
    }
    std::fs::write(folder.join(RECORD), serde_json::to_vec(record)?)
}

/// Saves everything that the program wrote to standard output in the object store.
pub(super) async fn keep(state: &Path, folder: &Path) -> Result<Option<StoredObject>, AttemptError> {
    let (state, path) = (state.to_owned(), folder.join(host::STDOUT));
    let kept = tokio::task::spawn_blocking(move || match File::open(path) {
        Ok(file) => objects::put(&state, file).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    });
    Ok(kept.await.map_err(|error| AttemptError::Other(error.to_string()))??)
}

/// Returns the cost of earlier turns of the same conversation. Some programs report a running total, from which this
/// cost is subtracted.
fn earlier(facts: &Facts) -> Spent {
    let last = facts.turns.iter().rev().find_map(|turn| turn.ended()?.conversation.clone());
    let same = |ended: &&TurnResult| ended.conversation.is_some() && ended.conversation == last;
    facts.turns.iter().filter_map(Turn::ended).filter(same).fold(Spent::default(), |sum, ended| sum.and(ended.spent))
}

/// Returns the cost of this turn alone, without earlier turns of the same conversation.
pub(super) fn spent(facts: &Facts, said: &TurnSaid, ms: u64) -> Spent {
    let same = |ended: &&TurnResult| ended.conversation.is_some() && ended.conversation == said.conversation;
    let ended = facts.turns.iter().filter_map(Turn::ended).filter(same);
    let earlier = ended.fold(Spent::default(), |sum, ended| sum.and(ended.spent));
    let (usd_micros, tokens) = budget::amounts(said.usd, said.tokens, earlier);
    Spent { usd_micros, tokens, ms, turns: 1 }
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
    /// The first call for which the program was refused a permission.
    refused: Option<PermissionQuestion>,
}

impl Follow for TurnFollower<'_> {
    fn heard(&mut self, heard: HeardEvent) {
        let turn = self.turn;
        match heard {
            HeardEvent::ToolCall { name } => self.attempt.tell(self.facts, What::Tool { turn, name }),
            HeardEvent::Text(text) => self.attempt.tell(self.facts, What::Text { turn, text }),
            HeardEvent::Conversation(_) | HeardEvent::Progress => {}
        }
    }

    fn spent(&mut self, usd: Option<adapter::SpentAmount<f64>>, tokens: Option<adapter::SpentAmount<u64>>) {
        let (usd_micros, tokens) = budget::amounts(usd, tokens, self.earlier);
        self.attempt.tell(self.facts, What::Spent { turn: self.turn, usd_micros, tokens });
        let now = Spent { usd_micros, tokens, ms: 0, turns: 0 };
        let over = self.bounds.over(self.facts.spent.and(now));
        let over = over.or_else(|| self.bounds_workflow.over(self.facts.spent_workflow.and(now)));
        if let Some(over) = over {
            let _nobody_waits = self.over.send(Some(over.to_string()));
        }
    }

    async fn permit(&mut self, asked: PermissionQuestion) -> Permit {
        if covers(self.permissions, self.worktree, &asked) || self.attempt.is_approved(self.worktree, &asked).await {
            return Permit::AllowOnce;
        }
        let text = format!("it was not allowed to: {}", asked.title);
        self.attempt.tell(self.facts, What::Warning { text });
        self.refused.get_or_insert(asked);
        Permit::RejectOnce
    }
}

/// The texts of a turn, and the ids of the messages that the texts show.
pub(super) type ShownTexts = (BriefTexts, Vec<MessageId>);
