//! The description of a tool that agents can call. The agents' clients get this description.

use super::{Call, TOOLS, ToolId, slim};
use crate::document::JudgedDocument;
use crate::json::Value;

/// The effect of a tool on the stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Reads,
    /// The tool adds or changes stored data. The old data can be restored.
    Writes,
    /// The tool may delete stored data.
    Destroys,
}

/// The condition under which a client is offered a tool. Each client gets either the default set of tools or the full
/// set, which has all tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// The tool is in the default set of tools. Clients that load most tools only on demand load this tool at the start
    /// of a conversation.
    Core,
    /// The tool is in the default set of tools.
    Default,
    /// The tool is in the default set of tools only if the project's settings have an agent that can review. It is
    /// always in the full set.
    Review,
    /// The tool is in the full set of tools, but not in the default set.
    Full,
}

/// The description of a tool that agents can call. The agents' clients get this description.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    pub id: ToolId,
    pub name: &'static str,
    pub about: &'static str,
    pub effect: Effect,
    /// True when calling the tool twice has the same effect as calling it once.
    pub idempotent: bool,
    pub set: Set,
    /// The size limit in bytes of the tool's arguments. Larger arguments are refused.
    pub bytes_max: usize,
    pub(super) judge: for<'t> fn(&'t [u8]) -> JudgedDocument<'t, Call>,
    pub(super) arguments: fn() -> Value,
    /// Returns the schema of the tool's arguments without the rule that an optional argument may also be null.
    pub(super) plain_arguments: fn() -> Value,
    pub(super) reply: fn() -> Value,
}

impl Tool {
    /// Parses the JSON arguments of a call of this tool and checks them. Returns the call, or all problems of the
    /// arguments.
    pub fn judge<'t>(&self, arguments: &'t [u8]) -> JudgedDocument<'t, Call> {
        (self.judge)(arguments)
    }

    /// Returns the complete schema of the tool's arguments, with every bound and pattern.
    pub fn arguments(&self) -> Value {
        (self.arguments)()
    }

    /// Returns a short schema of the tool's arguments for models: only names, types and legal words. Patterns are left
    /// out, because they would cost tokens in every conversation, and an error explains a pattern when a call breaks
    /// it. The rule that an optional argument may be null is also left out, because models do not need it.
    pub fn offered(&self) -> Value {
        slim::slim(&(self.plain_arguments)())
    }

    /// Returns the schema of the tool's reply, without required fields at its top level. Some clients also check errors
    /// against this schema. An error does not have the required fields, so these clients would hide it from the model.
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
