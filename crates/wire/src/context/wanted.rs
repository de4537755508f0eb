//! The parts of a task's context that the caller of `task_load_context` asks for.

use crate::lifecycle::Include;

/// The number of newest checkpoints (progress notes of a task) that are shown with their detail by default.
const RECENT_DEFAULT: u32 = 5;

/// The parts of a task's context that the caller of `task_load_context` asks for. A part that the caller did not
/// mention has its default.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedContext {
    pub(super) workflow: bool,
    pub(super) plan_summary: bool,
    pub(super) prior: bool,
    pub(super) prior_detail: bool,
    pub(super) siblings: bool,
    pub(super) dependencies: bool,
    /// True when the whole history of checkpoints (progress notes of the task) gets its tokens before any other part of
    /// the reply.
    pub(super) history: bool,
    /// The number of newest checkpoints (progress notes of the task) that the caller wants with their detail.
    pub(super) detailed: u32,
}

impl WantedContext {
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
