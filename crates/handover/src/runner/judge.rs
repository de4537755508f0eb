//! What an answer is, and what of it takes effect at once: its files, what it learned, what it has read. Everything here may
//! be done again after a stop and then changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use engine::checkpoint::Kind;
use engine::command::Note;
use engine::id::TurnId;
use engine::inbox::{Draft, Filter, MessageKind, Owner, Recipients};
use engine::task::Priority;
use engine::view::Attempt as Facts;
use engine::{Command, Json, Refusal};
use wire::envelope;
use wire::handoff::{Context, Contract};
use wire::json::{Value, object};
use wire::output::{Kind as OutputKind, Output, find};

use super::adapter::Said;
use super::artifacts::{self, Artifact, Operation};
use super::attempt::{Attempt, Trouble, cut};
use super::next::{Says, Verdict};
use super::place::Place;
use super::shop::What;
use crate::error::Error;
use crate::settings::team;

/// Paths that this attempt has made.
const MADE: &str = "made.json";
const JOURNAL: &str = "journal";

impl Attempt {
    /// Judges a text as the end of that turn.
    pub(super) fn read<T>(&self, turn: TurnId, text: &str, then: impl FnOnce(&Output<'_>) -> T) -> T {
        let input = self.record(turn).input();
        let alias = wire::handoff::alias(self.seat.agent);
        let context = Context { input: input.as_ref(), dispatch_agent_id: Some(&alias) };
        then(&find(text, &context))
    }

    /// What is wrong with the output of a turn, with explanations.
    pub(super) fn explained(&self, turn: TurnId) -> Vec<(String, String)> {
        let Ok(text) = self.answer(turn) else { return Vec::new() };
        self.read(turn, &text, |output| output.problems())
    }

    /// The verdict on a turn that finished. A valid output takes effect before it is given.
    pub(super) async fn judge(
        &self,
        facts: &Facts,
        turn: TurnId,
        place: &Place,
        said: &Said,
    ) -> Result<Verdict, Trouble> {
        let wanted = match self.seat.member.settings.output() {
            team::Output::Handoff => OutputKind::Handoff,
            team::Output::Envelope => OutputKind::Envelope,
        };
        let (mut verdict, files, contract) =
            self.read(turn, &said.text, |output| (Verdict::of(output, wanted), files(output), contract(output)));
        verdict.warnings.extend(said.warnings.iter().cloned());
        if verdict.says == Some(Says::Done)
            && let Err(codes) = self.apply(place, files).await?
        {
            verdict.says = None;
            verdict.codes = codes;
        }
        let Some(says) = verdict.says else { return Ok(verdict) };
        if let Some(contract) = &contract {
            self.learn(turn, contract).await?;
        }
        self.decide(facts, turn, &said.text).await?;
        if says == Says::GoesOn {
            self.checkpoint(turn, "goes on", note(Kind::Progress, &verdict.summary, None)).await?;
        }
        self.read_mail(facts, turn).await;
        Ok(verdict)
    }

    /// Puts an output's files into the place, all or none. What does not fit is for the agent to mend.
    async fn apply(&self, place: &Place, files: Vec<Artifact>) -> Result<Result<(), Vec<String>>, Trouble> {
        if files.is_empty() {
            return Ok(Ok(()));
        }
        let (root, folder) = (place.path().to_owned(), self.shop.attempt_folder(self.task, self.attempt));
        let work = tokio::task::spawn_blocking(move || apply(&root, &folder, &files));
        match work.await.map_err(|error| Trouble::Other(error.to_string()))? {
            Ok(()) => Ok(Ok(())),
            Err(problem) if problem.codes().is_empty() => Err(Trouble::Other(problem.to_string())),
            Err(problem) => Ok(Err(problem.codes())),
        }
    }

    /// What a handoff says beside its status: knowledge of the project, effects elsewhere, candidates to remember.
    async fn learn(&self, turn: TurnId, contract: &Contract) -> Result<(), Trouble> {
        let mut sections: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for update in contract.applied() {
            sections.entry(update.contract().to_owned()).or_default().push(update.payload());
        }
        for (name, payloads) in sections {
            let caller = self.shop.once(self.seat.agent, turn, &format!("section {name}"));
            match self.shop.service.merge_section(caller, name.clone(), payloads, self.task).await {
                Ok(_) => {}
                // A name that is none, or one section too many: the agent's work is still good.
                Err(Error::Refused(refusal)) => self.warn(&format!("section {name}: {refusal}")),
                Err(error) => return Err(error.into()),
            }
        }
        let texts = |notes: &[wire::handoff::Note]| notes.iter().map(ToString::to_string).collect::<Vec<_>>();
        let impacts = texts(&contract.evidence().cross_layer_impacts);
        if !impacts.is_empty() {
            let detail = object([("cross_layer_impacts", impacts.clone().into())]);
            let summary = format!("affects other layers: {}", impacts.join("; "));
            self.checkpoint(turn, "impacts", note(Kind::Progress, &summary, Some(&detail))).await?;
        }
        let remember: Vec<Value> = contract
            .memorials()
            .iter()
            .map(|memorial| Value::from(format!("{}: {}", memorial.description, memorial.body)))
            .chain(contract.memory_suggestions().iter().map(|text| Value::from(text.as_str())))
            .collect();
        if !remember.is_empty() {
            let summary = format!("suggests to remember {} things", remember.len());
            let detail = object([("memory_candidates", Value::List(remember))]);
            self.checkpoint(turn, "memory", note(Kind::Progress, &summary, Some(&detail))).await?;
        }
        let best = contract.consolidation().map(|report| report.next_best_agent().value());
        if let Some(best) = best.filter(|best| *best != Value::Null && best.as_text() != Some("")) {
            self.suggest(turn, &best).await?;
        }
        Ok(())
    }

    async fn checkpoint(&self, turn: TurnId, what: &str, note: Note) -> Result<(), Trouble> {
        let add = Command::AddCheckpoint { task: self.task, attempt: Some(self.attempt), note };
        self.shop.service.execute(self.shop.once(self.seat.agent, turn, what), add).await?;
        Ok(())
    }

    /// Who should do the rest is somebody's to decide, never ours.
    async fn suggest(&self, turn: TurnId, best: &Value) -> Result<(), Trouble> {
        let name = best.as_text().map_or_else(|| best.to_string(), str::to_owned);
        let draft = Draft {
            kind: MessageKind::Question,
            priority: Priority::DEFAULT,
            subject: Some("An agent suggests who should go on".to_owned()),
            body: cut(&name),
            body_json: false,
            action_required: true,
            workflow: None,
            // Not the task's question: the task does not wait for it.
            task: None,
            reply_to: None,
        };
        let coordinators = Filter { role: Some("coordinator".to_owned()), include_silent: true, ..Filter::default() };
        let caller = |what: &str| self.shop.once(self.seat.agent, turn, what);
        let all = Command::Send { to: Recipients::All(coordinators), draft: draft.clone() };
        match self.shop.service.execute(caller("next best agent"), all).await {
            Ok(engine::Reply::Broadcast { messages, .. }) if !messages.is_empty() => return Ok(()),
            Ok(_) | Err(Error::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let person = Command::Send { to: Recipients::One(Owner::Human), draft };
        match self.shop.service.execute(caller("next best agent, to a person"), person).await {
            Ok(_) | Err(Error::Refused(Refusal::InboxFull { .. })) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Mail that was shown in the prompt is read when the turn ended validly.
    async fn read_mail(&self, facts: &Facts, turn: TurnId) {
        let messages = self.record(turn).shown;
        if messages.is_empty() {
            return;
        }
        // Shown again is better than lost.
        if let Err(error) = self.execute(Command::MarkRead { messages }).await {
            self.tell(facts, What::Warning { text: format!("mail stays unread: {error}") });
        }
    }
}

fn note(kind: Kind, summary: &str, detail: Option<&Value>) -> Note {
    let detail = detail.map(|detail| Json::from_stored(detail.to_string()));
    Note { kind, summary: cut(summary), detail, files: Vec::new() }
}

fn apply(root: &Path, folder: &Path, files: &[Artifact]) -> Result<(), artifacts::Problem> {
    let made = folder.join(MADE);
    let mut known: BTreeSet<String> =
        std::fs::read(&made).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let applied = artifacts::apply(root, &folder.join(JOURNAL), files, &known)?;
    known.extend(applied.paths.into_iter().chain(applied.finished));
    // Whole or as it was: who forgets what it made takes it for somebody else's.
    let part = folder.join(format!("{MADE}.part"));
    std::fs::write(&part, serde_json::to_vec(&known).unwrap_or_default())?;
    Ok(std::fs::rename(&part, &made)?)
}

fn files(output: &Output<'_>) -> Vec<Artifact> {
    let Output::Envelope(judged) = output else { return Vec::new() };
    let Some(envelope) = &judged.value else { return Vec::new() };
    let artifact = |artifact: &envelope::Artifact| Artifact {
        path: artifact.path.to_string(),
        operation: match artifact.operation {
            envelope::Operation::Create => Operation::Create,
            envelope::Operation::Update => Operation::Update,
        },
        content: artifact.content.to_string(),
    };
    envelope.artifacts.0.iter().map(artifact).collect()
}

fn contract(output: &Output<'_>) -> Option<Contract> {
    match output {
        Output::Handoff(verdict) => verdict.contract.clone(),
        Output::Envelope(_) | Output::Missing => None,
    }
}
