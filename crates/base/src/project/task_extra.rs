//! Rust types for the fields of a planned task, of its outcome and of its workflow that the engine stores as JSON but
//! does not read.
//!
//! These fields are checked when they are stored. Only this module reads them again.

use engine::task::TaskDetail;
use engine::workflow::WorkflowDetail;
use wire::json::{Value, parse};

use crate::project::budget::Bounds;

/// The name of the stored field that holds [`TaskExtra::planned_by`], the agent that planned a task.
pub const PLANNED_BY: &str = "planned_by";

/// The name of the stored field that holds [`TaskExtra::own_checks`].
pub const OWN_CHECKS: &str = "own_checks";

/// The fields of one task that the engine stores but does not read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskExtra {
    /// The agent or role that reviews the task. `None` when the plan names no reviewer.
    pub review: Option<String>,
    pub limits: TaskLimits,
    /// The kind of work, which the agent gets in its input envelope (the JSON document that describes its task). `None`
    /// when the plan names no kind.
    pub action: Option<String>,
    /// Files and folders of the task: a name and a path for each. The agent gets them in its input envelope (the JSON
    /// document that describes its task).
    pub paths: Vec<(String, String)>,
    /// The parts of the project (surfaces) that the task is about.
    pub surfaces: Vec<Value>,
    pub consolidation_required: bool,
    pub cross_check_required: bool,
    /// The agent that planned the task; `None` when a person did.
    pub planned_by: Option<String>,
    /// The commands that check this task in addition to the checks of the project, each as a list of words. They count
    /// only in a task that a person added, because they run on the person's machine.
    pub own_checks: Vec<Vec<String>>,
}

/// The limits that a task's plan sets for the task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskLimits {
    pub bounds: Bounds,
    pub review_rounds: Option<u32>,
}

impl TaskExtra {
    /// Reads the extra fields of a stored task. A field that is missing or has a wrong type counts as not set.
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
            own_checks: commands(fields.get(OWN_CHECKS)),
        }
    }

    /// Returns true when the task is about more than one part of the project.
    pub fn is_multi_surface(&self) -> bool {
        self.surfaces.len() > 1
    }
}

/// Returns the notes that a completed task left for the tasks that depend on it.
pub fn outcome_notes(detail: &TaskDetail) -> Vec<String> {
    let stored = detail.outcome_detail.as_ref().and_then(|json| parse(json.as_str()).ok()).map(|node| node.to_value());
    let notes = stored.as_ref().and_then(|detail| detail.get("notes")).and_then(Value::as_list).unwrap_or_default();
    notes.iter().filter_map(Value::as_text).map(str::to_owned).collect()
}

/// Returns the limits that the configuration of a workflow sets.
pub fn workflow_bounds(detail: &WorkflowDetail) -> Bounds {
    let config = detail.config.as_ref().and_then(|json| parse(json.as_str()).ok()).map(|node| node.to_value());
    Bounds::named(config.as_ref().and_then(|config| config.get("limits")))
}

impl TaskLimits {
    fn of(limits: Option<&Value>) -> Self {
        let rounds = limits.and_then(|limits| limits.get("review_rounds"));
        Self { bounds: Bounds::named(limits), review_rounds: rounds.and_then(|rounds| rounds.to_string().parse().ok()) }
    }
}

fn commands(stored: Option<&Value>) -> Vec<Vec<String>> {
    let words = |command: &Value| -> Option<Vec<String>> {
        command.as_list()?.iter().map(|word| word.as_text().map(str::to_owned)).collect()
    };
    let commands = stored.and_then(Value::as_list).unwrap_or_default().iter().filter_map(words);
    commands.filter(|command| !command.is_empty()).collect()
}

fn paths(named: Option<&Value>) -> Vec<(String, String)> {
    let Some(Value::Object(named)) = named else { return Vec::new() };
    named.iter().filter_map(|(name, path)| Some((name.clone(), path.as_text()?.to_owned()))).collect()
}
