//! What the agent's side of a conversation says.

use std::collections::HashSet;

use super::super::account::{Account, Verdict, short};
use super::super::listener::Dialect;
use super::super::said::{End, Spent};
use super::super::stream::event;
use super::message::{Failure, Message, Notified, Prompted, Session, Text, Update};

/// How many tool calls are told apart; those after it are counted only where the agent announces them.
const CALLS_MAX: usize = 4096;

/// Understands the agent's lines alone, as they are kept on disk, and is what the live conversation listens with.
#[derive(Debug, Default)]
pub(in super::super) struct Overheard {
    message_id: Option<String>,
    calls: HashSet<String>,
    ended: Option<Verdict>,
}

impl Dialect for Overheard {
    fn line(&mut self, line: &[u8], account: &mut Account) {
        let Some(message) = event::<Message>(line) else { return };
        match (&message.method, &message.error) {
            (Some(method), _) if method == "session/update" => self.updated(&message, account),
            (Some(_), _) => account.progress(),
            (None, Some(failure)) => self.ended = Some(failed(failure)),
            (None, None) => {
                if let Some(session) = Message::read::<Session>(message.result.as_deref()) {
                    account.conversation(&session.session_id);
                }
                if let Some(prompted) = Message::read::<Prompted>(message.result.as_deref()) {
                    self.prompted(&prompted, account);
                }
            }
        }
    }

    fn verdict(&self, _: &str, _: &mut Account) -> Verdict {
        self.ended.clone().unwrap_or(Verdict::Open("it closed its output before it answered"))
    }
}

impl Overheard {
    pub(super) fn updated(&mut self, message: &Message, account: &mut Account) {
        match Message::read::<Notified>(message.params.as_deref()) {
            Some(notified) => self.update(notified.update, account),
            None => account.progress(),
        }
    }

    fn update(&mut self, update: Update, account: &mut Account) {
        match update.session_update.as_str() {
            "agent_message_chunk" => {
                let Some(Text { text }) = Message::read(update.content.as_deref()) else { return };
                let same = self.message_id == update.message_id;
                self.message_id = update.message_id;
                if same { account.chunk(&text) } else { account.block(&text) }
            }
            // What was said before a question is no answer to it.
            "user_message_chunk" => account.answer(String::new()),
            "tool_call" | "tool_call_update" => {
                let known = update.session_update == "tool_call_update";
                self.call(update.tool_call_id.as_deref(), update.title.as_deref(), known, account);
            }
            "usage_update" => {
                if let Some(cost) = update.cost.filter(|cost| cost.currency == "USD") {
                    account.usd(Spent::WholeConversation(cost.amount));
                }
                account.progress();
            }
            _ => account.progress(),
        }
    }

    /// A call is announced by itself, by its first update, or by the question whether it may happen.
    pub(super) fn call(&mut self, id: Option<&str>, title: Option<&str>, repeated: bool, account: &mut Account) {
        let id = id.unwrap_or_default();
        let unseen = if self.calls.len() < CALLS_MAX { self.calls.insert(short(id)) } else { !repeated };
        if unseen && !self.calls.is_empty() {
            account.tool_call(title.unwrap_or("a tool"));
        } else {
            account.progress();
        }
    }

    pub(super) fn prompted(&mut self, prompted: &Prompted, account: &mut Account) {
        if let Some(tokens) = prompted.tokens() {
            account.tokens(Spent::ThisTurn(tokens));
        }
        let failed = |reason: &str| Verdict::Ended(End::Failed { code: None, reason: short(reason) });
        self.ended = Some(match prompted.stop_reason.as_str() {
            // For good: what happens to the process after its answer is our doing.
            "end_turn" => Verdict::Ended(End::Finished),
            // Not by us. One agent says so when it is told to terminate, and its exit says the rest.
            "cancelled" => Verdict::Open("it cancelled its turn itself"),
            "max_tokens" => failed("its answer was cut at the model's limit"),
            "max_turn_requests" => failed("it made as many requests as one turn may"),
            "refusal" => failed("the model refused to go on"),
            other => failed(&format!("it stopped for an unknown reason: {other}")),
        });
    }

    pub(super) fn give_up(&mut self, verdict: Verdict) {
        self.ended = Some(verdict);
    }
}

/// An error where the answer was due.
pub(super) fn failed(failure: &Failure) -> Verdict {
    Verdict::Ended(if failure.wants_login() {
        End::Failed { code: None, reason: format!("it wants a login: {}", failure.reason()) }
    } else {
        End::ApiError { reason: failure.reason() }
    })
}
