//! Random test commands of the kinds that the hooks of clients send, with mostly sensible arguments. A client is the
//! program in which an agent runs, and a hook is a command that the client calls at certain events.

use engine::agent::Origin;
use engine::approval::{ApprovalRequest, Source};
use engine::checkpoint::Kind;
use engine::command::{AskApproval, Note, PassGate, PromptReport, Register, SendBack};
use engine::id::{AgentId, TaskId};
use engine::tables::Tables;
use engine::{Caller, Command, Rights};

use super::chance::Chance;
use super::plans::text;
use super::script::ConformanceScript;

const CONVERSATIONS: [&str; 4] = ["c1", "c2", "Ü'3", ""];
const PARTS: [&str; 3] = ["p1", "p2", "p3"];
const CALLS: [&str; 3] = ["t1", "t2", "t3"];
const PROMPTS: [&str; 3] = ["q1", "q2", ""];

/// Returns a random origin of an agent in a client (the program in which the agent runs): a conversation, a sub-agent
/// of the conversation, and the id of a tool call.
pub(super) fn origin(chance: &mut Chance) -> Origin {
    Origin {
        conversation: chance.percent(80).then(|| chance.word_of(&CONVERSATIONS)),
        part: chance.percent(30).then(|| chance.word_of(&PARTS)),
        call: chance.percent(50).then(|| chance.word_of(&CALLS)),
    }
}

fn engine() -> Caller {
    Caller::with_rights(Rights::Engine)
}

impl ConformanceScript {
    pub(super) fn conversation(&mut self, tables: &Tables) -> (Caller, Command) {
        match self.chance.below(10) {
            0..3 => (engine(), Command::Hear { origin: origin(&mut self.chance) }),
            3 => (engine(), Command::EndConversation { conversation: self.chance.word_of(&CONVERSATIONS) }),
            4..7 => self.report(tables),
            _ => self.gate(tables),
        }
    }

    fn report(&mut self, tables: &Tables) -> (Caller, Command) {
        let (task, holder, attempt) = self.held(tables).unwrap_or((TaskId::LAST, AgentId::LAST, 1));
        let chance = &mut self.chance;
        let report = PromptReport {
            conversation: chance.word_of(&CONVERSATIONS),
            part: if chance.percent(50) { String::new() } else { chance.word_of(&PARTS) },
            prompt: chance.word_of(&PROMPTS),
            task,
            attempt: if chance.percent(90) { attempt } else { attempt + 1 },
        };
        let note = Note::plain(Kind::Progress, text(chance));
        let command = if chance.percent(60) {
            Command::SendBack(Box::new(SendBack { report, note, blocked: text(chance), role: None }))
        } else {
            Command::GoOn { report, note }
        };
        (Caller::agent(holder), command)
    }

    fn gate(&mut self, tables: &Tables) -> (Caller, Command) {
        let agent = self.agent(tables);
        let chance = &mut self.chance;
        let plain = || String::new();
        let request = ApprovalRequest {
            operation: text(chance),
            content: text(chance),
            scope: plain(),
            directory: plain(),
            risk: plain(),
            rollback: plain(),
            verification: plain(),
        };
        let asked =
            AskApproval { source: Source::Gate, waits: None, request, fingerprint: chance.word_of(&["a", "b", "e"]) };
        let register = Register::named("gate", "exec");
        let newcomer = chance.percent(10).then_some((AgentId::FIRST, register));
        let caller = Caller { agent, origin: origin(chance), ..Caller::with_rights(Rights::Agent) };
        (caller, Command::PassGate(Box::new(PassGate { asked, newcomer })))
    }
}
