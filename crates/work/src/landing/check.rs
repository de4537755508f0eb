//! Runs the checks of the project on a merged commit before the person's branch moves to it, and judges their results.

use base::project::trust::Untrusted;
use engine::id::TaskId;
use git::land::Landing;
use runner::claim::merged::{MergedCheck, MergedCommits, MergedProblem, MergedStep, check_merged};
use runner::claim::open::{NotOpened, RunSite};
use runner::verify::project::{CheckedWork, ProjectCheckResult, ProjectVerdict};

use super::{LandingWatch, MergedFailure, MergedJudgement};
use crate::error::WorkError;

/// Runs the checks of the project, and those of the task itself, on the merged commit. The caller must hold the lock
/// that allows one merge at a time. When the returned future is dropped, the running check is ended.
pub(super) async fn check(
    run: RunSite<'_>,
    (landing, task): (&Landing, Option<TaskId>),
    watch: &mut dyn LandingWatch,
) -> Result<Result<MergedJudgement, MergedFailure>, WorkError> {
    let commits = MergedCommits { result: &landing.commit, before: &landing.tip, work: &landing.work_tip, task };
    watch.begins(landing);
    let mut step = |step: MergedStep| watch.step(step);
    let found = match check_merged(run, commits, &mut step).await {
        Ok(found) => found,
        Err(MergedProblem::NotOpened(NotOpened::Untrusted(untrusted))) => return not_trusted(untrusted),
        Err(problem) => return Err(problem.into()),
    };
    watch.checked(&found);
    Ok(match found {
        MergedCheck::NotNeeded => Ok(MergedJudgement::NotNeeded),
        MergedCheck::SetupFailed(problem) => {
            let (command, how, last_lines) = (problem.command, problem.how, problem.last_lines);
            Err(MergedFailure::Setup { command, how, last_lines })
        }
        MergedCheck::Ran { outcome: CheckedWork::Failed, results } => Err(failed(&results)),
        MergedCheck::Ran { outcome, .. } => Ok(MergedJudgement::Judged(outcome)),
    })
}

/// Judges a project whose settings no person accepted, or accepted only in part.
fn not_trusted(untrusted: Untrusted) -> Result<Result<MergedJudgement, MergedFailure>, WorkError> {
    match untrusted {
        Untrusted::Settings(_) => Err(MergedProblem::NotOpened(NotOpened::Untrusted(untrusted)).into()),
        // No person accepted a command of this project on this machine, so no check may run.
        Untrusted::Never { .. } | Untrusted::Nowhere => Ok(Ok(MergedJudgement::NotAccepted)),
        Untrusted::Changed { .. } | Untrusted::Unreadable(_) => {
            Ok(Err(MergedFailure::NotTrusted { problem: untrusted.to_string() }))
        }
    }
}

fn failed(results: &[ProjectCheckResult]) -> MergedFailure {
    let failed = results.iter().find(|result| result.verdict == ProjectVerdict::Failed);
    failed.map_or(MergedFailure::Unnamed, |result| MergedFailure::Check {
        command: result.command(),
        last_line: result.last_line.clone(),
    })
}
