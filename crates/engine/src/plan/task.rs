//! One task of a plan, and the checks of a task that can be made without the other tasks.

use serde::{Deserialize, Serialize};

use crate::id::RepositoryId;
use crate::json::Json;
use crate::limits;
use crate::refusal::Refusal;
use crate::task::Priority;
use crate::touches;

/// One task of a plan. It names its dependencies by their task names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanTask {
    pub name: String,
    pub description: Option<String>,
    pub depends_on: Vec<String>,
    pub context_from: Vec<String>,
    pub group: Option<String>,
    pub priority: Priority,
    pub role: Option<String>,
    pub capabilities: Vec<String>,
    pub touches: Vec<String>,
    pub attempts_max: u32,
    pub verify: bool,
    #[serde(default)]
    pub review: bool,
    #[serde(default)]
    pub gate: bool,
    /// True when the plan limits the task's cost. A false value is not serialized, so that templates of version 0.1.0
    /// keep the same bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limited: bool,
    pub repository: Option<RepositoryId>,
    pub brief: Option<Json>,
    pub context: Option<Json>,
    pub extra: Option<Json>,
}

impl PlanTask {
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            depends_on: Vec::new(),
            context_from: Vec::new(),
            group: None,
            priority: Priority::DEFAULT,
            role: None,
            capabilities: Vec::new(),
            touches: Vec::new(),
            attempts_max: limits::ATTEMPTS_DEFAULT,
            verify: false,
            review: false,
            gate: false,
            limited: false,
            repository: None,
            brief: None,
            context: None,
            extra: None,
        }
    }
}

pub(super) fn check_task(task: &PlanTask) -> Result<(), Refusal> {
    use crate::check::{count, label, name, optional, size};
    name("name", &task.name)?;
    if let Some(description) = &task.description {
        size("description", description, limits::TEXT_BYTES_MAX)?;
    }
    optional(task.group.as_deref(), |text| label("parallel_group", text))?;
    optional(task.role.as_deref(), |text| label("role", text))?;
    count("depends_on", task.depends_on.len(), limits::DEPENDENCIES_MAX)?;
    task.depends_on.iter().try_for_each(|text| name("depends_on", text))?;
    count("context_from", task.context_from.len(), limits::DEPENDENCIES_MAX)?;
    task.context_from.iter().try_for_each(|text| name("context_from", text))?;
    count("capabilities", task.capabilities.len(), limits::CAPABILITIES_MAX)?;
    task.capabilities.iter().try_for_each(|text| label("capabilities", text))?;
    count("touches", task.touches.len(), limits::TOUCHES_MAX)?;
    for glob in &task.touches {
        touches::check(glob).map_err(|problem| Refusal::input("touches", format!("has `{glob}`: {problem}")))?;
    }
    if !(1..=limits::ATTEMPTS_MAX).contains(&task.attempts_max) {
        return Err(Refusal::input("max_attempts", format!("must be 1 to {}", limits::ATTEMPTS_MAX)));
    }
    for (field, json) in [("brief", &task.brief), ("context", &task.context), ("extra", &task.extra)] {
        if let Some(json) = json {
            size(field, json.as_str(), limits::TEXT_BYTES_MAX)?;
        }
    }
    Ok(())
}
