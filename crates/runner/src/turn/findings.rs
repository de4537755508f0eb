//! Tells a worker the findings of a review of its work.

use engine::Command;
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, Recipients};
use engine::review::Finding;
use engine::task::Priority;
use engine::view::{AttemptView as Facts, Reviewed};

use crate::attempt::AttemptRun;
use crate::attempt::shared::RunEvent;

/// The message to a worker whose work was reviewed.
pub(super) const FOUND: &str = "Your work was reviewed. Decide on each finding below (they are in full in your \
    inbox, as task.feedback): fix your work where you accept it. Report your decision on each with a line of `notes` \
    (or `key_outputs`) of the form `feedback ID accepted: TEXT`, `feedback ID partial: TEXT` or `feedback ID \
    rejected: TEXT`, or with the tool review_answer. What you do not answer stays open. Then end again with your \
    whole output.";

/// The longest text of one finding in the list for a prompt, in characters. A longer text is cut.
const SHOWN_CHARS_MAX: usize = 400;
/// The longest text of all findings in one message to the worker, in characters. A longer text is cut, with a hint to
/// the tool `review_status`.
const MAIL_CHARS_MAX: usize = 60_000;

/// Returns the open findings as pairs of id and text. Another agent wrote the texts, so each is escaped to one line.
pub(super) fn codes(known: &Reviewed) -> Vec<(String, String)> {
    let told = |finding: &Finding| {
        let text = format!("{}: {}", finding.aspect, finding.recommendation);
        let text: String = text.chars().take(SHOWN_CHARS_MAX).collect();
        (finding.name.clone(), text.escape_debug().to_string())
    };
    known.findings.iter().filter(|finding| finding.is_open()).map(told).collect()
}

/// Sends the open findings of a review to the worker's inbox. When the turn is started again, no second message is
/// sent.
pub(super) async fn send(run: &AttemptRun, facts: &Facts) {
    let Some(known) = &facts.review else { return };
    let Some((round, judge)) = known.last().zip(run.reviewer(facts)) else { return };
    let Some(turn) = round.turn else { return };
    let (id, open) = (known.review.id, known.review.open);
    let mut body = format!("{id}, iteration {}: {open} findings are open. Decide on each of them.\n", round.number);
    for finding in known.findings.iter().filter(|finding| finding.is_open()) {
        let Finding { name, aspect, description, recommendation, .. } = finding;
        body.push_str(&format!("\n{name}\nAspect: {aspect}\n{description}\nRecommendation: {recommendation}\n"));
        if body.chars().count() > MAIL_CHARS_MAX {
            body = body.chars().take(MAIL_CHARS_MAX).chain("\n(more with review_status)\n".chars()).collect();
            break;
        }
    }
    let draft = MessageDraft {
        priority: Priority::DEFAULT,
        body,
        ..run.draft(facts, MessageKind::Feedback, (format!("{open} findings of a review"), String::new()))
    };
    let send = Command::Send { to: Recipients::One(MailboxOwner::Agent(run.worker.agent)), draft };
    let caller = run.shared.once(judge.agent, turn, &format!("findings {id} {}", round.number));
    if let Err(error) = run.shared.service.execute(caller, send).await {
        run.tell(
            facts,
            RunEvent::Warning {
                text: format!(
                    "the findings could not be sent to the agent's inbox: \
            {error}"
                ),
            },
        );
    }
}
