//! The settings about people: the time for which approvals are valid, and the ways in which a person is notified of an
//! approval.

use std::path::PathBuf;

use engine::Millis;
use engine::approval::Lifetimes;
use serde::Deserialize;

use super::QuietHours;

/// The `[approvals]` section of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Approvals {
    /// The seconds within which a person must decide an approval request. After that the request expires.
    pub pending_seconds: u32,
    /// The seconds after the decision within which the approval must be used. After that it expires.
    pub approved_seconds: u32,
}

impl Default for Approvals {
    fn default() -> Self {
        let Lifetimes { pending, approved } = Lifetimes::default();
        Self { pending_seconds: pending.0 / 1_000, approved_seconds: approved.0 / 1_000 }
    }
}

/// The largest `pending_seconds`; a larger value is an error. After a month a person no longer remembers the request.
const PENDING_SECONDS_MAX: u32 = 30 * 24 * 60 * 60;
/// The largest `approved_seconds`; a larger value is an error. An approval is for an action that happens soon.
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

/// The `[notify]` section: the ways in which a person is notified of an approval request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// The program that sends notices, and its arguments. The notice is written to its standard input.
    pub command: Option<Vec<String>>,
    pub webhook: Option<Webhook>,
    /// True when notices are shown on the desktop of this machine, if it has one.
    #[serde(default = "yes")]
    pub desktop: bool,
    /// The hours in which no notice is sent. Notices of these hours are sent afterwards.
    pub quiet: Option<QuietHours>,
}

fn yes() -> bool {
    true
}

impl Default for Notify {
    fn default() -> Self {
        Self { command: None, webhook: None, desktop: yes(), quiet: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    pub url: String,
    /// The file with the secret that signs notices, relative to the root of the project. Either this key or
    /// `secret_env` is required, because a receiver cannot verify the sender of an unsigned notice.
    pub secret_file: Option<PathBuf>,
    /// The name of the environment variable with the secret that signs notices. Either this key or `secret_file` is
    /// required.
    pub secret_env: Option<String>,
    /// The `host:port` pairs to which the webhook may send notices.
    pub allow: Vec<String>,
    /// True when the webhook's address may be on this machine or in a private network.
    #[serde(default)]
    pub private: bool,
}

impl Notify {
    /// Returns true when the settings name no program and no URL for notices.
    pub fn is_empty(&self) -> bool {
        self.command.is_none() && self.webhook.is_none()
    }

    /// Returns the programs that a notice starts and the URLs that a notice calls, as one text for each.
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
                "notify.webhook: give either secret_file or secret_env; the secret signs the notices".to_owned(),
            );
        }
        super::WebhookTarget::of(webhook).err().map(|problem| format!("notify.webhook: {problem}"))
    }
}
