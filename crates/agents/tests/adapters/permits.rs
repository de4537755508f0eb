//! Tests which tool calls an agent may make, when it asks for permission.

use agents::adapter::Permissions;
use agents::adapter::acp::{PermissionQuestion, ToolKind, covers};

fn asked(kind: ToolKind, title: &str, paths: &[&str]) -> PermissionQuestion {
    PermissionQuestion { kind, title: title.into(), input: None, paths: paths.iter().map(Into::into).collect() }
}

/// Returns three answers: whether an agent with the permission read, edit or all may make this tool call.
fn answers(asked: &PermissionQuestion) -> [bool; 3] {
    [Permissions::Read, Permissions::Edit, Permissions::All].map(|may| covers(may, "/repo".as_ref(), asked))
}

#[test]
fn permissions_cover_what_the_page_says() {
    let table = [
        (ToolKind::Read, [true, true, true]),
        (ToolKind::Search, [true, true, true]),
        (ToolKind::Think, [true, true, true]),
        (ToolKind::Edit, [false, true, true]),
        (ToolKind::Delete, [false, true, true]),
        (ToolKind::Move, [false, true, true]),
        (ToolKind::Execute, [false, true, true]),
        (ToolKind::Fetch, [false, true, true]),
        (ToolKind::SwitchMode, [false, false, true]),
        (ToolKind::Other, [false, false, true]),
    ];
    for (kind, expected) in table {
        assert_eq!(answers(&asked(kind, "something", &["/repo/a.txt"])), expected, "{kind:?}");
    }
}

#[test]
fn an_edit_outside_the_worktree_is_not_covered() {
    for path in ["/etc/passwd", "/repo/../etc/passwd", "../x", "/repository/x"] {
        assert_eq!(answers(&asked(ToolKind::Edit, "edit", &["/repo/a.txt", path])), [false, false, true], "{path}");
    }
    assert_eq!(answers(&asked(ToolKind::Edit, "edit", &["src/a.txt"])), [false, true, true]);
}

#[test]
fn tools_of_our_own_server_are_always_covered() {
    for title in [
        "agent_register (handover MCP Server)",
        "mcp__handover__task_next",
        "handover_task_next",
        "mcp.handover.task_next",
    ] {
        assert_eq!(answers(&asked(ToolKind::Other, title, &[])), [true, true, true], "{title}");
    }
}

#[test]
fn what_only_begins_like_our_server_is_not_ours() {
    for title in [
        "mcp__handover__x; rm -rf /",
        "handover_",
        "x (other MCP Server)",
        "rm -rf / (handover MCP Server)",
        "handoverx_y",
    ] {
        assert_eq!(answers(&asked(ToolKind::Other, title, &[])), [false, false, true], "{title}");
    }
    assert_eq!(answers(&asked(ToolKind::Execute, "mcp__handover__task_next", &[])), [false, true, true]);
}
