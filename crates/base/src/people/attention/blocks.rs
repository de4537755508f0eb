//! Finds out why a task is blocked, by the words of the stored reason. The result decides which commands a person is
//! offered.

use engine::task::{BlockKind, TaskBlock};
use engine::turn::Spent;

use super::cause::AttentionCause;

/// The first words of the reason when a task is blocked because the agent changed no file. By these words, the reason
/// is recognised later.
pub const NO_CHANGES: &str = "no changes";
/// The words before the agent's last words, in the reason of a task that is blocked because no file was changed.
const SAID: &str = "the agent said: ";
/// The words by which a reason says that a task is blocked because its output failed its checks too often.
const FAILED_CHECK: &str = "the task's output failed verification ";
/// The code before the description of a failed check, in the reason of a blocked task.
const CHECK_CODE: &str = "CHECK_FAILED: ";
/// The words before the list of files, in the reason of a task that is blocked because of a merge conflict.
const CONFLICTS: [&str; 2] = [
    "the task's files still conflict with finished work of other tasks: ",
    "the task's files still have conflict markers: ",
];
const LIMIT: &str = "the limit is reached: ";

/// A summary of the work on a blocked task.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct BlockedWork {
    /// The agent that worked on the task last.
    pub(super) agent: Option<String>,
    /// The number of turns (runs of the agent's program) in the last attempt at the task.
    pub(super) tries: u32,
    pub(super) spent: Spent,
}

pub(super) fn cause(block: &TaskBlock, work: BlockedWork) -> AttentionCause {
    let reason = block.reason.as_str();
    let BlockedWork { agent, tries, spent } = work;
    match block.kind {
        BlockKind::VerificationFail if reason.starts_with(NO_CHANGES) => {
            let said = reason.split_once(SAID).map_or(reason, |(_, said)| said).to_owned();
            AttentionCause::NoChanges { said, agent, tries, usd_micros: spent.usd_micros }
        }
        BlockKind::VerificationFail if reason.starts_with(FAILED_CHECK) => {
            let times = reason[FAILED_CHECK.len()..].split(' ').next().and_then(|word| word.parse().ok());
            let (check, last_line) = failed_check(reason);
            AttentionCause::CheckFailed { failures: times.unwrap_or(1), check, last_line, agent, tries }
        }
        BlockKind::Dependency => match CONFLICTS.iter().find_map(|words| reason.strip_prefix(words)) {
            Some(paths) => AttentionCause::Conflict { path: paths.to_owned(), other: None, agent, tries },
            None => blocked(block, agent),
        },
        BlockKind::Resource => {
            let limit = limit(reason);
            AttentionCause::Budget { limit, turns: spent.turns, files: None }
        }
        BlockKind::VerificationFail | BlockKind::SpecGap | BlockKind::ToolFailure | BlockKind::Ambiguity => {
            blocked(block, agent)
        }
    }
}

fn blocked(block: &TaskBlock, agent: Option<String>) -> AttentionCause {
    AttentionCause::Blocked { agent, reason: block.reason.clone(), kind: block.kind.as_str().to_owned() }
}

/// Returns how a failed check ended, and the last line of the check's output. Both are parts of the reason of a blocked
/// task.
fn failed_check(reason: &str) -> (String, String) {
    let found = reason.lines().find_map(|line| line.strip_prefix(CHECK_CODE));
    let Some(found) = found else {
        let (first, rest) = reason.split_once('\n').unwrap_or((reason, ""));
        return (first.to_owned(), rest.lines().next().unwrap_or_default().to_owned());
    };
    let check = found.split_once("; ").map_or(found, |(check, _)| check).to_owned();
    // The output of the check is between two lines of backticks, which are skipped.
    let is_output = |line: &&str| !line.trim().is_empty() && !line.starts_with("```");
    let tail = reason.split_once(found).map(|(_, tail)| tail).unwrap_or_default();
    (check, tail.lines().rfind(is_output).unwrap_or_default().to_owned())
}

/// Returns a reached limit as people read it: `$5.00 of $5.00` for money, otherwise the reason itself.
fn limit(reason: &str) -> String {
    let told = reason.strip_prefix(LIMIT).unwrap_or(reason);
    let money = told.strip_suffix(" dollars are spent").and_then(|amounts| amounts.split_once(" of "));
    money.map_or_else(|| told.to_owned(), |(spent, bound)| format!("${spent} of ${bound}"))
}

#[cfg(test)]
mod tests {
    use engine::Actor;

    use super::*;

    #[test]
    fn the_reason_of_a_block_decides_about_the_cause() {
        let failed = "the task's output failed verification 2 times: CHECK_FAILED\nCHECK_FAILED: `npm test` exited 1 \
                      after 6.4 s; the last output of the check:\n```untrusted from a check\nok 1\n1 failing: keeps the \
                      query\n```";
        let rows = [
            (
                BlockKind::VerificationFail,
                "no changes: the task was to change files and changed none; the agent said: All done.",
                "NoChanges { said: \"All done.\", agent: Some(\"claude\"), tries: 2, usd_micros: Some(5) }",
            ),
            (
                BlockKind::VerificationFail,
                failed,
                "CheckFailed { failures: 2, check: \"`npm test` exited 1 after 6.4 s\", last_line: \"1 failing: keeps \
                 the query\", agent: Some(\"claude\"), tries: 2 }",
            ),
            (
                BlockKind::Dependency,
                "the task's files still conflict with finished work of other tasks: src/api.rs",
                "Conflict { path: \"src/api.rs\", other: None, agent: Some(\"claude\"), tries: 2 }",
            ),
            (
                BlockKind::Resource,
                "the limit is reached: 5.00 of 5.00 dollars are spent",
                "Budget { limit: \"$5.00 of $5.00\", turns: 9, files: None }",
            ),
            (
                BlockKind::Resource,
                "the limit is reached: 3 of 3 turns are used",
                "Budget { limit: \"3 of 3 turns are used\", turns: 9, files: None }",
            ),
            (
                BlockKind::Dependency,
                "needs v2",
                "Blocked { agent: Some(\"claude\"), reason: \"needs v2\", kind: \"dependency\" }",
            ),
            (
                BlockKind::VerificationFail,
                "the output is invalid",
                "Blocked { agent: Some(\"claude\"), reason: \"the output is invalid\", kind: \"verification_fail\" }",
            ),
        ];
        for (kind, reason, expected) in rows {
            let block = TaskBlock { by: Actor::Runner, kind, reason: reason.to_owned(), role: "pm".to_owned() };
            let spent = Spent { usd_micros: Some(5), turns: 9, ..Spent::default() };
            let work = BlockedWork { agent: Some("claude".to_owned()), tries: 2, spent };
            assert_eq!(format!("{:?}", cause(&block, work)), expected);
        }
    }
}
