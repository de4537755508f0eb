//! Repositories, worktrees and templates: the rules for their records.

use crate::case::Case;
use crate::check;
use crate::command::{Actor, CreateWorkspace, UpdateWorkspace};
use crate::event::Event;
use crate::id::{RepositoryId, TaskId, TemplateId, WorkflowId, WorkspaceId};
use crate::json::Json;
use crate::limits;
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::workflow::open;
use crate::task::Task;
use crate::template::{Template, TemplateBody};
use crate::workflow::WorkflowStatus;
use crate::workspace::{Attachment, Repository, Workspace, WorkspaceStatus};
use crate::world::{BoolNeed, DecisionStop, Need, TaskIdNeed};

/// Returns the repository at a path. Registers the repository if it is not known. `field` is the name of the input
/// field with the path; a refusal names this field.
fn repository(case: &mut Case<'_>, field: &str, path: &str, name: Option<&str>) -> Result<RepositoryId, DecisionStop> {
    check::path(field, path)?;
    check::optional(name, |text| check::name("name", text))?;
    if let Some(id) = case.world.repository_at(path)? {
        let known = case.world.repository(id)?;
        // If a person names a repository that another actor registered, the repository then counts as registered by a
        // person.
        if case.rights.is_persons() && known.by != Some(Actor::Person) {
            let repository = Repository { by: Some(Actor::Person), ..known.clone() };
            case.events.push(Event::RepositoryRegistered { repository });
        }
        return Ok(id);
    }
    let known = |event: &Event| {
        let Event::RepositoryRegistered { repository } = event else { return None };
        (repository.path == path).then_some(repository.id)
    };
    if let Some(id) = case.events.iter().find_map(known) {
        return Ok(id);
    }
    let repository = Repository {
        id: RepositoryId::next(&mut case.ids),
        path: path.to_owned(),
        name: name.map(str::to_owned),
        created: case.now,
        by: case.author()?,
    };
    let id = repository.id;
    case.events.push(Event::RepositoryRegistered { repository });
    Ok(id)
}

/// Registers a repository. Agents can work only in repositories that a person registered.
pub(crate) fn register(case: &mut Case<'_>, path: &str, name: Option<&str>) -> Result<Reply, DecisionStop> {
    let repository = repository(case, "path", path, name)?;
    Ok(Reply::RepositoryRegistered { repository })
}

pub(crate) fn attach(case: &mut Case<'_>, id: WorkflowId, path: &str) -> Result<Reply, DecisionStop> {
    open(case, id)?;
    let repository = repository(case, "repository_path", path, None)?;
    if let Some(added) = case.world.attached(id, repository)? {
        return Ok(Reply::RepositoryAttached { repository, added });
    }
    let attachment = Attachment { workflow: id, repository, added: case.now };
    case.events.push(Event::RepositoryAttached { attachment });
    Ok(Reply::RepositoryAttached { repository, added: case.now })
}

/// Attaches a repository to a workflow that is being created.
pub(crate) fn attach_new(case: &mut Case<'_>, id: WorkflowId, path: &str) -> Result<(), DecisionStop> {
    let repository = repository(case, "repository_path", path, None)?;
    let attachment = Attachment { workflow: id, repository, added: case.now };
    let event = Event::RepositoryAttached { attachment };
    if !case.events.contains(&event) {
        case.events.push(event);
    }
    Ok(())
}

pub(crate) fn detach(case: &mut Case<'_>, id: WorkflowId, repository: RepositoryId) -> Result<Reply, DecisionStop> {
    open(case, id)?;
    if *case.world.ask(&BoolNeed::RepositoryUsed(id, repository))? {
        return Err(Refusal::RepositoryInUse { repository }.into());
    }
    if case.world.attached(id, repository)?.is_some() {
        case.events.push(Event::RepositoryDetached { workflow: id, repository });
    }
    Ok(Reply::RepositoryDetached)
}

pub(crate) fn create_workspace(case: &mut Case<'_>, create: &CreateWorkspace) -> Result<Reply, DecisionStop> {
    check::path("path", &create.path)?;
    check::path("branch", &create.branch)?;
    check::optional(create.base_branch.as_deref(), |text| check::path("base_branch", text))?;
    check::count("task_ids", create.tasks.len(), limits::PAGE_ROWS_MAX)?;
    open(case, create.workflow)?;
    case.world.want(create.tasks.iter().map(|task| Need::Task(*task)))?;
    for task in &create.tasks {
        let task = case.world.task(*task)?;
        if task.workflow != create.workflow {
            return Err(Refusal::WorkflowMismatch { task: task.id }.into());
        }
        may_place(case, task)?;
    }
    let repository = match &create.repository_path {
        Some(path) => Some(repository(case, "repo_path", path, None)?),
        None => None,
    };
    let workspace = Workspace {
        id: WorkspaceId::next(&mut case.ids),
        workflow: create.workflow,
        repository,
        path: create.path.clone(),
        branch: create.branch.clone(),
        base_branch: create.base_branch.clone(),
        status: WorkspaceStatus::Active,
        merge_commit: None,
        pr_url: None,
        config: None,
        created_by_us: create.created_by_us,
        created: case.now,
        updated: case.now,
    };
    let id = workspace.id;
    case.events.push(Event::WorkspaceCreated { workspace: Box::new(workspace) });
    for task in &create.tasks {
        case.events.push(Event::WorkspaceAssigned { task: *task, workflow: create.workflow, workspace: id });
    }
    Ok(Reply::WorkspaceCreated { workspace: id })
}

pub(crate) fn update_workspace(case: &mut Case<'_>, update: &UpdateWorkspace) -> Result<Reply, DecisionStop> {
    check::optional(update.merge_commit.as_deref(), |text| check::label("merge_commit", text))?;
    check::optional(update.pr_url.as_deref(), |text| check::path("pr_url", text))?;
    check::json("config", update.config.as_ref())?;
    let mut workspace = case.world.workspace(update.workspace)?.clone();
    let workflow = open(case, workspace.workflow)?;
    may_change(case, &workspace)?;
    if let Some(commit) = &update.merge_commit {
        workspace.merge_commit = Some(commit.clone());
    }
    if let Some(url) = &update.pr_url {
        workspace.pr_url = Some(url.clone());
    }
    if let Some(patch) = &update.config {
        let config = Json::merged(workspace.config.as_ref(), patch);
        check::json("config", Some(&config))?;
        workspace.config = Some(config);
    }
    if let Some(status) = update.status.filter(|status| *status != workspace.status) {
        if !workspace.status.targets().contains(&status) {
            return Err(Refusal::state(format!(
                "the workspace is {}, and it cannot change from that to the status \
                that you gave",
                workspace.status
            ))
            .into());
        }
        if status == WorkspaceStatus::Merged && workspace.merge_commit.is_none() {
            return Err(Refusal::MissingMergeCommit.into());
        }
        workspace.status = status;
    }
    workspace.updated = case.now;
    let over = workspace.status != WorkspaceStatus::Active;
    case.events.push(Event::WorkspaceUpdated { workspace: Box::new(workspace) });
    if over && workflow.status == WorkflowStatus::AwaitingMerge {
        let others = BoolNeed::OtherUnmergedRequest(workflow.id, update.workspace);
        if !*case.world.ask(&others)? {
            crate::rules::workflow::moved(case, &workflow, WorkflowStatus::Completed, None);
        }
    }
    Ok(Reply::WorkspaceUpdated { cleaned: update.cleaned.clone() })
}

/// Refuses to change or clean up a workspace while another agent holds a task in the workspace, unless the caller
/// itself holds a task in this workspace.
fn may_change(case: &Case<'_>, workspace: &Workspace) -> Result<(), DecisionStop> {
    let held = case.world.ask(&TaskIdNeed::HeldIn(workspace.workflow, workspace.id))?;
    case.world.want(held.iter().map(|task| Need::Task(*task)))?;
    let mut lost = None;
    for id in held {
        let task = case.world.task(*id)?;
        // Skip a task whose claim has expired: its former holder has no rights on the workspace.
        if case.live_holder(task)?.is_none() {
            continue;
        }
        match case.owner(task, None).map(drop) {
            Ok(()) => return Ok(()),
            Err(missing @ DecisionStop::Missing(_)) => return Err(missing),
            Err(refused) => lost = lost.or(Some(refused)),
        }
    }
    lost.map_or(Ok(()), Err)
}

/// Refuses to set the workspace of a task that another agent holds.
fn may_place(case: &Case<'_>, task: &Task) -> Result<(), DecisionStop> {
    if case.live_holder(task)?.is_some() {
        case.owner(task, None)?;
    }
    Ok(())
}

pub(crate) fn assign_workspace(
    case: &mut Case<'_>,
    task: TaskId,
    workspace: WorkspaceId,
) -> Result<Reply, DecisionStop> {
    let (found, _) = case.task(task)?;
    open(case, found.workflow)?;
    let place = case.world.workspace(workspace)?;
    may_place(case, found)?;
    if place.workflow != found.workflow {
        return Err(Refusal::WorkflowMismatch { task }.into());
    }
    if place.status != WorkspaceStatus::Active {
        return Err(Refusal::state(format!(
            "the workspace is {}; only an active workspace can be assigned",
            place.status
        ))
        .into());
    }
    case.events.push(Event::WorkspaceAssigned { task, workflow: found.workflow, workspace });
    Ok(Reply::WorkspaceAssigned)
}

pub(crate) fn create_template(
    case: &mut Case<'_>,
    name: &str,
    description: Option<&str>,
    body: &TemplateBody,
) -> Result<Reply, DecisionStop> {
    check::name("name", name)?;
    check::optional(description, |text| check::size("description", text, limits::TEXT_BYTES_MAX))?;
    check::count("tasks", body.tasks.len(), limits::REPLAN_ROWS_MAX)?;
    check::count("variables", body.defaults.len(), limits::VARIABLES_MAX)?;
    for (variable, value) in &body.defaults {
        check::name("variables", variable)?;
        check::size("variables", value, limits::TEXT_BYTES_MAX)?;
    }
    // Check the plan now, although its names may still contain variables. So a dependency must have exactly the text of
    // the other task's name, including the variables in it.
    Plan::whole(body.tasks.clone())?;
    if *case.world.ask(&BoolNeed::TemplateNamed(name.to_owned()))? {
        return Err(Refusal::DuplicateTemplate { name: name.to_owned() }.into());
    }
    let template = Template {
        id: TemplateId::next(&mut case.ids),
        name: name.to_owned(),
        description: description.map(str::to_owned),
        body: body.clone(),
        created: case.now,
    };
    let id = template.id;
    case.events.push(Event::TemplateCreated { template: Box::new(template) });
    Ok(Reply::TemplateCreated { template: id })
}

pub(crate) fn remove_template(case: &mut Case<'_>, template: TemplateId) -> Result<Reply, DecisionStop> {
    let name = case.world.template(template)?.name.clone();
    case.events.push(Event::TemplateRemoved { template, name });
    Ok(Reply::TemplateRemoved)
}
