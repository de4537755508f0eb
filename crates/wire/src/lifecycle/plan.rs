//! Plans of workflows and of tasks, as callers of the tools write them.

use engine::Json;
use engine::id::{AgentId, RepositoryId, WorkflowId};
use engine::plan::PlanTask;
use engine::task::Priority;

use super::ids::{DetailObject, Within};
use super::plan_format::TaskNames;
use super::{text, texts};
use crate::json::{Object, Value};
use crate::message::Brief;
use crate::shape::{ListShape, NonBlank, Shape, Text, message, vocabulary};

/// Declares an object that has all fields of a planned task. The fields in the first braces come before the task's
/// fields, the fields in the second braces after them.
macro_rules! with_task_fields {
    ($(#[$about:meta])* pub struct $name:ident { $($before:tt)* } { $($behind:tt)* }) => {
        message! {
            $(#[$about])*
            pub struct $name {
                $($before)*
                name: required NonBlank,
                description: optional Text,
                depends_on: optional TaskNames,
                after: also TaskNames,
                parallel_group: optional NonBlank,
                priority: optional Within<1, 3>,
                role: optional NonBlank,
                capabilities: optional ListShape<NonBlank>,
                touches: optional ListShape<NonBlank>,
                files_likely_affected: optional ListShape<NonBlank>,
                context_from: optional ListShape<NonBlank>,
                estimated_complexity: optional Complexity,
                max_attempts: optional Within<1, 1000>,
                repository_path: optional NonBlank,
                brief: optional Brief,
                action: optional NonBlank,
                surfaces: optional ListShape<NonBlank>,
                paths: optional DetailObject,
                review: optional NonBlank,
                gate: optional bool,
                limits: optional DetailObject,
                consolidation_required: optional bool,
                cross_check_required: optional bool,
                sequence: optional Within<0, 4_294_967_295>,
                $($behind)*
            }
        }

        impl $name {
            /// Returns the path of the task's repository; `None` for a task without a repository. The caller must
            /// register the repository and pass its id to `planned`.
            pub fn repository(&self) -> Option<&str> {
                self.repository_path.as_ref().map(NonBlank::as_str)
            }

            /// Converts the task to the form in which the engine keeps planned tasks. `repository` is the id of the
            /// task's registered repository.
            pub fn planned(&self, repository: Option<RepositoryId>) -> PlanTask {
                let mut depends_on = Vec::new();
                for name in self.depends_on.iter().chain(&self.after).flat_map(|names| &names.0) {
                    if !depends_on.iter().any(|known| known == name.as_str()) {
                        depends_on.push(name.to_string());
                    }
                }
                let mut touches = texts(self.touches.as_ref());
                for path in texts(self.files_likely_affected.as_ref()) {
                    if !touches.contains(&path) {
                        touches.push(path);
                    }
                }
                let priority = self.priority.and_then(|Within(number)| u8::try_from(number).ok());
                let priority = priority.and_then(|number| Priority::try_from(number).ok());
                let context = parts([
                    ("estimated_complexity", self.estimated_complexity.map(|word| word.render())),
                    ("files_likely_affected", self.files_likely_affected.as_ref().map(Shape::render)),
                    ("sequence", self.sequence.map(|number| number.render())),
                ]);
                let extra = parts([
                    ("action", self.action.as_ref().map(Shape::render)),
                    ("surfaces", self.surfaces.as_ref().map(Shape::render)),
                    ("paths", self.paths.as_ref().map(Shape::render)),
                    ("review", self.review.as_ref().map(Shape::render)),
                    ("gate", self.gate.map(Value::from)),
                    ("limits", self.limits.as_ref().map(Shape::render)),
                    ("consolidation_required", self.consolidation_required.map(Value::from)),
                    ("cross_check_required", self.cross_check_required.map(Value::from)),
                ]);
                let named = PlanTask::named(self.name.as_str());
                PlanTask {
                    description: text(self.description.as_ref()),
                    depends_on,
                    context_from: texts(self.context_from.as_ref()),
                    group: self.parallel_group.as_ref().map(ToString::to_string),
                    priority: priority.unwrap_or(named.priority),
                    role: self.role.as_ref().map(ToString::to_string),
                    capabilities: texts(self.capabilities.as_ref()),
                    touches,
                    attempts_max: self.max_attempts.map_or(named.attempts_max, |Within(number)| number),
                    gate: self.gate.unwrap_or(false),
                    verify: self.brief.as_ref().is_some_and(|brief| brief.output_contract.is_verified()),
                    review: self.review.is_some(),
                    limited: self.limits.is_some(),
                    repository,
                    brief: self.brief.as_ref().map(|brief| Json::from_stored(brief.render().to_string())),
                    context,
                    extra,
                    ..named
                }
            }
        }
    };
}

/// Returns a JSON object that has only the members with a value. Returns `None` when no member has a value.
pub(super) fn parts<const N: usize>(members: [(&str, Option<Value>); N]) -> Option<Json> {
    let members: Object = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    (!members.is_empty()).then(|| Json::from_stored(Value::Object(members).to_string()))
}

vocabulary! {
    pub enum Complexity {
        Low = "low",
        Medium = "medium",
        High = "high",
    }
}

with_task_fields! {
    /// One task of a workflow's plan.
    pub struct Planned {} {}
}

with_task_fields! {
    pub struct WorkflowAddTask {
        workflow_id: required WorkflowId,
    } {
        after_task: optional NonBlank,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    /// The plan that an agent makes for the task that it has claimed.
    pub struct TaskPlan {
        approach: required NonBlank,
        steps: required ListShape<NonBlank>,
        files_to_modify: optional ListShape<NonBlank>,
        files_to_create: optional ListShape<NonBlank>,
        context_needed: optional ListShape<NonBlank>,
    }
}

impl TaskPlan {
    pub(super) fn json(&self) -> Json {
        Json::from_stored(self.render().to_string())
    }
}
