//! Adds tasks to a plan or to the standing list, which is the one workflow of a store that never ends.

use base::Service;
use base::project::task_extra::OWN_CHECKS;
use engine::id::{TaskId, WorkflowId};
use engine::limits::NAME_BYTES_MAX;
use engine::list::{WorkflowFilter, WorkflowQuery};
use engine::offer::OfferQuery;
use engine::plan::PlanTask;
use engine::workflow::WorkflowStatus;
use engine::world::WorkflowIdNeed;
use engine::{Caller, Command, Json, Reply};

/// The maximum number of ready tasks that are counted in one workflow. People do not need to know a higher number
/// exactly.
const READY_MAX: usize = 100;
/// The maximum number of workflows in which ready tasks are counted.
const WORKFLOWS_MAX: u32 = 100;
/// The maximum number of tasks with the same name in one workflow. From the second task on, a number is added to the
/// name, as in `Fix it (2)`.
pub const SAME_NAMES_MAX: u32 = 100;
/// The longest name of a task in characters. The name is the first line of the person's text. A longer line is cut, but
/// the agent gets the full text.
const NAME_CHARS_MAX: usize = 120;

/// A task that is about to be added, without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWish {
    pub workflow: WorkflowId,
    pub role: Option<String>,
    /// The files that the task changes, as globs.
    pub touches: Vec<String>,
    /// The names of the tasks that must be done before this task starts.
    pub depends_on: Vec<String>,
    /// The commands of the task's own checks, as the person typed them.
    pub checks: Vec<String>,
}

/// A task that is about to be added under a name that may be taken.
#[derive(Debug, Clone, Copy)]
pub struct NewTask<'a> {
    pub name: &'a str,
    pub description: Option<&'a str>,
    pub wish: &'a TaskWish,
}

/// A task that was added to a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedTask {
    pub number: u32,
    pub id: TaskId,
    pub name: String,
}

/// The answer to one try to add a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdditionEnd {
    Added {
        number: u32,
        id: TaskId,
    },
    /// Another task of the workflow has the name.
    NameTaken,
}

/// The reason why a task was not added.
#[derive(Debug, Clone, PartialEq)]
pub enum AddStop<S> {
    /// [`SAME_NAMES_MAX`] tasks have this name.
    TooManySameNames {
        name: String,
    },
    Stopped(S),
}

/// The way in which a task gets into the store. An interface that has rules of its own for its callers, such as programs
/// that the runner started, implements this trait.
pub trait TaskAdder: Sync {
    type Stop;

    /// Adds a task under exactly this name.
    fn enter(&self, task: NewTask<'_>) -> impl Future<Output = Result<AdditionEnd, Self::Stop>> + Send;
}

/// Adds one task. The first line of the text is its name. When another task has this name, the next free number is
/// added to it: the standing list stays open for years, so a person may use a name a second time.
pub async fn add<E: TaskAdder>(adder: &E, wish: &TaskWish, text: &str) -> Result<AddedTask, AddStop<E::Stop>> {
    let (name, description) = name_and_description(text);
    for number in 1..=SAME_NAMES_MAX {
        let unique = if number == 1 { name.clone() } else { format!("{name} ({number})") };
        // A task on which the new task waits has this name, so it is taken.
        if wish.depends_on.contains(&unique) {
            continue;
        }
        let task = NewTask { name: &unique, description: description.as_deref(), wish };
        match adder.enter(task).await.map_err(AddStop::Stopped)? {
            AdditionEnd::Added { number, id } => return Ok(AddedTask { number, id, name: unique }),
            AdditionEnd::NameTaken => {}
        }
    }
    Err(AddStop::TooManySameNames { name })
}

/// Returns the standing list (the workflow for single tasks), or `None` when the store has none yet.
pub async fn standing_list(service: &Service) -> Result<Option<WorkflowId>, base::Error> {
    Ok(service.ask(WorkflowIdNeed::Standing).await?.first().copied())
}

/// Creates the standing list (the workflow for single tasks), and returns it.
pub async fn open_list(service: &Service, caller: Caller) -> Result<WorkflowId, base::Error> {
    let reply = service.execute(caller, Command::OpenList).await?;
    let Reply::ListOpened { workflow, .. } = reply else { return Err(base::Error::unexpected(&reply)) };
    Ok(workflow)
}

/// Adds a task with checks of its own, under exactly its name. Agents have no tool for this, because the checks run on
/// the person's machine without a further question: a person who types a check accepts it.
pub async fn enter_checked(service: &Service, caller: Caller, new: NewTask<'_>) -> Result<AdditionEnd, base::Error> {
    let NewTask { name, description, wish } = new;
    let checks: Vec<Vec<String>> = wish.checks.iter().map(|text| command_words(text)).collect();
    let mut task = PlanTask::named(name);
    task.description = description.map(str::to_owned);
    task.role.clone_from(&wish.role);
    task.depends_on.clone_from(&wish.depends_on);
    task.touches.clone_from(&wish.touches);
    task.extra = Some(Json::from(&serde_json::json!({ OWN_CHECKS: checks })));
    let add = Command::AddTask { workflow: wish.workflow, task: Box::new(task), after: None };
    match service.execute(caller, add).await {
        Ok(Reply::TaskAdded { task, number, .. }) => Ok(AdditionEnd::Added { number, id: task }),
        Ok(reply) => Err(base::Error::unexpected(&reply)),
        Err(base::Error::Refused(engine::Refusal::DuplicateTaskName { .. })) => Ok(AdditionEnd::NameTaken),
        Err(error) => Err(error),
    }
}

/// Returns the number of tasks that an agent could take now.
pub async fn ready_count(service: &Service) -> Result<usize, base::Error> {
    let statuses = vec![WorkflowStatus::Ready, WorkflowStatus::InProgress];
    let filter = WorkflowFilter { statuses, ..WorkflowFilter::default() };
    let workflows = service.ask(WorkflowQuery { filter, after: None, offset: 0, limit: WORKFLOWS_MAX }).await?;
    let mut ready = 0;
    for workflow in workflows {
        let ask =
            OfferQuery { workflow: workflow.id, agent: None, include_failed: false, after: None, limit: READY_MAX };
        ready += service.next_tasks(ask).await?.tasks.len();
    }
    Ok(ready)
}

/// Returns the words with which a command is started. If the text has characters that may be special in a shell, the
/// words start a shell that runs the text.
fn command_words(text: &str) -> Vec<String> {
    let is_plain = |c: char| c.is_alphanumeric() || " -_./:=,+@%".contains(c);
    if text.chars().all(is_plain) && !text.trim().is_empty() {
        return text.split_whitespace().map(str::to_owned).collect();
    }
    vec!["sh".to_owned(), "-c".to_owned(), text.to_owned()]
}

/// Splits a person's text into the name and the description of a task. The name is the first line. If the name is not
/// the full text, the description is the full text.
fn name_and_description(text: &str) -> (String, Option<String>) {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default().trim();
    let fits = first.chars().count() <= NAME_CHARS_MAX && first.len() < NAME_BYTES_MAX;
    let name = if fits {
        first.to_owned()
    } else {
        let cut: String = first.chars().take(NAME_CHARS_MAX - 1).collect();
        // Cut the name of the task at a space, so that it does not end with half a word.
        let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
        format!("{cut}…")
    };
    let description = (name != text).then(|| text.to_owned());
    (name, description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_runs_in_a_shell_only_when_it_needs_one() {
        for (text, words) in [
            ("npm test", vec!["npm", "test"]),
            ("  cargo test -p base --test=x ", vec!["cargo", "test", "-p", "base", "--test=x"]),
            ("grep -q 'a b' x && true", vec!["sh", "-c", "grep -q 'a b' x && true"]),
            ("test $HOME", vec!["sh", "-c", "test $HOME"]),
        ] {
            assert_eq!(command_words(text), words, "{text}");
        }
    }

    #[test]
    fn the_first_line_is_the_name_and_a_longer_text_is_the_description() {
        let long = format!("{} end", "word ".repeat(40).trim_end());
        let cut = format!("{}…", "word ".repeat(23).trim_end());
        for (text, name, described) in [
            ("Fix the login", "Fix the login", false),
            ("  Fix the login \n", "Fix the login", false),
            ("Fix the login\n\nIt forgets the page.", "Fix the login", true),
            (long.as_str(), cut.as_str(), true),
        ] {
            let description = described.then(|| text.trim().to_owned());
            assert_eq!(name_and_description(text), (name.to_owned(), description), "{text}");
        }
    }
}
