//! Reads the agent's messages in a conversation over the Agent Client Protocol (ACP): its texts, its tool calls and the
//! end of its turn (the run of its program).

use serde_json::value::RawValue;

use super::super::account::{Account, EventVerdict, short};
use super::super::listener::EventDialect;
use super::super::raw::member;
use super::super::said::{AgentEnd, SpentAmount};
use super::super::stream::event;
use super::calls::{AcpCallNews, AcpCalls};
use super::message::{AcpFailure, AcpMessage, AcpSession, AcpText, AcpUpdate, Notified, Prompted};
use super::usage::session_model;

/// A reader of the lines that the agent sends. The lines come from the live conversation, or from the file in which
/// they were kept.
#[derive(Debug, Default)]
pub(in super::super) struct Overheard {
    message_id: Option<String>,
    calls: AcpCalls,
    ended: Option<EventVerdict>,
}

impl EventDialect for Overheard {
    fn line(&mut self, line: &[u8], account: &mut Account) {
        let Some(message) = event::<AcpMessage>(line) else { return };
        match (&message.method, &message.error) {
            (Some(method), _) if method == "session/update" => self.updated(&message, account),
            (Some(method), _) if method == "session/request_permission" => self.asked(&message, account),
            (Some(_), _) => account.progress(),
            (None, Some(failure)) => self.ended = Some(failed(failure)),
            (None, None) => {
                if let Some(model) = session_model(message.result.as_deref()) {
                    account.model(&model);
                }
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
            Some(notified) => self.update(&notified.update, account),
            None => account.progress(),
        }
    }

    /// Records the tool call for which the agent asks a permission. Some agents do not announce such a call.
    pub(super) fn asked(&mut self, message: &AcpMessage, account: &mut Account) {
        let call = member(message.params.as_deref(), "toolCall");
        self.calls.hear(call, AcpCallNews::PermissionAsked, account);
    }

    /// Reports the tool calls that still wait for their input. No further message of the agent is read after that.
    pub(super) fn flush(&mut self, account: &mut Account) {
        self.calls.flush(account);
    }

    fn update(&mut self, raw: &RawValue, account: &mut Account) {
        let Some(update) = AcpMessage::read::<AcpUpdate>(Some(raw)) else { return account.progress() };
        match update.session_update.as_str() {
            "agent_message_chunk" => {
                self.calls.flush(account);
                let Some(AcpText { text }) = AcpMessage::read(update.content.as_deref()) else { return };
                let same = self.message_id == update.message_id;
                self.message_id = update.message_id;
                if same { account.chunk(&text) } else { account.block(&text) }
            }
            // Text before a message of the user does not answer that message, so the text is cleared.
            "user_message_chunk" => account.answer(String::new()),
            "tool_call" => self.calls.hear(Some(raw), AcpCallNews::Announced, account),
            "tool_call_update" => self.calls.hear(Some(raw), AcpCallNews::Updated, account),
            "usage_update" => {
                if let Some(cost) = update.cost.filter(|cost| cost.currency == "USD") {
                    account.usd(SpentAmount::WholeConversation(cost.amount));
                }
                account.progress();
            }
            _ => account.progress(),
        }
    }

    pub(super) fn prompted(&mut self, prompted: &Prompted, account: &mut Account) {
        if let Some(tokens) = prompted.tokens() {
            account.tokens(SpentAmount::ThisTurn(tokens));
        }
        if let Some(model) = prompted.model() {
            account.model(&model);
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
