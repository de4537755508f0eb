//! The fields of the workflow and of the task in the reply, in the order in which they are written. The last fields are
//! left out first.

use engine::context::Facts;

use super::piece::{Content, Field};

pub(super) fn workflow(facts: &Facts, plan_summary: bool) -> Vec<Field<'_>> {
    let (workflow, detail) = (&facts.workflow, &facts.workflow_detail);
    let mut fields = vec![
        Field::new("id", Content::Whole(workflow.id.to_string().into())),
        Field::new("name", Content::Name(&workflow.name)),
        Field::new("status", Content::Whole(workflow.status.as_str().into())),
        Field::new("source_type", Content::Name(&detail.source_type)),
    ];
    fields.extend(detail.source_ref.as_deref().map(|text| Field::text("source_ref", Some(text))));
    fields.push(Field::text("source_summary", Some(&detail.source_content)));
    if plan_summary {
        fields.push(Field::text("plan_summary", detail.plan_summary.as_deref()));
    }
    let parallel = workflow.parallel_max.map(u64::from);
    fields.push(Field::new("max_parallel_tasks", Content::Whole(parallel.into())));
    fields
}

pub(super) fn task(facts: &Facts) -> Vec<Field<'_>> {
    let (task, detail) = (&facts.task, &facts.detail);
    let whole = |name, value| Field::new(name, Content::Whole(value));
    let mut fields = vec![
        whole("id", task.id.to_string().into()),
        Field::new("name", Content::Name(&task.name)),
        Field::text("description", detail.description.as_deref()),
        whole("status", task.status().as_str().into()),
        whole("sequence", u64::from(task.sequence).into()),
        whole("priority", u64::from(task.priority.get()).into()),
        whole("attempt", u64::from(task.attempt).into()),
        // Every dependency is met, and the task has not ended.
        whole("ready", (task.unmet == 0 && !task.status().is_met()).into()),
    ];
    fields.extend(Field::list("blocked_by", &facts.blocked_by));
    fields.push(Field::json("plan", detail.plan.as_ref()));
    fields.push(Field::json("context", detail.context.as_ref()));
    fields.extend(detail.brief.as_ref().map(|brief| Field::json("brief", Some(brief))));
    fields.extend(task.role.as_deref().map(|role| Field::text("role", Some(role))));
    fields.extend(Field::list("capabilities", &task.capabilities));
    fields.extend(Field::list("touches", &task.touches));
    fields
}
