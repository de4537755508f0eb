//! The error that a caller of a tool gets when the call was not carried out. It has the same fields for all causes.

use engine::Refusal;

use super::Tool;
use crate::json::{Object, Value, object};
use crate::report::Report;

/// The error that a tool returns to its caller: `{code, message, recoverable, suggestion, details?}`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    pub code: &'static str,
    pub message: String,
    pub recoverable: bool,
    pub suggestion: String,
    pub details: Option<Value>,
}

impl ToolError {
    pub fn render(&self) -> Value {
        let mut members: Object = vec![
            ("code".to_owned(), self.code.into()),
            ("message".to_owned(), self.message.as_str().into()),
            ("recoverable".to_owned(), self.recoverable.into()),
            ("suggestion".to_owned(), self.suggestion.as_str().into()),
        ];
        members.extend(self.details.clone().map(|details| ("details".to_owned(), details)));
        Value::Object(members)
    }
}

/// The largest number of characters that an error repeats of a text in the caller's arguments. The rest of the text is
/// left out.
const GIVEN_CHARS_MAX: usize = 80;

impl ToolError {
    /// Puts the caller's own words back into the error. Each pair in `stand_ins` has a text of the caller that is not a
    /// well-formed id, and the made-up id that was used in its place. The error shows the text instead of the made-up
    /// id.
    #[must_use]
    pub fn with_given_texts(self, stand_ins: &[(String, String)]) -> Self {
        stand_ins.iter().fold(self, |said, (id, text)| {
            let given: String = crate::visible::one_line(text).chars().take(GIVEN_CHARS_MAX).collect();
            Self {
                message: said.message.replace(id, &given),
                suggestion: said.suggestion.replace(id, &given),
                details: said.details.map(|details| replaced(details, id, &given)),
                ..said
            }
        })
    }
}

/// Replaces `from` by `to` in all strings of a JSON value.
fn replaced(value: Value, from: &str, to: &str) -> Value {
    match value {
        Value::Text(text) => text.replace(from, to).into(),
        Value::List(items) => Value::List(items.into_iter().map(|item| replaced(item, from, to)).collect()),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name, replaced(value, from, to))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Returns the error for a command that the engine's rules refuse.
pub fn refusal(refusal: &Refusal) -> ToolError {
    ToolError {
        code: refusal.code(),
        message: refusal.to_string(),
        recoverable: refusal.is_recoverable(),
        suggestion: refusal.suggestion().into_owned(),
        details: details(refusal),
    }
}

fn field(name: &str, problem: &str) -> Value {
    object([("fields", vec![object([("field", name.into()), ("problem", problem.into())])].into())])
}

/// Returns the facts of a refusal as JSON fields, so that a program need not parse the message.
#[expect(clippy::too_many_lines, reason = "one match that names every refusal")]
fn details(refusal: &Refusal) -> Option<Value> {
    let names = |list: &[String]| Value::from(list.iter().map(String::as_str).collect::<Vec<_>>());
    Some(match refusal {
        Refusal::InvalidInput { field: name, problem } => field(name, problem),
        Refusal::ClaimLost { task, holder, attempt } => object([
            ("task_id", task.to_string().into()),
            ("holder", holder.map(|holder| holder.to_string()).into()),
            ("attempt", u64::from(*attempt).into()),
        ]),
        Refusal::TaskBlocked { waits_for, more, .. } => {
            object([("blocked_by", names(waits_for)), ("more", u64::from(*more).into())])
        }
        Refusal::InvalidTransition { from, to } => object([
            ("from", from.as_str().into()),
            ("to", to.as_str().into()),
            ("legal", from.targets().iter().map(|status| status.as_str()).collect::<Vec<_>>().into()),
        ]),
        Refusal::InvalidWorkflowTransition { from, to } => object([
            ("from", from.as_str().into()),
            ("to", to.as_str().into()),
            ("legal", from.targets().iter().map(|status| status.as_str()).collect::<Vec<_>>().into()),
        ]),
        Refusal::DependencyCycle { cycle } => object([("cycle", names(cycle))]),
        Refusal::ApprovalRequired { task, approval } => object([
            ("task_id", task.to_string().into()),
            ("approval_id", approval.map(|approval| approval.to_string()).into()),
        ]),
        Refusal::FilesBusy { busy, .. } => object([("busy_task_id", busy.to_string().into())]),
        Refusal::NotEligible { role, capabilities, .. } => {
            object([("role", role.clone().into()), ("capabilities", names(capabilities))])
        }
        Refusal::MissingVariables { names: lacking } => object([("variables", names(lacking))]),
        Refusal::WorkflowLocked { owner, until } => {
            object([("locked_by", owner.as_str().into()), ("expires_at", Value::Number(until.0.into()))])
        }
        // The messages of these refusals contain all facts. So the errors made from them have no field `details`.
        Refusal::WorkflowNotFound { .. }
        | Refusal::TaskNotFound { .. }
        | Refusal::AgentNotFound { .. }
        | Refusal::WorkspaceNotFound { .. }
        | Refusal::RepositoryNotFound { .. }
        | Refusal::TemplateNotFound { .. }
        | Refusal::MessageNotFound { .. }
        | Refusal::RecipientNotFound { .. }
        | Refusal::TokenNotFound { .. }
        | Refusal::TurnNotFound { .. }
        | Refusal::ApprovalNotFound { .. }
        | Refusal::SectionNotFound { .. }
        | Refusal::AgentElsewhere { .. }
        | Refusal::AgentRequired { .. }
        | Refusal::Protected { .. }
        | Refusal::InvalidState { .. }
        | Refusal::MissingOutcome
        | Refusal::MissingError
        | Refusal::MissingReason
        | Refusal::MissingMergeCommit
        | Refusal::VerificationRequired { .. }
        | Refusal::SectionChanged { .. }
        | Refusal::FingerprintMismatch { .. }
        | Refusal::ParallelLimit { .. }
        | Refusal::NotPermitted { .. }
        | Refusal::UnknownDependency { .. }
        | Refusal::SelfDependency { .. }
        | Refusal::DuplicateTaskName { .. }
        | Refusal::NameConflict { .. }
        | Refusal::TaskNotRemovable { .. }
        | Refusal::DuplicateTemplate { .. }
        | Refusal::RepositoryInUse { .. }
        | Refusal::WorkflowMismatch { .. }
        | Refusal::InboxFull { .. }
        | Refusal::IdempotencyConflict { .. }
        | Refusal::AlreadyAnswered { .. }
        | Refusal::NotRunning { .. }
        | Refusal::NotSuspended { .. }
        | Refusal::ReviewNotFound { .. }
        | Refusal::FindingNotFound { .. }
        | Refusal::WrongIteration { .. }
        | Refusal::RoundsUsedUp { .. }
        | Refusal::ReviewRequired { .. }
        | Refusal::FindingsOpen { .. }
        | Refusal::SenderNotFound { .. }
        | Refusal::MissingPath
        | Refusal::MissingRepoPath
        | Refusal::ItemNotFound { .. }
        | Refusal::CodeInvalid
        | Refusal::KeyUnknown => return None,
    })
}

/// The largest number of wrong arguments that one error lists. All further wrong arguments are only counted in the
/// message.
const FIELDS_MAX: usize = 50;

/// One problem of the arguments of a call, or of a plan: the place of the wrong value, and the words that explain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentProblem {
    /// The JSON pointer to the wrong value, such as `/tasks/0/priority`. It is empty when the whole document is wrong.
    pub pointer: String,
    /// The explanation of the problem. It does not repeat the name of the field.
    pub words: String,
    pub kind: ArgumentProblemKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentProblemKind {
    /// The field does not exist. `nearest` is the known field with the most similar name, if there is one.
    Unknown {
        nearest: Option<String>,
    },
    Missing,
    Wrong,
}

/// Returns the problems of a checked document, at most `FIELDS_MAX`. When a field is unknown, the known field with the
/// most similar name is looked up in `schema`, the schema of the document.
pub(super) fn problems(schema: &Value, report: &Report<'_>) -> Vec<ArgumentProblem> {
    let told = report.errors().iter().take(FIELDS_MAX).map(|problem| {
        let (pointer, code) = (report.pointer(problem), report.code(problem));
        // The error has the name of the field as a separate member, so the problem's text must not repeat it.
        let message = report.message(problem);
        let message = message.strip_prefix(&format!("`{pointer}`: ")).unwrap_or(&message).to_owned();
        let (words, kind) = match code.split(':').next() {
            Some("UNKNOWN_FIELD") => {
                let nearest = nearest(schema, &pointer);
                let words = match &nearest {
                    Some(near) => format!("is an unknown field; did you mean `{near}`?"),
                    None => "is an unknown field; remove it".to_owned(),
                };
                (words, ArgumentProblemKind::Unknown { nearest })
            }
            Some("MISSING") => (message, ArgumentProblemKind::Missing),
            Some(_) | None => (message, ArgumentProblemKind::Wrong),
        };
        ArgumentProblem { pointer, words, kind }
    });
    told.collect()
}

/// Returns the problems of a tool call's arguments, at most `FIELDS_MAX`.
pub fn argument_problems(tool: &Tool, report: &Report<'_>) -> Vec<ArgumentProblem> {
    problems(&tool.arguments(), report)
}

/// Returns the error for a call whose arguments the tool does not accept. The error lists the wrong fields. For an
/// unknown field, it also names the known field with the most similar name.
pub fn rejection(tool: &Tool, report: &Report<'_>) -> ToolError {
    let told = argument_problems(tool, report).into_iter().map(|problem| {
        let near = match problem.kind {
            ArgumentProblemKind::Unknown { nearest } => nearest,
            ArgumentProblemKind::Missing | ArgumentProblemKind::Wrong => None,
        };
        (problem.pointer.trim_start_matches('/').to_owned(), problem.words, near)
    });
    let told: Vec<(String, String, Option<String>)> = told.collect();
    let first = told.first().map(|(field, words, _)| match field.as_str() {
        "" => words.clone(),
        field => format!("`{field}` {words}"),
    });
    let first = first.unwrap_or_default();
    let more = report.errors().len().saturating_sub(1);
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    let fields = told.into_iter().map(|(field, words, near)| {
        let mut members: Object = vec![("field".to_owned(), field.into()), ("problem".to_owned(), words.into())];
        members.extend(near.map(|near| ("nearest".to_owned(), near.into())));
        Value::Object(members)
    });
    let details = object([("fields", Value::List(fields.collect()))]);
    let is_too_long = report.errors().first().is_some_and(|problem| report.code(problem).starts_with("TOO_LONG"));
    let suggestion = if is_too_long { SEND_LESS } else { "correct the named fields and call again" };
    ToolError {
        code: "INVALID_INPUT",
        message: format!("{}: {first}{more}", tool.name),
        recoverable: true,
        suggestion: suggestion.to_owned(),
        details: Some(details),
    }
}

/// The advice to a caller whose arguments are too large.
const SEND_LESS: &str =
    "send less: keep long texts in files and name the files, or split the work into several workflows";

/// Returns the known field of a tool's arguments whose name is the most similar to the unknown field at `pointer`.
/// Returns `None` when no name is similar.
fn nearest(schema: &Value, pointer: &str) -> Option<String> {
    let mut steps: Vec<&str> = pointer.split('/').skip(1).collect();
    let wrong = steps.pop()?;
    let mut place = schema;
    for step in steps {
        place = match step.parse::<usize>() {
            Ok(_) => form_with(place, "items")?.get("items")?,
            Err(_) => form_with(place, "properties")?.get("properties")?.get(step)?,
        };
    }
    let place = form_with(place, "properties")?;
    let Value::Object(properties) = place.get("properties")? else { return None };
    // If a required field ends with the unknown name, such as `task_id` for `id`, suggest that field. A comparison of
    // letters alone would suggest another one.
    let required = place.get("required").and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_text);
    let mut longer = required.filter(|name| name.strip_suffix(wrong).is_some_and(|rest| rest.ends_with('_')));
    if let Some(name) = longer.next() {
        return Some(name.to_owned());
    }
    crate::text::nearest_word(wrong, properties.iter().map(|(name, _)| name.as_str())).map(str::to_owned)
}

/// Returns the schema itself if it has this member. Otherwise returns the first of its `anyOf` alternatives that has
/// the member.
fn form_with<'s>(schema: &'s Value, member: &str) -> Option<&'s Value> {
    if schema.get(member).is_some() {
        return Some(schema);
    }
    schema.get("anyOf")?.as_list()?.iter().find_map(|form| form_with(form, member))
}

/// Returns the error for an internal failure that the caller did not cause. `unknown` is true when it is not known
/// whether the call changed data, and false when the call changed nothing.
pub fn fault(message: &str, unknown: bool) -> ToolError {
    let suggestion = if unknown {
        "the change may have been saved: read the state, or repeat the call with the same idempotency_key"
    } else {
        "nothing was changed; try again in a moment, and tell a person if it fails again"
    };
    ToolError {
        code: "INTERNAL_ERROR",
        message: message.to_owned(),
        recoverable: false,
        suggestion: suggestion.to_owned(),
        details: None,
    }
}
