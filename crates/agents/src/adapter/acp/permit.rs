//! May the agent do this, once? What it asks, what our permissions cover, and which of its options says so.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::order::{Permissions, Server};

/// A tool call that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub kind: ToolKind,
    pub title: String,
    /// What the tool would be called with, in the very bytes of the request, where the agent tells.
    pub input: Option<String>,
    /// Files the agent says it touches.
    pub paths: Vec<PathBuf>,
}

/// Never more than once: what `*_always` permits would not pass a gate again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    AllowOnce,
    RejectOnce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Read,
    Search,
    Think,
    Edit,
    Delete,
    Move,
    Execute,
    Fetch,
    SwitchMode,
    #[default]
    #[serde(other)]
    Other,
}

/// Whether the agent's permissions cover what it asks. A gate can still say no.
pub fn covers(permissions: Permissions, worktree: &Path, asked: &Asked) -> bool {
    let inside = || asked.paths.iter().all(|path| is_inside(worktree, path));
    match (permissions, asked.kind) {
        (Permissions::All, _) => true,
        (Permissions::Read | Permissions::Edit, ToolKind::Read | ToolKind::Search | ToolKind::Think) => true,
        (Permissions::Edit, ToolKind::Edit | ToolKind::Delete | ToolKind::Move) => inside(),
        (Permissions::Edit, ToolKind::Execute | ToolKind::Fetch) => true,
        // Other tools are other servers' tools, and nobody said what they do. A mode can lift every limit.
        (Permissions::Read | Permissions::Edit, ToolKind::Other) => is_ours(&asked.title),
        (
            Permissions::Read,
            ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Execute | ToolKind::Fetch,
        )
        | (Permissions::Read | Permissions::Edit, ToolKind::SwitchMode) => false,
    }
}

/// A tool of our own server, by the names the agents give it. The whole title must be the name: a command line that
/// begins like one is not.
fn is_ours(title: &str) -> bool {
    let name = Server::NAME;
    let tool = title
        .strip_suffix(&format!(" ({name} MCP Server)"))
        .or_else(|| title.strip_prefix(&format!("mcp__{name}__")))
        .or_else(|| title.strip_prefix(&format!("mcp.{name}.")))
        .or_else(|| title.strip_prefix(&format!("{name}_")));
    tool.is_some_and(|tool| !tool.is_empty() && tool.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
}

/// By its words only; links are for the gates to resolve.
fn is_inside(worktree: &Path, path: &Path) -> bool {
    let plain = path.components().all(|part| match part {
        Component::ParentDir => false,
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::Normal(_) => true,
    });
    plain && (path.is_relative() || path.starts_with(worktree))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    #[serde(default)]
    options: Vec<Choice>,
    pub(super) tool_call: ToolCall,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Choice {
    option_id: String,
    kind: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolCall {
    pub(super) tool_call_id: String,
    #[serde(default)]
    pub(super) title: Option<String>,
    kind: Option<ToolKind>,
    raw_input: Option<Box<RawValue>>,
    locations: Option<Vec<Location>>,
}

#[derive(Debug, Deserialize)]
struct Location {
    path: PathBuf,
}

impl Request {
    pub(super) fn asked(&self) -> Asked {
        let call = &self.tool_call;
        Asked {
            kind: call.kind.unwrap_or_default(),
            title: call.title.clone().unwrap_or_default(),
            input: call.raw_input.as_ref().map(|input| input.get().to_owned()),
            paths: call.locations.iter().flatten().map(|location| location.path.clone()).collect(),
        }
    }

    /// The answer in the agent's own options. Where there is none for "once", no is said, and where there is none for no
    /// either, the whole turn is given up rather than something allowed for ever.
    pub(super) fn answer(&self, permit: Permit) -> Value {
        let of_kind = |kind: &str| self.options.iter().find(|option| option.kind == kind);
        let wanted = match permit {
            Permit::AllowOnce => of_kind("allow_once").or_else(|| of_kind("reject_once")),
            Permit::RejectOnce => of_kind("reject_once"),
        };
        match wanted {
            Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option.option_id}}),
            None => json!({"outcome": {"outcome": "cancelled"}}),
        }
    }
}
