//! Finds the client's own names for the session and the tool call that a request comes from. The client's hooks get the
//! same names, so that a hook finds the agent that registered in its session.

use engine::agent::Origin;
use engine::limits::KEY_BYTES_MAX;
use serde_json::{Map, Value};

/// The environment variable in which Claude Code gives the name of its session to a server that it starts.
const SESSION: &str = "CLAUDE_CODE_SESSION_ID";
/// The names of the metadata fields in which clients send the id of a tool call. The first name is Claude Code's, the
/// second is Codex's.
const CALLS: [&str; 2] = ["claudecode/toolUseId", "callId"];
/// The name of the metadata field in which Codex sends the name of its session with every call.
const THREAD: &str = "threadId";

/// Returns the client's name for the session that started this process; `None` if the environment of this process has
/// no such name.
pub(super) fn conversation() -> Option<String> {
    std::env::var(SESSION).ok().filter(|name| fits(name))
}

/// Returns the client's names for the session and the tool call that a request comes from. A session name in the
/// metadata is used only if the client started this process. Over a network, any client could send the session name of
/// another client.
pub(super) fn of(meta: &Map<String, Value>, is_pipe: bool, conversation: Option<&str>) -> Origin {
    let text = |name: &str| meta.get(name).and_then(Value::as_str).filter(|text| fits(text)).map(str::to_owned);
    let thread = || text(THREAD).filter(|_| is_pipe);
    Origin {
        conversation: conversation.map(str::to_owned).or_else(thread),
        part: None,
        call: CALLS.into_iter().find_map(text),
    }
}

/// Tells whether the store accepts a text as a client's name for a session or a call.
fn fits(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= KEY_BYTES_MAX && !text.contains('\0')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn clients_say_where_they_are() {
        let of = |meta: Value, is_pipe, conversation| {
            let meta = meta.as_object().cloned().unwrap_or_default();
            let origin = of(&meta, is_pipe, conversation);
            (origin.conversation, origin.call)
        };
        let text = |text: &str| Some(text.to_owned());
        let claude = json!({"claudecode/toolUseId": "toolu_1", "progressToken": 2});
        assert_eq!(of(claude.clone(), true, Some("s1")), (text("s1"), text("toolu_1")));
        assert_eq!(of(claude, false, None), (None, text("toolu_1")));
        let codex = json!({"threadId": "t1", "callId": "call_1"});
        assert_eq!(of(codex.clone(), true, None), (text("t1"), text("call_1")));
        assert_eq!(of(codex, false, None), (None, text("call_1")));
        assert_eq!(of(json!({"threadId": 7, "callId": "x".repeat(300)}), true, None), (None, None));
    }
}
