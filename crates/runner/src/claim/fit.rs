//! Checks that a workflow has everything that its tasks need. When something is missing, the runner claims no task of a
//! plan. In the standing list (the workflow for single tasks), it skips only the tasks that lack something.

use std::collections::BTreeSet;

use base::Service;
use base::error::Error;
use base::project::settings::TeamSettings;
use base::project::task_extra::TaskExtra;
use engine::task::Status;
use engine::view;
use engine::workflow::Workflow;

use super::lack::TaskLack;
use crate::review::provider::slug;
use crate::verify;

/// The largest number of problems of a workflow that are reported. Further problems are reported after these are fixed.
const TOLD_MAX: usize = 20;
const PAGE: u32 = 500;

/// Returns the missing requirements of a workflow's open tasks: contracts, schemas, an evaluator, reviewers, or a valid
/// brief.
pub(crate) async fn lacks(
    service: &Service,
    settings: &TeamSettings,
    workflow: &Workflow,
) -> Result<Vec<TaskLack>, Error> {
    let mut lacks = BTreeSet::new();
    let (id, mut after) = (workflow.id, None);
    let open = [Status::Pending, Status::Planning, Status::InProgress, Status::Paused];
    while lacks.len() < TOLD_MAX {
        let page = service.view(move |world| view::tasks(world, id, &open, after, PAGE)).await?;
        for row in &page.rows {
            let task = &row.task;
            let reviewer = TaskExtra::of(&row.detail).review.filter(|_| task.review);
            if let Some(named) = reviewer.filter(|named| slug(settings, named, None).is_none()) {
                lacks.insert(TaskLack::reviewer(task, &named));
            }
            let brief = match verify::stored_brief(&row.detail) {
                Ok(Some(brief)) => brief,
                Ok(None) => continue,
                Err(problem) => {
                    lacks.insert(TaskLack::other(task, problem.to_string()));
                    continue;
                }
            };
            if let Err(problem) = verify::resolve(settings, &brief.output_contract) {
                lacks.insert(TaskLack::other(task, problem.to_string()));
            }
            if brief.output_contract.evaluate.get().is_some() && settings.evaluator.is_none() {
                let what = "the task's output must be evaluated, but the settings name no evaluator; add \
                    `[evaluator]` with `agent = \"SLUG\"` to .handover/config.toml, accept it with `handover trust`, \
                    and run again";
                lacks.insert(TaskLack::other(task, what.to_owned()));
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(lacks.into_iter().take(TOLD_MAX).collect())
}
