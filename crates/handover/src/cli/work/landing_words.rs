//! The texts of `handover merge`: the size and the checks of a merged commit, and why nothing was merged.

use base::ground::words;
use base::people::delivered::{FinishedWork, short, size_words};
use engine::delivery::CheckOutcome;
use git::land::Landing;
use runner::verify::project::CheckedWork;
use work::landing::{LandingStop, MergedFailure, MergedJudgement, NotMergeable, ReadyLanding};

use super::super::show::plain;

/// Returns the number and the name of a task as they appear in a sentence: `1 Fix the login`. A plan has no number.
pub(super) fn title(work: &FinishedWork) -> String {
    work.number.map_or_else(|| plain(&work.name), |number| format!("{number} {}", plain(&work.name)))
}

/// Returns the sentence that tells a person why this work is not waiting to be merged.
pub(super) fn unmergeable(work: &FinishedWork, why: &NotMergeable) -> String {
    let (name, argument) = (title(work), work.argument());
    match why {
        NotMergeable::NoChanges => format!(
            "{name} changed no file, so there is nothing to merge. What the agent said: handover logs {argument}"
        ),
        NotMergeable::InPlan => {
            format!("{name} is part of a plan, which is merged as a whole: handover merge PLAN")
        }
        NotMergeable::Merged { into, commit } => {
            format!("{name} is already merged into {} as {}.", plain(into), short(commit))
        }
        NotMergeable::Dropped => format!("{name} was dropped. Bring it back: handover drop {argument} --undo"),
    }
}

/// Returns the words that say how far the person's branch moved since the check.
pub(super) fn moved(landing: &Landing) -> String {
    format!("{} moved since the check ({})", plain(&landing.target), words::count(landing.moved_commits, "commit"))
}

pub(super) fn size_of(landing: &Landing) -> String {
    let changes = &landing.changes;
    size_words(u64::try_from(changes.files).unwrap_or(u64::MAX), changes.added, changes.removed)
}

/// Returns a sentence about the checks of a merged commit: `checked: npm test passed on the merged result`.
pub(super) fn checked(work: &FinishedWork, ready: &ReadyLanding) -> String {
    match &ready.judgement {
        MergedJudgement::SameTree => same_tree(work),
        MergedJudgement::Later => format!("{}, so the merged result is checked first", moved(&ready.landing)),
        MergedJudgement::NotNeeded => {
            format!("{}; {}, but not in files of this work", work.checked(), moved(&ready.landing))
        }
        MergedJudgement::NotAccepted => "unchecked: you have accepted no check on this machine".to_owned(),
        MergedJudgement::Judged(judged) => match judged {
            CheckedWork::Checked { command, .. } => format!("checked: {command} passed on the merged result"),
            CheckedWork::CheckedFlaky { command, run, of, .. } => {
                format!("checked, flaky: {command} passed on run {run} of {of} on the merged result")
            }
            CheckedWork::Unchecked(why) => format!("unchecked: {}", why.told(&ready.landing.target)),
            CheckedWork::Failed => failure(&MergedFailure::Unnamed),
        },
    }
}

/// Returns a sentence with the results of the checks that already ran on the work. The merged commit has exactly the
/// files that were checked, so no check must run again.
fn same_tree(work: &FinishedWork) -> String {
    match &work.check {
        CheckOutcome::Checked { command, .. } => format!("checked: {command} passed on exactly this tree"),
        CheckOutcome::CheckedFlaky { command, run, of, .. } => {
            format!("checked, flaky: {command} passed on run {run} of {of} on exactly this tree")
        }
        CheckOutcome::Unchecked { .. } | CheckOutcome::NoChanges => work.checked(),
    }
}

/// Returns the text that tells a person why nothing was merged, and what to do next.
pub(super) fn stopped(work: &FinishedWork, stop: &LandingStop) -> String {
    let (name, argument) = (title(work), work.argument());
    match stop {
        LandingStop::Conflict { target, paths, more } => conflict(work, target, paths, *more),
        LandingStop::HasState { path } => format!(
            "{name} has {}, where Handover keeps its own state, so it is not merged. Send it back: handover send-back \
             {argument} \"Remove {}\"",
            plain(path),
            plain(path)
        ),
        LandingStop::Refused(refusal) => format!("Nothing was merged: {refusal}"),
        LandingStop::OtherTip { branch, tip, delivered } => {
            let (branch, tip, delivered) = (plain(branch), short(tip), short(delivered));
            format!(
                "The branch {branch} is at {tip}, but {name} was delivered at {delivered}. Look at it with git log \
                 {branch}; set it back with git branch --force {branch} {delivered}"
            )
        }
        LandingStop::Unchecked(why) => {
            format!("Nothing was merged: {}\nSend it back: handover send-back {argument} \"...\"", plain(&failure(why)))
        }
        LandingStop::TooManyCommits => "Nothing was merged: new commits arrive on the branch faster than it can be \
             merged into. Try again."
            .to_owned(),
    }
}

fn failure(why: &MergedFailure) -> String {
    match why {
        MergedFailure::Setup { command, how, last_lines } => {
            format!("{command} {how} on the merged result: {last_lines}")
        }
        MergedFailure::Check { command, last_line } => format!("{command} fails on the merged result: {last_line}"),
        MergedFailure::Unnamed => "a check failed on the merged result".to_owned(),
        MergedFailure::NotTrusted { problem } => format!("the merged result cannot be checked: {problem}"),
    }
}

fn conflict(work: &FinishedWork, target: &str, paths: &[String], more: bool) -> String {
    let paths = paths.iter().map(|path| plain(path)).collect::<Vec<_>>().join(", ");
    let more = if more { " and more" } else { "" };
    let (name, target) = (title(work), plain(target));
    format!(
        "Nothing was merged: {name} and {target} changed the same places in {paths}{more}.\nLet the agent resolve it: \
         handover send-back {} \"Merge {target} into your branch and resolve the conflicts\"",
        work.argument()
    )
}
