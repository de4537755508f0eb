//! Judges the answer of a turn and applies the parts that take effect at once: its files, its lessons, and the mail
//! that it has read. After a stop, everything here can run again without a second effect.

use std::collections::BTreeSet;
use std::path::Path;

use engine::checkpoint::Kind;
use engine::command::Note;
use engine::id::TurnId;
use engine::view::AttemptView as Facts;
use engine::{Caller, Command};
use wire::envelope;
use wire::handoff::{HandoffContext, HandoffContract};
use wire::output::{AgentOutput, OutputKind, find};

use super::artifacts::{self, ArtifactOperation, CheckedArtifact};
use super::attempt::{AttemptError, AttemptRun};
use super::learn::{Learner, note};
use super::next::{OutputVerdict, Says};
use super::place::WorkPlace;
use super::shop::What;
use crate::settings::team;
use agents::adapter::TurnSaid;

/// The file that lists the paths of the files that this attempt made.
const MADE: &str = "made.json";
const JOURNAL: &str = "journal";

impl AttemptRun {
    /// Parses and checks a text as the answer of a turn, and passes the output to `then`.
    pub(super) fn read<T>(&self, turn: TurnId, text: &str, then: impl FnOnce(&AgentOutput<'_>) -> T) -> T {
        let input = self.record(turn).input();
        let alias = wire::handoff::alias(self.seat.agent);
        let context = HandoffContext { input: input.as_ref(), dispatch_agent_id: Some(&alias) };
        then(&find(text, &context))
    }

    /// Returns the problems of the output of a turn: error codes with explanations.
    pub(super) fn explained(&self, turn: TurnId) -> Vec<(String, String)> {
        let Ok(text) = self.answer(turn) else { return Vec::new() };
        self.read(turn, &text, |output| output.problems())
    }

    /// Returns the verdict on the answer of a turn. If the output is valid, its files, lessons and read mail take
    /// effect first.
    pub(super) async fn judge(
        &self,
        facts: &Facts,
        turn: TurnId,
        place: &WorkPlace,
        said: &TurnSaid,
    ) -> Result<OutputVerdict, AttemptError> {
        let wanted = match self.seat.member.settings.output() {
            team::OutputSettings::Handoff => OutputKind::Handoff,
            team::OutputSettings::Envelope => OutputKind::Envelope,
        };
        let (mut verdict, files, contract) =
            self.read(turn, &said.text, |output| (OutputVerdict::of(output, wanted), files(output), contract(output)));
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

    /// Writes the files of an output, all or none. The inner error has the codes of problems that the agent can fix.
    async fn apply(
        &self,
        place: &WorkPlace,
        files: Vec<CheckedArtifact>,
    ) -> Result<Result<(), Vec<String>>, AttemptError> {
        if files.is_empty() {
            return Ok(Ok(()));
        }
        let (root, folder) = (place.path().to_owned(), self.shop.attempt_folder(self.task, self.attempt));
        let work = tokio::task::spawn_blocking(move || apply(&root, &folder, &files));
        match work.await.map_err(|error| AttemptError::Other(error.to_string()))? {
            Ok(()) => Ok(Ok(())),
            Err(problem) if problem.codes().is_empty() => Err(AttemptError::Other(problem.to_string())),
            Err(problem) => Ok(Err(problem.codes())),
        }
    }

    /// Records the lessons of a handoff: everything that the handoff says except its status.
    async fn learn(&self, turn: TurnId, contract: &HandoffContract) -> Result<(), AttemptError> {
        let once = |what: &str| self.shop.once(self.seat.agent, turn, what);
        let warn = |text: String| self.warn(&text);
        Ok(self.learner(&once, &warn).learn(contract).await?)
    }

    async fn checkpoint(&self, turn: TurnId, what: &str, note: Note) -> Result<(), AttemptError> {
        let once = |what: &str| self.shop.once(self.seat.agent, turn, what);
        Ok(self.learner(&once, &|_| ()).checkpoint(what, note).await?)
    }

    fn learner<'a>(
        &'a self,
        once: &'a (dyn Fn(&str) -> Caller + Send + Sync),
        warn: &'a (dyn Fn(String) + Send + Sync),
    ) -> Learner<'a> {
        Learner { service: &self.shop.service, task: self.task, attempt: self.attempt, once, warn }
    }

    /// Marks the messages that the prompt showed as read. Called after a turn that ended with a valid output.
    async fn read_mail(&self, facts: &Facts, turn: TurnId) {
        let messages = self.record(turn).shown;
        if messages.is_empty() {
            return;
        }
        // A failure is only a warning. The messages stay unread and are shown again, which is better than losing them.
        if let Err(error) = self.execute(Command::MarkRead { messages }).await {
            self.tell(facts, What::Warning { text: format!("mail stays unread: {error}") });
        }
    }
}

fn apply(root: &Path, folder: &Path, files: &[CheckedArtifact]) -> Result<(), artifacts::ArtifactProblem> {
    let made = folder.join(MADE);
    let mut known: BTreeSet<String> =
        std::fs::read(&made).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let applied = artifacts::apply(root, &folder.join(JOURNAL), files, &known)?;
    known.extend(applied.paths.into_iter().chain(applied.finished));
    // Writes a new list and renames it over the old one, so that a crash cannot lose the list. Without the list, a
    // later turn would refuse to update the files that this attempt made.
    let part = folder.join(format!("{MADE}.part"));
    std::fs::write(&part, serde_json::to_vec(&known).unwrap_or_default())?;
    Ok(std::fs::rename(&part, &made)?)
}

fn files(output: &AgentOutput<'_>) -> Vec<CheckedArtifact> {
    let AgentOutput::Envelope(judged) = output else { return Vec::new() };
    let Some(envelope) = &judged.value else { return Vec::new() };
    let artifact = |artifact: &envelope::Artifact| CheckedArtifact {
        path: artifact.path.to_string(),
        operation: match artifact.operation {
            envelope::Operation::Create => ArtifactOperation::Create,
            envelope::Operation::Update => ArtifactOperation::Update,
        },
        content: artifact.content.to_string(),
    };
    envelope.artifacts.0.iter().map(artifact).collect()
}

fn contract(output: &AgentOutput<'_>) -> Option<HandoffContract> {
    match output {
        AgentOutput::Handoff(verdict) => verdict.contract.clone(),
        AgentOutput::Envelope(_) | AgentOutput::Missing => None,
    }
}
