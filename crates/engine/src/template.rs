//! A template: a stored plan with variables. Applying a template replaces each `{{name}}` in its texts with a value.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// The settings of the workflows that are made from the template, such as how many tasks run at the same time. A
    /// template without settings does not serialize this field, so that templates of version 0.1.0 keep the same bytes.
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
            for document in [&task.brief, &task.extra].into_iter().flatten() {
                fill_document(document, &mut |text| fill_text(text, |_| None, &mut used));
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
            for document in [&mut task.brief, &mut task.extra].into_iter().flatten() {
                *document = fill_document(document, &mut fill);
            }
        }
        if lacking.is_empty() {
            Ok(tasks)
        } else {
            Err(Refusal::MissingVariables { names: lacking.into_iter().collect() })
        }
    }
}

/// Replaces the variables in the texts of a document, such as a brief. The names of its fields stay. A document without
/// variables keeps its bytes.
fn fill_document(document: &Json, fill: &mut impl FnMut(&str) -> String) -> Json {
    if !document.as_str().contains("{{") {
        return document.clone();
    }
    let mut value = document.value();
    fill_value(&mut value, fill);
    Json::from(&value)
}

fn fill_value(value: &mut Value, fill: &mut impl FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = fill(text),
        Value::Array(values) => values.iter_mut().for_each(|value| fill_value(value, fill)),
        Value::Object(members) => members.values_mut().for_each(|value| fill_value(value, fill)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
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

    #[test]
    fn variables_in_a_brief_are_filled_and_named_like_all_others() {
        let json = |text: &str| Some(Json::from_stored(text.to_owned()));
        let body = TemplateBody {
            tasks: vec![
                PlanTask {
                    brief: json(
                        r#"{"goal":"The {{page}} works.","acceptance_criteria":["It greets {{ who }}."],"n":{"m":1}}"#,
                    ),
                    extra: json(r#"{"action":"build {{page}}"}"#),
                    ..PlanTask::named("one")
                },
                PlanTask { brief: json("{ \"goal\": \"as it was written\" }"), ..PlanTask::named("two") },
            ],
            ..TemplateBody::default()
        };
        assert_eq!(body.variables(), ["page", "who"].map(str::to_owned).into());
        let names = vec!["page".to_owned(), "who".to_owned()];
        assert_eq!(body.fill(&BTreeMap::new()), Err(Refusal::MissingVariables { names }));
        let values = [("page", "a \"page\""), ("who", "Ann")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let tasks = body.fill(&values.into()).unwrap_or_default();
        let text = |json: &Option<Json>| json.as_ref().map(|json| json.as_str().to_owned()).unwrap_or_default();
        let brief = serde_json::json!({
            "goal": "The a \"page\" works.", "acceptance_criteria": ["It greets Ann."], "n": {"m": 1},
        });
        assert_eq!(tasks[0].brief.as_ref().map(Json::value), Some(brief));
        assert_eq!(text(&tasks[0].extra), r#"{"action":"build a \"page\""}"#);
        assert_eq!(text(&tasks[1].brief), "{ \"goal\": \"as it was written\" }");
    }
}
