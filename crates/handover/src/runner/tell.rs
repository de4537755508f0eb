//! Gathers the facts for the texts of a turn: the task and its brief, unread mail, notes of finished tasks that it
//! depends on, and sections of the project context.

use engine::id::{MessageId, TurnId};
use engine::inbox::{MailboxOwner, Message};
use engine::list::List;
use engine::section::Section;
use engine::turn::Turn;
use engine::view::{self, AttemptView as Facts};
use engine::{Actor, DecisionStop, Fact, Need, World};
use wire::message::WirePayload;
use wire::prompt::UnreadMessage;

use super::attempt::{AttemptError, AttemptRun};
use super::brief::{self, BriefInput, Resume};
use super::next::OutputVerdict;
use super::step::Because;
use super::turn::ShownTexts;
use super::verify::VerificationEvidence;

/// The largest number of messages in one prompt. The agent gets further messages in its next turn.
const MAIL_MAX: u32 = 50;
const SECTIONS_MAX: u32 = 500;
/// The longest last message of an agent that is shown to it again, in characters. It is shown when the program does not
/// remember it; a longer one is cut.
const SAID_CHARS_MAX: usize = 20_000;

/// The facts from the store for a prompt.
#[derive(Debug, Clone, Default)]
struct KnownFacts {
    mail: Vec<(Message, String)>,
    notes: Vec<String>,
    sections: Vec<Section>,
}

impl AttemptRun {
    /// Builds the texts of a turn. `remembers` is true when the program resumes its earlier conversation.
    pub(super) async fn told(
        &self,
        facts: &Facts,
        turn: TurnId,
        because: &Because,
        remembers: bool,
    ) -> Result<ShownTexts, AttemptError> {
        let (agent, task) = (self.seat.agent, self.task);
        let (row, known) =
            self.shop.service.view(move |world| Ok((world.agent(agent)?.clone(), known(world, agent, task)?))).await?;
        let readable = &self.seat.member.settings.readable_sections;
        let may_read = |section: &&Section| readable.as_ref().is_none_or(|names| names.contains(&section.name));
        let sections: Vec<Section> = known.sections.iter().filter(may_read).cloned().collect();
        let others =
            self.shop.team.members.iter().filter(|other| other.settings.slug != self.seat.member.settings.slug);
        let shown: Vec<MessageId> = known.mail.iter().map(|(message, _)| message.id).collect();
        let told = brief::tell(&BriefInput {
            member: &self.seat.member,
            shared_skills: &self.shop.team.shared_skills,
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
        })?;
        Ok((told, shown))
    }

    fn resume(&self, facts: &Facts, because: &Because, remembers: bool) -> Option<Resume> {
        let last = facts.turns.iter().rev().find(|turn| turn.ended().is_some_and(|ended| ended.verdict.is_some()));
        let said = || {
            let text = self.answer(last?.id).ok()?;
            Some(text.chars().take(SAID_CHARS_MAX).collect::<String>())
        };
        let text = if remembers { None } else { said() };
        let resume = |reason: &str| Resume { reason: reason.to_owned(), text: text.clone(), ..Resume::default() };
        Some(match because {
            Because::Begins => return None,
            Because::BadOutput(turn) => Resume { codes: self.codes(facts, *turn), ..resume(brief::REPAIR) },
            Because::GoesOn => resume("You reported progress. Go on with the task, and end again with your output."),
            Because::Answered(answer) => {
                Resume { answer: Some(answer.clone()), ..resume("What you asked was answered. Go on with the task.") }
            }
            Because::Approved(_) => Resume {
                answer: Some("approved".to_owned()),
                ..resume("What you asked to do is approved: do exactly that, once, and go on.")
            },
            Because::Interrupted => resume("You were interrupted. Look at what is done, and go on with the task."),
            Because::Conflict { paths } => Resume {
                // The paths are escaped, because other agents chose them and a path may contain line breaks.
                codes: paths
                    .iter()
                    .map(|path| ("MERGE_CONFLICT".to_owned(), path.escape_debug().to_string()))
                    .collect(),
                ..resume(
                    "Your work conflicts with what others have finished. The conflict is in your worktree, with its \
                     markers: mend these files so that both intentions hold, and end again with your whole output.",
                )
            },
            Because::Reviewed => Resume {
                codes: facts.review.as_ref().map(super::review::codes).unwrap_or_default(),
                reviewer: facts.review.as_ref().map(|known| known.review.provider.clone()),
                ..resume(super::review::FOUND)
            },
            Because::Failed { evidence } => Resume {
                codes: complaints(evidence),
                ..resume("Your output was verified and failed. Mend it, and end again with your whole output.")
            },
        })
    }

    /// Returns the problems of the output of a turn, each with its explanation.
    fn codes(&self, facts: &Facts, turn: TurnId) -> Vec<(String, String)> {
        let verdict = facts.turns.iter().find(|row| row.id == turn).and_then(Turn::ended);
        let verdict =
            verdict.and_then(|ended| serde_json::from_str::<OutputVerdict>(ended.verdict.as_ref()?.as_str()).ok());
        let Some(verdict) = verdict else { return Vec::new() };
        let explained = self.explained(turn);
        let message = |code: &String| {
            let found = explained.iter().find(|(known, _)| known == code);
            (code.clone(), found.map_or_else(String::new, |(_, message)| message.clone()))
        };
        verdict.codes.iter().chain(&verdict.warnings).map(message).collect()
    }
}

/// Returns the problems that a verification found. Fences the texts that come from checks and from the evaluator.
fn complaints(evidence: &str) -> Vec<(String, String)> {
    let Ok(evidence) = serde_json::from_str::<VerificationEvidence>(evidence) else {
        return vec![("VERIFICATION_FAILED".to_owned(), evidence.chars().take(SAID_CHARS_MAX).collect())];
    };
    let failed = evidence.evaluation.as_ref().filter(|_| evidence.has_passed());
    evidence.complaints(failed)
}

fn known(world: &World, agent: engine::id::AgentId, task: engine::id::TaskId) -> Result<KnownFacts, DecisionStop> {
    let mail = view::unread(world, MailboxOwner::Agent(agent), MAIL_MAX)?.messages;
    let senders = mail.iter().filter_map(|message| match message.from {
        Actor::Agent(agent) => Some(Need::Agent(agent)),
        Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => None,
    });
    let sections = List::Sections { after: String::new(), limit: SECTIONS_MAX };
    world.want(senders.chain([Need::List(sections.clone()), Need::Dependencies(task)]))?;
    let slug = |message: &Message| match message.from {
        Actor::Agent(agent) => world.agent(agent).map_or_else(|_| agent.to_string(), |agent| agent.slug.clone()),
        Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => message.from.to_string(),
    };
    let mail = mail.iter().map(|message| (message.clone(), slug(message))).collect();
    let on = world.task_ids(&Need::Dependencies(task))?;
    world.want(on.iter().flat_map(|task| [Need::Task(*task), Need::Detail(*task)]))?;
    let mut finished = Vec::new();
    for id in on {
        finished.push((world.task(*id)?, world.detail(*id)?));
    }
    finished.sort_by_key(|(task, _)| (task.sequence, task.id));
    let notes = finished.into_iter().flat_map(|(task, detail)| brief::notes(task, detail)).collect();
    let sections = if let Fact::SectionRows(rows) = world.list(sections)? { rows.clone() } else { Vec::new() };
    Ok(KnownFacts { mail, notes, sections })
}

fn unread(message: &Message, from: &str, to: &str) -> Option<UnreadMessage> {
    let wire = wire::translate::inbox(message, from, to)?;
    let WirePayload::Inbox(inbox) = wire.payload else { return None };
    let sequence = u64::from(message.sequence);
    Some(UnreadMessage { sequence, sender: wire.sender.to_string(), ts: wire.ts, message: inbox })
}
