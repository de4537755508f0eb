//! Checks that everything that the tasks of a workflow need exists. The runner claims no task of a workflow that lacks
//! something.

use std::collections::BTreeSet;

use engine::id::WorkflowId;
use engine::task::Status;
use engine::view;

use super::brief;
use super::shop::Shop;
use super::verify;
use crate::error::Error;
use crate::review::provider::slug;
use crate::task_extra::TaskExtra;

/// The largest number of problems that are reported. Further problems are reported after these are fixed.
const TOLD_MAX: usize = 20;
const PAGE: u32 = 500;

/// Returns the requirements that the open tasks lack: contracts, schemas, an evaluator, reviewers, or a valid brief.
pub(super) async fn lacks(shop: &Shop, workflow: WorkflowId) -> Result<Vec<String>, Error> {
    let mut lacks = BTreeSet::new();
    let mut after = None;
    let open = [Status::Pending, Status::Planning, Status::InProgress, Status::Paused];
    while lacks.len() < TOLD_MAX {
        let page = shop.service.view(move |world| view::tasks(world, workflow, &open, after, PAGE)).await?;
        for row in &page.rows {
            let reviewer = TaskExtra::of(&row.detail).review;
            if let Some(named) = reviewer.filter(|named| slug(&shop.settings, named, None).is_none()) {
                let what = format!(
                    "it is to be reviewed by `{named}`, and no agent of .handover/config.toml has that name or role; add one, \
                     accept it with `handover trust`, and run again"
                );
                lacks.insert(format!("{}: {what}", row.task.name));
            }
            let brief = match brief::of(&row.task, &row.detail) {
                Ok(Some(brief)) => brief,
                Ok(None) => continue,
                Err(problem) => {
                    lacks.insert(format!("{}: {problem}", row.task.name));
                    continue;
                }
            };
            if let Err(problem) = verify::resolve(&shop.settings, &brief.output_contract) {
                lacks.insert(format!("{}: {problem}", row.task.name));
            }
            if brief.output_contract.evaluate.get().is_some() && shop.settings.evaluator.is_none() {
                let what = "its output is to be evaluated, and no agent does that; add `[evaluator]` with `agent = \"SLUG\"` to \
                            .handover/config.toml, accept it with `handover trust`, and run again";
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
