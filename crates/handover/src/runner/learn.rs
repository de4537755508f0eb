//! Records the lessons of a handoff: knowledge about the project, effects on other layers, candidates for the memory.
//! The runner and the hook of a person's own session both use it. Each lesson takes effect once.

use std::collections::BTreeMap;

use engine::checkpoint::Kind;
use engine::command::Note;
use engine::id::TaskId;
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, RecipientMatch, Recipients};
use engine::task::Priority;
use engine::{Caller, Command, Json, Refusal};
use wire::handoff::HandoffContract;
use wire::json::{Value, object};

use super::attempt::cut;
use crate::error::Error;
use crate::service::Service;

/// The task and the attempt whose handoff is recorded.
pub struct Learner<'a> {
    pub service: &'a Service,
    pub task: TaskId,
    pub attempt: u32,
    /// Returns a caller whose idempotency key contains the given name of an effect, so that a retry has no second
    /// effect.
    pub once: &'a (dyn Fn(&str) -> Caller + Send + Sync),
    pub warn: &'a (dyn Fn(String) + Send + Sync),
}

impl std::fmt::Debug for Learner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Learner").field("task", &self.task).finish_non_exhaustive()
    }
}

/// One lesson of a handoff: a part that is recorded separately from the handoff's status.
#[derive(Debug)]
pub enum Lesson {
    Section {
        name: String,
        payloads: Vec<Value>,
    },
    /// A checkpoint. The word distinguishes it from other checkpoints of the same handoff.
    Note(&'static str, Box<Note>),
    /// The agent that should continue the work, as the handoff suggests.
    NextBest(String),
}

/// Returns all lessons of a handoff, in the order in which they take effect.
pub fn lessons(contract: &HandoffContract) -> Vec<Lesson> {
    let mut sections: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for update in contract.applied() {
        sections.entry(update.contract().to_owned()).or_default().push(update.payload());
    }
    let mut found: Vec<Lesson> =
        sections.into_iter().map(|(name, payloads)| Lesson::Section { name, payloads }).collect();
    let texts = |notes: &[wire::handoff::EvidenceNote]| notes.iter().map(ToString::to_string).collect::<Vec<_>>();
    let impacts = texts(&contract.evidence().cross_layer_impacts);
    if !impacts.is_empty() {
        let detail = object([("cross_layer_impacts", impacts.clone().into())]);
        let summary = format!("affects other layers: {}", impacts.join("; "));
        found.push(Lesson::Note("impacts", Box::new(note(Kind::Progress, &summary, Some(&detail)))));
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
        found.push(Lesson::Note("memory", Box::new(note(Kind::Progress, &summary, Some(&detail)))));
    }
    let best = contract.consolidation().map(|report| report.next_best_agent().value());
    if let Some(best) = best.filter(|best| *best != Value::Null && best.as_text() != Some("")) {
        found.push(Lesson::NextBest(best.as_text().map_or_else(|| best.to_string(), str::to_owned)));
    }
    found
}

impl Learner<'_> {
    pub async fn learn(&self, contract: &HandoffContract) -> Result<(), Error> {
        for lesson in lessons(contract) {
            match lesson {
                Lesson::Section { name, payloads } => {
                    let caller = (self.once)(&format!("section {name}"));
                    match self.service.merge_section(caller, name.clone(), payloads, self.task).await {
                        Ok(_) => {}
                        // The section has an invalid name, or the project has too many sections. This is only a
                        // warning, because the agent's work is still good.
                        Err(Error::Refused(refusal)) => (self.warn)(format!("section {name}: {refusal}")),
                        Err(error) => return Err(error),
                    }
                }
                Lesson::Note(what, note) => self.checkpoint(what, *note).await?,
                Lesson::NextBest(name) => self.suggest(&name).await?,
            }
        }
        Ok(())
    }

    pub async fn checkpoint(&self, what: &str, note: Note) -> Result<(), Error> {
        let add = Command::AddCheckpoint { task: self.task, attempt: Some(self.attempt), note };
        self.service.execute((self.once)(what), add).await?;
        Ok(())
    }

    /// Sends the name of the suggested next agent to all coordinators, or to a person when there is no coordinator. The
    /// runner itself does not follow the suggestion.
    pub async fn suggest(&self, name: &str) -> Result<(), Error> {
        let draft = MessageDraft {
            kind: MessageKind::Question,
            priority: Priority::DEFAULT,
            subject: Some("An agent suggests who should go on".to_owned()),
            body: cut(name),
            body_json: false,
            action_required: true,
            workflow: None,
            // Without a task in the message, the task does not wait for the answer.
            task: None,
            reply_to: None,
        };
        let coordinators =
            RecipientMatch { role: Some("coordinator".to_owned()), include_silent: true, ..RecipientMatch::default() };
        let all = Command::Send { to: Recipients::All(coordinators), draft: draft.clone() };
        match self.service.execute((self.once)("next best agent"), all).await {
            Ok(engine::Reply::Broadcast { messages, .. }) if !messages.is_empty() => return Ok(()),
            Ok(_) | Err(Error::Refused(_)) => {}
            Err(error) => return Err(error),
        }
        let person = Command::Send { to: Recipients::One(MailboxOwner::Human), draft };
        match self.service.execute((self.once)("next best agent, to a person"), person).await {
            Ok(_) | Err(Error::Refused(Refusal::InboxFull { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Returns a checkpoint, with its summary cut to the allowed length.
pub fn note(kind: Kind, summary: &str, detail: Option<&Value>) -> Note {
    let detail = detail.map(|detail| Json::from_stored(detail.to_string()));
    Note { kind, summary: cut(summary), detail, files: Vec::new() }
}
