//! Reads a plan that a person or an agent wrote as a YAML or JSON file. Every error names the line of the problem.

mod problem;
#[cfg(test)]
mod tests;
mod variable;

use std::path::Path;

use engine::plan::{Plan, PlanTask};
use wire::json::{Object, Value};
use wire::lifecycle::{PlanDocument, Planned, TaskNames};
use wire::text::nearest_word;

pub use self::problem::{PlanProblem, PlanProblems, located};
use crate::ground::yaml;

/// The fields of a plan file that belong to the plan. All other fields belong to the workflow.
const OF_PLAN: &[&str] = &["summary", "approach", "risks", "assumptions", "tasks"];

/// The language in which a file with a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentFormat {
    Yaml,
    Json,
}

impl DocumentFormat {
    /// Returns the format of a file. Every file whose name does not end with `.json` is read as YAML.
    pub fn of_path(path: &Path) -> Self {
        if path.extension().is_some_and(|extension| extension == "json") { Self::Json } else { Self::Yaml }
    }

    /// Parses the text of a file in this format. Returns the same kind of value for YAML and for JSON.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Yaml => yaml::parse(text),
            // Use the JSON reader, although JSON is also valid YAML, because the JSON reader is stricter.
            Self::Json => {
                let node = wire::json::parse(text).map_err(|error| format!("this is not JSON: {error}"))?;
                Ok(node.to_value())
            }
        }
    }
}

/// A plan file that was checked and is valid.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanFile {
    document: PlanDocument,
}

impl PlanFile {
    /// Reads and checks the whole plan file before anything is created. Otherwise a workflow could exist whose plan is
    /// refused. `variables` are the values for `{{NAME}}` in the texts of the plan.
    pub fn read(text: &str, format: DocumentFormat, variables: &[(String, String)]) -> Result<Self, PlanProblems> {
        let mut value = format.parse(text)?;
        if let Value::Object(members) = &mut value {
            variable::fill(members, variables)?;
        }
        let document = judged(&value, text, wire::lifecycle::PLAN_BYTES_MAX)?;
        check_names(&document, text)?;
        let tasks = document.tasks.0.iter().map(|task| task.planned(None)).collect();
        Plan::whole(tasks).map_err(|refusal| refusal.to_string())?;
        Ok(Self { document })
    }

    pub fn name(&self) -> &str {
        self.document.name.as_str()
    }

    /// Returns the tasks of the plan as they are written in the file.
    pub fn tasks(&self) -> &[Planned] {
        &self.document.tasks.0
    }

    /// Returns the plan without the reviews of its tasks.
    #[must_use]
    pub fn without_review(mut self) -> Self {
        self.document.tasks.0.iter_mut().for_each(|task| task.review = None);
        self
    }

    /// Returns the tasks of the plan in the form that the engine's commands take.
    pub fn planned(&self) -> Vec<PlanTask> {
        self.tasks().iter().map(|task| task.planned(None)).collect()
    }

    /// Returns the names of the keys that the file has at its top level.
    pub fn keys(&self) -> Vec<String> {
        self.members().into_iter().map(|(name, _)| name).collect()
    }

    /// Returns the arguments of `workflow_create` and the plan for `workflow_set_plan`.
    pub fn parts(&self) -> (Value, Value) {
        let (mut plan, mut create): (Object, Object) =
            self.members().into_iter().partition(|(name, _)| OF_PLAN.contains(&name.as_str()));
        if self.document.summary.is_none() {
            plan.push(("summary".to_owned(), self.name().into()));
        }
        // Leave out the variables, because they are filled in already. A workflow has no description; its field
        // `source_content` gets the description below.
        create.retain(|(name, _)| !["variables", "defaults", "description"].contains(&name.as_str()));
        if let (Some(description), None) = (&self.document.description, &self.document.source_content) {
            create.push(("source_content".to_owned(), description.to_string().into()));
        }
        (Value::Object(create), Value::Object(plan))
    }

    fn members(&self) -> Object {
        use wire::shape::Shape as _;
        if let Value::Object(members) = self.document.render() { members } else { Object::new() }
    }
}

/// Reads a plan file without filling in the variables. Does not check that the names of tasks are unique, because the
/// names may contain variables.
pub fn document(text: &str, format: DocumentFormat, bytes_max: usize) -> Result<PlanDocument, PlanProblems> {
    judged(&format.parse(text)?, text, bytes_max)
}

fn judged(value: &Value, text: &str, bytes_max: usize) -> Result<PlanDocument, PlanProblems> {
    if !matches!(value, Value::Object(_)) {
        return Err("a plan must have the keys `name`, and `tasks` with a list of tasks".to_owned().into());
    }
    let json = value.to_string();
    let judged = PlanDocument::judge(&json, bytes_max);
    match judged.value {
        Some(document) => Ok(document),
        None => Err(located(PlanDocument::problems(&judged.report), "", text)),
    }
}

/// Checks that every task has its own name, and that tasks depend only on tasks of the plan. The engine checks this,
/// too, but cannot name the lines of the file.
fn check_names(document: &PlanDocument, text: &str) -> Result<(), PlanProblems> {
    let tasks = &document.tasks.0;
    let mut problems = Vec::new();
    let mut names: std::collections::HashSet<&str> = std::collections::HashSet::new();
    for (number, task) in tasks.iter().enumerate() {
        if !names.insert(task.name.as_str()) {
            let words = format!("two tasks have the name {}; give each task its own name", task.name);
            problems.push((format!("/tasks/{number}"), words));
        }
    }
    for (number, task) in tasks.iter().enumerate() {
        let texts = |names: &TaskNames| names.0.iter().map(ToString::to_string).collect::<Vec<_>>();
        let lists = [
            ("depends_on", task.depends_on.as_ref().map(texts)),
            ("after", task.after.as_ref().map(texts)),
            ("context_from", task.context_from.as_ref().map(|list| list.0.iter().map(ToString::to_string).collect())),
        ];
        for (key, list) in lists.into_iter().filter_map(|(key, list)| Some((key, list?))) {
            for (index, name) in list.iter().enumerate().filter(|(_, name)| !names.contains(name.as_str())) {
                let near = nearest_word(name, tasks.iter().map(|task| task.name.as_str()));
                let advice = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
                let words = format!("{key} names {name}, but the plan has no such task{advice}");
                problems.push((format!("/tasks/{number}/{key}/{index}"), words));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problem::at_lines(problems, text)) }
}
