//! `handover task show` for people: what became of the task in a few lines, then all fields of the reply.

use base::ground::local_time::LocalClock;
use base::ground::words::{self, CostKnowledge, count};
use base::people::delivered::{short, size_words};
use engine::turn::Spent;
use wire::json::Value;

use super::outline::{moment, outline};
use super::show::{coloured, plain};

/// The blanks before the lines under the name of a task.
const INDENT: &str = "    ";
/// The members of the reply of `task_get` that the first lines of the output show in words.
const IN_WORDS: [&str; 8] =
    ["number", "name", "workflow_name", "status", "finished_by", "finished_at", "spent", "delivery"];

/// Returns the reply of `task_get` as a person reads it.
pub(super) fn text(value: &Value) -> String {
    let Value::Object(members) = value else { return String::new() };
    let rest = outline(members.iter().filter(|(name, _)| !IN_WORDS.contains(&name.as_str())));
    format!("{}\n{rest}", summary(value, &LocalClock::here()))
}

/// Returns who did a task, when, from which commit, on which branch, with which check and what became of the work.
fn summary(value: &Value, clock: &LocalClock) -> String {
    let plan = word(value, "workflow_name").map(|plan| format!(" of {plan}")).unwrap_or_default();
    let status = word(value, "status").map(|status| coloured(&status)).unwrap_or_default();
    let finished = word(value, "finished_by").map(|by| {
        let at = time(value, "finished_at", clock).map(|at| format!(" at {at}")).unwrap_or_default();
        format!(" by {}{at}", person(&by))
    });
    let mut lines = vec![
        super::work::numbered(whole(value, "number"), &word(value, "name").unwrap_or_default()),
        format!("{INDENT}{status}{}{plan}", finished.unwrap_or_default()),
    ];
    let delivery = value.get("delivery").filter(|delivery| matches!(delivery, Value::Object(_)));
    lines.extend(cost(value, delivery));
    if let Some(delivery) = delivery {
        lines.extend(delivered(delivery, clock));
    }
    lines.join("\n") + "\n"
}

/// Returns the agent, the tries and the cost: `claude, 2 tries, $0.42, 4 min 5 s, 3 turns`.
fn cost(value: &Value, delivery: Option<&Value>) -> Option<String> {
    let agent = delivery.and_then(|delivery| word(delivery, "agent"));
    let tries = delivery.map(|delivery| count(whole(delivery, "tries").max(1), "try"));
    let spent = value.get("spent").filter(|spent| matches!(spent, Value::Object(_))).map(|spent| {
        let amount = |name: &str| spent.get(name).and_then(|value| value.to_string().parse().ok());
        let spent = Spent {
            usd_micros: amount("usd_micros"),
            tokens: amount("tokens"),
            tokens_in: amount("tokens_in"),
            tokens_out: amount("tokens_out"),
            ms: amount("seconds").unwrap_or(0).saturating_mul(1_000),
            turns: whole(spent, "turns"),
        };
        words::spent(spent, CostKnowledge::Complete)
    });
    let parts: Vec<String> = [agent, tries, spent].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{INDENT}{}", parts.join(", ")))
}

/// Returns the lines about the work in git: the check, the branch and the state.
fn delivered(delivery: &Value, clock: &LocalClock) -> Vec<String> {
    let part = |name: &str| word(delivery, name).unwrap_or_default();
    let commit = |name: &str| short(&part(name)).to_owned();
    let from = match word(delivery, "base_branch") {
        Some(branch) => format!("from {branch} at {}", commit("base")),
        None => format!("from {}", commit("base")),
    };
    let size = |name: &str| u64::from(whole(delivery, name));
    let size = size_words(size("files"), size("added"), size("removed"));
    let at = |name: &str| time(delivery, name, clock).map(|at| format!(" at {at}")).unwrap_or_default();
    let state = match part("state").as_str() {
        "merged" => {
            let by = person(&part("merged_by"));
            format!("merged into {} as {} by {by}{}", part("merged_into"), commit("merge_commit"), at("merged_at"))
        }
        "dropped" => format!("dropped by {}{}", person(&part("dropped_by")), at("dropped_at")),
        "in_plan" => format!("in the branch of its plan as {}", commit("plan_commit")),
        _ => "not merged yet".to_owned(),
    };
    let lines = [part("check"), format!("{from}; branch {} at {}; {size}", part("branch"), commit("commit")), state];
    lines.into_iter().map(|line| format!("{INDENT}{line}")).collect()
}

fn word(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_text).filter(|text| !text.is_empty()).map(plain)
}

fn whole(value: &Value, name: &str) -> u32 {
    value.get(name).and_then(|value| value.to_string().parse().ok()).unwrap_or(0)
}

fn time(value: &Value, name: &str, clock: &LocalClock) -> Option<String> {
    clock.full(moment(name, value.get(name)?)?)
}

/// Returns the name of an actor for people. The log calls a person `human` and Handover itself `system`.
fn person(actor: &str) -> String {
    match actor {
        "human" => "a person".to_owned(),
        "system" => "Handover".to_owned(),
        "runner" => "the runner".to_owned(),
        "coordinator" => "a coordinator".to_owned(),
        agent => agent.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use engine::Timestamp;

    use super::*;

    fn shown(json: &str) -> String {
        let value = wire::json::parse(json).unwrap().to_value();
        let clock = LocalClock::fixed(Timestamp(1_794_958_205_000));
        anstream::adapter::strip_str(&summary(&value, &clock)).to_string()
    }

    #[test]
    fn merged_work_says_who_did_it_when_from_which_base_and_with_which_commit() {
        let text = shown(
            r#"{"number": 12, "name": "Fix login", "workflow_name": "Tasks", "status": "completed",
                "finished_by": "claude", "finished_at": 1794958205000,
                "spent": {"usd_micros": 420000, "tokens": 13300, "tokens_in": 12400, "tokens_out": 900, "seconds": 245,
                    "turns": 3},
                "delivery": {"state": "merged", "check": "checked: npm test passed in 6.5 s", "agent": "claude",
                    "tries": 2, "base_branch": "main", "base": "4f2c1aa9d0", "branch": "handover/12-fix-login",
                    "commit": "7d0c2f1a4b", "files": 3, "added": 61, "removed": 12, "merged_into": "main",
                    "merge_commit": "91c0be4000", "merged_by": "human", "merged_at": 1794958205000}}"#,
        );
        assert_eq!(
            text,
            "12  Fix login\n\
             \u{20}   completed by claude at 2026-11-17 23:30:05 of Tasks\n\
             \u{20}   claude, 2 tries, $0.42, 12,400 tokens in, 900 out, 4 min 5 s, 3 turns\n\
             \u{20}   checked: npm test passed in 6.5 s\n\
             \u{20}   from main at 4f2c1aa; branch handover/12-fix-login at 7d0c2f1; 3 files, +61 −12\n\
             \u{20}   merged into main as 91c0be4 by a person at 2026-11-17 23:30:05\n"
        );
    }

    #[test]
    fn a_task_without_work_has_only_its_state() {
        let text = shown(r#"{"number": 3, "name": "Docs", "workflow_name": "Tasks", "status": "pending"}"#);
        assert_eq!(text, " 3  Docs\n    pending of Tasks\n");
    }
}
