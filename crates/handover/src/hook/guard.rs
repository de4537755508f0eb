//! Makes the hook answer in every case, also after a panic in any thread and when the store does not respond.

use std::sync::mpsc;
use std::time::Duration;

use super::event::HookEvent;
use super::reply::HookAnswer;

/// Returns the answer when the hook itself fails. Before a tool call, the answer refuses the call. At every other event
/// the session continues, and the person sees a note.
pub(super) fn failed(event: HookEvent, problem: &str) -> HookAnswer {
    match event {
        HookEvent::PreToolUse => {
            HookAnswer::Refuse(format!("{problem}; the call is refused, because this project has gates"))
        }
        HookEvent::SessionStart
        | HookEvent::PostToolUse
        | HookEvent::Stop
        | HookEvent::SubagentStop
        | HookEvent::SessionEnd
        | HookEvent::Other(_) => HookAnswer::Note(format!("{problem}; Handover ignored this {} event", event.as_str())),
    }
}

/// Starts a thread that answers and ends the process when the hook has not answered after `patience`.
pub(super) fn watch(event: HookEvent, patience: Duration) {
    // Without this thread, a hook that hangs would end only at the client's own timeout.
    let _none = std::thread::Builder::new().name("patience".to_owned()).spawn(move || {
        let (_kept, never) = mpsc::channel::<()>();
        let _over = never.recv_timeout(patience);
        end(event, &format!("Handover gave no answer within {} seconds", patience.as_secs_f64()));
    });
}

/// Runs `work`, which answers a client's event. If `work` panics, returns the answer that the hook failed.
pub(super) fn caught(event: HookEvent, work: impl FnOnce() -> HookAnswer) -> HookAnswer {
    // Unwind safety does not matter: any half-changed state ends with this process.
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        Ok(answer) => answer,
        Err(_) => failed(event, "handover panicked; this is a bug in Handover, please report it"),
    }
}

#[expect(clippy::exit, reason = "the thread that would return is the one that waits")]
fn end(event: HookEvent, problem: &str) {
    if let Some(code) = failed(event, problem).give(event) {
        std::process::exit(i32::from(code));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_keeps_tools_from_being_called_and_sessions_from_being_held() {
        let boom = |event| caught(event, || panic!("boom"));
        assert!(matches!(boom(HookEvent::PreToolUse), HookAnswer::Refuse(_)));
        for event in [
            HookEvent::Stop,
            HookEvent::SubagentStop,
            HookEvent::SessionStart,
            HookEvent::SessionEnd,
            HookEvent::PostToolUse,
        ] {
            assert!(matches!(boom(event), HookAnswer::Note(_)), "{event:?}");
        }
    }
}
