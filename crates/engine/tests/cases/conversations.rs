//! The verbs (command words) by which a test script acts like the hooks of a client. The hooks report that a
//! conversation is alive, that it ended, that a handoff (closing report) is missing, or that a gate rule asks for an
//! approval.

use engine::Command;
use engine::agent::Origin;
use engine::approval::{ApprovalRequest, Source};
use engine::checkpoint::Kind;
use engine::command::{AskApproval, Note, PassGate, PromptReport, SendBack};

use crate::bench::{Bench, Words};

pub(crate) fn command(bench: &mut Bench, verb: &str, words: &mut Words) -> Result<Command, String> {
    let name = words.word("a name")?;
    Ok(match verb {
        "hear" => {
            let origin = Origin { conversation: Some(name), part: words.named("part"), call: words.named("call") };
            Command::Hear { origin }
        }
        "over" => Command::EndConversation { conversation: name },
        "gate" => {
            let request =
                ApprovalRequest { content: name.clone(), operation: name.clone(), ..ApprovalRequest::default() };
            let asked = AskApproval { source: Source::Gate, waits: None, request, fingerprint: name };
            Command::PassGate(Box::new(PassGate { asked, newcomer: None }))
        }
        other => {
            let task = words.word("a task")?;
            let report = PromptReport {
                conversation: name,
                part: words.named("part").unwrap_or_default(),
                prompt: words.named("prompt").unwrap_or_default(),
                task: bench.task(&task),
                attempt: words.number("attempt")?.unwrap_or(1),
            };
            let note = Note::plain(Kind::Progress, other);
            if other == "sendback" {
                Command::SendBack(Box::new(SendBack { report, note, blocked: "no handoff".to_owned(), role: None }))
            } else {
                Command::GoOn { report, note }
            }
        }
    })
}
