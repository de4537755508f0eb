//! A template: a stored plan with variables. Applying a template replaces each `{{name}}` in its texts with a value.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::id::TemplateId;
use crate::json::Json;
use crate::plan::PlanTask;
use crate::refusal::Refusal;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    pub id: TemplateId,
    pub name: String,
    pub description: Option<String>,
    pub body: TemplateBody,
    pub created: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TemplateBody {
    pub tasks: Vec<PlanTask>,
    /// The default values of variables. They are used for variables to which the caller gives no value.
    pub defaults: BTreeMap<String, String>,
    /// The settings of the workflows that are made from the template, such as how many tasks run at once. A template
    /// without settings does not serialize this field, so that templates of version 0.1.0 keep the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Json>,
}

impl TemplateBody {
    /// Returns the names of all variables that the template's texts contain.
    pub fn variables(&self) -> BTreeSet<String> {
        let mut used = BTreeSet::new();
        for task in &self.tasks {
            let own = [Some(&task.name), task.description.as_ref(), task.group.as_ref(), task.role.as_ref()];
            let lists = task.depends_on.iter().chain(&task.context_from).chain(&task.touches);
            for text in own.into_iter().flatten().chain(lists) {
                fill_text(text, |_| None, &mut used);
            }
        }
        used
    }

    /// Returns the plan with every variable replaced. If variables have no value, the refusal names all of them.
    pub fn fill(&self, values: &BTreeMap<String, String>) -> Result<Vec<PlanTask>, Refusal> {
        let mut lacking = BTreeSet::new();
        let mut fill =
            |text: &str| fill_text(text, |name| values.get(name).or_else(|| self.defaults.get(name)), &mut lacking);
        let mut tasks = self.tasks.clone();
        for task in &mut tasks {
            let own = [Some(&mut task.name), task.description.as_mut(), task.group.as_mut(), task.role.as_mut()];
            let lists = task.depends_on.iter_mut().chain(&mut task.context_from).chain(&mut task.touches);
            for text in own.into_iter().flatten().chain(lists) {
                *text = fill(text);
            }
        }
        if lacking.is_empty() {
            Ok(tasks)
        } else {
            Err(Refusal::MissingVariables { names: lacking.into_iter().collect() })
        }
    }
}

/// Replaces the variables in a text. A value is inserted unchanged: a `{{name}}` inside a value is not replaced.
fn fill_text<'v>(text: &str, value: impl Fn(&str) -> Option<&'v String>, lacking: &mut BTreeSet<String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, tail)) = after.split_once("}}") else {
            break;
        };
        filled.push_str(before);
        match value(name.trim()) {
            Some(value) => filled.push_str(value),
            None => {
                lacking.insert(name.trim().to_owned());
            }
        }
        rest = tail;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_once_and_the_lacking_are_all_named() {
        let body = TemplateBody {
            tasks: vec![PlanTask {
                description: Some("{{ what }} for {{who}} {{open".to_owned()),
                depends_on: vec!["{{dep}}".to_owned()],
                ..PlanTask::named("build {{what}}")
            }],
            defaults: BTreeMap::from([("dep".to_owned(), "plan".to_owned())]),
            settings: None,
        };
        let given = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let refused = body.fill(&given(&[]));
        assert_eq!(refused, Err(Refusal::MissingVariables { names: vec!["what".to_owned(), "who".to_owned()] }));
        let tasks = body.fill(&given(&[("what", "{{who}}"), ("who", "us")])).unwrap_or_default();
        assert_eq!(tasks[0].name, "build {{who}}");
        assert_eq!(tasks[0].description.as_deref(), Some("{{who}} for us {{open"));
        assert_eq!(tasks[0].depends_on, ["plan"]);
    }
}
