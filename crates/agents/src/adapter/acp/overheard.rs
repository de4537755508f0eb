//! Reads the agent's messages in a conversation over the Agent Client Protocol (ACP): its texts, its tool calls and the
//! end of its turn (the run of its program).

use std::collections::HashSet;

use super::super::account::{Account, EventVerdict, short};
use super::super::listener::EventDialect;
use super::super::said::{AgentEnd, SpentAmount};
use super::super::stream::event;
use super::message::{AcpFailure, AcpMessage, AcpSession, AcpText, AcpUpdate, Notified, Prompted};

/// The largest number of tool calls whose ids are remembered. After that many calls, an update of a call
/// (`tool_call_update`) is not counted, because its call may have been counted before. The announcement of a call
/// (`tool_call`) is still counted.
const CALLS_MAX: usize = 4096;

/// A reader of the lines that the agent sends. The lines come from the live conversation, or from the file in which
/// they were kept.
#[derive(Debug, Default)]
pub(in super::super) struct Overheard {
    message_id: Option<String>,
    calls: HashSet<String>,
    ended: Option<EventVerdict>,
}

impl EventDialect for Overheard {
    fn line(&mut self, line: &[u8], account: &mut Account) {
        let Some(message) = event::<AcpMessage>(line) else { return };
        match (&message.method, &message.error) {
            (Some(method), _) if method == "session/update" => self.updated(&message, account),
            (Some(_), _) => account.progress(),
            (None, Some(failure)) => self.ended = Some(failed(failure)),
            (None, None) => {
                if let Some(session) = AcpMessage::read::<AcpSession>(message.result.as_deref()) {
                    account.conversation(&session.session_id);
                }
                if let Some(prompted) = AcpMessage::read::<Prompted>(message.result.as_deref()) {
                    self.prompted(&prompted, account);
                }
            }
        }
    }

    fn verdict(&self, _: &str, _: &mut Account) -> EventVerdict {
        self.ended.clone().unwrap_or(EventVerdict::Open("the program closed its output before it answered"))
    }
}

impl Overheard {
    pub(super) fn updated(&mut self, message: &AcpMessage, account: &mut Account) {
        match AcpMessage::read::<Notified>(message.params.as_deref()) {
            Some(notified) => self.update(notified.update, account),
            None => account.progress(),
        }
    }

    fn update(&mut self, update: AcpUpdate, account: &mut Account) {
        match update.session_update.as_str() {
            "agent_message_chunk" => {
                let Some(AcpText { text }) = AcpMessage::read(update.content.as_deref()) else { return };
                let same = self.message_id == update.message_id;
                self.message_id = update.message_id;
                if same { account.chunk(&text) } else { account.block(&text) }
            }
            // Text before a message of the user does not answer that message, so the text is cleared.
            "user_message_chunk" => account.answer(String::new()),
            "tool_call" | "tool_call_update" => {
                let known = update.session_update == "tool_call_update";
                self.call(update.tool_call_id.as_deref(), update.title.as_deref(), known, account);
            }
            "usage_update" => {
                if let Some(cost) = update.cost.filter(|cost| cost.currency == "USD") {
                    account.usd(SpentAmount::WholeConversation(cost.amount));
                }
                account.progress();
            }
            _ => account.progress(),
        }
    }

    /// Counts each tool call once. The first message about a call may be its announcement, an update of it or a request
    /// for permission.
    pub(super) fn call(&mut self, id: Option<&str>, title: Option<&str>, repeated: bool, account: &mut Account) {
        // A call without an id cannot be found again, so each announcement of such a call counts.
        let id = id.filter(|id| !id.is_empty() && self.calls.len() < CALLS_MAX);
        let unseen = id.map_or(!repeated, |id| self.calls.insert(short(id)));
        if unseen {
            account.tool_call(title.unwrap_or("a tool"));
        } else {
            account.progress();
        }
    }

    pub(super) fn prompted(&mut self, prompted: &Prompted, account: &mut Account) {
        if let Some(tokens) = prompted.tokens() {
            account.tokens(SpentAmount::ThisTurn(tokens));
        }
        let failed = |reason: &str| EventVerdict::Ended(AgentEnd::Failed { code: None, reason: short(reason) });
        self.ended = Some(match prompted.stop_reason.as_str() {
            // The stop reason `end_turn` decides alone. The exit code of the agent's process does not count, because
            // Handover ends the process after the agent's answer.
            "end_turn" => EventVerdict::Ended(AgentEnd::Finished),
            // Handover did not cancel the turn (the run of the agent's program). One known agent reports the reason
            // `cancelled` when it gets a termination signal. Its exit status then tells how it ended.
            "cancelled" => EventVerdict::Open("the program cancelled its turn itself"),
            "max_tokens" => failed("its answer was cut at the model's limit"),
            "max_turn_requests" => failed("the program reached the limit of requests for one turn"),
            "refusal" => failed("the model refused to continue"),
            other => failed(&format!("the program stopped for an unknown reason: {other}")),
        });
    }

    pub(super) fn give_up(&mut self, verdict: EventVerdict) {
        self.ended = Some(verdict);
    }
}

/// Returns the verdict on a turn in which the agent sent an error instead of its answer.
pub(super) fn failed(failure: &AcpFailure) -> EventVerdict {
    EventVerdict::Ended(if failure.wants_login() {
        AgentEnd::Failed { code: None, reason: format!("the program needs a login: {}", failure.reason()) }
    } else {
        AgentEnd::ApiError { reason: failure.reason() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_an_id_count_once_for_each_announcement() {
        let (mut overheard, mut account) = (Overheard::default(), Account::default());
        // Each row is one message about a tool call: the id of the call, and whether the message is an update
        // (`tool_call_update`) and not the announcement of the call.
        let messages = [
            (Some("a"), false),
            (Some("a"), true),
            (Some("b"), true),
            (None, false),
            (None, true),
            (Some(""), false),
            (None, false),
        ];
        for (id, repeated) in messages {
            overheard.call(id, Some("edit"), repeated, &mut account);
        }
        assert_eq!(account.said(AgentEnd::Finished).tool_calls, 5);
    }
}
