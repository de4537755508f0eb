//! Decides whether the agent may make one tool call, by the agent's permissions. The answer is one of the options that
//! the agent offers.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::order::{McpServerLaunch, Permissions};

/// A tool call for which an agent asks Handover's permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionQuestion {
    pub kind: ToolKind,
    pub title: String,
    /// The input of the tool in the exact bytes of the request. None when the agent gives no input.
    pub input: Option<String>,
    /// The files that the tool call reads or changes, according to the agent.
    pub paths: Vec<PathBuf>,
}

/// The answer to a permission request. It holds for one call only. The options `allow_always` and `reject_always` are
/// never chosen, because the project's rules (its gates) would then not check later calls.
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

/// Tells whether the agent's permissions cover the tool call that it asks for. A gate (a rule of the project) can still
/// deny the call.
pub fn covers(permissions: Permissions, worktree: &Path, asked: &PermissionQuestion) -> bool {
    let inside = || asked.paths.iter().all(|path| is_inside(worktree, path));
    match (permissions, asked.kind) {
        (Permissions::All, _) => true,
        (Permissions::Read | Permissions::Edit, ToolKind::Read | ToolKind::Search | ToolKind::Think) => true,
        (Permissions::Edit, ToolKind::Edit | ToolKind::Delete | ToolKind::Move) => inside(),
        (Permissions::Edit, ToolKind::Execute | ToolKind::Fetch) => true,
        // Tools of the kind `Other` belong to MCP servers. Only the tools of Handover's own server are allowed, because
        // the effects of all other tools are unknown. A switch of the agent's mode is refused below, because a mode can
        // lift every limit.
        (Permissions::Read | Permissions::Edit, ToolKind::Other) => is_ours(&asked.title),
        (
            Permissions::Read,
            ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Execute | ToolKind::Fetch,
        )
        | (Permissions::Read | Permissions::Edit, ToolKind::SwitchMode) => false,
    }
}

/// Tells whether the title of a request names a tool of Handover's own MCP server, in one of the forms that agents use.
/// The whole title must match, so that a command line that only begins like such a title does not count.
fn is_ours(title: &str) -> bool {
    let name = McpServerLaunch::NAME;
    let tool = title
        .strip_suffix(&format!(" ({name} MCP Server)"))
        .or_else(|| title.strip_prefix(&format!("mcp__{name}__")))
        .or_else(|| title.strip_prefix(&format!("mcp.{name}.")))
        .or_else(|| title.strip_prefix(&format!("{name}_")));
    tool.is_some_and(|tool| !tool.is_empty() && tool.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
}

/// Tells whether the path is in the worktree. Compares only the text of the path. The project's gates (rules) check the
/// same call, and they also follow symbolic links.
fn is_inside(worktree: &Path, path: &Path) -> bool {
    let plain = path.components().all(|part| match part {
        Component::ParentDir => false,
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::Normal(_) => true,
    });
    plain && (path.is_relative() || path.starts_with(worktree))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionRequest {
    #[serde(default)]
    options: Vec<PermissionChoice>,
    tool_call: AcpToolCall,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PermissionChoice {
    option_id: String,
    kind: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AcpToolCall {
    #[expect(dead_code, reason = "a request that names no tool call is not valid, so reading it must fail")]
    tool_call_id: String,
    #[serde(default)]
    title: Option<String>,
    kind: Option<ToolKind>,
    raw_input: Option<Box<RawValue>>,
    locations: Option<Vec<Location>>,
}

#[derive(Debug, Deserialize)]
struct Location {
    path: PathBuf,
}

impl PermissionRequest {
    pub(super) fn asked(&self) -> PermissionQuestion {
        let call = &self.tool_call;
        PermissionQuestion {
            kind: call.kind.unwrap_or_default(),
            title: call.title.clone().unwrap_or_default(),
            input: call.raw_input.as_ref().map(|input| input.get().to_owned()),
            paths: call.locations.iter().flatten().map(|location| location.path.clone()).collect(),
        }
    }

    /// Returns the answer as one of the options that the agent offers. If no option allows the call once, the call is
    /// rejected. If no option rejects the call once, the whole turn is cancelled. So a call is never allowed
    /// permanently.
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
