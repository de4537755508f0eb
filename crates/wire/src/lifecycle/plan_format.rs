//! The one format of plans: plan files, the tools that set a plan, and templates have the same fields.
//!
//! A plan says how its workflow is created (`name`, `max_parallel_tasks`) and which tasks it has. A caller that sets
//! the plan of an existing workflow may send the fields of `workflow_create`, too, so that the same file fits every
//! command.

use engine::command::CreateWorkflow;
use engine::template::TemplateBody;
use engine::{Json, Millis};

use super::ids::{DetailObject, Within};
use super::plan::{Planned, parts};
use super::refused::{ArgumentProblem, problems};
use super::{carried, texts};
use crate::document::JudgedDocument;
use crate::envelope::AnyOrNull;
use crate::json::{JsonKind, JsonMember, JsonNode, Span, Value, object};
use crate::report::{At, Report, Unknown};
use crate::shape::{ListShape, Map, NonBlank, Shape, Text, message};

/// The names of the tasks that a task waits for. One name may be written without a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskNames(pub Vec<NonBlank>);

/// The tasks of a plan. A task that has only a name may be written as a text.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskList(pub Vec<Planned>);

const NAMES_LEGAL: &str = "must be the name of a task or an array of such names";
const TASK_LEGAL: &str = "must be the name of a task or an object with `name`";

impl Shape for TaskNames {
    const LEGAL: &'static str = "the name of a task or an array of such names";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        if node.list().is_some() {
            return ListShape::read(node, at, report).map(|ListShape(names)| Self(names));
        }
        if node.text().is_none() {
            report.error("TYPE", at, node.span, NAMES_LEGAL);
            return None;
        }
        NonBlank::read(node, at, report).map(|name| Self(vec![name]))
    }

    fn render(&self) -> Value {
        Value::List(self.0.iter().map(Shape::render).collect())
    }

    fn schema(unknown: Unknown) -> Value {
        let list = ListShape::<NonBlank>::schema(unknown);
        either(unknown, list, NonBlank::schema(unknown))
    }
}

impl Shape for TaskList {
    const LEGAL: &'static str = "an array of tasks, which may be empty";

    fn read(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
        let items = crate::shape::items(node, at, report)?;
        let mut tasks = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            tasks.extend(task(item, &at.item(index), report));
        }
        (tasks.len() == items.len()).then_some(Self(tasks))
    }

    fn render(&self) -> Value {
        Value::List(self.0.iter().map(Shape::render).collect())
    }

    fn schema(unknown: Unknown) -> Value {
        let item = either(unknown, Planned::schema(unknown), NonBlank::schema(unknown));
        object([("type", "array".into()), ("items", item)])
    }
}

fn task(node: &JsonNode<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Planned> {
    match &node.kind {
        JsonKind::Text(_) => {
            NonBlank::read(node, at, report)?;
            let name = JsonMember { name: "name".into(), at: Span::default(), node: node.clone() };
            let named = JsonNode { span: node.span, kind: JsonKind::Object(vec![name]) };
            Planned::read(&named, at, report)
        }
        JsonKind::Object(_) => Planned::read(node, at, report),
        JsonKind::Null | JsonKind::Bool(_) | JsonKind::Number(_) | JsonKind::List(_) => {
            report.error("TYPE", at, node.span, TASK_LEGAL);
            None
        }
    }
}

/// Returns the schema of a value that can be written in a normal and in a short form. The schema that models get
/// (`Unknown::Warned`) has only the normal form, because every form costs tokens.
fn either(unknown: Unknown, normal: Value, short: Value) -> Value {
    match unknown {
        Unknown::Warned => normal,
        Unknown::Refused | Unknown::Strict => object([("anyOf", vec![normal, short].into())]),
    }
}

/// Declares an object that has the fields of a plan. The fields in the braces come first. They are the fields that
/// differ between the tools, for example because one tool requires a name.
macro_rules! with_plan_fields {
    ($(#[$about:meta])* pub struct $name:ident { $($first:tt)* }) => {
        message! {
            $(#[$about])*
            pub struct $name {
                $($first)*
                tasks: required TaskList,
                source_type: also NonBlank,
                source_ref: also NonBlank,
                source_content: also Text,
                repository_paths: also ListShape<NonBlank>,
                repository_path: also NonBlank,
                max_parallel_tasks: also Within<1, 10_000>,
                auto_create_workspaces: also bool,
                lease_seconds: also Within<1, 86_400>,
                config: also DetailObject,
            }
        }

        impl $name {
            /// Returns the settings with which the plan's workflow is created. The plan's approach, risks and
            /// assumptions become a part of the workflow's configuration.
            pub fn settings(&self) -> PlanSettings {
                let notes = parts([
                    ("approach", self.approach.as_ref().map(Shape::render)),
                    ("risks", self.risks.as_ref().map(Shape::render)),
                    ("assumptions", self.assumptions.as_ref().map(Shape::render)),
                ]);
                PlanSettings {
                    source_type: self.source_type.clone(),
                    source_ref: self.source_ref.clone(),
                    source_content: self.source_content.clone(),
                    repository_paths: self.repository_paths.clone(),
                    repository_path: self.repository_path.clone(),
                    max_parallel_tasks: self.max_parallel_tasks,
                    auto_create_workspaces: self.auto_create_workspaces,
                    lease_seconds: self.lease_seconds,
                    config: with_notes(self.config.clone(), notes),
                    extra: Vec::new(),
                }
            }
        }
    };
}

with_plan_fields! {
    pub struct WorkflowPlan {
        summary: optional NonBlank,
        approach: optional Text,
        risks: optional ListShape<Text>,
        assumptions: optional ListShape<Text>,
        name: also NonBlank,
        description: also Text,
        variables: also ListShape<NonBlank>,
        defaults: also Map<Text>,
    }
}

with_plan_fields! {
    /// A new plan for a workflow. Its tasks replace the tasks that have not started.
    pub struct NewPlan {
        summary: optional NonBlank,
        reason: required NonBlank,
        approach: also Text,
        risks: also ListShape<Text>,
        assumptions: also ListShape<Text>,
        name: also NonBlank,
        description: also Text,
        variables: also ListShape<NonBlank>,
        defaults: also Map<Text>,
    }
}

with_plan_fields! {
    pub struct TemplatePlan {
        variables: optional ListShape<NonBlank>,
        defaults: optional Map<Text>,
        summary: also NonBlank,
        approach: also Text,
        risks: also ListShape<Text>,
        assumptions: also ListShape<Text>,
        name: also NonBlank,
        description: also Text,
    }
}

with_plan_fields! {
    /// A plan that a person keeps in a file: a plan file or a workflow template.
    pub struct PlanDocument {
        name: required NonBlank,
        description: optional Text,
        summary: optional NonBlank,
        approach: optional Text,
        risks: optional ListShape<Text>,
        assumptions: optional ListShape<Text>,
        variables: optional ListShape<NonBlank>,
        defaults: optional Map<Text>,
        idempotency_key: also NonBlank,
    }
}

message! {
    /// The fields of a plan that say how its workflow is created.
    pub struct PlanSettings {
        source_type: optional NonBlank,
        source_ref: optional NonBlank,
        source_content: optional Text,
        repository_paths: optional ListShape<NonBlank>,
        repository_path: optional NonBlank,
        max_parallel_tasks: optional Within<1, 10_000>,
        auto_create_workspaces: optional bool,
        lease_seconds: optional Within<1, 86_400>,
        config: optional DetailObject,
    }
}

impl PlanSettings {
    /// Returns the request to create the plan's workflow under this name.
    pub fn create(&self, name: &str) -> CreateWorkflow {
        let mut repositories = texts(self.repository_paths.as_ref());
        repositories.extend(self.repository_path.as_ref().map(ToString::to_string));
        CreateWorkflow {
            name: name.to_owned(),
            source_type: self.source_type.as_ref().map_or("prompt", NonBlank::as_str).to_owned(),
            source_ref: self.source_ref.as_ref().map(ToString::to_string),
            source_content: self.source_content.as_ref().map(ToString::to_string).unwrap_or_default(),
            parallel_max: self.max_parallel_tasks.map(|Within(number)| number),
            lease_ms: self.lease_seconds.map(|Within(seconds)| Millis(seconds.saturating_mul(1_000))),
            auto_workspaces: self.auto_create_workspaces.unwrap_or(false),
            config: carried(self.config.as_ref()),
            repositories,
        }
    }

    /// Returns the settings as JSON, the form in which a template (a stored plan) keeps them. Returns `None` when the
    /// plan sets nothing.
    fn stored(&self) -> Option<Json> {
        let Value::Object(members) = self.render() else { return None };
        (!members.is_empty()).then(|| Json::from_stored(Value::Object(members).to_string()))
    }

    /// Returns the settings that a template (a stored plan) has. A template without settings gets the default settings.
    pub fn of_template(body: &TemplateBody) -> Self {
        let text = body.settings.as_ref().map_or("{}", Json::as_str);
        let judged = super::arguments_of::<Self>(text.as_bytes(), super::PLAN_BYTES_MAX);
        judged.value.unwrap_or_else(Self::none)
    }

    fn none() -> Self {
        Self {
            source_type: None,
            source_ref: None,
            source_content: None,
            repository_paths: None,
            repository_path: None,
            max_parallel_tasks: None,
            auto_create_workspaces: None,
            lease_seconds: None,
            config: None,
            extra: Vec::new(),
        }
    }
}

impl WorkflowPlan {
    /// Returns the plan's summary. When the plan has no summary, returns its name instead.
    pub fn told_summary(&self) -> Option<&NonBlank> {
        self.summary.as_ref().or(self.name.as_ref())
    }
}

impl NewPlan {
    /// Returns the plan's summary. When the plan has no summary, returns its name. When it has no name either, returns
    /// the reason for the plan.
    pub fn told_summary(&self) -> &NonBlank {
        self.summary.as_ref().or(self.name.as_ref()).unwrap_or(&self.reason)
    }
}

impl PlanDocument {
    /// Checks the content of a plan file. The problems in the returned report point to places in `text`.
    pub fn judge(text: &str, bytes_max: usize) -> JudgedDocument<'_, Self> {
        super::arguments_of(text.as_bytes(), bytes_max)
    }

    /// Returns the problems of a checked plan. A problem about an unknown key also names the known key that is most
    /// similar.
    pub fn problems(report: &Report<'_>) -> Vec<ArgumentProblem> {
        problems(&Self::schema(Unknown::Strict), report)
    }

    /// Returns the plan in the form in which a template (a stored plan with variables) is saved.
    pub fn body(&self) -> TemplateBody {
        body(&self.tasks, self.defaults.as_ref(), &self.settings())
    }
}

impl TemplatePlan {
    /// Returns the tasks of a workflow template and the default values of its variables. A variable without a default
    /// must get its value when the template is applied.
    pub fn body(&self) -> TemplateBody {
        body(&self.tasks, self.defaults.as_ref(), &self.settings())
    }
}

fn body(tasks: &TaskList, defaults: Option<&Map<Text>>, settings: &PlanSettings) -> TemplateBody {
    let defaults = defaults.into_iter().flat_map(|map| &map.0);
    TemplateBody {
        tasks: tasks.0.iter().map(|task| task.planned(None)).collect(),
        defaults: defaults.map(|(name, value)| (name.clone(), value.to_string())).collect(),
        settings: settings.stored(),
    }
}

fn with_notes(config: Option<DetailObject>, notes: Option<Json>) -> Option<DetailObject> {
    let Some(notes) = notes.and_then(|notes| crate::json::parse(notes.as_str()).ok().map(|node| node.to_value()))
    else {
        return config;
    };
    let Map(mut members) = config.unwrap_or(Map(Vec::new()));
    members.retain(|(name, _)| name != "plan");
    members.push(("plan".to_owned(), AnyOrNull(notes)));
    Some(Map(members))
}
