//! The description of a tool for clients.

use super::{Call, TOOLS, ToolId, slim};
use crate::document::JudgedDocument;
use crate::json::Value;

/// The effect of a tool on the stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Reads,
    /// Adds or changes stored data. The data from before can be restored.
    Writes,
    /// May delete stored data.
    Destroys,
}

/// The set of tools to which a tool belongs. A client is offered the default set or the full set; the full set has all
/// tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// The tool is in the default set. Clients that load most tools only on demand load this tool at once.
    Core,
    /// The tool is in the default set.
    Default,
    /// The tool is in the default set only if the settings have an agent that can review; it is always in the full set.
    Review,
    /// The tool is in the full set of tools, but not in the default set.
    Full,
}

/// The description of a tool for clients.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    pub id: ToolId,
    pub name: &'static str,
    pub about: &'static str,
    pub effect: Effect,
    /// Tells whether calling the tool twice has the same effect as calling it once.
    pub idempotent: bool,
    pub set: Set,
    /// The size limit in bytes of the tool's arguments. Larger arguments are refused.
    pub bytes_max: usize,
    pub(super) judge: for<'t> fn(&'t [u8]) -> JudgedDocument<'t, Call>,
    pub(super) arguments: fn() -> Value,
    /// Returns the schema of the tool's arguments in which null is not legal for optional arguments.
    pub(super) plain_arguments: fn() -> Value,
    pub(super) reply: fn() -> Value,
}

impl Tool {
    /// Judges the arguments of a call of this tool.
    pub fn judge<'t>(&self, arguments: &'t [u8]) -> JudgedDocument<'t, Call> {
        (self.judge)(arguments)
    }

    /// Returns the complete schema of the tool's arguments, with every bound and pattern.
    pub fn arguments(&self) -> Value {
        (self.arguments)()
    }

    /// Returns a short schema of the arguments for models: names, types and words only. Each pattern would cost tokens
    /// in every conversation. When an argument breaks a pattern, the error explains the pattern. That an optional
    /// argument may be null would also cost tokens and helps no model.
    pub fn offered(&self) -> Value {
        slim::slim(&(self.plain_arguments)())
    }

    /// Returns the schema of the tool's reply. Its top level requires no field. Some clients also check errors against
    /// this schema, and they would hide an error without the required fields from their model.
    pub fn reply(&self) -> Value {
        match (self.reply)() {
            Value::Object(mut members) => {
                members.retain(|(name, _)| name != "required");
                Value::Object(members)
            }
            other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_)) => other,
        }
    }

    pub fn find(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }
}
