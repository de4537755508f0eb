//! The fields of the workflow and of the task in the reply of `task_load_context`, in the order in which they are
//! written. When the token budget is too small, the fields at the end are left out first.

use engine::context::ContextFacts;

use super::piece::{PieceContent, PieceField};

pub(super) fn workflow(facts: &ContextFacts, plan_summary: bool) -> Vec<PieceField<'_>> {
    let (workflow, detail) = (&facts.workflow, &facts.workflow_detail);
    let mut fields = vec![
        PieceField::new("id", PieceContent::Whole(workflow.id.to_string().into())),
        PieceField::new("name", PieceContent::Name(&workflow.name)),
        PieceField::new("status", PieceContent::Whole(workflow.status.as_str().into())),
        PieceField::new("source_type", PieceContent::Name(&detail.source_type)),
    ];
    fields.extend(detail.source_ref.as_deref().map(|text| PieceField::text("source_ref", Some(text))));
    fields.push(PieceField::text("source_summary", Some(&detail.source_content)));
    if plan_summary {
        fields.push(PieceField::text("plan_summary", detail.plan_summary.as_deref()));
    }
    let parallel = workflow.parallel_max.map(u64::from);
    fields.push(PieceField::new("max_parallel_tasks", PieceContent::Whole(parallel.into())));
    fields
}

pub(super) fn task(facts: &ContextFacts) -> Vec<PieceField<'_>> {
    let (task, detail) = (&facts.task, &facts.detail);
    let whole = |name, value| PieceField::new(name, PieceContent::Whole(value));
    let mut fields = vec![
        whole("id", task.id.to_string().into()),
        PieceField::new("name", PieceContent::Name(&task.name)),
        PieceField::text("description", detail.description.as_deref()),
        whole("status", task.status().as_str().into()),
        whole("sequence", u64::from(task.sequence).into()),
        whole("priority", u64::from(task.priority.get()).into()),
        whole("attempt", u64::from(task.attempt).into()),
        // A task is ready when all of its dependencies are completed or skipped, and the task itself is not completed
        // or skipped yet.
        whole("ready", (task.unmet == 0 && !task.status().is_met()).into()),
    ];
    fields.extend(PieceField::list("blocked_by", &facts.blocked_by));
    fields.push(PieceField::json("plan", detail.plan.as_ref()));
    fields.push(PieceField::json("context", detail.context.as_ref()));
    fields.extend(detail.brief.as_ref().map(|brief| PieceField::json("brief", Some(brief))));
    fields.extend(task.role.as_deref().map(|role| PieceField::text("role", Some(role))));
    fields.extend(PieceField::list("capabilities", &task.capabilities));
    fields.extend(PieceField::list("touches", &task.touches));
    fields
}
