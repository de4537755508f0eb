//! The verbs (command words) of test scripts for work in git: a completed task delivers its work, and people merge or
//! drop it.

use engine::Command;
use engine::delivery::{
    CheckOutcome, DeliveredWork, Delivery, DeliveryMove, DeliveryReport, DeliveryState, DeliveryStatus,
    DeliverySubject, UncheckedReason,
};
use engine::sent_back::SendBackNote;

use crate::bench::{Bench, Words};
use crate::show::time;

/// Reads the work that a script line delivers when it completes a task: `branch=b check=checked within=c1`. `within`
/// names the commit of the workflow's branch that contains the work. Returns `None` when the line names no branch.
pub(crate) fn report(words: &mut Words) -> Result<Option<DeliveryReport>, String> {
    let (branch, check, in_plan) = (words.named("branch"), words.named("check"), words.named("within"));
    let Some(branch) = branch else { return Ok(None) };
    Ok(Some(DeliveryReport { check: outcome(check.as_deref())?, work: work(branch), in_plan }))
}

fn outcome(word: Option<&str>) -> Result<CheckOutcome, String> {
    let command = || "npm test".to_owned();
    let unchecked = |why| Ok(CheckOutcome::Unchecked { why });
    match word.unwrap_or("checked") {
        "checked" => Ok(CheckOutcome::Checked { command: command(), ms: 6_400 }),
        "flaky" => Ok(CheckOutcome::CheckedFlaky { command: command(), run: 2, of: 2, ms: 6_400 }),
        "no_changes" => Ok(CheckOutcome::NoChanges),
        "no_check" => unchecked(UncheckedReason::NoCheck),
        "not_run" => unchecked(UncheckedReason::NotRun),
        "baseline" => unchecked(UncheckedReason::Baseline { command: command() }),
        "timed_out" => unchecked(UncheckedReason::TimedOut { command: command() }),
        other => Err(format!("no outcome of a check {other}")),
    }
}

pub(crate) fn work(branch: String) -> DeliveredWork {
    DeliveredWork {
        branch,
        base_branch: Some("main".to_owned()),
        base: "c0".to_owned(),
        commit: "c1".to_owned(),
        tree: "t1".to_owned(),
        files: 3,
        added: 61,
        removed: 12,
        tries: 2,
    }
}

/// Reads a command about work in git from a script line: `merge TASK into`, `drop TASK kept`, `wait_again TASK from`,
/// `deliver WORKFLOW branch`. With `of=workflow`, the first word names a workflow and not a task.
pub(crate) fn command(bench: &mut Bench, verb: &str, words: &mut Words) -> Result<Command, String> {
    let name = words.word("a name")?;
    if verb == "send_back" {
        let (file, line) = (words.named("file"), words.number("line")?);
        let note = |file| SendBackNote { file, line, text: "look here".to_owned() };
        let (task, notes) = (bench.task(&name), file.map(note).into_iter().collect());
        return Ok(Command::SendTaskBack { task, text: words.word("a text")?, notes });
    }
    if verb == "take_as_is" {
        let work = words.named("branch").map(|branch| Box::new(work(branch)));
        return Ok(Command::TakeAsIs { task: bench.task(&name), reason: words.word("a reason")?, work });
    }
    if verb == "deliver" {
        let (branch, check) = (words.word("a branch")?, outcome(words.named("check").as_deref())?);
        return Ok(Command::DeliverWorkflow { workflow: bench.workflow(&name), check, work: Box::new(work(branch)) });
    }
    let subject = match words.named("of").as_deref() {
        Some("workflow") => DeliverySubject::Workflow(bench.workflow(&name)),
        _ => DeliverySubject::Task(bench.task(&name)),
    };
    let saw = words.named("saw");
    let saw = saw.map(|word| DeliveryStatus::parse(&word).ok_or("no such state of a delivery")).transpose()?;
    let (from, to) = match verb {
        "merge" => {
            let into = words.maybe().unwrap_or_else(|| "main".to_owned());
            (DeliveryStatus::Waiting, DeliveryMove::Merge { into, before: "m0".to_owned(), commit: "m1".to_owned() })
        }
        "drop" => (DeliveryStatus::Waiting, DeliveryMove::Drop { kept_as: words.maybe() }),
        _ => (DeliveryStatus::Merged, DeliveryMove::Wait),
    };
    Ok(Command::MoveDelivery { subject, from: saw.unwrap_or(from), to })
}

pub(crate) fn state(state: &DeliveryState) -> String {
    match state {
        DeliveryState::Waiting => "waiting".to_owned(),
        DeliveryState::InPlan { commit } => format!("in_plan at {commit}"),
        DeliveryState::Merged { into, before, commit, by, at } => {
            format!("merged into {into} from {before} to {commit} by {by} at {}", time(*at))
        }
        DeliveryState::Dropped { by, at, kept_as } => {
            let kept = kept_as.as_ref().map_or(String::new(), |name| format!(", kept as {name}"));
            format!("dropped by {by} at {}{kept}", time(*at))
        }
    }
}

pub(crate) fn check(check: &CheckOutcome) -> String {
    match check {
        CheckOutcome::Checked { command, ms } => format!("checked: {command} in {ms} ms"),
        CheckOutcome::CheckedFlaky { command, run, of, ms } => {
            format!("checked, flaky: {command} in {ms} ms on run {run} of {of}")
        }
        CheckOutcome::Unchecked { why } => format!("unchecked: {why:?}"),
        CheckOutcome::NoChanges => "no changes".to_owned(),
    }
}

/// Shows the work of a task in git as one line of text.
pub(crate) fn shown(row: &Delivery) -> String {
    let DeliveredWork { branch, files, added, removed, tries, .. } = &row.work;
    let work = format!("{branch} with {files} files +{added} -{removed} in {tries} tries");
    format!("{}, {}, {work}, attempt {} of {}", state(&row.state), check(&row.check), row.attempt, row.agent)
}
