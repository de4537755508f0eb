//! `/api/v1/tasks` and `/api/v1/tasks/{id}/…`: the acts of a person on tasks, except merging.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use base::people::send_back_file::SendBackText;
use base::people::task_choice::{self, TaskChoice};
use engine::sent_back::SendBackNote;
use engine::task::Task;
use engine::token::Scope;
use http::StatusCode;
use wire::json::{Value, object};
use wire::visible;
use work::add::{AddStop, SAME_NAMES_MAX, TaskWish, add};
use work::answer::answer;
use work::drop::{DROPPED_DAYS, DropEnd, DropStop, drop_task, dropped_work, restore};
use work::send_back::{SendBackEnd, send_back};
use work::steer::{self, SteerEnd};
use work::take::{TakeEnd, take};

use super::HttpState;
use super::fields::{BodyFields, small_number};
use super::problem::{HttpProblem, invalid, json};
use super::task_page::named_task;
use super::work_place::{WorkPlaceParts, caller, failed, may_act, not_now, to_the_end, without_site};
use crate::desk::{DeskAdder, NotAdded, ToolOutcome, Visitor};

/// Handles `POST /api/v1/tasks`: adds a task to the standing list (the workflow for single tasks).
pub(super) async fn add_task(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Extension(visitor): Extension<Visitor>,
    body: Body,
) -> Result<Response, HttpProblem> {
    may_act(scope)?;
    let fields = BodyFields::read(body, &["name", "after", "role", "touches"]).await?;
    let text = fields.text("name")?;
    if text.trim().is_empty() {
        return Err(invalid("`name` must say what the agent should do"));
    }
    let after = fields.list("after", "task numbers", small_number)?;
    let touches = fields.list("touches", "texts", |value| value.as_text().map(str::to_owned))?;
    // The name gets a number when another task has it, so the request cannot keep one idempotency key.
    let visitor = Visitor { key: None, ..visitor };
    let adder = DeskAdder { desk: &shared.desk, visitor: &visitor };
    let workflow = adder.list().await.map_err(not_added)?;
    let mut depends_on = Vec::new();
    for number in after {
        let found = task_choice::find_task(shared.desk.service(), &number.to_string()).await;
        match found.map_err(|error| HttpProblem::fault(&error))? {
            TaskChoice::One(task) if task.workflow == workflow => depends_on.push(task.name),
            TaskChoice::One(_) => {
                return Err(invalid(format!(
                    "task {number} is a task of a plan; `after` takes tasks of the list only"
                )));
            }
            TaskChoice::Several(_) | TaskChoice::Nothing => {
                return Err(invalid(format!("`after` names task {number}, which does not exist")));
            }
        }
    }
    let wish = TaskWish { workflow, role: fields.some_text("role")?, touches, depends_on, checks: Vec::new() };
    let added = match add(&adder, &wish, &text).await {
        Ok(added) => added,
        Err(AddStop::Stopped(not)) => return Err(not_added(not)),
        Err(AddStop::TooManySameNames { .. }) => {
            return Err(not_now(format!("{SAME_NAMES_MAX} tasks have this name"), "choose another name"));
        }
    };
    let reply = object([
        ("success", true.into()),
        ("task", u64::from(added.number).into()),
        ("task_id", added.id.to_string().into()),
        ("name", added.name.as_str().into()),
    ]);
    Ok((StatusCode::CREATED, json(&reply)).into_response())
}

fn not_added(not: NotAdded) -> HttpProblem {
    match not {
        NotAdded::Tool(ToolOutcome::Refused(said)) => HttpProblem::refused(said),
        NotAdded::Tool(ToolOutcome::Failed(said)) => HttpProblem::failed(said),
        NotAdded::Tool(ToolOutcome::Done(_) | ToolOutcome::UnknownTool) => {
            HttpProblem::failed(wire::lifecycle::fault("the task was not added", false))
        }
        NotAdded::Error(error) => HttpProblem::fault(&error),
    }
}

/// The person's act on one task, and the server in which it happens.
struct TaskAct<'a> {
    shared: &'a HttpState,
    visitor: &'a Visitor,
    task: Task,
}

/// Handles `POST /api/v1/tasks/{id}/{act}`. The id is a task's id or its short number.
pub(super) async fn act(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Extension(visitor): Extension<Visitor>,
    Path((id, act)): Path<(String, String)>,
    body: Body,
) -> Result<Response, HttpProblem> {
    may_act(scope)?;
    let known: &[&str] = match act.as_str() {
        "answer" => &["text"],
        "take" => &["reason"],
        "send-back" => &["text", "notes"],
        "retry" | "stop" | "drop" | "restore" => &[],
        _ => {
            let message =
                "the last part of the path must be answer, drop, merge, restore, retry, send-back, stop or take";
            let next = "send the request again with one of them";
            return Err(HttpProblem::new(StatusCode::NOT_FOUND, "ROUTE_NOT_FOUND", message, next));
        }
    };
    let fields = BodyFields::read(body, known).await?;
    let task = named_task(shared.desk.service(), &id).await?;
    let wanted = TaskAct { shared: &shared, visitor: &visitor, task };
    let mut reply = match act.as_str() {
        "answer" => wanted.answer(fields.text("text")?).await?,
        "take" => wanted.take(fields.text("reason")?).await?,
        "send-back" => wanted.send_back(&fields).await?,
        "retry" => wanted.retry().await?,
        "stop" => wanted.stop().await?,
        "drop" => wanted.drop().await?,
        _ => wanted.restore().await?,
    };
    reply.insert(0, ("success".to_owned(), true.into()));
    reply.insert(1, ("task".to_owned(), u64::from(wanted.task.number).into()));
    Ok(json(&Value::Object(reply)))
}

type ActReply = Result<Vec<(String, Value)>, HttpProblem>;

impl TaskAct<'_> {
    /// Returns the number and the name of the task, as they appear in a sentence.
    fn title(&self) -> String {
        format!("{} {}", self.task.number, visible::one_line(&self.task.name))
    }

    fn status(&self) -> String {
        self.task.status().as_str().replace('_', " ")
    }

    async fn answer(&self, text: String) -> ActReply {
        let service = self.shared.desk.service();
        let rights = caller(self.visitor).rights;
        let given = answer(service, rights, &self.task, text).await.map_err(|error| HttpProblem::fault(&error))?;
        let Some(given) = given else {
            let message = format!("task {} asks nothing: it is {}", self.title(), self.status());
            return Err(not_now(message, "read the task again"));
        };
        let Value::Object(members) = given.reply else { return Ok(Vec::new()) };
        let members = members.into_iter().filter(|(name, _)| name != "success");
        Ok(members.chain([("agent".to_owned(), given.agent.into())]).collect())
    }

    async fn retry(&self) -> ActReply {
        let service = self.shared.desk.service();
        let end = steer::retry(service, caller(self.visitor), &self.task).await;
        match end.map_err(|error| HttpProblem::fault(&error))? {
            SteerEnd::Done => Ok(Vec::new()),
            SteerEnd::NotNow => {
                let message = format!("task {} is {}", self.title(), self.status());
                Err(not_now(message, "retry a task that is blocked or failed"))
            }
        }
    }

    async fn stop(&self) -> ActReply {
        let service = self.shared.desk.service();
        let end = steer::stop(service, caller(self.visitor), &self.task).await;
        match end.map_err(|error| HttpProblem::fault(&error))? {
            SteerEnd::Done => Ok(Vec::new()),
            SteerEnd::NotNow => {
                let message = format!("no agent works on task {}: it is {}", self.title(), self.status());
                Err(not_now(message, "read the task again"))
            }
        }
    }

    async fn drop(&self) -> ActReply {
        let (parts, caller, task) = (WorkPlaceParts::of(self.shared)?, caller(self.visitor), self.task.clone());
        let lock = parts.lock(caller.clone()).await?;
        let dropping = async move {
            let landing = parts.landing(caller).await?;
            drop_task(&landing, &lock, &task).await.map_err(|error| failed(&error))
        };
        let kept = Value::from(u64::try_from(DROPPED_DAYS).unwrap_or_default());
        let days = match to_the_end(self.shared, dropping).await? {
            DropEnd::Dropped { .. } | DropEnd::Stopped(DropStop::AlreadyDropped) => kept,
            DropEnd::Skipped => Value::Null,
            DropEnd::Stopped(DropStop::Merged { into }) => {
                let message = format!("task {} is merged into {}", self.title(), visible::one_line(&into));
                return Err(not_now(message, "undo the merge first: `handover merge --undo`"));
            }
            DropEnd::Stopped(DropStop::InPlan) => {
                let message = format!("task {} is part of a plan, and other tasks build on it", self.title());
                return Err(not_now(message, "add a task that changes what is wrong"));
            }
            DropEnd::Stopped(DropStop::Running) => {
                let message = format!("an agent works on task {}", self.title());
                return Err(not_now(message, "stop the task first"));
            }
        };
        Ok(vec![("kept_days".to_owned(), days)])
    }

    async fn restore(&self) -> ActReply {
        let (parts, caller, task) = (WorkPlaceParts::of(self.shared)?, caller(self.visitor), self.task.clone());
        let lock = parts.lock(caller.clone()).await?;
        let restoring = async move {
            let landing = parts.landing(caller).await?;
            let found = dropped_work(&landing, &task).await.map_err(|error| failed(&error))?;
            if let Some(work) = &found {
                restore(&landing, &lock, work).await.map_err(|error| failed(&error))?;
            }
            Ok(found.is_some())
        };
        if to_the_end(self.shared, restoring).await? {
            return Ok(Vec::new());
        }
        let message = format!("task {} has no dropped work", self.title());
        Err(not_now(message, "read the task again"))
    }

    async fn take(&self, reason: String) -> ActReply {
        let (parts, caller, task) = (WorkPlaceParts::of(self.shared)?, caller(self.visitor), self.task.clone());
        let taking = async move { take(parts.run_site(), caller, &task, reason).await.map_err(|error| failed(&error)) };
        match to_the_end(self.shared, taking).await? {
            TakeEnd::Taken { has_work } => Ok(vec![("has_work".to_owned(), has_work.into())]),
            TakeEnd::ConflictMarkers { paths } => {
                let message = format!("the files of task {} still have conflict markers", self.title());
                let mut problem = not_now(message, "send it back instead");
                problem.said.details = Some(object([("paths", texts(&paths))]));
                Err(problem)
            }
            TakeEnd::NoSite(none) => Err(without_site(none)),
        }
    }

    async fn send_back(&self, fields: &BodyFields) -> ActReply {
        let text = fields.some_text("text")?.unwrap_or_default();
        let notes = fields.list("notes", "objects with `path`, `line` and `text`", note)?;
        let parts = WorkPlaceParts::of(self.shared)?;
        let said = SendBackText { text: text.trim().to_owned(), notes };
        let end = send_back(parts.run_site(), caller(self.visitor), &self.task, said).await;
        match end.map_err(|error| failed(&error))? {
            SendBackEnd::Sent { agent } => Ok(vec![("agent".to_owned(), agent.into())]),
            SendBackEnd::NoWords => Err(invalid("`text` or `notes` must say what to change")),
        }
    }
}

/// Returns a list of texts that agents wrote, with hidden characters made visible.
pub(super) fn texts(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|text| visible::one_line(text).into()).collect())
}

/// Reads a remark on a line of a file.
fn note(value: &Value) -> Option<SendBackNote> {
    let Value::Object(members) = value else { return None };
    let is_known = |(name, _): &(String, Value)| ["path", "line", "text"].contains(&name.as_str());
    let text = |name: &str| value.get(name).and_then(Value::as_text).filter(|text| !text.trim().is_empty());
    let line = match value.get("line") {
        None | Some(Value::Null) => None,
        Some(line) => Some(small_number(line)?),
    };
    members.iter().all(is_known).then_some(())?;
    Some(SendBackNote { file: text("path")?.to_owned(), line, text: text("text")?.trim().to_owned() })
}
