//! Gates: which commands and writes of an interactive agent wait for a person, and which are refused.
//!
//! ```text
//! tool call ── tool ──> acts: a command | paths written | neither
//! command   ── text ──> words and a plain text ── brush-parser ──> walk ──> every simple command, every write
//!                                                                 program: wrappers unwrapped, interpreters known
//! each      ── rule ──> allow | ask | deny; the strictest counts
//! ```
//!
//! A gate narrows and never widens: what cannot be read asks. It is no sandbox, only a second look at what an agent says it will do.

mod glob;
mod rule;

use std::path::Path;

use serde::Deserialize;
use wire::json::Value;

pub use rule::Rule;

/// From the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

/// What a client is about to do, as its hook says it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The client's own name of the tool.
    pub tool: &'a str,
    pub input: &'a Value,
    /// Where the client works; absolute.
    pub directory: &'a Path,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub decision: Decision,
    /// Which rule or which construct, and what to do; empty when allowed.
    pub reason: String,
}

impl Verdict {
    pub fn allow() -> Self {
        Self { decision: Decision::Allow, reason: String::new() }
    }
}

/// `[gates]` and every `[[gate]]` of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates {
    default: Option<Otherwise>,
    rules: Vec<Rule>,
}

/// `[gates]`, as it is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Basics {
    default: Option<Otherwise>,
}

/// What holds for commands and writes that no rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Otherwise {
    Ask,
    Allow,
}

impl Gates {
    pub(crate) fn new(basics: Basics, rules: Vec<Rule>) -> Result<Self, String> {
        if rules.len() > rule::RULES_MAX {
            return Err(format!("there are more than {} gates", rule::RULES_MAX));
        }
        Ok(Self { default: basics.default, rules })
    }

    /// Nothing is gated: no call needs to be looked at.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.default != Some(Otherwise::Ask)
    }

    /// What is to become of a call. It reads links on the disk, writes nothing and never panics.
    pub fn judge(&self, call: &Call<'_>) -> Verdict {
        if self.is_empty() {
            return Verdict::allow();
        }
        Verdict { decision: Decision::Ask, reason: format!("the tool {} cannot be judged", call.tool) }
    }
}
