//! What the settings say about people: how long approvals live, and how somebody is told that one waits.

use std::path::PathBuf;

use engine::Millis;
use engine::approval::Lifetimes;
use serde::Deserialize;

/// `[approvals]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Approvals {
    /// Until somebody decides.
    pub pending_seconds: u32,
    /// From the decision until it is used.
    pub approved_seconds: u32,
}

impl Default for Approvals {
    fn default() -> Self {
        let Lifetimes { pending, approved } = Lifetimes::default();
        Self { pending_seconds: pending.0 / 1_000, approved_seconds: approved.0 / 1_000 }
    }
}

/// Nobody remembers what was asked a month ago.
const PENDING_SECONDS_MAX: u32 = 30 * 24 * 60 * 60;
/// An approval is for what is done now.
const APPROVED_SECONDS_MAX: u32 = 24 * 60 * 60;

impl Approvals {
    pub fn lifetimes(self) -> Lifetimes {
        let millis = |seconds: u32| Millis(seconds.saturating_mul(1_000));
        Lifetimes { pending: millis(self.pending_seconds), approved: millis(self.approved_seconds) }
    }

    pub(super) fn problem(self) -> Option<String> {
        let fields = [
            ("pending_seconds", self.pending_seconds, PENDING_SECONDS_MAX),
            ("approved_seconds", self.approved_seconds, APPROVED_SECONDS_MAX),
        ];
        let wrong = fields.into_iter().find(|(_, found, most)| !(1..=*most).contains(found));
        wrong.map(|(name, _, most)| format!("approvals.{name}: must be 1 to {most}"))
    }
}

/// `[notify]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// A program and its arguments; it gets the notice on its standard input.
    pub command: Option<Vec<String>>,
    pub webhook: Option<Webhook>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    pub url: String,
    /// Relative to the root of the project. One of the two is needed: what is not signed could be from anybody.
    pub secret_file: Option<PathBuf>,
    /// The name of a variable of the environment.
    pub secret_env: Option<String>,
    /// `host:port` that may be called.
    pub allow: Vec<String>,
    /// It may be an address of this machine or of a private network.
    #[serde(default)]
    pub private: bool,
}

impl Notify {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What would be run or called, one a line.
    pub fn shown(&self, words: impl Fn(&[String]) -> String) -> Vec<String> {
        let command = self.command.as_ref().map(|command| format!("notify: {}", words(command)));
        let webhook = self.webhook.as_ref().map(|webhook| format!("notify: POST {}", webhook.url));
        command.into_iter().chain(webhook).collect()
    }

    pub(super) fn problem(&self) -> Option<String> {
        if self.command.as_ref().is_some_and(|words| words.first().is_none_or(|program| program.trim().is_empty())) {
            return Some("notify.command: names no program".to_owned());
        }
        let webhook = self.webhook.as_ref()?;
        if webhook.secret_file.is_none() == webhook.secret_env.is_none() {
            return Some(
                "notify.webhook: give secret_file or secret_env, and not both; it signs what is sent".to_owned(),
            );
        }
        super::WebhookTarget::of(webhook).err().map(|problem| format!("notify.webhook: {problem}"))
    }
}
