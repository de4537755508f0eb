//! The responses to merges that stop: a code, a message, the next step, and the data of the reason.

use base::people::delivered::{FinishedWork, short};
use base::people::task_choice::NamedWork;
use git::land::LandingRefusal;
use http::StatusCode;
use wire::json::{Value, object};
use wire::visible;
use work::landing::{LandingStop, MergedFailure, NotMergeable};

use super::acts::texts;
use super::problem::HttpProblem;
use super::work_place::not_now;

/// Returns a problem with the data of its reason. The person can remove the reason and try again.
fn problem(code: &'static str, message: String, next: &str, details: Value) -> HttpProblem {
    let mut problem = HttpProblem::new(StatusCode::CONFLICT, code, message, next);
    (problem.said.recoverable, problem.said.details) = (true, Some(details));
    problem
}

fn title(work: &FinishedWork) -> String {
    let name = visible::one_line(&work.name);
    work.number.map_or_else(|| name.clone(), |number| format!("{number} {name}"))
}

/// Returns the response for a task or plan that has no finished work.
pub(super) fn without_work(named: &NamedWork) -> HttpProblem {
    let (name, status) = match named {
        NamedWork::Task(task) => {
            (format!("task {} {}", task.number, visible::one_line(&task.name)), task.status().as_str())
        }
        NamedWork::Plan(plan) => (format!("the plan {}", visible::one_line(&plan.name)), plan.status.as_str()),
    };
    let message = format!("{name} has no work yet: it is {}", status.replace('_', " "));
    HttpProblem::new(StatusCode::NOT_FOUND, "WORK_NOT_FOUND", message, "wait until an agent has worked on it")
}

/// Returns the response for work that is not the work that the person saw.
pub(super) fn tree_changed(work: &FinishedWork) -> HttpProblem {
    let message = format!("the work of {} changed since it was shown", title(work));
    let details = object([("tree", work.work.tree.as_str().into())]);
    problem("TREE_CHANGED", message, "look at the difference again, then merge its tree", details)
}

/// Returns the response for work that is not waiting to be merged.
pub(super) fn unmergeable(work: &FinishedWork, why: &NotMergeable) -> HttpProblem {
    let name = title(work);
    match why {
        NotMergeable::NoChanges => {
            let (message, next) = (format!("{name} changed no file"), "take it as it is, send it back or drop it");
            HttpProblem::new(StatusCode::CONFLICT, "NOTHING_TO_MERGE", message, next)
        }
        NotMergeable::InPlan => not_now(
            format!("{name} is part of a plan, which is merged as a whole"),
            "merge the plan: POST /api/v1/workflows/{id}/merge",
        ),
        NotMergeable::Merged { into, commit } => {
            let message = format!("{name} is already merged into {} as {}", visible::one_line(into), short(commit));
            let details = object([("into", visible::one_line(into).into()), ("commit", commit.as_str().into())]);
            let mut found = problem("ALREADY_MERGED", message, "read the task again", details);
            found.said.recoverable = false;
            found
        }
        NotMergeable::Dropped => not_now(format!("{name} was dropped"), "restore it first"),
    }
}

/// Returns the response for a merge that stopped. Nothing was merged.
pub(super) fn stopped(work: &FinishedWork, stop: &LandingStop) -> HttpProblem {
    let name = title(work);
    match stop {
        LandingStop::Conflict { target, paths, more } => {
            let target = visible::one_line(target);
            let message = format!("{name} and {target} changed the same places in {}", joined(paths));
            let details =
                object([("target", target.as_str().into()), ("paths", texts(paths)), ("more", (*more).into())]);
            let next = format!("send it back: \"Merge {target} into your branch and resolve the conflicts\"");
            problem("MERGE_CONFLICT", message, &next, details)
        }
        LandingStop::HasState { path } => {
            let paths = std::slice::from_ref(path);
            let message = format!("{name} has {}, where Handover keeps its own state", joined(paths));
            let next = "send it back, and ask the agent to remove the file";
            problem("MERGE_REFUSED", message, next, object([("paths", texts(paths))]))
        }
        LandingStop::Refused(refusal) => refused(refusal),
        LandingStop::OtherTip { branch, tip, delivered } => {
            let branch = visible::one_line(branch);
            let message =
                format!("the branch {branch} is at {}, but {name} was delivered at {}", short(tip), short(delivered));
            let next = format!("set it back with git branch --force {branch} {}", short(delivered));
            let details = object([
                ("branch", branch.as_str().into()),
                ("tip", tip.as_str().into()),
                ("delivered", delivered.as_str().into()),
            ]);
            problem("MERGE_REFUSED", message, &next, details)
        }
        LandingStop::Unchecked(failure) => unchecked(failure),
        LandingStop::TooManyCommits => {
            let message = "new commits arrive on the branch faster than it can be merged into".to_owned();
            problem("MERGE_REFUSED", message, "try again", object([]))
        }
    }
}

/// Returns the response for a branch that git cannot move now.
fn refused(refusal: &LandingRefusal) -> HttpProblem {
    let message = visible::one_line(&refusal.to_string());
    let (message, next) = match message.rsplit_once("; ") {
        Some((message, next)) => (message.to_owned(), next.to_owned()),
        None => (message, "change this in the repository, then try again".to_owned()),
    };
    match refusal {
        LandingRefusal::LocalChanges { files, .. } | LandingRefusal::InTheWay { files, .. } => {
            problem("LOCAL_CHANGES", message, &next, object([("files", texts(files))]))
        }
        LandingRefusal::Filtered { files, .. } => {
            problem("MERGE_REFUSED", message, &next, object([("files", texts(files))]))
        }
        LandingRefusal::Detached { .. }
        | LandingRefusal::Unfinished { .. }
        | LandingRefusal::BranchMissing { .. }
        | LandingRefusal::TargetMoved { .. }
        | LandingRefusal::CameAfter { .. } => problem("MERGE_REFUSED", message, &next, object([])),
    }
}

/// Returns the response for a merged result that did not pass.
fn unchecked(failure: &MergedFailure) -> HttpProblem {
    let next = "send it back, or fix your branch and try again";
    let detail = |command: &str, last: &str| {
        object([
            ("command", visible::decided(command).into()),
            ("last_lines", visible::lines(&visible::redacted(last)).into()),
        ])
    };
    match failure {
        MergedFailure::Setup { command, how, last_lines } => {
            let message = format!("{} {how} on the merged result", visible::decided(command));
            problem("CHECK_FAILED", message, next, detail(command, last_lines))
        }
        MergedFailure::Check { command, last_line } => {
            let message = format!("{} fails on the merged result", visible::decided(command));
            problem("CHECK_FAILED", message, next, detail(command, last_line))
        }
        MergedFailure::Unnamed => {
            problem("CHECK_FAILED", "a check fails on the merged result".to_owned(), next, object([]))
        }
        MergedFailure::NotTrusted { problem: told } => {
            let told = visible::one_line(told.strip_prefix("NOT_TRUSTED ").unwrap_or(told));
            let (message, next) = told.rsplit_once("; ").unwrap_or((&told, "accept the settings: `handover trust`"));
            HttpProblem::new(StatusCode::CONFLICT, "NOT_TRUSTED", message, next)
        }
    }
}

/// Returns a list of paths as they appear in a sentence.
fn joined(paths: &[String]) -> String {
    paths.iter().map(|path| visible::one_line(path)).collect::<Vec<_>>().join(", ")
}
