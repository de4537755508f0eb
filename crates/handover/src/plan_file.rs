//! Reads a plan that a person wrote in YAML. The plan has the fields of the tools `workflow_create` and
//! `workflow_set_plan`. Any other field is an error.

use engine::id::WorkflowId;
use engine::plan::{Plan, PlanTask};
use wire::json::{Object, Value, object};
use wire::lifecycle::{self, Call, Planned};

use crate::desk::{Desk, ToolOutcome, Visitor};
use base::ground::yaml;

/// The fields of a plan file that belong to the plan. All other fields belong to the workflow.
const OF_PLAN: &[&str] = &["summary", "approach", "risks", "assumptions", "tasks"];

/// A plan file that was checked and is valid.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanFile {
    create: Value,
    plan: Value,
}

impl PlanFile {
    /// Reads and checks the whole plan file before anything is created. Otherwise a workflow could exist whose plan is
    /// refused.
    pub fn read(text: &str, variables: &[(String, String)]) -> Result<Self, String> {
        let Value::Object(mut members) = yaml::parse(text)? else {
            return Err("a plan must have the keys `name`, and `tasks` with a list".to_owned());
        };
        for (name, value) in variables {
            let mark = format!("{{{{{name}}}}}");
            let mut used = false;
            members.iter_mut().for_each(|(_, member)| used |= fill(member, &mark, value));
            if !used {
                return Err(format!("the plan has no {mark}; check the name that you gave with --var"));
            }
        }
        let name = members.iter().find(|(name, _)| name == "name").map(|(_, value)| value.clone());
        let (mut plan, create): (Object, Object) =
            members.into_iter().partition(|(name, _)| OF_PLAN.contains(&name.as_str()));
        if plan.iter().all(|(name, _)| name != "summary") {
            plan.push(("summary".to_owned(), name.unwrap_or(Value::Null)));
        }
        let file = Self { create: Value::Object(create), plan: Value::Object(plan) };
        judged("workflow_create", &file.create, "", text)?;
        let set = object([("id", WorkflowId::FIRST.to_string().into()), ("plan", file.plan.clone())]);
        if let Call::WorkflowSetPlan(asked) = judged("workflow_set_plan", &set, "/plan", text)? {
            let planned: Vec<PlanTask> = asked.plan.tasks.0.iter().map(|task: &Planned| task.planned(None)).collect();
            Plan::whole(planned).map_err(|refusal| refusal.to_string())?;
        }
        Ok(file)
    }

    /// Creates a workflow with this plan. Every call creates a new workflow.
    pub async fn make(&self, desk: &Desk) -> Result<WorkflowId, String> {
        let made = ask(desk, "workflow_create", &self.create).await?;
        let id = made.get("id").and_then(Value::as_text).unwrap_or_default().to_owned();
        let set = object([("id", id.as_str().into()), ("plan", self.plan.clone())]);
        ask(desk, "workflow_set_plan", &set).await?;
        id.parse().map_err(|error: engine::id::NotAnId| error.to_string())
    }
}

async fn ask(desk: &Desk, tool: &str, arguments: &Value) -> Result<Value, String> {
    match desk.call(&Visitor::person(), tool, arguments.to_string().as_bytes(), None).await {
        ToolOutcome::Done(value) => Ok(value),
        ToolOutcome::Refused(said) | ToolOutcome::Failed(said) => Err(format!("{}: {}", said.code, said.message)),
        ToolOutcome::UnknownTool => Err(format!("there is no tool {tool}")),
    }
}

/// Checks the arguments of a tool that were read from a plan file. Returns the first problem, with its line in the
/// file.
fn judged(tool: &str, arguments: &Value, below: &str, file: &str) -> Result<Call, String> {
    let text = arguments.to_string();
    let Some(judged) = lifecycle::judge(tool, text.as_bytes()) else { return Err(format!("there is no tool {tool}")) };
    if let Some(first) = judged.report.errors().first() {
        let code = judged.report.code(first);
        let pointer = code.split_once(':').map_or("", |(_, pointer)| pointer);
        let pointer = pointer.strip_prefix(below).unwrap_or(pointer);
        // Compute the lines only for a refused plan, because the list of lines has an entry for every value of the
        // file.
        let lines = if pointer.is_empty() { Vec::new() } else { yaml::lines(file) };
        let line = line(pointer, &lines).map_or_else(String::new, |line| format!("line {line}: "));
        return Err(format!("{line}{}", judged.report.message(first)));
    }
    judged.value.ok_or_else(|| "the plan cannot be read".to_owned())
}

/// Returns the line of a value in the plan file. When the value itself has no line, returns the line of the nearest
/// value that contains it.
fn line(pointer: &str, lines: &[(String, usize)]) -> Option<usize> {
    let found = lines.iter().find(|(known, _)| known == pointer).map(|(_, line)| *line);
    found.or_else(|| line(pointer.rsplit_once('/')?.0, lines))
}

fn fill(value: &mut Value, mark: &str, with: &str) -> bool {
    match value {
        Value::Text(text) if text.contains(mark) => {
            *text = text.replace(mark, with);
            true
        }
        Value::List(items) => items.iter_mut().map(|item| fill(item, mark, with)).filter(|used| *used).count() > 0,
        Value::Object(members) => {
            members.iter_mut().map(|(_, item)| fill(item, mark, with)).filter(|used| *used).count() > 0
        }
        Value::Text(_) | Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let cases = [
            ("name: w\ntasks:\n  - name: a\n    colour: red\n", "line 4", "colour"),
            ("name: w\ncolour: red\ntasks: []\n", "line 2", "colour"),
            ("name: w\ntasks:\n  - name: a\n    depends_on: [b]\n", "", "b"),
            ("name: w\ntasks:\n  - name: a\n    priority: 9\n", "line 4", "priority"),
            ("tasks:\n  - name: a\n", "", "name"),
            ("- a\n", "", "keys"),
            ("name: [\n", "", ""),
        ];
        for (text, line, word) in cases {
            let problem = PlanFile::read(text, &[]).err().unwrap_or_default();
            assert!(!problem.is_empty(), "{text}");
            assert!(problem.contains(line) && problem.contains(word), "{text}\n{problem}");
        }
    }

    #[test]
    fn variables_are_filled_wherever_they_stand() -> Result<(), String> {
        let text = "name: the {{what}}\ntasks:\n  - name: build {{what}}\n";
        let variable = |name: &str| (name.to_owned(), "page".to_owned());
        let file = PlanFile::read(text, &[variable("what")])?;
        assert!(file.create.to_string().contains("the page") && file.plan.to_string().contains("build page"));
        assert!(PlanFile::read(text, &[variable("who")]).is_err_and(|problem| problem.contains("{{who}}")));
        Ok(())
    }
}
