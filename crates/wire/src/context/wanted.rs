//! What was asked for.

use crate::lifecycle::Include;

/// The newest checkpoints that keep their detail, unless asked otherwise.
const RECENT_DEFAULT: u32 = 5;

/// The wish, with every default filled in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) workflow: bool,
    pub(super) plan_summary: bool,
    pub(super) prior: bool,
    pub(super) prior_detail: bool,
    pub(super) siblings: bool,
    pub(super) dependencies: bool,
    /// The whole history comes before everything else.
    pub(super) history: bool,
    /// How many of the newest checkpoints are wanted with detail.
    pub(super) detailed: u32,
}

impl Wanted {
    pub(super) fn of(include: Option<&Include>) -> Self {
        let said = |field: fn(&Include) -> Option<bool>| include.and_then(field);
        let (plan, summary) = (said(|include| include.workflow_plan), said(|include| include.workflow_summary));
        let history = said(|include| include.all_checkpoints).unwrap_or(false);
        let recent = include.and_then(|include| include.recent_checkpoints).map_or(RECENT_DEFAULT, |recent| recent.0);
        Self {
            workflow: plan == Some(true) || plan.or(summary).unwrap_or(true) || summary == Some(true),
            plan_summary: plan != Some(false),
            prior: said(|include| include.prior_task_outcomes).unwrap_or(true),
            prior_detail: said(|include| include.prior_task_full).unwrap_or(false),
            siblings: said(|include| include.sibling_status).unwrap_or(true),
            dependencies: said(|include| include.dependency_outcomes).unwrap_or(true),
            history,
            detailed: if history { u32::MAX } else { recent },
        }
    }
}
