//! Gathers the facts for the texts of a turn: the task and its brief, unread messages, notes of finished tasks that the
//! task depends on, and sections of the project context (facts that agents have learned).

use agents::adapter::AdapterKind;
use engine::checkpoint::Kind;
use engine::id::{MessageId, TurnId};
use engine::inbox::{MailboxOwner, Message};
use engine::list::SectionQuery;
use engine::section::Section;
use engine::sent_back::SendBackNote;
use engine::turn::Turn;
use engine::view::{self, AttemptView as Facts};
use engine::world::TaskIdNeed;
use engine::{Actor, DecisionStop, Need, Timestamp, TypedQuestion, World};
use wire::message::WirePayload;
use wire::prompt::UnreadMessage;

use super::brief::{self, BriefInput, BriefTexts, Resume};
use super::findings;
use crate::attempt::step::TurnReason;
use crate::attempt::{AttemptError, AttemptRun};
use crate::outcome::{OutputVerdict, REPAIR, VERIFICATION_FAILED};
use crate::verify::VerificationEvidence;

/// The largest number of messages in one prompt. The agent gets further messages in its next turn.
const MAIL_MAX: u32 = 50;
const SECTIONS_MAX: u32 = 500;
/// The maximum number of characters of an agent's last message that are shown to the agent again; the rest is cut. The
/// message is shown when the agent's program does not remember it.
const SAID_CHARS_MAX: usize = 20_000;

/// The texts of a turn, and the ids of the messages that the texts show.
pub(crate) type ShownTexts = (BriefTexts, Vec<MessageId>);

/// The facts from the store that a prompt shows.
#[derive(Debug, Clone, Default)]
struct KnownFacts {
    mail: Vec<(Message, String)>,
    notes: Vec<String>,
    sections: Vec<Section>,
}

impl AttemptRun {
    /// Builds the texts of a turn. `remembers` is true when the program resumes its earlier conversation.
    pub(crate) async fn told(
        &self,
        facts: &Facts,
        turn: TurnId,
        because: &TurnReason,
        remembers: bool,
    ) -> Result<ShownTexts, AttemptError> {
        let (agent, task) = (self.worker.agent, self.task);
        let (row, known) = self
            .shared
            .service
            .view(move |world| Ok((world.agent(agent)?.clone(), known(world, agent, task)?)))
            .await?;
        let readable = &self.worker.member.settings.readable_sections;
        let may_read = |section: &&Section| readable.as_ref().is_none_or(|names| names.contains(&section.name));
        let sections: Vec<Section> = known.sections.iter().filter(may_read).cloned().collect();
        let others =
            self.shared.team.members.iter().filter(|other| other.settings.slug != self.worker.member.settings.slug);
        let shown: Vec<MessageId> = known.mail.iter().map(|(message, _)| message.id).collect();
        let told = brief::tell(&BriefInput {
            member: &self.worker.member,
            shared_skills: &self.shared.team.shared_skills,
            adjacent: others.map(|other| (other.settings.slug.clone(), other.settings.roles.clone())).collect(),
            agent: &row,
            task: &facts.task,
            detail: &facts.detail,
            workflow: &facts.workflow,
            workflow_detail: &facts.workflow_detail,
            unread: known.mail.iter().filter_map(|(message, from)| unread(message, from, &row.slug)).collect(),
            notes: known.notes,
            sections: &sections,
            turn,
            resume: self.resume(facts, because, remembers),
        })
        .map_err(|problem| AttemptError::Other(problem.to_string()))?;
        Ok((told, shown))
    }

    fn resume(&self, facts: &Facts, because: &TurnReason, remembers: bool) -> Option<Resume> {
        let text = if remembers { None } else { self.said(facts) };
        let resume = |reason: &str| Resume { reason: reason.to_owned(), text: text.clone(), ..Resume::default() };
        Some(match because {
            TurnReason::Begins => return None,
            TurnReason::BadOutput(turn) => Resume { codes: self.codes(facts, *turn), ..resume(REPAIR) },
            TurnReason::GoesOn => resume("You reported progress. Go on with the task, and end again with your output."),
            TurnReason::Answered(answer) => {
                Resume { answer: Some(answer.clone()), ..resume("What you asked was answered. Go on with the task.") }
            }
            TurnReason::Approved(_) => Resume {
                answer: Some("approved".to_owned()),
                ..resume("What you asked to do is approved: do exactly that, once, and go on.")
            },
            TurnReason::Interrupted => resume("You were interrupted. Look at what is done, and go on with the task."),
            TurnReason::Conflict { paths } => Resume {
                // Escape the paths, because other agents chose them and a path may contain line breaks.
                codes: paths
                    .iter()
                    .map(|path| ("MERGE_CONFLICT".to_owned(), path.escape_debug().to_string()))
                    .collect(),
                ..resume(
                    "Your work conflicts with what others have finished. The conflict is in your worktree, with its \
                     markers: mend these files so that both intentions hold, and end again with your whole output.",
                )
            },
            TurnReason::Reviewed => Resume {
                codes: facts.review.as_ref().map(findings::codes).unwrap_or_default(),
                reviewer: facts.review.as_ref().map(|known| known.review.provider.clone()),
                ..resume(findings::FOUND)
            },
            TurnReason::SentBack { text, notes } => Resume {
                codes: notes.iter().map(place_note).collect(),
                answer: Some(text.clone()),
                ..resume(
                    "A person looked at your work and sent it back. Change it as they say, and end again with your output.",
                )
            },
            TurnReason::TipFailed { evidence } => Resume {
                codes: complaints(evidence),
                ..resume(
                    "Your work passes the checks alone, but not together with the work that others have finished. Their \
                     work is in your worktree now: change your work so that the checks pass, and end again with your \
                     whole output.",
                )
            },
            TurnReason::Failed { evidence } => Resume { codes: complaints(evidence), ..resume(VERIFICATION_FAILED) },
        })
    }

    /// Returns what the agent said in this attempt, for a program that does not remember it. A program without
    /// conversations gets its last message. A program that begins a new conversation also gets its earlier messages and
    /// the answers to them. The oldest texts are left out when there are too many.
    fn said(&self, facts: &Facts) -> Option<String> {
        let own = facts.turns.iter().filter(|turn| turn.attempt == self.attempt && !turn.purpose.is_a_look());
        let heard: Vec<&Turn> = own.filter(|turn| turn.ended().is_some_and(|end| end.verdict.is_some())).collect();
        let text = |turn: &Turn| {
            let text = self.files(turn.id).answer().ok()?;
            Some(text.chars().take(SAID_CHARS_MAX).collect::<String>())
        };
        let mut said = text(heard.last()?)?;
        if self.worker.member.settings.adapter == AdapterKind::Exec {
            return Some(said);
        }
        for pair in heard.windows(2).rev() {
            let [before, after] = pair else { continue };
            let Some(earlier) = text(before) else { break };
            let is_between = |at: Timestamp| before.ended().is_some_and(|end| at >= end.at) && at <= after.started;
            let rows = facts.checkpoints.iter().filter(|row| row.note.kind == Kind::Decision && is_between(row.at));
            let answers: String = rows.map(|row| format!("\n\nThe answer was: {}", row.note.summary)).collect();
            let longer = format!("{earlier}{answers}\n\nThen you said:\n{said}");
            if longer.chars().count() > SAID_CHARS_MAX {
                break;
            }
            said = longer;
        }
        Some(said)
    }

    /// Returns the problems of a turn's output as error codes, each with its explanation.
    fn codes(&self, facts: &Facts, turn: TurnId) -> Vec<(String, String)> {
        let verdict = facts.turns.iter().find(|row| row.id == turn).and_then(OutputVerdict::of_turn);
        let Some(verdict) = verdict else { return Vec::new() };
        let answer = self.files(turn).answer().map(|text| self.read_answer(turn, &text));
        let explained = answer.map(|answer| answer.problems).unwrap_or_default();
        let message = |code: &String| {
            let found = explained.iter().find(|(known, _)| known == code);
            (code.clone(), found.map_or_else(String::new, |(_, message)| message.clone()))
        };
        verdict.codes.iter().chain(&verdict.warnings).map(message).collect()
    }
}

/// Returns a person's remark about a place in the work as two texts: the file with the line number, and the remark.
fn place_note(note: &SendBackNote) -> (String, String) {
    let line = note.line.map(|line| format!(":{line}")).unwrap_or_default();
    (format!("{}{line}", note.file.escape_debug()), note.text.clone())
}

/// Returns the problems that a verification found. The texts of checks and of the evaluator are in fences (marked
/// blocks), so that the agent does not take them for instructions.
fn complaints(evidence: &str) -> Vec<(String, String)> {
    match VerificationEvidence::parse(evidence) {
        Some(evidence) => evidence.failed_complaints(),
        None => vec![("VERIFICATION_FAILED".to_owned(), evidence.chars().take(SAID_CHARS_MAX).collect())],
    }
}

fn known(world: &World, agent: engine::id::AgentId, task: engine::id::TaskId) -> Result<KnownFacts, DecisionStop> {
    let mail = view::unread(world, MailboxOwner::Agent(agent), MAIL_MAX)?.messages;
    let senders = mail.iter().filter_map(|message| match message.from {
        Actor::Agent(agent) => Some(Need::Agent(agent)),
        Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => None,
    });
    let sections = SectionQuery { after: String::new(), limit: SECTIONS_MAX };
    world.want(senders.chain([sections.need(), TaskIdNeed::Dependencies(task).into()]))?;
    let slug = |message: &Message| match message.from {
        Actor::Agent(agent) => world.agent(agent).map_or_else(|_| agent.to_string(), |agent| agent.slug.clone()),
        Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => message.from.to_string(),
    };
    let mail = mail.iter().map(|message| (message.clone(), slug(message))).collect();
    let on = world.ask(&TaskIdNeed::Dependencies(task))?;
    world.want(on.iter().flat_map(|task| [Need::Task(*task), Need::Detail(*task)]))?;
    let mut finished = Vec::new();
    for id in on {
        finished.push((world.task(*id)?, world.detail(*id)?));
    }
    finished.sort_by_key(|(task, _)| (task.sequence, task.id));
    let notes = finished.into_iter().flat_map(|(task, detail)| brief::notes(task, detail)).collect();
    let sections = world.ask(&sections)?.clone();
    Ok(KnownFacts { mail, notes, sections })
}

fn unread(message: &Message, from: &str, to: &str) -> Option<UnreadMessage> {
    let wire = wire::translate::inbox(message, from, to)?;
    let WirePayload::Inbox(inbox) = wire.payload else { return None };
    let sequence = u64::from(message.sequence);
    Some(UnreadMessage { sequence, sender: wire.sender.to_string(), ts: wire.ts, message: inbox })
}
