//! The fields of a planned task that the engine stores as JSON but does not read, as Rust types.
//!
//! These fields are checked when a plan is read. Only this module reads them again from a stored task.

use engine::task::TaskDetail;
use wire::json::{Value, parse};

use crate::budget::Bounds;

/// The stored name of [`TaskExtra::planned_by`].
pub const PLANNED_BY: &str = "planned_by";

/// The fields of one task that the engine does not read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskExtra {
    /// The agent or role that reviews the task.
    pub review: Option<String>,
    pub limits: TaskLimits,
    /// The kind of work, for the input envelope that the agent gets.
    pub action: Option<String>,
    /// Names and paths, for the input envelope that the agent gets.
    pub paths: Vec<(String, String)>,
    /// The parts of the project that the task is about.
    pub surfaces: Vec<Value>,
    pub consolidation_required: bool,
    pub cross_check_required: bool,
    /// The agent that planned the task; `None` when a person did.
    pub planned_by: Option<String>,
}

/// The limits that a task's plan sets for the task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskLimits {
    pub bounds: Bounds,
    pub review_rounds: Option<u32>,
}

impl TaskExtra {
    /// Reads the fields of a stored task. A field that is missing or has a wrong type counts as not set.
    pub fn of(detail: &TaskDetail) -> Self {
        let Some(stored) = detail.extra.as_ref().and_then(|json| parse(json.as_str()).ok()) else {
            return Self::default();
        };
        let fields = stored.to_value();
        let text = |name: &str| fields.get(name).and_then(Value::as_text).map(str::to_owned);
        let flag = |name: &str| fields.get(name) == Some(&Value::Bool(true));
        Self {
            review: text("review"),
            limits: TaskLimits::of(fields.get("limits")),
            action: text("action").filter(|action| !action.trim().is_empty()),
            paths: paths(fields.get("paths")),
            surfaces: fields.get("surfaces").and_then(Value::as_list).map(<[Value]>::to_vec).unwrap_or_default(),
            consolidation_required: flag("consolidation_required"),
            cross_check_required: flag("cross_check_required"),
            planned_by: text(PLANNED_BY),
        }
    }

    /// Tells whether the task is about more than one part of the project.
    pub fn is_multi_surface(&self) -> bool {
        self.surfaces.len() > 1
    }
}

impl TaskLimits {
    fn of(limits: Option<&Value>) -> Self {
        let rounds = limits.and_then(|limits| limits.get("review_rounds"));
        Self { bounds: Bounds::named(limits), review_rounds: rounds.and_then(|rounds| rounds.to_string().parse().ok()) }
    }
}

fn paths(named: Option<&Value>) -> Vec<(String, String)> {
    let Some(Value::Object(named)) = named else { return Vec::new() };
    named.iter().filter_map(|(name, path)| Some((name.clone(), path.as_text()?.to_owned()))).collect()
}
