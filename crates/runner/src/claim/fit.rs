//! Checks that a workflow has everything that its tasks need. When something is missing, the runner claims no task of
//! the workflow.

use std::collections::BTreeSet;

use engine::id::WorkflowId;
use engine::task::Status;
use engine::view;

use crate::attempt::shared::RunnerShared;
use crate::review::provider::slug;
use crate::verify;
use base::error::Error;
use base::project::task_extra::TaskExtra;

/// The largest number of problems of a workflow that are reported. Further problems are reported after these are fixed.
const TOLD_MAX: usize = 20;
const PAGE: u32 = 500;

/// Returns the missing requirements of a workflow's open tasks: contracts, schemas, an evaluator, reviewers, or a valid
/// brief.
pub(crate) async fn lacks(shared: &RunnerShared, workflow: WorkflowId) -> Result<Vec<String>, Error> {
    let mut lacks = BTreeSet::new();
    let mut after = None;
    let open = [Status::Pending, Status::Planning, Status::InProgress, Status::Paused];
    while lacks.len() < TOLD_MAX {
        let page = shared.service.view(move |world| view::tasks(world, workflow, &open, after, PAGE)).await?;
        for row in &page.rows {
            let reviewer = TaskExtra::of(&row.detail).review;
            if let Some(named) = reviewer.filter(|named| slug(&shared.settings, named, None).is_none()) {
                let what = format!(
                    "the task must be reviewed by `{named}`, but no agent in .handover/config.toml has this name or \
                     role; add one, accept it with `handover trust`, and run again"
                );
                lacks.insert(format!("{}: {what}", row.task.name));
            }
            let brief = match verify::stored_brief(&row.detail) {
                Ok(Some(brief)) => brief,
                Ok(None) => continue,
                Err(problem) => {
                    lacks.insert(format!("{}: {problem}", row.task.name));
                    continue;
                }
            };
            if let Err(problem) = verify::resolve(&shared.settings, &brief.output_contract) {
                lacks.insert(format!("{}: {problem}", row.task.name));
            }
            if brief.output_contract.evaluate.get().is_some() && shared.settings.evaluator.is_none() {
                let what = "the task's output must be evaluated, but the settings name no evaluator; add \
                    `[evaluator]` with `agent = \"SLUG\"` to .handover/config.toml, accept it with `handover trust`, \
                    and run again";
                lacks.insert(format!("{}: {what}", row.task.name));
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(lacks.into_iter().take(TOLD_MAX).collect())
}
