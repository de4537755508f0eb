//! The entries in clients' settings that run Handover's hooks: one entry for each event, for the clients that support
//! hooks. The entries of other programs stay.

use serde_json::{Value, json};

use super::want::Want;
use crate::hook::HookEvent;

/// The events for which setup adds a hook. Claude Code and Codex support all of them.
const EVENTS: [HookEvent; 6] = [
    HookEvent::SessionStart,
    HookEvent::PreToolUse,
    HookEvent::PostToolUse,
    HookEvent::Stop,
    HookEvent::SubagentStop,
    HookEvent::SessionEnd,
];

/// Returns the hooks for Claude Code. If the hook before a tool call fails to run, Claude Code blocks the call, because
/// a gate (a rule about tool calls) that cannot answer must not allow it.
pub(super) fn claude_code(program: &str) -> Vec<Want> {
    EVENTS.map(|event| want(event, program, HookFailure::Blocks)).into()
}

pub(super) fn codex(program: &str) -> Vec<Want> {
    EVENTS.map(|event| want(event, program, HookFailure::Passes)).into()
}

/// The reaction of a client when Handover's hook fails to run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HookFailure {
    Blocks,
    Passes,
}

fn want(event: HookEvent, program: &str, failure: HookFailure) -> Want {
    let mut hook = json!({
        "type": "command",
        "command": format!("{} hook {}", quoted(program), event.as_str()),
        "timeout": event.timeout_seconds(),
    });
    if let (HookEvent::PreToolUse, HookFailure::Blocks, Some(hook)) = (event, failure, hook.as_object_mut()) {
        hook.insert("onFailure".to_owned(), json!("block"));
    }
    let mut entry = json!({});
    if let Some(entry) = entry.as_object_mut() {
        if matches!(event, HookEvent::PreToolUse | HookEvent::PostToolUse) {
            entry.insert("matcher".to_owned(), json!("*"));
        }
        entry.insert("hooks".to_owned(), json!([hook]));
    }
    Want::Item { at: vec!["hooks".to_owned(), event.as_str().to_owned()], item: entry }
}

/// Quotes the path of the program that a hook starts, because clients run the hook's command in a shell.
fn quoted(program: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+".contains(letter);
    if !program.is_empty() && program.chars().all(plain) {
        return program.to_owned();
    }
    format!("'{}'", program.replace('\'', r"'\''"))
}

/// Tells whether the existing hook entry `there` is an older version of `item`: Handover's hook for the same event, but
/// with another path of the program.
pub(super) fn is_older(there: &Value, item: &Value) -> bool {
    let tail = |entry: &Value| {
        let command = entry.get("hooks")?.get(0)?.get("command")?.as_str()?.to_owned();
        let (program, rest) = command.rsplit_once(" hook ")?;
        program.trim_end_matches('\'').ends_with("handover").then(|| rest.to_owned())
    };
    there != item && tail(there).is_some() && tail(there) == tail(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_for_the_shell() {
        for (program, word) in [
            ("handover", "handover"),
            ("/opt/a-b/handover", "/opt/a-b/handover"),
            ("/my programs/handover", "'/my programs/handover'"),
            ("/it's/handover", r"'/it'\''s/handover'"),
            ("/a$(x)/handover", "'/a$(x)/handover'"),
        ] {
            assert_eq!(quoted(program), word);
        }
    }

    #[test]
    fn an_entry_of_another_path_is_older_and_that_of_another_program_is_not() {
        let entry = |command: &str| json!({"hooks": [{"type": "command", "command": command}]});
        let ours = entry("handover hook Stop");
        for (command, expected) in [
            ("'/x y/handover' hook Stop", true),
            ("/opt/handover hook Stop", true),
            ("handover hook Stop", false),
            ("handover hook SessionEnd", false),
            ("other hook Stop", false),
            ("echo handover", false),
        ] {
            assert_eq!(is_older(&entry(command), &ours), expected, "{command}");
        }
    }
}
