//! The events of a run as JSON, for programs.

use engine::turn::Spent;
use serde_json::json;

use crate::attempt::shared::{CheckFailure, RunEvent, RunNews};

/// Returns the JSON event for an event of the run. Returns null for an event that is only shown to people.
pub(super) fn event(news: &RunNews) -> serde_json::Value {
    let base = |event: &str, more: serde_json::Value| {
        let mut all = json!({
            "event": event, "task_id": news.task.to_string(), "number": news.number, "task": news.name,
            "agent": news.agent,
        });
        if let (Some(all), serde_json::Value::Object(more)) = (all.as_object_mut(), more) {
            all.extend(more);
        }
        all
    };
    match &news.what {
        RunEvent::Claimed { attempt } => base("claimed", json!({"attempt": attempt})),
        RunEvent::Started { turn, purpose, retry } => {
            let retry = retry.as_ref().map(|retry| json!({"with": retry.with, "number": retry.number, "of": retry.of}));
            base("turn_started", json!({"turn_id": turn.to_string(), "purpose": purpose.as_str(), "retry": retry}))
        }
        RunEvent::Tool { turn, name, title } => {
            base("tool_call", json!({"turn_id": turn.to_string(), "tool": name, "title": title}))
        }
        RunEvent::Text { .. } | RunEvent::Spent { .. } => serde_json::Value::Null,
        RunEvent::Ended { turn, end, reason, verdict, spent, model } => {
            let verdict = verdict.as_ref().and_then(|verdict| serde_json::to_value(verdict).ok());
            let ended = json!({
                "turn_id": turn.to_string(), "end": end.as_str(), "reason": reason, "verdict": verdict, "model": model,
            });
            base("turn_ended", with_cost(ended, *spent))
        }
        RunEvent::Checking { command } => base("checking", json!({"command": command})),
        RunEvent::Setup { .. }
        | RunEvent::SetupFailed { .. }
        | RunEvent::Finished { .. }
        | RunEvent::NoChanges { .. }
        | RunEvent::Checked { .. }
        | RunEvent::Unchecked { .. }
        | RunEvent::CheckFailed { .. }
        | RunEvent::Rejected { .. }
        | RunEvent::BaselineFails { .. }
        | RunEvent::TipFailed { .. }
        | RunEvent::BaselinePasses { .. } => {
            let (name, more) = checks(&news.what);
            base(name, more)
        }
        RunEvent::Reviewed { session, found, open, problem } => {
            base("reviewed", json!({"session": session, "found": found, "open": open, "problem": problem}))
        }
        RunEvent::Merged { commit } => base("merged", json!({"commit": commit})),
        RunEvent::Conflict { paths } => base("conflict", json!({"paths": paths})),
        RunEvent::Completed { summary, spent, waits_for_merge } => {
            base("completed", with_cost(json!({"summary": summary, "waits_for_merge": waits_for_merge}), *spent))
        }
        RunEvent::Asks { question } => base("asks", json!({"question": question})),
        RunEvent::WantsApproval { approval, operation } => {
            base("wants_approval", json!({"approval_id": approval, "operation": operation}))
        }
        RunEvent::Blocked { kind, reason } => base("blocked", json!({"blocker_type": kind, "reason": reason})),
        RunEvent::Failed { reason } => base("failed", json!({"reason": reason})),
        RunEvent::Returned { reason } => base("returned", json!({"reason": reason})),
        RunEvent::Crashed { reason, again_ms, attempt, of } => {
            base("returned", json!({"reason": reason, "again_ms": again_ms, "attempt": attempt, "of": of}))
        }
        RunEvent::AgentRests { reason, advice, waiting } => {
            base("agent_rests", json!({"reason": reason, "advice": advice, "waiting": waiting}))
        }
        RunEvent::Warning { text } => base("warning", json!({"text": text})),
    }
}

/// Adds the members about the cost to an event. A cost that no program reported is null.
pub(super) fn with_cost(mut event: serde_json::Value, spent: Spent) -> serde_json::Value {
    let cost = [
        ("usd_micros", json!(spent.usd_micros)),
        ("tokens", json!(spent.tokens)),
        ("tokens_in", json!(spent.tokens_in)),
        ("tokens_out", json!(spent.tokens_out)),
        ("ms", json!(spent.ms)),
    ];
    if let Some(members) = event.as_object_mut() {
        members.extend(cost.map(|(name, value)| (name.to_owned(), value)));
    }
    event
}

/// Returns the name and the members of an event about setup, work and checks.
fn checks(what: &RunEvent) -> (&'static str, serde_json::Value) {
    match what {
        RunEvent::Setup { command } => ("setup", json!({"command": command})),
        RunEvent::SetupFailed { problem } => {
            let lines = &problem.last_lines;
            ("setup_failed", json!({"command": problem.command, "how": problem.how, "last_lines": lines}))
        }
        RunEvent::Finished { files, added, removed, summary } => {
            ("finished", json!({"files": files, "added": added, "removed": removed, "summary": summary}))
        }
        RunEvent::NoChanges { summary } => ("no_changes", json!({"summary": summary})),
        RunEvent::Checked { command, ms, flaky } => {
            let flaky = flaky.map(|(run, of)| json!({"run": run, "of": of}));
            ("checked", json!({"command": command, "ms": ms, "flaky": flaky}))
        }
        RunEvent::Unchecked { why } => ("unchecked", json!({"why": why})),
        RunEvent::CheckFailed { command, end, runs, last_line } => {
            let exit_code = if let CheckFailure::Exited(code) = end { Some(code) } else { None };
            ("check_failed", json!({"command": command, "exit_code": exit_code, "runs": runs, "last_line": last_line}))
        }
        RunEvent::Rejected { problem } => ("rejected", json!({"problem": problem})),
        RunEvent::BaselineFails { command, exit_code, last_line } => {
            ("baseline_fails", json!({"command": command, "exit_code": exit_code, "last_line": last_line}))
        }
        RunEvent::TipFailed { branch, command, last_line, tasks } => {
            ("tip_failed", json!({"branch": branch, "command": command, "last_line": last_line, "tasks": tasks}))
        }
        RunEvent::BaselinePasses { command } => ("baseline_passes", json!({"command": command})),
        RunEvent::Claimed { .. }
        | RunEvent::Started { .. }
        | RunEvent::Tool { .. }
        | RunEvent::Text { .. }
        | RunEvent::Spent { .. }
        | RunEvent::Ended { .. }
        | RunEvent::Checking { .. }
        | RunEvent::Reviewed { .. }
        | RunEvent::Merged { .. }
        | RunEvent::Conflict { .. }
        | RunEvent::Completed { .. }
        | RunEvent::Asks { .. }
        | RunEvent::WantsApproval { .. }
        | RunEvent::Blocked { .. }
        | RunEvent::Failed { .. }
        | RunEvent::Returned { .. }
        | RunEvent::Crashed { .. }
        | RunEvent::AgentRests { .. }
        | RunEvent::Warning { .. } => ("", serde_json::Value::Null),
    }
}

#[cfg(test)]
mod tests {
    use engine::id::{TaskId, TurnId};
    use engine::turn::TurnEnd;

    use super::*;

    fn told(what: RunEvent) -> serde_json::Value {
        let (name, agent) = ("Fix login".to_owned(), "claude".to_owned());
        event(&RunNews { task: TaskId::FIRST, number: Some(1), name, agent, what })
    }

    #[test]
    fn events_have_the_cost_with_tokens_apart_and_null_for_the_unknown() {
        let known = Spent {
            usd_micros: Some(120_000),
            tokens: Some(13_300),
            tokens_in: Some(12_400),
            tokens_out: Some(900),
            ms: 3,
            turns: 1,
        };
        let cost = |event: &serde_json::Value| {
            ["usd_micros", "tokens", "tokens_in", "tokens_out", "ms"].map(|name| event[name].clone()).to_vec()
        };
        let (turn, end, reason, verdict) = (TurnId::FIRST, TurnEnd::Finished, None, None);
        let ended = told(RunEvent::Ended { turn, end, reason, verdict, spent: known, model: Some("opus".to_owned()) });
        assert_eq!(cost(&ended), vec![json!(120_000), json!(13_300), json!(12_400), json!(900), json!(3)]);
        assert_eq!((&ended["event"], &ended["model"]), (&json!("turn_ended"), &json!("opus")));
        let unknown = Spent { ms: 4, ..Spent::default() };
        let done = told(RunEvent::Completed { summary: String::new(), spent: unknown, waits_for_merge: true });
        let null = serde_json::Value::Null;
        assert_eq!(cost(&done), vec![null.clone(), null.clone(), null.clone(), null, json!(4)]);
        assert_eq!((&done["event"], &done["waits_for_merge"]), (&json!("completed"), &json!(true)));
    }
}
