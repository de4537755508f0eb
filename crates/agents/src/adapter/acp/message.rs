//! Declares the messages of the Agent Client Protocol (ACP), with the fields that Handover reads. All other fields are
//! ignored.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::account::short;
use super::super::raw::{member, value};
use super::super::said::TokenUse;
use super::usage::{self, AcpModelUsage, AcpTokenCounts};

/// One line that the agent's program sends: a request, a notification or an answer.
#[derive(Debug, Deserialize)]
pub(super) struct AcpMessage {
    pub(super) id: Option<Box<RawValue>>,
    pub(super) method: Option<String>,
    pub(super) params: Option<Box<RawValue>>,
    pub(super) result: Option<Box<RawValue>>,
    pub(super) error: Option<AcpFailure>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AcpFailure {
    pub(super) code: i64,
    #[serde(default)]
    message: String,
    data: Option<Box<RawValue>>,
}

/// The error code with which an agent says that a person must log in first.
const AUTH_REQUIRED: i64 = -32000;

impl AcpFailure {
    pub(super) fn wants_login(&self) -> bool {
        self.code == AUTH_REQUIRED
    }

    pub(super) fn reason(&self) -> String {
        match &self.data {
            Some(data) => short(&format!("{}: {}", self.message, data.get())),
            None => short(&self.message),
        }
    }
}

impl AcpMessage {
    /// Reads the params or the result of a message as the expected type. Returns None when they have another type.
    pub(super) fn read<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
        serde_json::from_str(raw?.get()).ok()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialized {
    #[serde(default)]
    pub(super) protocol_version: u32,
    #[serde(default)]
    pub(super) agent_capabilities: Capabilities,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Capabilities {
    #[serde(default)]
    pub(super) load_session: bool,
    #[serde(default)]
    pub(super) session_capabilities: SessionCapabilities,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct SessionCapabilities {
    pub(super) resume: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AcpSession {
    pub(super) session_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Prompted {
    pub(super) stop_reason: String,
    /// The counts of tokens, not parsed yet. An unknown shape of them must not cost the answer.
    usage: Option<Box<RawValue>>,
    #[serde(rename = "_meta")]
    meta: Option<Box<RawValue>>,
}

impl Prompted {
    /// Returns the number of tokens that the turn (this run of the agent's program) used. Some agents count only the
    /// last request of the turn in `usage`, but list all requests per model in `quota`. So the larger of the two
    /// numbers is returned.
    pub(super) fn tokens(&self) -> Option<TokenUse> {
        let whole = value::<AcpTokenCounts>(self.usage.as_deref()).and_then(|usage| usage.used());
        let by_model = self.models().map(|models| usage::of_models(&models));
        [by_model, whole].into_iter().flatten().max_by_key(|used| used.total)
    }

    /// Returns the name of the model that used the most tokens.
    pub(super) fn model(&self) -> Option<String> {
        self.models().and_then(|models| usage::main_model(&models).map(str::to_owned))
    }

    fn models(&self) -> Option<Vec<AcpModelUsage>> {
        value(member(member(self.meta.as_deref(), "quota"), "model_usage"))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Notified {
    /// The update, not parsed yet. An update of a tool call can be large and has parts of any type.
    pub(super) update: Box<RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AcpUpdate {
    pub(super) session_update: String,
    pub(super) message_id: Option<String>,
    /// The content of an update, not parsed yet. It is a text in some kinds of updates and a list in others.
    pub(super) content: Option<Box<RawValue>>,
    pub(super) cost: Option<AcpCost>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AcpText {
    pub(super) text: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct AcpCost {
    pub(super) amount: f64,
    pub(super) currency: String,
}
